/* SPDX-License-Identifier: MIT */
/*
 * Which server of an origin gets a request: for each origin a destination (destination.h) with its servers, their
 * balance and their health. The connections to them are in origin/. These files know nothing about client connections;
 * facts about a request's client are arguments.
 */
#ifndef PUSHGATE_UPSTREAM_UPSTREAM_H
#define PUSHGATE_UPSTREAM_UPSTREAM_H

#include "proxy/offer/offer.h"
#include "proxy/origin/origin.h"
#include "proxy/upstream/health.h"

struct destination;
struct names;
struct dynamic_destinations;

/* All origins of a worker. */
struct upstream {
	struct worker_env *env;               /* borrows */
	struct origins origins;               /* all connections */
	struct names *names;                  /* borrows; NULL when no server has a name */
	struct destination *destinations;     /* by the index of the origin */
	struct dynamic_destinations *dynamic; /* owned; NULL: no origin is forward: */
	struct health_checks checks;
	uint32_t last_server_id;
	struct wheel_node orders_timer;
	uint32_t orders_seen; /* the version of the orders for servers that is obeyed */
};

/* The caller has set env, names, and what origins_open needs but ops. Returns false and writes a message to error
 * when a CA file cannot be read. */
bool upstream_open(struct upstream *u, char *error, size_t error_size);
/* Reads the authorities that have changed, for the next handshakes (net_tls_renew). False with a message. */
bool upstream_renew_tls(const struct upstream *u, char *error, size_t error_size);
void upstream_close(struct upstream *u); /* closes every connection at once */
void upstream_free(struct upstream *u);
/* Another generation drains from now on: goes on with what that has last known of the servers. */
void upstream_take_over(struct upstream *u);
/* ---- requests ---- */

/* For the log: how many servers, or connections, x was given to after the first. */
uint32_t upstream_retries(const struct exchange *x);
/* The address and port for which the destination of x was refused, though its name was allowed; NULL: none. It lives
 * as long as x. */
const char *upstream_refused_address(const struct exchange *x);
/* Sends the request of x to its origin, now or when a connection has room. wants_push: the client
 * can use pushes that come with the response. */
void upstream_dispatch(struct upstream *u, struct exchange *x, bool wants_push);
/* relay_ops: retries, undispatch, upload_grew. */
bool upstream_may_retry(void *context, struct exchange *x, const struct relay_failure *failure);
void upstream_undispatch(void *context, struct exchange *x);
void upstream_upload_grew(void *context, struct exchange *x);
/* ---- fetches: requests of our own for responses that are held (fetching.c) ---- */

/* Why nothing is to be fetched from the origin now; NULL: something may. */
const struct policy_reason *upstream_fetch_refusal(
    const struct upstream *u, const struct conf_origin *o);
/* A client's request has claimed the push, as the first. */
void upstream_fetch_claimed(
    struct upstream *u, struct exchange *push, struct http_priority priority);
/* The exchange is over. */
void upstream_exchange_ended(struct exchange *x);

/* Forward mode: the address that an open tunnel leads to; NULL: an upstream proxy knows, or x is of no such listener.
 * Lent as long as x is open. */
const struct net_address *upstream_reached(const struct exchange *x);
/* Forward mode: whether the request may go where the response of push, which is held, came from. */
bool upstream_is_open_to(const struct exchange *push, const struct request_facts *f);

/* ---- affinity-cookie ---- */

/* The origin of x has an affinity-cookie: takes it out of the request, and notes the server that it names. An
 * offer of our own may have the cookie from its parent, or its parent's server. */
void upstream_read_affinity(struct exchange *x);
/* The response of that origin to a client: sets the cookie, if it came from another server. */
void upstream_add_affinity(const struct exchange *x, struct http_head *response);

/* The resources that a connection of forward mode may promise. */
extern const struct offer_promiser upstream_promiser;

#endif
