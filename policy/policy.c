/* SPDX-License-Identifier: MIT */
/*
 * The decision: guards (one table), then the rules, then the default; and the second look when the
 * response begins. Pure functions; the caller carries a verdict out and counts it.
 * Guards follow RFC 9113 8.4 and the allowances of the configuration.
 */
#include "policy/rules.h"
#include "proxy/base/ensure.h"

/* One decision under way. The rules are searched once, by the first guard that must know. */
struct question {
	const struct policy_rules *rules;
	const struct policy_offer *offer;
	const struct policy_rule *rule; /* NULL: none matched */
	enum policy_action action;
	bool is_matched;
};

static void question_match(struct question *q)
{
	struct policy_facts facts;

	if (q->is_matched)
		return;
	q->is_matched = true;
	q->action = q->rules->fallback;
	policy_facts_init(&facts, q->offer);
	for (size_t i = 0; i < q->rules->count; i++) {
		const struct policy_rule *rule = &q->rules->rules[i];
		if (policy_rule_takes_promise(rule, &facts) &&
		    policy_rule_takes_request(rule, &facts)) {
			q->rule = rule;
			q->action = rule->action;
			return;
		}
	}
}

static bool would_forward(struct question *q)
{
	question_match(q);
	return q->action == POLICY_FORWARD;
}

static bool is_malformed(struct question *q)
{
	const struct http_head *p = q->offer->promised;
	return !p || p->scheme.len == 0 || p->authority.len == 0 || p->path.len == 0 ||
	       p->path.ptr[0] != '/';
}

static bool has_other_method(struct question *q)
{
	uint16_t method = q->offer->promised->method_token;
	return method != HTTP_METHOD_GET && method != HTTP_METHOD_HEAD;
}

static bool has_body(struct question *q)
{
	const struct http_head *p = q->offer->promised;
	return (p->content_length != HTTP_LENGTH_UNKNOWN && p->content_length > 0) ||
	       http_head_find(p, HTTP_TOKEN_TRANSFER_ENCODING) ||
	       http_head_find(p, HTTP_TOKEN_EXPECT);
}

static bool parent_is_push(struct question *q)
{
	return q->offer->parent_is_push;
}

static bool parent_is_gone(struct question *q)
{
	return q->offer->parent_gone;
}

static bool origin_may_not(struct question *q)
{
	return !q->offer->origin_may_promise;
}

static bool listener_covers_not(struct question *q)
{
	return !q->offer->listener_covers;
}

static bool client_is_going_away(struct question *q)
{
	return q->offer->client_going_away;
}

static bool action_is_unavailable(struct question *q)
{
	question_match(q);
	return q->action != POLICY_FORWARD && q->action != POLICY_DROP;
}

/* These two leave every action but forward possible. */
static bool push_is_disabled(struct question *q)
{
	return !q->offer->client_push_enabled && would_forward(q);
}

static bool has_no_streams(struct question *q)
{
	return !q->offer->client_accepts_streams && would_forward(q);
}

static bool is_duplicate(struct question *q)
{
	return q->offer->duplicate;
}

static bool rate_is_exceeded(struct question *q)
{
	return q->offer->promise_rate_exceeded;
}

static bool parent_is_full(struct question *q)
{
	return q->offer->parent_pushes >= q->rules->caps.per_parent;
}

static bool rule_is_full(struct question *q)
{
	question_match(q);
	return q->rule && q->rule->max_per_parent != 0 &&
	       q->offer->parent_pushes >= q->rule->max_per_parent;
}

static bool connection_is_full(struct question *q)
{
	return q->offer->connection_pushes >= q->rules->caps.per_connection;
}

static bool bytes_are_full(struct question *q)
{
	return q->offer->connection_push_bytes >= q->rules->caps.bytes_in_flight;
}

