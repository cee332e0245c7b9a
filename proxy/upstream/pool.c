/* SPDX-License-Identifier: MIT */
/*
 * The connections of one worker to one origin, and the queue of requests for them. Each origin has
 * four pools: requests whose pushes the client can use go over connections with ENABLE_PUSH=1, all
 * others over connections with ENABLE_PUSH=0, so that origins do not send pushes for nothing. Each
 * subscription gets a connection of its own in the third pool: that is retired as soon as the
 * request has been sent, so that it gets no other and closes after the last push. The fourth has the
 * tunnels; a connection that carries one request at a time is retired when that becomes a tunnel.
 *
 * A request goes onto the first connection that has room: few busy connections need fewer system
 * calls than many idle ones. Another connection is opened when requests queue up, or shortly before. How
 * many requests a connection carries at a time follows from the protocol. Until that is known one
 * connection is opened, and the requests wait for it.
 */
#include "proxy/upstream/private.h"

#include "proxy/base/ensure.h"

/* Of connections that multiplex. */
#define STREAMS_ASSUMED 100u
#define REQUEST_ROOM_WANTED 16u

/* Stream ids end at 2^31 - 1 (RFC 9113 5.1.1): a connection is retired before that. */
#define REQUESTS_MAX 1000000000u

static bool multiplexes(const struct pool *p)
{
	return (p->known->capabilities & SESSION_MULTIPLEXES) != 0 && !pool_needs_http1(p);
}

/* Concurrent requests assumed for a connection that is not ready yet. */
static uint32_t streams_assumed(const struct pool *p)
{
	if (!p->known->protocol)
		return UINT32_MAX;
	return multiplexes(p) && p->kind != POOL_SUBSCRIPTIONS ? STREAMS_ASSUMED : 1;
}

/* When fewer requests than this can start at once, another connection is opened ahead of need. Where
 * each carries one request, that would be to open one for each request in advance. */
static uint32_t room_wanted(const struct pool *p)
{
	return multiplexes(p) && p->kind != POOL_SUBSCRIPTIONS ? REQUEST_ROOM_WANTED : 0;
}

static void name_addresses(struct pool *p)
{
	const struct conf_origin *o = p->origin;
	if (o->kind == CONF_ORIGIN_DEMO)
		snprintf(p->addresses[0], sizeof(p->addresses[0]), "demo");
	for (size_t i = 0; i < o->address_count; i++)
		net_address_format(&o->addresses[i], p->addresses[i], sizeof(p->addresses[i]));
}

static void may_grow_again(struct wheel_node *node, usec now)
{
	struct pool *p = container_of(node, struct pool, grow_timer);
	(void)now;
	worker_now(p->upstream->env);
	if (pool_is_waiting(p))
		pool_serve(p);
}

void pool_init(struct pool *p, struct upstream *upstream, const struct conf_origin *origin,
    struct origin_known *known, enum pool_kind kind)
{
	*p = (struct pool){.upstream = upstream, .origin = origin, .known = known, .kind = kind};
	p->requests_most = kind == POOL_SUBSCRIPTIONS ? 1 : REQUESTS_MAX;
	bool push = kind == POOL_PUSH || kind == POOL_SUBSCRIPTIONS;
	p->plans = session_plans_for_origin(upstream->env->protocols, origin, push);
	list_init(&p->conns);
	list_init(&p->usable);
	list_init(&p->queue);
	list_init(&p->push_queue);
	wheel_node_init(&p->grow_timer, may_grow_again);
	pool_pace_init(p);
	name_addresses(p);
}

const char *pool_address(const struct pool *p, uint32_t address_index)
{
	return p->addresses[address_index % (p->origin->address_count + !p->origin->address_count)];
}

void pool_fini(struct pool *p)
{
	ensure(!pool_is_waiting(p));
	wheel_forget(worker_wheel(p->upstream->env), &p->grow_timer);
	pool_pace_fini(p);
	list_for_each(&p->conns, c, struct origin_conn, link)
	    origin_conn_kill(c, &relay_cause_DRAINED);
}

void pool_shutdown(struct pool *p)
{
	list_for_each(&p->conns, c, struct origin_conn, link)
	{
		if (c->is_open)
			origin_conn_terminate(c, SESSION_NO_ERROR, (struct slice){0});
		else
			origin_conn_kill(c, &relay_cause_DRAINED);
	}
}

/* ---- connections ---- */

void pool_conn_opened(struct pool *p, struct origin_conn *c)
{
	list_append(&p->conns, &c->link);
	p->count++;
	p->connecting++;
	p->was_used = true;
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
	p->failures = 0;
	pool_make_usable(p, c);
}

void pool_conn_retired(struct pool *p, struct origin_conn *c, bool was_ready)
{
	ensure(p->count > 0);
	p->count--;
	pool_make_unusable(p, c);
	if (was_ready)
		return;
	ensure(p->connecting > 0);
	p->connecting--;
}

static bool may_open(const struct pool *p);

