/* SPDX-License-Identifier: MIT */
/*
 * The connections of one worker to one server. Requests whose pushes the client can use go over connections with
 * ENABLE_PUSH=1, all others over connections with ENABLE_PUSH=0, so that origins do not send pushes for nothing.
 * Each subscription gets a connection of its own in the third pool: that is retired as soon as the request has
 * been sent, so that it gets no other and closes after the last push. The fourth has the tunnels; a connection
 * that carries one request at a time is retired when that becomes a tunnel.
 *
 * A request goes onto the first connection that has room: few busy connections need fewer system calls than many
 * idle ones. Another connection is opened when requests queue up, or shortly before. How many requests a
 * connection carries at a time follows from the protocol. Until that is known one connection is opened, and the
 * requests wait for it.
 */
#include "proxy/upstream/upstream_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

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

/* ---- life ---- */

static void may_grow_again(struct wheel_node *node, usec now)
{
	struct pool *p = container_of(node, struct pool, grow_timer);
	(void)now;
	worker_now(p->upstream->env);
	if (pool_is_waiting(p))
		pool_serve(p);
}

static bool has_ready(const struct pool *p)
{
	list_for_each(&p->conns, c, struct origin_conn, link)
	{
		if (c->is_ready && !c->is_closing)
			return true;
	}
	return false;
}

/* RFC 8305 5: the first connect goes on, and whichever is ready first gets the requests. */
static void connect_is_slow(struct wheel_node *node, usec now)
{
	struct pool *p = container_of(node, struct pool, race_timer);
	(void)now;
	worker_now(p->upstream->env);
	if (p->connecting == 0 || has_ready(p))
		return;
	p->server->is_slow = true;
	destination_changed(p->server->destination);
}

struct pool *pool_new(struct server *server, enum pool_kind kind)
{
	struct pool *p = memory_new(struct pool);
	struct destination *d = server->destination;
	bool push = kind == POOL_PUSH || kind == POOL_SUBSCRIPTIONS;
	p->upstream = d->upstream;
	p->origin = d->origin;
	p->server = server;
	p->known = &server->known;
	p->plans = d->plans[push];
	p->tls = d->tls;
	p->kind = kind;
	p->requests_most = kind == POOL_SUBSCRIPTIONS ? 1 : REQUESTS_MAX;
	list_init(&p->conns);
	list_init(&p->usable);
	list_init(&p->bound.requests);
	list_init(&p->bound.pushes);
	list_init(&p->shared.requests);
	list_init(&p->shared.pushes);
	list_init(&p->waiting);
	list_init(&p->slow.waiting);
	wheel_node_init(&p->grow_timer, may_grow_again);
	wheel_node_init(&p->race_timer, connect_is_slow);
	pool_pace_init(p);
	return p;
}

static void forget_timers(struct pool *p)
{
	struct wheel *wheel = worker_wheel(p->upstream->env);
	wheel_forget(wheel, &p->grow_timer);
	wheel_forget(wheel, &p->race_timer);
	pool_pace_fini(p);
}

void pool_close(struct pool *p)
{
	ensure(p->queued == 0 && p->slow.queued == 0);
	forget_timers(p);
	list_for_each(&p->conns, c, struct origin_conn, link)
	    origin_conn_kill(c, &relay_cause_DRAINED);
}

