/* SPDX-License-Identifier: MIT */
/* Whether pushes for a request could be of use: it chooses the connection to the origin. */
#include "tests/unit/policy/offer.h"

static int setup(void **state)
{
	struct scene *s = *state = malloc(sizeof *s);
	scene_init(s);
	s->offer.promised = NULL; /* nothing has been promised yet */
	return 0;
}

static int teardown(void **state)
{
	scene_fini(*state);
	free(*state);
	return 0;
}

static bool wants(const struct scene *s)
{
	return policy_wants_pushes(&s->set, &s->offer);
}

static void client_that_accepts_pushes_wants_them(void **state)
{
	assert_true(wants(*state));
}

static void client_without_push_or_streams_wants_none(void **state)
{
	struct scene *s = *state;
	s->offer.client_push_enabled = false;
	assert_false(wants(s));
	s->offer.client_push_enabled = true;
	s->offer.client_accepts_streams = false;
	assert_false(wants(s));
}

static void connection_that_goes_away_wants_none(void **state)
{
	struct scene *s = *state;
	s->offer.client_going_away = true;
	assert_false(wants(s));
}

static void push_or_a_request_that_is_over_wants_none(void **state)
{
	struct scene *s = *state;
	s->offer.parent_is_push = true;
	assert_false(wants(s));
	s->offer.parent_is_push = false;
	s->offer.parent_gone = true;
	assert_false(wants(s));
	s->offer.parent_gone = false;
	assert_true(wants(s));
}

static void rule_that_drops_all_for_the_request_ends_it(void **state)
{
	struct scene *s = *state;
	struct slice agent = SLICE("example/*");
	struct policy_rule *rule = scene_rule(s, "tools", POLICY_DROP);
	scene_rule(s, "rest", POLICY_FORWARD);
	rule->user_agents = (struct policy_patterns){&agent, NULL, 1};
	assert_false(wants(s));
	agent = SLICE("curl/*");
	assert_true(wants(s));
}

static void rule_that_drops_some_leaves_the_rest_wanted(void **state)
{
	struct scene *s = *state;
	struct slice css = SLICE("*.css");
	struct policy_rule *rule = scene_rule(s, "css", POLICY_DROP);
	rule->promised_paths = (struct policy_patterns){&css, NULL, 1};
	assert_true(wants(s));
	rule->promised_paths.count = 0;
	rule->types = 1u << POLICY_TYPE_STYLE;
	assert_true(wants(s));
	rule->types = 0;
	rule->methods = 1u << HTTP_METHOD_HEAD;
	assert_true(wants(s));
	rule->methods = 0;
	assert_false(wants(s));
}

static void default_drop_wants_only_what_a_rule_may_forward(void **state)
{
	struct scene *s = *state;
	struct slice css = SLICE("*.css"), path = SLICE("/elsewhere/*");
	s->set.fallback = POLICY_DROP;
	assert_false(wants(s));
	struct policy_rule *rule = scene_rule(s, "css", POLICY_FORWARD);
	rule->promised_paths = (struct policy_patterns){&css, NULL, 1};
	assert_true(wants(s));
	rule->paths = (struct policy_patterns){&path, NULL, 1};
	assert_false(wants(s));
}

static void rule_behind_one_that_drops_all_is_not_asked(void **state)
{
	struct scene *s = *state;
	struct slice css = SLICE("*.css");
	struct policy_rule *first = scene_rule(s, "css", POLICY_FORWARD);
	scene_rule(s, "all", POLICY_DROP);
	scene_rule(s, "late", POLICY_FORWARD);
	first->promised_paths = (struct policy_patterns){&css, NULL, 1};
	assert_true(wants(s));
	first->action = POLICY_DROP;
	assert_false(wants(s));
}

static void rule_that_can_hold_or_hint_wants_pushes_of_the_origin(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_HINT_HOLD);
	s->offer.client_push_enabled = false;
	assert_true(wants(s));
	s->offer.hold_refusal = &policy_reason_HOLD_SHARED;
	assert_true(wants(s));
	s->offer.hint_refusal = &policy_reason_HINT_CLIENT;
	assert_false(wants(s));
	rule->hint_anyone = true;
	assert_true(wants(s));
	rule->action = POLICY_HOLD;
	assert_false(wants(s));
	s->offer.hold_refusal = NULL;
	assert_true(wants(s));
	s->offer.client_going_away = true;
	assert_false(wants(s));
}

