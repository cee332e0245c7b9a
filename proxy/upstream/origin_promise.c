/* SPDX-License-Identifier: MIT */
/*
 * Passes an origin's promises to the relay, which asks the policy, and limits how many are refused:
 * each refusal is a RST_STREAM, and an origin that receives too many treats us as an attacker.
 */
#include "proxy/upstream/private.h"

#include "proxy/base/ensure.h"

/* A route whose promises exceeded reset-rate uses connections without push for this long. */
#define PUSH_OFF_USEC (60 * USEC_PER_SEC)

static void suspend_route_push(struct upstream *u, const struct conf_route *route)
{
	usec now = u->env->relay->now;
	usec *until = &u->push_off_until[route - u->env->conf->routes];
	if (*until <= now)
		observe_log(u->env->observe, OBSERVE_WARN,
		    "route %s: %s: its pushes are refused so often that it uses connections "
		    "without push for a while",
		    route->name, policy_reason_RESET_BUDGET.code);
	*until = now + PUSH_OFF_USEC;
}

/* Turns push off on this connection. Its exchanges go on; new requests use other connections. */
static void withdraw_push(struct origin_conn *c)
{
	struct worker_env *env = c->upstream->env;
	c->push_was_withdrawn = true;
	origin_conn_retire(c);
	session_refuse_pushes(c->session, relay_origin_clock(env->relay));
	observe_log(env->observe, OBSERVE_WARN,
	    "origin %s: too many refused promises: push is off on this connection",
	    c->pool->origin->name);
}

static void charge_reset(struct origin_conn *c, const struct exchange *parent)
{
	struct upstream *u = c->upstream;
	const struct conf_server *s = &u->env->conf->server;
	usec now = u->env->relay->now;
	if (c->push_was_withdrawn)
		/* until the origin acknowledges ENABLE_PUSH=0 the session itself refuses and counts */
		return;
	const struct rate resets = {s->reset_rate, s->reset_rate};
	if (!bucket_take(&c->resets, &resets, 1, now))
		suspend_route_push(u, parent->context.route);
	/* promise-refusals is a number per minute */
	const struct rate refusals = {s->promise_refusals, s->promise_refusals * 60};
	bool is_flood = !bucket_take(&c->refusals, &refusals, 60, now);
	if (is_flood) {
		suspend_route_push(u, parent->context.route);
		withdraw_push(c);
	}
}

/* A malformed promise, which the session has refused already: a fault of the origin, and an offer that
 * was dropped. Nobody knows of which resource. */
static void report_malformed(
    struct origin_conn *c, const struct session_event *e, struct exchange *parent)
{
	static const struct http_head unknown;
	WORKER_COUNT(c->upstream->env, peer_faults_up, 1);
	origin_log_fault(c, e->fault->name, e->reason ? e->reason : e->fault->text);
	if (!parent)
		return;
	const struct policy_offer offer = {.source = POLICY_RELAYED,
	    .promised = &unknown,
	    .parent = parent->request,
	    .client = parent->context.client};
	const struct policy_verdict dropped = {
	    .action = POLICY_DROP, .reason = &policy_reason_MALFORMED};
	parent->relay->ops->offer_decided(parent->relay->context, parent, &offer, dropped);
}

void origin_promise(struct origin_conn *c, struct session_event *e)
{
	struct leg *parent_leg = e->user;
	ensure(session_can(c->session, SESSION_TAKES_PUSHES));
	if (!e->promised) {
		report_malformed(c, e, parent_leg ? parent_leg->exchange : NULL);
		http_head_free(e->head);
		if (parent_leg)
			charge_reset(c, parent_leg->exchange);
		return;
	}
	if (!parent_leg) { /* the parent's exchange has ended */
		session_reset(c->session, e->promised, SESSION_CANCEL);
		http_head_free(e->head);
		return;
	}
	struct exchange *parent = parent_leg->exchange;
	const struct leg leg = {
	    .ops = &origin_leg_ops, .carrier = c, .stream = e->promised, .budget = &c->budget};
	struct exchange *push = exchange_on_promise(parent, &leg, e->head);
	if (!push) {
		charge_reset(c, parent);
		return;
	}
	list_append(&c->legs, &push->up.link);
	session_set_user(c->session, e->promised, &push->up);
}
