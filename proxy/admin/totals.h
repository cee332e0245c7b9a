/* SPDX-License-Identifier: MIT */
/*
 * Sums of counters over generations, which have their rules and routes at other indices: what is counted for one of
 * these is added by its name. So no counter goes back when a rule moves, or is gone. Included by admin.h.
 */
#ifndef PUSHGATE_ADMIN_TOTALS_H
#define PUSHGATE_ADMIN_TOTALS_H

#include "proxy/base/list.h"
#include "proxy/base/map.h"
#include "proxy/conf/conf.h"
#include "proxy/limits.h"
#include "proxy/observe/observe.h"

/* Names of each kind; what has other names is counted together, pairs then not at all. */
enum { TOTALS_NAMES = 4 * OBSERVE_RULES };

struct totals_pair {
	char *name;
	uint64_t n[2];
};

struct totals_pairs {
	struct totals_pair *list; /* names are owned */
	size_t count;
};

/* Names of series of all generations; what has other names is counted as (other). */
enum { TOTALS_SERIES = 4 * LIMIT_SERIES, TOTALS_LABELS_BYTES = 400 };

struct totals_series {
	struct map_node node;
	struct list link;
	enum series_id id;
	char *labels; /* owned; as a sample has them */
	struct histogram histogram;
};

struct totals {
	struct observe_counters
	    whole; /* but for what has a name; rules[OBSERVE_RULES]: all other rules */
	struct observe_named_rule *rules; /* names are owned */
	size_t rule_count;
	struct totals_pairs limited, arms; /* as observe_counters.route_limited, arm_pages */
	struct map series;                 /* struct totals_series, owned */
	struct list in_order;              /* the same, in the order in which they came */
	struct totals_series **by_family;  /* owned: for print; NULL: not yet */
};

struct totals *totals_new(void);
void totals_free(struct totals *t); /* accepts NULL */
/* Keeps places for the names of a generation that begins to serve, in their order: a name that has one now has it in each
 * later sum, and none is counted by its name first and with the others later. */
void totals_know(struct totals *t, const struct conf *conf);
/* The counters of a generation's workers. conf: NULL: nothing has a name. has_places: what push_off_until and
 * push_off_connections_open say of this configuration is kept. */
void totals_add(struct totals *t, const struct conf *conf, const struct observe_counters *slots,
    uint32_t workers, bool has_places);
/* The counters outlive a worker or a whole process, but its connections and requests do not. */
void totals_clear_gauges(struct observe_counters *c);
void totals_add_totals(struct totals *t, const struct totals *more);
/* The same of its series. series: NULL: it has none. */
void totals_add_series(struct totals *t, const struct conf *conf, const struct series *series);
/* The counts of the rule, or of all others when there are too many names. */
struct observe_rule *totals_rule(struct totals *t, const char *name);
void totals_add_rule(struct totals *t, const char *name, const struct observe_rule *counts);
void totals_add_pair(struct totals_pairs *p, const char *name, const uint64_t n[2]);

/* ---- totals_flat.c: for another process of this program ---- */

struct totals_flat {
	size_t bytes, counters; /* bytes: all that was written; counters: before the first series */
};

/* As many bytes as any totals take. */
#define TOTALS_FLAT_BYTES                                                                          \
	(TOTALS_SERIES * (32 + TOTALS_LABELS_BYTES + sizeof(struct histogram)) + (1u << 20))
/* Writes all, zeroes included, so that each name keeps its place. What does not fit is left out. bytes is aligned for
 * uint64_t. */
struct totals_flat totals_flatten(const struct totals *t, void *bytes, size_t size);
/* Adds what such bytes say, so many records at most; *at: 0 at first. False: these were the last. */
bool totals_unflatten(struct totals *t, const void *bytes, size_t size, size_t *at, size_t most);
/* ---- totals_series.c ---- */

void totals_series_fini(struct totals *t);
/* The histogram with these labels, or that of all others when there are too many. */
struct histogram *totals_series(struct totals *t, enum series_id id, const char *labels);
/* The histograms of all labels of a family together. */
struct histogram totals_family(const struct totals *t, enum series_id id);
/* Prints so many at most, from number `at` of their order on, once all are added. Returns where to go on; 0: these were the
 * last. */
size_t totals_series_print(struct totals *t, size_t at, size_t most, FILE *out);
/* Adds so many series at most; *at: 0 at first. False: these were the last. */
bool totals_add_some_series(struct totals *t, const struct conf *conf, const struct series *series,
    size_t *at, size_t most);

/* ---- totals_text.c: names of counters, and totals for a pushgate of another version ---- */

/* Names of the rows of causes, misses and denials; NULL after the last. */
const char *totals_cause_name(size_t i);
const char *totals_miss_name(size_t i);
const char *totals_denial_name(size_t i);

/* Writes what is not 0, and changes nothing. */
void totals_write(struct totals *t, FILE *out);
/* Adds what such a text says. */
void totals_read(struct totals *t, struct slice text);

#endif
