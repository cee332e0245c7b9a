/* SPDX-License-Identifier: MIT */
/* When a server is ejected for what came of its requests, for how long, and what its return is worth. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/upstream/ejection.h"

#define SEC USEC_PER_SEC

static const struct conf_eject presets = {.failures = 5, .percent = 50, .most = 50, .time = 10 * SEC, .time_max = 300 * SEC};

/* The verdict after so many of the same result. */
static enum server_verdict count(struct ejection *e, const struct conf_eject *rules, enum health_result result, unsigned times, usec now)
{
	enum server_verdict v = SERVER_STAYS;
	for (unsigned i = 0; i < times; i++)
		v = ejection_count(e, rules, result, now);
	return v;
}

static usec length_of(struct ejection *e, const struct conf_eject *rules, usec now)
{
	ejection_begin(e, rules, now);
	return e->until - now;
}

/* covers: R450 */
static void failures_in_a_row_eject(void **state)
{
	(void)state;
	struct ejection e = {0};
	assert_int_equal(count(&e, &presets, HEALTH_FAILED, 4, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &presets, HEALTH_ANSWERED, 1, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &presets, HEALTH_FAILED, 4, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &presets, HEALTH_FAILED, 1, SEC), SERVER_FAILED_IN_A_ROW);
	/* Whoever asks may refuse, since too many are ejected: the next failure asks again. */
	assert_int_equal(count(&e, &presets, HEALTH_FAILED, 1, SEC), SERVER_FAILED_IN_A_ROW);
}

static void two_failed_connects_eject(void **state)
{
	(void)state;
	struct ejection e = {0};
	assert_int_equal(count(&e, &presets, HEALTH_CONNECT_FAILED, 1, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &presets, HEALTH_ANSWERED, 1, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &presets, HEALTH_CONNECT_FAILED, 1, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &presets, HEALTH_FAILED, 1, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &presets, HEALTH_CONNECT_FAILED, 1, SEC), SERVER_FAILED_CONNECTS);
}

static void a_share_of_failures_ejects(void **state)
{
	(void)state;
	struct conf_eject rules = presets;
	rules.failures = 0;
	struct ejection e = {0};
	/* Half of 18 requests are too few to tell. */
	for (unsigned i = 0; i < 9; i++) {
		assert_int_equal(count(&e, &rules, HEALTH_ANSWERED, 1, SEC), SERVER_STAYS);
		assert_int_equal(count(&e, &rules, HEALTH_FAILED, 1, SEC), SERVER_STAYS);
	}
	assert_int_equal(count(&e, &rules, HEALTH_ANSWERED, 1, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &rules, HEALTH_FAILED, 1, SEC), SERVER_FAILED_OFTEN);
	/* Connects that fail count as requests; with eject-failures = 0 they do nothing else. */
	e = (struct ejection){0};
	assert_int_equal(count(&e, &rules, HEALTH_CONNECT_FAILED, 19, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &rules, HEALTH_CONNECT_FAILED, 1, SEC), SERVER_FAILED_OFTEN);
}

static void the_share_is_that_of_ten_seconds(void **state)
{
	(void)state;
	struct conf_eject rules = presets;
	rules.failures = 0;
	struct ejection e = {0};
	assert_int_equal(count(&e, &rules, HEALTH_ANSWERED, 100, 20 * SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &rules, HEALTH_FAILED, 90, 29 * SEC), SERVER_STAYS);
	/* A new window: what was before counts no more, in either direction. */
	assert_int_equal(count(&e, &rules, HEALTH_FAILED, 19, 30 * SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &rules, HEALTH_FAILED, 1, 30 * SEC), SERVER_FAILED_OFTEN);
}

static void nothing_ejects_when_both_are_off(void **state)
{
	(void)state;
	struct conf_eject rules = presets;
	rules.failures = rules.percent = 0;
	struct ejection e = {0};
	assert_int_equal(count(&e, &rules, HEALTH_FAILED, 1000, SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &rules, HEALTH_CONNECT_FAILED, 1000, SEC), SERVER_STAYS);
}

