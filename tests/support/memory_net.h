/* SPDX-License-Identifier: MIT */
/*
 * Sockets in memory behind the system calls of net/ (net_sys.h): bytes that the loop sends wait until
 * the test reads them, and the other way round. A descriptor is an eventfd that is readable while
 * there are bytes to read, so that the loop's poll works as usual. It is always writable: a send on a
 * full socket returns EAGAIN.
 *
 * One at a time in a process, because system calls have no context.
 */
#ifndef PUSHGATE_TESTS_MEMORY_NET_H
#define PUSHGATE_TESTS_MEMORY_NET_H

#include "proxy/net/loop.h"

#define MEMORY_SOCKETS 128u

struct memory_net;

/* The test's end of a connection. */
struct memory_socket {
	struct memory_net *net;
	int fd;               /* the loop's end; -1: closed */
	bool was_dialled;     /* the test has connected; otherwise the loop has */
	struct net_buffer in; /* for the loop; in_at: read already */
	size_t in_at;
	struct net_buffer out; /* from the loop */
	uint64_t read;         /* bytes that the test has read */
	size_t room;           /* bytes that may wait in `out` */
	int error;             /* errno of each call; 0: none */
	bool in_ended;         /* the test's end has sent FIN */
	bool out_ended;        /* the loop's end has sent FIN */
	bool is_readable, was_seen;
	uint16_t port; /* where the loop has connected to */
};

struct memory_net {
	struct memory_socket *sockets[MEMORY_SOCKETS];
	unsigned count;
	int listener; /* an eventfd; gateway_listen */
	/* Of the next connect: 0, EINPROGRESS (which then succeeds), or why not. */
	int connect_errno;
	uint16_t errno_port; /* of connects to this port alone; 0: of all */
};

struct memory_net *memory_net_new(void);
void memory_net_free(struct memory_net *n); /* after the loop */

/* Connects to the listener. NULL: too many. */
struct memory_socket *memory_net_dial(struct memory_net *n);
/* The next connection that the loop has made and this function has not returned; NULL: none. */
struct memory_socket *memory_net_next(struct memory_net *n);

void memory_socket_put(struct memory_socket *s, const void *bytes, size_t n);
void memory_socket_end(struct memory_socket *s);
void memory_socket_fail(struct memory_socket *s, int error);
/* The test reads, and drops, all bytes that the loop has sent. */
void memory_socket_read(struct memory_socket *s);

#endif
