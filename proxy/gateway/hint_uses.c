/* SPDX-License-Identifier: MIT */
/*
 * Whether clients request what they were hinted: a hint alone has no push whose end would say so. Of rules with min-used
 * each hint is kept for some seconds; a request of that client for the resource is a use (POLICY_EVENT_FOLLOWED), and
 * none is none (POLICY_EVENT_IGNORED). Where a hint is held too, the claim of the held response says it.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/subscriber.h"

/* A browser that follows a hint requests the resource at once. */
#define AWAITED_USEC (10 * USEC_PER_SEC)
/* When there are more, the oldest is forgotten, and counts neither as a use nor as none. */
#define AWAITED_MOST 4096u

struct hint_use {
	struct map_node node; /* in by_key while it is awaited */
	usec until;
	const struct policy_rule *rule; /* NULL: it was requested */
};

/* The hints in the order in which they were made. */
struct hint_uses {
	struct map by_key;
	uint64_t seed;
	uint32_t first, count;
	struct hint_use ring[AWAITED_MOST];
};

static bool is_needed(const struct policy_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		enum policy_action action = rules->rules[i].action;
		bool hints = action == POLICY_HINT || action == POLICY_HINT_HOLD;
		if (hints && rules->rules[i].min_used > 0)
			return true;
	}
	return false;
}

void hint_uses_init(struct gateway *g)
{
	if (!is_needed(&g->env.conf->policy))
		return;
	g->hint_uses = memory_zalloc(sizeof(*g->hint_uses));
	map_init(&g->hint_uses->by_key);
	g->hint_uses->seed = hash_random_seed();
}

void hint_uses_fini(struct gateway *g)
{
	if (!g->hint_uses)
		return;
	map_fini(&g->hint_uses->by_key);
	free(g->hint_uses);
}

static uint64_t key_of(
    const struct hint_uses *u, const struct exchange *x, const struct http_head *asked)
{
	uint64_t key = subscriber_key_of_client(u->seed, &x->facts.client);
	key = hash_bytes(key, asked->authority.ptr, asked->authority.len);
	return hash_bytes(key, asked->path.ptr, asked->path.len);
}

static void settle(struct gateway *g, struct hint_use *use, enum policy_event event)
{
	const struct policy_rule *rule = use->rule;
	map_remove(&g->hint_uses->by_key, &use->node);
	use->rule = NULL;
	if (event < POLICY_EVENT_COUNT)
		feedback_event(g, rule, event);
}

/* Removes the oldest hint from the ring, and counts this event for its rule; POLICY_EVENT_COUNT: none. */
static void drop_first(struct gateway *g, enum policy_event event)
{
	struct hint_uses *u = g->hint_uses;
	struct hint_use *use = &u->ring[u->first];
	if (use->rule)
		settle(g, use, event);
	u->first = (u->first + 1) % AWAITED_MOST;
	u->count--;
}

static void expire(struct gateway *g)
{
	struct hint_uses *u = g->hint_uses;
	while (u->count > 0 && u->ring[u->first].until <= g->relay.now)
		drop_first(g, POLICY_EVENT_IGNORED);
}

void hint_uses_made(struct gateway *g, const struct exchange *parent,
    const struct http_head *promised, const struct policy_verdict *verdict)
{
	struct hint_uses *u = g->hint_uses;
	if (!verdict->rule || verdict->rule->min_used == 0)
		return;
	expire(g);
	if (u->count == AWAITED_MOST)
		drop_first(g, POLICY_EVENT_COUNT);
	struct hint_use *use = &u->ring[(u->first + u->count++) % AWAITED_MOST];
	use->rule = verdict->rule;
	use->until = g->relay.now + AWAITED_USEC;
	map_insert(&u->by_key, &use->node, key_of(u, parent, promised));
	feedback_event(g, verdict->rule, POLICY_EVENT_AWAITED);
}

void hint_uses_asked(struct gateway *g, const struct exchange *x)
{
	struct hint_uses *u = g->hint_uses;
	if (u->count == 0 || x->method != HTTP_METHOD_GET)
		return;
	expire(g);
	struct map_node *n = map_find(&u->by_key, key_of(u, x, x->request));
	if (n)
		settle(g, container_of(n, struct hint_use, node), POLICY_EVENT_FOLLOWED);
}
