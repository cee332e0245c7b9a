/* SPDX-License-Identifier: MIT */
/*
 * Where requests go: a destination (an [origin]) with its servers, each of which is one address.
 *
 *   destination ─┬─ a queue for each kind of pool
 *                ├─ balance: which server gets a request
 *                ├─ names: addresses that come and go
 *                └─ server ─┬─ what is known of it, its health
 *                           └─ a pool of each kind, made when it is first used ─── origin connections
 *
 * The queue is the destination's: a server that dies keeps no request. A request is given to a server when it is
 * dispatched (exchange_context.server) and waits for that one's connections; when those of another server have
 * room first, and the request is not bound to its server (hash, affinity), that one takes it.
 */
#ifndef PUSHGATE_UPSTREAM_DESTINATION_H
#define PUSHGATE_UPSTREAM_DESTINATION_H

#include "proxy/names/names.h"
#include "proxy/upstream/balance.h"
#include "proxy/upstream/health.h"
#include "proxy/upstream/pool.h"

/* Requests that wait, oldest first, and behind them pushes of our own, which no client waits for: struct
 * exchange, by its member `waiting`. */
struct waiting_line {
	struct list requests, pushes;
};

/* One address. */
struct server {
	struct destination *destination;
	const struct conf_origin_server *conf; /* the line that it comes from */
	struct net_address address;            /* length 0: demo: */
	char text[NET_ADDRESS_TEXT];           /* of the address */
	struct balance_member member;
	struct server_health health;
	struct origin_known known;
	struct pool *pools[POOL_KINDS]; /* owned; NULL: not used yet */
	uint32_t connections;           /* of all its pools, retired ones too */
	struct list link;               /* in destination->servers */
	bool
	    is_leaving; /* its name has it no more: it finishes what it has, and gets nothing new */
};

struct destination {
	struct upstream *upstream;
	const struct conf_origin *origin;
	/* The protocols that its connections may speak: without pushes, with them. Owned. */
	struct session_plan *plans[2];
	struct net_tls *tls; /* owned; NULL: cleartext */
	struct waiting_line lines[POOL_KINDS];
	uint32_t queued[POOL_KINDS]; /* waiting, in its line or bound to a server */
	struct list servers;         /* struct server, those that leave too */
	size_t server_count;         /* that do not leave */
	struct balance_member **members;
	struct balance *balance;
	bool is_stale; /* the balance is to be told of a change before it is asked again */
};

/* A server joined, leaves, or changed what health or configuration say of it: requests that wait for one that
 * gets none any more are given to others. */
void destination_changed(struct destination *d);

#endif
