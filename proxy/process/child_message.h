/* SPDX-License-Identifier: MIT */
/*
 * Messages between the master and a worker, or the files process: one datagram each, through that child's
 * socketpair.
 */
#ifndef PUSHGATE_PROCESS_CHILD_MESSAGE_H
#define PUSHGATE_PROCESS_CHILD_MESSAGE_H

#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include <sys/types.h>
#include <sys/uio.h>

enum message_kind {
	MESSAGE_READY, /* from the worker: it accepts connections; from the files process: it serves */
	MESSAGE_DRAIN, /* from the master: finish open requests, then end */
	MESSAGE_QUIT,  /* from the master: end at once */
	MESSAGE_ADOPT, /* from the master: also accept from the sockets of the dead `worker` */
	MESSAGE_FILES, /* from the master, with a socket: to the files process, or from it to `worker` */
	MESSAGE_PASSWORDS, /* the same: to the password process, or from it to `worker` */
	MESSAGE_CONTENT, /* from the files process, with a file: the content of the object `worker` */
	MESSAGE_TRACE,   /* from the master, with a socket: trace clients `from` to it until then */
};

struct message {
	enum message_kind kind;
	uint32_t worker; /* or the index of another object that the message is about */
	struct cidr from;
	usec until;
	bool is_behind; /* FILES: the worker has begun before the contents were there */
};

/* Sends a message, and a duplicate of fd unless that is -1. Never waits. False: it was not sent. */
bool message_send(int control, const struct message *m, int fd);
/* The same, for a child whose master always reads: waits until there is room. */
bool message_send_waiting(int control, const struct message *m, int fd);
/*
 * Receives a message; *fd is the descriptor that came with it (the caller closes it), or -1. Never
 * waits. Returns what recvmsg(2) returned; a whole message is sizeof(*m).
 */
ssize_t message_receive(int control, struct message *m, int *fd);

/* The same for datagrams of other contents: a duplicate of fd goes with them unless that is -1. */
bool message_send_parts(int socket, struct iovec *parts, size_t count, int fd, int flags);
/* *header_flags: the msg_flags of recvmsg(2), if it did not fail. */
ssize_t message_receive_parts(
    int socket, struct iovec *parts, size_t count, int *fd, int *header_flags);

#endif
