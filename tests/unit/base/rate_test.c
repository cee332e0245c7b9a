/* SPDX-License-Identifier: MIT */
/* Token buckets: what is there at once, what comes back in time, and what is given back. */
#include "proxy/base/rate.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW (1000 * USEC_PER_SEC)

/* So many takes of one token succeed at that time. */
static unsigned takes(struct bucket *b, const struct rate *rate, usec now)
{
	unsigned n = 0;
	while (bucket_take(b, rate, 1, now))
		n++;
	return n;
}

static void full_bucket_has_its_burst(void **state)
{
	(void)state;
	const struct rate rate = {10, 25};
	struct bucket b = {0};
	assert_int_equal(takes(&b, &rate, NOW), 25);
	assert_int_equal(takes(&b, &rate, NOW), 0);
}

static void time_refills_it_at_its_rate_and_no_further(void **state)
{
	(void)state;
	const struct rate rate = {10, 25};
	struct bucket b = {0};
	takes(&b, &rate, NOW);
	assert_int_equal(takes(&b, &rate, NOW + USEC_PER_SEC / 10 - 1), 0);
	assert_int_equal(takes(&b, &rate, NOW + USEC_PER_SEC / 10), 1);
	assert_int_equal(takes(&b, &rate, NOW + USEC_PER_SEC + USEC_PER_SEC / 10), 10);
	assert_int_equal(takes(&b, &rate, NOW + 1000000 * USEC_PER_SEC), 25);
	/* A clock that goes backwards gives nothing. */
	assert_int_equal(takes(&b, &rate, NOW), 0);
}

static void several_tokens_are_taken_all_or_none(void **state)
{
	(void)state;
	const struct rate rate = {1, 10};
	struct bucket b = {0};
	assert_true(bucket_take(&b, &rate, 7, NOW));
	assert_false(bucket_take(&b, &rate, 4, NOW));
	assert_true(bucket_take(&b, &rate, 3, NOW));
	assert_false(bucket_take(&b, &rate, 11, NOW + 100 * USEC_PER_SEC));
}

static void what_is_given_back_can_be_taken_again(void **state)
{
	(void)state;
	const struct rate rate = {1, 10};
	struct bucket b = {0};
	takes(&b, &rate, NOW);
	bucket_give(&b, &rate, 500);
	assert_int_equal(takes(&b, &rate, NOW), 0);
	bucket_give(&b, &rate, 500);
	assert_int_equal(takes(&b, &rate, NOW), 1);
	bucket_give(&b, &rate, 1000000);
	assert_int_equal(takes(&b, &rate, NOW), 10);
}

static void widest_rate_does_not_overflow(void **state)
{
	(void)state;
	const struct rate rate = {UINT32_MAX, UINT32_MAX};
	struct bucket b = {0};
	assert_true(bucket_take(&b, &rate, UINT32_MAX, NOW));
	assert_false(bucket_take(&b, &rate, 1, NOW));
	assert_true(bucket_take(&b, &rate, UINT32_MAX, NOW + 3600 * USEC_PER_SEC));
	assert_false(bucket_take(&b, &rate, 1, NOW + 3600 * USEC_PER_SEC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(full_bucket_has_its_burst),
	    cmocka_unit_test(time_refills_it_at_its_rate_and_no_further),
	    cmocka_unit_test(several_tokens_are_taken_all_or_none),
	    cmocka_unit_test(what_is_given_back_can_be_taken_again),
	    cmocka_unit_test(widest_rate_does_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
