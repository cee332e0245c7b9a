/* SPDX-License-Identifier: MIT */
/*
 * Which server of a destination gets a request, and what becomes of the requests that wait when a server joins,
 * leaves or dies.
 */
#include "proxy/upstream/on_demand.h"
#include "proxy/upstream/upstream_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"

/* ---- the choice ---- */

static bool may_be_chosen(const struct server *s)
{
	return !s->is_leaving && !s->conf->is_down;
}

/* Backups serve what waits for others only when they are used at all. */
static void mark_takers(struct destination *d, bool has_primary)
{
	for (size_t i = 0; i < d->member_count; i++) {
		struct server *s = container_of(d->members[i], struct server, member);
		s->takes_any = s->member.is_usable && !(s->member.is_backup && has_primary);
	}
}

static void collect_members(struct destination *d)
{
	size_t count = 0;
	bool has_primary = false;
	list_for_each(&d->servers, s, struct server, link) count += may_be_chosen(s);
	d->members = memory_resize(d->members, count + 1, sizeof(struct balance_member *));
	d->member_count = 0;
	list_for_each(&d->servers, s, struct server, link)
	{
		s->member.is_usable = health_state(s) == SERVER_UP;
		s->member.is_late = s->is_slow;
		has_primary = has_primary ||
			      (may_be_chosen(s) && s->member.is_usable && !s->member.is_backup);
		if (may_be_chosen(s))
			d->members[d->member_count++] = &s->member;
	}
	mark_takers(d, has_primary);
	balance_set(d->balance, d->members, d->member_count, d->upstream->env->relay->now);
	d->is_stale = false;
}

static struct server *server_of(struct balance_member *m)
{
	return m ? container_of(m, struct server, member) : NULL;
}

/* An offer of our own goes where its page came from. */
static uint32_t preferred_for(const struct destination *d, const struct exchange *x)
{
	const struct exchange *parent = exchange_is_push(x) ? x->pushed.parent : NULL;
	const struct server *s = parent ? attempt_of(parent)->server : NULL;
	return s && s->destination == d ? s->member.id : 0;
}

/* For too many promises that were refused (origin_promise.c). */
static bool is_push_off(const struct destination *d, const struct conf_route *route)
{
	const struct upstream *u = d->upstream;
	usec until =
	    d->is_on_demand ? d->push_off_until : u->push_off_until[route - u->env->conf->routes];
	return d->origin->push == CONF_PUSH_AUTO && until > u->env->relay->now;
}

/* Until the first connection has begun, it may have pushes. Without pushes the pools do not differ, and a
 * subscription is a request like any other. */
static enum pool_kind kind_of(const struct server *s, struct exchange *x)
{
	const struct conf_route *route = x->place.route;
	bool has_pushes = !s->known.protocol || (s->known.capabilities & SESSION_TAKES_PUSHES) != 0;
	if (route->subscription)
		x->pushes.is_subscription =
		    has_pushes && offer_is_subscription(x, attempt_of(x)->wants_pushes);
	if (x->tunnel.is_asked)
		return POOL_TUNNELS;
	if (x->pushes.is_subscription)
		return POOL_SUBSCRIPTIONS;
	bool may_push =
	    attempt_of(x)->wants_pushes && has_pushes && !is_push_off(s->destination, route);
	return may_push ? POOL_PUSH : POOL_PLAIN;
}

static bool may_send_soon(struct server *s, struct exchange *x)
{
	return server_may_send_soon(s, kind_of(s, x), x);
}

/*
 * x would wait at the server that the balance has chosen. The others are looked through for one that has nothing to
 * wait for, unless the first one that waits has found none.
 */
static struct server *one_that_sends_soon(
    struct destination *d, struct server *chosen, struct exchange *x)
{
	enum pool_kind kind = kind_of(chosen, x);
	const struct pool *first = list_first(&d->waiting_pools[kind], struct pool, waiting);
	if (first && first->connecting == 0 && !server_may_send_soon(first->server, kind, x))
		return chosen;
	for (size_t i = 0; i < d->member_count; i++) {
		struct server *s = server_of(d->members[d->next_look++ % d->member_count]);
		if (balance_prefers(&s->member) &&
		    s->member.is_backup == chosen->member.is_backup && !upstream_was_tried(x, s) &&
		    may_send_soon(s, x))
			return s;
	}
	return chosen;
}

static RARE struct server *choose_of_several(struct destination *d, struct exchange *x)
{
	struct balance_question question = {
	    .preferred = preferred_for(d, x),
	    .tried = attempt_of(x)->tried,
	    .tried_count = attempt_of(x)->tried_count,
	};
	balance_ask(d, x, &question);
	struct server *s =
	    server_of(balance_choose(d->balance, &question, d->upstream->env->relay->now));
	bool may_move = s && !question.has_hash && question.affinity != s->member.key &&
			question.preferred != s->member.id && balance_prefers(&s->member);
	attempt_of(x)->is_bound = s && (!may_move || attempt_of(x)->tried_count > 0);
	bool is_idle = s && s->member.outstanding == 0;
	if (may_move && !is_idle && !may_send_soon(s, x))
		s = one_that_sends_soon(d, s, x);
	return s;
}

