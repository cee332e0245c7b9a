/* SPDX-License-Identifier: MIT */
/* How fetch speaks HTTP/1.1: the codec (h1/h1.h) on the connection, one request after another. */
#include "proxy/base/memory.h"
#include "proxy/h1/h1.h"
#include "proxy/tool/fetch_state.h"
#include <stdlib.h>

#define OUTPUT_BYTES 16384u

struct wire {
	struct h1_conn *h1;
	struct net_timer timer;
	uint32_t id; /* of the last request */
};

/* ---- events ---- */

static void on_reset(struct fetch *f, const struct h1_event *e)
{
	const struct wire *w = f->wire;
	if (fetch_on_reset(f, w->id, e->fault->name))
		fetch_fail(f, FETCH_PROTOCOL, "the response is malformed: %s (%s)", e->fault->text,
		    e->fault->section);
}

static void on_failed(struct fetch *f, const struct h1_event *e)
{
	if (e->fault)
		fetch_fail(f, FETCH_PROTOCOL, "the server violated HTTP/1.1: %s (%s)",
		    e->fault->text, e->fault->section);
	fetch_lose_all(f);
}

static void on_event(struct fetch *f, struct h1_event *e)
{
	const struct wire *w = f->wire;
	switch (e->kind) {
	case H1_EVENT_HEAD:
		fetch_on_head(f, w->id, e->head, e->end);
		break;
	case H1_EVENT_DATA:
		/* The end of a body may come alone. */
		fetch_on_data(
		    f, w->id, e->piece.length ? piece_slice(e->piece) : SLICE(""), e->end);
		h1_credit(w->h1, e->piece.length);
		break;
	case H1_EVENT_TRAILERS:
		fetch_on_trailers(f, w->id);
		break;
	case H1_EVENT_RESET:
		on_reset(f, e);
		break;
	case H1_EVENT_FAILED:
		on_failed(f, e);
		break;
	case H1_EVENT_READY:
	case H1_EVENT_CLOSED:
	case H1_EVENT_REFUSED: /* uncovered 2: for servers alone */
		break;
	}
	http_head_free(e->head);
	if (e->kind != H1_EVENT_READY) /* the request has not been made yet */
		fetch_go_on(f);
}

static void drain_events(struct fetch *f)
{
	struct wire *w = f->wire;
	struct h1_event event;
	while (h1_next_event(w->h1, &event))
		on_event(f, &event);
}

/* After any call to the codec: its output and its deadline. */
static void wake(struct fetch *f)
{
	struct wire *w = f->wire;
	net_conn_dirty(f->net);
	net_timer_set(&w->timer, h1_deadline(w->h1));
}

static void tick(void *context)
{
	struct fetch *f = context;
	struct wire *w = f->wire;
	h1_tick(w->h1, net_now(f->loop));
	drain_events(f);
	wake(f);
}

/* ---- the calls ---- */

static void begin(struct fetch *f)
{
	struct wire *w = memory_new(struct wire);
	f->wire = w;
	struct h1_limits limits = h1_limits_default;
	limits.window_bytes = FETCH_STREAM_WINDOW_BYTES;
	const struct h1_env env = {
	    .heads = f->heads,
	    .budget = &f->budget,
	    .is_tls = f->tls != NULL,
	    .trace = f->request->trace ? fetch_trace : NULL,
	    .trace_context = f,
	};
	w->h1 = h1_new(H1_CLIENT, &limits, &env, net_now(f->loop));
	net_timer_init(&w->timer, f->loop, tick, f);
	drain_events(f);
}

static void free_wire(struct fetch *f)
{
	struct wire *w = f->wire;
	net_timer_fini(&w->timer);
	h1_free(w->h1);
	free(w);
}

static uint32_t request(struct fetch *f, const struct http_head *head, bool has_body)
{
	struct wire *w = f->wire;
	if (!h1_request(w->h1, head, !has_body, f))
		return 0;
	if (has_body)
		h1_offer(w->h1, f->unsent.len, true);
	wake(f);
	return ++w->id;
}

static uint32_t room(const struct fetch *f)
{
	const struct wire *w = f->wire;
	return h1_request_room(w->h1);
}

static void received(struct fetch *f, struct chunk *chunk, size_t offset, size_t length)
{
	struct wire *w = f->wire;
	h1_receive(w->h1, chunk, offset, length, net_now(f->loop));
	drain_events(f);
	wake(f);
}

static void fill(struct fetch *f, struct net_out *out)
{
	struct wire *w = f->wire;
	struct h1_output part;
	size_t room_left;
	while ((room_left = net_out_room(out)) > 0) {
		uint32_t most = room_left < OUTPUT_BYTES ? (uint32_t)room_left : OUTPUT_BYTES;
		if (!h1_next_output(w->h1, most, &part))
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
	h1_receive_end(w->h1, end == NET_END_EOF);
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
