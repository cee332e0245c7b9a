/* SPDX-License-Identifier: MIT */
/*
 * One worker: a loop, a data plane (gateway/) and what ends it. It runs in a process of its own, told
 * by the master through a socketpair, or in single mode in the only one there is, told by signals.
 */
#ifndef PUSHGATE_PROCESS_WORKER_H
#define PUSHGATE_PROCESS_WORKER_H

#include "proxy/gateway/gateway.h"
#include "proxy/process/identity.h"
#include "proxy/process/logs.h"
#include "proxy/process/sockets.h"
#include "proxy/tool/tool.h"

#define TICKET_KEY_BYTES 48

/* What master and worker tell each other, one datagram each. */
enum message_kind {
	MESSAGE_READY, /* worker: it accepts */
	MESSAGE_DRAIN, /* master: finish and go */
	MESSAGE_QUIT,  /* master: go at once */
	MESSAGE_ADOPT, /* master: accept from the sockets of `worker` too, which is down */
};
struct message {
	enum message_kind kind;
	uint32_t worker;
};

/* Exit statuses of a worker process. */
enum {
	WORKER_DONE = 0,
	WORKER_CANNOT_START = 3, /* the error log says why; another try would end the same way */
};

struct worker_env {
	const struct conf *conf; /* borrows all of these */
	struct sockets *sockets;
	struct logs *logs;
	struct observe_counters *counters;
	const struct identity *identity;
	const uint8_t *ticket_key;
	uint32_t index;
};

struct worker {
	struct worker_env env;
	struct observe observe;
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct gateway *gateway;
	struct demo_origin *demo; /* NULL when no origin is demo: */
	struct net_timer flush;   /* of gathered access lines */
	bool *adopted;            /* by worker: we accept from its sockets too */
	bool is_draining;
	bool is_hurried; /* no time for last words */
};

/* Everything but listening, as who we are. False with a message; worker_fini is due all the same. */
bool worker_init(struct worker *w, const struct worker_env *env, char *error, size_t error_size);
/* Becomes its user, who must get at the files that are used later. False with a message. */
bool worker_drop(const struct worker *w, char *error, size_t error_size);
/*
 * Into the sandbox, with all descriptors open. more: sandbox_part, besides what the configuration
 * asks for. False with a message.
 */
bool worker_confine(const struct worker *w, unsigned more, char *error, size_t error_size);
void worker_listen(struct worker *w, uint32_t from);
/* Finishes what is under way within drain-timeout, then stops the loop. Idempotent. */
void worker_drain(struct worker *w);
/* Stops the loop now. */
void worker_quit(struct worker *w);
void worker_fini(struct worker *w);

/* The life of a worker process. control: its end of the socketpair. Returns the exit status. */
int worker_run(const struct worker_env *env, int control, pid_t master);

#endif
