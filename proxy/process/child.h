/* SPDX-License-Identifier: MIT */
/*
 * A child of the master, a worker or a helper: as the master sees it (how it is forked, described when it dies, and
 * started again), and how it begins in its own process.
 */
#ifndef PUSHGATE_PROCESS_CHILD_H
#define PUSHGATE_PROCESS_CHILD_H

#include "proxy/process/backoff.h"
#include "proxy/process/control.h"
#include "proxy/process/identity.h"
#include "proxy/process/logs.h"

/* ---- in the master ---- */

struct child {
	pid_t pid;              /* 0 = down */
	struct control control; /* the logger has none */
	uint32_t starts;
	usec started, start_at;
	struct backoff backoff;
};

void child_init(struct child *c);
/*
 * Forks the child, with a socketpair to it if is_told. Returns the result of fork(2); in the child *socket is its end,
 * or -1. A failure is logged, and may be tried again at c->start_at.
 */
pid_t child_fork(struct child *c, bool is_told, struct observe *o, usec now, int *socket);
/* How long a helper may take to end: the logger to write what is in the pipes, the files process a table, the password
 * process to end a hash. */
#define HELPER_END_USEC (2 * USEC_PER_SEC)
/* The child has died and is to be started again. Sets start_at, and returns how long that is away. */
usec child_died(struct child *c, usec now);
/* How it ended, by its status of wait(2): "exited with status 1". Returns buffer. */
const char *child_describe_end(int status, char buffer[128]);

/* ---- in the child ---- */

/*
 * A terminal sends its signals to all processes, and the master alone acts on them: the child ignores all but `handled`
 * (0: none). is_watched: that one is blocked, for signalfd(2); the others are not.
 */
void child_set_signals(int handled, bool is_watched);
/* The child gets this signal when the master dies, or has died already. After the change of user, which clears it. */
void child_die_with(pid_t master, int signal);
/* Logs the error and also prints it on the terminal, where the operator who starts pushgate looks. */
void child_report_failure(struct observe *o, const struct log *error_log, const char *error);

#endif
