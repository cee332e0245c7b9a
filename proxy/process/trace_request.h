/* SPDX-License-Identifier: MIT */
/*
 * `pushgate trace`: the request, and the master's list of them. The command connects to the status
 * socket. Its request is the name of its own socket (an abstract one, unix(7)), which accept(2) gives
 * together with the connection: the server reads nothing and waits for nothing. It answers with one
 * line and hands the socket to the workers, which send their lines to it until the time is over.
 */
#ifndef PUSHGATE_PROCESS_TRACE_REQUEST_H
#define PUSHGATE_PROCESS_TRACE_REQUEST_H

#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include "proxy/limits.h"

struct trace_request {
	struct cidr from;
	uint32_t seconds;
};

/* A name behind the NUL of an abstract address holds any request. */
#define TRACE_NAME_BYTES 107u
/* Writes "pushgate trace ADDRESS/BITS SECONDS ID", which the id makes unique. Returns its length. */
size_t trace_request_write(const struct trace_request *r, uint64_t id, char name[TRACE_NAME_BYTES]);
/* Is this name a request, well-formed or not? */
bool trace_is_request(struct slice name);
/* NULL, or the mistake. */
const char *trace_request_parse(struct slice name, struct trace_request *r);

/* The traces that are on, for workers that start meanwhile. */
struct trace_order {
	struct trace_request request;
	usec until;
	int socket; /* owned; -1: free */
};
struct trace_orders {
	struct trace_order orders[LIMIT_TRACES];
};

void trace_orders_init(struct trace_orders *t);
/* Takes socket. NULL: the request was refused. Else the caller answers with trace_accept. */
const struct trace_order *trace_orders_add(
    struct trace_orders *t, struct slice name, int socket, usec now);
/* Closes those whose time is over. Returns when to call again. */
usec trace_orders_expire(struct trace_orders *t, usec now);
/* Closes all sockets, for the end and for a forked child. */
void trace_orders_close(struct trace_orders *t);

/* The answer's line: it tells the command whether its request was accepted. */
void trace_accept(int socket, const struct trace_request *r);
void trace_refuse(int socket, const char *why);
#define TRACE_ACCEPTED "tracing "
#define TRACE_REFUSED "refused: "
#define TRACE_TOO_MANY "too many traces are on; wait until one of them is over"

#endif
