/* SPDX-License-Identifier: MIT */
/*
 * Connections that carry the requests of one client alone (connections = private), one at a time. A request takes an idle
 * connection of its client. Else one is opened for it, at which it waits: the PROXY header that goes out first names its
 * client, so that no other one can use the connection.
 *
 *   line ── idle connection of its client ──────────────────────────── sent
 *     └── there is room for a connection, or an idle one makes room ── waits at that ── sent
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"

/* The origin is told the same of all requests with this client. */
static struct peer_header client_of(const struct exchange *x)
{
	const struct request_facts *f = &x->facts;
	struct peer_header h = {.from = f->client};
	if (f->ends) {
		h.to = f->ends->to;
		h.to_port = f->ends->to_port;
		h.from_port = f->is_named ? 0 : f->ends->port;
	}
	return h;
}

static uint64_t hash_of(const struct pool *p, const struct peer_header *h)
{
	uint64_t ports = (uint64_t)h->from_port << 16 | h->to_port;
	uint64_t hash = hash_bytes(p->origins->env->seed ^ ports, &h->from, sizeof(h->from));
	return hash_bytes(hash, &h->to, sizeof(h->to));
}

/* The request that the connection is opened for. */
static struct exchange *waiter_of(const struct origin_conn *c)
{
	return list_first(&c->owner->waiting, struct exchange, waiting);
}

/* A connection of the client that carries no request, and for which none waits; it may be opening. A request that has
 * failed with one gets none. */
static struct origin_conn *find_free(
    const struct pool *p, const struct exchange *x, const struct peer_header *h)
{
	if (!peer_header_names(h) || origin_attempt_of(x)->needs_fresh)
		return NULL;
	for (struct map_node *n = map_find(&p->owners, hash_of(p, h)); n; n = map_next(n)) {
		struct origin_conn *c = container_of(n, struct origin_owner, node)->conn;
		bool is_free =
		    !c->is_ready || (list_is_linked(&c->usable) && origin_conn_has_room(c));
		if (is_free && !waiter_of(c) && peer_header_is_same(&c->owner->client, h))
			return c;
	}
	return NULL;
}

/* Requests that connections are being opened for are as good as sent (max-requests). */
static bool server_has_room(const struct pool *p, uint32_t in_flight)
{
	uint32_t most = p->conf->max_requests;
	return most == 0 || in_flight + p->connecting < most;
}

/* ---- one more connection ---- */

/* If there are as many as there may be, the one that has been idle for the longest is closed. */
static bool make_room(struct pool *p)
{
	if (p->count < pool_most_connections(p))
		return true;
	if (list_is_empty(&p->usable))
		return false;
	struct origin_conn *c = container_of(p->usable.prev, struct origin_conn, usable);
	origin_conn_retire(c);
	net_conn_dirty(c->net);
	return true;
}

static struct origin_conn *open_for(struct pool *p, const struct peer_header *h)
{
	struct origin_owner *owner = memory_new(struct origin_owner);
	owner->client = *h;
	list_init(&owner->waiting);
	owner->conn = origin_conn_open(p, owner);
	map_insert(&p->owners, &owner->node, hash_of(p, h));
	return owner->conn;
}

/* The connection opens. */
static void wait_at(struct origin_conn *c, struct exchange *x)
{
	list_remove(&x->waiting);
	list_append(&c->owner->waiting, &x->waiting);
	if (pool_slow_applies(c->pool, x) && !c->carries_slow)
		pool_slow_began(c);
}

/* ---- the line ---- */

/* Where x waits while no connection is opened for it. */
static struct list *line_of(struct pool *p, const struct exchange *x)
{
	if (x->upload_wait == UPLOAD_IS_SLOW)
		return &p->slow.waiting;
	bool is_ahead_of_need = exchange_is_push(x) && x->pushed.claims == 0;
	return is_ahead_of_need ? &p->bound.pushes : &p->bound.requests;
}

/* The oldest in the line that may have a connection. */
static struct exchange *next_in_line(struct pool *p)
{
	struct exchange *x = pool_first_waiting(p), *slow = pool_slow_first(p);
	return slow && (!x || slow->timing.waits_since < x->timing.waits_since) ? slow : x;
}

void pool_private_grow(struct pool *p)
{
	struct exchange *x;
	while (server_has_room(p, origin_server_in_flight(p->server)) && (x = next_in_line(p))) {
		const struct peer_header client = client_of(x);
		struct origin_conn *c = find_free(p, x, &client);
		if (!c && !make_room(p))
			return;
		if (!c)
			c = open_for(p, &client);
		if (c->is_ready)
			pool_send_waiting(p, x, c);
		else
			wait_at(c, x);
	}
}

/* A connection that has become ready is the first of those that may be used. Its request may be gone. */
void pool_private_serve(struct pool *p)
{
	struct exchange *x;
	struct origin_conn *c;
	while ((c = list_first(&p->usable, struct origin_conn, usable)) && (x = waiter_of(c)))
		pool_send_waiting(p, x, c);
	if (c && c->carries_slow)
		pool_slow_ended(c);
}

struct origin_conn *pool_private_idle(struct pool *p, const struct exchange *x)
{
	const struct peer_header client = client_of(x);
	/* x itself is among those in flight. */
	bool has_room = server_has_room(p, origin_server_in_flight(p->server) - 1);
	struct origin_conn *c = has_room ? find_free(p, x, &client) : NULL;
	return c && c->is_ready ? c : NULL;
}

/* ---- a connection that does not come up ---- */

void pool_private_give_back(struct origin_conn *c)
{
	struct exchange *x = c->owner ? waiter_of(c) : NULL;
	if (!x)
		return;
	list_remove(&x->waiting);
	list_prepend(line_of(c->pool, x), &x->waiting);
}

void pool_private_failed(struct origin_conn *c, const struct relay_cause *cause, const char *detail)
{
	struct exchange *x = waiter_of(c);
	struct pool *p = c->pool;
	if (!x)
		return;
	if (p->origins->is_closed) {
		pool_private_give_back(c);
		return;
	}
	origin_unqueue(x);
	p->origins->ops->unreached(p->server, x, cause, detail);
}
