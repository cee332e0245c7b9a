/* SPDX-License-Identifier: MIT */
/*
 * The parts of a push decision that need both connections: gathers the facts for the policy (most of
 * them in offer/context.c), and counts and logs the decision.
 */
#include "proxy/gateway/gateway_private.h"

void promise_facts(void *context, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place)
{
	struct gateway *g = context;
	struct client_facts facts;
	offer_context(&g->offers, client_facts(parent, &facts), parent, promised, offer, place);
	offer->known = client_diary_knows(parent, promised, offer->source, place->route);
	if (offer->source != POLICY_RELAYED) {
		if (!offer->hold_refusal && place->origin)
			offer->hold_refusal = upstream_fetch_refusal(&g->upstream, place->origin);
		return;
	}
	offer->promise_rate_exceeded = !origin_may_promise_more(parent);
}

bool promise_is_special(
    void *context, const struct exchange *parent, const struct http_head *promised)
{
	const struct conf_listen *listen = parent->facts.listener;
	(void)context;
	return !listen || listen->access ||
	       client_diary_knows(parent, promised, POLICY_REMEMBERED, parent->place.route) !=
		   POLICY_NOT_KNOWN;
}

/* ---- verdicts ---- */

/* The line of an offer that became no push. */
static void log_decision(struct gateway *g, const struct exchange *parent,
    const struct policy_offer *offer, const struct policy_verdict *verdict)
{
	uint32_t weight = observe_weight(g->env.observe, parent->id, false);
	if (weight == 0)
		return;
	const struct conf_route *route = parent->place.route;
	const struct conf_origin *origin = parent->place.origin;
	const struct http_head *head = offer->promised;
	const struct conf_arm *arm = offer_part(parent)->arm;
	struct observe_trace trace;
	const struct observe_push push = {
	    .parent_id = parent->id, .source = offer->source, .verdict = *verdict};
	const struct observe_exchange line = {
	    .started_wall = clock_wall(),
	    .weight = weight,
	    .route = route ? route->name : NULL,
	    .client = access_record_client(parent),
	    .user = access_record_user(parent),
	    .origin = {.name = origin ? origin->name : NULL},
	    .request = {.method = head->method,
		.scheme = head->scheme,
		.authority = head->authority,
		.path = head->path},
	    .response.first_byte = USEC_NEVER,
	    .ending.outcome = verdict->action == POLICY_DROP ? OBSERVE_REFUSED : OBSERVE_COMPLETE,
	    .push = &push,
	    .arm = arm ? arm->text : NULL,
	    .trace = access_record_trace(parent, &trace),
	};
	observe_access_log(g->env.observe, &line);
}

/* A verdict, or half of it, was not possible. */
static void count_unfetched(struct observe_counters *c, const struct policy_verdict *v)
{
	const struct policy_reason *why = v->lost_half ? v->lost_half : v->reason;
	c->fetches_refused_share += why == &policy_reason_FETCH_SHARE;
	c->fetches_refused_budget += why == &policy_reason_FETCH_BUDGET;
}

void promise_decided(void *context, struct exchange *parent, const struct policy_offer *offer,
    struct policy_verdict verdict)
{
	struct gateway *g = context;
	const struct http_head *head = offer->promised;
	struct observe_counters *counters = g->env.observe->counters;
	counters->pushes_offered++;
	bool is_hinted = verdict.action == POLICY_HINT || verdict.action == POLICY_HINT_HOLD;
	counters->pushes_hinted += is_hinted;
	counters->pushes_dropped += !is_hinted;
	counters->shed_offers += verdict.reason == &policy_reason_PUSH_SHED;
	counters->memory_refused += verdict.reason == &policy_reason_BUDGET;
	count_unfetched(counters, &verdict);
	counters->push[offer->source][verdict.action][policy_reason_position(verdict.reason)]++;
	feedback_decided(g, &verdict);
	if (offer->source == POLICY_RELAYED && verdict.action == POLICY_DROP)
		origin_promise_refused(parent, verdict.reason);
	if (is_hinted) {
		client_diary_hinted(parent, head);
		bool may_be_seen = !offer->is_preconnect && !offer->cross_origin;
		if (g->hint_uses && may_be_seen)
			hint_uses_made(g, parent, head, &verdict);
		if (offer->source == POLICY_REMEMBERED && g->lessons.offers)
			offer_lesson_offered(g->lessons.offers, parent, head);
	}
	if (g->env.tracing)
		span_record_decided(parent, offer, &verdict);
	if (g->pages)
		page_record_decided(g, parent, offer, &verdict);
	log_decision(g, parent, offer, &verdict);
}

void promise_made(void *context, struct exchange *push)
{
	struct gateway *g = context;
	struct observe_counters *counters = g->env.observe->counters;
	const struct policy_verdict *verdict = &push->pushed.verdict;
	bool is_held = push->pushed.state == PUSH_HELD;
	client_part(push)->hop = client_part(push->pushed.parent)->hop;
	offer_part(push)->arm = offer_part(push->pushed.parent)->arm;
	counters->pushes_offered++;
	counters->pushes_forwarded += !is_held;
	counters->pushes_held += is_held;
	counters->fetches += is_held && push->pushed.source != POLICY_RELAYED;
	counters->pushes_open++;
	counters->requests_open++;
	counters
	    ->push[push->pushed.source][verdict->action][policy_reason_position(verdict->reason)]++;
	feedback_made(g, push);
	if (g->env.tracing)
		span_record_made(g, push);
	if (g->pages)
		page_record_made(g, push);
	if (push->pushed.source == POLICY_REMEMBERED && g->lessons.offers)
		offer_lesson_offered(g->lessons.offers, push->pushed.parent, push->request);
	if (is_held) {
		if (verdict->action == POLICY_HINT_HOLD)
			client_diary_hinted(push->pushed.parent, push->request);
		return;
	}
	client_diary_promised(push);
	const struct exchange *parent = push->pushed.parent;
	const struct http_field *own = http_head_find(push->request, HTTP_TOKEN_PRIORITY);
	/* Equally urgent pushes are sent in the order of their promises. */
	enum policy_type type = push->pushed.is_expected ? POLICY_TYPE_UNKNOWN
							 : policy_type_of_path(push->request->path);
	client_set_priority(push, policy_urgency(verdict->rule, type, client_priority(parent),
				      own ? own->value : (struct slice){0}));
}