/* A retry needs a connection on which its first attempt cannot have failed. If that ended because the
 * origin had closed it while it was idle, the other idle ones may end the same way. */
static bool is_fresh(const struct pool *p, const struct origin_conn *c)
{
	return c->requests == 0 || session_can(c->session, SESSION_MULTIPLEXES) || !may_open(p);
}

/* The first connection with room; the one on which x has failed before only if no other has room. */
static struct origin_conn *conn_with_room(struct pool *p, const struct exchange *x)
{
	struct origin_conn *last_choice = NULL;
	if (!pool_pace_allows(p, x))
		return NULL;
	list_for_each(&p->usable, c, struct origin_conn, usable)
	{
		if (!origin_conn_has_room(c) || (exchange_was_retried(x) && !is_fresh(p, c)))
			continue;
		if (c != x->context.avoid)
			return c;
		last_choice = c;
	}
	return last_choice;
}

/* How many requests all connections together can start, counted up to `enough`. */
static uint32_t request_room_of(struct pool *p, uint32_t enough)
{
	uint32_t room = 0;
	list_for_each(&p->usable, c, struct origin_conn, usable)
	{
		if (origin_conn_has_room(c))
			room += session_request_room(c->session);
		if (room >= enough)
			return enough;
	}
	return room;
}

/* Retired connections, which stay open for their last exchanges. */
static uint32_t leaving(const struct pool *p)
{
	uint32_t n = 0;
	list_for_each(&p->conns, c, struct origin_conn, link) n += c->is_closing;
	return n;
}

/* How many connections that are not retired there may be. */
static uint32_t most_connections(const struct pool *p)
{
	if (p->kind ==
	    POOL_TUNNELS) /* as many as there may be tunnels: it opens them as they come */
		return p->origin->max_tunnels;
	if (p->known->protocol && !multiplexes(p))
		return p->origin->max_http1_connections;
	if (p->kind != POOL_SUBSCRIPTIONS)
		return p->origin->max_connections;
	uint32_t most = p->origin->max_subscriptions, taken = leaving(p);
	return most > taken ? most - taken : 0;
}

/* After a failed connect no further connection is opened for this long if others work. */
#define GROW_PAUSE_USEC USEC_PER_SEC

static bool is_pausing(const struct pool *p)
{
	return p->count > 0 && p->upstream->env->relay->now < p->grow_after;
}

static bool may_open(const struct pool *p)
{
	return p->count < most_connections(p) && !is_pausing(p);
}

static struct exchange *first_in_queue(const struct pool *p)
{
	struct exchange *x = list_first(&p->queue, struct exchange, waiting);
	return x ? x : list_first(&p->push_queue, struct exchange, waiting);
}

static void grow(struct pool *p)
{
	uint32_t most = pool_pace_bound(p, first_in_queue(p), most_connections(p));
	uint32_t wanted = room_wanted(p);
	if (is_pausing(p))
		return;
	while (p->count < most && p->queued > (uint64_t)p->connecting * streams_assumed(p))
		origin_conn_open(p);
	if (p->kind == POOL_SUBSCRIPTIONS) /* none in advance: each is for one request */
		return;
	if (p->count < most && p->connecting == 0 && request_room_of(p, wanted) < wanted)
		origin_conn_open(p);
	while (p->count < most && p->connecting == 0 && p->was_used &&
	       p->count <= p->origin->spare_connections)
		origin_conn_open(p);
}

/* At most max-connections may be retired at a time, so that clients which keep their exchanges open
 * cannot multiply the connections. */
bool pool_may_replace(const struct pool *p)
{
	return leaving(p) < p->origin->max_connections;
}

/* ---- the queue ---- */

static void unqueue(struct pool *p, struct exchange *x)
{
	ensure(p->queued > 0);
	p->queued--;
	if (p->queued == 0)
		pool_pace_queue_ended(p);
	x->timing.queued += p->upstream->env->relay->now - x->timing.waits_since;
	list_remove(&x->waiting);
}

/* How much of its time in the queue x waited for this connection to open. */
static usec time_connecting(const struct origin_conn *c, const struct exchange *x)
{
	usec since = x->timing.waits_since > c->opened ? x->timing.waits_since : c->opened;
	return c->ready > since ? c->ready - since : 0;
}

/* The connection did not take the request (origin_conn_send). */
static void fail_unsent(struct exchange *x, const struct relay_cause *cause)
{
	bool needs_other = cause == &relay_cause_NEEDS_HTTP2;
	exchange_on_up_failed(
	    x, cause, 0, needs_other ? "gRPC needs HTTP/2, and the origin speaks HTTP/1.1" : NULL);
}

/* The first that can be sent now, and its connection. A retry that waits for a fresh connection keeps
 * nobody waiting. */
static struct exchange *next_to_send(struct pool *p, struct origin_conn **c)
{
	list_for_each(&p->queue, x, struct exchange, waiting)
	{
		*c = conn_with_room(p, x);
		if (*c)
			return x;
		if (!exchange_was_retried(x) || list_is_empty(&p->usable))
			return NULL;
	}
	struct exchange *push = list_first(&p->push_queue, struct exchange, waiting);
	*c = push ? conn_with_room(p, push) : NULL;
	return *c ? push : NULL;
}

