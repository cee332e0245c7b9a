/* SPDX-License-Identifier: MIT */
/* A stream of the demo origin: what it is asked, and what it answers. Private to tool/. */
#ifndef PUSHGATE_TOOL_DEMO_STREAM_H
#define PUSHGATE_TOOL_DEMO_STREAM_H

#include "proxy/tool/demo_body.h"
#include "proxy/tool/link.h"

struct demo_asset;
struct demo_origin;

/* A connection (demo.c). */
struct demo_conn {
	struct demo_origin *origin;
	struct http_head_pool *heads; /* borrows */
	struct list link;
	struct list streams;
	struct link wire;
	struct budget budget;
	bool is_over;
};

/* A request and its answer, or a promise and its response. */
struct demo_stream {
	struct demo_conn *conn;
	struct h2_stream *h2;
	struct list link;
	const struct demo_asset *asset; /* of a push that waits for room; else NULL */
	struct demo_body body;
	struct http_head *request; /* of /slow, owned: its late push needs it */
	uint32_t slow_parts;       /* of /slow, still to come */
	bool is_head;              /* answers HEAD */
	bool is_complete;          /* nothing will be added to the body */
	struct net_timer timer;    /* /slow */
};

/* h2: NULL for a promise that is being made. Belongs to the connection. */
struct demo_stream *demo_stream_new(struct demo_conn *c, struct h2_stream *h2);
void demo_stream_free(struct demo_stream *s);
/* The request that the event has; the event keeps its head. */
void demo_stream_answer(struct demo_stream *s, const struct h2_event *e);
/* There is more of the body, or its end. */
void demo_stream_offer(struct demo_stream *s);
/* Begins pushed responses as far as the client's MAX_CONCURRENT_STREAMS allows. */
void demo_start_pushes(struct demo_conn *c);

#endif
