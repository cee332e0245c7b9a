/* SPDX-License-Identifier: MIT */
/*
 * Client connections: accepting them, their sessions, the downstream legs of exchanges, and the
 * diary of what each client has. Knows nothing about origins; what becomes of a request is the
 * gateway's to say (struct client_ops).
 */
#ifndef PUSHGATE_CLIENT_CLIENT_H
#define PUSHGATE_CLIENT_CLIENT_H

#include "policy/cookie.h"
#include "proxy/client/latest_etags.h"
#include "proxy/limits.h"
#include "proxy/offer/offer.h"
#include "proxy/session/session.h"
#include "proxy/worker_env.h"

struct client_conn;
struct client_listener;

struct client_ops {
	/* A request came and has its exchange: route it, refuse it, dispatch it. */
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
	struct hold_limits hold_limits;    /* of one connection's store */
	struct budget *hold_budget;        /* borrows: pays for all stores */
	struct client_listener *listeners; /* one a [listen] section */
	struct list conns;
	/* Connections without a stream, the one that is idle for the longest first. */
	struct list idle;
	size_t closing_bytes; /* come back when connections that were shed have said GOAWAY */
	struct session_env session_env;
	struct client_traces traces;
	struct latest_etags etags;             /* of resources, by any client's response */
	struct policy_cookie_keys cookie_keys; /* of the diary's cookie; none: there is no cookie */
	/* Nothing is offered but what origins promise: a diary begins with the first promise. */
	bool starts_diaries_late;
	bool measures_rtt; /* a rule asks for the round trip: a system call for each offer */
};

/* env, ops, context, hold, hold_limits and hold_budget are set. False with a message: a certificate
 * cannot be read. */
bool clients_open(struct clients *c, char *error, size_t error_size);
void clients_close(struct clients *c); /* after clients_abort */

struct client_listener *clients_listener(struct clients *c, const struct conf_listen *conf);
const struct conf_listen *client_listener_conf(const struct client_listener *l);
/* A connection came; takes fd. Refused when a limit says so. */
void client_accept(struct client_listener *l, int fd, const struct net_address *peer);

void clients_shutdown(struct clients *c); /* GOAWAY to all: no new requests */
void clients_abort(struct clients *c);    /* at once */
bool clients_are_gone(const struct clients *c);

/* Sends a line for each frame of the clients `from` to a stream socket until then, those connected
 * now included. Takes socket unless it returns false: LIMIT_TRACES are on already. */
bool clients_trace(struct clients *c, const struct cidr *from, usec until, int socket);

/* ---- memory is short ---- */

/* Ends the connection that is idle for the longest, at least since `since`. False: none is. */
bool clients_shed_idle(struct clients *c, usec since);
/* Ends the connection of x if it leaves more than `bytes` of heads and promises unread and has taken
 * nothing since `since`. */
bool client_shed_unread(struct exchange *x, size_t bytes, usec since);
/* The client of x takes nothing: its window is shut, or its socket is full since `since`. */
bool client_is_stuck(const struct exchange *x, usec since);

/* ---- one exchange's client ---- */

/* How long the client may take nothing of what waits for it; 0: without limit. */
usec client_take_limit(const struct exchange *x);
/* What its connection is like at the moment, in the room given; NULL: there is none any more. */
const struct client_facts *client_facts(const struct exchange *x, struct client_facts *room);
/* How urgent a stream of the client is (RFC 9218), and of a push among its others. */
struct http_priority client_priority(const struct exchange *x);
void client_set_priority(struct exchange *push, struct http_priority priority);

/* ---- the diary: what the client has ---- */

/* Does the client have what is offered with the parent? */
enum policy_known client_diary_knows(
    const struct exchange *parent, const struct http_head *promised);
void client_diary_promised(struct exchange *push);
void client_diary_hinted(const struct exchange *parent, const struct http_head *promised);
void client_diary_ended(struct exchange *push, enum observe_outcome outcome);
/* The final response's head goes to the client of x, which has a diary; the cookie may join it. */
void client_diary_response(struct exchange *x, struct http_head *head);

/* One line for each connection and stream. Returns the length. */
size_t clients_describe(const struct clients *c, char *buffer, size_t size);

#endif
