/* SPDX-License-Identifier: MIT */
/* What a client is taken to have: since when, for how many resources, and until it is forgotten. */
#include "proxy/offer/learned_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define AT_ALL UINT32_MAX

static void resource_is_there_since_it_came_first(void **state)
{
	(void)state;
	struct learned_cache cache = {0};
	assert_false(learned_cache_has(&cache, 7, AT_ALL));
	learned_cache_note(&cache, 7, 10 * USEC_PER_SEC);
	learned_cache_note(&cache, 7, 20 * USEC_PER_SEC);
	assert_true(learned_cache_has(&cache, 7, 11));
	assert_false(learned_cache_has(&cache, 7, 10));
	assert_false(learned_cache_has(&cache, 8, AT_ALL));
}

static void newest_push_out_the_oldest(void **state)
{
	(void)state;
	struct learned_cache cache = {0};
	for (uint32_t mark = 1; mark <= CACHE_MARKS + 1; mark++) {
		learned_cache_note(&cache, mark, mark * USEC_PER_SEC);
		learned_cache_note(&cache, mark, mark * USEC_PER_SEC); /* takes no other place */
	}
	assert_false(learned_cache_has(&cache, 1, AT_ALL));
	for (uint32_t mark = 2; mark <= CACHE_MARKS + 1; mark++)
		assert_true(learned_cache_has(&cache, mark, mark + 1));
}

static void what_came_before_a_second_is_forgotten(void **state)
{
	(void)state;
	struct learned_cache cache = {0};
	for (uint32_t mark = 1; mark <= 5; mark++)
		learned_cache_note(&cache, mark, mark * USEC_PER_SEC);
	learned_cache_forget(&cache, 3);
	for (uint32_t mark = 1; mark <= 5; mark++)
		assert_int_equal(learned_cache_has(&cache, mark, AT_ALL), mark >= 3);
	learned_cache_note(&cache, 1, 9 * USEC_PER_SEC);
	assert_true(learned_cache_has(&cache, 1, AT_ALL));
	assert_false(learned_cache_has(&cache, 1, 9));
}

static void authority_and_path_make_the_mark(void **state)
{
	(void)state;
	struct offer_learned one = {.seed = 1}, other = {.seed = 2};
	uint32_t mark = learned_mark(&one, SLICE("a.example"), SLICE("/b"));
	assert_int_equal(mark, learned_mark(&one, SLICE("a.example"), SLICE("/b")));
	assert_int_not_equal(mark, 0);
	assert_int_not_equal(mark, learned_mark(&one, SLICE("a.exampl"), SLICE("e/b")));
	assert_int_not_equal(mark, learned_mark(&one, SLICE("a.example"), SLICE("/c")));
	assert_int_not_equal(mark, learned_mark(&other, SLICE("a.example"), SLICE("/b")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(resource_is_there_since_it_came_first),
	    cmocka_unit_test(newest_push_out_the_oldest),
	    cmocka_unit_test(what_came_before_a_second_is_forgotten),
	    cmocka_unit_test(authority_and_path_make_the_mark),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
