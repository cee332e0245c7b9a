/* SPDX-License-Identifier: MIT */
/*
 * Writes the spans of requests and pushes that are recorded (tracing/): attributes from all rooms when they end, events
 * while they last. What the log says of the same exchange is in access_record.c.
 */
#include "proxy/gateway/gateway_private.h"

/* Queries may have secrets. */
static struct slice path_of(const struct http_head *head)
{
	return slice_sub(head->path, 0, slice_find(head->path, '?'));
}

/* ---- attempts ---- */

void span_record_retried(struct gateway *g, struct exchange *x, const struct relay_failure *failure)
{
	const struct tracing_outcome outcome = {.status = failure->status,
	    .error = failure->cause ? failure->cause->name : NULL,
	    .at = g->relay.now};
	tracing_attempt_ended(g->env.tracing, x, &outcome);
}

static void end_attempt(struct gateway *g, struct exchange *x, enum observe_outcome how)
{
	bool is_answered = x->response.answered_by == ANSWERED_BY_ORIGIN;
	bool has_failed = how != OBSERVE_COMPLETE || !is_answered;
	const struct relay_cause *cause = has_failed ? x->ending.cause : NULL;
	const struct tracing_outcome outcome = {.status = is_answered ? x->response.status : 0,
	    .error = cause ? cause->name : NULL,
	    .at = x->timing.completed ? x->timing.completed : g->relay.now};
	tracing_attempt_ended(g->env.tracing, x, &outcome);
}

/* ---- the end ---- */

/* What pushgate refuses is the client's error, unless the status says something else. */
static bool is_error(const struct exchange *x, enum observe_outcome how)
{
	return how == OBSERVE_REFUSED ? x->response.status >= 500
				      : access_record_is_failure(x, how);
}

static void add_client(struct span *s, const struct exchange *x)
{
	char address[46];
	const struct conf_listen *listen = x->facts.listener;
	if (listen)
		span_string(s, SPAN_ATTRIBUTE_LISTENER, listen->name);
	const struct address *client = &x->facts.client, *peer = request_tcp_peer(&x->facts);
	if (client->family > ADDRESS_UNKNOWN)
		span_string(s, SPAN_ATTRIBUTE_CLIENT_ADDRESS,
		    address_format(client, address, sizeof(address)));
	if (peer->family > ADDRESS_UNKNOWN) /* else of a unix socket */
		span_string(s, SPAN_ATTRIBUTE_NETWORK_PEER_ADDRESS,
		    address_format(peer, address, sizeof(address)));
}

static void add_request(struct span *s, const struct exchange *x)
{
	const struct http_head *head = x->request;
	const struct http_field *agent = http_head_find(head, HTTP_TOKEN_USER_AGENT);
	span_text(s, SPAN_ATTRIBUTE_HTTP_REQUEST_METHOD, tracing_method(x, SLICE("_OTHER")));
	if (x->method == HTTP_METHOD_OTHER)
		span_text(s, SPAN_ATTRIBUTE_HTTP_REQUEST_METHOD_ORIGINAL, head->method);
	span_text(s, SPAN_ATTRIBUTE_URL_SCHEME, head->scheme);
	span_text(s, SPAN_ATTRIBUTE_URL_PATH, path_of(head));
	tracing_add_server(s, head);
	if (x->place.route)
		span_string(s, SPAN_ATTRIBUTE_HTTP_ROUTE, x->place.route->name);
	if (agent)
		span_text(s, SPAN_ATTRIBUTE_USER_AGENT_ORIGINAL, agent->value);
	span_string(s, SPAN_ATTRIBUTE_NETWORK_PROTOCOL_VERSION,
	    tracing_protocol_version(client_part(x)->hop.protocol));
}

static void add_response(struct span *s, const struct exchange *x, enum observe_outcome how)
{
	const struct relay_cause *cause = x->ending.cause;
	if (x->response.status > 0)
		span_number(s, SPAN_ATTRIBUTE_HTTP_RESPONSE_STATUS_CODE, x->response.status);
	if (x->upload.received > 0)
		span_number(s, SPAN_ATTRIBUTE_HTTP_REQUEST_BODY_SIZE, x->upload.received);
	if (x->download.forwarded > 0)
		span_number(s, SPAN_ATTRIBUTE_HTTP_RESPONSE_BODY_SIZE, x->download.forwarded);
	if (x->timing.queued > 0)
		span_number(s, SPAN_ATTRIBUTE_QUEUE, x->timing.queued);
	span_string(s, SPAN_ATTRIBUTE_OUTCOME, observe_outcome_name(how));
	if (cause)
		span_string(s, SPAN_ATTRIBUTE_CAUSE, cause->name);
	if (is_error(x, how))
		tracing_add_error(
		    s, cause && how != OBSERVE_COMPLETE ? cause->name : NULL, x->response.status);
}

