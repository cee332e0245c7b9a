/* SPDX-License-Identifier: MIT */
/* Groups: the sums of figures for each key, for a bounded number of keys. */
#include "proxy/report/report_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include <string.h>

/* The longest field of the log, a path, has half of that. */
#define KEY_MOST 2048u

void report_add(struct report_figures *sum, const struct report_figures *f)
{
	for (size_t i = 0; i < REPORT_FIGURE_COUNT; i++)
		sum->n[i] += f->n[i];
}

void report_groups_init(struct report_groups *g, size_t most)
{
	*g = (struct report_groups){.most = most, .seed = hash_random_seed()};
	map_init(&g->by_key);
}

void report_groups_fini(struct report_groups *g)
{
	map_for_each(&g->by_key, group, struct report_group, node)
	{
		map_remove(&g->by_key, &group->node);
		free(group);
	}
	map_fini(&g->by_key);
}

/* Paths in a log were chosen by peers, who could else choose many with one hash. */
static uint64_t hash_of(const struct report_groups *g, const char *key)
{
	return hash_bytes(g->seed, key, strlen(key));
}

static struct report_group *find(const struct report_groups *g, const char *key)
{
	for (struct map_node *n = map_find(&g->by_key, hash_of(g, key)); n; n = map_next(n)) {
		struct report_group *group = container_of(n, struct report_group, node);
		if (strcmp(group->key, key) == 0)
			return group;
	}
	return NULL;
}

const struct report_group *report_groups_find(const struct report_groups *g, const char *key)
{
	return find(g, key);
}

static struct report_group *make(struct report_groups *g, const char *key)
{
	size_t length = strlen(key);
	struct report_group *group = memory_zalloc(sizeof(*group) + length + 1);
	memcpy(group->key, key, length);
	map_insert(&g->by_key, &group->node, hash_of(g, key));
	return group;
}

void report_groups_add(
    struct report_groups *g, const char *key, const struct report_figures *figures)
{
	if (strlen(key) > KEY_MOST)
		key = "(too long)";
	struct report_group *group = find(g, key);
	if (!group && g->by_key.count < g->most)
		group = make(g, key);
	g->has_others |= !group;
	report_add(group ? &group->figures : &g->others, figures);
}

/* ---- sorting ---- */

/* qsort takes no context: the figure that is sorted by stands beside each pointer. */
struct place {
	uint64_t figure;
	const struct report_group *group;
};

static int compare(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	if (a->figure != b->figure)
		return a->figure > b->figure ? -1 : 1;
	return strcmp(a->group->key, b->group->key);
}

const struct report_group **report_groups_sorted(
    const struct report_groups *g, enum report_figure by, size_t *count)
{
	size_t n = 0, all = g->by_key.count;
	struct place *places = memory_resize(NULL, all + 1, sizeof(*places));
	const struct report_group **sorted = memory_resize(NULL, all + 1, sizeof(*sorted));
	map_for_each(&g->by_key, group, struct report_group, node)
	{
		if (group->figures.n[by] > 0)
			places[n++] = (struct place){group->figures.n[by], group};
	}
	if (n > 0)
		qsort(places, n, sizeof(*places), compare);
	for (size_t i = 0; i < n; i++)
		sorted[i] = places[i].group;
	free(places);
	*count = n;
	return sorted;
}
