/* SPDX-License-Identifier: MIT */
/*
 * Which requests a pool sends, and when it opens another connection.
 *
 * A request goes onto the first connection that has room: few busy connections need fewer system calls than many
 * idle ones. Another connection is opened when requests queue up, or shortly before. How many requests a
 * connection carries at a time follows from the protocol. Until that is known one connection is opened, and the
 * requests wait for it.
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#define REQUEST_ROOM_WANTED 16u /* of connections that multiplex */

/* Stream ids end at 2^31 - 1 (RFC 9113 5.1.1): a connection is retired before that. */
#define REQUESTS_MAX 1000000000u

/* When fewer requests than this can start at once, another connection is opened ahead of need. Where
 * each carries one request, that would be to open one for each request in advance. */
static uint32_t room_wanted(const struct pool *p)
{
	return pool_multiplexes(p) && p->kind != POOL_SUBSCRIPTIONS ? REQUEST_ROOM_WANTED : 0;
}

/* ---- life ---- */

static void try_again(struct pool *p)
{
	worker_now(p->origins->env);
	if (pool_is_waiting(p))
		pool_serve(p);
}

static void may_grow_again(struct wheel_node *node, usec now)
{
	(void)now;
	try_again(container_of(node, struct pool, grow_timer));
}

static void measurement_is_over(struct wheel_node *node, usec now)
{
	(void)now;
	try_again(container_of(node, struct pool, pace.timer));
}

static struct pool *pool_new(struct origin_server *server, enum pool_kind kind)
{
	struct pool *p = memory_new(struct pool);
	struct origin *o = server->origin;
	bool push = kind == POOL_PUSH || kind == POOL_SUBSCRIPTIONS;
	p->origins = o->origins;
	p->conf = o->conf;
	p->server = server;
	p->known = &server->known;
	p->plans = o->plans[push];
	p->tls = o->tls;
	p->kind = kind;
	p->requests_most = kind == POOL_SUBSCRIPTIONS ? 1 : REQUESTS_MAX;
	pool_conns_init(p);
	map_init(&p->owners);
	list_init(&p->bound.requests);
	list_init(&p->bound.pushes);
	list_init(&p->shared.requests);
	list_init(&p->shared.pushes);
	list_init(&p->waiting);
	list_init(&p->slow.waiting);
	wheel_node_init(&p->grow_timer, may_grow_again);
	wheel_node_init(&p->pace.timer, measurement_is_over);
	return p;
}

struct pool *origin_server_pool(struct origin_server *s, enum pool_kind kind)
{
	if (!s->pools[kind])
		s->pools[kind] = pool_new(s, kind);
	return s->pools[kind];
}

static void forget_timers(struct pool *p)
{
	struct wheel *wheel = worker_wheel(p->origins->env);
	wheel_forget(wheel, &p->grow_timer);
	wheel_forget(wheel, &p->race_timer);
	wheel_forget(wheel, &p->pace.timer);
}

void pool_close(struct pool *p)
{
	ensure(p->queued == 0 && p->slow.queued == 0);
	forget_timers(p);
	list_for_each(&p->conns, c, struct origin_conn, link)
	    origin_conn_kill(c, &relay_cause_DRAINED);
}

/* All are retired first: a request of one does not move to the next. */
void pool_lose(struct pool *p, const char *why)
{
	list_for_each(&p->conns, c, struct origin_conn, link) origin_conn_retire(c);
	list_for_each(&p->conns, c, struct origin_conn, link)
	{
		if (c->is_ready)
			origin_conn_lost(c, &relay_cause_UP_LOST, 0, why);
		else
			origin_conn_kill(c, &relay_cause_DRAINED);
	}
}

void pool_free(struct pool *p)
{
	ensure(list_is_empty(&p->conns) && p->queued == 0 && p->slow.queued == 0);
	forget_timers(p);
	map_fini(&p->owners);
	free(p);
}

void pool_retire(struct pool *p)
{
	list_for_each(&p->conns, c, struct origin_conn, link)
	{
		if (!c->is_open && list_is_empty(&c->legs)) {
			origin_conn_kill(c, &relay_cause_DRAINED);
			continue;
		}
		origin_conn_retire(c);
		if (c->net)
			net_conn_dirty(c->net);
	}
}

/* ---- connections ---- */

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

bool pool_may_send_soon(struct pool *p, const struct exchange *x)
{
	if (pool_slow_applies(p, x) && !pool_slow_has_room(p))
		return false;
	return p->count < pool_most_connections(p) ||
	       p->queued < (uint64_t)p->connecting * pool_streams_assumed(p) ||
	       pool_conn_with_room(p, x);
}

