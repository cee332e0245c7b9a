/* SPDX-License-Identifier: MIT */
/*
 * The state that the master's files share: master.c watches, fork.c starts children, helpers.c cares for the
 * logger and the files process, password_helper.c for the password process. Private to process/.
 */
#ifndef PUSHGATE_PROCESS_MASTER_H
#define PUSHGATE_PROCESS_MASTER_H

#include "proxy/process/backoff.h"
#include "proxy/process/control.h"
#include "proxy/process/process.h"
#include "proxy/process/start.h"
#include "proxy/process/trace_request.h"

enum master_phase { MASTER_RUNNING, MASTER_DRAINING, MASTER_FORCED, MASTER_ENDED };

/*
 * What the master knows of one worker. The slot, its sockets and its counters stay when the worker
 * dies.
 */
struct worker_slot {
	pid_t pid; /* 0 = down */
	struct control control;
	uint32_t starts;
	usec started, start_at;
	struct backoff backoff;
	bool is_behind;     /* it has begun before the files process had read anything */
	bool has_files;     /* it has a socket to the files process that runs now */
	bool has_passwords; /* and to the password process */
	bool is_adopted;    /* the worker `adopter` accepts from this one's sockets */
	uint32_t adopter;
};

/* A helper process, as the master sees it. */
struct helper {
	pid_t pid;              /* 0 = down */
	struct control control; /* the logger has none */
	uint32_t starts;
	usec started, start_at;
	struct backoff backoff;
};

struct pollfd;

struct master {
	struct start *start;
	struct observe observe;
	struct worker_slot *slots;
	struct trace_orders traces;
	struct status_worker files_about, passwords_about;
	struct status_worker *about; /* buffer for describe() */
	struct pollfd *fds;          /* buffer for poll(2) */
	pid_t pid;
	struct helper logger, files, passwords;
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
void master_start_logger(struct master *m);
void master_start_files(struct master *m);
void master_start_passwords(struct master *m);
const char *master_describe_end(int status, char *buffer, size_t size);

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
/* Starts helpers that are due, and connects workers with the files process. Returns when it is to be called
 * again. */
usec master_run_helpers(struct master *m);
/* Reads what the files process says. */
void master_read_files(struct master *m);
/* What the configured files say is there, or has been waited for long enough. */
bool master_may_start_workers(const struct master *m);
/* After the last worker: ends the files process, then the logger, and waits for both. */
void master_end_helpers(struct master *m);
/* Gives a worker and a helper a socket to each other. kind says which helper it is. */
bool master_connect_worker(
    struct master *m, const struct helper *helper, enum message_kind kind, uint32_t index);

/* ---- password_helper.c ---- */

void master_passwords_init(struct master *m);
void master_passwords_died(struct master *m, int status);
/* Reads what the password process says. */
void master_read_passwords(struct master *m);
/* Starts it if it is due, and connects workers with it. Returns when it is to be called again. */
usec master_run_passwords(struct master *m);
/* Closes its control socket: then it ends by itself. */
void master_end_passwords(struct master *m);

/* Reads and obeys the signals that have come. */
void master_read_signals(struct master *m);
/* Tells all workers to end at once. */
void master_force(struct master *m);
/* Asks worker `index` for each trace that is on: it was not ready when they began. */
void master_send_traces(struct master *m, uint32_t index);

#endif
