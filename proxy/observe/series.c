/* SPDX-License-Identifier: MIT */
/* See series.h. */
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/observe/observe.h"
#include <stdlib.h>

static const struct {
	const char *name, *text;
	enum series_labels labels;
} families[SERIES_FAMILIES] = {
#define ROW(symbol, name_, labels_, text_)                                                         \
	[SERIES_##symbol] = {.name = (name_), .text = (text_), .labels = SERIES_##labels_},
    OBSERVE_HISTOGRAMS(ROW)
#undef ROW
};

enum series_labels series_labels_of(enum series_id id)
{
	return families[id].labels;
}

const char *series_name(enum series_id id)
{
	return families[id].name;
}

const char *series_text(enum series_id id)
{
	return families[id].text;
}

/* ---- the table ---- */

/* Parts begin on lines of the cache of their own: the lanes have different writers. */
enum { LINE_BYTES = 64 };

static size_t whole_lines(size_t bytes)
{
	return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* Cells of each first object: one for each second one, and one for none. */
static size_t width(enum series_labels labels, const struct series_sizes *sizes, size_t first)
{
	switch (labels) {
	case SERIES_LISTEN_ROUTE:
		return sizes->routes + 1;
	case SERIES_ORIGIN_SERVER:
		return first > 0 ? sizes->servers(sizes->context, first - 1) + 1 : 1;
	case SERIES_LISTEN:
	case SERIES_ROUTE:
	case SERIES_ORIGIN:
	case SERIES_LABELS_COUNT:
		break;
	}
	return 1;
}

static size_t first_objects(enum series_labels labels, const struct series_sizes *sizes)
{
	switch (labels) {
	case SERIES_LISTEN_ROUTE:
	case SERIES_LISTEN:
		return sizes->listens;
	case SERIES_ROUTE:
		return sizes->routes;
	case SERIES_ORIGIN:
	case SERIES_ORIGIN_SERVER:
	case SERIES_LABELS_COUNT:
		break;
	}
	return sizes->origins;
}

/* Where the parts of the shared memory begin, and its size. */
struct layout {
	size_t number_of, cell_of, histograms, bytes;
};

static struct layout lay_out(const struct series *s)
{
	struct layout at = {.number_of = LINE_BYTES};
	at.cell_of = at.number_of + whole_lines(s->first[SERIES_FAMILIES] * sizeof(*s->number_of));
	at.histograms = at.cell_of + whole_lines(s->most * sizeof(*s->cell_of));
	at.bytes = at.histograms + s->lanes * whole_lines(s->numbers * sizeof(*s->histograms));
	return at;
}

size_t series_init(
    struct series *s, const struct series_sizes *sizes, uint32_t most, uint32_t lanes)
{
	*s = (struct series){.most = most, .numbers = SERIES_FAMILIES + most, .lanes = lanes};
	for (enum series_labels l = 0; l < SERIES_LABELS_COUNT; l++) {
		struct series_rows *rows = &s->rows[l];
		rows->count = first_objects(l, sizes) + 1;
		rows->at = memory_zalloc((rows->count + 1) * sizeof(*rows->at));
		for (size_t i = 0; i < rows->count; i++)
			rows->at[i + 1] = rows->at[i] + width(l, sizes, i);
	}
	for (enum series_id id = 0; id < SERIES_FAMILIES; id++) {
		const struct series_rows *rows = &s->rows[families[id].labels];
		s->rows_of[id] = rows->at;
		s->first[id + 1] = s->first[id] + rows->at[rows->count];
	}
	return lay_out(s).bytes;
}

void series_attach(struct series *s, void *memory)
{
	const struct layout at = lay_out(s);
	char *begin = memory;
	s->used = (_Atomic uint32_t *)begin;
	s->left_out = s->used + 1;
	s->number_of = (_Atomic uint32_t *)(begin + at.number_of);
	s->cell_of = (_Atomic size_t *)(begin + at.cell_of);
	s->histograms = (struct histogram *)(begin + at.histograms);
}

void series_fini(struct series *s)
{
	for (enum series_labels l = 0; l < SERIES_LABELS_COUNT; l++)
		free(s->rows[l].at);
	*s = (struct series){0};
}

/* ---- for workers ---- */

static struct histogram *lane_of(const struct series *s, uint32_t lane)
{
	size_t bytes = whole_lines(s->numbers * sizeof(*s->histograms));
	return (struct histogram *)((char *)s->histograms + lane * bytes);
}

struct series_lane series_lane(const struct series *s, uint32_t lane)
{
	return (struct series_lane){.of = s, .histograms = lane_of(s, lane)};
}

RARE uint32_t series_number(const struct series *s, enum series_id id, size_t cell)
{
	uint32_t number = id, known = 0;
	if (atomic_load(s->used) < s->most) {
		uint32_t n = atomic_fetch_add(s->used, 1);
		if (n < s->most) {
			number = SERIES_FAMILIES + n;
			atomic_store(&s->cell_of[n], cell + 1);
		}
	}
	if (atomic_compare_exchange_strong(&s->number_of[cell], &known, number + 1)) {
		if (number == (uint32_t)id)
			atomic_fetch_add(s->left_out, 1);
		return number;
	}
	/* Another worker was faster: the number just taken stays empty. */
	if (number >= SERIES_FAMILIES)
		atomic_store(&s->cell_of[number - SERIES_FAMILIES], 0);
	return known <= s->numbers ? known - 1 : id;
}

/* ---- for the master, which trusts no number that a worker has written ---- */

/* False: there is no such cell. */
static bool find_cell(const struct series *s, size_t cell, struct series_sum *sum)
{
	if (cell >= s->first[SERIES_FAMILIES])
		return false;
	sum->id = 0;
	while (cell >= s->first[sum->id + 1])
		sum->id++;
	cell -= s->first[sum->id];
	const struct series_rows *rows = &s->rows[families[sum->id].labels];
	size_t low = 0, high = rows->count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (rows->at[middle] <= cell)
			low = middle;
		else
			high = middle;
	}
	sum->first = low;
	sum->second = cell - rows->at[low];
	return true;
}

/* The sum over the lanes. False: none has counted. */
static bool add_lanes(const struct series *s, size_t number, struct histogram *sum)
{
	*sum = (struct histogram){0};
	for (uint32_t lane = 0; lane < s->lanes; lane++)
		histogram_add(sum, &lane_of(s, lane)[number]);
	return histogram_total(sum) > 0;
}

uint32_t series_used(const struct series *s)
{
	/* Without its memory it has counted nothing. */
	uint32_t used = s->used ? atomic_load(s->used) : 0;
	return used < s->most ? used : s->most;
}

uint32_t series_left_out(const struct series *s)
{
	return atomic_load(s->left_out);
}

bool series_next(const struct series *s, size_t *at, struct series_sum *sum)
{
	while (*at < SERIES_FAMILIES + series_used(s)) {
		size_t number = (*at)++;
		sum->is_rest = number < SERIES_FAMILIES;
		sum->id = (enum series_id)number;
		bool is_known =
		    sum->is_rest ||
		    find_cell(s, atomic_load(&s->cell_of[number - SERIES_FAMILIES]) - 1, sum);
		if (is_known && add_lanes(s, number, &sum->histogram))
			return true;
	}
	return false;
}
