/* SPDX-License-Identifier: MIT */
/*
 * Origin connections: for each origin two pools of them, one whose pushes are wanted and one without
 * pushes, the queue before each pool, and the upstream legs of exchanges. Knows nothing about client
 * connections; what it must know about a request's client comes with the call.
 */
#ifndef PUSHGATE_UPSTREAM_UPSTREAM_H
#define PUSHGATE_UPSTREAM_UPSTREAM_H

#include "proxy/offer/offer.h"
#include "proxy/session/session.h"
#include "proxy/worker_env.h"

struct pool;

/* All origins of a worker. */
struct upstream {
	struct worker_env *env;         /* borrows */
	const struct offer_env *offers; /* borrows: how requests become those that origins get */
	/* Connects to the built-in demo origin: a connected socket whose other end speaks h2c as a
	 * server, or -1. NULL when no origin is demo:. */
	int (*demo_connect)(void *context);
	void *demo_context;
	/* Two an origin: [2 × index] with pushes, [2 × index + 1] without. */
	struct pool *pools;
	/* By route: until then its requests use connections without push, since refusing its
	 * pushes cost an origin too many resets. */
	usec *push_off_until;
	struct session_env session_env;
	bool is_closed; /* nothing is dispatched any more */
};

/* env, offers and the demo's members are set. False with a message: a CA file cannot be read. */
bool upstream_open(struct upstream *u, char *error, size_t error_size);
void upstream_close(struct upstream *u); /* ends every connection at once */
void upstream_free(struct upstream *u);
/* GOAWAY to all origins (RFC 9113 6.8): no exchange needs them any more. */
void upstream_shutdown(struct upstream *u);
bool upstream_is_empty(const struct upstream *u); /* no connection is left */

/* ---- requests ---- */

/* Sends the request of x to its origin, now or when there is room. wants_push: pushes with it could
 * be of use to the client. */
void upstream_dispatch(struct upstream *u, struct exchange *x, bool wants_push);
/* Takes x out of the queue in which it waits; harmless when it waits in none. */
void upstream_undispatch(struct exchange *x);

/* ---- one exchange's origin ---- */

/* How long the origin may take nothing of the request's body; 0: without limit. */
usec origin_stall_limit(const struct exchange *x);
/* The origin of x takes nothing: its window is shut, or its socket is full since `since`. */
bool origin_is_stuck(const struct exchange *x, usec since);
/* Takes one promise from the allowance (promise-rate) of the parent's connection. False: it is used
 * up. */
bool origin_may_promise_more(const struct exchange *parent);

/* ---- memory is short ---- */

/* Nothing is read from any origin until it is called with false. */
void upstream_pause_reading(struct upstream *u, bool on);

/* One line for each connection and stream. Returns the length. */
size_t upstream_describe(const struct upstream *u, char *buffer, size_t size);

#endif