static void grow(struct pool *p)
{
	uint32_t most = pool_pace_bound(p, pool_first_waiting(p), pool_most_connections(p));
	uint32_t wanted = room_wanted(p), queued = p->queued + pool_slow_wanted(p);
	if (pool_is_pausing(p) || p->server->is_leaving || p->server->is_ordered_out ||
	    !origin_server_has_room(p->server))
		return;
	if (p->conf->is_private) {
		pool_private_grow(p);
		return;
	}
	while (p->count < most && queued > (uint64_t)p->connecting * pool_streams_assumed(p))
		origin_conn_open(p, NULL);
	if (p->kind == POOL_SUBSCRIPTIONS) /* none in advance: each is for one request */
		return;
	if (p->count < most && p->connecting == 0 && request_room_of(p, wanted) < wanted)
		origin_conn_open(p, NULL);
	while (p->count < most && p->connecting == 0 && p->was_used &&
	       p->count <= p->conf->spare_connections)
		origin_conn_open(p, NULL);
}

/* ---- requests ---- */

/* After a failed connect no further connection is opened for this long if others work. */
#define GROW_PAUSE_USEC USEC_PER_SEC

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

void pool_send_waiting(struct pool *p, struct exchange *x, struct origin_conn *c)
{
	origin_unqueue(x);
	pool_take_over(p, x);
	p->pace.sent++;
	origin_note_queued(x);
	x->timing.connecting += time_connecting(c, x);
	const struct relay_cause *refusal = origin_conn_send(c, x);
	if (refusal)
		fail_unsent(x, refusal);
}

static void serve_shared(struct pool *p)
{
	struct exchange *x;
	struct origin_conn *c;
	pool_pace_update(p);
	while (pool_is_waiting(p) && (x = pool_next_to_send(p, &c)))
		if (!pool_slow_defers(p, x))
			pool_send_waiting(p, x, c);
}

void pool_serve(struct pool *p)
{
	if (p->conf->is_private)
		pool_private_serve(p);
	else
		serve_shared(p);
	if (p->queued + p->slow.queued > 0)
		grow(p);
}

/* False: there are too many tunnels, and x has failed. */
static bool count_tunnel(struct origin_server *s, struct exchange *x)
{
	ensure(!x->tunnel.is_counted);
	if (!origin_server_may_tunnel(s)) {
		exchange_on_up_failed(x, &relay_cause_TUNNELS_FULL, 0, NULL);
		return false;
	}
	s->known.tunnels++;
	x->tunnel.is_counted = true;
	return true;
}

/* Nobody waits for a speculative load: it neither waits itself nor takes the last room. */
static bool takes_load(struct pool *p, struct exchange *x, bool has_room)
{
	return has_room && pool_may_send_soon(p, x) && server_spares_room(p->server);
}

void pool_dispatch(struct pool *p, struct exchange *x)
{
	origin_attempt_of(x)->pool = p;
	if (x->tunnel.is_asked && !count_tunnel(p->server, x))
		return;
	uint32_t most = p->conf->max_requests;
	bool is_slow = pool_slow_applies(p, x);
	bool has_room = (most == 0 || origin_server_in_flight(p->server) <= most) && /* with x */
			(!is_slow || pool_slow_has_room(p));
	struct exchange *before = p->queued > 0 ? pool_first_waiting(p) : NULL;
	bool is_next =
	    !before || origin_attempt_of(before)->needs_fresh || exchange_is_push(before);
	struct origin_conn *c = NULL;
	if (p->conf->is_private)
		c = has_room ? pool_private_idle(p, x) : NULL;
	else if (is_next && has_room)
		c = pool_conn_with_room(p, x);
	if (x->terms.is_speculative && !takes_load(p, x, has_room)) {
		exchange_on_up_failed(x, &relay_cause_SPECULATION_NO_ROOM, 0, NULL);
		return;
	}
	if (!c) {
		origin_attempt_of(x)->is_bound |= p->conf->is_private;
		(is_slow ? pool_slow_enqueue : pool_enqueue)(p, x);
		if (p->queued + p->slow.queued > 0)
			grow(p);
		return;
	}
	const struct relay_cause *refusal = origin_conn_send(c, x);
	if (refusal)
		fail_unsent(x, refusal);
	else if (session_request_room(c->session) < room_wanted(p))
		grow(p);
}

void pool_failed(
    struct pool *p, struct origin_conn *c, const struct relay_cause *cause, const char *detail)
{
	if (!c->has_failed) { /* it may be reported twice: by its session and by its transport */
		c->has_failed = true;
		p->origins->ops->connect_failed(p->server);
	}
	if (c->owner)
		pool_private_failed(c, cause, detail);
	if (p->count > 0) {
		p->grow_after = p->origins->env->relay->now + GROW_PAUSE_USEC;
		wheel_set(worker_wheel(p->origins->env), &p->grow_timer, p->grow_after);
		pool_serve(p); /* what waited for a fresh connection takes any now */
		return;
	}
	if (p->origins->is_closed)
		return;
	struct list waiting;
	list_init(&waiting);
	pool_take_waiting(p, &waiting);
	while (!list_is_empty(&waiting)) {
		struct exchange *x = list_first(&waiting, struct exchange, waiting);
		origin_unqueue(x);
		p->origins->ops->unreached(p->server, x, cause, detail);
	}
}

/* ---- the protocol has become known ---- */

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
		origin_unqueue(x);
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
