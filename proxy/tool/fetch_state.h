/* SPDX-License-Identifier: MIT */
/*
 * The state of a running fetch. fetch_run.c connects, begins the session and ends both; fetch_send.c makes
 * the requests and fetch_events.c records what came. Private to these files.
 */
#ifndef PUSHGATE_TOOL_FETCH_STATE_H
#define PUSHGATE_TOOL_FETCH_STATE_H

#include "proxy/base/budget.h"
#include "proxy/h1/h1.h"
#include "proxy/h2/h2.h"
#include "proxy/http/status_line.h"
#include "proxy/tool/fetch.h"
#include "proxy/tool/tool_conn.h"

#define FETCH_ADDRESSES_MAX 8
#define FETCH_PUSHES_MAX 1000u

/* How far the server is known. */
enum fetch_server {
	FETCH_SERVER_UNKNOWN,
	FETCH_SERVER_SPEAKS, /* HTTP/2: its SETTINGS have come; HTTP/1.1: from the beginning */
	FETCH_SERVER_LEAVES, /* GOAWAY has come */
};

/* The connection, and the session on it. */
struct fetch_wire {
	struct link link;
	bool is_http2; /* else HTTP/1.1, and has requests one after another */
	struct h2_config h2;
	struct h1_config h1;
	struct session_env env;
	enum fetch_server server;
	struct status_line
	    first_line;    /* of a server that answers in HTTP/1 where HTTP/2 was to begin */
	uint32_t requests; /* sent so far */
};

struct fetch {
	const struct fetch_request *request;
	struct fetch_result *result;
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct net_tls *tls; /* NULL for http */
	struct fetch_wire wire;
	struct net_timer limit; /* --max-time */
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

void fetch_finish(void *fetch);               /* ends the loop; of struct link_ops */
usec fetch_since_sent(const struct fetch *f); /* at least 1: 0 means "not yet" */

/* ---- fetch_send.c ---- */

void fetch_send_request(struct fetch *f);
/* Copies the next bytes of the request's body. */
void fetch_copy_body(void *fetch, struct net_out *out, const struct session_output *part);
/* Requests those of the paths that the links of a 103 name: a browser would do that. */
void fetch_follow_links(struct fetch *f, const struct http_head *interim);
/* Requests the other paths, once the page has begun, as far as the server has room. */
void fetch_get_assets(struct fetch *f);

/* ---- fetch_events.c ---- */

/* Sets exit status and message; only the first call counts. Returns false. */
__attribute__((format(printf, 3, 4))) bool fetch_fail(
    struct fetch *f, int status, const char *format, ...);
/* The server closed the connection too early. text: the system's reason, or NULL. */
void fetch_fail_closed(struct fetch *f, const char *text);
void fetch_lose_all(struct fetch *f); /* ends all open items: the connection has ended */
struct fetch_item *fetch_add_item(struct fetch *f, uint32_t id, struct slice path);
/* Of struct link_ops. */
void fetch_on_event(void *fetch, struct session_event *e);

/* fetch_words.c: what an error code of the server means */
const char *fetch_code_words(uint32_t code);

#endif
