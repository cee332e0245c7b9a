/* SPDX-License-Identifier: MIT */
/*
 * Which server of a destination gets a request, and what becomes of the requests that wait when a server joins,
 * leaves or dies.
 */
#include "proxy/upstream/destination.h"
#include "proxy/upstream/dynamic_destination.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/tracing/tracing.h"

/* ---- the choice ---- */

/* Backups serve what waits for others only when they are used at all. */
static void mark_takers(struct destination *d, bool has_primary)
{
	for (size_t i = 0; i < d->member_count; i++) {
		struct server *s = container_of(d->members[i], struct server, member);
		s->at.takes_any = s->member.is_usable && !(s->member.is_backup && has_primary);
	}
}

static void collect_members(struct destination *d)
{
	size_t count = 0;
	bool has_primary = false;
	list_for_each(&d->servers, s, struct server, link) count += server_may_be_chosen(s);
	d->members = memory_resize(d->members, count + 1, sizeof(struct balance_member *));
	d->member_count = 0;
	list_for_each(&d->servers, s, struct server, link)
	{
		s->member.is_usable = health_state(s) == SERVER_UP;
		s->member.is_late = s->at.is_slow;
		s->at.takes_any = false;
		has_primary = has_primary || (server_may_be_chosen(s) && s->member.is_usable &&
						 !s->member.is_backup);
		if (server_may_be_chosen(s))
			d->members[d->member_count++] = &s->member;
	}
	mark_takers(d, has_primary);
	d->origin.has_several = d->member_count > 1;
	balance_set(d->balance, d->members, d->member_count, d->upstream->env->relay->now);
	d->is_stale = false;
}

static struct server *server_of_member(struct balance_member *m)
{
	return m ? container_of(m, struct server, member) : NULL;
}

/* An offer of our own goes where its page came from. */
static struct balance_member *preferred_for(const struct destination *d, const struct exchange *x)
{
	const struct exchange *parent = exchange_is_push(x) ? x->pushed.parent : NULL;
	struct server *s = parent ? given_server(parent) : NULL;
	return s && s->destination == d ? &s->member : NULL;
}

/* Until the first connection has begun, it may have pushes. Without pushes the pools do not differ, and a
 * subscription is a request like any other. */
static enum pool_kind kind_of(const struct server *s, struct exchange *x)
{
	const struct conf_route *route = x->place.route;
	bool has_pushes =
	    !s->at.known.protocol || (s->at.known.capabilities & SESSION_TAKES_PUSHES) != 0;
	if (route->subscription)
		x->pushes.is_subscription =
		    has_pushes && offer_is_subscription(x, attempt_of(x)->wants_pushes);
	if (x->tunnel.is_asked)
		return POOL_TUNNELS;
	if (x->pushes.is_subscription)
		return POOL_SUBSCRIPTIONS;
	bool may_push =
	    attempt_of(x)->wants_pushes && has_pushes && !origin_push_is_off(s->at.origin, route);
	return may_push ? POOL_PUSH : POOL_PLAIN;
}

bool destination_was_tried(const struct exchange *x, const struct server *s)
{
	for (unsigned i = 0; i < attempt_of(x)->tried_count; i++)
		if (attempt_of(x)->tried[i] == s->member.id)
			return true;
	return s == given_server(x);
}

static bool may_send_soon(struct server *s, struct exchange *x)
{
	return origin_server_may_send_soon(&s->at, kind_of(s, x), x);
}

/*
 * x would wait at the server that the balance has chosen. The others are looked through for one that has nothing to
 * wait for, unless the first one that waits has found none.
 */
