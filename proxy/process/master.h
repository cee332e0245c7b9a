/* SPDX-License-Identifier: MIT */
/*
 * The state that the master's files share: master.c watches, fork.c starts children, worker_slots.c cares for the
 * workers, helpers.c for the helpers. Private to process/.
 */
#ifndef PUSHGATE_PROCESS_MASTER_H
#define PUSHGATE_PROCESS_MASTER_H

#include "proxy/process/child.h"
#include "proxy/process/helper.h"
#include "proxy/process/process.h"
#include "proxy/process/start.h"
#include "proxy/process/trace_request.h"

enum master_phase { MASTER_RUNNING, MASTER_DRAINING, MASTER_FORCED, MASTER_ENDED };

/*
 * What the master knows of one worker. The slot, its sockets and its counters stay when the worker
 * dies.
 */
struct worker_slot {
	struct child child;
	bool is_behind;          /* it has begun before the files process had read anything */
	bool is_linked[HELPERS]; /* it has a socket to this helper, as that runs now */
	bool is_adopted;         /* the worker `adopter` accepts from this one's sockets */
	uint32_t adopter;
};

struct master;

/* A kind of helper: a row of the table in helpers.c. */
struct helper_row {
	const char *name;  /* as lines of the error log begin */
	const char *title; /* of its process, behind "pushgate: " */
	int (*run)(const struct helper_env *env);
	bool (*is_needed)(const struct conf *conf); /* NULL: always */
	enum master_phase last_phase;               /* in which it is started, or started again */
	/* Descriptors: the logger has the reading ends of the logs, and no socketpair to the master. */
	bool is_logger;
	bool keeps_contents;
	/* Messages: the rate of its contents; NULL: it has none to send. */
	struct rate (*contents)(const struct master *m);
	/* Whether one that cannot start is the end of all; else it is started again like any that dies. */
	bool (*ends_the_start)(const struct master *m);
	const char *loses; /* what is lost with it, as its line in the error log ends */
};

const struct helper_row *helper_row(enum helper_id id);

struct pollfd;

struct master {
	struct start *start;
	struct observe observe;
	struct worker_slot *slots;
	struct trace_orders traces;
	struct status_process *about; /* buffer for describe() */
	struct pollfd *fds;           /* buffer for poll(2) */
	pid_t pid;
	struct child helpers[HELPERS];
	bool files_was_ready; /* one has been: the contents are those of the configured files */
	bool files_is_late; /* none was ready in time: the workers have started without contents */
	usec files_wait_until; /* the start waits so long for the files process */
	enum master_phase phase;
	usec now;
	usec deadline;  /* end of the phase */
	usec status_at; /* do not poll the status socket before */
	int signals;
	bool was_ready;             /* at least one worker has been ready */
	enum process_status status; /* to exit with */
};

/* Returns when to call it again: an old key is erased soon after its time. */
usec master_advance_tickets(struct master *m);
void master_start_worker(struct master *m, uint32_t index);
void master_start_helper(struct master *m, enum helper_id id);

/* ---- worker_slots.c ---- */

void master_slots_init(struct master *m);
void master_slots_fini(struct master *m);
/* Sends a worker a message, with a duplicate of fd unless that is -1. False: it is down, or does not read. */
bool master_tell_worker(
    const struct master *m, uint32_t index, const struct message *message, int fd);
/* Reads what the worker says. */
void master_read_worker(struct master *m, uint32_t index);
/* Kills workers that have misbehaved. Returns when it is to be called again. */
usec master_enforce_workers(struct master *m);
void master_worker_died(struct master *m, uint32_t index, int status);
/* Finds a sibling to accept from the sockets of each worker that is down. */
void master_find_adopters(struct master *m);

/* ---- helpers.c ---- */

void master_helpers_init(struct master *m);
void master_helpers_fini(struct master *m);
/* Whether the process was a helper; then its death has been seen to. */
bool master_helper_died(struct master *m, pid_t pid, int status);
/* Starts helpers that are due, and connects workers with them. Returns when it is to be called again. */
usec master_run_helpers(struct master *m);
/* Reads what a helper says. */
void master_read_helper(struct master *m, enum helper_id id);
/* What the configured files say is there, or has been waited for long enough. */
bool master_may_start_workers(const struct master *m);
/* After the last worker: ends the helpers, the logger last, and waits for them. */
void master_end_helpers(struct master *m);

/* ---- master.c ---- */

/* Reads and obeys the signals that have come. */
void master_read_signals(struct master *m);
/* Tells all workers to end at once. */
void master_force(struct master *m);
/* Asks worker `index` for each trace that is on: it was not ready when they began. */
void master_send_traces(struct master *m, uint32_t index);

#endif
