/* SPDX-License-Identifier: MIT */
/*
 * Passes an origin's promises to the relay, which asks the policy, and limits how many are refused:
 * each refusal is a RST_STREAM, and an origin that receives too many treats us as an attacker.
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"

/* A route whose promises exceeded reset-rate uses connections without push for this long. */
#define PUSH_OFF_USEC (60 * USEC_PER_SEC)

/* ---- refused promises are loud ---- */

/* After so long without a refusal the next one begins a burst, and is logged. */
#define BURST_GAP_USEC (10 * USEC_PER_SEC)

/* In forward mode the host that was asked for. */
static const char *place_of(const struct origin_conn *c)
{
	const struct origin_server *s = c->pool->server;
	return s->origin->is_dynamic ? s->conf->text : c->pool->conf->server_text;
}

void origin_promise_refused(const struct exchange *parent, const struct policy_reason *reason)
{
	struct origin_conn *c = origin_conn_of(parent);
	if (!c || !relay_reason_is_limit(reason))
		return;
	struct origin_promises *p = &c->promises;
	usec now = c->origins->env->relay->now;
	bool is_new =
	    p->refused == 0 || p->refused_for != reason || now - p->refused_at >= BURST_GAP_USEC;
	p->refused++;
	p->refused_at = now;
	p->refused_for = reason;
	if (is_new)
		observe_log_fault(c->origins->env->observe, OBSERVE_WARN, reason->code, now,
		    "origin %s (%s): promises are refused: %s: %s %s %llu refused on this "
		    "connection so far",
		    c->pool->conf->name, place_of(c), reason->code, reason->sentence,
		    reason->advice, (unsigned long long)p->refused);
}

/* The limit that refused the last promise; else it was policy's decision. */
static const char *last_reason(const struct origin_conn *c)
{
	return c->promises.refused_for ? c->promises.refused_for->code : "dropped by policy";
}

/* The refusals of one dynamic destination do not end the pushes of others. */
static void suspend_route_push(struct origin_conn *c, const struct conf_route *route)
{
	struct origins *u = c->origins;
	struct observe_counters *counters = u->env->observe->counters;
	struct origin *o = c->pool->server->origin;
	usec now = u->env->relay->now;
	size_t index = (size_t)(route - u->env->conf->routes);
	usec *until = o->is_dynamic ? &o->push_off_until : &u->push_off_until[index];
	bool is_new = *until <= now;
	*until = now + PUSH_OFF_USEC;
	if (index < OBSERVE_PLACES && !o->is_dynamic)
		counters->push_off_until[index] = *until;
	if (!is_new)
		return;
	counters->push_off_routes++;
	observe_log(u->env->observe, OBSERVE_WARN,
	    "origin %s (%s): push is off for route %s for %u s: %s: one connection had more "
	    "refusals than reset-rate = %u a second or promise-refusals = %u a minute (%llu by "
	    "limits so far, the last one: %s)",
	    c->pool->conf->name, place_of(c), route->name, (unsigned)(PUSH_OFF_USEC / USEC_PER_SEC),
	    policy_reason_RESET_BUDGET.code, u->env->conf->server.reset_rate,
	    u->env->conf->server.promise_refusals, (unsigned long long)c->promises.refused,
	    last_reason(c));
}

bool origin_push_is_off(const struct origin *o, const struct conf_route *route)
{
	const struct origins *all = o->origins;
	usec until =
	    o->is_dynamic ? o->push_off_until : all->push_off_until[route - all->env->conf->routes];
	return o->conf->push == CONF_PUSH_AUTO && until > all->env->relay->now;
}

static void count_withdrawn(const struct origin_conn *c, int change)
{
	uint32_t index = c->pool->conf->index;
	if (index < OBSERVE_PLACES)
		c->origins->env->observe->counters->push_off_connections_open[index] +=
		    (uint64_t)(int64_t)change;
}

/* Turns push off on this connection. Its exchanges go on; new requests use other connections. */
static void withdraw_push(struct origin_conn *c)
{
	struct worker_env *env = c->origins->env;
	c->promises.are_off = true;
	origin_conn_retire(c);
	session_refuse_pushes(c->session, relay_origin_clock(env->relay));
	env->observe->counters->push_off_connections++;
	count_withdrawn(c, 1);
	observe_log(env->observe, OBSERVE_WARN,
	    "origin %s (%s): push is off on this connection until it ends: more than "
	    "promise-refusals = %u promises a minute were refused (the last one: %s)",
	    c->pool->conf->name, place_of(c), env->conf->server.promise_refusals, last_reason(c));
}

void origin_promises_ended(const struct origin_conn *c)
{
	if (c->promises.are_off)
		count_withdrawn(c, -1);
}

