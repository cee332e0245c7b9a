/* SPDX-License-Identifier: MIT */
/* Which guard takes which action away, cell by cell; and what hint+hold becomes when half of it is gone. */
#include "tests/unit/policy/offer.h"

static int setup(void **state)
{
	*state = malloc(sizeof(struct scene));
	scene_init(*state);
	return 0;
}

static int teardown(void **state)
{
	scene_fini(*state);
	free(*state);
	return 0;
}

static void set_malformed(struct scene *s)
{
	s->promised->path = SLICE("*");
}
static void set_method(struct scene *s)
{
	scene_promise(s, "POST", "/a");
}
static void set_body(struct scene *s)
{
	s->promised->content_length = 1;
}
static void set_parent_pushed(struct scene *s)
{
	s->offer.parent_is_push = true;
}
static void set_parent_gone(struct scene *s)
{
	s->offer.parent_gone = true;
}
static void set_authority(struct scene *s)
{
	s->offer.origin_may_promise = false;
}
static void set_uncovered(struct scene *s)
{
	s->offer.listener_covers = false;
}
static void set_rate(struct scene *s)
{
	s->offer.promise_rate_exceeded = true;
}
static void set_proposal(struct scene *s)
{
	s->offer.is_proposal = true;
}
static void set_cross_origin(struct scene *s)
{
	s->offer.cross_origin = true;
}
static void set_going_away(struct scene *s)
{
	s->offer.client_going_away = true;
}
static void set_push_disabled(struct scene *s)
{
	s->offer.client_push_enabled = false;
}
static void set_no_streams(struct scene *s)
{
	s->offer.client_accepts_streams = false;
}
static void set_head(struct scene *s)
{
	scene_promise(s, "HEAD", "/a");
}
static void set_revalidates(struct scene *s)
{
	s->offer.parent_revalidates = true;
}
static void set_known(struct scene *s)
{
	s->offer.known = POLICY_KNOWN;
}
static void set_duplicate(struct scene *s)
{
	s->offer.duplicate = true;
}
static void set_hold_refusal(struct scene *s)
{
	s->offer.hold_refusal = &policy_reason_HOLD_SHARED;
}
static void set_hint_refusal(struct scene *s)
{
	s->offer.hint_refusal = &policy_reason_HINT_LATE;
}
static void set_preconnect(struct scene *s)
{
	s->offer.is_preconnect = true;
}
static void set_parent_full(struct scene *s)
{
	s->offer.parent_pushes = 100;
}
static void set_parent_used_up(struct scene *s)
{
	s->offer.parent_pushes_ever = 1000;
}
static void set_speculative(struct scene *s)
{
	s->offer.purpose = POLICY_PURPOSE_PRERENDER;
}
static void set_rule_full(struct scene *s)
{
	s->rules[0].max_per_parent = 1;
	s->offer.parent_pushes_ever = 1;
}
static void set_connection_full(struct scene *s)
{
	s->offer.connection_pushes = 256;
}
static void set_bytes_full(struct scene *s)
{
	s->offer.connection_push_bytes = 4 << 20;
}

enum { F = 1, H = 2, N = 4, D = 8 }; /* forward, hold, hint, drop */

