/* SPDX-License-Identifier: MIT */
/*
 * A seeded hash map with intrusive nodes: the value embeds a struct map_node, the map owns only
 * its table. Keys are the caller's: it gives the hash and compares (map_for_hash walks all nodes
 * of one hash). Grows by doubling at load 1; never shrinks.
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
	struct map_node **slots; /* NULL while empty: an unused map costs no memory */
	size_t mask, count;
};

void map_init(struct map *m);
void map_fini(struct map *m); /* does not touch the nodes */
void map_insert(struct map *m, struct map_node *node, uint64_t hash);
/* Ensures that the node was there. */
void map_remove(struct map *m, struct map_node *node);
/* First node with this hash, or NULL; map_next gives the next with the same hash. */
struct map_node *map_find(const struct map *m, uint64_t hash);
struct map_node *map_next(const struct map_node *node);
/* Walk all nodes in no order: cursor starts at 0; NULL at the end. No insertion meanwhile;
 * removing the node just returned, and freeing it, is allowed (`last` is not looked at). */
struct map_node *map_walk(const struct map *m, size_t *cursor, struct map_node *last);

#endif
