/* SPDX-License-Identifier: MIT */
/*
 * The state of a running fetch. fetch_run.c connects and ends it; fetch_h2.c and fetch_h1.c speak one
 * version of HTTP each (struct fetch_protocol); fetch_send.c makes the requests and fetch_events.c
 * records what came, whichever version it is. Private to these files.
 */
#ifndef PUSHGATE_TOOL_FETCH_STATE_H
#define PUSHGATE_TOOL_FETCH_STATE_H

#include "proxy/base/budget.h"
#include "proxy/http/head.h"
#include "proxy/net/net.h"
#include "proxy/tool/fetch.h"

#define FETCH_ADDRESSES_MAX 8
#define FETCH_PUSHES_MAX 1000u
/* How much of a response fetch reads ahead of its output. */
#define FETCH_STREAM_WINDOW_BYTES (1u << 20)

struct fetch;

/* How fetch speaks one version of HTTP on its connection. */
struct fetch_protocol {
	const char *alpn;      /* "h2" */
	const char *cleartext; /* its name without TLS: "h2c" */
	bool has_pushes;
	/* Makes f->wire. Requests may follow at once. */
	void (*begin)(struct fetch *f);
	void (*free)(struct fetch *f);
	/* Sends a request with f->unsent as its body if it has one. Returns the id of its item; 0: it
	 * cannot be sent. */
	uint32_t (*request)(struct fetch *f, const struct http_head *head, bool has_body);
	uint32_t (*room)(const struct fetch *f); /* requests that may be sent now */
	/* From the transport, as in struct net_conn_ops; `ended` before the fetch ends. */
	void (*received)(struct fetch *f, struct chunk *chunk, size_t offset, size_t length);
	void (*fill)(struct fetch *f, struct net_out *out);
	void (*ended)(struct fetch *f, enum net_end end, const char *text);
	/* Tells the server that the connection ends. NULL: the end itself says it. */
	void (*leave)(struct fetch *f);
	/* Names the part that has not come while there is no response: for --max-time. NULL: the response. */
	const char *(*missing)(const struct fetch *f);
};
extern const struct fetch_protocol fetch_h2, fetch_h1;

struct fetch {
	const struct fetch_request *request;
	struct fetch_result *result;
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct net_tls *tls; /* NULL for http */
	struct net_conn *net;
	const struct fetch_protocol *protocol; /* NULL until the connection is open */
	void *wire;                            /* the protocol's own state */
	struct net_timer limit;                /* --max-time */
	struct net_address addresses[FETCH_ADDRESSES_MAX];
	size_t address_count, next_address;
	usec started, sent;
	struct slice unsent; /* rest of the request's body */
	size_t open;         /* items that have not ended */
	FILE *output;        /* NULL = discard */
	bool is_over;
	bool page_has_begun;                 /* the first bytes of the page's body are there */
	bool is_requested[FETCH_PUSHES_MAX]; /* request->assets[i] was requested */
};

/* ---- fetch_run.c ---- */

void fetch_trace(void *fetch, const char *line); /* --trace */
void fetch_finish(struct fetch *f);              /* ends the loop */
usec fetch_since_sent(const struct fetch *f);    /* at least 1: 0 means "not yet" */

/* ---- fetch_send.c ---- */

void fetch_send_request(struct fetch *f);
/* Copies the next bytes of the request's body. */
void fetch_copy_body(struct fetch *f, struct net_out *out, size_t bytes);
/* Requests those of the paths that the links of a 103 name: a browser would do that. */
void fetch_follow_links(struct fetch *f, const struct http_head *interim);
/* Requests the other paths, once the page has begun, as far as the server has room. */
void fetch_get_assets(struct fetch *f);

/* ---- fetch_events.c ---- */

/* Sets exit status and message; only the first call counts. Returns false. */
__attribute__((format(printf, 3, 4))) bool fetch_fail(
    struct fetch *f, int status, const char *format, ...);
/* The server closed the connection too early. text: the system's reason, or NULL; likely: why it
 * may have done so, or "". */
void fetch_fail_closed(struct fetch *f, const char *text, const char *likely);
void fetch_lose_all(struct fetch *f); /* ends all open items: the connection has ended */
/* A copy (owned) without control bytes, so that a peer cannot control the terminal. */
char *fetch_printable(struct slice s);

struct fetch_item *fetch_add_item(struct fetch *f, uint32_t id, struct slice path);
/* Record an event of the item with this id; nothing happens when there is none. */
void fetch_on_head(struct fetch *f, uint32_t id, const struct http_head *head, bool end);
void fetch_on_data(struct fetch *f, uint32_t id, struct slice data, bool end);
void fetch_on_trailers(struct fetch *f, uint32_t id);
/* Returns NULL, or why the push is not accepted. head NULL: the protocol has refused it already,
 * for this `fault`. */
const char *fetch_on_promise(
    struct fetch *f, uint32_t id, const struct http_head *head, const char *fault);
/* The response is not complete; why: constant. Returns whether the request itself has failed by it. */
bool fetch_on_reset(struct fetch *f, uint32_t id, const char *why);
/* After each event. */
void fetch_go_on(struct fetch *f);

/* fetch_words.c: what an error code of the server means */
const char *fetch_code_words(uint32_t code);

#endif
