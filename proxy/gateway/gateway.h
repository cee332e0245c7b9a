/* SPDX-License-Identifier: MIT */
/*
 * The data plane of one worker: it connects listeners, client connections, the relay and origin
 * connections. The worker gives it a loop, sockets and a const configuration; it has no globals.
 */
#ifndef PUSHGATE_GATEWAY_GATEWAY_H
#define PUSHGATE_GATEWAY_GATEWAY_H

#include "proxy/conf/conf.h"
#include "proxy/net/net.h"
#include "proxy/observe/observe.h"

struct gateway;
struct session_protocol;

struct gateway_env {
	struct net_loop *loop;     /* borrows */
	struct chunk_pool *chunks; /* borrows: the pool that the loop reads into */
	const struct conf *conf;   /* borrows, const for the life of the gateway */
	struct observe *observe;   /* borrows */
	/* Shared by all workers; lent until gateway_new returns. NULL: each listener has its own. */
	const struct net_tickets *tickets;
	/* Shared by all workers: what is behind "pushgate-" in Via. */
	uint32_t via_suffix;
	uint64_t seed;
	/* Connects to the built-in demo origin: a connected socket whose other end speaks h2c as a
	 * server, or -1. NULL when no origin is demo:. */
	int (*demo_connect)(void *context);
	void *demo_context;
	/* The HTTP versions that connections may speak; NULL: all of the program's. */
	const struct session_protocol *const *protocols;
};

/* Returns NULL and writes a message to error on failure, such as an unreadable certificate. */
struct gateway *gateway_new(const struct gateway_env *env, char *error, size_t error_size);
/* Accepts connections from the listening socket fd (borrows) for this [listen] section. */
void gateway_listen(struct gateway *g, const struct conf_listen *listen, int fd);
/* Stops accepting, sends GOAWAY twice on every client connection, and calls drained(context) once
 * from the loop: after the last exchange, or after the deadline, when the exchanges left are
 * reset. */
void gateway_drain(struct gateway *g, usec deadline, void (*drained)(void *context), void *context);
/* Closes every connection at once and frees the gateway. */
void gateway_free(struct gateway *g);
/* `pushgate trace`, see clients_trace. Takes socket unless it returns false. */
bool gateway_trace(struct gateway *g, const struct cidr *from, usec until, int socket);
/* For the crash dump and the status page. Returns the length. */
size_t gateway_describe(const struct gateway *g, char *buffer, size_t size);

#endif
