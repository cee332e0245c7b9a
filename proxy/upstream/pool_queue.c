/* SPDX-License-Identifier: MIT */
/*
 * The requests that wait for a pool: those that any server of the destination may serve stand in its line, those
 * that are bound to this server in the pool's own.
 */
#include "proxy/upstream/private.h"

#include "proxy/base/ensure.h"

/* A server that is not in use gets what is bound to it alone: what waits for any goes to others. */
static bool may_take_from_line(const struct pool *p)
{
	return balance_prefers(&p->server->member) && !p->server->is_leaving;
}

/*
 * What was given to another server is left to it, unless that one is not in use or has more to do: else the first
 * connection that opens, of a server that may be the slowest, would get all that waits.
 */
static bool may_take(const struct pool *p, const struct exchange *x)
{
	const struct balance_member *own = &p->server->member;
	const struct balance_member *other = &x->context.server->member;
	if (own->is_backup && !other->is_backup && balance_prefers(other))
		return false;
	if (x->tunnel.is_counted && own != other && !server_may_tunnel(p->server))
		return false;
	return own == other || !balance_prefers(other) || x->context.server->is_leaving ||
	       (uint64_t)(own->outstanding + 1) * other->weight <=
		   (uint64_t)other->outstanding * own->weight;
}

/* How many requests of the line are looked at when none of them was given to this server. */
#define LOOKED_AT 16u
static uint32_t most_looks(const struct pool *p)
{
	return p->in_line > 0 ? UINT32_MAX : LOOKED_AT;
}

static struct exchange *first_to_take(const struct pool *p, const struct list *line)
{
	uint32_t looks = most_looks(p);
	list_for_each(line, x, struct exchange, waiting)
	{
		if (may_take(p, x))
			return x;
		if (--looks == 0)
			break;
	}
	return NULL;
}

static struct exchange *first_of(const struct list *l)
{
	return list_first(l, struct exchange, waiting);
}

struct exchange *pool_first_waiting(const struct pool *p)
{
	if (p->server->destination->queued == 0)
		return NULL;
	bool takes = may_take_from_line(p);
	struct exchange *own = first_of(&p->bound.requests);
	struct exchange *common = takes ? first_to_take(p, &p->line->requests) : NULL;
	if (own && common)
		return own->timing.waits_since <= common->timing.waits_since ? own : common;
	if (own || common)
		return own ? own : common;
	struct exchange *push = first_of(&p->bound.pushes);
	return push || !takes ? push : first_to_take(p, &p->line->pushes);
}

bool pool_is_waiting(const struct pool *p)
{
	if (p->server->destination->queued == 0)
		return false;
	return p->queued > 0 || (!list_is_empty(&p->line->requests) && may_take_from_line(p)) ||
	       (!list_is_empty(&p->line->pushes) && may_take_from_line(p));
}

/* Why no further request may wait here, or NULL. */
static const struct relay_cause *why_full(const struct pool *p)
{
	if (p->kind == POOL_SUBSCRIPTIONS &&
	    p->queued + pool_leaving(p) >= p->origin->max_subscriptions)
		return &relay_cause_SUBSCRIPTIONS_FULL;
	return p->server->destination->queued >= p->origin->max_queue ? &relay_cause_QUEUE_FULL
								      : NULL;
}

void pool_enqueue(struct pool *p, struct exchange *x)
{
	const struct relay_cause *full = why_full(p);
	x->context.pool = p;
	if (full) {
		exchange_on_up_failed(x, full, 0, NULL);
		return;
	}
	struct waiting_line *line = x->context.is_bound ? &p->bound : p->line;
	bool is_ahead_of_need = exchange_is_push(x) && x->pushed.claims == 0;
	list_append(is_ahead_of_need ? &line->pushes : &line->requests, &x->waiting);
	p->in_line += !x->context.is_bound;
	p->server->queued++;
	p->server->destination->queued++;
	if (p->queued++ == 0)
		pool_pace_queue_began(p);
}

/* It may leave for a connection of another server than it was given to. */
void pool_unqueue(struct pool *p, struct exchange *x)
{
	struct server *s = p->server;
	ensure(p->queued > 0 && s->queued > 0 && s->destination->queued > 0);
	p->in_line -= !x->context.is_bound;
	s->queued--;
	s->destination->queued--;
	if (--p->queued == 0)
		pool_pace_queue_ended(p);
	list_remove(&x->waiting);
}

/* The first of a list that can be sent now, and its connection. A retry that waits for a fresh connection keeps
 * nobody waiting. */
static struct exchange *first_to_send(struct pool *p, struct list *queue, struct origin_conn **c)
{
	uint32_t looks = most_looks(p);
	if (list_is_empty(&p->usable))
		return NULL;
	list_for_each(queue, x, struct exchange, waiting)
	{
		if (!may_take(p, x)) {
			if (--looks == 0)
				return NULL;
			continue;
		}
		*c = pool_conn_with_room(p, x);
		if (*c)
			return x;
		if (!x->needs_fresh)
			return NULL;
	}
	return NULL;
}

/* The older of the two that can be sent now, one bound to this server and one that any may serve. */
static struct exchange *older_to_send(
    struct pool *p, struct list *bound, struct list *line, struct origin_conn **c)
{
	struct origin_conn *other = NULL;
	struct exchange *own = first_to_send(p, bound, c);
	struct exchange *first = may_take_from_line(p) ? first_to_take(p, line) : NULL;
	if (!first || (own && own->timing.waits_since <= first->timing.waits_since))
		return own;
	struct exchange *common = first_to_send(p, line, &other);
	if (!common)
		return own;
	*c = other;
	return common;
}

struct exchange *pool_next_to_send(struct pool *p, struct origin_conn **c)
{
	if (list_is_empty(&p->usable) || !server_has_room(p->server))
		return NULL;
	struct exchange *x = older_to_send(p, &p->bound.requests, &p->line->requests, c);
	if (x)
		return x;
	return older_to_send(p, &p->bound.pushes, &p->line->pushes, c);
}

static void take_given(struct pool *p, struct list *from, struct list *waiting)
{
	list_for_each(from, x, struct exchange, waiting)
	{
		if (x->context.pool != p)
			continue;
		list_remove(&x->waiting);
		list_append(waiting, &x->waiting);
	}
}

void pool_take_waiting(struct pool *p, struct list *waiting)
{
	if (p->queued == 0)
		return;
	list_splice(waiting, &p->bound.requests);
	take_given(p, &p->line->requests, waiting);
	list_splice(waiting, &p->bound.pushes);
	take_given(p, &p->line->pushes, waiting);
}
