/* SPDX-License-Identifier: MIT */
/* The budget of retries: a share of the requests, what is kept of it, and what a quiet origin has. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/upstream/retry_budget.h"

#define SHARE 2000u /* 20 % */
#define START (1000 * USEC_PER_SEC)

static void requests(struct retry_budget *b, unsigned n)
{
	while (n-- > 0)
		retry_budget_earn(b);
}

static unsigned taken(struct retry_budget *b, uint32_t share, usec now)
{
	unsigned n = 0;
	while (n < 1000000 && retry_budget_take(b, share, now))
		n++;
	return n;
}

static void a_fifth_of_the_requests_may_be_sent_again(void **state)
{
	(void)state;
	struct retry_budget b = {.at = START};
	requests(&b, 1000);
	assert_int_equal(taken(&b, SHARE, START), 200 + RETRY_FLOOR_BURST);
	assert_int_equal(taken(&b, SHARE, START), 0);
	requests(&b, 4);
	assert_int_equal(taken(&b, SHARE, START), 0);
	requests(&b, 1);
	assert_int_equal(taken(&b, SHARE, START), 1);
}

static void a_quiet_origin_may_have_three_a_second(void **state)
{
	(void)state;
	struct retry_budget b = {.at = START};
	assert_int_equal(taken(&b, SHARE, START), RETRY_FLOOR_BURST);
	assert_int_equal(taken(&b, SHARE, START + USEC_PER_SEC), RETRY_FLOOR_PER_SECOND);
}

static void no_share_means_no_retry(void **state)
{
	(void)state;
	struct retry_budget b = {.at = START};
	requests(&b, 1000);
	assert_int_equal(taken(&b, 0, START), 0);
}

/* 1,000 requests a second: at most ten seconds of them count, however long nothing failed. */
static void what_was_earned_is_kept_for_ten_seconds(void **state)
{
	(void)state;
	struct retry_budget b = {.at = START};
	requests(&b, 3600000);
	assert_int_equal(taken(&b, SHARE, START + 3600 * USEC_PER_SEC), 2000 + RETRY_FLOOR_BURST);
	requests(&b, 1000);
	assert_true(retry_budget_take(&b, SHARE, START + 3600 * USEC_PER_SEC));
	assert_int_equal(
	    taken(&b, SHARE, START + 3605 * USEC_PER_SEC), 199 / 2 + RETRY_FLOOR_BURST);
	requests(&b, 1000);
	assert_true(retry_budget_take(&b, SHARE, START + 3605 * USEC_PER_SEC));
	assert_int_equal(taken(&b, SHARE, START + 3620 * USEC_PER_SEC), RETRY_FLOOR_BURST);
}

static void a_clock_that_stands_still_changes_nothing(void **state)
{
	(void)state;
	struct retry_budget b = {.at = START};
	requests(&b, 10);
	assert_int_equal(taken(&b, SHARE, START - 1), 2 + RETRY_FLOOR_BURST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_fifth_of_the_requests_may_be_sent_again),
	    cmocka_unit_test(a_quiet_origin_may_have_three_a_second),
	    cmocka_unit_test(no_share_means_no_retry),
	    cmocka_unit_test(what_was_earned_is_kept_for_ten_seconds),
	    cmocka_unit_test(a_clock_that_stands_still_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
