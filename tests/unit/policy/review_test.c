/* SPDX-License-Identifier: MIT */
/* The second look: what the response's head makes of a push that was let through. */
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

static void assert_reviewed(struct scene *s, const char *status, const char *length,
    enum policy_action action, const struct policy_reason *reason)
{
	struct http_head *response = head_response(s->pool, status, length);
	struct policy_verdict decided = policy_decide(&s->set, &s->offer);
	struct policy_verdict v = policy_review(&s->set, &decided, &s->offer, response);
	http_head_free(response);
	assert_string_equal(v.reason->code, reason->code);
	assert_int_equal(v.action, action);
	assert_ptr_equal(v.rule, decided.rule);
}

static void relayed_push_keeps_any_status_by_default(void **state)
{
	struct scene *s = *state;
	assert_reviewed(s, "200", NULL, POLICY_FORWARD, &policy_reason_DEFAULT);
	assert_reviewed(s, "404", "5", POLICY_FORWARD, &policy_reason_DEFAULT);
}

static void push_of_our_own_with_an_error_is_withdrawn(void **state)
{
	struct scene *s = *state;
	s->offer.source = POLICY_LINK;
	assert_reviewed(s, "304", NULL, POLICY_FORWARD, &policy_reason_DEFAULT);
	assert_reviewed(s, "404", NULL, POLICY_DROP, &policy_reason_STATUS);
	assert_reviewed(s, "503", NULL, POLICY_DROP, &policy_reason_STATUS);
}

static void status_that_the_rule_does_not_allow_is_withdrawn(void **state)
{
	struct scene *s = *state;
	scene_rule(s, "one", POLICY_FORWARD)->statuses_allowed = 1u << 2 | 1u << 3;
	assert_reviewed(s, "204", NULL, POLICY_FORWARD, &policy_reason_RULE);
	assert_reviewed(s, "301", NULL, POLICY_FORWARD, &policy_reason_RULE);
	assert_reviewed(s, "404", NULL, POLICY_DROP, &policy_reason_STATUS);
	assert_reviewed(s, "999", NULL, POLICY_DROP, &policy_reason_STATUS);
}

static void larger_than_the_rule_allows_is_withdrawn(void **state)
{
	struct scene *s = *state;
	scene_rule(s, "one", POLICY_FORWARD)->max_bytes = 1000;
	assert_reviewed(s, "200", "1000", POLICY_FORWARD, &policy_reason_RULE);
	assert_reviewed(s, "200", "1001", POLICY_DROP, &policy_reason_TOO_LARGE);
	assert_reviewed(s, "200", NULL, POLICY_FORWARD, &policy_reason_RULE);
	/* Nothing follows the head that answers HEAD. */
	scene_promise(s, "HEAD", "/a");
	assert_reviewed(s, "200", "1001", POLICY_FORWARD, &policy_reason_RULE);
}

static void interim_responses_change_nothing(void **state)
{
	struct scene *s = *state;
	scene_rule(s, "one", POLICY_FORWARD)->statuses_allowed = 1u << 2;
	assert_reviewed(s, "103", NULL, POLICY_FORWARD, &policy_reason_RULE);
}

static void dropped_push_stays_dropped_for_its_first_reason(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	rule->statuses_allowed = 1u << 2;
	assert_reviewed(s, "404", NULL, POLICY_DROP, &policy_reason_RULE);
}

#define REVIEW_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    REVIEW_TEST(relayed_push_keeps_any_status_by_default),
	    REVIEW_TEST(push_of_our_own_with_an_error_is_withdrawn),
	    REVIEW_TEST(status_that_the_rule_does_not_allow_is_withdrawn),
	    REVIEW_TEST(larger_than_the_rule_allows_is_withdrawn),
	    REVIEW_TEST(interim_responses_change_nothing),
	    REVIEW_TEST(dropped_push_stays_dropped_for_its_first_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
