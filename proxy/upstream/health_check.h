/* SPDX-License-Identifier: MIT */
/*
 * Active checks. Each checked server has a target, in each worker. At its time the worker that has the lease of
 * the server's entry (observe/health_table.h) begins a probe, a connection of its own, counts what comes of it and
 * publishes a change. The other workers look at the health table several times a second.
 *
 *   target ── its time has come ─┬─ another worker has the lease: until the next time
 *                                ├─ too many checks run: waits in a line
 *                                └─ probe ── passed, failed ── rise, fall reached: published
 */
#ifndef PUSHGATE_UPSTREAM_HEALTH_CHECK_H
#define PUSHGATE_UPSTREAM_HEALTH_CHECK_H

#include "proxy/upstream/destination.h"

struct health_probe;

struct health_target {
	struct server *server;
	struct list link;           /* in health_checks.targets */
	struct list waiting;        /* in health_checks.waiting */
	struct wheel_node timer;    /* the next check */
	struct health_probe *probe; /* NULL: none runs */
	uint32_t passed, failed;    /* in a row */
};

/* health.c: what the checks say of the server has changed. */
void health_set_checked(struct server *s, bool fails);

/* health_check.c */
void health_target_open(struct server *s);
void health_target_close(struct server *s);
/* Reads the last published result. */
void health_target_read(struct health_target *t);
/* The check is over. result: enum server_check_result, or a status. */
void health_target_done(struct health_target *t, unsigned result);
/* Its connection is gone: the next check may begin. */
void health_target_free(struct health_target *t);

/* health_probe.c */
/* False: there is no memory for it. */
bool health_probe_begin(struct health_target *t);
void health_probe_abort(struct health_probe *p);

#endif
