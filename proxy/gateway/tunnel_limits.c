/* SPDX-License-Identifier: MIT */
/*
 * Limits on the tunnels of one client and of one user (max-tunnels-per-client, max-tunnels-per-user, tunnel-rate):
 * who they are, and the answer for one tunnel too many. The counts and the rate are the relay's
 * (relay/tunnel_owner.h).
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/rare.h"

/* What sets the hashes of both kinds of owners apart. */
enum owner_kind { OWNER_CLIENT = 1, OWNER_USER = 2 };

/* A page that opens a WebSocket again and again should not do so at once. */
#define RETRY_AFTER_SECONDS 1u

/* Each route counts by itself. */
static uint64_t seed_of(
    const struct gateway *g, const struct conf_route *route, enum owner_kind kind)
{
	uint64_t place = (uint64_t)(route - g->env.conf->routes) << 2 | kind;
	return hash_bytes(g->env.seed, &place, sizeof(place));
}

/* 0 is nobody. */
static uint64_t as_key(uint64_t hash)
{
	return hash == 0 ? 1 : hash;
}

static uint64_t client_key(const struct gateway *g, const struct exchange *x)
{
	if (x->facts.client.family == 0) /* a unix socket */
		return 0;
	struct address a = address_subscriber(x->facts.client);
	uint64_t seed = seed_of(g, x->place.route, OWNER_CLIENT) ^ a.family;
	return as_key(hash_bytes(seed, a.bytes, sizeof(a.bytes)));
}

static uint64_t user_key(const struct gateway *g, const struct exchange *x)
{
	const struct exchange_user *user = x->facts.user;
	if (!user)
		return 0;
	return as_key(hash_bytes(seed_of(g, x->place.route, OWNER_USER), user->name, user->length));
}

static bool is_too_many(const struct gateway *g, uint64_t key, uint32_t most)
{
	return most > 0 && key != 0 && tunnel_owner_count(&g->relay, key) >= most;
}

RARE bool tunnel_limits_admit(struct gateway *g, struct exchange *x)
{
	const struct conf_route *route = x->place.route;
	const struct tunnel_keys keys = {.client = client_key(g, x),
	    .user = user_key(g, x),
	    .bytes_per_second = route->tunnel_rate};
	const struct relay_cause *refusal = NULL;
	if (is_too_many(g, keys.user, route->max_tunnels_per_user))
		refusal = &relay_cause_TUNNELS_USER;
	else if (is_too_many(g, keys.client, route->max_tunnels_per_client))
		refusal = &relay_cause_TUNNELS_CLIENT;
	if (refusal) {
		x->context.retry_after = RETRY_AFTER_SECONDS;
		exchange_refuse(x, refusal, NULL);
		return false;
	}
	tunnel_share_begin(x, &keys);
	return true;
}

RARE void tunnel_limits_ended(struct gateway *g, struct exchange *x)
{
	g->env.observe->counters->tunnels_slowed += x->tunnel.share->has_waited;
	tunnel_share_end(x);
}
