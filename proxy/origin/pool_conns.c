/* SPDX-License-Identifier: MIT */
/*
 * Which connections a pool has: those that open, that may get requests, and that have only their last exchanges left;
 * how many there may be; and the first one with room for a request. Opens and closes none.
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"

/* Of connections that multiplex. */
#define STREAMS_ASSUMED 100u

bool pool_multiplexes(const struct pool *p)
{
	return (p->known->capabilities & SESSION_MULTIPLEXES) != 0 && !pool_needs_http1(p);
}

uint32_t pool_streams_assumed(const struct pool *p)
{
	if (!p->known->protocol)
		return UINT32_MAX;
	return pool_multiplexes(p) && p->kind != POOL_SUBSCRIPTIONS ? STREAMS_ASSUMED : 1;
}

/* ---- slow connects ---- */

/* RFC 8305 8: the recommended delay between two attempts. */
#define RACE_DELAY_USEC (250 * USEC_PER_MSEC)

static void set_slow(struct origin_server *s, bool is_slow)
{
	if (s->is_slow == is_slow)
		return;
	s->is_slow = is_slow;
	s->origin->origins->ops->changed(s);
}

/* RFC 8305 5: the first connect goes on, and whichever is ready first gets the requests. */
static void connect_is_slow(struct wheel_node *node, usec now)
{
	struct pool *p = container_of(node, struct pool, race_timer);
	(void)now;
	worker_now(p->origins->env);
	if (p->connecting > 0 && !pool_has_ready(p))
		set_slow(p->server, true);
}

static void begin_race(struct pool *p)
{
	struct worker_env *env = p->origins->env;
	if (p->server->origin->has_several && p->race_timer.deadline == USEC_NEVER)
		wheel_set(worker_wheel(env), &p->race_timer, env->relay->now + RACE_DELAY_USEC);
}

/* However the slow connect ends: else the server would never be used again. */
static void look_whether_still_slow(struct origin_server *s)
{
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		if (s->pools[kind] && s->pools[kind]->connecting > 0)
			return;
	set_slow(s, false);
}

/* ---- the life of a connection ---- */

void pool_conns_init(struct pool *p)
{
	list_init(&p->conns);
	list_init(&p->usable);
	wheel_node_init(&p->race_timer, connect_is_slow);
}

void pool_conn_opened(struct pool *p, struct origin_conn *c)
{
	struct origin_server *s = p->server;
	list_append(&p->origins->conns, &c->all);
	list_append(&p->conns, &c->link);
	p->count++;
	p->connecting++;
	s->connections++;
	if (!p->was_used || p->count == p->connecting)
		begin_race(p);
	p->was_used = true;
	if (s->origin->is_dynamic)
		p->origins->ops->opened(s);
}

void pool_conn_gone(struct pool *p, struct origin_conn *c)
{
	struct origin_server *s = p->server;
	ensure(s->connections > 0 && p->leaving > 0);
	list_remove(&c->all);
	list_remove(&c->link);
	p->leaving--;
	s->connections--;
	if (s->is_leaving || s->origin->is_dynamic)
		p->origins->ops->closed(s);
}

void pool_make_usable(struct pool *p, struct origin_conn *c)
{
	ensure(!list_is_linked(&c->usable));
	if (session_can(c->session, SESSION_MULTIPLEXES))
		list_append(&p->usable, &c->usable);
	else
		list_prepend(&p->usable, &c->usable);
	p->usable_count++;
}

void pool_make_unusable(struct pool *p, struct origin_conn *c)
{
	if (!list_is_linked(&c->usable))
		return;
	list_remove(&c->usable);
	p->usable_count--;
}

void pool_conn_ready(struct pool *p, struct origin_conn *c)
{
	ensure(p->connecting > 0);
	p->connecting--;
	if (p->kind == POOL_PUSH || p->kind == POOL_PLAIN) {
		p->known->streams = session_request_room(c->session);
		fetches_look_soon(p->server);
	}
	pool_make_usable(p, c);
	set_slow(p->server, false);
}

void origin_conn_retire(struct origin_conn *c)
{
	struct pool *p = c->pool;
	if (c->is_closing)
		return;
	c->is_closing = true;
	ensure(p->count > 0);
	p->count--;
	p->leaving++;
	pool_make_unusable(p, c);
	if (c->owner)
		map_remove(&p->owners, &c->owner->node);
	if (c->is_ready)
		return;
	ensure(p->connecting > 0);
	p->connecting--;
	look_whether_still_slow(p->server);
}

/* ---- how many ---- */

uint32_t pool_most_connections(const struct pool *p)
{
	if (p->kind ==
	    POOL_TUNNELS) /* as many as there may be tunnels: it opens them as they come */
		return p->conf->max_tunnels;
	if (p->known->protocol && !pool_multiplexes(p))
		return p->conf->max_http1_connections;
	if (p->kind != POOL_SUBSCRIPTIONS)
		return p->conf->max_connections;
	uint32_t most = p->conf->max_subscriptions;
	return most > p->leaving ? most - p->leaving : 0;
}

bool pool_is_pausing(const struct pool *p)
{
	return p->count > 0 && p->origins->env->relay->now < p->grow_after;
}

/* At most max-connections may be retired at a time, so that clients which keep their exchanges open
 * cannot multiply the connections. */
bool pool_may_replace(const struct pool *p)
{
	return p->leaving < p->conf->max_connections;
}

/* ---- one with room ---- */

bool origin_conn_has_room(const struct origin_conn *c)
{
	/* A connection that has used up its own budget gets no request; another one may have room. */
	return c->is_ready && !c->is_closing && c->transport == ORIGIN_TRANSPORT_OPEN &&
	       c->budget.used_bytes < c->budget.limit_bytes && session_request_room(c->session) > 0;
}

/* A request that failed with its connection needs one on which that cannot have happened. If it ended because
 * the origin had closed it while it was idle, the other idle ones may end the same way. */
static bool is_fresh(const struct pool *p, const struct origin_conn *c)
{
	bool may_open = p->count < pool_most_connections(p) && !pool_is_pausing(p);
	return c->requests == 0 || session_can(c->session, SESSION_MULTIPLEXES) || !may_open;
}

/* The first connection with room; the one on which x has failed before only if no other has room. */
struct origin_conn *pool_conn_with_room(struct pool *p, const struct exchange *x)
{
	struct origin_conn *last_choice = NULL;
	if (!pool_pace_allows(p, x))
		return NULL;
	list_for_each(&p->usable, c, struct origin_conn, usable)
	{
		if (!origin_conn_has_room(c) ||
		    (origin_attempt_of(x)->needs_fresh && !is_fresh(p, c)))
			continue;
		if (c->hop.connection != origin_attempt_of(x)->hop.connection)
			return c;
		last_choice = c;
	}
	return last_choice;
}
