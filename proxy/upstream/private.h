/* SPDX-License-Identifier: MIT */
/*
 * What the files of upstream/ share: a pool, and a connection to an origin with all that belongs to
 * it.
 *
 *   upstream ─── pool (two an origin: with pushes, without) ─┬─ queue of exchanges
 *                                                            └─ origin_conn ─── session ─── streams ─── legs
 */
#ifndef PUSHGATE_UPSTREAM_PRIVATE_H
#define PUSHGATE_UPSTREAM_PRIVATE_H

#include "proxy/base/rate.h"
#include "proxy/upstream/pool.h"
#include "proxy/upstream/upstream.h"

/* What its streams' windows have grown to (origin_window.c). */
struct origin_window {
	uint32_t bytes;
	uint64_t probe_bytes; /* came since the PING was sent */
	bool is_probing;
};

struct origin_conn {
	struct upstream *upstream;
	struct pool *pool;
	struct net_conn *net;
	struct session *session; /* NULL until connected */
	struct budget budget;
	struct list link; /* in pool->conns */
	struct deferred_free deferred;
	struct list legs;
	struct wheel_node timer;
	usec started, quiet_since; /* started: connecting; once connected, since then */
	struct peer_progress progress;
	uint64_t requests; /* sent so far */
	uint64_t cancels;  /* of these, reset by us */
	struct origin_window window;
	bool is_open, is_ready, is_closing; /* connected; SETTINGS came; no more requests */
	bool is_gone;                       /* freed at the end of the loop pass */
	/* So many promises were refused that we turned push off on this connection. */
	bool push_was_withdrawn;
	struct bucket promises, refusals, resets;
};

/* ---- origin_conn.c ---- */

void origin_conn_open(struct pool *p);
/* At once and without a word. */
void origin_conn_kill(struct origin_conn *c, const struct relay_cause *cause);
/* GOAWAY, then close. */
void origin_conn_terminate(struct origin_conn *c, uint32_t code, struct slice why);
/* Takes no more requests; closes when those that it has are over. */
void origin_conn_retire(struct origin_conn *c);
/* The connection has failed: no request can start on it any more, and its pool hears of it. */
void origin_conn_lost(
    struct origin_conn *c, const struct relay_cause *cause, uint32_t code, const char *detail);
/* All exchanges on it fail; those that may be are sent again elsewhere. */
void origin_conn_end_exchanges(
    struct origin_conn *c, const struct relay_cause *cause, uint32_t code, const char *detail);

/* ---- origin_conn_events.c ---- */

void origin_conn_handle_events(struct origin_conn *c); /* of its session */

/* ---- origin_promise.c ---- */

/* The origin promised a resource on this connection. */
void origin_promise(struct origin_conn *c, struct session_event *e);

/* ---- origin_window.c ---- */

void origin_window_init(struct origin_window *w, const struct conf_origin *o);
/* So many bytes of a body have come. */
void origin_window_probe(struct origin_conn *c, size_t received);
void origin_window_grow(struct origin_conn *c); /* the PING is answered */
/* The exchange's stream may have what the windows have grown to. */
void origin_window_widen(struct origin_conn *c, struct exchange *x);

/* ---- origin_deadline.c ---- */

void origin_conn_arm(struct origin_conn *c);
void origin_conn_expired(struct wheel_node *timer, usec now);

/* ---- origin_leg.c ---- */

extern const struct leg_ops origin_leg_ops;
/* The connection behind the upstream leg of x; NULL: there is none, or none any more. */
static inline struct origin_conn *origin_conn_of(const struct exchange *x)
{
	return x->up.ops == &origin_leg_ops ? x->up.carrier : NULL;
}
void origin_leg_cut(struct leg *leg);
bool origin_conn_has_room(const struct origin_conn *c);
/* Sends the exchange's request; else why it cannot be sent: no memory, or too large for this
 * origin. */
const struct relay_cause *origin_conn_send(struct origin_conn *c, struct exchange *x);

/* ---- fault_log.c: what origins do wrong; `what` is a constant string ---- */

void origin_log_fault(const struct origin_conn *c, const char *what, const char *more);
/* For session_env; the context is struct upstream. */
void origin_count_fault(void *upstream, const struct session_fault *fault);

#endif
