/* SPDX-License-Identifier: MIT */
/* The records of requests that are recorded: their spans, and those of the attempts at origins. */
#include "proxy/tracing/tracing_private.h"

#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/http/authority.h"

#include <stdio.h>

/* ---- spans ---- */

static void drop(struct tracing *t)
{
	WORKER_COUNT(t->env, spans_dropped, 1);
}

static void hand_over(struct tracing *t, struct span *s, usec end)
{
	span_head_of(s)->end = end;
	if (!t->send(t->context, span_message(s)))
		drop(t);
	span_fini(s);
}

struct tracing_record *tracing_record_new(
    struct tracing *t, const struct exchange *x, enum span_kind kind)
{
	const struct tracing_part *part = tracing_part(x);
	struct span_head head = {.kind = (uint8_t)kind};
	memcpy(head.trace_id, part->ids.trace_id, sizeof(head.trace_id));
	memcpy(head.span_id, part->ids.span_id, sizeof(head.span_id));
	if (!budget_take(t->budget, sizeof(struct tracing_record))) {
		drop(t);
		return NULL;
	}
	struct tracing_record *r = memory_alloc(sizeof(*r));
	*r = (struct tracing_record){.wall_offset = clock_wall() - x->relay->now};
	head.begin = tracing_wall(r, x->timing.started);
	if (span_begin(&r->span, t->budget, &head))
		return r;
	budget_give(t->budget, sizeof(*r));
	free(r);
	drop(t);
	return NULL;
}

void tracing_end(struct tracing *t, struct exchange *x)
{
	struct tracing_part *part = tracing_part(x);
	struct tracing_record *r = part->record;
	part->record = NULL;
	span_fini(&r->attempt);
	hand_over(t, &r->span, tracing_wall(r, x->relay->now));
	budget_give(t->budget, sizeof(*r));
	free(r);
}

/* ---- attempts at origins ---- */

struct slice tracing_method(const struct exchange *x, struct slice substitute)
{
	if (x->tunnel.is_upgrade) /* the client sent GET, which has become a CONNECT here */
		return SLICE("GET");
	return x->method == HTTP_METHOD_OTHER ? substitute : x->request->method;
}

const char *tracing_protocol_version(const char *protocol)
{
	if (!protocol)
		return NULL;
	const char *slash = strchr(protocol, '/');
	return slash ? slash + 1 : strcmp(protocol, "h2") == 0 ? "2" : protocol;
}

void tracing_add_server(struct span *s, const struct http_head *head)
{
	struct http_authority a;
	if (!http_authority_parse(head->authority, head->scheme, &a))
		return;
	bool is_ipv6 = slice_peek(a.host) == '[';
	span_text(s, SPAN_ATTRIBUTE_SERVER_ADDRESS,
	    is_ipv6 ? slice_sub(a.host, 1, a.host.len - 2) : a.host);
	if (a.port > 0)
		span_number(s, SPAN_ATTRIBUTE_SERVER_PORT, a.port);
}

void tracing_add_error(struct span *s, const char *cause, unsigned status)
{
	char text[8];
	snprintf(text, sizeof(text), "%u", status % 1000);
	span_head_of(s)->is_error = true;
	span_string(s, SPAN_ATTRIBUTE_ERROR_TYPE, cause ? cause : text);
}

static void add_peer(struct span *s, const struct net_address *server)
{
	char text[NET_ADDRESS_TEXT];
	if (server->length == 0) { /* of the demo site */
		span_text(s, SPAN_ATTRIBUTE_NETWORK_PEER_ADDRESS, SLICE("demo"));
		return;
	}
	if (server->any.sa_family == AF_UNIX) {
		net_address_format(server, text, sizeof(text));
		span_string(s, SPAN_ATTRIBUTE_NETWORK_PEER_ADDRESS, text);
		return;
	}
	struct address ip;
	net_address_ip(server, &ip);
	span_string(
	    s, SPAN_ATTRIBUTE_NETWORK_PEER_ADDRESS, address_format(&ip, text, sizeof(text)));
	span_number(s, SPAN_ATTRIBUTE_NETWORK_PEER_PORT, net_address_port(server));
}

/* Queries may have secrets: URLs end before them. */
static void add_url(struct span *s, const struct http_head *head)
{
	char url[1600];
	size_t length = 0;
	const struct slice parts[] = {head->scheme, SLICE("://"), head->authority,
	    slice_sub(head->path, 0, slice_find(head->path, '?'))};
	if (head->scheme.len == 0) /* a CONNECT may have none */
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct slice part = slice_sub(parts[i], 0, sizeof(url) - length);
		if (part.len > 0)
			memcpy(url + length, part.ptr, part.len);
		length += part.len;
	}
	span_text(s, SPAN_ATTRIBUTE_URL_FULL, slice_of(url, length));
}

