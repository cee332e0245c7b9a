/* SPDX-License-Identifier: MIT */
/* Prepared by `run` before it serves: configuration, sockets, logs, shared counters. */
#ifndef PUSHGATE_PROCESS_START_H
#define PUSHGATE_PROCESS_START_H

#include "proxy/process/files.h"
#include "proxy/process/process.h"
#include "proxy/process/status.h"
#include "proxy/process/title.h"
#include "proxy/process/worker.h"
#include <signal.h>

struct start {
	struct conf *conf;
	const char *conf_path;
	struct title title;
	struct identity identity;
	struct sockets sockets;
	struct sockets_share share; /* those of conf */
	struct logs logs;
	int status_fd; /* -1 = none */
	int notify_fd; /* to the service manager; -1 = none */
	uint32_t workers;
	struct observe_counters *slots; /* shared memory: one for each worker, then the master's */
	struct health_table
	    *health_table; /* the same, for all: the health of servers; NULL: nothing to know */
	void *health_table_memory; /* its shared part */
	size_t health_table_bytes;
	struct net_tickets tickets; /* the master advances it, and each worker begins with it */
	uint32_t via_suffix;        /* random */
	usec started;
};

uint32_t start_count_workers(const struct conf *conf, bool single);
/* After start_needs_walk: an error here means that something has changed since, or that the system lacks something.
 * False with a message; call start_close even then. */
bool start_open(struct start *s, bool single, char *error, size_t error_size);
/* SIG_BLOCK: the signals that a running pushgate obeys wait from now on, for who watches them; SIG_UNBLOCK: they are
 * watched (sigprocmask(2)). Returns them. */
sigset_t start_signals(int how);
/* Frees the configuration as well. */
void start_close(struct start *s);
/* Makes a logger for the master itself; in single mode, for use while there is no worker. */
void start_observe(const struct start *s, struct observe *o);
/* The configuration of a worker of any kind. */
struct worker_config start_worker_config(struct start *s, uint32_t index);
void start_announce(const struct start *s, struct observe *o);

/* For a pushgate that drains, which may take hours: the next one may have the status socket from now on. */
void start_give_up_status(struct start *s);

enum process_status master_run(struct start *s);
enum process_status single_run(struct start *s);

#endif