/* In order: a later row may rely on what an earlier one has ruled out. */
static const struct guard {
	const struct policy_reason *reason;
	bool (*holds_up)(struct question *q);
	bool names_rule; /* the rule that matched is part of the answer */
} guards[] = {
    {&policy_reason_MALFORMED, is_malformed, false},
    {&policy_reason_METHOD, has_other_method, false},
    {&policy_reason_BODY, has_body, false},
    {&policy_reason_PARENT_PUSHED, parent_is_push, false},
    {&policy_reason_PARENT_GONE, parent_is_gone, false},
    {&policy_reason_AUTHORITY, origin_may_not, false},
    {&policy_reason_DOWNSTREAM_AUTHORITY, listener_covers_not, false},
    {&policy_reason_CLIENT_GOING_AWAY, client_is_going_away, false},
    {&policy_reason_NO_HOLD, action_is_unavailable, true},
    {&policy_reason_PUSH_DISABLED, push_is_disabled, false},
    {&policy_reason_NO_STREAMS, has_no_streams, false},
    {&policy_reason_DUPLICATE, is_duplicate, false},
    {&policy_reason_PROMISE_RATE, rate_is_exceeded, false},
    {&policy_reason_PARENT_CAP, parent_is_full, false},
    {&policy_reason_PARENT_CAP, rule_is_full, true},
    {&policy_reason_CONNECTION_CAP, connection_is_full, false},
    {&policy_reason_BYTES_CAP, bytes_are_full, false},
};

struct policy_verdict policy_decide(
    const struct policy_rules *rules, const struct policy_offer *offer)
{
	struct question q = {.rules = rules, .offer = offer};

	for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
		if (guards[i].holds_up(&q))
			return (struct policy_verdict){
			    POLICY_DROP, guards[i].reason, guards[i].names_rule ? q.rule : NULL};
	ensure(q.is_matched);
	return (struct policy_verdict){
	    q.action, q.rule ? &policy_reason_RULE : &policy_reason_DEFAULT, q.rule};
}

static bool action_is_useful(enum policy_action action, const struct policy_offer *facts)
{
	switch (action) {
	case POLICY_FORWARD:
		return facts->client_push_enabled && facts->client_accepts_streams;
	case POLICY_DROP:
	case POLICY_HOLD:
	case POLICY_HINT:
	case POLICY_HINT_HOLD:
	case POLICY_ACTION_COUNT:
		return false;
	}
	return false;
}

bool policy_wants_pushes(const struct policy_rules *rules, const struct policy_offer *facts)
{
	struct policy_offer request = *facts;
	struct policy_facts f;

	if (facts->parent_is_push || facts->parent_gone || facts->client_going_away)
		return false;
	request.promised = NULL;
	policy_facts_init(&f, &request);
	for (size_t i = 0; i < rules->count; i++) {
		const struct policy_rule *rule = &rules->rules[i];
		if (!policy_rule_takes_request(rule, &f))
			continue;
		if (action_is_useful(rule->action, facts))
			return true;
		if (!policy_rule_asks_promise(rule))
			return false; /* it takes every offer that gets this far */
	}
	return action_is_useful(rules->fallback, facts);
}

static bool status_is_allowed(
    const struct policy_rule *rule, enum policy_source source, uint16_t status)
{
	if (rule && rule->statuses_allowed != 0)
		return rule->statuses_allowed >> (status / 100) & 1u;
	/* What the origin promised itself is its own business; what we asked for must exist. */
	return source == POLICY_RELAYED || status < 400;
}

struct policy_verdict policy_review(const struct policy_rules *rules,
    const struct policy_verdict *decided, const struct policy_offer *offer,
    const struct http_head *response)
{
	const struct policy_rule *rule = decided->rule;

	(void)rules;
	if (decided->action == POLICY_DROP || http_head_is_interim(response))
		return *decided;
	if (!status_is_allowed(rule, offer->source, response->status))
		return (struct policy_verdict){POLICY_DROP, &policy_reason_STATUS, rule};
	/* The length that answers a HEAD is not one that will be sent. */
	bool has_content = offer->promised->method_token != HTTP_METHOD_HEAD;
	if (rule && rule->max_bytes != 0 && has_content &&
	    response->content_length != HTTP_LENGTH_UNKNOWN &&
	    response->content_length > rule->max_bytes)
		return (struct policy_verdict){POLICY_DROP, &policy_reason_TOO_LARGE, rule};
	return *decided;
}
