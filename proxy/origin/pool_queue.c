/* SPDX-License-Identifier: MIT */
/*
 * The requests that wait for a pool: those that are bound to its server, and those that a pool of another server may
 * take over when it has room first. The destination has a list of the pools in which such requests wait, so that
 * one is found without a search.
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"

/* So many other pools are looked at when this one has room and nothing waits for it. */
#define POOLS_LOOKED_AT 8u

static struct exchange *first_of(const struct list *l)
{
	return list_first(l, struct exchange, waiting);
}

static bool is_empty(const struct waiting_line *line)
{
	return list_is_empty(&line->requests) && list_is_empty(&line->pushes);
}

static struct list *waiting_pools(const struct pool *p)
{
	return &p->server->origin->waiting_pools[p->kind];
}

/* ---- what this pool may take over ---- */

/* A server that is not in use, or a backup that need not be, gets what was given to it alone. */
static bool may_take_any(const struct pool *p)
{
	const struct origin_server *s = p->server;
	return s->takes_any && !s->is_leaving;
}

/* A pool of another server whose requests this one may take over; each look begins behind the last one. */
static struct pool *find_other(struct pool *p)
{
	struct list *pools = waiting_pools(p);
	if (!may_take_any(p))
		return NULL;
	for (unsigned i = 0; i < POOLS_LOOKED_AT && !list_is_empty(pools); i++) {
		struct pool *other = list_first(pools, struct pool, waiting);
		list_remove(&other->waiting);
		list_append(pools, &other->waiting);
		if (other != p &&
		    p->origins->ops->may_take(p->server, other->server, pool_has_ready(other)))
			return other;
	}
	return NULL;
}

/* ---- in and out ---- */

/* Why x may not wait here, or NULL. Fetches take no place from requests. */
static const struct relay_cause *why_full(const struct pool *p, const struct exchange *x)
{
	const struct origin *o = p->server->origin;
	uint32_t queued = o->queued - (fetch_state(x) == ORIGIN_FETCH_OPEN ? 0 : o->fetches_queued);
	if (p->kind == POOL_SUBSCRIPTIONS && p->queued + p->leaving >= p->conf->max_subscriptions)
		return &relay_cause_SUBSCRIPTIONS_FULL;
	return queued >= p->conf->max_queue ? &relay_cause_QUEUE_FULL : NULL;
}

void pool_enqueue(struct pool *p, struct exchange *x)
{
	const struct relay_cause *full = why_full(p, x);
	origin_attempt_of(x)->pool = p;
	if (full) {
		exchange_on_up_failed(x, full, 0, NULL);
		return;
	}
	struct waiting_line *line = origin_attempt_of(x)->is_bound ? &p->bound : &p->shared;
	bool is_ahead_of_need = exchange_is_push(x) && x->pushed.claims == 0;
	list_append(is_ahead_of_need ? &line->pushes : &line->requests, &x->waiting);
	if (!is_empty(&p->shared) && !list_is_linked(&p->waiting))
		list_append(waiting_pools(p), &p->waiting);
	p->server->queued++;
	p->server->origin->queued++;
	p->server->origin->fetches_queued += fetch_state(x) == ORIGIN_FETCH_OPEN;
	if (p->queued++ == 0)
		pool_pace_queue_began(p);
}

void origin_unqueue(struct exchange *x)
{
	struct pool *p = origin_attempt_of(x)->pool;
	struct origin_server *s = p->server;
	bool is_slow = x->upload_wait == UPLOAD_IS_SLOW;
	if (fetch_state(x) == ORIGIN_FETCH_WAITS) {
		fetch_unqueue(x);
		return;
	}
	ensure(
	    (is_slow ? p->slow.queued : p->queued) > 0 && s->queued > 0 && s->origin->queued > 0);
	list_remove(&x->waiting);
	s->queued--;
	s->origin->queued--;
	s->origin->fetches_queued -= fetch_state(x) == ORIGIN_FETCH_OPEN;
	if (is_slow) {
		x->upload_wait = UPLOAD_WAITS_NOT;
		p->slow.queued--;
		s->origin->slow_queued--;
		return;
	}
	if (--p->queued == 0)
		pool_pace_queue_ended(p);
	if (is_empty(&p->shared))
		list_remove(&p->waiting);
}

