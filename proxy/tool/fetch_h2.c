/* SPDX-License-Identifier: MIT */
/* How fetch speaks HTTP/2: an engine on the connection (link.h), whose events become items. */
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/http/status_line.h"
#include "proxy/tool/fetch_state.h"
#include "proxy/tool/tool_conn.h"
#include <stdlib.h>

#define CONNECTION_WINDOW_BYTES (16u << 20)

/* How far the server is known. */
enum server {
	SERVER_UNKNOWN,
	SERVER_HTTP2,  /* its SETTINGS have come */
	SERVER_LEAVES, /* GOAWAY has come */
};

struct wire {
	struct link link;
	struct h2_config config;
	struct session_env env;
	enum server server;
	struct status_line first_line; /* of a server that answers in HTTP/1 */
};

/* ---- events ---- */

static void on_promise(struct fetch *f, const struct session_event *e)
{
	struct wire *w = f->wire;
	uint32_t id = e->promised ? h2_stream_id(e->promised) : e->last_id;
	const char *why = fetch_on_promise(f, id, e->head, e->fault ? e->fault->name : NULL);
	if (why && e->promised)
		session_reset(w->link.h2, e->promised, SESSION_PROTOCOL_ERROR);
}

static void fail_reset(struct fetch *f, const struct session_event *e)
{
	const struct wire *w = f->wire;
	if (e->fault)
		fetch_fail(f, FETCH_PROTOCOL, "the response is malformed: %s (%s)", e->fault->text,
		    e->fault->section);
	else if (e->unprocessed && w->server == SERVER_LEAVES)
		fetch_fail(f, FETCH_PROTOCOL,
		    "the server is closing the connection and did not process the request, which "
		    "may be sent again");
	else
		fetch_fail(f, FETCH_PROTOCOL, "the server reset the request: %s (%s)",
		    session_code_name(e->code), fetch_code_words(e->code));
}

static void on_goaway(struct fetch *f, const struct session_event *e)
{
	struct wire *w = f->wire;
	w->server = SERVER_LEAVES;
	if (e->code == SESSION_NO_ERROR)
		return;
	char *debug = fetch_printable(e->debug);
	fetch_fail(f, FETCH_PROTOCOL, "the server ends the connection: GOAWAY %s (%s)%s%s",
	    session_code_name(e->code), fetch_code_words(e->code), debug[0] ? "; it says: " : "",
	    debug);
	free(debug);
}

static void fail_closed(struct fetch *f, const char *text)
{
	const struct wire *w = f->wire;
	const char *likely = "";
	if (w->server == SERVER_UNKNOWN)
		likely =
		    f->tls ? ": it may speak no HTTP/2 at this port, or only without TLS (http://)"
			   : ": it may speak no HTTP/2 at this port, or only over TLS (https://); "
			     "--http1.1 asks in HTTP/1.1";
	fetch_fail_closed(f, text, likely);
}

static void on_failed(struct fetch *f, const struct session_event *e)
{
	if (e->fault)
		fetch_fail(f, FETCH_PROTOCOL, "the server violated HTTP/2: %s (%s)", e->fault->text,
		    e->fault->section);
	else if (e->code)
		fetch_fail(
		    f, FETCH_PROTOCOL, "the connection ended with %s", session_code_name(e->code));
	else
		fail_closed(f, NULL);
	fetch_lose_all(f);
}

static void on_stream_event(struct fetch *f, const struct session_event *e)
{
	struct wire *w = f->wire;
	uint32_t id = h2_stream_id(e->stream);
	if (e->kind == SESSION_EVENT_HEAD) {
		fetch_on_head(f, id, e->head, e->end);
	} else if (e->kind == SESSION_EVENT_DATA) {
		fetch_on_data(f, id, piece_slice(e->piece), e->end);
		if (!e->end)
			session_credit(w->link.h2, e->stream, e->piece.length);
	} else if (e->kind == SESSION_EVENT_TRAILERS) {
		fetch_on_trailers(f, id);
	} else if (fetch_on_reset(f, id, e->fault ? e->fault->name : session_code_name(e->code))) {
		fail_reset(f, e);
	}
}

static void on_event(void *fetch, struct session_event *e)
{
	struct fetch *f = fetch;
	struct wire *w = f->wire;
	switch (e->kind) {
	case SESSION_EVENT_HEAD:
	case SESSION_EVENT_DATA:
	case SESSION_EVENT_TRAILERS:
	case SESSION_EVENT_RESET:
		on_stream_event(f, e);
		break;
	case SESSION_EVENT_PROMISE:
		on_promise(f, e);
		break;
	case SESSION_EVENT_GOAWAY:
		on_goaway(f, e);
		break;
	case SESSION_EVENT_FAILED:
		on_failed(f, e);
		break;
	case SESSION_EVENT_READY:
		if (w->server == SERVER_UNKNOWN)
			w->server = SERVER_HTTP2;
		break;
	case SESSION_EVENT_CLOSED:
	case SESSION_EVENT_PONG:
	case SESSION_EVENT_REFUSED: /* uncovered 2: for servers alone */
		break;
	}
	http_head_free(e->head);
	fetch_go_on(f);
}

