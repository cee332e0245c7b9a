/* SPDX-License-Identifier: MIT */
/*
 * The guards: no rule can switch them off. Offer guards refuse an offer before any rule; action
 * guards remove parts of a rule's action. They follow RFC 9113 8.4 and the configured caps.
 */
#include "policy/guards.h"
#include "policy/rules.h"
#include "proxy/base/ensure.h"

static const uint8_t action_parts[POLICY_ACTION_COUNT] = {
    [POLICY_FORWARD] = POLICY_PART_FORWARD,
    [POLICY_DROP] = 0,
    [POLICY_HOLD] = POLICY_PART_HOLD,
    [POLICY_HINT] = POLICY_PART_HINT,
    [POLICY_HINT_HOLD] = POLICY_PART_HINT | POLICY_PART_HOLD,
};

uint8_t policy_action_parts(enum policy_action action)
{
	ensure((unsigned)action < POLICY_ACTION_COUNT);
	return action_parts[action];
}

static bool is_own(const struct policy_question *q)
{
	return q->offer->source != POLICY_RELAYED;
}

/* ---- offer guards: refuse an offer before any rule ---- */

static bool is_malformed(const struct policy_question *q)
{
	const struct http_head *p = q->offer->promised;
	return !p || p->scheme.len == 0 || p->authority.len == 0 || p->path.len == 0 ||
	       p->path.ptr[0] != '/';
}

static bool has_other_method(const struct policy_question *q)
{
	uint16_t method = q->offer->promised->method_token;
	return method != HTTP_METHOD_GET && method != HTTP_METHOD_HEAD;
}

static bool has_body(const struct policy_question *q)
{
	const struct http_head *p = q->offer->promised;
	return (p->content_length != HTTP_LENGTH_UNKNOWN && p->content_length > 0) ||
	       http_head_find(p, HTTP_TOKEN_TRANSFER_ENCODING) ||
	       http_head_find(p, HTTP_TOKEN_EXPECT);
}

static bool parent_is_push(const struct policy_question *q)
{
	return q->offer->parent_is_push;
}

static bool parent_is_gone(const struct policy_question *q)
{
	return q->offer->parent_gone;
}

static bool effort_is_used_up(const struct policy_question *q)
{
	return q->offer->effort && q->offer->effort->is_used_up;
}

static bool is_outside_prefix(const struct policy_question *q)
{
	return !is_own(q) && q->offer->outside_prefix;
}

static bool origin_may_not_promise(const struct policy_question *q)
{
	return !is_own(q) && !q->offer->origin_may_promise;
}

static bool relayed_is_not_covered(const struct policy_question *q)
{
	return !is_own(q) && !q->offer->listener_covers;
}

static bool access_is_denied(const struct policy_question *q)
{
	return q->offer->access_denied;
}

static bool rate_is_exceeded(const struct policy_question *q)
{
	return q->offer->promise_rate_exceeded;
}

/* The order matters: a later row may rely on the checks of earlier ones. */
const struct policy_offer_guard policy_offer_guards[] = {
    {&policy_reason_MALFORMED, is_malformed},
    {&policy_reason_METHOD, has_other_method},
    {&policy_reason_BODY, has_body},
    {&policy_reason_PARENT_PUSHED, parent_is_push},
    {&policy_reason_PARENT_GONE, parent_is_gone},
    {&policy_reason_MATCH_LIMIT, effort_is_used_up},
    {&policy_reason_OUTSIDE_PREFIX, is_outside_prefix},
    {&policy_reason_AUTHORITY, origin_may_not_promise},
    {&policy_reason_DOWNSTREAM_AUTHORITY, relayed_is_not_covered},
    {&policy_reason_ACCESS_DENIED, access_is_denied},
    {&policy_reason_PROMISE_RATE, rate_is_exceeded},
    {NULL, NULL},
};

/* ---- action guards: remove parts of a rule's action ---- */

static bool other_origin_serves(const struct policy_question *q)
{
	return !q->offer->origin_may_promise;
}

static bool listener_does_not_cover(const struct policy_question *q)
{
	return !q->offer->listener_covers;
}

static bool rule_is_paused(const struct policy_question *q)
{
	return q->rule && q->feedback &&
	       policy_feedback_is_paused(q->feedback, q->rule, q->offer->now);
}

static bool is_only_proposed(const struct policy_question *q)
{
	return q->offer->is_proposal;
}

static bool crosses_origins(const struct policy_question *q)
{
	return is_own(q) && q->offer->cross_origin && !(q->rule && q->rule->cross_origin);
}

static bool parent_revalidates(const struct policy_question *q)
{
	return is_own(q) && q->offer->parent_revalidates && !(q->rule && q->rule->on_revalidation);
}