static void shadow_rules_want_nothing(void **state)
{
	struct scene *s = *state;
	s->set.fallback = POLICY_DROP;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_FORWARD);
	assert_true(wants(s));
	rule->shadow = true;
	assert_false(wants(s));
}

/* Their counts say what they would have done, so they are asked; the origin need not push for that. */
static void offers_of_our_own_are_wanted_by_shadow_rules_too(void **state)
{
	struct scene *s = *state;
	s->set.fallback = POLICY_DROP;
	s->offer.source = POLICY_LINK;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_FORWARD);
	rule->shadow = true;
	assert_true(policy_wants_offers(&s->set, &s->offer));
	rule->action = POLICY_DROP; /* and hides none behind it */
	assert_false(policy_wants_offers(&s->set, &s->offer));
	s->set.fallback = POLICY_FORWARD;
	assert_true(policy_wants_offers(&s->set, &s->offer));
	rule->shadow = false;
	assert_false(policy_wants_offers(&s->set, &s->offer));
	rule->sources = 1u << POLICY_RELAYED;
	assert_true(policy_wants_offers(&s->set, &s->offer));
}

static void what_some_rule_does_is_known_without_the_request(void **state)
{
	struct scene *s = *state;
	assert_false(policy_holds_or_hints(&s->set) || policy_hints(&s->set));
	s->set.fallback = POLICY_HINT;
	assert_true(policy_holds_or_hints(&s->set) && policy_hints(&s->set));
	s->set.fallback = POLICY_DROP;
	scene_rule(s, "one", POLICY_FORWARD);
	struct policy_rule *rule = scene_rule(s, "two", POLICY_HOLD);
	assert_true(policy_holds_or_hints(&s->set));
	assert_false(policy_hints(&s->set));
	rule->action = POLICY_HINT_HOLD;
	assert_true(policy_hints(&s->set));
}

static void rules_that_look_at_no_resource_decide_alike_for_all(void **state)
{
	struct scene *s = *state;
	struct slice css = SLICE("*.css");
	assert_true(policy_ignores_resources(&s->set));
	scene_rule(s, "one", POLICY_HINT);
	struct policy_rule *rule = scene_rule(s, "two", POLICY_HINT);
	assert_true(policy_ignores_resources(&s->set));
	rule->types = 1u << POLICY_TYPE_STYLE;
	assert_false(policy_ignores_resources(&s->set));
	rule->types = 0;
	rule->methods = 1u << HTTP_METHOD_HEAD;
	assert_false(policy_ignores_resources(&s->set));
	rule->methods = 0;
	rule->promised_paths = (struct policy_patterns){&css, NULL, 1};
	assert_false(policy_ignores_resources(&s->set));
	rule->promised_paths.count = 0;
	rule->destination_count = 1;
	assert_false(policy_ignores_resources(&s->set));
	rule->destination_count = 0;
	rule->min_used = 1;
	assert_false(policy_ignores_resources(&s->set));
	rule->min_used = 0;
	rule->shadow = true;
	assert_false(policy_ignores_resources(&s->set));
}

static bool withholds(const struct scene *s)
{
	return policy_interim(&s->set, &s->offer) == POLICY_NO;
}

static void rule_that_takes_the_request_may_withhold_interim_responses(void **state)
{
	struct scene *s = *state;
	struct slice agent = SLICE("example/*"), css = SLICE("*.css");
	assert_false(withholds(s));
	struct policy_rule *first = scene_rule(s, "first", POLICY_FORWARD);
	struct policy_rule *old = scene_rule(s, "old", POLICY_DROP);
	old->interim = POLICY_NO;
	assert_false(withholds(s)); /* the first rule takes all offers of the request */
	first->promised_paths = (struct policy_patterns){&css, NULL, 1};
	assert_true(withholds(s));
	first->promised_paths.count = 0;
	first->sources = 1u << POLICY_LINK;
	assert_true(withholds(s));
	first->sources = 1u << POLICY_RELAYED; /* takes this offer, and not all others */
	assert_true(withholds(s));
	first->sources = 0;
	first->shadow = true;
	assert_true(withholds(s));
	old->user_agents = (struct policy_patterns){&agent, NULL, 1};
	assert_true(withholds(s));
	agent = SLICE("other/*");
	assert_false(withholds(s));
	agent = SLICE("*");
	old->shadow = true;
	assert_false(withholds(s));
}

