/* SPDX-License-Identifier: MIT */
/* How fetch speaks HTTP/1.1: the codec (h1/h1.h) on the connection, one request after another. */
#include "proxy/base/memory.h"
#include "proxy/h1/h1.h"
#include "proxy/tool/fetch_state.h"
#include <stdlib.h>

#define OUTPUT_BYTES 16384u

struct wire {
	struct session *h1;
	struct session_stream *stream; /* of the last request */
	struct h1_config config;
	struct session_env env;
	struct net_timer timer;
	uint32_t id; /* of the last request */
};

/* ---- events ---- */

static void on_reset(struct fetch *f, const struct session_event *e)
{
	const struct wire *w = f->wire;
	if (fetch_on_reset(f, w->id, e->fault->name))
		fetch_fail(f, FETCH_PROTOCOL, "the response is malformed: %s (%s)", e->fault->text,
		    e->fault->section);
}

static void on_failed(struct fetch *f, const struct session_event *e)
{
	if (e->fault)
		fetch_fail(f, FETCH_PROTOCOL, "the server violated HTTP/1.1: %s (%s)",
		    e->fault->text, e->fault->section);
	fetch_lose_all(f);
}

static void on_event(struct fetch *f, struct session_event *e)
{
	const struct wire *w = f->wire;
	switch (e->kind) {
	case SESSION_EVENT_HEAD:
		fetch_on_head(f, w->id, e->head, e->end);
		break;
	case SESSION_EVENT_DATA:
		/* The end of a body may come alone. */
		fetch_on_data(
		    f, w->id, e->piece.length ? piece_slice(e->piece) : SLICE(""), e->end);
		session_credit(w->h1, e->stream, e->piece.length);
		break;
	case SESSION_EVENT_TRAILERS:
		fetch_on_trailers(f, w->id);
		break;
	case SESSION_EVENT_RESET:
		on_reset(f, e);
		break;
	case SESSION_EVENT_FAILED:
		on_failed(f, e);
		break;
	case SESSION_EVENT_READY:
	case SESSION_EVENT_CLOSED:
	case SESSION_EVENT_PROMISE: /* uncovered 4: not in HTTP/1 */
	case SESSION_EVENT_GOAWAY:
	case SESSION_EVENT_PONG:
	case SESSION_EVENT_REFUSED: /* uncovered 2: for servers alone */
		break;
	}
	http_head_free(e->head);
	if (e->kind != SESSION_EVENT_READY) /* the request has not been made yet */
		fetch_go_on(f);
}

static void drain_events(struct fetch *f)
{
	struct wire *w = f->wire;
	struct session_event event;
	while (session_next_event(w->h1, &event))
		on_event(f, &event);
}

/* After any call to the codec: its output and its deadline. */
static void wake(struct fetch *f)
{
	struct wire *w = f->wire;
	net_conn_dirty(f->net);
	net_timer_set(&w->timer, session_deadline(w->h1));
}

static void tick(void *context)
{
	struct fetch *f = context;
	struct wire *w = f->wire;
	session_tick(w->h1, net_now(f->loop));
	drain_events(f);
	wake(f);
}

/* ---- the calls ---- */

static void begin(struct fetch *f)
{
	struct wire *w = memory_new(struct wire);
	f->wire = w;
	w->config = (struct h1_config){.role = H1_CLIENT, .limits = h1_limits_default};
	w->config.limits.window_bytes = FETCH_STREAM_WINDOW_BYTES;
	w->env = (struct session_env){.heads = f->heads, .trace = fetch_trace};
	const struct session_conn conn = {
	    .budget = &f->budget, .traced = f->request->trace ? f : NULL};
	w->h1 = h1_new(&w->config, &w->env, &conn, net_now(f->loop));
	net_timer_init(&w->timer, f->loop, tick, f);
	drain_events(f);
}

static void free_wire(struct fetch *f)
{
	struct wire *w = f->wire;
	net_timer_fini(&w->timer);
	session_free(w->h1);
	free(w);
}

static uint32_t request(struct fetch *f, const struct http_head *head, bool has_body)
{
	struct wire *w = f->wire;
	w->stream = session_request(w->h1, head, !has_body, f);
	if (!w->stream)
		return 0;
	if (has_body)
		session_offer(w->h1, w->stream, f->unsent.len, true);
	wake(f);
	return ++w->id;
}

static uint32_t room(const struct fetch *f)
{
	const struct wire *w = f->wire;
	return session_request_room(w->h1);
}

static void received(struct fetch *f, struct chunk *chunk, size_t offset, size_t length)
{
	struct wire *w = f->wire;
	session_receive(w->h1, chunk, offset, length, net_now(f->loop));
	drain_events(f);
	wake(f);
}

static void fill(struct fetch *f, struct net_out *out)
{
	struct wire *w = f->wire;
	struct session_output part;
	size_t room_left;
	while ((room_left = net_out_room(out)) > 0) {
		uint32_t most = room_left < OUTPUT_BYTES ? (uint32_t)room_left : OUTPUT_BYTES;
		if (!session_next_output(w->h1, most, &part))
			break;
		net_out_copy(out, part.before.ptr, part.before.len);
		fetch_copy_body(f, out, part.length);
		net_out_copy(out, part.after.ptr, part.after.len);
	}
	drain_events(f);
}

static void ended(struct fetch *f, enum net_end end, const char *text)
{
	struct wire *w = f->wire;
	session_ended(w->h1, end == NET_END_EOF);
	drain_events(f);
	if (f->open > 0)
		fetch_fail_closed(f, text,
		    f->result->items[0].status > 0 ? ": the response is not complete"
						   : ": it did not answer");
}

const struct fetch_protocol fetch_h1 = {
    .alpn = "http/1.1",
    .cleartext = "http/1.1",
    .has_pushes = false,
    .begin = begin,
    .free = free_wire,
    .request = request,
    .room = room,
    .received = received,
    .fill = fill,
    .ended = ended,
};