static bool client_is_going_away(const struct policy_question *q)
{
	return q->offer->client_going_away;
}

static bool push_is_disabled(const struct policy_question *q)
{
	return !q->offer->client_push_enabled;
}

static bool has_no_streams(const struct policy_question *q)
{
	return !q->offer->client_accepts_streams;
}

static bool is_known(const struct policy_question *q)
{
	return q->offer->known != POLICY_NOT_KNOWN;
}

static bool is_duplicate(const struct policy_question *q)
{
	return q->offer->duplicate;
}

static bool is_head(const struct policy_question *q)
{
	return q->offer->promised->method_token == HTTP_METHOD_HEAD;
}

static bool cannot_be_held(const struct policy_question *q)
{
	return q->offer->hold_refusal != NULL;
}

bool policy_may_hint(const struct policy_rule *rule, const struct policy_offer *offer)
{
	return !offer->hint_refusal ||
	       (offer->hint_refusal == &policy_reason_HINT_CLIENT && rule && rule->hint_anyone);
}

static bool cannot_be_hinted(const struct policy_question *q)
{
	return !policy_may_hint(q->rule, q->offer);
}

static bool parent_is_full(const struct policy_question *q)
{
	return !q->offer->is_expected && q->offer->parent_pushes >= q->rules->caps.per_parent;
}

static bool parent_is_used_up(const struct policy_question *q)
{
	return !q->offer->is_expected &&
	       q->offer->parent_pushes_ever >= q->rules->caps.per_parent_life;
}

static bool rule_is_full(const struct policy_question *q)
{
	return q->rule && q->rule->max_per_parent != 0 &&
	       q->offer->parent_pushes_ever >= q->rule->max_per_parent;
}

static bool connection_is_full(const struct policy_question *q)
{
	return !q->offer->is_expected &&
	       q->offer->connection_pushes >= q->rules->caps.per_connection;
}

static bool bytes_are_full(const struct policy_question *q)
{
	return !q->offer->is_expected &&
	       q->offer->connection_push_bytes >= q->rules->caps.bytes_in_flight;
}

static const struct policy_reason *hold_refusal(const struct policy_offer *offer)
{
	return offer->hold_refusal;
}

static const struct policy_reason *hint_refusal(const struct policy_offer *offer)
{
	return offer->hint_refusal;
}

/*
 * The verdict names the first guard that refuses, so lasting conditions come before passing ones.
 */
const struct policy_action_guard policy_action_guards[] = {
    {POLICY_PART_BODY, false, &policy_reason_AUTHORITY, other_origin_serves, NULL},
    {POLICY_PART_BODY, false, &policy_reason_DOWNSTREAM_AUTHORITY, listener_does_not_cover, NULL},
    {POLICY_PART_ANY, true, &policy_reason_LEARNED_PROPOSAL, is_only_proposed, NULL},
    {POLICY_PART_ANY, true, &policy_reason_CROSS_ORIGIN, crosses_origins, NULL},
    {POLICY_PART_ANY, true, &policy_reason_PAUSED, rule_is_paused, NULL},
    {POLICY_PART_BODY, false, &policy_reason_CLIENT_GOING_AWAY, client_is_going_away, NULL},
    {POLICY_PART_FORWARD, false, &policy_reason_PUSH_DISABLED, push_is_disabled, NULL},
    {POLICY_PART_FORWARD, false, &policy_reason_NO_STREAMS, has_no_streams, NULL},
    {POLICY_PART_HOLD | POLICY_PART_HINT, true, &policy_reason_HEAD, is_head, NULL},
    {POLICY_PART_ANY, false, &policy_reason_REVALIDATION, parent_revalidates, NULL},
    {POLICY_PART_ANY, false, &policy_reason_KNOWN, is_known, NULL},
    {POLICY_PART_ANY, false, &policy_reason_DUPLICATE, is_duplicate, NULL},
    {POLICY_PART_HOLD, true, NULL, cannot_be_held, hold_refusal},
    {POLICY_PART_HINT, true, NULL, cannot_be_hinted, hint_refusal},
    {POLICY_PART_ANY, false, &policy_reason_PARENT_LIFE_CAP, parent_is_used_up, NULL},
    {POLICY_PART_ANY, false, &policy_reason_PARENT_CAP, parent_is_full, NULL},
    {POLICY_PART_ANY, true, &policy_reason_PARENT_CAP, rule_is_full, NULL},
    {POLICY_PART_FORWARD, false, &policy_reason_CONNECTION_CAP, connection_is_full, NULL},
    {POLICY_PART_FORWARD, false, &policy_reason_BYTES_CAP, bytes_are_full, NULL},
    {0, false, NULL, NULL, NULL},
};
