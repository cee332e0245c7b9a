/* SPDX-License-Identifier: MIT */
/*
 * Whether a server may get requests: by the results of earlier ones (passive: each worker's own view, ejection.h), and
 * by its checks (active: one worker's, shared by all; health_check.h). Included by upstream.h.
 */
#ifndef PUSHGATE_UPSTREAM_HEALTH_H
#define PUSHGATE_UPSTREAM_HEALTH_H

#include "proxy/base/wheel.h"
#include "proxy/upstream/ejection.h"

struct destination;
struct exchange;
struct origin_server;
struct relay_cause;
struct server;
struct upstream;

enum server_state {
	SERVER_UP,
	SERVER_DOWN,    /* by configuration or by command */
	SERVER_EJECTED, /* passively, for a time */
	SERVER_FAILING, /* its checks */
	SERVER_LEAVING, /* its name does not have the address any more */
};

struct server_health {
	struct ejection ejection;
	struct wheel_node timer;      /* its return */
	struct server_entry *entry;   /* borrows: on the health table; NULL: none */
	struct health_target *target; /* owned; NULL: it is not checked */
	bool check_fails;
};

/* The checks of one worker (health_check.h). */
struct health_checks {
	struct list targets; /* struct health_target */
	struct list waiting; /* of these, whose checks wait for others to end */
	uint32_t running;
	uint32_t seen;           /* the version of the health table that has been read */
	uint64_t draws;          /* of random times */
	struct wheel_node timer; /* reads the health table */
};

/* Before the first server; and before the last one is gone: ends all checks. */
void health_open(struct upstream *u);
void health_close(struct upstream *u);

void health_init(struct server *s);
/* Goes on with what the generation before has known of the servers, as far as this worker does not know better. */
void health_resume(struct destination *d);
/* The server leaves, or is freed: it is not checked any more, and its requests say nothing of its address. */
void health_fini(struct server *s);
/* May eject the server: then destination_changed follows. */
void health_report(struct server *s, enum health_result result);
enum server_state health_state(const struct server *s);

/* The server has sent a final response of this status. */
void health_report_answer(struct origin_server *s, unsigned status);
/* The request has failed at its server for this cause. Counts only what says that the server does not work: not what
 * the client did, no push, and no connect, which is reported by itself, however many requests waited for it. */
void health_report_failure(const struct exchange *x, const struct relay_cause *cause);

#endif