static void first_rule_that_says_so_gives_or_withholds_interim_responses(void **state)
{
	struct scene *s = *state;
	struct policy_rule *silent = scene_rule(s, "silent", POLICY_FORWARD);
	struct policy_rule *all = scene_rule(s, "all", POLICY_FORWARD);
	struct policy_rule *none = scene_rule(s, "none", POLICY_FORWARD);
	silent->sources = 1u << POLICY_LINK; /* others may be behind it */
	all->interim = POLICY_YES;
	none->interim = POLICY_NO;
	assert_int_equal(policy_interim(&s->set, &s->offer), POLICY_YES);
	all->interim = POLICY_NO;
	none->interim = POLICY_YES;
	assert_int_equal(policy_interim(&s->set, &s->offer), POLICY_NO);
	all->interim = POLICY_ANY; /* takes all offers */
	assert_int_equal(policy_interim(&s->set, &s->offer), POLICY_ANY);
}

/* Whatever the rules: when nothing is wanted, no offer for the request is forwarded. */
static void nothing_is_forwarded_that_was_not_wanted(void **state)
{
	struct scene *s = *state;
	struct slice css = SLICE("*.css"), shop = SLICE("/shop/*"), other = SLICE("/x");
	struct slice *globs[] = {NULL, &css, &other};
	size_t unwanted = 0;
	for (unsigned bits = 0; bits < 12 * 12 * 4; bits++) {
		unsigned n = bits;
		s->set.count = 0;
		for (int i = 0; i < 2; i++) {
			struct policy_rule *rule =
			    scene_rule(s, "r", n % 2 ? POLICY_DROP : POLICY_FORWARD);
			memset(&rule->promised_paths, 0, sizeof rule->promised_paths);
			memset(&rule->paths, 0, sizeof rule->paths);
			n /= 2;
			if (globs[n % 3])
				rule->promised_paths =
				    (struct policy_patterns){globs[n % 3], NULL, 1};
			n /= 3;
			if (n % 2)
				rule->paths = (struct policy_patterns){i ? &shop : &other, NULL, 1};
			n /= 2;
		}
		s->set.fallback = n % 2 ? POLICY_DROP : POLICY_FORWARD;
		n /= 2;
		s->offer.client_push_enabled = n % 2;
		s->offer.promised = NULL;
		bool wanted = wants(s);
		s->offer.promised = s->promised;
		if (policy_decide(&s->set, &s->offer).action == POLICY_FORWARD)
			assert_true(wanted);
		unwanted += !wanted;
	}
	assert_in_range(unwanted, 1, 12 * 12 * 4 - 1);
}

#define WANTS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    WANTS_TEST(client_that_accepts_pushes_wants_them),
	    WANTS_TEST(client_without_push_or_streams_wants_none),
	    WANTS_TEST(connection_that_goes_away_wants_none),
	    WANTS_TEST(push_or_a_request_that_is_over_wants_none),
	    WANTS_TEST(rule_that_drops_all_for_the_request_ends_it),
	    WANTS_TEST(rule_that_drops_some_leaves_the_rest_wanted),
	    WANTS_TEST(default_drop_wants_only_what_a_rule_may_forward),
	    WANTS_TEST(rule_behind_one_that_drops_all_is_not_asked),
	    WANTS_TEST(rule_that_can_hold_or_hint_wants_pushes_of_the_origin),
	    WANTS_TEST(shadow_rules_want_nothing),
	    WANTS_TEST(offers_of_our_own_are_wanted_by_shadow_rules_too),
	    WANTS_TEST(what_some_rule_does_is_known_without_the_request),
	    WANTS_TEST(rules_that_look_at_no_resource_decide_alike_for_all),
	    WANTS_TEST(rule_that_takes_the_request_may_withhold_interim_responses),
	    WANTS_TEST(first_rule_that_says_so_gives_or_withholds_interim_responses),
	    WANTS_TEST(nothing_is_forwarded_that_was_not_wanted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
