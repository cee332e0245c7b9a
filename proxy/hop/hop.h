/* SPDX-License-Identifier: MIT */
/*
 * The data plane of one worker: listeners, downstream connections, routing, upstream pools, and
 * everything in between. It is given its loop, its sockets and a const configuration; it has no
 * globals.
 */
#ifndef PUSHGATE_HOP_HOP_H
#define PUSHGATE_HOP_HOP_H

#include "proxy/conf/conf.h"
#include "proxy/net/net.h"
#include "proxy/observe/observe.h"

struct hop;

struct hop_env {
	struct net_loop *loop;     /* borrows */
	struct chunk_pool *chunks; /* borrows: the pool that the loop reads into */
	const struct conf *conf;   /* borrows, const for the life of the hop */
	struct observe *observe;   /* borrows */
	const uint8_t *ticket_key; /* 48 bytes shared by all workers, borrows */
	uint64_t seed;
	/* Connects to the built-in demo origin: a connected socket whose other end speaks h2c as a
	 * server, or -1. NULL when no origin is demo:. */
	int (*demo_connect)(void *context);
	void *demo_context;
};

/* NULL on failure with a message (a certificate that cannot be read). */
struct hop *hop_new(const struct hop_env *env, char *error, size_t error_size);
/* Accepts from fd (borrows) for this listen section. */
void hop_listen(struct hop *h, const struct conf_listen *listen, int fd);
/* Stops accepting, GOAWAY twice on every downstream connection, and calls drained(context) once
 * from the loop when the last exchange is over or the deadline has come (what is left then is
 * reset). */
void hop_drain(struct hop *h, usec deadline, void (*drained)(void *context), void *context);
/* Ends everything at once. */
void hop_free(struct hop *h);
/* For the crash dump and the status page. Returns the length. */
size_t hop_describe(const struct hop *h, char *buffer, size_t size);

#endif
