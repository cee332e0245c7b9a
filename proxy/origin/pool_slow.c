/* SPDX-License-Identifier: MIT */
/*
 * Requests whose body has not wholly come, over connections that carry one request at a time: each of them holds its
 * connection for as long as its client likes. They take at most slow-share of what there is, and wait in a line of their
 * own for it, so that no other request ever waits for them. With its last byte such a request becomes one like any other.
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"

bool pool_slow_is_bounded(const struct pool *p)
{
	return p->kind == POOL_PLAIN && p->known->protocol &&
	       (p->known->capabilities & SESSION_MULTIPLEXES) == 0;
}

static uint32_t share_of(const struct pool *p, uint32_t all)
{
	uint32_t share = (uint32_t)((uint64_t)all * p->conf->slow_share / 100);
	return share > 0 ? share : 1;
}

static uint32_t most_open(const struct pool *p)
{
	uint32_t all = pool_most_connections(p), requests = p->conf->max_requests;
	return share_of(p, requests > 0 && requests < all ? requests : all);
}

bool pool_slow_has_room(const struct pool *p)
{
	return p->slow.queued == 0 && p->slow.open < most_open(p);
}

uint32_t pool_slow_wanted(const struct pool *p)
{
	if (p->slow.queued == 0)
		return 0;
	uint32_t most = most_open(p), room = most > p->slow.open ? most - p->slow.open : 0;
	return p->slow.queued < room ? p->slow.queued : room;
}

void pool_slow_enqueue(struct pool *p, struct exchange *x)
{
	struct origin *d = p->server->origin;
	origin_attempt_of(x)->pool = p;
	if (d->queued - d->fetches_queued >= p->conf->max_queue ||
	    d->slow_queued >= share_of(p, p->conf->max_queue)) {
		exchange_on_up_failed(x, &relay_cause_QUEUE_FULL, 0, NULL);
		return;
	}
	x->upload_wait = UPLOAD_IS_SLOW;
	list_append(&p->slow.waiting, &x->waiting);
	p->slow.queued++;
	p->server->queued++;
	d->queued++;
	d->slow_queued++;
}

bool pool_slow_defers(struct pool *p, struct exchange *x)
{
	bool is_apart = x->upload_wait == UPLOAD_IS_SLOW;
	if (is_apart || !pool_slow_applies(p, x) || pool_slow_has_room(p))
		return false;
	origin_unqueue(x);
	pool_take_over(p, x);
	pool_slow_enqueue(p, x);
	return true;
}

struct exchange *pool_slow_first(const struct pool *p)
{
	struct exchange *x = list_first(&p->slow.waiting, struct exchange, waiting);
	return x && p->slow.open < most_open(p) ? x : NULL;
}

struct exchange *pool_slow_next(struct pool *p, struct origin_conn **c)
{
	struct exchange *x = pool_slow_first(p);
	if (!x || !origin_server_has_room(p->server))
		return NULL;
	*c = pool_conn_with_room(p, x);
	return *c ? x : NULL;
}

void pool_slow_began(struct origin_conn *c)
{
	c->carries_slow = true;
	c->pool->slow.open++;
}

void pool_slow_ended(struct origin_conn *c)
{
	ensure(c->carries_slow && c->pool->slow.open > 0);
	c->carries_slow = false;
	c->pool->slow.open--;
}