/* A destination of one server is tried again: on another connection. */
static struct server *choose(struct destination *d, struct exchange *x)
{
	if (d->is_stale)
		collect_members(d);
	if (d->is_on_demand && !destination_admits(d, x))
		return NULL;
	if (d->member_count > 1)
		return choose_of_several(d, x);
	return d->member_count == 1 ? server_of(d->members[0]) : NULL;
}

static void give(struct exchange *x, struct server *s)
{
	ensure(!attempt_of(x)->server);
	attempt_of(x)->server = s;
	balance_count(s->destination->balance, &s->member, 1);
}

/* The log line may still name the server, which may be freed before that is written. */
static void keep_address(struct exchange *x)
{
	struct upstream_hop *hop = &attempt_of(x)->hop;
	hop->address = exchange_keep_text(x, hop->address);
}

static void take_back(struct exchange *x)
{
	struct server *s = attempt_of(x)->server;
	server_tunnel_left(s, x);
	attempt_of(x)->server = NULL;
	attempt_of(x)->pool = NULL;
	balance_count(s->destination->balance, &s->member, -1);
	server_check_gone(s);
}

/* A request has left the server: there may be room for one on any of its connections, and it has less to do than
 * another server. Without max-requests and others, the connection that carried the request knows of its room. */
static void serve_next(struct server *s)
{
	const struct destination *d = s->destination;
	bool is_known = d->origin->max_requests == 0 && d->member_count < 2;
	if (is_known || d->queued == 0 || d->upstream->is_closed || s->is_serving)
		return;
	s->is_serving = true;
	server_serve(s);
	s->is_serving = false;
}

static void note_tried(struct exchange *x)
{
	ensure(attempt_of(x)->tried_count < EXCHANGE_SERVERS_MOST);
	attempt_of(x)->tried[attempt_of(x)->tried_count++] = attempt_of(x)->server->member.id;
	keep_address(x);
}

/* ---- requests ---- */

static void send_to(struct server *s, struct exchange *x)
{
	enum pool_kind kind = kind_of(s, x);
	give(x, s);
	/* Their numbers are bounded for each server; on demand, the address was judged. */
	if (kind == POOL_SUBSCRIPTIONS || kind == POOL_TUNNELS || s->destination->is_on_demand)
		attempt_of(x)->is_bound = true;
	pool_dispatch(server_pool(s, kind), x);
}

static void wait_for_name(struct destination *d, struct exchange *x)
{
	if (d->queued >= d->origin->max_queue) {
		exchange_on_up_failed(x, &relay_cause_QUEUE_FULL, 0, NULL);
		return;
	}
	d->queued++;
	list_append(&d->nameless, &x->waiting);
}

static void fail_as_noted(struct exchange *x)
{
	const struct upstream_failure *failure = &attempt_of(x)->failure;
	exchange_on_up_failed(x, failure->cause, failure->code, failure->detail);
}

/* There is no server for x. */
static void fail(struct destination *d, struct exchange *x)
{
	const char *why = destination_name_error(d);
	destination_note_queued(x);
	if (d->is_on_demand && attempt_of(x)->failure.cause)
		fail_as_noted(x);
	else if (d->member_count > 0)
		exchange_on_up_failed(
		    x, &relay_cause_UP_UNREACHABLE, 0, "no server is left to try");
	else if (why)
		exchange_on_up_failed(x,
		    names_error_is_late(why) ? &relay_cause_UP_NAME_LATE : &relay_cause_UP_NAME, 0,
		    why);
	else
		exchange_on_up_failed(
		    x, &relay_cause_UP_UNREACHABLE, 0, "all servers are configured as down");
}

void destination_dispatch(struct destination *d, struct exchange *x)
{
	struct server *before = attempt_of(x)->server; /* it was sent there */
	if (before) {
		if (attempt_of(x)->tried_count < EXCHANGE_SERVERS_MOST &&
		    !attempt_of(x)->may_return)
			note_tried(x);
		attempt_of(x)->may_return = false;
		take_back(x);
	}
	struct server *s = choose(d, x);
	if (s)
		send_to(s, x);
	else if (destination_is_nameless(d))
		wait_for_name(d, x);
	else
		fail(d, x);
	if (before)
		serve_next(before);
}

void destination_undispatch(struct destination *d, struct exchange *x)
{
	destination_note_queued(x);
	if (attempt_of(x)->pool) {
		pool_unqueue(attempt_of(x)->pool, x);
		return;
	}
	d->queued--;
	list_remove(&x->waiting);
}

void destination_exchange_ended(struct exchange *x)
{
	struct server *s = attempt_of(x)->server;
	if (!s)
		return;
	take_back(x);
	serve_next(s);
}

void destination_adopt_push(struct server *s, struct exchange *push)
{
	give(push, s);
	if (s->destination->is_on_demand)
		on_demand_adopt(s->destination, push);
}