void pool_serve(struct pool *p)
{
	struct exchange *x;
	struct origin_conn *c;
	pool_pace_update(p);
	while ((x = next_to_send(p, &c))) {
		unqueue(p, x);
		p->pace.sent++;
		x->timing.connecting += time_connecting(c, x);
		const struct relay_cause *refusal = origin_conn_send(c, x);
		if (refusal)
			fail_unsent(x, refusal);
	}
	if (pool_is_waiting(p))
		grow(p);
}

/* Why no further request may wait here, or NULL. */
static const struct relay_cause *why_full(const struct pool *p)
{
	if (p->kind == POOL_SUBSCRIPTIONS && p->queued + leaving(p) >= p->origin->max_subscriptions)
		return &relay_cause_SUBSCRIPTIONS_FULL;
	return p->queued >= p->origin->max_queue ? &relay_cause_QUEUE_FULL : NULL;
}

static void enqueue(struct pool *p, struct exchange *x)
{
	const struct relay_cause *full = why_full(p);
	x->context.pool = p;
	if (full) {
		exchange_on_up_failed(x, full, 0, NULL);
		return;
	}
	bool is_ahead_of_need = exchange_is_push(x) && x->pushed.claims == 0;
	list_append(is_ahead_of_need ? &p->push_queue : &p->queue, &x->waiting);
	if (p->queued++ == 0)
		pool_pace_queue_began(p);
}

void pool_dispatch(struct pool *p, struct exchange *x)
{
	if (x->tunnel.is_asked && !pool_count_tunnel(p, x))
		return;
	struct exchange *before = first_in_queue(p);
	bool is_next = !before || exchange_was_retried(before) || exchange_is_push(before);
	struct origin_conn *c = is_next ? conn_with_room(p, x) : NULL;
	x->context.pool = p;
	if (!c) {
		enqueue(p, x);
		if (pool_is_waiting(p))
			grow(p);
		return;
	}
	const struct relay_cause *refusal = origin_conn_send(c, x);
	if (refusal)
		fail_unsent(x, refusal);
	else if (session_request_room(c->session) < room_wanted(p))
		grow(p);
}

void pool_undispatch(struct exchange *x)
{
	if (!exchange_is_queued(x)) { /* x->waiting links a push into its client's list */
		list_remove(&x->waiting);
		return;
	}
	if (list_is_linked(&x->waiting))
		unqueue(x->context.pool, x);
}

/* The queued exchanges fail only after every address of the origin was tried. Several connections to
 * one address may fail, and one connection may be reported twice: by its session and by its
 * transport. The address counts as failed once. */
void pool_failed(struct pool *p, const struct origin_conn *c, const struct relay_cause *cause,
    const char *detail)
{
	if (c->address_index == p->next_address) {
		p->failures++;
		p->next_address++;
	}
	bool has_more_addresses =
	    p->origin->address_count > 0 && p->failures % p->origin->address_count != 0;
	bool has_others = p->connecting > 0;
	list_for_each(&p->conns, other, struct origin_conn, link) has_others =
	    has_others || (other->is_ready && !other->is_closing);
	if (has_others) {
		p->grow_after = p->upstream->env->relay->now + GROW_PAUSE_USEC;
		wheel_set(worker_wheel(p->upstream->env), &p->grow_timer, p->grow_after);
		pool_serve(p); /* what waited for a fresh connection takes any now */
		return;
	}
	if (!pool_is_waiting(p) || p->upstream->is_closed)
		return;
	if (has_more_addresses) {
		origin_conn_open(p);
		return;
	}
	/* Exchanges that are retried come back to the end of the queue: count instead of emptying. */
	for (uint32_t left = p->queued; left > 0 && pool_is_waiting(p); left--) {
		struct exchange *x = first_in_queue(p);
		unqueue(p, x);
		exchange_on_up_failed(x, cause, 0, detail);
	}
}

/* ---- the protocol ---- */

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
	struct exchange *x;
	while ((x = first_in_queue(from))) {
		if (--from->queued == 0)
			pool_pace_queue_ended(from);
		list_remove(&x->waiting);
		x->pushes.is_subscription = false;
		enqueue(to, x);
	}
}

void pool_conn_began(struct pool *from, struct pool *plain, struct origin_conn *c)
{
	if (pool_needs_http1(from))
		return; /* which says nothing of the protocol that requests use */
	from->known->protocol = c->plan->protocol;
	from->known->capabilities = c->session->ops->capabilities;
	if (session_can(c->session, SESSION_TAKES_PUSHES) || from == plain ||
	    from->kind == POOL_TUNNELS || c->is_closing)
		return;
	move_conn(from, plain, c);
	move_queue(from, plain);
	if (plain->count > most_connections(plain))
		origin_conn_retire(c);
}