/* False: it is not recorded. */
static bool begin(struct tracing *t, struct exchange *x)
{
	struct tracing_record *r = tracing_record_of(x);
	usec waits = x->timing.waits_since;
	usec since = waits > r->attempt_ended ? waits : r->attempt_ended;
	struct span_head head = {.kind = SPAN_CLIENT, .begin = tracing_wall(r, since)};
	memcpy(head.trace_id, tracing_part(x)->ids.trace_id, sizeof(head.trace_id));
	memcpy(head.parent_id, tracing_part(x)->ids.span_id, sizeof(head.parent_id));
	tracing_make_span_id(t, head.span_id);
	r->attempts++;
	if (r->attempt
		.bytes) { /* a request that could not be sent, and that another connection gets */
		span_fini(&r->attempt);
		drop(t);
	}
	if (!span_begin(&r->attempt, t->budget, &head)) {
		drop(t);
		return false;
	}
	span_name(&r->attempt, tracing_method(x, SLICE("HTTP")), SLICE(""));
	span_text(
	    &r->attempt, SPAN_ATTRIBUTE_HTTP_REQUEST_METHOD, tracing_method(x, SLICE("_OTHER")));
	if (r->attempts > 1)
		span_number(&r->attempt, SPAN_ATTRIBUTE_HTTP_REQUEST_RESEND_COUNT, r->attempts - 1);
	if (x->place.origin)
		span_string(&r->attempt, SPAN_ATTRIBUTE_ORIGIN, x->place.origin->name);
	return true;
}

void tracing_attempt_ended(
    struct tracing *t, struct exchange *x, const struct tracing_outcome *outcome)
{
	struct tracing_record *r = tracing_record_of(x);
	struct span *s = &r->attempt;
	if (!s->bytes)
		return;
	if (outcome->status > 0)
		span_number(s, SPAN_ATTRIBUTE_HTTP_RESPONSE_STATUS_CODE, outcome->status);
	if (outcome->error || outcome->status >= 400)
		tracing_add_error(s, outcome->error, outcome->status);
	r->attempt_ended = outcome->at;
	hand_over(t, s, tracing_wall(r, outcome->at));
}

void tracing_attempt_unsent(struct tracing *t, struct exchange *x, const struct net_address *server,
    const struct relay_cause *cause)
{
	if (!begin(t, x))
		return;
	const struct tracing_outcome outcome = {.error = cause->name, .at = x->relay->now};
	add_peer(&tracing_record_of(x)->attempt, server);
	tracing_attempt_ended(t, x, &outcome);
}

/* ---- what the origin gets ---- */

/* The head has fields of a trace: the client's, or those of a rule. */
static RARE void remove_fields(const struct tracing_part *part, struct http_head *head)
{
	http_head_remove(head, HTTP_TOKEN_TRACEPARENT);
	if (part->way != TRACING_FOLLOWED)
		http_head_remove(head, HTTP_TOKEN_TRACESTATE);
}

static inline void set_field(
    const struct tracing_part *part, struct http_head *head, const struct http_field *field)
{
	if (head->noted & HTTP_NOTED_TRACE)
		remove_fields(part, head);
	*http_head_add_slot(head) = *field;
}

static void describe_attempt(struct span *s, const struct http_head *head,
    const struct net_address *server, const char *protocol)
{
	add_url(s, head);
	tracing_add_server(s, head);
	add_peer(s, server);
	span_string(s, SPAN_ATTRIBUTE_NETWORK_PROTOCOL_VERSION, tracing_protocol_version(protocol));
}

/* The trace is recorded, or is that of another program. */
static RARE void attempt(struct tracing *t, struct exchange *x, struct http_head *head,
    const struct net_address *server, const char *protocol)
{
	const struct tracing_part *part = tracing_part(x);
	struct http_traceparent ids = part->ids;
	if (part->record && begin(t, x)) {
		struct span *s = &part->record->attempt;
		memcpy(ids.span_id, span_head_of(s)->span_id, sizeof(ids.span_id));
		describe_attempt(s, head, server, protocol);
		span_event(s, SPAN_EVENT_SENT, tracing_wall(part->record, x->relay->now), NULL, 0);
	}
	char *text = arena_bytes(&head->arena, HTTP_TRACEPARENT_BYTES);
	http_traceparent_write(&ids, text);
	const struct http_field field = tracing_field(text);
	set_field(part, head, &field);
}

void tracing_attempt(struct tracing *t, struct exchange *x, struct http_head *head,
    const struct net_address *server, const char *protocol)
{
	const struct tracing_part *part = tracing_part(x);
	if (part->way == TRACING_UNRECORDED) {
		http_traceparent_alter(t->unrecorded_text, part->ids.span_id);
		set_field(part, head, &t->unrecorded);
	} else if (part->way >= TRACING_FOLLOWED) {
		attempt(t, x, head, server, protocol);
	}
}
