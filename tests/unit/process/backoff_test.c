/* SPDX-License-Identifier: MIT */
/* How long a child that died waits for its next start. */
#include "proxy/process/backoff.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void first_death_restarts_at_once(void **state)
{
	(void)state;
	struct backoff b = {0};
	assert_int_equal(backoff_after_death(&b, 0), 0);
}

static void early_deaths_double_from_100_ms_to_5_s(void **state)
{
	(void)state;
	static const usec want_ms[] = {0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000};
	struct backoff b = {0};
	for (size_t i = 0; i < sizeof(want_ms) / sizeof(want_ms[0]); i++)
		assert_int_equal(
		    backoff_after_death(&b, 9 * USEC_PER_SEC), want_ms[i] * USEC_PER_MSEC);
}

static void thousands_of_deaths_do_not_overflow(void **state)
{
	(void)state;
	struct backoff b = {0};
	for (int i = 0; i < 100000; i++)
		assert_in_range(backoff_after_death(&b, 1), 0, BACKOFF_MOST_USEC);
	assert_int_equal(backoff_after_death(&b, 1), BACKOFF_MOST_USEC);
}

static void good_life_forgives(void **state)
{
	(void)state;
	struct backoff b = {0};
	for (int i = 0; i < 5; i++)
		backoff_after_death(&b, 1);
	assert_int_equal(backoff_after_death(&b, 10 * USEC_PER_SEC), 0);
	assert_int_equal(backoff_after_death(&b, 1), BACKOFF_LEAST_USEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_death_restarts_at_once),
	    cmocka_unit_test(early_deaths_double_from_100_ms_to_5_s),
	    cmocka_unit_test(thousands_of_deaths_do_not_overflow),
	    cmocka_unit_test(good_life_forgives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
