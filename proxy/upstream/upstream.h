/* SPDX-License-Identifier: MIT */
/*
 * Origins: for each a destination (destination.h) with its servers, the connections to them, and the upstream legs
 * of exchanges. These files know nothing about client connections; facts about a request's client are arguments.
 */
#ifndef PUSHGATE_UPSTREAM_UPSTREAM_H
#define PUSHGATE_UPSTREAM_UPSTREAM_H

#include "proxy/offer/offer.h"
#include "proxy/route/route.h"
#include "proxy/session/session.h"
#include "proxy/upstream/health.h"
#include "proxy/worker_env.h"

struct destination;
struct names;
struct on_demand;

/* All origins of a worker. */
struct upstream {
	struct worker_env *env;         /* borrows */
	const struct route_env *routes; /* borrows: makes the requests that origins receive */
	struct names *names;            /* borrows; NULL when no server has a name */
	/* Connects to the built-in demo origin, which behaves as `server` says: a connected socket
	 * whose other end speaks h2c as a server, or -1. NULL when no origin is demo:. */
	int (*demo_connect)(void *context, const struct conf_origin_server *server);
	void *demo_context;
	struct destination *destinations; /* by the index of the origin */
	struct on_demand *on_demand;      /* owned; NULL: no origin is forward: */
	struct list destinations_open;    /* all: struct destination, by `link` */
	/* For each route: until this time its requests use connections without push, because its
	 * promises were refused too often. */
	usec *push_off_until;
	struct session_env session_env;
	struct health_checks checks;
	uint64_t last_id; /* of a connection */
	uint32_t last_server_id;
	bool is_closed; /* no connection is opened any more */
};

/* The caller has set env, offers and the demo's members. Returns false and writes a message to error
 * when a CA file cannot be read. */
bool upstream_open(struct upstream *u, char *error, size_t error_size);
void upstream_close(struct upstream *u); /* closes every connection at once */
void upstream_free(struct upstream *u);
/* Sends GOAWAY to all origins (RFC 9113 6.8) and closes; call when no exchange is left. */
void upstream_shutdown(struct upstream *u);
bool upstream_is_empty(const struct upstream *u); /* no connection is left */

/* ---- requests ---- */

/* The connection that a request was sent on, for the log. */
struct upstream_hop {
	uint64_t connection; /* unique in the worker; 0 = none */
	const char *protocol;
	const char *address; /* borrows: of the server */
};

/* The last one that x was sent on. */
const struct upstream_hop *upstream_hop_of(const struct exchange *x);
/* The address and port for which the destination of x was refused, though its name was allowed; NULL: none. It lives
 * as long as x. */
const char *upstream_refused_address(const struct exchange *x);
/* x is sent again after this failure: counts it against its server if that was late, and keeps it for the client if a
 * server was reached. */
void upstream_note_failure(struct exchange *x, const struct relay_failure *failure);

/* Sends the request of x to its origin, now or when a connection has room. wants_push: the client
 * can use pushes that come with the response. */
void upstream_dispatch(struct upstream *u, struct exchange *x, bool wants_push);
/* x failed where it was sent: whether another server is left for it, to which it was not given yet. */
bool upstream_has_other_server(const struct exchange *x);
/* The same, or its destination has no other server at all: then it may be sent there once more. */
bool upstream_may_try_again(const struct exchange *x);
/* Removes x from its queue, if it is in one. */
void upstream_undispatch(struct upstream *u, struct exchange *x);
/* More of the body of x has come, for which it waits (context.upload_wait). */
void upstream_upload_grew(struct upstream *u, struct exchange *x);
/* The exchange is over. */
void upstream_exchange_ended(struct exchange *x);

/* Forward mode: whether the request may go where the response of push, which is held, came from. */
bool upstream_is_open_to(const struct exchange *push, const struct request_facts *f);

/* ---- affinity-cookie ---- */

/* The origin of x has an affinity-cookie: takes it out of the request, and notes the server that it names. An
 * offer of our own may have the cookie from its parent, or its parent's server. */
void upstream_read_affinity(struct exchange *x);
/* The response of that origin to a client: sets the cookie, if it came from another server. */
void upstream_add_affinity(const struct exchange *x, struct http_head *response);

/* ---- one exchange's origin ---- */

/* How long the request's body may make no progress toward the origin; 0: no limit. */
usec origin_stall_limit(const struct exchange *x);
/* The origin of x receives nothing: its flow-control window is 0, or its socket has been full since
 * `since` or earlier. */
bool origin_is_stuck(const struct exchange *x, usec since);
extern const struct offer_promiser upstream_promiser;
/* Counts one promise against promise-rate of the parent's connection. False: the rate is
 * exceeded. */
bool origin_may_promise_more(const struct exchange *parent);
/* A promise for this parent was refused. If it was for a limit, the first one of a burst is logged,
 * with the origin and the limit. */
void origin_promise_refused(const struct exchange *parent, const struct policy_reason *reason);

/* ---- memory is short ---- */

/* Stops (or resumes) reading from all origins, also those that are connected to meanwhile; TCP flow
 * control then stops the origins. Their deadlines stand still as long. */
void upstream_pause_reading(struct upstream *u, bool is_paused);

/* Writes one line for each connection and each stream; returns the length. */
size_t upstream_describe(const struct upstream *u, char *buffer, size_t size);

#endif
