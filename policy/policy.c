/* SPDX-License-Identifier: MIT */
/*
 * The decision: guards (two tables), the rules, the default; and the second look when the response
 * begins. Pure functions; the caller carries a verdict out and counts it.
 * Guards follow RFC 9113 8.4 and the allowances of the configuration.
 */
#include "policy/policy.h"
#include "policy/rules.h"
#include "policy/watch.h"
#include "proxy/base/ensure.h"

/* What an action asks of the hop. A guard takes parts away; when none is left it is a drop. */
enum {
	PART_FORWARD = 1,
	PART_HOLD = 2,
	PART_HINT = 4,
	PART_BODY = PART_FORWARD | PART_HOLD,
	PART_ANY = 7
};

static const uint8_t action_parts[POLICY_ACTION_COUNT] = {
    [POLICY_FORWARD] = PART_FORWARD,
    [POLICY_DROP] = 0,
    [POLICY_HOLD] = PART_HOLD,
    [POLICY_HINT] = PART_HINT,
    [POLICY_HINT_HOLD] = PART_HINT | PART_HOLD,
};

static enum policy_action action_of_parts(unsigned parts)
{
	unsigned action = 0;

	while (action_parts[action] != parts) {
		action++;
		ensure(action < POLICY_ACTION_COUNT);
	}
	return (enum policy_action)action;
}

/* One offer against one rule (NULL: the default), once it is known which. */
struct question {
	const struct policy_rules *rules;
	const struct policy_feedback *feedback;
	const struct policy_offer *offer;
	const struct policy_rule *rule;
	const struct policy_watch *watch; /* NULL: nobody looks on */
};

static bool is_own(const struct question *q)
{
	return q->offer->source != POLICY_RELAYED;
}

/* ---- guards that hold up any offer, whatever the rules ---- */

static bool is_malformed(const struct question *q)
{
	const struct http_head *p = q->offer->promised;
	return !p || p->scheme.len == 0 || p->authority.len == 0 || p->path.len == 0 ||
	       p->path.ptr[0] != '/';
}

static bool has_other_method(const struct question *q)
{
	uint16_t method = q->offer->promised->method_token;
	return method != HTTP_METHOD_GET && method != HTTP_METHOD_HEAD;
}

static bool has_body(const struct question *q)
{
	const struct http_head *p = q->offer->promised;
	return (p->content_length != HTTP_LENGTH_UNKNOWN && p->content_length > 0) ||
	       http_head_find(p, HTTP_TOKEN_TRANSFER_ENCODING) ||
	       http_head_find(p, HTTP_TOKEN_EXPECT);
}

static bool parent_is_push(const struct question *q)
{
	return q->offer->parent_is_push;
}

static bool parent_is_gone(const struct question *q)
{
	return q->offer->parent_gone;
}

static bool promiser_may_not(const struct question *q)
{
	return !is_own(q) && !q->offer->origin_may_promise;
}

static bool promised_is_not_covered(const struct question *q)
{
	return !is_own(q) && !q->offer->listener_covers;
}

static bool rate_is_exceeded(const struct question *q)
{
	return q->offer->promise_rate_exceeded;
}

/* In order: a later row may rely on what an earlier one has ruled out. */
static const struct offer_guard {
	const struct policy_reason *reason;
	bool (*holds_up)(const struct question *q);
} offer_guards[] = {
    {&policy_reason_MALFORMED, is_malformed},
    {&policy_reason_METHOD, has_other_method},
    {&policy_reason_BODY, has_body},
    {&policy_reason_PARENT_PUSHED, parent_is_push},
    {&policy_reason_PARENT_GONE, parent_is_gone},
    {&policy_reason_AUTHORITY, promiser_may_not},
    {&policy_reason_DOWNSTREAM_AUTHORITY, promised_is_not_covered},
    {&policy_reason_PROMISE_RATE, rate_is_exceeded},
};

/* ---- guards that hold up some of what a rule may ask for ---- */

static bool route_leads_elsewhere(const struct question *q)
{
	return !q->offer->origin_may_promise;
}

static bool listener_covers_not(const struct question *q)
{
	return !q->offer->listener_covers;
}

static bool rule_is_paused(const struct question *q)
{
	return q->rule && q->feedback &&
	       policy_feedback_is_paused(q->feedback, q->rule, q->offer->now);
}

static bool is_only_proposed(const struct question *q)
{
	return q->offer->is_proposal;
}

static bool crosses_origins(const struct question *q)
{
	return is_own(q) && q->offer->cross_origin && !(q->rule && q->rule->cross_origin);
}

