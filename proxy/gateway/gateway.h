/* SPDX-License-Identifier: MIT */
/*
 * The data plane of one worker as a whole: listeners, client connections, the relay, origins, and
 * what joins them. It is given its loop, its sockets and a const configuration; it has no globals.
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
	const uint8_t *ticket_key; /* 48 bytes shared by all workers, borrows */
	uint64_t seed;
	/* Connects to the built-in demo origin: a connected socket whose other end speaks h2c as a
	 * server, or -1. NULL when no origin is demo:. */
	int (*demo_connect)(void *context);
	void *demo_context;
	/* The HTTP versions to speak; NULL: all that the program knows. */
	const struct session_protocol *const *protocols;
};

/* NULL on failure with a message (a certificate that cannot be read). */
struct gateway *gateway_new(const struct gateway_env *env, char *error, size_t error_size);
/* Accepts from fd (borrows) for this listen section. */
void gateway_listen(struct gateway *g, const struct conf_listen *listen, int fd);
/* Stops accepting, sends GOAWAY twice on every client connection, and calls drained(context) once
 * from the loop when the last exchange is over or the deadline has come (what is left then is
 * reset). */
void gateway_drain(struct gateway *g, usec deadline, void (*drained)(void *context), void *context);
/* Ends everything at once. */
void gateway_free(struct gateway *g);
/* `pushgate trace`, see clients_trace. Takes socket unless it returns false. */
bool gateway_trace(struct gateway *g, const struct cidr *from, usec until, int socket);
/* For the crash dump and the status page. Returns the length. */
size_t gateway_describe(const struct gateway *g, char *buffer, size_t size);

#endif
