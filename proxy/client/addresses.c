/* SPDX-License-Identifier: MIT */
/*
 * How many connections each client address has on a listener. A client is an IPv4 address, or the
 * IPv6 /64 that one subscriber has alone. The table knows connected clients only, so the number of
 * connections bounds it.
 */
#include "proxy/client/private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"

#include <stdlib.h>

/* Bytes of an IPv6 address that stand for the subscriber. */
#define SUBSCRIBER_BYTES 8u

struct client_address {
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

static struct client_address *find(
    const struct map *addresses, const struct address *a, uint64_t hash)
{
	struct map_node *n = map_find(addresses, hash);
	while (n) {
		struct client_address *c = container_of(n, struct client_address, node);
		if (c->address.family == a->family &&
		    memcmp(c->address.bytes, a->bytes, sizeof(a->bytes)) == 0)
			return c;
		n = map_next(n);
	}
	return NULL;
}

bool client_address_enter(
    struct client_listener *l, const struct address *from, struct client_address **entered)
{
	uint32_t most = l->conf->max_connections_per_client;
	*entered = NULL;
	if (most == 0 || from->family == 0)
		return true;
	struct address a = subscriber(*from);
	uint64_t hash = hash_bytes(l->clients->env->seed, a.bytes, sizeof(a.bytes)) ^ a.family;
	struct client_address *c = find(&l->addresses, &a, hash);
	if (c && c->connections >= most)
		return false;
	if (!c) {
		c = memory_new(struct client_address);
		c->address = a;
		map_insert(&l->addresses, &c->node, hash);
	}
	c->connections++;
	*entered = c;
	return true;
}

void client_address_leave(struct client_listener *l, struct client_address *c)
{
	if (!c || --c->connections > 0)
		return;
	map_remove(&l->addresses, &c->node);
	free(c);
}
