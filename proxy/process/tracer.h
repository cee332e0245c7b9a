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
#include "proxy/process/helper.h"
#include "proxy/process/helper_http.h"
#include "proxy/process/helper_link.h"
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

/* ---- the process (tracer_process.c) ---- */

/* Runs the process until the master closes its end. Returns the exit status. */
int tracer_run(const struct helper_env *env);

#endif
