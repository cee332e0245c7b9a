/* SPDX-License-Identifier: MIT */
/*
 * The state that the master's two files share: master.c watches, fork.c starts children. Private to
 * process/.
 */
#ifndef PUSHGATE_PROCESS_MASTER_H
#define PUSHGATE_PROCESS_MASTER_H

#include "proxy/process/backoff.h"
#include "proxy/process/start.h"
#include "proxy/process/trace.h"

enum master_phase { MASTER_RUNNING, MASTER_DRAINING, MASTER_FORCED, MASTER_ENDED };

/*
 * What the master knows of one worker. The slot, its sockets and its counters stay when the worker
 * dies.
 */
struct worker_slot {
	pid_t pid;   /* 0 = down */
	int control; /* the master's end of the socketpair, while the worker is up */
	uint32_t starts;
	bool is_ready;
	usec started, start_at;
	struct backoff backoff;
	bool is_adopted; /* the worker `adopter` accepts from this one's sockets */
	uint32_t adopter;
};

struct pollfd;

struct master {
	struct start *start;
	struct observe observe;
	struct worker_slot *slots;
	struct trace_orders traces;
	struct status_worker *about; /* buffer for describe() */
	struct pollfd *fds;          /* buffer for poll(2) */
	pid_t pid, logger;           /* logger: 0 = down */
	usec logger_started, logger_start_at;
	struct backoff logger_backoff;
	enum master_phase phase;
	usec now;
	usec deadline;  /* end of the phase */
	usec status_at; /* do not poll the status socket before */
	int signals;
	bool was_ready; /* at least one worker has been ready */
	bool has_failed;
};

/* Returns when to call it again: an old key is erased soon after its time. */
usec master_advance_tickets(struct master *m);
void master_start_worker(struct master *m, uint32_t index);
void master_start_logger(struct master *m);
/* Tells all workers to end at once. */
void master_force(struct master *m);
/* Finds a sibling to accept from the sockets of each worker that is down. */
void master_find_adopters(struct master *m);

#endif
