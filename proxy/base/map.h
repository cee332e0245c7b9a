/* SPDX-License-Identifier: MIT */
/*
 * A hash map with intrusive nodes: the value embeds a struct map_node, and the map owns only its
 * table. The caller computes the (seeded) hash and compares keys (map_find and map_next return all
 * nodes with one hash). The table doubles when it has as many nodes as slots; it never shrinks.
 */
#ifndef PUSHGATE_BASE_MAP_H
#define PUSHGATE_BASE_MAP_H

#include "proxy/base/list.h"
#include <stdint.h>

struct map_node {
	struct map_node *next;
	uint64_t hash;
};

struct map {
	struct map_node **slots; /* NULL until the first insertion */
	size_t mask, count;
};

void map_init(struct map *m);
void map_fini(struct map *m); /* does not touch the nodes */
void map_insert(struct map *m, struct map_node *node, uint64_t hash);
/* Ensures that the node was in the map. */
void map_remove(struct map *m, struct map_node *node);
/*
 * Returns the first node with this hash, or NULL; map_next returns the next node with the same
 * hash.
 */
struct map_node *map_find(const struct map *m, uint64_t hash);
struct map_node *map_next(const struct map_node *node);
/* All nodes, in no order: the one behind `node`, or the first (`node` NULL). NULL: there is none. */
struct map_node *map_after(const struct map *m, const struct map_node *node);

static inline void *map_item(struct map_node *node, size_t offset)
{
	return node ? (char *)node - offset : NULL;
}

/* The loop body may remove and free the current item, but no other, and inserts none. */
#define map_for_each(map, item, type, member)                                                      \
	for (type *item = NULL,                                                                    \
		  *item##_next = map_item(map_after(map, NULL), offsetof(type, member));           \
	     (item = item##_next) != NULL &&                                                       \
	     (item##_next = map_item(map_after(map, &item->member), offsetof(type, member)),       \
	     true);)

#endif