static void on_payload(void *fetch, struct net_out *out, const struct session_output *part)
{
	fetch_copy_body(fetch, out, part->length);
}

static void on_finished(void *fetch)
{
	fetch_finish(fetch);
}

static void on_ended(void *fetch, enum net_end end, const char *text)
{
	struct fetch *f = fetch;
	(void)end;
	if (f->open > 0 || f->result->count == 0)
		fail_closed(f, text);
}

static const struct link_ops link_ops = {on_event, on_payload, on_finished, on_ended};

/* ---- the calls ---- */

static void begin(struct fetch *f)
{
	struct wire *w = memory_new(struct wire);
	f->wire = w;
	w->config = (struct h2_config){H2_CLIENT, h2_settings_initial, h2_limits_default};
	w->config.settings.enable_push = !f->request->no_push;
	w->config.settings.initial_window_size = FETCH_STREAM_WINDOW_BYTES;
	w->config.settings.max_concurrent_streams = FETCH_PUSHES_MAX;
	w->config.limits.connection_window = CONNECTION_WINDOW_BYTES;
	w->env = (struct session_env){
	    .heads = f->heads, .seed = hash_random_seed(), .trace = fetch_trace};
	const struct session_conn conn = {
	    .budget = &f->budget, .traced = f->request->trace ? f : NULL};
	link_init(&w->link, f->loop, &link_ops, f);
	w->link.net = f->net;
	link_start_http2(&w->link, &w->config, &w->env, &conn);
}

static void free_wire(struct fetch *f)
{
	struct wire *w = f->wire;
	w->link.net = NULL; /* fetch_run.c closes it */
	link_fini(&w->link);
	free(w);
}

static uint32_t request(struct fetch *f, const struct http_head *head, bool has_body)
{
	struct wire *w = f->wire;
	struct session_stream *stream = session_request(w->link.h2, head, !has_body, NULL);
	if (!stream)
		return 0;
	if (has_body)
		session_offer(w->link.h2, stream, f->unsent.len, true);
	link_wake(&w->link);
	return h2_stream_id(stream);
}

static uint32_t room(const struct fetch *f)
{
	const struct wire *w = f->wire;
	return session_request_room(w->link.h2);
}

/* "HTTP/1." cannot begin a SETTINGS frame, which is the first thing that a server sends. */
static void received(struct fetch *f, struct chunk *chunk, size_t offset, size_t length)
{
	struct wire *w = f->wire;
	char at[NET_ADDRESS_TEXT];
	if (w->server == SERVER_UNKNOWN)
		status_line_add(&w->first_line, chunk->data + offset, length);
	if (w->server == SERVER_UNKNOWN && status_line_is_http1(&w->first_line)) {
		net_address_format(&f->addresses[f->next_address - 1], at, sizeof(at));
		fetch_fail(f, FETCH_PROTOCOL, "%s answered with HTTP/1 (\"%s\")%s", at,
		    w->first_line.text,
		    f->tls ? " after it had chosen h2 by ALPN"
			   : ": it does not speak h2c with prior knowledge; --http1.1 asks in "
			     "HTTP/1.1");
		fetch_lose_all(f);
		fetch_finish(f);
		return;
	}
	link_received(&w->link, chunk, offset, length);
}

static void fill(struct fetch *f, struct net_out *out)
{
	struct wire *w = f->wire;
	link_fill(&w->link, out);
}

static void ended(struct fetch *f, enum net_end end, const char *text)
{
	struct wire *w = f->wire;
	link_ended(&w->link, end, text);
}

static void leave(struct fetch *f)
{
	struct wire *w = f->wire;
	session_terminate(w->link.h2, SESSION_NO_ERROR, SLICE(""));
}

static const char *missing(const struct fetch *f)
{
	const struct wire *w = f->wire;
	return w->server != SERVER_UNKNOWN
		   ? "no response"
		   : "not even HTTP/2's first frame has come from the server";
}

const struct fetch_protocol fetch_h2 = {
    .alpn = "h2",
    .cleartext = "h2c",
    .has_pushes = true,
    .begin = begin,
    .free = free_wire,
    .request = request,
    .room = room,
    .received = received,
    .fill = fill,
    .ended = ended,
    .leave = leave,
    .missing = missing,
};
