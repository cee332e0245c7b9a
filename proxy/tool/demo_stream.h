/* SPDX-License-Identifier: MIT */
/* A stream of the demo origin: a request and its response, or a push. Private to tool/. */
#ifndef PUSHGATE_TOOL_DEMO_STREAM_H
#define PUSHGATE_TOOL_DEMO_STREAM_H

#include "proxy/tool/demo_body.h"
#include "proxy/tool/tool_conn.h"

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
	usec think; /* how long the page takes to make */
	usec rtt;   /* the distance that the demo pretends: each GET waits so long */
	bool is_over;
};

/* One stream: a request and its response, or a promise and its response. */
struct demo_stream {
	struct demo_conn *conn;
	struct session_stream *stream;
	struct list link;
	const struct demo_asset *asset; /* of a push that cannot begin yet; else NULL */
	struct demo_body body;
	struct http_head *request; /* owned; what the timer answers, or promises for. NULL: none */
	uint32_t slow_parts;       /* of /slow: parts not yet sent */
	bool is_head;              /* the request is HEAD */
	bool is_complete;          /* the body is final */
	/* After rtt, after thinking, and between the parts of /slow. */
	struct net_timer timer;
	void (*due)(struct demo_stream *s); /* what the timer does */
};

/* stream is NULL for a promise, until session_promise returns its stream. The connection owns the result. */
struct demo_stream *demo_stream_new(struct demo_conn *c, struct session_stream *stream);
void demo_stream_free(struct demo_stream *s);
/* Answers the request in the event. The event keeps its head. */
void demo_stream_answer(struct demo_stream *s, const struct session_event *e);
/* Tells the engine that the body has grown or ended. */
void demo_stream_offer(struct demo_stream *s);
/* Starts pushed responses as far as the client's MAX_CONCURRENT_STREAMS allows. */
void demo_start_pushes(struct demo_conn *c);

#endif
