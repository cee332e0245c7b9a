/* SPDX-License-Identifier: MIT */
/*
 * The connections of one worker to one origin, and the queue of requests that wait for them. Each
 * origin has three pools: one announces ENABLE_PUSH=1, one ENABLE_PUSH=0, and in the third, with
 * ENABLE_PUSH=1, each connection carries one subscription and nothing else.
 */
#ifndef PUSHGATE_UPSTREAM_POOL_H
#define PUSHGATE_UPSTREAM_POOL_H

#include "proxy/conf/conf.h"
#include "proxy/net/net.h"
#include "proxy/relay/relay.h"

struct session_plan;
struct upstream;
struct origin_conn;

enum pool_kind { POOL_PUSH, POOL_PLAIN, POOL_SUBSCRIPTIONS, POOL_KINDS };

struct pool {
	struct upstream *upstream;
	const struct conf_origin *origin;
	struct session_plan *plans; /* owned: the protocols that its connections may speak */
	struct net_tls *tls;        /* owned by POOL_PUSH, borrowed by the others */
	enum pool_kind kind;
	/* The texts of the origin's addresses, for the log. */
	char addresses[CONF_ORIGIN_ADDRESSES][NET_ADDRESS_TEXT];
	struct list conns;
	struct list queue; /* of struct exchange, by its member `waiting` */
	uint32_t queued;
	uint32_t count;        /* connections that are not retired */
	uint32_t connecting;   /* how many of them are not ready */
	uint32_t next_address; /* counts up; modulo the number of addresses */
	uint32_t failures;     /* addresses in a row that could not be connected to */
	usec grow_after;       /* after a failed connect: no further one before this time */
	bool was_used;         /* a request has been dispatched here */
	/* A connection is retired once it has carried so many. */
	uint64_t requests_most;
	/* Concurrent requests assumed for a connection that is not ready yet. */
	uint32_t streams_assumed;
	/* When fewer requests than this can start at once, another connection is opened ahead of
	 * need. */
	uint32_t room_wanted;
};

void pool_init(struct pool *p, struct upstream *upstream, const struct conf_origin *origin,
    enum pool_kind kind);
void pool_fini(struct pool *p);
/* The text of the address that a connection with this address_index goes to. Lent for the pool's life. */
const char *pool_address(const struct pool *p, uint32_t address_index);
/* Sends GOAWAY on all connections (RFC 9113 6.8) and closes them; no exchange is left. */
void pool_shutdown(struct pool *p);
void pool_dispatch(struct pool *p, struct exchange *x);
void pool_undispatch(struct exchange *x);
void pool_serve(struct pool *p); /* sends queued requests while a connection has room */
/* A connection is being opened; has received the origin's SETTINGS; was retired (was_ready: after
 * its SETTINGS). */
void pool_conn_opened(struct pool *p, struct origin_conn *c);
void pool_conn_ready(struct pool *p, bool multiplexes);
void pool_conn_retired(struct pool *p, bool was_ready);
/* Whether one of the connections may be retired and replaced by a new one. */
bool pool_may_replace(const struct pool *p);
/* The connection c ended before the origin's SETTINGS. */
void pool_failed(struct pool *p, const struct origin_conn *c, const struct relay_cause *cause,
    const char *detail);

#endif