static bool parent_revalidates(const struct question *q)
{
	return is_own(q) && q->offer->parent_revalidates && !(q->rule && q->rule->on_revalidation);
}

static bool client_is_going_away(const struct question *q)
{
	return q->offer->client_going_away;
}

static bool push_is_disabled(const struct question *q)
{
	return !q->offer->client_push_enabled;
}

static bool has_no_streams(const struct question *q)
{
	return !q->offer->client_accepts_streams;
}

static bool is_known(const struct question *q)
{
	return q->offer->known != POLICY_NOT_KNOWN;
}

static bool is_duplicate(const struct question *q)
{
	return q->offer->duplicate;
}

static bool is_head(const struct question *q)
{
	return q->offer->promised->method_token == HTTP_METHOD_HEAD;
}

static bool cannot_be_held(const struct question *q)
{
	return q->offer->hold_refusal != NULL;
}

static bool may_hint(const struct policy_rule *rule, const struct policy_offer *offer)
{
	return !offer->hint_refusal ||
	       (offer->hint_refusal == &policy_reason_HINT_CLIENT && rule && rule->hint_anyone);
}

static bool cannot_be_hinted(const struct question *q)
{
	return !may_hint(q->rule, q->offer);
}

static bool parent_is_full(const struct question *q)
{
	return q->offer->parent_pushes >= q->rules->caps.per_parent;
}

static bool rule_is_full(const struct question *q)
{
	return q->rule && q->rule->max_per_parent != 0 &&
	       q->offer->parent_pushes >= q->rule->max_per_parent;
}

static bool connection_is_full(const struct question *q)
{
	return q->offer->connection_pushes >= q->rules->caps.per_connection;
}

static bool bytes_are_full(const struct question *q)
{
	return q->offer->connection_push_bytes >= q->rules->caps.bytes_in_flight;
}

static const struct policy_reason *hold_refusal(const struct policy_offer *offer)
{
	return offer->hold_refusal;
}

static const struct policy_reason *hint_refusal(const struct policy_offer *offer)
{
	return offer->hint_refusal;
}

/* The first that matters is told, so what stays as it is comes before what changes by the minute.
 * */
static const struct action_guard {
	uint8_t parts;   /* of the action that it takes away */
	bool names_rule; /* the rule is part of the answer */
	const struct policy_reason *reason;
	bool (*holds_up)(const struct question *q);
	const struct policy_reason *(*reason_of)(
	    const struct policy_offer *offer); /* where there is no reason */
} action_guards[] = {
    {PART_BODY, false, &policy_reason_AUTHORITY, route_leads_elsewhere, NULL},
    {PART_BODY, false, &policy_reason_DOWNSTREAM_AUTHORITY, listener_covers_not, NULL},
    {PART_ANY, true, &policy_reason_LEARNED_PROPOSAL, is_only_proposed, NULL},
    {PART_ANY, true, &policy_reason_CROSS_ORIGIN, crosses_origins, NULL},
    {PART_ANY, true, &policy_reason_PAUSED, rule_is_paused, NULL},
    {PART_BODY, false, &policy_reason_CLIENT_GOING_AWAY, client_is_going_away, NULL},
    {PART_FORWARD, false, &policy_reason_PUSH_DISABLED, push_is_disabled, NULL},
    {PART_FORWARD, false, &policy_reason_NO_STREAMS, has_no_streams, NULL},
    {PART_HOLD | PART_HINT, true, &policy_reason_HEAD, is_head, NULL},
    {PART_ANY, false, &policy_reason_REVALIDATION, parent_revalidates, NULL},
    {PART_ANY, false, &policy_reason_KNOWN, is_known, NULL},
    {PART_ANY, false, &policy_reason_DUPLICATE, is_duplicate, NULL},
    {PART_HOLD, true, NULL, cannot_be_held, hold_refusal},
    {PART_HINT, true, NULL, cannot_be_hinted, hint_refusal},
    {PART_ANY, false, &policy_reason_PARENT_CAP, parent_is_full, NULL},
    {PART_ANY, true, &policy_reason_PARENT_CAP, rule_is_full, NULL},
    {PART_FORWARD, false, &policy_reason_CONNECTION_CAP, connection_is_full, NULL},
    {PART_FORWARD, false, &policy_reason_BYTES_CAP, bytes_are_full, NULL},
};

/* ---- the decision ---- */

static struct policy_verdict answer(const struct question *q)
{
	enum policy_action action = q->rule ? q->rule->action : q->rules->fallback;
	struct policy_verdict verdict = {
	    action, q->rule ? &policy_reason_RULE : &policy_reason_DEFAULT, q->rule, NULL};
	unsigned parts = action_parts[action];

