/* SPDX-License-Identifier: MIT */
/*
 * Counts the connections of each client address on a listener. A client is an IPv4 address or an
 * IPv6 /64, which belongs to one subscriber. An address is in the table only while it has a
 * connection, so max-connections bounds the table.
 */
#include "proxy/client/client_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"

#include <stdlib.h>

struct client_address {
	struct map_node node;
	struct address address;
	uint32_t connections;
};

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

bool client_address_attach(
    struct client_listener *l, const struct address *from, struct client_address **counted)
{
	uint32_t most = l->conf->max_connections_per_client;
	*counted = NULL;
	if (most == 0 || from->family == 0)
		return true;
	struct address a = address_subscriber(*from);
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
	*counted = c;
	return true;
}

void client_address_detach(struct client_listener *l, struct client_address *c)
{
	if (!c || --c->connections > 0)
		return;
	map_remove(&l->addresses, &c->node);
	free(c);
}