static void charge_reset(struct origin_conn *c, struct exchange *parent)
{
	const struct conf_server *s = &c->origins->env->conf->server;
	usec now = c->origins->env->relay->now;
	/* The refusals of one subscription must not end the pushes of the route's other clients. */
	bool is_shared = c->pool->kind != POOL_SUBSCRIPTIONS;
	if (c->promises.are_off)
		/* until the origin acknowledges ENABLE_PUSH=0 the session itself refuses and counts */
		return;
	const struct rate resets = {s->reset_rate, s->reset_rate};
	bool is_often = !bucket_take(&c->promises.resets, &resets, 1, now);
	/* promise-refusals is a number per minute */
	const struct rate refusals = {s->promise_refusals, s->promise_refusals * 60};
	bool is_flood = !bucket_take(&c->promises.refusals, &refusals, 60, now);
	if (is_shared && (is_often || is_flood))
		suspend_route_push(c, parent->place.route);
	if (!is_flood)
		return;
	withdraw_push(c);
	if (!is_shared) /* without pushes a subscription waits for nothing: its client may begin anew */
		exchange_abort(parent, &relay_cause_PUSH_OFF, "promise-refusals");
}

/* The exchange of the parent has ended, mostly because its client has reset it while the promise was on
 * its way: dropped, counted and logged, but no exchange, client or route is known any more. */
static void drop_orphan(const struct origin_conn *c, const struct http_head *promised,
    const struct policy_reason *reason)
{
	const struct worker_env *env = c->origins->env;
	struct observe_counters *counters = env->observe->counters;
	counters->pushes_offered++;
	counters->pushes_dropped++;
	counters->push[POLICY_RELAYED][POLICY_DROP][policy_reason_position(reason)]++;
	const struct observe_push push = {
	    .source = POLICY_RELAYED, .verdict = {.action = POLICY_DROP, .reason = reason}};
	const struct observe_exchange line = {
	    .started_wall = clock_wall(),
	    .weight = observe_weight(env->observe, 0, true),
	    .origin = {.name = c->pool->conf->name},
	    .request = {.method = promised->method,
		.scheme = promised->scheme,
		.authority = promised->authority,
		.path = promised->path},
	    .response.first_byte = USEC_NEVER,
	    .ending.outcome = OBSERVE_REFUSED,
	    .push = &push,
	};
	observe_access_log(env->observe, &line);
}

/* A malformed promise, which the session has refused already: a fault of the origin, and an offer that
 * was dropped. The resource is not known. */
static void report_malformed(
    struct origin_conn *c, const struct session_event *e, struct exchange *parent)
{
	static const struct http_head unknown;
	WORKER_COUNT(c->origins->env, peer_faults_up, 1);
	origin_log_fault(c, e->fault->name, e->reason ? e->reason : e->fault->text);
	if (!parent) {
		drop_orphan(c, &unknown, &policy_reason_MALFORMED);
		return;
	}
	const struct policy_offer offer = {.source = POLICY_RELAYED,
	    .promised = &unknown,
	    .parent = parent->request,
	    .client = parent->facts.client};
	const struct policy_verdict dropped = {
	    .action = POLICY_DROP, .reason = &policy_reason_MALFORMED};
	parent->relay->ops->offer_decided(parent->relay->context, parent, &offer, dropped);
}

void origin_promise(struct origin_conn *c, struct session_event *e)
{
	struct leg *parent_leg = e->user;
	ensure(session_can(c->session, SESSION_TAKES_PUSHES));
	bool is_orphan = !parent_leg && e->head;
	if (is_orphan) {
		drop_orphan(c, e->head, &policy_reason_PARENT_GONE);
		if (e->promised)
			session_reset(c->session, e->promised, SESSION_CANCEL);
		http_head_free(e->head);
		return;
	}
	if (!e->promised) {
		report_malformed(c, e, parent_leg ? parent_leg->exchange : NULL);
		http_head_free(e->head);
		if (parent_leg)
			charge_reset(c, parent_leg->exchange);
		return;
	}
	ensure(parent_leg != NULL);
	struct exchange *parent = parent_leg->exchange;
	const struct leg leg = {
	    .ops = &origin_leg_ops, .carrier = c, .stream = e->promised, .budget = &c->budget};
	struct exchange *push = exchange_on_promise(parent, &leg, e->head);
	if (!push) {
		charge_reset(c, parent);
		return;
	}
	origin_attempt_of(push)->hop = c->hop;
	c->origins->ops->adopted(c->pool->server, push);
	list_append(&c->legs, &push->up.link);
	session_set_user(e->promised, &push->up);
}

/* ---- forward mode ---- */

bool origin_covers(const struct exchange *parent, struct slice host)
{
	struct origin_conn *c = origin_conn_of(parent);
	/* uncovered: a promise comes with its connection */
	if (!c || !c->net)
		return false;
	if (!c->promises.hosts)
		c->promises.hosts = memory_new(struct promised_hosts);
	struct promised_hosts *p = c->promises.hosts;
	uint64_t hash = hash_bytes(c->origins->env->seed, host.ptr, host.len);
	for (uint32_t i = 0; i < p->count; i++)
		if (p->hashes[i] == hash)
			return p->covered[i];
	if (p->count == LIMIT_PROMISED_HOSTS)
		return false;
	p->hashes[p->count] = hash;
	return p->covered[p->count++] = net_conn_peer_covers(c->net, host);
}
