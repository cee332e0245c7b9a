/* SPDX-License-Identifier: MIT */
/*
 * Series: histograms with labels. The labels are objects of the configuration, by their numbers; 0 stands for none. Each
 * combination of labels has a cell in a table. The first time that one is counted its cell gets the number of a histogram.
 * There are max-series histograms for that, and one for the rest of each family: combinations that come later are counted
 * there.
 *
 * Workers share the table. Each has all histograms for itself, in its lane: no other process writes there, so nothing is locked.
 * The memory of histograms that are not used is never touched. Included by observe.h.
 */
#ifndef PUSHGATE_OBSERVE_SERIES_H
#define PUSHGATE_OBSERVE_SERIES_H

#include "proxy/observe/counter_rows.h"
#include "proxy/observe/histogram.h"
#include <stdatomic.h>

enum series_id {
#define SERIES_ID(symbol, name, labels, text) SERIES_##symbol,
	OBSERVE_HISTOGRAMS(SERIES_ID)
#undef SERIES_ID
	    SERIES_FAMILIES
};

/* The labels of a family. */
enum series_labels {
	SERIES_LISTEN_ROUTE,
	SERIES_LISTEN,
	SERIES_ROUTE,
	SERIES_ORIGIN,
	SERIES_ORIGIN_SERVER,
	SERIES_LABELS_COUNT
};

/* How many objects there are. */
struct series_sizes {
	size_t listens, routes, origins;
	size_t (*servers)(const void *context, size_t origin); /* lines of origin 0, 1 … */
	const void *context;
};

/* The cells of a family with these labels. */
struct series_rows {
	/* Owned: by the first object, its first cell; the last one is the number of cells. */
	size_t *at;
	size_t count;
};

struct series {
	struct series_rows rows[SERIES_LABELS_COUNT];
	const size_t *rows_of[SERIES_FAMILIES]; /* those of its labels */
	size_t first[SERIES_FAMILIES + 1];      /* cell of each family */
	uint32_t most;                          /* max-series */
	uint32_t numbers; /* of histograms in a lane: first those for the rest of each family */
	uint32_t lanes;
	/* All below is in the shared memory. */
	_Atomic uint32_t *used;     /* how many of `most` have a cell */
	_Atomic uint32_t *left_out; /* cells that are counted with the rest of their family */
	_Atomic uint32_t
	    *number_of; /* by cell: 1 and the number of its histogram; 0: it has none yet */
	_Atomic size_t *cell_of; /* by number, without those for the rest: 1 and its cell */
	struct histogram *histograms;
};

/* Bytes of shared memory; s keeps the sizes until series_fini. */
size_t series_init(
    struct series *s, const struct series_sizes *sizes, uint32_t most, uint32_t lanes);
void series_attach(struct series *s, void *memory); /* memory: zeroed, of that many bytes */
void series_fini(struct series *s);                 /* does not free the memory */

/* Of one worker. */
struct series_lane {
	const struct series *of;      /* borrows; NULL: nothing is counted */
	struct histogram *histograms; /* by number */
};

struct series_lane series_lane(const struct series *s, uint32_t lane);
/* The number of a cell that has none. */
uint32_t series_number(const struct series *s, enum series_id id, size_t cell);

/* The histogram of a combination, which gets one and keeps it. first, second: numbers of the objects; 0: there is none, or
 * the family has one label. NULL: nothing is counted. */
static inline struct histogram *series_histogram(
    const struct series_lane *l, enum series_id id, size_t first, size_t second)
{
	const struct series *s = l->of;
	if (!s)
		return NULL;
	size_t cell = s->first[id] + s->rows_of[id][first] + second;
	uint32_t number = atomic_load_explicit(&s->number_of[cell], memory_order_relaxed) - 1;
	if (number >= s->numbers) /* none yet, or another worker has written what it must not */
		number = series_number(s, id, cell);
	return &l->histograms[number];
}

/* Counts a span. */
static inline void series_count(
    const struct series_lane *l, enum series_id id, size_t first, size_t second, usec span)
{
	struct histogram *h = series_histogram(l, id, first, second);
	if (h)
		histogram_count(h, span);
}

/* ---- for the master ---- */

/* A series, summed over the lanes. */
struct series_sum {
	enum series_id id;
	bool is_rest; /* all combinations without a number of their own */
	size_t first, second;
	struct histogram histogram;
};

/* The next series that has counted; *at: 0 at first. False: there is none. */
bool series_next(const struct series *s, size_t *at, struct series_sum *sum);
uint32_t series_used(const struct series *s);
uint32_t series_left_out(const struct series *s);
enum series_labels series_labels_of(enum series_id id);
const char *series_name(enum series_id id); /* as printed */
const char *series_text(enum series_id id); /* HELP */

#endif
