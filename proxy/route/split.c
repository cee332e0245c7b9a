/* SPDX-License-Identifier: MIT */
/* The origin of a route that splits its clients among several. */
#include "proxy/route/route.h"

#include "proxy/base/hash.h"

const struct conf_origin *route_side(const struct conf_route *route, const struct address *client)
{
	if (route->side_count < 2)
		return route->origin;
	/* Without a secret, so that it is the same in all workers and after a restart. */
	uint64_t hash = hash_bytes(route->side_seed, client->bytes, sizeof(client->bytes));
	uint64_t at = (hash >> 32) * route->side_weights >> 32;
	size_t side = 0;
	while (at >= route->sides[side].weight)
		at -= route->sides[side++].weight;
	return route->sides[side].origin;
}
