/* SPDX-License-Identifier: MIT */
/* Two engines of ours and owners that do anything, from seeds; see tests/support/pair.h. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/support/pair.h"

#include <stdlib.h>

/* covers: R45 R46 R53 R56 R58 R72 */
static void random_owners_lose_nothing(void **state)
{
	(void)state;
	/* PAIR_SEED=7 repeats one run, PAIR_SEEDS=5000 makes so many. */
	const char *one = getenv("PAIR_SEED"), *many = getenv("PAIR_SEEDS");
	uint32_t first = one ? (uint32_t)strtoul(one, NULL, 10) : 1;
	uint32_t last = one ? first : many ? (uint32_t)strtoul(many, NULL, 10) : 100;
	struct pair_totals totals = {0};
	for (uint32_t seed = first; seed <= last; seed++)
		pair_run(seed, SLICE(""), &totals);
	print_message(
	    "%zu streams, %zu of them pushes with a body, %zu ended well, %zu reset, %zu bytes\n",
	    totals.exchanges, totals.pushes, totals.closed, totals.reset, totals.bytes);
	if (last - first >= 99) {
		assert_true(totals.exchanges > 5000);
		assert_true(totals.pushes > 500);
		assert_true(totals.closed > totals.reset);
		assert_true(totals.reset > 200);
		assert_true(totals.bytes > 10000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_owners_lose_nothing)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
