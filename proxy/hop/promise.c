/* SPDX-License-Identifier: MIT */
/*
 * An origin's promises: what its connection and the client's add to the facts (facts.c has the
 * rest), and what refusing costs the origin's connection.
 */
#include "proxy/hop/private.h"

/* After so many resets in its name a route does without pushes for this long. */
#define PUSH_OFF_USEC (60 * USEC_PER_SEC)

/* ---- facts ---- */

const struct facts_client *down_facts(const struct exchange *x, struct facts_client *room)
{
	if (x->down.ops != &down_leg_ops)
		return NULL;
	const struct down *d = x->down.carrier;
	const struct h2_settings *peer = h2_peer_settings(d->h2);
	*room = (struct facts_client){
	    .address = d->client,
	    .listener_tls = d->listener->tls,
	    .push_enabled = peer->enable_push != 0,
	    .accepts_streams = peer->max_concurrent_streams != 0,
	    .is_going_away = h2_is_going_away(d->h2),
	    .rtt_usec = d->hop->asks_rtt ? net_conn_rtt_usec(d->net) : 0,
	    .open_pushes = d->pushes_open,
	    .waiting_bytes = d->push_buffered + h2_control(d->h2).len,
	};
	return room;
}

void promise_facts(void *context, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place)
{
	struct hop *hop = context;
	struct facts_client room;
	facts_of_offer(&hop->facts, down_facts(parent, &room), parent, promised, offer, place);
	offer->known = memory_knows(parent, promised);
	if (offer->source != POLICY_RELAYED)
		return;
	struct up *u = parent->up.carrier;
	const uint32_t n = hop->env.conf->server.promise_rate;
	const struct rate rate = {n, n};
	offer->promise_rate_exceeded = !bucket_take(&u->promises, &rate, 1, hop->relay.now);
}

/* ---- verdicts ---- */

static void turn_route_off(struct hop *hop, const struct conf_route *route)
{
	usec *until = &hop->push_off_until[route - hop->env.conf->routes];
	if (*until <= hop->relay.now)
		observe_log(hop->env.observe, OBSERVE_WARN,
		    "route %s: %s: its pushes are refused so often that it uses connections "
		    "without push for a while",
		    route->name, policy_reason_RESET_BUDGET.code);
	*until = hop->relay.now + PUSH_OFF_USEC;
}

/* What is under way on the connection goes on; new requests use the push-off pool, or another
 * connection. */
static void withdraw_push(struct up *u)
{
	const struct conf_origin *o = u->pool->origin;
	struct h2_settings settings = up_settings(o, false);
	u->push_was_withdrawn = true;
	up_retire(u);
	h2_update_settings(u->h2, &settings, u->hop->relay.now);
	observe_log(u->hop->env.observe, OBSERVE_WARN,
	    "origin %s: too many refused promises: push is off on this connection", o->name);
}

/* Refusing costs resets. Past its rate the route goes without pushes, before the origin takes us
 * for an attacker. */
static void charge_reset(struct up *u, const struct exchange *parent)
{
	struct hop *hop = u->hop;
	const struct conf_server *s = &hop->env.conf->server;
	usec now = hop->relay.now;
	if (u->push_was_withdrawn)
		/* the engine refuses by itself, and counts, until the origin has acknowledged */
		return;
	const struct rate resets = {s->reset_rate, s->reset_rate};
	if (!bucket_take(&u->resets, &resets, 1, now))
		turn_route_off(hop, parent->context.route);
	/* so many a minute */
	const struct rate refusals = {s->promise_refusals, s->promise_refusals * 60};
	bool is_flood = !bucket_take(&u->refusals, &refusals, 60, now);
	if (is_flood) {
		turn_route_off(hop, parent->context.route);
		withdraw_push(u);
	}
}

