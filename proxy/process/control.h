/* SPDX-License-Identifier: MIT */
/*
 * The master's end of the socketpair to a child: a worker or a helper. An attacker who takes over a child may send the
 * master anything, so the master accepts only the messages of this kind of child:
 *
 *     a worker, most helpers           READY, once; a worker ALIVE, once after each question
 *     the files process                the same, and CONTENT messages at a bounded rate
 *
 * At any other message the master stops listening and kills the child. It does the same to a child that closes its end
 * and goes on living, since the master could not tell it to end. The child is started again with a backoff, as after any
 * death.
 */
#ifndef PUSHGATE_PROCESS_CONTROL_H
#define PUSHGATE_PROCESS_CONTROL_H

#include "proxy/base/rate.h"
#include "proxy/observe/observe.h"
#include "proxy/process/child_message.h"

struct control {
	int socket;    /* -1: the child is down, or the master has stopped listening to it */
	bool is_ready; /* the child has said so */
	bool is_alive; /* it has said so since that was last looked at */
	uint32_t
	    questions; /* whether it is alive: not answered yet; a lost answer stays among them */
	struct bucket spent; /* by CONTENT messages */
	const char *misdeed; /* why the master has stopped listening; NULL: it has not */
	usec kill_at;        /* when the child is killed for it; USEC_NEVER: it is not */
};

/* A child that ends by itself closes its socket a moment before the master gets SIGCHLD: it may take so long. */
#define CONTROL_END_USEC USEC_PER_SEC
#define CONTROL_QUESTIONS 4u

enum control_heard { CONTROL_NOTHING, CONTROL_READY, CONTROL_ALIVE, CONTROL_CONTENT };

void control_init(struct control *c);
/* Takes the socket of a child that was just started. */
void control_open(struct control *c, int socket);
/* Sends the child a message, with a duplicate of fd unless that is -1. False: it is down, or does not read. */
bool control_tell(const struct control *c, const struct message *m, int fd);
/* The child is down, or is to end by itself. Idempotent. */
void control_close(struct control *c);
/*
 * Reads a message; never waits. contents: the rate at which the child may send CONTENT messages; NULL: it may send
 * none. With CONTROL_CONTENT *object is the message's object, and *fd its descriptor, which the caller closes, or -1.
 * NOTHING: no message is there, or the master has just stopped listening.
 */
enum control_heard control_hear(
    struct control *c, const struct rate *contents, usec now, uint32_t *object, int *fd);
/*
 * Kills the child if it is time for that, and logs why. name: as a line of the error log begins. Returns when to call
 * it again.
 */
usec control_enforce(
    struct control *c, pid_t pid, const char *name, struct observe *observe, usec now);

#endif