void pool_free(struct pool *p)
{
	ensure(list_is_empty(&p->conns) && p->queued == 0 && p->slow.queued == 0);
	forget_timers(p);
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

/* RFC 8305 8: the recommended delay between two attempts. */
#define RACE_DELAY_USEC (250 * USEC_PER_MSEC)

static void begin_race(struct pool *p)
{
	struct worker_env *env = p->upstream->env;
	if (p->server->destination->member_count > 1 && p->race_timer.deadline == USEC_NEVER)
		wheel_set(worker_wheel(env), &p->race_timer, env->relay->now + RACE_DELAY_USEC);
}

void pool_conn_opened(struct pool *p, struct origin_conn *c)
{
	list_append(&p->conns, &c->link);
	p->count++;
	p->connecting++;
	p->server->connections++;
	if (!p->was_used || p->count == p->connecting)
		begin_race(p);
	p->was_used = true;
}

void pool_conn_gone(struct pool *p, struct origin_conn *c)
{
	list_remove(&c->link);
	ensure(p->server->connections > 0);
	p->server->connections--;
	server_check_gone(p->server);
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

static void is_slow_no_more(struct server *s)
{
	if (!s->is_slow)
		return;
	s->is_slow = false;
	destination_changed(s->destination);
}

void pool_conn_ready(struct pool *p, struct origin_conn *c)
{
	ensure(p->connecting > 0);
	p->connecting--;
	pool_make_usable(p, c);
	is_slow_no_more(p->server);
}

/* However the slow connect ends: else the server would never be used again. */
static void look_whether_still_slow(struct server *s)
{
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		if (s->pools[kind] && s->pools[kind]->connecting > 0)
			return;
	is_slow_no_more(s);
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
	look_whether_still_slow(p->server);
}

static bool may_open(const struct pool *p);

/* A request that failed with its connection needs one on which that cannot have happened. If it ended because
 * the origin had closed it while it was idle, the other idle ones may end the same way. */
static bool is_fresh(const struct pool *p, const struct origin_conn *c)
{
	return c->requests == 0 || session_can(c->session, SESSION_MULTIPLEXES) || !may_open(p);
}

/* The first connection with room; the one on which x has failed before only if no other has room. */
struct origin_conn *pool_conn_with_room(struct pool *p, const struct exchange *x)
{
	struct origin_conn *last_choice = NULL;
	if (!pool_pace_allows(p, x))
		return NULL;
	list_for_each(&p->usable, c, struct origin_conn, usable)
	{
		if (!origin_conn_has_room(c) || (x->needs_fresh && !is_fresh(p, c)))
			continue;
		if (c->hop.connection != attempt_of(x)->hop.connection)
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
uint32_t pool_leaving(const struct pool *p)
{
	uint32_t n = 0;
	list_for_each(&p->conns, c, struct origin_conn, link) n += c->is_closing;
	return n;
}

/* How many connections that are not retired there may be. */
uint32_t pool_most_connections(const struct pool *p)
{
	if (p->kind ==
	    POOL_TUNNELS) /* as many as there may be tunnels: it opens them as they come */
		return p->origin->max_tunnels;
	if (p->known->protocol && !multiplexes(p))
		return p->origin->max_http1_connections;
	if (p->kind != POOL_SUBSCRIPTIONS)
		return p->origin->max_connections;
	uint32_t most = p->origin->max_subscriptions, taken = pool_leaving(p);
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
	return p->count < pool_most_connections(p) && !is_pausing(p);
}

bool pool_may_send_soon(struct pool *p, const struct exchange *x)
{
	if (pool_slow_applies(p, x) && !pool_slow_has_room(p))
		return false;
	return p->count < pool_most_connections(p) ||
	       p->queued < (uint64_t)p->connecting * streams_assumed(p) ||
	       pool_conn_with_room(p, x);
}

static void grow(struct pool *p)
{
	uint32_t most = pool_pace_bound(p, pool_first_waiting(p), pool_most_connections(p));
	uint32_t wanted = room_wanted(p), queued = p->queued + pool_slow_wanted(p);
	if (is_pausing(p) || p->server->is_leaving || !server_has_room(p->server))
		return;
	while (p->count < most && queued > (uint64_t)p->connecting * streams_assumed(p))
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
	return pool_leaving(p) < p->origin->max_connections;
}

/* ---- requests ---- */

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

void pool_serve(struct pool *p)
{
	struct exchange *x;
	struct origin_conn *c;
	pool_pace_update(p);
	while (pool_is_waiting(p) && (x = pool_next_to_send(p, &c))) {
		if (pool_slow_defers(p, x))
			continue;
		pool_unqueue(attempt_of(x)->pool, x);
		pool_take_over(p, x);
		p->pace.sent++;
		destination_note_queued(x);
		x->timing.connecting += time_connecting(c, x);
		const struct relay_cause *refusal = origin_conn_send(c, x);
		if (refusal)
			fail_unsent(x, refusal);
	}
	if (p->queued + p->slow.queued > 0)
		grow(p);
}

void pool_dispatch(struct pool *p, struct exchange *x)
{
	attempt_of(x)->pool = p;
	if (x->tunnel.is_asked && !server_count_tunnel(p->server, x))
		return;
	uint32_t most = p->origin->max_requests;
	bool is_slow = pool_slow_applies(p, x);
	bool has_room = (most == 0 || server_in_flight(p->server) <= most) && /* with x */
			(!is_slow || pool_slow_has_room(p));
	struct exchange *before = p->queued > 0 ? pool_first_waiting(p) : NULL;
	bool is_next = !before || before->needs_fresh || exchange_is_push(before);
	struct origin_conn *c = is_next && has_room ? pool_conn_with_room(p, x) : NULL;
	if (!c) {
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

/* Several connections to a server may fail, and one may be reported twice: by its session and by its transport. */
static void report_failure(struct origin_conn *c)
{
	if (c->has_failed)
		return;
	c->has_failed = true;
	health_report(c->pool->server, HEALTH_CONNECT_FAILED);
}

void pool_failed(
    struct pool *p, struct origin_conn *c, const struct relay_cause *cause, const char *detail)
{
	report_failure(c);
	if (p->connecting > 0 || has_ready(p)) {
		p->grow_after = p->upstream->env->relay->now + GROW_PAUSE_USEC;
		wheel_set(worker_wheel(p->upstream->env), &p->grow_timer, p->grow_after);
		pool_serve(p); /* what waited for a fresh connection takes any now */
		return;
	}
	if (p->upstream->is_closed)
		return;
	struct list waiting;
	list_init(&waiting);
	pool_take_waiting(p, &waiting);
	while (!list_is_empty(&waiting)) {
		struct exchange *x = list_first(&waiting, struct exchange, waiting);
		pool_unqueue(p, x);
		destination_try_another(p->server->destination, x, cause, detail);
	}
}
