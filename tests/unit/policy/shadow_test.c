/* SPDX-License-Identifier: MIT */
/* Which rules can never be reached, for certain or by their looks. */
#include "tests/unit/policy/offer.h"

enum { CERTAIN, LOOKS, NOT };

static void assert_hidden(
    const struct policy_rule *earlier, const struct policy_rule *later, int how)
{
	assert_int_equal(policy_rule_hides(earlier, later), how == CERTAIN);
	assert_int_equal(policy_rule_may_hide(earlier, later), how != NOT);
}

static struct policy_patterns one(struct slice *glob, const char *text)
{
	*glob = slice_of_string(text);
	return (struct policy_patterns){glob, 1};
}

static void unconditional_rule_hides_all(void **state)
{
	(void)state;
	struct slice glob;
	struct policy_rule all = {0}, some = {.types = 2};
	some.hosts = one(&glob, "a");
	assert_hidden(&all, &some, CERTAIN);
	assert_hidden(&all, &all, CERTAIN);
	assert_hidden(&some, &all, NOT);
	all.paths = one(&glob, "*"); /* which is everything */
	all.sources = (1u << POLICY_SOURCE_COUNT) - 1;
	all.methods = 1u << HTTP_METHOD_GET | 1u << HTTP_METHOD_HEAD;
	assert_hidden(&all, &(struct policy_rule){0}, CERTAIN);
}

static void equal_lists_hide_in_any_order(void **state)
{
	(void)state;
	struct slice a[] = {SLICE("/a"), SLICE("/b")}, b[] = {SLICE("/b"), SLICE("/a")};
	struct policy_rule earlier = {.paths = {a, 2}}, later = {.paths = {b, 2}};
	assert_hidden(&earlier, &later, CERTAIN);
	later.paths.count = 1;
	assert_hidden(&earlier, &later, CERTAIN);
	assert_hidden(&later, &earlier, NOT);
}

static void wider_pattern_looks_as_if_it_hid(void **state)
{
	(void)state;
	struct slice a, b;
	struct policy_rule earlier = {0}, later = {0};
	earlier.paths = one(&a, "/a*");
	later.paths = one(&b, "/ab/*");
	assert_hidden(&earlier, &later, LOOKS);
	assert_hidden(&later, &earlier, NOT);
}

static void case_counts_for_paths_alone(void **state)
{
	(void)state;
	struct slice a, b;
	struct policy_rule earlier = {0}, later = {0};
	earlier.paths = one(&a, "/a");
	later.paths = one(&b, "/A");
	assert_hidden(&earlier, &later, NOT);
	earlier.hosts = earlier.paths;
	later.hosts = later.paths;
	earlier.paths.count = later.paths.count = 0;
	assert_hidden(&earlier, &later, CERTAIN);
}

static void bits_hide_when_they_are_a_superset(void **state)
{
	(void)state;
	struct policy_rule earlier = {.types = 6}, later = {.types = 2};
	assert_hidden(&earlier, &later, CERTAIN);
	assert_hidden(&later, &earlier, NOT);
	struct policy_rule yes = {.push_enabled = POLICY_YES}, no = {.push_enabled = POLICY_NO},
			   any = {0};
	assert_hidden(&yes, &no, NOT);
	assert_hidden(&yes, &any, NOT);
	assert_hidden(&any, &yes, CERTAIN);
}

static void address_blocks_hide_what_is_within(void **state)
{
	(void)state;
	struct cidr wide, narrow;
	assert_null(cidr_parse(SLICE("10.0.0.0/8"), &wide));
	assert_null(cidr_parse(SLICE("10.1.0.0/16"), &narrow));
	struct policy_rule earlier = {.clients = &wide, .client_count = 1};
	struct policy_rule later = {.clients = &narrow, .client_count = 1}, any = {0};
	assert_hidden(&earlier, &later, CERTAIN);
	assert_hidden(&later, &earlier, NOT);
	assert_hidden(&earlier, &any, NOT);
	assert_hidden(&any, &earlier, CERTAIN);
}

static void one_narrower_condition_is_enough_to_be_reached(void **state)
{
	(void)state;
	struct slice a;
	struct policy_rule earlier = {.types = 2}, later = {.types = 2};
	earlier.user_agents = one(&a, "curl/*");
	assert_hidden(&earlier, &later, NOT);
	assert_hidden(&later, &earlier, CERTAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unconditional_rule_hides_all),
	    cmocka_unit_test(equal_lists_hide_in_any_order),
	    cmocka_unit_test(wider_pattern_looks_as_if_it_hid),
	    cmocka_unit_test(case_counts_for_paths_alone),
	    cmocka_unit_test(bits_hide_when_they_are_a_superset),
	    cmocka_unit_test(address_blocks_hide_what_is_within),
	    cmocka_unit_test(one_narrower_condition_is_enough_to_be_reached),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