static struct server *one_that_sends_soon(
    struct destination *d, struct server *chosen, struct exchange *x)
{
	enum pool_kind kind = kind_of(chosen, x);
	const struct origin_server *first = origin_full_server(&d->origin, kind);
	if (first && !origin_server_may_send_soon(first, kind, x))
		return chosen;
	for (size_t i = 0; i < d->member_count; i++) {
		struct server *s = server_of_member(d->members[d->next_look++ % d->member_count]);
		if (balance_prefers(&s->member) &&
		    s->member.is_backup == chosen->member.is_backup &&
		    !destination_was_tried(x, s) && may_send_soon(s, x))
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
	    server_of_member(balance_choose(d->balance, &question, d->upstream->env->relay->now));
	bool may_move = s && !question.has_hash && question.affinity != s->member.key &&
			question.preferred != &s->member && balance_prefers(&s->member);
	attempt_of(x)->at.is_bound = s && (!may_move || attempt_of(x)->tried_count > 0);
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
	if (d->origin.is_dynamic && !destination_admits(d, x))
		return NULL;
	if (d->member_count > 1)
		return choose_of_several(d, x);
	return d->member_count == 1 ? server_of_member(d->members[0]) : NULL;
}

void destination_give(struct exchange *x, struct server *s)
{
	ensure(!given_server(x));
	attempt_of(x)->at.server = &s->at;
	s->at.requests++;
	balance_count(s->destination->balance, &s->member, 1);
}

/* The log line may still name the server, which may be freed before that is written. */
static void keep_address(struct exchange *x)
{
	struct origin_hop *hop = &attempt_of(x)->at.hop;
	hop->address = exchange_keep_text(x, hop->address);
}

static void take_back(struct exchange *x)
{
	struct server *s = given_server(x);
	origin_tunnel_left(x);
	origin_fetch_left(x);
	attempt_of(x)->at.server = NULL;
	attempt_of(x)->at.pool = NULL;
	s->at.requests--;
	balance_count(s->destination->balance, &s->member, -1);
	server_check_gone(s);
}

/* A request has left the server: there may be room for one on any of its connections, and it has less to do than
 * another server. Without max-requests and others, the connection that carried the request knows of its room. */
static void serve_next(struct server *s)
{
	const struct destination *d = s->destination;
	bool is_known = d->origin.conf->max_requests == 0 && d->member_count < 2;
	if (is_known || d->origin.queued == 0 || d->upstream->origins.is_closed || s->is_serving)
		return;
	s->is_serving = true;
	origin_server_serve(&s->at);
	s->is_serving = false;
}

static void note_tried(struct exchange *x)
{
	ensure(attempt_of(x)->tried_count < EXCHANGE_SERVERS_MOST);
	attempt_of(x)->tried[attempt_of(x)->tried_count++] = given_server(x)->member.id;
}

/* ---- requests ---- */

static void send_to(struct server *s, struct exchange *x)
{
	enum pool_kind kind = kind_of(s, x);
	destination_give(x, s);
	/* Their numbers are bounded for each server; the access rules allow this address of a dynamic destination. */
	if (kind == POOL_SUBSCRIPTIONS || kind == POOL_TUNNELS || s->destination->origin.is_dynamic)
		attempt_of(x)->at.is_bound = true;
	origin_server_send(&s->at, kind, x);
}

static void wait_for_name(struct destination *d, struct exchange *x)
{
	uint32_t queued = d->origin.queued - (origin_is_fetch(x) ? 0 : d->origin.fetches_queued);
	if (queued >= d->origin.conf->max_queue) {
		exchange_on_up_failed(x, &relay_cause_QUEUE_FULL, 0, NULL);
		return;
	}
	d->origin.queued++;
	fetching_waits(d, x);
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
	origin_note_queued(x);
	if (d->origin.is_dynamic && attempt_of(x)->failure.cause)
		fail_as_noted(x);
	else if (d->member_count > 0)
		exchange_on_up_failed(
		    x, &relay_cause_UP_UNREACHABLE, 0, "no server is left to try");
	else if (why)
		exchange_on_up_failed(x,
		    names_error_is_late(why) ? &relay_cause_UP_NAME_LATE : &relay_cause_UP_NAME, 0,
		    why);
	else
		exchange_on_up_failed(x, &relay_cause_UP_UNREACHABLE, 0,
		    d->ordered_count > 0 ? "all servers are out of use by command"
					 : "all servers are configured as down");
}

void destination_dispatch(struct destination *d, struct exchange *x)
{
	struct server *before = given_server(x); /* it was sent there */
	if (before) {
		if (attempt_of(x)->tried_count < EXCHANGE_SERVERS_MOST &&
		    !attempt_of(x)->at.may_return)
			note_tried(x);
		attempt_of(x)->at.may_return = false;
		keep_address(x);
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

void destination_exchange_ended(struct exchange *x)
{
	struct server *s = given_server(x);
	if (!s)
		return;
	take_back(x);
	serve_next(s);
}

/* ---- from one server to another ---- */

/*
 * A request is left to its server while the first connection there opens, and unless that server has more to do: else
 * the first connection with room, of a server that may be the slowest, would get all requests that wait. A server that
 * is not in use any more keeps none.
 */
bool destination_may_take(
    const struct origin_server *s, const struct origin_server *from, bool is_full)
{
	const struct balance_member *own = &server_above(s)->member,
				    *theirs = &server_above(from)->member;
	if (!balance_prefers(theirs) || from->is_leaving)
		return true;
	return is_full && (uint64_t)(own->outstanding + 1) * theirs->weight <=
			      (uint64_t)theirs->outstanding * own->weight;
}

void destination_took(struct origin_server *s, struct origin_server *from)
{
	struct balance *b = server_above(s)->destination->balance;
	balance_count(b, &server_above(from)->member, -1);
	balance_count(b, &server_above(s)->member, 1);
	server_check_gone(server_above(from));
}

static void fail_with(struct exchange *x, const struct relay_cause *cause, const char *detail)
{
	if (cause == &relay_cause_OWN_ADDRESS) /* found when it was connected to */
		destination_note_refused(x, given_server(x)->at.address);
	origin_note_queued(x);
	if (attempt_of(x)->failure.cause)
		fail_as_noted(x);
	else
		exchange_on_up_failed(x, cause, 0, detail);
}

void destination_try_another(struct origin_server *at, struct exchange *x,
    const struct relay_cause *cause, const char *detail)
{
	struct destination *d = server_above(at)->destination;
	if (tracing_record_of(x))
		tracing_attempt_unsent(d->upstream->env->tracing, x, at->address, cause);
	if (attempt_of(x)->tried_count < EXCHANGE_SERVERS_MOST)
		note_tried(x);
	if (d->is_stale)
		collect_members(d);
	bool was_only = d->member_count == 1 && d->members[0] == &given_server(x)->member;
	bool may_more = attempt_of(x)->tried_count < EXCHANGE_SERVERS_MOST && !was_only;
	struct server *s = may_more ? choose(d, x) : NULL;
	/* That a server was connected to and cannot be spoken to says more than that one is not there: it is told when none
	 * is left, whichever was tried last. */
	if (cause->was_reached)
		attempt_note_failure(x, cause, 0, detail);
	if (!s) {
		fail_with(x, cause, detail);
		return;
	}
	attempt_of(x)->moves++;
	WORKER_COUNT(d->upstream->env, retries_unprocessed, 1);
	take_back(x);
	send_to(s, x);
}

/* ---- changes ---- */

void destination_changed(struct destination *d)
{
	struct worker_env *env = d->upstream->env;
	d->is_stale = true;
	if (!d->upstream->origins.is_closed)
		wheel_set(worker_wheel(env), &d->change_timer, env->relay->now);
}

/* Those that wait for this server are given to others, if others are up. */
static void empty_server(struct destination *d, struct server *s)
{
	struct list waiting;
	list_init(&waiting);
	origin_server_take_waiting(&s->at, &waiting);
	while (!list_is_empty(&waiting)) {
		struct exchange *x = list_first(&waiting, struct exchange, waiting);
		origin_unqueue(x);
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
		d->origin.queued--;
		fetching_waits_not(d, x);
		struct server *s = choose(d, x);
		if (s)
			send_to(s, x);
		else
			fail(d, x);
	}
}

/* A server that has joined, or is back, has nothing to do: else it would wait for the next request, and so would those
 * that others have no room for. */
static void wake_idle(struct destination *d, struct server *s)
{
	for (unsigned kind = 0; kind < POOL_KINDS && s->member.outstanding == 0; kind++) {
		struct exchange *x = origin_first_waiting(&d->origin, kind);
		if (!x || s->member.is_backup != given_server(x)->member.is_backup ||
		    may_send_soon(given_server(x), x) || !may_send_soon(s, x))
			continue;
		origin_unqueue(x);
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
		bool is_in_use = balance_prefers(&s->member) && server_may_be_chosen(s);
		if (!is_in_use && s->at.queued > 0)
			empty_server(d, s);
		if (d->origin.queued > 0)
			origin_server_serve(&s->at);
		if (is_in_use && s->member.outstanding == 0 && d->origin.queued > 0)
			wake_idle(d, s);
	}
}
