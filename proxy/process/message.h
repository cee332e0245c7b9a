/* SPDX-License-Identifier: MIT */
/* Messages between master and worker: one datagram each, through the worker's socketpair. */
#ifndef PUSHGATE_PROCESS_MESSAGE_H
#define PUSHGATE_PROCESS_MESSAGE_H

#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include <sys/types.h>

enum message_kind {
	MESSAGE_READY, /* from the worker: it accepts connections */
	MESSAGE_DRAIN, /* from the master: finish open requests, then end */
	MESSAGE_QUIT,  /* from the master: end at once */
	MESSAGE_ADOPT, /* from the master: also accept from the sockets of the dead `worker` */
	MESSAGE_TRACE, /* from the master, with a socket: trace clients `from` to it until then */
};

struct message {
	enum message_kind kind;
	uint32_t worker;
	struct cidr from;
	usec until;
};

/* Sends a message, and a duplicate of fd unless that is -1. Never waits. */
void message_send(int control, const struct message *m, int fd);
/*
 * Receives a message; *fd is the descriptor that came with it (the caller closes it), or -1. Never
 * waits. Returns what recvmsg(2) returned; a whole message is sizeof(*m).
 */
ssize_t message_receive(int control, struct message *m, int *fd);

#endif
