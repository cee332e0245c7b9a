/* SPDX-License-Identifier: MIT */
/*
 * Grows the receive windows of an origin's streams. A PING measures how many bytes arrive within one
 * round trip, which is the size that a window needs. The engine manages the connection's own window.
 * Without PINGs a stream that its client keeps up with has the size of before the first measurement: what
 * is under way waits in the socket's buffer, which the kernel sizes.
 */
#include "proxy/origin/origin_private.h"

/* A DATA frame with fewer bytes does not start a measurement. */
#define PROBE_FROM_BYTES 8192u
/* Before the first measurement a stream's window may grow to this many times its first size. */
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
	    w->bytes >= c->pool->conf->max_stream_window_bytes ||
	    !session_ping(c->session, relay_origin_clock(c->origins->env->relay)))
		return;
	w->is_probing = true;
	w->probe_bytes = 0;
}

/* Wider windows may fill with bytes that a client does not read: half of the budget must be free. */
static bool is_half_free(const struct budget *b)
{
	return b->used_bytes < b->limit_bytes / 2;
}

/* Doubles the window when the bytes of one round trip nearly filled it (RFC 9113 5.2.1). */
void origin_window_grow(struct origin_conn *c)
{
	struct origin_window *w = &c->window;
	uint32_t most = c->pool->conf->max_stream_window_bytes;
	if (!w->is_probing) /* the PING asked whether the origin is still there */
		return;
	w->is_probing = false;
	if (w->probe_bytes < w->bytes / 3 * 2 || w->bytes >= most ||
	    !is_half_free(&c->origins->env->budget))
		return;
	w->bytes = w->bytes > most / 2 ? most : w->bytes * 2;
}

/* Widens the stream's window for a client that keeps up: at least half of the received bytes were
 * forwarded, and more than half of the first window was received. For a client that does not read we
 * buffer no more than the first window. */
void origin_window_widen(struct origin_conn *c, struct exchange *x)
{
	uint32_t first = c->pool->conf->stream_window_bytes, wide = c->window.bytes;
	const struct flow *f = &x->download;
	if (!exchange_is_over(x) && x->up.ops && wide > first && f->received > first / 2 &&
	    f->forwarded >= f->received / 2 && f->body.bytes < wide / 4 &&
	    is_half_free(x->payer.budget) && is_half_free(&c->origins->env->budget))
		session_widen(c->session, x->up.stream, wide);
}
