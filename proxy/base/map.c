/* SPDX-License-Identifier: MIT */
/*
 * The map: a table of chains; their number is a power of two. It compares only hashes; the caller
 * compares keys.
 */
#include "proxy/base/map.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#define FIRST_SLOTS 8u

/* The low bits of stream ids and of hash_bytes results are spread well enough. */
static size_t slot_of(const struct map *m, uint64_t hash)
{
	return (size_t)(hash ^ hash >> 32) & m->mask;
}

void map_init(struct map *m)
{
	*m = (struct map){0};
}

void map_fini(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

static void grow(struct map *m)
{
	struct map old = *m;
	size_t slots = old.slots ? (old.mask + 1) * 2 : FIRST_SLOTS;
	ensure(slots <= SIZE_MAX / sizeof(*m->slots));
	m->slots = memory_zalloc(slots * sizeof(*m->slots));
	m->mask = slots - 1;
	for (size_t i = 0; old.slots && i <= old.mask; i++) {
		for (struct map_node *n = old.slots[i], *next; n; n = next) {
			next = n->next;
			struct map_node **slot = &m->slots[slot_of(m, n->hash)];
			n->next = *slot;
			*slot = n;
		}
	}
	free(old.slots);
}

void map_insert(struct map *m, struct map_node *node, uint64_t hash)
{
	if (!m->slots || m->count > m->mask)
		grow(m);
	struct map_node **slot = &m->slots[slot_of(m, hash)];
	node->hash = hash;
	node->next = *slot;
	*slot = node;
	m->count++;
}

void map_remove(struct map *m, struct map_node *node)
{
	ensure(m->slots != NULL);
	struct map_node **at = &m->slots[slot_of(m, node->hash)];
	while (*at != node) {
		ensure(*at != NULL);
		at = &(*at)->next;
	}
	*at = node->next;
	node->next = NULL;
	m->count--;
}

static struct map_node *first_with(struct map_node *n, uint64_t hash)
{
	while (n && n->hash != hash)
		n = n->next;
	return n;
}

struct map_node *map_find(const struct map *m, uint64_t hash)
{
	return m->slots ? first_with(m->slots[slot_of(m, hash)], hash) : NULL;
}

struct map_node *map_next(const struct map_node *node)
{
	return first_with(node->next, node->hash);
}

struct map_node *map_after(const struct map *m, const struct map_node *node)
{
	if (node && node->next)
		return node->next;
	for (size_t slot = node ? slot_of(m, node->hash) + 1 : 0; m->slots && slot <= m->mask;
	     slot++) {
		if (m->slots[slot])
			return m->slots[slot];
	}
	return NULL;
}
