/* SPDX-License-Identifier: MIT */
/* Moves connections and requests between the pools of a server when its protocol becomes known. */
#include "proxy/origin/origin_private.h"

static void move_conn(struct pool *from, struct pool *to, struct origin_conn *c)
{
	list_remove(&c->link);
	list_append(&to->conns, &c->link);
	c->pool = to;
	from->count--;
	from->connecting--;
	to->count++;
	to->connecting++;
	to->was_used = true;
}

static void move_queue(struct pool *from, struct pool *to)
{
	struct list waiting;
	list_init(&waiting);
	pool_take_waiting(from, &waiting);
	while (!list_is_empty(&waiting)) {
		struct exchange *x = list_first(&waiting, struct exchange, waiting);
		pool_unqueue(from, x);
		x->pushes.is_subscription = false;
		pool_enqueue(to, x);
	}
}

void pool_conn_began(struct pool *from, struct origin_conn *c)
{
	struct pool *plain = origin_server_pool(from->server, POOL_PLAIN);
	if (pool_needs_http1(from))
		return; /* which says nothing of the protocol that requests use */
	from->known->protocol = c->plan->protocol;
	from->known->capabilities = c->session->ops->capabilities;
	if (session_can(c->session, SESSION_TAKES_PUSHES) || from == plain ||
	    from->kind == POOL_TUNNELS || c->is_closing)
		return;
	move_conn(from, plain, c);
	move_queue(from, plain);
	if (plain->count > pool_most_connections(plain))
		origin_conn_retire(c);
}
