/* SPDX-License-Identifier: MIT */
/* A fetch under way: fetch_run.c drives it, fetch_events.c takes what comes. Private to the two. */
#ifndef PUSHGATE_TOOL_FETCH_STATE_H
#define PUSHGATE_TOOL_FETCH_STATE_H

#include "proxy/base/budget.h"
#include "proxy/tool/fetch.h"
#include "proxy/tool/link.h"

#define FETCH_ADDRESSES_MAX 8
#define FETCH_PUSHES_MAX 1000u

struct fetch {
	const struct fetch_request *request;
	struct fetch_result *result;
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct net_tls *tls;     /* NULL for http */
	struct h2_limits limits; /* of the wire */
	struct link wire;
	struct net_timer limit; /* --max-time */
	struct net_address addresses[FETCH_ADDRESSES_MAX];
	size_t address_count, next_address;
	usec started, sent;
	struct slice unsent;      /* of the request's body */
	struct h2_stream *stream; /* the request's, while it is alive */
	size_t open;              /* items under way */
	FILE *output;             /* NULL = discard */
	bool is_over;
};

/* Only the first reason is told. */
__attribute__((format(printf, 3, 4))) void fetch_fail(
    struct fetch *f, int status, const char *format, ...);
void fetch_finish(struct fetch *f);           /* ends the loop */
usec fetch_since_sent(const struct fetch *f); /* never 0, which means that it has not happened */
struct fetch_item *fetch_add_item(struct fetch *f, uint32_t id, struct slice path);
void fetch_lose_all(struct fetch *f); /* that is under way: the connection is gone */
void fetch_on_event(void *fetch, struct h2_event *e);

#endif
