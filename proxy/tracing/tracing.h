/* SPDX-License-Identifier: MIT */
/*
 * Traces (https://opentelemetry.io): a trace is a tree of spans, each of which is a piece of work with a begin, an end and
 * attributes. Here are their ids, the choice of the requests that are recorded, and the records:
 *
 *   client's request  ── span of kind SERVER ─┬─ attempt at an origin ── CLIENT, whose id the origin gets as parent
 *                                             ├─ another attempt
 *                                             └─ push ── INTERNAL ── its attempt, if pushgate has asked for it
 *
 * A worker writes a finished span as one message (span.h), and another process makes JSON of it (otlp.h). Requests that
 * are not recorded cost the ids and the field traceparent alone. The field's form is in http/traceparent.h.
 *
 * This is not `pushgate trace`, which shows the frames of one client's connection.
 */
#ifndef PUSHGATE_TRACING_TRACING_H
#define PUSHGATE_TRACING_TRACING_H

#include "proxy/base/unique.h"
#include "proxy/http/traceparent.h"
#include "proxy/tracing/otlp.h"
#include "proxy/tracing/span.h"
#include "proxy/worker_env.h"

/* Of a worker. */
struct tracing {
	const struct worker_env *env; /* borrows */
	struct budget *budget;        /* borrows: the worker's, which pays for records */
	/* Takes a finished span. Never waits. False: it is lost. */
	bool (*send)(void *context, struct slice message);
	void *context;
	struct unique numbers; /* that ids are made of */
	uint64_t first_half;   /* of the ids of traces that begin here; random */
	uint64_t chosen_end;   /* a trace with a number below it is recorded */
	/* The field of the last request that began a trace and was not recorded. The next one changes digits of the text, so it
	 * is lent to one head until that is encoded. */
	struct http_field unrecorded;
	char unrecorded_text[HTTP_TRACEPARENT_BYTES];
};

/* What is written of a request, or of a push, that is recorded. */
struct tracing_record {
	struct span span;
	struct span attempt; /* without bytes: none is under way */
	usec wall_offset;    /* of the wall clock before the monotonic one */
	usec attempt_ended;  /* the last one; 0: none has */
	uint32_t attempts;   /* that have begun */
};

/* Which trace a request or a push is in, and what the origin gets. */
enum tracing_way {
	TRACING_NONE,       /* no trace that is known here; traceparent goes on as it came */
	TRACING_PASSED,     /* its parent's, which is not recorded; the same */
	TRACING_FOLLOWED,   /* its parent's; the origin gets a traceparent of ours */
	TRACING_BEGUN,      /* one that begins here; the same, and the tracestate that came goes */
	TRACING_UNRECORDED, /* as TRACING_BEGUN, but the origin is told that it is not recorded */
};

/* What this room keeps in an exchange. may_alias: the exchange has an array of bytes in its place. */
struct __attribute__((may_alias)) tracing_part {
	/* Of the trace, with the flags that the origin gets; and of the span of this exchange, or of its parent if that goes on
	 * as it came. */
	struct http_traceparent ids;
	uint8_t way; /* enum tracing_way; without TRACING_NONE the ids are there */
	struct tracing_record *record; /* owned; NULL: it is not recorded */
};
_Static_assert(sizeof(struct tracing_part) <= EXCHANGE_TRACING_BYTES, "it has room there");

static inline struct tracing_part *tracing_part(const struct exchange *x)
{
	return (struct tracing_part *)(uintptr_t)x->tracing;
}
/* NULL: it is not recorded. */
static inline struct tracing_record *tracing_record_of(const struct exchange *x)
{
	return tracing_part(x)->record;
}

/* env->conf has a collector; send and context are the caller's to set. */
struct tracing *tracing_new(const struct worker_env *env, struct budget *budget);
void tracing_free(struct tracing *t); /* NULL is fine */

/* ---- which requests are recorded (tracing.c) ---- */

/* A request has come at a gateway's listener: gives it a trace, and decides whether it is recorded. */
void tracing_begin(struct tracing *t, struct exchange *x);
/* A push was promised, or is held: it is in the trace of its parent, if that is in one. */
void tracing_begin_push(struct tracing *t, struct exchange *push);
/* The ids for the log: of the span, or those that the client has sent. False: there are none. */
static inline bool tracing_ids(const struct exchange *x, struct http_traceparent *ids)
{
	if (tracing_part(x)->way == TRACING_NONE)
		return http_traceparent_of(x->request, ids);
	*ids = tracing_part(x)->ids;
	return true;
}

/* ---- while it is recorded (record.c) ---- */

/* For relay's times: the same instant since 1970. */
static inline usec tracing_wall(const struct tracing_record *r, usec at)
{
	return at + r->wall_offset;
}
/* The record's span has ended, and is sent; frees the record. */
void tracing_end(struct tracing *t, struct exchange *x);

/* The method for attributes and for the name of a span: one of those that are known, else the substitute. */
struct slice tracing_method(const struct exchange *x, struct slice substitute);
/* The host and the port of an authority. */
void tracing_add_server(struct span *s, const struct http_head *head);
/* The span has failed: by a cause of this name; NULL: as the status says. */
void tracing_add_error(struct span *s, const char *cause, unsigned status);
/* "h2": "2"; NULL: NULL. */
const char *tracing_protocol_version(const char *protocol);

/* How an attempt has ended. */
struct tracing_outcome {
	unsigned status;   /* of the origin's final response; 0: none came */
	const char *error; /* the name of a cause; NULL: none */
	usec at;
};

/* The request is about to be sent, as `head`: gives it its traceparent, and if it is recorded begins an attempt at the
 * server of this address. */
void tracing_attempt(struct tracing *t, struct exchange *x, struct http_head *head,
    const struct net_address *server, const char *protocol);
/* Ends the attempt under way, if there is one. */
void tracing_attempt_ended(
    struct tracing *t, struct exchange *x, const struct tracing_outcome *outcome);
/* A server was tried in vain for x before the request was sent: an attempt that has begun and ended. */
void tracing_attempt_unsent(struct tracing *t, struct exchange *x, const struct net_address *server,
    const struct relay_cause *cause);

#endif