/* What the guard speaks against, for an origin's offer and for one of our own. */
static const struct {
	void (*set)(struct scene *s);
	const struct policy_reason *reason;
	unsigned relayed, own;
} rows[] = {
    {set_malformed, &policy_reason_MALFORMED, F | H | N | D, F | H | N | D},
    {set_method, &policy_reason_METHOD, F | H | N | D, F | H | N | D},
    {set_body, &policy_reason_BODY, F | H | N | D, F | H | N | D},
    {set_parent_pushed, &policy_reason_PARENT_PUSHED, F | H | N | D, F | H | N | D},
    {set_parent_gone, &policy_reason_PARENT_GONE, F | H | N | D, F | H | N | D},
    {set_authority, &policy_reason_AUTHORITY, F | H | N | D, F | H},
    {set_uncovered, &policy_reason_DOWNSTREAM_AUTHORITY, F | H | N | D, F | H},
    {set_rate, &policy_reason_PROMISE_RATE, F | H | N | D, F | H | N | D},
    {set_preconnect, &policy_reason_PRECONNECT, F | H, F | H},
    {set_proposal, &policy_reason_REMEMBERED_PROPOSAL, F | H | N, F | H | N},
    {set_cross_origin, &policy_reason_CROSS_ORIGIN, 0, F | H | N},
    {set_going_away, &policy_reason_CLIENT_GOING_AWAY, F | H, F | H},
    {set_push_disabled, &policy_reason_PUSH_DISABLED, F, F},
    {set_no_streams, &policy_reason_NO_STREAMS, F, F},
    {set_head, &policy_reason_HEAD, H | N, H | N},
    {set_speculative, &policy_reason_SPECULATIVE, F | H | N, F | H | N},
    {set_revalidates, &policy_reason_REVALIDATION, 0, F | H | N},
    {set_known, &policy_reason_KNOWN, F | H | N, F | H | N},
    {set_duplicate, &policy_reason_DUPLICATE, F | H | N, F | H | N},
    {set_hold_refusal, &policy_reason_HOLD_SHARED, H, H},
    {set_hint_refusal, &policy_reason_HINT_LATE, N, N},
    {set_parent_full, &policy_reason_PARENT_CAP, F | H | N, F | H | N},
    {set_parent_used_up, &policy_reason_PARENT_LIFE_CAP, F | H | N, F | H | N},
    {set_rule_full, &policy_reason_PARENT_CAP, F | H | N, F | H | N},
    {set_connection_full, &policy_reason_CONNECTION_CAP, F, F},
    {set_bytes_full, &policy_reason_BYTES_CAP, F, F},
};

static void assert_cell(
    size_t row, enum policy_action action, unsigned parts, enum policy_source source)
{
	struct scene s;
	unsigned taken = source == POLICY_RELAYED ? rows[row].relayed : rows[row].own,
		 left = parts & ~taken;

	scene_init(&s);
	scene_rule(&s, "one", action);
	s.offer.source = source;
	rows[row].set(&s);
	struct policy_verdict v = policy_decide(&s.set, &s.offer);
	if (left == parts) {
		assert_int_equal(v.action, action);
		assert_ptr_equal(v.reason, &policy_reason_RULE);
		assert_null(v.lost_half);
	} else if (left == 0) {
		assert_int_equal(v.action, POLICY_DROP);
		assert_string_equal(v.reason->code, rows[row].reason->code);
		assert_null(v.lost_half);
	} else { /* of hint+hold one half */
		assert_int_equal(v.action, left == N ? POLICY_HINT : POLICY_HOLD);
		assert_ptr_equal(v.reason, &policy_reason_RULE);
		assert_string_equal(v.lost_half->code, rows[row].reason->code);
	}
	scene_fini(&s);
}

static void every_guard_speaks_against_the_actions_of_its_row(void **state)
{
	static const unsigned parts[POLICY_ACTION_COUNT] = {[POLICY_FORWARD] = F,
	    [POLICY_DROP] = D,
	    [POLICY_HOLD] = H,
	    [POLICY_HINT] = N,
	    [POLICY_HINT_HOLD] = H | N};
	(void)state;
	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
		for (unsigned action = 0; action < POLICY_ACTION_COUNT; action++)
			for (unsigned source = 0; source < POLICY_SOURCE_COUNT; source++)
				assert_cell(row, (enum policy_action)action, parts[action],
				    (enum policy_source)source);
}

static void every_action_is_carried_out_when_nothing_speaks_against_it(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_FORWARD);
	for (unsigned action = 0; action < POLICY_ACTION_COUNT; action++) {
		rule->action = (enum policy_action)action;
		assert_decided(s, rule->action, &policy_reason_RULE, rule);
		s->set.count = 0;
		s->set.fallback = (enum policy_action)action;
		assert_decided(s, s->set.fallback, &policy_reason_DEFAULT, NULL);
		s->set.count = 1;
	}
}

static void hint_and_hold_without_either_half_says_why_the_last_failed(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_HINT_HOLD);
	set_hold_refusal(s);
	set_hint_refusal(s);
	assert_decided(s, POLICY_DROP, &policy_reason_HINT_LATE, rule);
}