void pool_take_waiting(struct pool *p, struct list *waiting)
{
	list_splice(waiting, &p->bound.requests);
	list_splice(waiting, &p->shared.requests);
	list_splice(waiting, &p->bound.pushes);
	list_splice(waiting, &p->shared.pushes);
	list_splice(waiting, &p->slow.waiting);
	list_for_each(&p->conns, c, struct origin_conn, link)
	{
		if (c->owner)
			list_splice(waiting, &c->owner->waiting);
	}
	list_remove(&p->waiting);
}

/* ---- the next one ---- */

bool pool_is_waiting(const struct pool *p)
{
	return p->queued + p->slow.queued > 0 ||
	       (!list_is_empty(waiting_pools(p)) && may_take_any(p));
}

struct exchange *pool_first_waiting(const struct pool *p)
{
	struct exchange *own = first_of(&p->bound.requests);
	struct exchange *shared = first_of(&p->shared.requests);
	if (own && shared)
		return own->timing.waits_since <= shared->timing.waits_since ? own : shared;
	if (own || shared)
		return own ? own : shared;
	own = first_of(&p->bound.pushes);
	return own ? own : first_of(&p->shared.pushes);
}

/* The first of a list that can be sent now, and its connection. A retry that waits for a fresh connection keeps
 * no other request waiting. */
static struct exchange *first_to_send(struct pool *p, struct list *queue, struct origin_conn **c)
{
	list_for_each(queue, x, struct exchange, waiting)
	{
		*c = pool_conn_with_room(p, x);
		if (*c)
			return x;
		if (!origin_attempt_of(x)->needs_fresh)
			return NULL;
	}
	return NULL;
}

/* The older of the two that can be sent now, one that is bound to this server and one that is not. */
static struct exchange *older_to_send(
    struct pool *p, struct list *bound, struct list *shared, struct origin_conn **c)
{
	struct origin_conn *other = NULL;
	struct exchange *own = first_to_send(p, bound, c);
	struct exchange *first = first_of(shared);
	if (!first || (own && own->timing.waits_since <= first->timing.waits_since))
		return own;
	struct exchange *second = first_to_send(p, shared, &other);
	if (!second)
		return own;
	*c = other;
	return second;
}

static struct exchange *next_of_lines(struct pool *p, struct origin_conn **c)
{
	if (list_is_empty(&p->usable) || !origin_server_has_room(p->server))
		return NULL;
	struct exchange *x = older_to_send(p, &p->bound.requests, &p->shared.requests, c);
	struct pool *other = x ? NULL : find_other(p);
	if (!x && other)
		x = first_to_send(p, &other->shared.requests, c);
	if (!x)
		x = older_to_send(p, &p->bound.pushes, &p->shared.pushes, c);
	if (!x && other)
		x = first_to_send(p, &other->shared.pushes, c);
	return x;
}

struct exchange *pool_next_to_send(struct pool *p, struct origin_conn **c)
{
	struct origin_conn *other = NULL;
	struct exchange *x = next_of_lines(p, c);
	struct exchange *slow = pool_slow_next(p, &other);
	if (!slow || (x && x->timing.waits_since <= slow->timing.waits_since))
		return x;
	*c = other;
	return slow;
}

void pool_take_over(struct pool *p, struct exchange *x)
{
	origin_attempt_of(x)->pool = p;
	if (origin_attempt_of(x)->server == p->server)
		return;
	struct origin_server *from = origin_attempt_of(x)->server;
	from->requests--;
	p->server->requests++;
	if (fetch_state(x) == ORIGIN_FETCH_OPEN)
		fetch_moves(from, p->server);
	origin_attempt_of(x)->server = p->server;
	p->origins->ops->took(p->server, from);
}