/* covers: R450 */
static void the_first_failure_after_its_return_ejects_again(void **state)
{
	(void)state;
	struct ejection e = {0};
	count(&e, &presets, HEALTH_FAILED, 5, SEC);
	ejection_begin(&e, &presets, SEC);
	/* Requests that were sent before still fail: that is known. */
	assert_int_equal(count(&e, &presets, HEALTH_FAILED, 50, 2 * SEC), SERVER_STAYS);
	ejection_end(&e, 11 * SEC);
	assert_int_equal(count(&e, &presets, HEALTH_FAILED, 1, 12 * SEC), SERVER_FAILED_AGAIN);
	ejection_begin(&e, &presets, 12 * SEC);
	ejection_end(&e, 32 * SEC);
	/* One answer ends the trial. */
	assert_int_equal(count(&e, &presets, HEALTH_ANSWERED, 1, 33 * SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &presets, HEALTH_FAILED, 4, 33 * SEC), SERVER_STAYS);
	assert_int_equal(count(&e, &presets, HEALTH_FAILED, 1, 33 * SEC), SERVER_FAILED_IN_A_ROW);
}

/* covers: R450 */
static void the_time_grows_and_shrinks(void **state)
{
	(void)state;
	static const usec lengths[] = {10, 20, 40, 80, 160, 300, 300};
	struct ejection e = {0};
	usec now = 100 * SEC;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		assert_int_equal(length_of(&e, &presets, now) / SEC, lengths[i]);
		now = e.until;
		ejection_end(&e, now);
		now += SEC;
	}
	/* It works as long as it was ejected: 300 s are halved, and doubled by this ejection. */
	now = e.returned + 300 * SEC;
	assert_int_equal(length_of(&e, &presets, now) / SEC, 300);
	ejection_end(&e, e.until);
	/* 300 + 150 + 75 s: 37.5 s are left, which are doubled. */
	now = e.returned + 525 * SEC;
	assert_int_equal(length_of(&e, &presets, now) / SEC, 75);
	ejection_end(&e, e.until);
	now = e.returned + 3600 * SEC;
	assert_int_equal(length_of(&e, &presets, now) / SEC, 10);
}

static void a_bound_below_the_first_time_does_not_shorten_it(void **state)
{
	(void)state;
	struct conf_eject rules = presets;
	rules.time_max = SEC;
	struct ejection e = {0};
	assert_int_equal(length_of(&e, &rules, SEC) / SEC, 10);
	ejection_end(&e, e.until);
	assert_int_equal(length_of(&e, &rules, e.returned + SEC) / SEC, 10);
}

static void it_goes_on_after_a_reload(void **state)
{
	(void)state;
	struct ejection e = {0}, later = {0};
	ejection_resume(&e, 130 * SEC, 40 * SEC, 100 * SEC);
	assert_int_equal(e.until, 130 * SEC);
	assert_int_equal(ejection_count(&e, &presets, HEALTH_FAILED, 101 * SEC), SERVER_STAYS);
	ejection_end(&e, e.until);
	assert_int_equal(length_of(&e, &presets, 131 * SEC) / SEC, 80);
	/* One that has returned: half is forgotten each time that it works as long as it was ejected. */
	ejection_resume(&later, 90 * SEC, 40 * SEC, 100 * SEC);
	assert_int_equal(later.until, 0);
	assert_int_equal(length_of(&later, &presets, 131 * SEC) / SEC, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(failures_in_a_row_eject),
	    cmocka_unit_test(two_failed_connects_eject),
	    cmocka_unit_test(a_share_of_failures_ejects),
	    cmocka_unit_test(the_share_is_that_of_ten_seconds),
	    cmocka_unit_test(nothing_ejects_when_both_are_off),
	    cmocka_unit_test(the_first_failure_after_its_return_ejects_again),
	    cmocka_unit_test(the_time_grows_and_shrinks),
	    cmocka_unit_test(a_bound_below_the_first_time_does_not_shorten_it),
	    cmocka_unit_test(it_goes_on_after_a_reload),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
