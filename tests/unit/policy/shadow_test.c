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
	return (struct policy_patterns){glob, NULL, 1};
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
	struct policy_rule earlier = {.paths = {a, NULL, 2}}, later = {.paths = {b, NULL, 2}};
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
	/* One that begins at the same address and goes on behind it is not within. */
	assert_null(cidr_parse(SLICE("10.0.0.0/16"), &narrow));
	assert_hidden(&earlier, &later, CERTAIN);
	assert_hidden(&later, &earlier, NOT);
}

static void users_hide_those_that_they_name(void **state)
{
	(void)state;
	struct slice two[] = {SLICE("alice"), SLICE("bob")}, one_name = SLICE("bob"), known = SLICE("*"), other = SLICE("carol");
	struct policy_rule any = {0}, both = {.users = two, .user_count = 2}, bob = {.users = &one_name, .user_count = 1};
	struct policy_rule all = {.users = &known, .user_count = 1}, carol = {.users = &other, .user_count = 1};
	assert_hidden(&any, &all, CERTAIN);
	assert_hidden(&all, &any, NOT); /* nobody is known for some requests */
	assert_hidden(&all, &both, CERTAIN);
	assert_hidden(&both, &all, NOT);
	assert_hidden(&both, &bob, CERTAIN);
	assert_hidden(&bob, &both, NOT);
	assert_hidden(&both, &carol, NOT);
	struct policy_rule alice = {.users = two, .user_count = 1};
	assert_hidden(&both, &alice, CERTAIN);
}

static void certificates_hide_those_that_they_name(void **state)
{
	(void)state;
	struct slice two[] = {SLICE("cn:a"), SLICE("cn:b")}, one_name = SLICE("cn:b"), shown = SLICE("*");
	struct policy_rule any = {0}, both = {.certs = two, .cert_count = 2}, b = {.certs = &one_name, .cert_count = 1};
	struct policy_rule all = {.certs = &shown, .cert_count = 1};
	assert_hidden(&any, &b, CERTAIN);
	assert_hidden(&b, &any, NOT);
	assert_hidden(&all, &both, CERTAIN);
	assert_hidden(&both, &all, NOT);
	assert_hidden(&both, &b, CERTAIN);
	assert_hidden(&b, &both, NOT);
}

static void destinations_hide_those_within(void **state)
{
	(void)state;
	static const struct {
		const char *earlier, *later;
		int how;
	} rows[] = {
	    {"a.example", "A.example", CERTAIN},
	    {"a.example", "a.example:443", CERTAIN},
	    {"a.example:443", "a.example", NOT},
	    {"a.example:443", "a.example:443", CERTAIN},
	    {"a.example:443", "a.example:80", NOT},
	    {"*.example", "a.example", LOOKS},
	    {"*.example:80", "a.example:80", LOOKS},
	    {"*.example:80", "a.example", NOT},
	    {"*", "a.example:80", CERTAIN},
	    {"*:80", "a.example:80", CERTAIN},
	    {"*:80", "a.example", NOT},
	    {"a.example:x", "a.example:x", NOT}, /* which no rule has */
	    {"*", "a.example:x", NOT},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct slice e = slice_of_string(rows[i].earlier), l = slice_of_string(rows[i].later);
		struct policy_rule earlier = {.destinations = &e, .destination_count = 1};
		struct policy_rule later = {.destinations = &l, .destination_count = 1}, any = {0};
		assert_hidden(&earlier, &later, rows[i].how);
		assert_hidden(&any, &later, CERTAIN);
		assert_hidden(&earlier, &any, NOT);
	}
	struct slice two[] = {SLICE("a.example"), SLICE("b.example")};
	struct policy_rule both = {.destinations = two, .destination_count = 2};
	struct policy_rule first = {.destinations = two, .destination_count = 1};
	assert_hidden(&both, &first, CERTAIN);
	assert_hidden(&both, &both, CERTAIN);
	assert_hidden(&first, &both, NOT);
}

static void facts_of_the_connection_hide_what_they_contain(void **state)
{
	(void)state;
	struct policy_rule any = {0}, saving = {.save_data = POLICY_YES}, far = {0}, near = {0};
	assert_hidden(&any, &saving, CERTAIN);
	assert_hidden(&saving, &any, NOT);
	assert_hidden(&saving, &(struct policy_rule){.save_data = POLICY_NO}, NOT);
	assert_hidden(&(struct policy_rule){.navigation = POLICY_YES}, &any, NOT);
	assert_hidden(&any, &(struct policy_rule){.navigation = POLICY_YES}, CERTAIN);
	struct policy_rule all = {.versions = 7u << HTTP_VERSION_1_0}, old = {.versions = 3u << HTTP_VERSION_1_0};
	assert_hidden(&all, &any, CERTAIN);
	assert_hidden(&old, &(struct policy_rule){.versions = 1u << HTTP_VERSION_1_1}, CERTAIN);
	assert_hidden(&old, &(struct policy_rule){.versions = 1u << HTTP_VERSION_2}, NOT);
	far = (struct policy_rule){.rtt_compare = POLICY_COMPARE_BELOW, .rtt_usec = 200};
	near = (struct policy_rule){.rtt_compare = POLICY_COMPARE_BELOW, .rtt_usec = 100};
	assert_hidden(&far, &near, CERTAIN);
	assert_hidden(&near, &far, NOT);
	assert_hidden(&far, &any, NOT);
	far.rtt_compare = near.rtt_compare = POLICY_COMPARE_ABOVE;
	assert_hidden(&near, &far, CERTAIN);
	assert_hidden(&far, &near, NOT);
	near.rtt_compare = POLICY_COMPARE_BELOW;
	assert_hidden(&far, &near, NOT);
	struct policy_rule tenth = {.share = 1000}, half = {.share = 5000};
	assert_hidden(&half, &tenth, CERTAIN);
	assert_hidden(&tenth, &half, NOT);
	assert_hidden(&tenth, &any, NOT);
	assert_hidden(&any, &tenth, CERTAIN);
}

