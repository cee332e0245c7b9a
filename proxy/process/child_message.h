/* SPDX-License-Identifier: MIT */
/*
 * Messages between the master and a child: one datagram each, through the child's socketpair. Datagrams of other
 * contents, with a descriptor, between a worker and a helper.
 */
#ifndef PUSHGATE_PROCESS_CHILD_MESSAGE_H
#define PUSHGATE_PROCESS_CHILD_MESSAGE_H

#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include <sys/types.h>
#include <sys/uio.h>

enum message_kind {
	MESSAGE_READY, /* from the worker: it accepts connections, or could; from a helper: it serves */
	MESSAGE_ALIVE, /* from the master: answer with the same, to show that the loop runs */
	MESSAGE_DRAIN, /* from the master: finish open requests, then end */
	MESSAGE_RETIRE, /* the same, when another generation has taken over: tunnels may go on, and clients
			 * that wait are left to that */
	MESSAGE_EMPTY, /* from the master: accept who waits at listen section `worker`, which is closed soon */
	MESSAGE_QUIT, /* from the master: end at once */
	MESSAGE_ADOPT, /* from the master: accept from the sockets of `worker`: a dead one, or its own */
	MESSAGE_LINK,  /* from the master, with a socket: between `worker` and `helper` */
	MESSAGE_RENEW, /* from the master, with a memory file: certificates, keys and authorities */
	MESSAGE_RENEW_LISTS, /* the same: lists, bodies and passwords (lists.h) */
	/* From the files process, with a file: the content of the object `worker`. From the ACME process: a file of a
	 * certificate has changed. */
	MESSAGE_CONTENT,
	/* From the master to the files process: make a copy of the memory of pages now. */
	MESSAGE_HAND_REMEMBERED,
	/* From the master to the files process of a generation that comes up, with that copy: begin with it. */
	MESSAGE_TAKE_REMEMBERED,
	/* From the master, with a socket (recheck.h): ask there about tunnels; answer there. */
	MESSAGE_RECHECK,
	MESSAGE_JUDGE,
	MESSAGE_TRACE, /* from the master, with a socket: trace clients `from` to it until then */
};

/* The helper processes (helpers.c). */
enum helper_id { HELPER_FILES, HELPER_PASSWORDS, HELPER_TRACER, HELPER_ACME, HELPERS };

struct message {
	enum message_kind kind;
	uint32_t worker; /* or the index of another object that the message is about */
	struct cidr from;
	usec until;
	enum helper_id helper;
};

/* Sends a message, and a duplicate of fd unless that is -1. Never waits. False: it was not sent. */
bool message_send(int control, const struct message *m, int fd);
/*
 * Receives a message; *fd is the descriptor that came with it (the caller closes it), or -1. Never
 * waits. Returns the result of recvmsg(2); a whole message is sizeof(*m).
 */
ssize_t message_receive(int control, struct message *m, int *fd);

/* The same for datagrams of other contents: a duplicate of fd goes with them unless that is -1. False with errno. */
bool message_send_parts(int socket, struct iovec *parts, size_t count, int fd, int flags);
/*
 * Receives such a datagram into size bytes; never waits. 0 at the end of the socket, -1 with errno; EPROTO: it was
 * longer, came with more than one descriptor, or is empty and came with one.
 */
ssize_t message_receive_bytes(int socket, void *bytes, size_t size, int *fd);
/* The same, but waits as long as SO_RCVTIMEO says. */
ssize_t message_wait_bytes(int socket, void *bytes, size_t size, int *fd);

#endif
