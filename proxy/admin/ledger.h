/* SPDX-License-Identifier: MIT */
/*
 * What the master knows of all processes, in shared memory: a worker reads it to say the same as `pushgate status`. The
 * master alone, or the only process, writes it, a worker has it mapped for reading alone. Included by admin.h.
 *
 * The counters of workers are not in it: they lie in memory of their generation, which the workers of that generation, and of
 * those that were forked while it lived, have mapped. The ledger says which of these generations live. When one has ended,
 * the ledger has its counters among the totals, in the same write: a reader counts each generation once.
 */
#ifndef PUSHGATE_ADMIN_LEDGER_H
#define PUSHGATE_ADMIN_LEDGER_H

#include "proxy/admin/status.h"
#include "proxy/limits.h"

struct ledger;

/* Of zeroes. NULL with a message. */
struct ledger *ledger_new(char *error, size_t error_size);
void ledger_free(struct ledger *l); /* accepts NULL */
/* In a forked worker: it reads from now on, and can never write, nor can a process that has its place. False: it cannot even
 * read. */
bool ledger_seclude(struct ledger *l);
/* In a forked helper, which needs none of it. */
void ledger_leave(struct ledger *l);

/* What the master writes into the ledger. Everything is borrowed. */
struct ledger_facts {
	usec started;      /* when pushgate was started, on the monotonic clock */
	usec started_wall; /* the same, since 1970 */
	const struct status_reload *last_reload; /* NULL: this process does not reload */
	/* As struct status has them. The ledger leaves out those at the end that it has no room for. */
	const struct status_process *processes;
	uint32_t process_count;
	/* Numbers of the generations that live, but of one that has not taken over; at most LIMIT_GENERATIONS + 1. */
	const uint32_t *live;
	uint32_t live_count;
	/* The counters of all other generations, and of a program before this one. */
	const struct totals *ended;
};

void ledger_write(struct ledger *l, const struct ledger_facts *facts, usec now);

/* The counters of one generation's workers, as a forked worker has them mapped. Everything is borrowed. */
struct ledger_region {
	uint32_t generation;
	const struct conf *conf; /* names the counters; NULL: it has served no client */
	const struct observe_counters *slots;
	uint32_t workers;
	const struct series *series;
	const struct server_orders *orders;           /* NULL: none */
	const struct certificate_entry *certificates; /* the same */
};

/* What a worker sees. */
struct ledger_view {
	const struct ledger *ledger;
	const struct observe_counters *own_slot;             /* the master's */
	struct ledger_region regions[LIMIT_GENERATIONS + 1]; /* in the order of the master */
	uint32_t region_count;
	uint32_t own; /* the index of the worker's own generation */
};

/* The worker sees all generations that live. False: a later one has taken over, and this worker drains as soon as it hears of
 * that. */
bool ledger_view_is_complete(const struct ledger_view *v);
/* The memory that a status with all histograms takes, as a rule. */
size_t ledger_view_bytes(const struct ledger_view *v);

/* A status as a worker has it, with all that it points to. */
struct ledger_status;

/* NULL: the master is writing, has been stopped while it did, or has written nothing yet: try again. Without has_series it
 * has no histograms, of which there may be thousands. */
struct ledger_status *ledger_status_new(const struct ledger_view *v,
    const struct health_table *health_table, bool has_series, usec now);
void ledger_status_free(struct ledger_status *s); /* accepts NULL */
/* Adds up the counters of all generations, a part at a time. False: that was the last. */
bool ledger_status_add_up(struct ledger_status *s);
const struct status *ledger_status_of(const struct ledger_status *s);
/* The sum, instead of status_sum. */
struct totals *ledger_status_sum(const struct ledger_status *s);

#endif
