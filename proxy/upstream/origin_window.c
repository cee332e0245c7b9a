/* SPDX-License-Identifier: MIT */
/*
 * The growth of the windows that an origin's streams have: a PING measures what comes in one round
 * trip, which is what they must let through. The connection's own window is the engine's business.
 */
#include "proxy/upstream/private.h"

/* Fewer bytes say nothing about what a window keeps back. */
#define PROBE_FROM_BYTES 8192u
/* What a stream's first window becomes once its client keeps up, until more is known of the distance. */
#define WIDE_TIMES 4u

void origin_window_init(struct origin_window *w, const struct conf_origin *o)
{
	uint32_t first = o->stream_window_bytes, most = o->max_stream_window_bytes;
	w->bytes = first < most / WIDE_TIMES ? first * WIDE_TIMES : most;
}

void origin_window_probe(struct origin_conn *c, size_t received)
{
	struct origin_window *w = &c->window;
	w->probe_bytes += received;
	if (w->is_probing || received < PROBE_FROM_BYTES ||
	    w->bytes >= c->pool->origin->max_stream_window_bytes ||
	    !session_ping(c->session, c->upstream->env->relay->now))
		return;
	w->is_probing = true;
	w->probe_bytes = 0;
}

/* What wider windows let in must find room when the client stops reading. */
static bool is_ample(const struct budget *b)
{
	return b->used_bytes < b->limit_bytes / 2;
}

/* The most that came in one round trip is what the windows must let through (RFC 9113 5.2.1). */
void origin_window_grow(struct origin_conn *c)
{
	struct origin_window *w = &c->window;
	uint32_t most = c->pool->origin->max_stream_window_bytes;
	w->is_probing = false;
	if (w->probe_bytes < w->bytes / 3 * 2 || w->bytes >= most ||
	    !is_ample(&c->upstream->env->budget))
		return;
	w->bytes = w->bytes > most / 2 ? most : w->bytes * 2;
}

/* For a client that keeps up, that is, has taken half of what has come, once that is more than half
 * of the first window. A client that takes nothing makes us keep no more than the first window. */
void origin_window_widen(struct origin_conn *c, struct exchange *x)
{
	uint32_t first = c->pool->origin->stream_window_bytes, wide = c->window.bytes;
	const struct flow *f = &x->download;
	if (!exchange_is_over(x) && x->up.ops && wide > first && f->received > first / 2 &&
	    f->forwarded >= f->received / 2 && f->body.bytes < wide / 4 &&
	    is_ample(x->payer.budget) && is_ample(&c->upstream->env->budget))
		session_widen(c->session, x->up.stream, wide);
}
