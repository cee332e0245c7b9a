/* SPDX-License-Identifier: MIT */
/*
 * Client connections: accepting them, their sessions, the downstream legs of exchanges, and the
 * diary of the resources that each client has. These files know nothing about origins; the gateway
 * decides what happens to a request (struct client_ops).
 */
#ifndef PUSHGATE_CLIENT_CLIENT_H
#define PUSHGATE_CLIENT_CLIENT_H

#include "policy/known_cookie.h"
#include "proxy/client/latest_validators.h"
#include "proxy/hold/hold.h"
#include "proxy/limits.h"
#include "proxy/offer/offer.h"
#include "proxy/protocols/protocols.h"
#include "proxy/route/route.h"
#include "proxy/worker_env.h"

struct client_conn;
struct client_listener;

struct client_ops {
	/* A request arrived and its exchange exists: the callee routes, refuses or dispatches it. */
	void (*request)(void *context, struct exchange *x);
};

/* One `pushgate trace`. */
struct client_trace {
	struct clients *clients;
	struct cidr from;
	int socket;    /* owned, to the command; -1: this one is free */
	uint32_t lost; /* lines that the socket did not take, since the last one that it took */
	struct wheel_node timer;
};

struct client_traces {
	bool is_on; /* some client may be traced: new connections are compared */
	struct client_trace live[LIMIT_TRACES];
	struct bucket log_lines; /* of the option `trace` */
	uint32_t left_out;       /* of these lines, since the last one that was written */
};

/* All client connections of a worker. */
struct clients {
	struct worker_env *env; /* borrows */
	const struct client_ops *ops;
	void *context;
	struct hold *hold;                 /* borrows: each connection has a store in it */
	struct hold_limits hold_limits;    /* for each connection's store */
	struct budget *hold_budget;        /* borrows: all stores are charged to it */
	struct client_listener *listeners; /* one for each [listen] section */
	struct list conns;
	struct list arrivals; /* sockets whose PROXY header is missing */
	uint64_t last_id;     /* of a connection */
	/* Connections without a stream; the one that has been idle for the longest comes first. */
	struct list idle;
	size_t closing_bytes; /* will be freed when the connections that were shed have closed */
	struct session_env session_env;
	struct wheel_node tickets_timer;
	struct client_traces traces;
	struct latest_validators validators;   /* learned from the responses to all clients */
	struct policy_cookie_keys cookie_keys; /* for the diary's cookie; count 0: no cookie */
	/* The configuration makes no offers of its own, so a diary begins with the first promise. */
	bool records_from_first_promise;
	bool tells_ends;   /* an origin is told of the ends of client connections (send-proxy) */
	bool measures_rtt; /* a rule compares the round trip: one system call for each offer */
};

/* The caller has set env, ops, context, hold, hold_limits and hold_budget. Returns false and writes
 * a message to error when a certificate cannot be read. */
bool clients_open(struct clients *c, char *error, size_t error_size);
/* Begins to read the certificates and keys that have changed, for the next handshakes. */
void clients_renew_tls(const struct clients *c);
/* Goes on until this time; true: there is more to do. A failure is a message in error (net_tls_renew_step). */
bool clients_renew_tls_step(const struct clients *c, usec until, char *error, size_t error_size);
void clients_close(struct clients *c); /* call clients_abort first */

struct client_listener *clients_listener(struct clients *c, const struct conf_listen *conf);
/* Makes a client connection of an accepted socket (takes fd), or closes it when a limit is
 * reached. */
void client_accept(struct client_listener *l, int fd, const struct net_address *at);

void clients_shutdown(struct clients *c); /* sends GOAWAY to all clients: no new requests */
void clients_abort(struct clients *c);    /* closes all connections at once, without GOAWAY */
bool clients_are_gone(const struct clients *c);

/* Sends a line for each frame of the clients `from` to a stream socket until then, those connected
 * now included. Takes socket unless it returns false: LIMIT_TRACES are on already. */
bool clients_trace(struct clients *c, const struct cidr *from, usec until, int socket);

/* ---- memory is short ---- */

/* Closes the connection that has been idle for the longest. Returns false when no connection has
 * been idle since `since` or earlier. */
bool clients_shed_idle(struct clients *c, usec since);
/* Closes the connection of x if at least `bytes` of heads and promises wait for it and its socket
 * has been full since `since` or earlier. Returns whether it closed the connection. */
bool client_shed_unread(struct exchange *x, size_t bytes, usec since);
/* The client of x receives nothing: its flow-control window is 0, or its socket has been full since
 * `since` or earlier. */
bool client_is_stuck(const struct exchange *x, usec since);

/* ---- one exchange's client ---- */

struct client_diary;

/* A client's connection, for the log: its id, unique in the worker (0 = none), and constant texts. */
struct client_hop {
	uint64_t connection;
	const char *protocol;
	const char *cipher; /* "" = cleartext */
	const char *alpn;   /* "" = none was agreed on */
};

/* What client/ keeps in an exchange. may_alias: the exchange has an array of bytes in its place. */
struct __attribute__((may_alias)) client_part {
	struct client_hop hop;      /* of a push: its parent's */
	struct client_diary *diary; /* borrows: the diary of its client; NULL = nothing is noted */
	bool has_ech;
};
_Static_assert(sizeof(struct client_part) <= EXCHANGE_CLIENT_BYTES, "it has room there");

static inline struct client_part *client_part(const struct exchange *x)
{
	return (struct client_part *)(uintptr_t)x->client;
}

/* x is a call with a deadline. If its client has had too many deadlines that are near, this one is put off. */
void client_bound_call(struct exchange *x);
/* How long the response may make no progress toward the client; 0: no limit. */
usec client_stall_limit(const struct exchange *x);
/* Writes the present state of the client's connection to *facts and returns facts; NULL when the
 * connection is gone. */
const struct client_facts *client_facts(const struct exchange *x, struct client_facts *facts);
/* The urgency of the client's stream (RFC 9218); and sets that of a pushed stream. */
struct http_priority client_priority(const struct exchange *x);
void client_set_priority(struct exchange *push, struct http_priority priority);

/* ---- the diary: which resources the client has ---- */

/* Whether the diary of the parent's client knows the promised resource. route: by which the origin is asked. */
enum policy_known client_diary_knows(const struct exchange *parent,
    const struct http_head *promised, enum policy_source source, const struct conf_route *route);
/* The push is promised to the client of its parent. */
void client_diary_promised(struct exchange *push);
void client_diary_hinted(const struct exchange *parent, const struct http_head *promised);
/* x has a diary: a push, or the client's own request. */
void client_diary_ended(struct exchange *x, enum observe_outcome outcome);
/* Call before the final response's head is sent to the client of x, if x has a diary. May add the
 * diary's cookie to the head. */
void client_diary_response(struct exchange *x, struct http_head *head);

/* Fills in a row for each of the newest connections, `most` of them; returns how many. */
size_t clients_list(const struct clients *c, struct connection_row *rows, size_t most);
/* Writes one line for each connection and each stream; returns the length. */
size_t clients_describe(const struct clients *c, char *buffer, size_t size);

#endif