static void add_verdict(struct span *s, const struct exchange *push)
{
	const struct pushed_exchange *p = &push->pushed;
	span_string(s, SPAN_ATTRIBUTE_PUSH_SOURCE, policy_source_name(p->source));
	span_string(s, SPAN_ATTRIBUTE_PUSH_VERDICT, policy_action_name(p->verdict.action));
	if (p->verdict.rule)
		span_string(s, SPAN_ATTRIBUTE_PUSH_RULE, p->verdict.rule->name);
	if (p->verdict.reason)
		span_string(s, SPAN_ATTRIBUTE_PUSH_REASON, p->verdict.reason->code);
	if (p->end_reason)
		span_string(s, SPAN_ATTRIBUTE_PUSH_END_REASON, p->end_reason->code);
	if (hold_part(push)->wasted_bytes > 0)
		span_number(s, SPAN_ATTRIBUTE_HOLD_WASTED, hold_part(push)->wasted_bytes);
}

/* Of few different values, as names of spans should be: a method and a route, or a verdict. */
static void add_name(struct span *s, const struct exchange *x)
{
	if (exchange_is_push(x)) {
		const char *action = policy_action_name(x->pushed.verdict.action);
		span_name(s, SLICE("push"), slice_of_string(action));
		return;
	}
	const char *route = x->place.route ? x->place.route->name : "";
	span_name(s, tracing_method(x, SLICE("HTTP")), slice_of_string(route));
}

void span_record_ended(struct gateway *g, struct exchange *x, enum observe_outcome how)
{
	struct span *s = &tracing_record_of(x)->span;
	end_attempt(g, x, how);
	add_name(s, x);
	add_client(s, x);
	add_request(s, x);
	add_response(s, x, how);
	if (exchange_is_push(x))
		add_verdict(s, x);
	tracing_end(g->env.tracing, x);
}

/* ---- events ---- */

static void note(const struct exchange *x, enum span_event event, const struct span_detail *details,
    size_t count)
{
	struct tracing_record *r = tracing_record_of(x);
	if (r)
		span_event(&r->span, event, tracing_wall(r, x->relay->now), details, count);
}

/* On the page's span. */
static void note_verdict(const struct exchange *page, const struct http_head *promised,
    enum policy_source source, const struct policy_verdict *v)
{
	const struct slice path = path_of(promised);
	note(page, SPAN_EVENT_VERDICT,
	    SPAN_DETAILS({SPAN_ATTRIBUTE_URL_PATH, path, 0},
		{SPAN_ATTRIBUTE_PUSH_SOURCE, slice_of_string(policy_source_name(source)), 0},
		{SPAN_ATTRIBUTE_PUSH_VERDICT, slice_of_string(policy_action_name(v->action)), 0},
		{SPAN_ATTRIBUTE_PUSH_RULE, slice_of_string(v->rule ? v->rule->name : ""), 0},
		{SPAN_ATTRIBUTE_PUSH_REASON, slice_of_string(v->reason ? v->reason->code : ""),
		    0}));
	if (v->action == POLICY_HINT || v->action == POLICY_HINT_HOLD)
		note(page, SPAN_EVENT_HINT, SPAN_DETAILS({SPAN_ATTRIBUTE_URL_PATH, path, 0}));
}

void span_record_decided(const struct exchange *page, const struct policy_offer *offer,
    const struct policy_verdict *verdict)
{
	if (tracing_record_of(page))
		note_verdict(page, offer->promised, offer->source, verdict);
}

void span_record_made(struct gateway *g, struct exchange *push)
{
	const struct exchange *page = push->pushed.parent;
	tracing_begin_push(g->env.tracing, push);
	if (tracing_record_of(page))
		note_verdict(page, push->request, push->pushed.source, &push->pushed.verdict);
	note(push, push->pushed.state == PUSH_HELD ? SPAN_EVENT_HOLD : SPAN_EVENT_PROMISE, NULL, 0);
}

/* The request has a link to the push whose response it got, which may be of another trace. */
static void link_claim(const struct exchange *claimer, const struct exchange *push)
{
	struct tracing_record *r = tracing_record_of(claimer);
	struct http_traceparent ids;
	if (r && push && tracing_record_of(push) && tracing_ids(push, &ids))
		span_link(&r->span, &ids);
}

void span_record_held(const struct hold_note *n)
{
	if (n->outcome == HOLD_CLAIMED) {
		const struct span_detail joined = {SPAN_ATTRIBUTE_HOLD_JOINED, {0}, n->is_live};
		note(n->claimer, SPAN_EVENT_CLAIM, &joined, 1);
		if (n->push)
			note(n->push, SPAN_EVENT_CLAIM, &joined, 1);
		link_claim(n->claimer, n->push);
	} else if (n->outcome == HOLD_MISSED) {
		const struct span_detail why = {
		    SPAN_ATTRIBUTE_HOLD_MISS, slice_of_string(hold_miss_name(n->miss)), 0};
		note(n->claimer, SPAN_EVENT_MISS, &why, 1);
		if (n->push)
			note(n->push, SPAN_EVENT_MISS, &why, 1);
	}
}