static void rule_may_hint_to_clients_that_do_not_navigate(void **state)
{
	struct scene *s = *state;
	s->offer.hint_refusal = &policy_reason_HINT_CLIENT;
	s->set.fallback = POLICY_HINT; /* which nothing widens */
	assert_decided(s, POLICY_DROP, &policy_reason_HINT_CLIENT, NULL);
	struct policy_rule *rule = scene_rule(s, "one", POLICY_HINT);
	assert_decided(s, POLICY_DROP, &policy_reason_HINT_CLIENT, rule);
	rule->hint_anyone = true;
	assert_decided(s, POLICY_HINT, &policy_reason_RULE, rule);
	s->offer.hint_refusal = &policy_reason_HINT_VERSION;
	assert_decided(s, POLICY_DROP, &policy_reason_HINT_VERSION, rule);
	s->offer.hint_refusal = &policy_reason_NO_INTERIM;
	assert_decided(s, POLICY_DROP, &policy_reason_NO_INTERIM, rule);
}

static void rule_may_allow_other_origins_and_revalidations(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_FORWARD);
	s->offer.source = POLICY_CONFIG;
	s->offer.cross_origin = s->offer.parent_revalidates = true;
	assert_decided(s, POLICY_DROP, &policy_reason_CROSS_ORIGIN, rule);
	rule->cross_origin = true;
	assert_decided(s, POLICY_DROP, &policy_reason_REVALIDATION, NULL);
	rule->on_revalidation = true;
	assert_decided(s, POLICY_FORWARD, &policy_reason_RULE, rule);
}

static void etag_that_is_known_counts_as_known(void **state)
{
	struct scene *s = *state;
	s->offer.known = POLICY_KNOWN_VALIDATOR;
	assert_decided(s, POLICY_DROP, &policy_reason_KNOWN, NULL);
}

/* ---- shadow rules ---- */

static struct policy_verdict decide(struct scene *s, struct policy_verdict *shadow)
{
	return policy_decide_with(&s->set, NULL, &s->offer, shadow, NULL);
}

static void shadow_rule_decides_beside_the_live_ones(void **state)
{
	struct scene *s = *state;
	struct policy_rule *shadow = scene_rule(s, "shadow", POLICY_HOLD);
	struct policy_rule *live = scene_rule(s, "live", POLICY_FORWARD);
	struct policy_verdict beside;
	shadow->shadow = true;
	struct policy_verdict v = decide(s, &beside);
	assert_int_equal(v.action, POLICY_FORWARD);
	assert_ptr_equal(v.rule, live);
	assert_int_equal(beside.action, POLICY_HOLD);
	assert_ptr_equal(beside.rule, shadow);
	assert_ptr_equal(beside.reason, &policy_reason_SHADOW);
	assert_decided(s, POLICY_FORWARD, &policy_reason_RULE, live);
}

static void shadow_rule_meets_the_same_guards(void **state)
{
	struct scene *s = *state;
	struct policy_rule *shadow = scene_rule(s, "shadow", POLICY_FORWARD);
	struct policy_verdict beside;
	shadow->shadow = true;
	s->set.fallback = POLICY_DROP;
	s->offer.client_push_enabled = false;
	decide(s, &beside);
	assert_int_equal(beside.action, POLICY_DROP);
	assert_ptr_equal(beside.reason, &policy_reason_PUSH_DISABLED);
	assert_ptr_equal(beside.rule, shadow);
	s->offer.parent_gone = true; /* no rule is asked then */
	decide(s, &beside);
	assert_null(beside.rule);
}

static void shadow_rule_behind_a_live_one_that_matches_is_not_reached(void **state)
{
	struct scene *s = *state;
	struct policy_verdict beside;
	scene_rule(s, "live", POLICY_FORWARD);
	scene_rule(s, "shadow", POLICY_DROP)->shadow = true;
	decide(s, &beside);
	assert_null(beside.rule);
}

static void first_of_two_shadow_rules_counts(void **state)
{
	struct scene *s = *state;
	struct policy_verdict beside;
	struct policy_rule *first = scene_rule(s, "first", POLICY_HINT);
	first->shadow = true;
	scene_rule(s, "second", POLICY_DROP)->shadow = true;
	assert_ptr_equal(decide(s, &beside).reason, &policy_reason_DEFAULT);
	assert_ptr_equal(beside.rule, first);
}

/* ---- pauses ---- */

static void paused_rule_drops_and_says_so(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "poor", POLICY_FORWARD);
	struct policy_feedback feedback;
	policy_feedback_init(&feedback, &s->set);
	feedback.tallies[0].state = POLICY_RULE_PAUSED;
	feedback.tallies[0].paused_until = s->offer.now + 1;
	struct policy_verdict v = policy_decide_with(&s->set, &feedback, &s->offer, NULL, NULL);
	assert_int_equal(v.action, POLICY_DROP);
	assert_ptr_equal(v.reason, &policy_reason_PAUSED);
	assert_ptr_equal(v.rule, rule);
	s->offer.now++;
	v = policy_decide_with(&s->set, &feedback, &s->offer, NULL, NULL);
	assert_int_equal(v.action, POLICY_FORWARD);
	policy_feedback_fini(&feedback);
}

