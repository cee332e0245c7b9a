/* SPDX-License-Identifier: MIT */
/*
 * The connections of one worker to one origin, and the requests that wait for them. Two an origin:
 * one announces ENABLE_PUSH=1, the other 0.
 */
#ifndef PUSHGATE_UPSTREAM_POOL_H
#define PUSHGATE_UPSTREAM_POOL_H

#include "proxy/conf/conf.h"
#include "proxy/net/net.h"
#include "proxy/relay/relay.h"

struct session_plan;
struct upstream;
struct origin_conn;

struct pool {
	struct upstream *upstream;
	const struct conf_origin *origin;
	struct session_plan *plans; /* owned: the protocols of its connections */
	struct net_tls *tls;        /* owned by the push-on pool, shared by its twin */
	bool push;                  /* announces ENABLE_PUSH=1 */
	struct list conns;
	struct list queue; /* exchanges (waiting) */
	uint32_t queued;
	/* connections that take requests, or will; those of them that are not ready */
	uint32_t count, connecting;
	uint32_t next_address, failures; /* failures in a row, over the origin's addresses */
	/* a connection could not be had: no other is tried before, while there are any */
	usec grows_again;
	bool was_used;
	/* Requests that a connection is taken to carry at a time before it is ready. */
	uint32_t streams_assumed;
	/* Below this much room another connection is opened ahead of need. */
	uint32_t room_wanted;
};

void pool_init(struct pool *p, struct upstream *upstream, const struct conf_origin *origin,
    struct net_tls *tls, bool push);
void pool_fini(struct pool *p);
/* GOAWAY to all (RFC 9113 6.8); nobody waits for anything any more. */
void pool_part(struct pool *p);
void pool_dispatch(struct pool *p, struct exchange *x);
void pool_undispatch(struct exchange *x);
void pool_serve(struct pool *p); /* sends what is queued as far as there is room */
/*
 * What becomes of its connections: one is being opened; one is ready, its SETTINGS have come; one
 * takes no more requests, whether it was ready or never came to that.
 */
void pool_joined(struct pool *p, struct origin_conn *c);
void pool_reached(struct pool *p, bool multiplexes);
void pool_left(struct pool *p, bool was_ready);
/* Whether one of its connections may take no more requests, so that another is opened in its place. */
bool pool_may_replace(const struct pool *p);
/* A connection could not be opened. */
void pool_failed(struct pool *p, const struct relay_cause *cause, const char *detail);

#endif
