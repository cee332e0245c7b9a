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
	struct policy_verdict v = policy_review(&decided, &s->offer, response);
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

static void other_content_type_than_the_rule_allows_is_withdrawn(void **state)
{
	struct scene *s = *state;
	struct slice types[] = {SLICE("text/css"), SLICE("image/*")};
	scene_rule(s, "one", POLICY_FORWARD)->media_types =
	    (struct policy_patterns){types, NULL, 2};
	struct policy_verdict decided = policy_decide(&s->set, &s->offer);
	static const struct {
		const char *type;
		bool is_kept;
	} rows[] = {{"text/css", true}, {"Text/CSS ; charset=utf-8", true}, {"image/webp", true},
	    {"text/html", false}, {"text/css2", false}, {NULL, false}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct http_head *response = http_head_new(s->pool);
		http_head_add(response, SLICE(":status"), SLICE("200"));
		if (rows[i].type)
			http_head_add(
			    response, SLICE("content-type"), slice_of_string(rows[i].type));
		assert_null(http_head_validate(response, HTTP_RESPONSE));
		struct policy_verdict v = policy_review(&decided, &s->offer, response);
		assert_int_equal(v.action == POLICY_FORWARD, rows[i].is_kept);
		if (!rows[i].is_kept)
			assert_ptr_equal(v.reason, &policy_reason_CONTENT_TYPE);
		http_head_free(response);
	}
}

static void held_response_that_may_not_be_kept_is_withdrawn(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_HOLD);
	assert_reviewed(s, "200", NULL, POLICY_HOLD, &policy_reason_RULE);
	struct policy_verdict decided = policy_decide(&s->set, &s->offer);
	struct http_head *response = head_response(s->pool, "200", NULL);
	s->offer.hold_refusal = &policy_reason_NOT_STORABLE;
	struct policy_verdict v = policy_review(&decided, &s->offer, response);
	assert_int_equal(v.action, POLICY_DROP);
	assert_ptr_equal(v.reason, &policy_reason_NOT_STORABLE);
	assert_ptr_equal(v.rule, rule);
	/* Forwarding asks nobody to keep it. */
	decided.action = POLICY_FORWARD;
	assert_int_equal(
	    policy_review(&decided, &s->offer, response).action, POLICY_FORWARD);
	/* The hint has left by now. */
	decided.action = POLICY_HINT_HOLD;
	v = policy_review(&decided, &s->offer, response);
	assert_int_equal(v.action, POLICY_HINT);
	assert_ptr_equal(v.reason, &policy_reason_RULE);
	assert_ptr_equal(v.lost_half, &policy_reason_NOT_STORABLE);
	http_head_free(response);
}

#define REVIEW_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    REVIEW_TEST(relayed_push_keeps_any_status_by_default),
	    REVIEW_TEST(push_of_our_own_with_an_error_is_withdrawn),
	    REVIEW_TEST(status_that_the_rule_does_not_allow_is_withdrawn),
	    REVIEW_TEST(larger_than_the_rule_allows_is_withdrawn),
	    REVIEW_TEST(other_content_type_than_the_rule_allows_is_withdrawn),
	    REVIEW_TEST(held_response_that_may_not_be_kept_is_withdrawn),
	    REVIEW_TEST(interim_responses_change_nothing),
	    REVIEW_TEST(dropped_push_stays_dropped_for_its_first_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
