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

/* A fact of the offer which refuses it, one without which it is refused, and more than one fact. */
#define IF(member) .guard.fact = offsetof(struct policy_offer, member)
#define UNLESS(member) .guard.is_needed = true, IF(member)
#define WHERE(function) .guard.holds_up = function

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

/* The order matters: a later row may rely on the checks of earlier ones. */
const struct policy_offer_guard policy_offer_guards[] = {
    {&policy_reason_MALFORMED, WHERE(is_malformed)},
    {&policy_reason_METHOD, WHERE(has_other_method)},
    {&policy_reason_BODY, WHERE(has_body)},
    {&policy_reason_PARENT_PUSHED, IF(parent_is_push)},
    {&policy_reason_PARENT_GONE, IF(parent_gone)},
    {&policy_reason_MATCH_LIMIT, WHERE(effort_is_used_up)},
    {&policy_reason_OUTSIDE_PREFIX, WHERE(is_outside_prefix)},
    {&policy_reason_AUTHORITY, WHERE(origin_may_not_promise)},
    {&policy_reason_DOWNSTREAM_AUTHORITY, WHERE(relayed_is_not_covered)},
    {&policy_reason_ACCESS_DENIED, IF(access_denied)},
    {&policy_reason_PROMISE_RATE, IF(promise_rate_exceeded)},
    {0},
};

/* ---- action guards: remove parts of a rule's action ---- */

static bool rule_is_paused(const struct policy_question *q)
{
	return q->rule && q->feedback &&
	       policy_feedback_is_paused(q->feedback, q->rule, q->offer->now);
}

static bool crosses_origins(const struct policy_question *q)
{
	return is_own(q) && q->offer->cross_origin && !(q->rule && q->rule->cross_origin);
}

/* A rule that says for which purposes it is meant is asked for. */
static bool parent_is_speculative(const struct policy_question *q)
{
	return policy_is_speculative(q->rule, q->offer);
}

static bool parent_revalidates(const struct policy_question *q)
{
	return is_own(q) && q->offer->parent_revalidates && !(q->rule && q->rule->on_revalidation);
}

static bool is_known(const struct policy_question *q)
{
	return q->offer->known != POLICY_NOT_KNOWN;
}

static bool is_head(const struct policy_question *q)
{
	return q->offer->promised->method_token == HTTP_METHOD_HEAD;
}

static bool cannot_be_held(const struct policy_question *q)
{
	return q->offer->hold_refusal != NULL;
}

bool policy_is_speculative(const struct policy_rule *rule, const struct policy_offer *offer)
{
	return offer->purpose != POLICY_PURPOSE_NONE && !(rule && rule->purposes != 0);
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
    {POLICY_PART_BODY, false, &policy_reason_AUTHORITY, UNLESS(origin_may_promise)},
    {POLICY_PART_BODY, false, &policy_reason_DOWNSTREAM_AUTHORITY, UNLESS(listener_covers)},
    {POLICY_PART_BODY, true, &policy_reason_PRECONNECT, IF(is_preconnect)},
    {POLICY_PART_ANY, true, &policy_reason_REMEMBERED_PROPOSAL, IF(is_proposal)},
    {POLICY_PART_ANY, true, &policy_reason_CROSS_ORIGIN, WHERE(crosses_origins)},
    {POLICY_PART_ANY, true, &policy_reason_PAUSED, WHERE(rule_is_paused)},
    {POLICY_PART_BODY, false, &policy_reason_CLIENT_GOING_AWAY, IF(client_going_away)},
    {POLICY_PART_FORWARD, false, &policy_reason_PUSH_DISABLED, UNLESS(client_push_enabled)},
    {POLICY_PART_FORWARD, false, &policy_reason_NO_STREAMS, UNLESS(client_accepts_streams)},
    {POLICY_PART_HOLD | POLICY_PART_HINT, true, &policy_reason_HEAD, WHERE(is_head)},
    {POLICY_PART_ANY, true, &policy_reason_SPECULATIVE, WHERE(parent_is_speculative)},
    {POLICY_PART_ANY, false, &policy_reason_REVALIDATION, WHERE(parent_revalidates)},
    {POLICY_PART_ANY, false, &policy_reason_KNOWN, WHERE(is_known)},
    {POLICY_PART_ANY, false, &policy_reason_DUPLICATE, IF(duplicate)},
    {POLICY_PART_HOLD, true, NULL, WHERE(cannot_be_held), .reason_of = hold_refusal},
    {POLICY_PART_HINT, true, NULL, WHERE(cannot_be_hinted), .reason_of = hint_refusal},
    {POLICY_PART_ANY, false, &policy_reason_PARENT_LIFE_CAP, WHERE(parent_is_used_up)},
    {POLICY_PART_ANY, false, &policy_reason_PARENT_CAP, WHERE(parent_is_full)},
    {POLICY_PART_ANY, true, &policy_reason_PARENT_CAP, WHERE(rule_is_full)},
    {POLICY_PART_FORWARD, false, &policy_reason_CONNECTION_CAP, WHERE(connection_is_full)},
    {POLICY_PART_FORWARD, false, &policy_reason_BYTES_CAP, WHERE(bytes_are_full)},
    {0},
};
