/* SPDX-License-Identifier: MIT */
/*
 * The master as its two files know it: master.c watches, fork.c makes children. Private to
 * process/.
 */
#ifndef PUSHGATE_PROCESS_MASTER_H
#define PUSHGATE_PROCESS_MASTER_H

#include "proxy/process/backoff.h"
#include "proxy/process/start.h"

enum master_phase { MASTER_RUNNING, MASTER_DRAINING, MASTER_FORCED, MASTER_ENDED };

/* A worker's place: its sockets and its slot stay when the worker dies. */
struct worker_slot {
	pid_t pid;   /* 0 = down */
	int control; /* our end of its socketpair, while it is up */
	uint32_t starts;
	bool is_ready;
	usec started, start_at;
	struct backoff backoff;
	bool has_keeper; /* a sibling accepts from its sockets */
	uint32_t keeper;
};

struct pollfd;

struct master {
	struct start *start;
	struct observe observe;
	struct worker_slot *slots;
	struct status_worker *about; /* room for describe() */
	struct pollfd *fds;          /* room for poll */
	pid_t pid, logger;           /* logger: 0 = down */
	usec logger_started, logger_start_at;
	struct backoff logger_backoff;
	enum master_phase phase;
	usec now;
	usec deadline;  /* of the phase */
	usec status_at; /* before, the status socket is left alone */
	int signals;
	bool was_ready; /* some worker has been, once */
	bool has_failed;
};

void master_start_worker(struct master *m, uint32_t index);
void master_start_logger(struct master *m);
/* Everybody out, at once. */
void master_force(struct master *m);
/* Finds a sibling for the sockets of each worker that is down. */
void master_find_keepers(struct master *m);

#endif
