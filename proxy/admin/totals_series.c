/* SPDX-License-Identifier: MIT */
/* Series in totals: by family and labels, as a text. */
#include "proxy/admin/totals.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include <stdlib.h>
#include <string.h>

#define REST "(other)"
#define NONE "(none)"

/* ---- labels ---- */

static const char *const label_names[SERIES_LABELS_COUNT][2] = {
    [SERIES_LISTEN_ROUTE] = {"listen", "route"},
    [SERIES_LISTEN] = {"listen"},
    [SERIES_ROUTE] = {"route"},
    [SERIES_ORIGIN] = {"origin"},
    [SERIES_ORIGIN_SERVER] = {"origin", "server"},
};

static const char *listen_name(const struct conf *c, size_t number)
{
	return number > 0 ? c->listens[number - 1].name : NONE;
}

static const char *route_name(const struct conf *c, size_t number)
{
	return number > 0 ? c->routes[number - 1].name : NONE;
}

static const char *origin_name(const struct conf *c, size_t number)
{
	return number > 0 ? c->origins[number - 1].name : NONE;
}

static void name_objects(const struct conf *c, const struct series_sum *sum, const char *values[2])
{
	switch (series_labels_of(sum->id)) {
	case SERIES_LISTEN_ROUTE:
		values[0] = listen_name(c, sum->first);
		values[1] = route_name(c, sum->second);
		return;
	case SERIES_LISTEN:
		values[0] = listen_name(c, sum->first);
		return;
	case SERIES_ROUTE:
		values[0] = route_name(c, sum->first);
		return;
	case SERIES_ORIGIN:
		values[0] = origin_name(c, sum->first);
		return;
	case SERIES_ORIGIN_SERVER:
		values[0] = origin_name(c, sum->first);
		values[1] = sum->first > 0 && sum->second > 0
				? c->origins[sum->first - 1].servers[sum->second - 1].text
				: NONE;
		return;
	case SERIES_LABELS_COUNT:
		return;
	}
}

/* values: NULL: the rest. Labels that are too long are those of the rest. */
static void write_labels(
    enum series_id id, const char *const values[2], char text[TOTALS_LABELS_BYTES])
{
	const char *const *names = label_names[series_labels_of(id)];
	struct observe_label labels[3] = {{0}};
	for (size_t i = 0; i < 2 && names[i]; i++)
		labels[i] = (struct observe_label){names[i], values ? values[i] : REST};
	if (!observe_labels_write(labels, text, TOTALS_LABELS_BYTES) && values)
		write_labels(id, NULL, text);
}

/* ---- by labels ---- */

static struct totals_series *find(
    const struct totals *t, enum series_id id, const char *labels, uint64_t hash)
{
	struct map_node *node = map_find(&t->series, hash);
	for (; node; node = map_next(node)) {
		struct totals_series *s = container_of(node, struct totals_series, node);
		if (s->id == id && strcmp(s->labels, labels) == 0)
			return s;
	}
	return NULL;
}

struct histogram *totals_series(struct totals *t, enum series_id id, const char *labels)
{
	uint64_t hash = hash_bytes(id, labels, strlen(labels));
	struct totals_series *s = find(t, id, labels, hash);
	if (s)
		return &s->histogram;
	char rest[TOTALS_LABELS_BYTES];
	write_labels(id, NULL, rest);
	if (t->series.count >= TOTALS_SERIES && strcmp(labels, rest) != 0)
		return totals_series(t, id, rest);
	free(t->by_family);
	t->by_family = NULL;
	s = memory_new(struct totals_series);
	s->id = id;
	s->labels = memory_strdup(labels);
	map_insert(&t->series, &s->node, hash);
	list_append(&t->in_order, &s->link);
	return &s->histogram;
}

struct histogram totals_family(const struct totals *t, enum series_id id)
{
	struct histogram sum = {0};
	list_for_each(&t->in_order, s, struct totals_series, link)
	{
		if (s->id == id)
			histogram_add(&sum, &s->histogram);
	}
	return sum;
}

bool totals_add_some_series(
    struct totals *t, const struct conf *conf, const struct series *series, size_t *at, size_t most)
{
	struct series_sum sum;
	char labels[TOTALS_LABELS_BYTES];
	for (; most > 0; most--) {
		if (!series || !series_next(series, at, &sum))
			return false;
		const char *values[2] = {NULL};
		bool has_names = conf && !sum.is_rest;
		if (has_names)
			name_objects(conf, &sum, values);
		write_labels(sum.id, has_names ? values : NULL, labels);
		histogram_add(totals_series(t, sum.id, labels), &sum.histogram);
	}
	return true;
}

void totals_add_series(struct totals *t, const struct conf *conf, const struct series *series)
{
	size_t at = 0;
	(void)totals_add_some_series(t, conf, series, &at, SIZE_MAX);
}

void totals_series_fini(struct totals *t)
{
	list_for_each(&t->in_order, s, struct totals_series, link)
	{
		map_remove(&t->series, &s->node);
		free(s->labels);
		free(s);
	}
	map_fini(&t->series);
	free(t->by_family);
}

/* ---- as text ---- */

/* By family, NULL behind the last; the caller frees the list. Prometheus wants the same order each time and no other, and a
 * sort by labels would take milliseconds. */
static struct totals_series **order(const struct totals *t)
{
	struct totals_series **all =
	    memory_zalloc((t->series.count + 1) * sizeof(struct totals_series *));
	size_t at[SERIES_FAMILIES + 1] = {0};
	list_for_each(&t->in_order, s, struct totals_series, link) at[s->id + 1]++;
	for (enum series_id id = 0; id < SERIES_FAMILIES; id++)
		at[id + 1] += at[id];
	list_for_each(&t->in_order, s, struct totals_series, link) all[at[s->id]++] = s;
	return all;
}

size_t totals_series_print(struct totals *t, size_t at, size_t most, FILE *out)
{
	if (!t->by_family)
		t->by_family = order(t);
	struct totals_series **all = t->by_family;
	for (; all[at] && most > 0; at++, most--) {
		const char *name = series_name(all[at]->id);
		if (at == 0 || all[at]->id != all[at - 1]->id)
			fprintf(out, "# HELP %s %s\n# TYPE %s histogram\n", name,
			    series_text(all[at]->id), name);
		histogram_print(&all[at]->histogram, name, all[at]->labels, out);
	}
	return all[at] ? at : 0;
}