/* ---- another server ---- */

/* A server that was connected to and cannot be spoken to says more of what is wrong than one that is not there:
 * that is what is told when none is left, whichever was tried last. */
static void note_failure(struct exchange *x, const struct relay_cause *cause, const char *detail)
{
	bool was_reached =
	    cause == &relay_cause_UP_TLS || cause == &relay_cause_UP_CERTIFICATE ||
	    cause == &relay_cause_UP_ALERT || cause == &relay_cause_UP_NO_ALPN ||
	    cause == &relay_cause_UP_NOT_HTTP2 || cause == &relay_cause_UP_FAULT ||
	    cause == &relay_cause_NO_TUNNEL || cause == &relay_cause_UP_PROXY_REFUSED ||
	    cause == &relay_cause_UP_PROXY_USER || cause == &relay_cause_UP_PROXY_ANSWER;
	if (was_reached)
		attempt_note_failure(x, cause, 0, detail);
	if (cause == &relay_cause_OWN_ADDRESS) /* found when it was connected to */
		destination_note_refused(x, attempt_of(x)->server->address);
}

static void fail_with(struct exchange *x, const struct relay_cause *cause, const char *detail)
{
	destination_note_queued(x);
	if (attempt_of(x)->failure.cause)
		fail_as_noted(x);
	else
		exchange_on_up_failed(x, cause, 0, detail);
}

void destination_try_another(
    struct destination *d, struct exchange *x, const struct relay_cause *cause, const char *detail)
{
	if (attempt_of(x)->tried_count < EXCHANGE_SERVERS_MOST)
		note_tried(x);
	if (d->is_stale)
		collect_members(d);
	bool was_only = d->member_count == 1 && d->members[0] == &attempt_of(x)->server->member;
	bool may_more = attempt_of(x)->tried_count < EXCHANGE_SERVERS_MOST && !was_only;
	struct server *s = may_more ? choose(d, x) : NULL;
	note_failure(x, cause, detail);
	if (!s) {
		fail_with(x, cause, detail);
		return;
	}
	x->moves++;
	WORKER_COUNT(d->upstream->env, retries_unprocessed, 1);
	take_back(x);
	send_to(s, x);
}

/* ---- changes ---- */

void destination_changed(struct destination *d)
{
	struct worker_env *env = d->upstream->env;
	d->is_stale = true;
	if (!d->upstream->is_closed)
		wheel_set(worker_wheel(env), &d->change_timer, env->relay->now);
}

/* Those that wait for this server are given to others, if others are up. */
static void empty_server(struct destination *d, struct server *s)
{
	struct list waiting;
	list_init(&waiting);
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		if (s->pools[kind])
			pool_take_waiting(s->pools[kind], &waiting);
	while (!list_is_empty(&waiting)) {
		struct exchange *x = list_first(&waiting, struct exchange, waiting);
		pool_unqueue(attempt_of(x)->pool, x);
		struct server *other = choose(d, x);
		take_back(x);
		if (other)
			send_to(other, x);
		else
			fail(d, x);
	}
}

static void serve_nameless(struct destination *d)
{
	struct list waiting;
	list_init(&waiting);
	list_splice(&waiting, &d->nameless);
	while (!list_is_empty(&waiting)) {
		struct exchange *x = list_first(&waiting, struct exchange, waiting);
		list_remove(&x->waiting);
		d->queued--;
		struct server *s = choose(d, x);
		if (s)
			send_to(s, x);
		else
			fail(d, x);
	}
}

/* A server that has joined, or is back, has nothing to do: else it would wait for the next request, and so would those
 * that others have no room for. */
static void rouse(struct destination *d, struct server *s)
{
	for (unsigned kind = 0; kind < POOL_KINDS && s->member.outstanding == 0; kind++) {
		struct pool *p = list_first(&d->waiting_pools[kind], struct pool, waiting);
		struct exchange *x =
		    p ? list_first(&p->shared.requests, struct exchange, waiting) : NULL;
		if (!x || s->member.is_backup != attempt_of(x)->server->member.is_backup ||
		    may_send_soon(attempt_of(x)->server, x) || !may_send_soon(s, x))
			continue;
		pool_unqueue(attempt_of(x)->pool, x);
		take_back(x);
		send_to(s, x);
	}
}

void destination_give_out_again(struct wheel_node *node, usec now)
{
	struct destination *d = container_of(node, struct destination, change_timer);
	(void)now;
	worker_now(d->upstream->env);
	if (d->is_stale)
		collect_members(d);
	if (d->member_count > 0 || !destination_is_nameless(d))
		serve_nameless(d);
	list_for_each(&d->servers, s, struct server, link)
	{
		bool is_in_use = balance_prefers(&s->member) && may_be_chosen(s);
		if (!is_in_use && s->queued > 0)
			empty_server(d, s);
		if (d->queued > 0)
			server_serve(s);
		if (is_in_use && s->member.outstanding == 0 && d->queued > 0)
			rouse(d, s);
	}
}