	for (size_t i = 0; parts != 0 && i < sizeof action_guards / sizeof *action_guards; i++) {
		const struct action_guard *guard = &action_guards[i];
		if ((parts & guard->parts) == 0)
			continue;
		bool holds_up = guard->holds_up(q);
		const struct policy_reason *reason =
		    guard->reason ? guard->reason : guard->reason_of(q->offer);
		if (q->watch)
			q->watch->guard(q->watch, reason, holds_up);
		if (!holds_up)
			continue;
		parts &= ~(unsigned)guard->parts;
		if (parts == 0)
			return (struct policy_verdict){
			    POLICY_DROP, reason, guard->names_rule ? q->rule : NULL, NULL};
		verdict.action = action_of_parts(parts);
		verdict.lost_half = reason;
	}
	return verdict;
}

/* The first live rule that takes the offer, and the shadow rule that would have been before it. */
static void match(
    const struct question *q, const struct policy_rule **live, const struct policy_rule **shadow)
{
	const struct policy_rules *rules = q->rules;
	struct policy_facts facts;

	*live = *shadow = NULL;
	policy_facts_init(&facts, q->offer);
	for (size_t i = 0; i < rules->count; i++) {
		const struct policy_rule *rule = &rules->rules[i];
		if (rule->shadow && *shadow)
			continue;
		bool takes = policy_rule_takes_promise(rule, &facts) &&
			     policy_rule_takes_request(rule, &facts);
		if (q->watch)
			q->watch->rule(q->watch, rule, &facts, takes);
		if (!takes)
			continue;
		*(rule->shadow ? shadow : live) = rule;
		if (!rule->shadow)
			return;
	}
}

struct policy_verdict policy_decide_watched(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    struct policy_verdict *shadow, const struct policy_watch *watch)
{
	struct question q = {rules, feedback, offer, NULL, watch};
	const struct policy_rule *live, *shadowed;

	if (shadow)
		*shadow = (struct policy_verdict){POLICY_DROP, &policy_reason_SHADOW, NULL, NULL};
	for (size_t i = 0; i < sizeof offer_guards / sizeof *offer_guards; i++) {
		bool holds_up = offer_guards[i].holds_up(&q);
		if (watch)
			watch->guard(watch, offer_guards[i].reason, holds_up);
		if (holds_up)
			return (struct policy_verdict){
			    POLICY_DROP, offer_guards[i].reason, NULL, NULL};
	}
	match(&q, &live, &shadowed);
	if (shadow && shadowed) {
		q.rule = shadowed;
		q.watch = NULL;
		*shadow = answer(&q);
		if (shadow->reason == &policy_reason_RULE)
			shadow->reason = &policy_reason_SHADOW;
		shadow->rule = shadowed;
	}
	q.rule = live;
	q.watch = watch;
	return answer(&q);
}

struct policy_verdict policy_decide_with(const struct policy_rules *rules,
    const struct policy_feedback *feedback, const struct policy_offer *offer,
    struct policy_verdict *shadow)
{
	return policy_decide_watched(rules, feedback, offer, shadow, NULL);
}

struct policy_verdict policy_decide(
    const struct policy_rules *rules, const struct policy_offer *offer)
{
	return policy_decide_with(rules, NULL, offer, NULL);
}

/* ---- before anything is promised ---- */

static bool action_is_useful(
    enum policy_action action, const struct policy_rule *rule, const struct policy_offer *facts)
{
	unsigned parts = action_parts[action];

	if (!facts->client_push_enabled || !facts->client_accepts_streams ||
	    facts->client_going_away)
		parts &= ~(unsigned)PART_FORWARD;
	if (facts->hold_refusal || facts->client_going_away)
		parts &= ~(unsigned)PART_HOLD;
	if (!may_hint(rule, facts))
		parts &= ~(unsigned)PART_HINT;
	return parts != 0;
}

bool policy_wants_pushes(const struct policy_rules *rules, const struct policy_offer *facts)
{
	struct policy_offer request = *facts;
	struct policy_facts f;

	if (facts->parent_is_push || facts->parent_gone)
		return false;
	if (rules->count == 0) /* asked of each request: what no rule looks at is not gathered */
		return action_is_useful(rules->fallback, NULL, facts);
	request.promised = NULL;
	policy_facts_init(&f, &request);
	for (size_t i = 0; i < rules->count; i++) {
		const struct policy_rule *rule = &rules->rules[i];
		if (rule->shadow || !policy_rule_takes_request(rule, &f))
			continue;
		if (action_is_useful(rule->action, rule, facts))
			return true;
		if (!policy_rule_asks_promise(rule))
			return false; /* it takes every offer that gets this far */
	}
	return action_is_useful(rules->fallback, NULL, facts);
}

