/* SPDX-License-Identifier: MIT */
/*
 * One worker: a loop, a data plane (gateway/), and the verbs that end it. It runs in its own process and gets
 * messages from the master; in single mode it runs in the only process and gets signals.
 */
#ifndef PUSHGATE_PROCESS_WORKER_H
#define PUSHGATE_PROCESS_WORKER_H

#include "proxy/admission/admission.h"
#include "proxy/gateway/gateway.h"
#include "proxy/process/child_message.h"
#include "proxy/process/files.h"
#include "proxy/process/identity.h"
#include "proxy/process/lists.h"
#include "proxy/process/logs.h"
#include "proxy/process/sockets.h"
#include "proxy/process/title.h"
#include "proxy/tool/tool.h"

/* Exit statuses of a worker process. */
enum {
	WORKER_DONE = 0,
	WORKER_CANNOT_START = 3, /* the error log says why; a restart would fail the same way */
};

struct worker_config {
	struct gateway_env gateway; /* worker_init adds the worker's own parts */
	const struct title *title;  /* all pointers are borrowed */
	struct sockets *sockets;    /* closed when it drains */
	const struct sockets_share *share;
	struct logs *logs;
	struct observe_counters *counters;
	struct series_lane series;
	const struct identity *identity;
	struct net_tickets
	    *tickets; /* the gateway's; worker_init erases it: the listeners have copies */
	/* Of the configured files; NULL in single mode, whose only process reads them. */
	struct files_contents *contents;
	/* It accepts when it is told so. */
	bool is_waiting;
	uint32_t index;
};

struct worker {
	struct worker_config env;
	struct observe observe;
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct gateway *gateway;
	struct demo_origin *demo; /* NULL when no origin is of kind demo */
	struct net_timer flush;   /* writes gathered access lines */
	struct net_timer renewal; /* reads more certificates */
	char renewal_error[256];  /* "": none so far */
	struct observe_keys keys;
	struct net_key_log key_log;  /* to them */
	struct lists lists;          /* as the master has sent them last; else those of conf */
	struct router_tables tables; /* of them */
	bool *adopted; /* by worker index: this worker accepts from that one's sockets */
	bool is_draining;
	bool is_quitting; /* worker_quit was called: do not wait for closing messages */
};

/* Makes all parts but the listeners, as the present user. False with a message; call worker_fini even then. */
bool worker_init(struct worker *w, const struct worker_config *env, char *error, size_t error_size);
/* Enters the sandbox, once all descriptors are open. more: sandbox_part flags besides those that it finds in the configuration.
 * False with a message. */
bool worker_confine(const struct worker *w, unsigned more, char *error, size_t error_size);
/* Takes in and closes env.contents: in the sandbox, because another process has made them, and before the loop runs. */
void worker_take_contents(struct worker *w);
/* Takes certificates, keys and authorities that have changed, as the memory file of a sealed set. */
void worker_renew_tls(struct worker *w, int fd);
/* Takes lists, bodies and passwords that have changed, as their memory file (lists.h), between two requests. */
void worker_renew_lists(struct worker *w, int fd);
void worker_listen(struct worker *w, uint32_t from);
/* Finishes open exchanges within drain-timeout, then stops the loop. Idempotent. */
void worker_drain(struct worker *w);
/* The same, but leaves clients that wait to other workers. */
void worker_retire(struct worker *w);
/* Stops the loop now. */
void worker_quit(struct worker *w);
void worker_fini(struct worker *w);

/* Runs a worker process. control: its end of the socketpair. Returns the exit status. */
int worker_run(const struct worker_config *env, int control, pid_t master);

#endif
