/* SPDX-License-Identifier: MIT */
/*
 * A span as it is written, and as the message that carries it to another process: a head of fixed size, and items behind
 * it. The names of attributes and events are rows here, so that a message has their numbers alone.
 */
#ifndef PUSHGATE_TRACING_SPAN_H
#define PUSHGATE_TRACING_SPAN_H

#include "proxy/base/budget.h"
#include "proxy/base/clock.h"
#include "proxy/base/slice.h"
#include "proxy/http/traceparent.h"

/* Of one message: a page with many pushes has its first events, and the number of those that were left out. */
#define SPAN_BYTES_MOST 16384u

/*
 * X(symbol, "name", bytes of a text that are kept). Most names are those of OpenTelemetry's semantic conventions for HTTP;
 * those of pushgate's own begin with its name. docs/TRACING.md explains them.
 */
// clang-format off
#define SPAN_ATTRIBUTES(X) \
	X(HTTP_REQUEST_METHOD, "http.request.method", 32) \
	X(HTTP_REQUEST_METHOD_ORIGINAL, "http.request.method_original", 32) \
	X(HTTP_REQUEST_RESEND_COUNT, "http.request.resend_count", 0) \
	X(HTTP_REQUEST_BODY_SIZE, "http.request.body.size", 0) \
	X(HTTP_RESPONSE_BODY_SIZE, "http.response.body.size", 0) \
	X(HTTP_RESPONSE_STATUS_CODE, "http.response.status_code", 0) \
	X(HTTP_ROUTE, "http.route", 64) \
	X(URL_SCHEME, "url.scheme", 16) \
	X(URL_PATH, "url.path", 1024) \
	X(URL_FULL, "url.full", 1536) \
	X(SERVER_ADDRESS, "server.address", 256) \
	X(SERVER_PORT, "server.port", 0) \
	X(CLIENT_ADDRESS, "client.address", 64) \
	X(NETWORK_PEER_ADDRESS, "network.peer.address", 112) \
	X(NETWORK_PEER_PORT, "network.peer.port", 0) \
	X(NETWORK_PROTOCOL_VERSION, "network.protocol.version", 8) \
	X(USER_AGENT_ORIGINAL, "user_agent.original", 256) \
	X(ERROR_TYPE, "error.type", 64) \
	X(LISTENER, "pushgate.listener", 64) \
	X(ORIGIN, "pushgate.origin", 64) \
	X(OUTCOME, "pushgate.outcome", 16) \
	X(CAUSE, "pushgate.cause", 32) \
	X(QUEUE, "pushgate.queue_us", 0) \
	X(PUSH_SOURCE, "pushgate.push.source", 16) \
	X(PUSH_VERDICT, "pushgate.push.verdict", 16) \
	X(PUSH_RULE, "pushgate.push.rule", 64) \
	X(PUSH_REASON, "pushgate.push.reason", 32) \
	X(PUSH_END_REASON, "pushgate.push.end_reason", 32) \
	X(HOLD_JOINED, "pushgate.hold.joined", 0) \
	X(HOLD_MISS, "pushgate.hold.miss", 72) \
	X(HOLD_WASTED, "pushgate.hold.wasted_bytes", 0)

#define SPAN_EVENTS(X) \
	X(SENT, "sent") \
	X(PROMISE, "push.promise") \
	X(VERDICT, "push.verdict") \
	X(HINT, "push.hint") \
	X(HOLD, "push.hold") \
	X(CLAIM, "hold.claim") \
	X(MISS, "hold.miss")
// clang-format on

enum span_attribute {
#define SPAN_ATTRIBUTE_ID(symbol, ...) SPAN_ATTRIBUTE_##symbol,
	SPAN_ATTRIBUTES(SPAN_ATTRIBUTE_ID)
#undef SPAN_ATTRIBUTE_ID
	    SPAN_ATTRIBUTE_COUNT
};

enum span_event {
#define SPAN_EVENT_ID(symbol, name) SPAN_EVENT_##symbol,
	SPAN_EVENTS(SPAN_EVENT_ID)
#undef SPAN_EVENT_ID
	    SPAN_EVENT_COUNT
};

/* The numbers of OTLP. */
enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER = 2, SPAN_CLIENT = 3 };

struct span_head {
	uint8_t trace_id[HTTP_TRACE_ID_BYTES], span_id[HTTP_SPAN_ID_BYTES];
	uint8_t parent_id[HTTP_SPAN_ID_BYTES]; /* zeros: it has none */
	usec begin, end;                       /* since 1970 */
	uint32_t left_out;                     /* events for which there was no room */
	uint8_t kind;                          /* enum span_kind */
	bool is_error;
	bool has_remote_parent; /* another program's */
};

enum span_item_kind {
	SPAN_NAME,
	SPAN_TEXT,
	SPAN_NUMBER,
	SPAN_EVENT,
	SPAN_EVENT_TEXT, /* of the event before it */
	SPAN_EVENT_NUMBER,
	SPAN_LINK, /* to another span: struct http_traceparent */
};

struct span_item {
	uint8_t kind; /* enum span_item_kind */
	uint8_t name; /* enum span_attribute, enum span_event */
	uint16_t length;
	/* The bytes follow: a text, a uint64_t, the usec of an event. */
};

/* A span that is being written. */
struct span {
	uint8_t *bytes; /* owned: the message, struct span_head first; NULL: none */
	uint32_t length, capacity;
	struct budget *budget; /* borrows */
};

/* False: the budget refuses, and there is no span. head is copied. */
bool span_begin(struct span *s, struct budget *budget, const struct span_head *head);
/* To be changed until the next item is added. */
static inline struct span_head *span_head_of(const struct span *s)
{
	return (struct span_head *)(uintptr_t)s->bytes;
}
/* Frees it. Idempotent. */
void span_fini(struct span *s);
static inline struct slice span_message(const struct span *s)
{
	return slice_of(s->bytes, s->length);
}

/* Items are left out when there is no room. Texts are cut; empty ones are left out. */
void span_name(struct span *s, struct slice first, struct slice second); /* of two words, or one */
void span_text(struct span *s, enum span_attribute a, struct slice text);
static inline void span_string(struct span *s, enum span_attribute a, const char *text)
{
	if (text)
		span_text(s, a, slice_of_string(text));
}
void span_number(struct span *s, enum span_attribute a, uint64_t n);
void span_link(struct span *s, const struct http_traceparent *to);

/* An attribute of an event: a text, or without one a number. */
struct span_detail {
	enum span_attribute name;
	struct slice text;
	uint64_t number;
};
#define SPAN_DETAILS(...)                                                                          \
	(const struct span_detail[]){__VA_ARGS__},                                                 \
	    sizeof((struct span_detail[]){__VA_ARGS__}) / sizeof(struct span_detail)
/* The event with its details, or nothing of it: then it is counted. */
void span_event(struct span *s, enum span_event event, usec at, const struct span_detail *details,
    size_t count);

const char *span_attribute_name(enum span_attribute a); /* "url.path" */
const char *span_event_name(enum span_event e);

#endif