/* ---- the response begins ---- */

static bool status_is_allowed(
    const struct policy_rule *rule, enum policy_source source, uint16_t status)
{
	if (rule && rule->statuses_allowed != 0)
		return rule->statuses_allowed >> (status / 100) & 1u;
	/* What the origin promised itself is its own business; what we asked for must exist. */
	return source == POLICY_RELAYED || status < 400;
}

/* Parameters aside; a response without the field has no type that could be allowed. */
static bool media_is_allowed(const struct policy_rule *rule, const struct http_head *response)
{
	if (!rule || rule->media_types.count == 0)
		return true;
	const struct http_field *field = http_head_find(response, HTTP_TOKEN_CONTENT_TYPE);
	if (!field)
		return false;
	struct slice media = slice_sub(field->value, 0, slice_find(field->value, ';'));
	return policy_patterns_take(&rule->media_types, slice_trim(media), true);
}

static bool length_is_allowed(const struct policy_rule *rule, const struct policy_offer *offer,
    const struct http_head *response)
{
	/* The length that answers a HEAD is not one that will be sent. */
	return !rule || rule->max_bytes == 0 || offer->promised->method_token == HTTP_METHOD_HEAD ||
	       response->content_length == HTTP_LENGTH_UNKNOWN ||
	       response->content_length <= rule->max_bytes;
}

struct policy_verdict policy_review(const struct policy_rules *rules,
    const struct policy_verdict *decided, const struct policy_offer *offer,
    const struct http_head *response)
{
	const struct policy_rule *rule = decided->rule;
	struct policy_verdict kept = *decided;
	const struct policy_reason *fault = NULL;

	(void)rules;
	if ((action_parts[decided->action] & PART_BODY) == 0 || http_head_is_interim(response))
		return *decided;
	if (!status_is_allowed(rule, offer->source, response->status))
		fault = &policy_reason_STATUS;
	else if (!media_is_allowed(rule, response))
		fault = &policy_reason_CONTENT_TYPE;
	else if (!length_is_allowed(rule, offer, response))
		fault = &policy_reason_TOO_LARGE;
	else if (action_parts[decided->action] & PART_HOLD)
		fault = offer->hold_refusal;
	if (!fault)
		return *decided;
	if (decided->action != POLICY_HINT_HOLD)
		return (struct policy_verdict){POLICY_DROP, fault, rule, NULL};
	kept.action = POLICY_HINT;
	kept.lost_half = fault;
	return kept;
}

/* ---- urgency ---- */

/* How far behind its parent a push of the type stands. */
static const uint8_t steps_behind[POLICY_TYPE_COUNT] = {
    [POLICY_TYPE_UNKNOWN] = 2,
    [POLICY_TYPE_DOCUMENT] = 1,
    [POLICY_TYPE_STYLE] = 1,
    [POLICY_TYPE_SCRIPT] = 1,
    [POLICY_TYPE_IMAGE] = 2,
    [POLICY_TYPE_FONT] = 1,
    [POLICY_TYPE_JSON] = 2,
    [POLICY_TYPE_MEDIA] = 3,
};

static struct http_priority behind(struct http_priority parent, unsigned steps, bool is_incremental)
{
	unsigned urgency = parent.urgency + steps;
	return (struct http_priority){(uint8_t)(urgency < 7 ? urgency : 7), is_incremental};
}

struct http_priority policy_urgency(const struct policy_rule *rule, enum policy_type type,
    struct http_priority parent, struct slice own)
{
	int urgency = rule ? rule->urgency : POLICY_URGENCY_AUTO;

	ensure((unsigned)type < POLICY_TYPE_COUNT);
	if (urgency >= 0)
		return (struct http_priority){(uint8_t)(urgency < 7 ? urgency : 7), false};
	if (urgency == POLICY_URGENCY_BEFORE)
		return (struct http_priority){
		    (uint8_t)(parent.urgency ? parent.urgency - 1 : 0), false};
	if (urgency == POLICY_URGENCY_INTERLEAVED)
		return (struct http_priority){parent.urgency, true};
	if (urgency == POLICY_URGENCY_AUTO && own.len > 0)
		return http_priority_parse(own);
	return behind(parent, urgency == POLICY_URGENCY_AFTER ? 1 : steps_behind[type],
	    urgency == POLICY_URGENCY_AUTO && type == POLICY_TYPE_IMAGE);
}
