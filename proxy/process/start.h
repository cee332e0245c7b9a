/* SPDX-License-Identifier: MIT */
/* Prepared by `run` before it serves, and outlives a configuration: sockets, logs, keys of tickets. */
#ifndef PUSHGATE_PROCESS_START_H
#define PUSHGATE_PROCESS_START_H

#include "proxy/process/files.h"
#include "proxy/process/outfit.h"
#include "proxy/process/process.h"
#include "proxy/process/server_request.h"
#include "proxy/process/status.h"
#include "proxy/process/title.h"
#include "proxy/process/worker.h"
#include <signal.h>

/* The pushgate that this one replaces (handover.h). */
struct predecessor {
	int socket;              /* to it; -1: there is none, or it has ended */
	int status_fd;           /* its status socket, until this one has it or not; -1: none */
	char *status_path;       /* owned: of that; NULL: none */
	bool shares_status;      /* both have this socket */
	struct totals *counters; /* owned: its counters; NULL: there are none */
	struct slice health;     /* owned: hand_on_health_write; to be read once */
	bool
	    still_serves; /* this one has not taken over: the files of sockets are not its own yet */
	bool was_ready;   /* readiness.was_ready */
};

struct start {
	struct predecessor predecessor;
	struct outfit outfit; /* of the first configuration, until a generation takes it */
	struct server_orders_list orders; /* for servers */
	const char *conf_path;
	char *program; /* owned: the file to start for an upgrade */
	struct title title;
	struct sockets sockets;
	struct logs logs;
	char *status_path, *error_log, *access_log, *keylog_file;
	int status_fd; /* -1 = none */
	int notify_fd; /* to the service manager; -1 = none */
	struct observe_counters
	    *slot;                   /* shared memory: the counters of the master and the logger */
	struct readiness *readiness; /* shared memory */
	struct ledger *ledger;       /* owned: what workers are told of the whole */
	struct net_tickets tickets;  /* the master advances it, and each worker begins with it */
	uint32_t via_suffix;         /* random */
	uint64_t limit_seed;         /* the same: of the keys in tables of limits */
	uint64_t remembered_seed;    /* the same: of the memory of pages, and its copies */
	int remembered; /* its last whole copy, of any generation: the next one begins with it; -1: none */
	usec started;
	usec started_wall; /* the same, since 1970 */
};

/* After start_needs_walk: an error here means that something has changed since, or that the system lacks something.
 * False with a message; call start_close even then. */
bool start_open(struct start *s, bool single, char *error, size_t error_size);
/* SIG_BLOCK: the signals that a running pushgate obeys wait from now on, for who watches them; SIG_UNBLOCK: they are
 * watched (sigprocmask(2)). Returns them. */
sigset_t start_signals(int how);
/* Frees the configuration as well, unless a generation has taken the outfit. */
void start_close(struct start *s);
/* Makes a logger for the master itself; in single mode, for use while there is no worker. */
void start_observe(const struct start *s, struct observe *o);
/* What the predecessor has told of servers since. False: nothing. */
bool start_take_health(struct start *s, struct outfit *outfit);
/* The configuration of a worker of any kind. */
struct worker_config start_worker_config(
    struct start *s, const struct outfit *outfit, uint32_t index);
/* Names the addresses. */
void start_announce(const struct outfit *outfit, struct observe *o);

/* For a pushgate that drains, which may take hours: the next one may have the status socket from now on. */
void start_give_up_status(struct start *s);

enum process_status master_run(struct start *s);
enum process_status single_run(struct start *s);

#endif
