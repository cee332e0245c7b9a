/* SPDX-License-Identifier: MIT */
/*
 * How many connections each client has on a listener. A client is an IPv4 address, or the IPv6 /64
 * that one subscriber has for himself. Only who is connected is known here, so that the number of
 * connections bounds the table.
 */
#include "proxy/hop/private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"

#include <stdlib.h>

/* Bytes of an IPv6 address that stand for the subscriber. */
#define SUBSCRIBER_BYTES 8u

struct client {
	struct map_node node;
	struct address address;
	uint32_t connections;
};

static struct address subscriber(struct address a)
{
	if (a.family == 6)
		memset(a.bytes + SUBSCRIBER_BYTES, 0, sizeof(a.bytes) - SUBSCRIBER_BYTES);
	return a;
}

static struct client *find(const struct map *clients, const struct address *a, uint64_t hash)
{
	struct map_node *n = map_find(clients, hash);
	while (n) {
		struct client *c = container_of(n, struct client, node);
		if (c->address.family == a->family &&
		    memcmp(c->address.bytes, a->bytes, sizeof(a->bytes)) == 0)
			return c;
		n = map_next(n);
	}
	return NULL;
}

bool clients_enter(struct listener *l, const struct address *from, struct client **client)
{
	uint32_t most = l->conf->max_connections_per_client;
	*client = NULL;
	if (most == 0 || from->family == 0)
		return true;
	struct address a = subscriber(*from);
	uint64_t hash = hash_bytes(l->hop->env.seed, a.bytes, sizeof(a.bytes)) ^ a.family;
	struct client *c = find(&l->clients, &a, hash);
	if (c && c->connections >= most)
		return false;
	if (!c) {
		c = memory_new(struct client);
		c->address = a;
		map_insert(&l->clients, &c->node, hash);
	}
	c->connections++;
	*client = c;
	return true;
}

void clients_leave(struct listener *l, struct client *c)
{
	if (!c || --c->connections > 0)
		return;
	map_remove(&l->clients, &c->node);
	free(c);
}