/* ---- urgency ---- */

static void assert_urgency(const struct policy_rule *rule, enum policy_type type, struct slice own,
    uint8_t urgency, bool is_incremental)
{
	struct http_priority p = policy_urgency(rule, type, (struct http_priority){3, false}, own);
	assert_int_equal(p.urgency, urgency);
	assert_int_equal(p.incremental, is_incremental);
}

static void push_comes_after_its_parent_by_type(void **state)
{
	(void)state;
	assert_urgency(NULL, POLICY_TYPE_STYLE, SLICE(""), 4, false);
	assert_urgency(NULL, POLICY_TYPE_SCRIPT, SLICE(""), 4, false);
	assert_urgency(NULL, POLICY_TYPE_IMAGE, SLICE(""), 5, true);
	assert_urgency(NULL, POLICY_TYPE_MEDIA, SLICE(""), 6, false);
	assert_urgency(NULL, POLICY_TYPE_UNKNOWN, SLICE("u=1, i"), 1, true);
}

static void urgency_of_a_rule_is_what_it_says(void **state)
{
	(void)state;
	struct policy_rule rule = {.urgency = 0};
	assert_urgency(&rule, POLICY_TYPE_MEDIA, SLICE("u=5"), 0, false);
	rule.urgency = 7;
	assert_urgency(&rule, POLICY_TYPE_MEDIA, SLICE("u=5"), 7, false);
	rule.urgency = POLICY_URGENCY_AFTER;
	assert_urgency(&rule, POLICY_TYPE_MEDIA, SLICE("u=0"), 4, false);
	rule.urgency = POLICY_URGENCY_BEFORE;
	assert_urgency(&rule, POLICY_TYPE_MEDIA, SLICE("u=7"), 2, false);
	rule.urgency = POLICY_URGENCY_INTERLEAVED;
	assert_urgency(&rule, POLICY_TYPE_MEDIA, SLICE("u=7"), 3, true);
	rule.urgency = POLICY_URGENCY_AUTO;
	assert_urgency(&rule, POLICY_TYPE_MEDIA, SLICE("u=7"), 7, false);
}

static void urgency_stays_within_its_range(void **state)
{
	(void)state;
	struct policy_rule rule = {.urgency = POLICY_URGENCY_AFTER};
	assert_int_equal(
	    policy_urgency(&rule, POLICY_TYPE_STYLE, (struct http_priority){7, false}, SLICE(""))
		.urgency,
	    7);
	assert_int_equal(
	    policy_urgency(NULL, POLICY_TYPE_MEDIA, (struct http_priority){6, false}, SLICE(""))
		.urgency,
	    7);
	rule.urgency = POLICY_URGENCY_BEFORE;
	assert_int_equal(
	    policy_urgency(&rule, POLICY_TYPE_STYLE, (struct http_priority){0, false}, SLICE(""))
		.urgency,
	    0);
}

#define ACTION_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_guard_speaks_against_the_actions_of_its_row),
	    ACTION_TEST(every_action_is_carried_out_when_nothing_speaks_against_it),
	    ACTION_TEST(hint_and_hold_without_either_half_says_why_the_last_failed),
	    ACTION_TEST(rule_may_hint_to_clients_that_do_not_navigate),
	    ACTION_TEST(rule_may_allow_other_origins_and_revalidations),
	    ACTION_TEST(etag_that_is_known_counts_as_known),
	    ACTION_TEST(shadow_rule_decides_beside_the_live_ones),
	    ACTION_TEST(shadow_rule_meets_the_same_guards),
	    ACTION_TEST(shadow_rule_behind_a_live_one_that_matches_is_not_reached),
	    ACTION_TEST(first_of_two_shadow_rules_counts),
	    ACTION_TEST(paused_rule_drops_and_says_so),
	    cmocka_unit_test(push_comes_after_its_parent_by_type),
	    cmocka_unit_test(urgency_of_a_rule_is_what_it_says),
	    cmocka_unit_test(urgency_stays_within_its_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
