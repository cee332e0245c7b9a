/* SPDX-License-Identifier: MIT */
/*
 * Counts the connections of each client address on a listener. A client is an IPv4 address or an
 * IPv6 /64, which belongs to one subscriber. An address is in the table only while it has a
 * connection, so max-connections bounds the table.
 */
#include "proxy/client/client_private.h"

#include "proxy/base/memory.h"
#include "proxy/base/subscriber.h"

#include <stdlib.h>

struct client_address {
	struct map_node node; /* by the subscriber key */
	uint32_t connections;
};

bool client_address_attach(
    struct client_listener *l, const struct address *from, struct client_address **counted)
{
	uint32_t most = l->conf->max_connections_per_client;
	*counted = NULL;
	if (most == 0 || from->family == 0)
		return true;
	uint64_t key = subscriber_key_of_client(l->clients->env->seed, from);
	struct map_node *n = map_find(&l->addresses, key);
	struct client_address *c = n ? container_of(n, struct client_address, node) : NULL;
	if (c && c->connections >= most) {
		WORKER_COUNT(l->clients->env, connections_refused_client, 1);
		return false;
	}
	if (!c) {
		c = memory_new(struct client_address);
		map_insert(&l->addresses, &c->node, key);
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