void promise_settled(void *context, struct exchange *parent, const struct policy_offer *offer,
    struct policy_verdict verdict)
{
	struct hop *hop = context;
	const struct http_head *head = offer->promised;
	struct observe_counters *counters = hop->env.observe->counters;
	counters->pushes_offered++;
	bool is_hinted = verdict.action == POLICY_HINT || verdict.action == POLICY_HINT_HOLD;
	counters->pushes_hinted += is_hinted;
	counters->pushes_dropped += !is_hinted;
	counters->shed_offers += verdict.reason == &policy_reason_PUSH_SHED;
	counters->memory_refused += verdict.reason == &policy_reason_BUDGET;
	counters->push[offer->source][verdict.action][policy_reason_position(verdict.reason)]++;
	feedback_settled(hop, &verdict);
	if (is_hinted) {
		memory_hinted(parent, head);
		if (offer->source == POLICY_LEARNED)
			learned_offered(hop, parent, head->path);
	}
	const struct conf_listen *listen = parent->context.listen;
	const struct conf_route *route = parent->context.route;
	const struct conf_origin *origin = parent->context.origin;
	const struct observe_exchange line = {
	    .started_wall = clock_wall(),
	    .parent_id = parent->id,
	    .listen = listen ? listen->name : NULL,
	    .route = route ? route->name : NULL,
	    .origin = origin ? origin->name : NULL,
	    .client = offer->client,
	    .method = head->method,
	    .scheme = head->scheme,
	    .authority = head->authority,
	    .path = head->path,
	    .outcome = is_hinted ? OBSERVE_COMPLETE : OBSERVE_REFUSED,
	    .is_push = true,
	    .source = offer->source,
	    .verdict = verdict.action,
	    .rule = verdict.rule ? verdict.rule->name : NULL,
	    .reason = verdict.reason,
	};
	observe_access(hop->env.observe, &line);
}

void promise_made(void *context, struct exchange *push)
{
	struct hop *hop = context;
	struct observe_counters *counters = hop->env.observe->counters;
	const struct policy_verdict *verdict = &push->pushed.verdict;
	bool is_held = push->pushed.state == PUSH_HELD;
	counters->pushes_offered++;
	counters->pushes_forwarded += !is_held;
	counters->pushes_held += is_held;
	counters->pushes_open++;
	counters->requests_open++;
	counters
	    ->push[push->pushed.source][verdict->action][policy_reason_position(verdict->reason)]++;
	feedback_made(hop, push);
	if (push->pushed.source == POLICY_LEARNED)
		learned_offered(hop, push->pushed.parent, push->request->path);
	if (is_held) {
		if (verdict->action == POLICY_HINT_HOLD)
			memory_hinted(push->pushed.parent, push->request);
		return;
	}
	push->context.was_forwarded = true;
	memory_promised(push);
	struct down *d = push->down.carrier;
	const struct exchange *parent = push->pushed.parent;
	const struct http_field *own = http_head_find(push->request, HTTP_TOKEN_PRIORITY);
	enum policy_type type = policy_type_of_path(push->request->path);
	h2_set_priority(d->h2, (struct h2_stream *)push->down.stream,
	    policy_urgency(verdict->rule, type,
		h2_stream_priority((struct h2_stream *)parent->down.stream),
		own ? own->value : (struct slice){0}));
}

void up_promise(struct up *u, struct h2_event *e)
{
	struct hop *hop = u->hop;
	struct leg *parent_leg = e->user;
	if (!e->promised) { /* the engine has refused it by itself */
		HOP_COUNT(hop, peer_faults_up, 1);
		complain_of_up(u, e->fault->name, e->reason ? e->reason : e->fault->text);
		struct observe_counters *counters = hop->env.observe->counters;
		counters->pushes_offered++;
		counters->pushes_dropped++;
		counters->push[POLICY_RELAYED][POLICY_DROP]
			      [policy_reason_position(&policy_reason_MALFORMED)]++;
		http_head_free(e->head);
		if (parent_leg)
			charge_reset(u, parent_leg->exchange);
		return;
	}
	if (!parent_leg) { /* nobody waits for the parent any more */
		h2_reset(u->h2, e->promised, H2_CANCEL);
		http_head_free(e->head);
		return;
	}
	struct exchange *parent = parent_leg->exchange;
	const struct leg leg = {.ops = &up_leg_ops,
	    .carrier = u,
	    .stream = (struct session_stream *)e->promised,
	    .budget = &u->budget};
	struct exchange *push = exchange_on_promise(parent, &leg, e->head);
	if (!push) {
		charge_reset(u, parent);
		return;
	}
	list_append(&u->legs, &push->up.link);
	h2_stream_set_user(e->promised, &push->up);
}