static void shadow_rule_hides_shadows_alone(void **state)
{
	(void)state;
	struct policy_rule shadow = {.shadow = true}, live = {0};
	assert_hidden(&shadow, &live, NOT);
	assert_hidden(&shadow, &shadow, CERTAIN);
	assert_hidden(&live, &shadow, CERTAIN);
}

static void expressions_hide_their_equals_alone(void **state)
{
	(void)state;
	struct slice a, b;
	struct policy_rule earlier = {0}, later = {0};
	earlier.paths = one(&a, "~*");
	later.paths = one(&b, "~^/a");
	assert_hidden(&earlier, &later, NOT);
	later.paths = one(&b, "~*");
	assert_hidden(&earlier, &later, CERTAIN);
	earlier.paths = one(&a, "?*");
	assert_hidden(&earlier, &later, NOT);
	later.paths = one(&b, ""); /* none, and no path fits it */
	assert_hidden(&earlier, &later, NOT);
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

static void every_condition_counts(void **state)
{
	(void)state;
	struct slice a, b;
	struct policy_rule any = {0};
	struct policy_rule narrower[9] = {
	    {.sources = 1u << POLICY_RELAYED},
	    {.methods = 1u << HTTP_METHOD_HEAD},
	    {.push_enabled = POLICY_NO},
	    {.navigation = POLICY_NO},
	};
	narrower[4].hosts = one(&a, "a.example");
	narrower[5].paths = one(&b, "/a");
	narrower[6].promised_paths = one(&b, "/a");
	narrower[7].versions = 1u << HTTP_VERSION_1_1;
	narrower[8].purposes = 1u << POLICY_PURPOSE_PRERENDER;
	for (size_t i = 0; i < 9; i++) {
		assert_hidden(&narrower[i], &any, NOT);
		assert_hidden(&any, &narrower[i], CERTAIN);
		assert_hidden(&narrower[i], &narrower[i], CERTAIN);
		for (size_t other = 0; other < 9; other++)
			if (other != i)
				assert_hidden(&narrower[i], &narrower[other], NOT);
	}
}

static void one_block_of_several_is_enough(void **state)
{
	(void)state;
	struct cidr blocks[2], inner[3];
	assert_null(cidr_parse(SLICE("10.0.0.0/8"), &blocks[0]));
	assert_null(cidr_parse(SLICE("192.0.2.0/24"), &blocks[1]));
	assert_null(cidr_parse(SLICE("10.1.0.0/16"), &inner[0]));
	assert_null(cidr_parse(SLICE("192.0.2.7"), &inner[1]));
	assert_null(cidr_parse(SLICE("198.51.100.0/24"), &inner[2]));
	struct policy_rule earlier = {.clients = blocks, .client_count = 2};
	struct policy_rule later = {.clients = inner, .client_count = 2};
	assert_hidden(&earlier, &later, CERTAIN);
	later.client_count = 3;
	assert_hidden(&earlier, &later, NOT);
}

static void whole_share_is_no_condition(void **state)
{
	(void)state;
	struct policy_rule whole = {.share = POLICY_DRAWS}, tenth = {.share = POLICY_DRAWS / 10}, any = {0};
	assert_hidden(&whole, &any, CERTAIN);
	assert_hidden(&whole, &tenth, CERTAIN);
	assert_hidden(&tenth, &whole, NOT);
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
	    cmocka_unit_test(users_hide_those_that_they_name),
	    cmocka_unit_test(certificates_hide_those_that_they_name),
	    cmocka_unit_test(destinations_hide_those_within),
	    cmocka_unit_test(facts_of_the_connection_hide_what_they_contain),
	    cmocka_unit_test(shadow_rule_hides_shadows_alone),
	    cmocka_unit_test(expressions_hide_their_equals_alone),
	    cmocka_unit_test(one_narrower_condition_is_enough_to_be_reached),
	    cmocka_unit_test(every_condition_counts),
	    cmocka_unit_test(one_block_of_several_is_enough),
	    cmocka_unit_test(whole_share_is_no_condition),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
