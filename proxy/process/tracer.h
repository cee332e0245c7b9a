/* SPDX-License-Identifier: MIT */
/*
 * The tracer: a helper that sends spans to the collector which the option tracing names (OTLP over HTTP/1.1, JSON).
 *
 *     worker ──span──→ tracer ──batch──→ collector
 *
 * A worker sends finished spans (tracing/span.h), some together, and never waits: spans that the socket does not take are
 * lost. The tracer makes JSON of spans, waits for more, and posts them together. Its queue is bounded, so that a
 * collector that is slow or down costs spans and nothing else. Lost spans are counted. It is a loop of its own (net/),
 * with the names, the connections and the HTTP of the data plane.
 *
 *   IDLE ── spans have waited, or are many ──→ POSTING ── taken, or refused for good ──→ IDLE
 *                                              ↑   └─ failed, 429, 502, 503, 504 ─→ WAITING ─┐
 *                                              └────────────── after a pause ────────────────┘
 *
 * In single mode there is no tracer, and no request is recorded.
 */
#ifndef PUSHGATE_PROCESS_TRACER_H
#define PUSHGATE_PROCESS_TRACER_H

#include "proxy/gateway/gateway.h"
#include "proxy/names/names.h"
#include "proxy/process/helper.h"
#include "proxy/process/helper_link.h"
#include "proxy/protocols/protocols.h"
#include "proxy/tracing/tracing.h"

bool tracer_is_needed(const struct conf *conf);

/* ---- a worker's end (tracer_link.c) ---- */

/* Of a message: spans, each behind its length, a uint32_t. */
#define TRACER_MESSAGE_BYTES (sizeof(uint32_t) + SPAN_BYTES_MOST)
/* A span waits so long for others: to wake the tracer for each would cost a busy worker more than all else about spans. */
#define TRACER_LINK_USEC (100 * USEC_PER_MSEC)

struct tracer_link {
	struct observe *observe; /* borrowed */
	struct helper_link link;
	/* loop: NULL before the first tracer, and from tracer_link_stop on */
	struct net_timer timer;
	uint32_t spans; /* that have gathered */
	size_t length;  /* of all of them */
	uint8_t gathered[TRACER_MESSAGE_BYTES];
};

void tracer_link_init(struct tracer_link *l);
/* As of helper_link. Spans may still come between both, and are sent by the second. */
void tracer_link_stop(struct tracer_link *l);
void tracer_link_close(struct tracer_link *l);
/* gateway_env.send_span, with a struct tracer_link. */
bool tracer_link_send(void *context, struct slice message);

/* ---- spans that wait (tracer_queue.c) ---- */

/* Some seconds of spans; a worker that records 1 % of 20,000 requests a second has 400 of them a second. */
#define TRACER_SPANS_MOST 8192u
#define TRACER_BYTES_MOST (8u << 20)
/* Of one request to the collector. */
#define TRACER_BATCH_SPANS 512u
#define TRACER_BATCH_BYTES (1u << 20)

struct tracer_queue {
	char *texts[TRACER_SPANS_MOST]; /* owned: a ring of JSON objects */
	uint32_t first, count;
	size_t bytes; /* of all of them */
};

/* Takes the text. False: there is no room, and it is freed. */
bool tracer_queue_add(struct tracer_queue *q, char *text);
/* The first spans, as many as one request has: joins them behind `begin`, and before `end`. The text is the caller's to
 * free; *spans says how many they are. */
char *tracer_queue_join(const struct tracer_queue *q, const char *begin, const char *end,
    size_t *length, uint32_t *spans);
void tracer_queue_drop(struct tracer_queue *q, uint32_t spans);

/* ---- one request to the collector (tracer_post.c) ---- */

/* How long it may take, from the connect on. */
#define TRACER_POST_USEC (10 * USEC_PER_SEC)

struct tracer_result {
	unsigned status;      /* 0: no response came, and `why` says it */
	const char *why;      /* a constant */
	uint32_t retry_after; /* seconds, as the response says; 0: it does not */
};

struct tracer_post {
	struct net_loop
	    *loop; /* borrowed, as all that the owner sets: up to done and its context */
	const struct conf_tracing *conf;
	void (*done)(
	    void *context, const struct tracer_result *r); /* another one may be begun in it */
	void *context;
	struct http_head_pool *heads; /* owned, from here on */
	struct session_plan *plans;
	struct session_env env;
	struct budget budget;
	struct net_conn *net; /* NULL: none is under way */
	struct session *session;
	struct slice body; /* borrowed; what has not left yet */
	struct net_timer timer;
	struct tracer_result result;
	bool is_sent, is_done;
};

void tracer_post_init(struct tracer_post *p);
void tracer_post_fini(struct tracer_post *p);
/* None is under way. The body is lent until `done`. */
void tracer_post_begin(struct tracer_post *p, const struct net_address *to, struct slice body);
/* Ends it without calling `done`. */
void tracer_post_abort(struct tracer_post *p);

/* ---- the collector's addresses (tracer_names.c) ---- */

#define TRACER_ADDRESSES 8u

struct files_text;

struct tracer_names {
	struct names *names; /* owned; NULL: the collector has an address */
	struct name_watch *watch;
	struct files_text *texts; /* the hosts file and resolv.conf */
	struct net_timer timer;   /* looks whether they have changed */
	const struct conf *conf;
	struct net_address addresses[TRACER_ADDRESSES];
	uint32_t count, next;
	const char *error; /* why there are none */
};

/* Before the sandbox closes. False with a message. */
bool tracer_names_open(struct tracer_names *n, struct net_loop *loop, const struct conf *conf,
    char *error, size_t error_size);
void tracer_names_close(struct tracer_names *n);
/* In the sandbox. */
void tracer_names_begin(struct tracer_names *n);
/* The next address to try; NULL: none is known. */
const struct net_address *tracer_names_next(struct tracer_names *n);

/* ---- the process (tracer_process.c) ---- */

/* Runs the process until the master closes its end. Returns the exit status. */
int tracer_run(const struct helper_env *env);

#endif
