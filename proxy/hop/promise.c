/* SPDX-License-Identifier: MIT */
/*
 * An origin's promises: what the policy needs to know about one, who may promise what, and what refusing
 * costs the origin's connection.
 *
 * Who may promise what: the promised authority and path, routed as if this client had asked on this
 * listener, must end at the very origin that sent the promise. A certificate never widens that.
 */
#include "proxy/hop/private.h"

#include "proxy/http/authority.h"

/* After so many resets in its name a route does without pushes for this long. */
#define PUSH_OFF_USEC (60 * USEC_PER_SEC)

/* ---- facts ---- */

void promise_client_facts(const struct exchange *x, struct policy_offer *offer)
{
	const struct down *d = x->down.ops ? x->down.carrier : NULL;
	if (!d)
		return;
	const struct h2_settings *peer = h2_peer_settings(d->h2);
	offer->client = d->client;
	offer->client_push_enabled = peer->enable_push != 0;
	offer->client_accepts_streams = peer->max_concurrent_streams != 0;
	offer->client_going_away = h2_is_going_away(d->h2);
	if (d->hop->relay.policy->count > 0) { /* only rules ask for these */
		offer->save_data = policy_save_data_of(x->request);
		offer->navigation = policy_navigation_of(x->request);
		offer->draw = policy_draw(&d->client, x->authority, x->request->path);
	}
	if (d->hop->asks_rtt)
		offer->rtt_usec = net_conn_rtt_usec(d->net);
	offer->connection_pushes = d->pushes_open;
	offer->connection_push_bytes = d->push_buffered;
}

static bool same_authority(struct slice a, struct slice b, struct slice scheme)
{
	struct http_authority left, right;
	return slice_equal(a, b) ||
	       (http_authority_parse(a, scheme, &left) && http_authority_parse(b, scheme, &right) &&
	        http_authority_equal(&left, &right));
}

/* What the origin calls itself: "host:port" of its server option. */
static bool is_hops_own(const struct conf_origin *o, struct slice authority, struct slice scheme)
{
	char own[300];
	if (!o->host)
		return false;
	int n = snprintf(own, sizeof(own), strchr(o->host, ':') ? "[%s]:%u" : "%s:%u", o->host, (unsigned)o->port);
	return n > 0 && (size_t)n < sizeof(own) && same_authority(slice_of(own, (size_t)n), authority, scheme);
}

/*
 * The client's own scheme and authority in place of those that we sent, or that the hop has. False: the
 * promise names a scheme that is neither.
 */
static bool map_back(const struct exchange *parent, struct http_head *promised)
{
	const struct conf_origin *o = parent->origin;
	struct slice hops_scheme = o->kind == CONF_ORIGIN_H2_TLS ? SLICE("https") : SLICE("http");
	struct slice theirs = promised->scheme;
	if (!slice_equal_nocase(theirs, parent->scheme) && !slice_equal_nocase(theirs, hops_scheme))
		return false;
	promised->scheme = arena_copy(&promised->arena, parent->scheme);
	bool is_ours = (o->host_override &&
	                   same_authority(promised->authority, slice_of_string(o->host_override), theirs)) ||
	               is_hops_own(o, promised->authority, theirs);
	if (is_ours || same_authority(promised->authority, parent->authority, theirs))
		promised->authority = arena_copy(&promised->arena, parent->authority);
	http_head_remove(promised, HTTP_TOKEN_HOST);
	return true;
}

static bool listener_covers(const struct exchange *parent, const struct http_head *promised)
{
	struct http_authority a;
	const struct down *d = parent->down.carrier;
	if (slice_equal(promised->authority, parent->authority) || !d->listener->tls)
		return true;
	return http_authority_parse(promised->authority, promised->scheme, &a) &&
	       net_tls_covers(d->listener->tls, a.host);
}

/* What an origin promised: only what this client would get from that very origin. */
static void relayed_facts(struct hop *hop, struct exchange *parent, struct http_head *promised, struct policy_offer *offer)
{
	const struct conf_route *route;
	struct up *u = parent->up.carrier;
	offer->origin_may_promise =
	    map_back(parent, promised) &&
	    router_find(hop->router, promised->authority, promised->path, &route) == ROUTER_FOUND &&
	    route->origin == parent->origin;
	double rate = hop->env.conf->server.promise_rate;
	offer->promise_rate_exceeded = rate > 0 && !bucket_take(&u->promises, hop->relay.now, rate, rate);
}

/* What we offer ourselves: whatever a route of ours leads to. */
static void own_facts(struct hop *hop, const struct http_head *promised, struct policy_offer *offer, struct relay_place *place)
{
	const struct conf_route *route;
	if (router_find(hop->router, promised->authority, promised->path, &route) != ROUTER_FOUND)
		return;
	offer->origin_may_promise = true;
	*place = (struct relay_place){route, route->origin};
}

void promise_facts(void *context, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place)
{
	struct hop *hop = context;
	promise_client_facts(parent, offer);
	offer->parent_revalidates = policy_revalidates(parent->request);
	offer->hold_refusal = hold_refusal(parent, promised);
	if (!exchange_may_hint(parent))
		offer->hint_refusal = &policy_reason_HINT_LATE;
	else if (offer->navigation != POLICY_NAVIGATION_YES)
		offer->hint_refusal = &policy_reason_HINT_CLIENT;
	if (offer->source == POLICY_RELAYED)
		relayed_facts(hop, parent, promised, offer);
	else
		own_facts(hop, promised, offer, place);
	offer->listener_covers = parent->down.ops && listener_covers(parent, promised);
}

/* ---- verdicts ---- */

static void turn_route_off(struct hop *hop, const struct conf_route *route)
{
	usec *until = &hop->push_off_until[route - hop->env.conf->routes];
	if (*until <= hop->relay.now)
		observe_log(hop->env.observe, OBSERVE_WARN,
		    "route %s: %s: its pushes are refused so often that it uses connections without push for a while",
		    route->name, policy_reason_RESET_BUDGET.code);
	*until = hop->relay.now + PUSH_OFF_USEC;
}

/* What is under way on the connection goes on; new requests use the push-off pool, or another connection. */
static void withdraw_push(struct up *u)
{
	const struct conf_origin *o = u->pool->origin;
	struct h2_settings settings = h2_settings_initial;
	settings.enable_push = 0;
	settings.max_concurrent_streams = o->max_concurrent_pushes;
	settings.initial_window_size = o->stream_window_bytes;
	settings.max_header_list_size = o->max_header_list_bytes;
	u->push_was_withdrawn = true;
	up_retire(u);
	h2_update_settings(u->h2, &settings, u->hop->relay.now);
	observe_log(u->hop->env.observe, OBSERVE_WARN,
	    "origin %s: too many refused promises: push is off on this connection", o->name);
}

/* Refusing costs resets. Past its rate the route goes without pushes, before the origin takes us for an attacker. */
static void charge_reset(struct up *u, const struct exchange *parent)
{
	struct hop *hop = u->hop;
	const struct conf_server *s = &hop->env.conf->server;
	usec now = hop->relay.now;
	if (u->push_was_withdrawn)
		return; /* the engine refuses by itself, and counts, until the origin has acknowledged */
	if (s->reset_rate && !bucket_take(&u->resets, now, s->reset_rate, s->reset_rate))
		turn_route_off(hop, parent->route);
	bool is_flood = s->promise_refusals &&
	                !bucket_take(&u->refusals, now, s->promise_refusals / 60.0, s->promise_refusals);
	if (is_flood) {
		turn_route_off(hop, parent->route);
		withdraw_push(u);
	}
}

void promise_settled(void *context, struct exchange *parent, const struct policy_offer *offer, struct policy_verdict verdict)
{
	struct hop *hop = context;
	const struct http_head *head = offer->promised;
	struct observe_counters *counters = hop->env.observe->counters;
	counters->pushes_offered++;
	bool is_hinted = verdict.action == POLICY_HINT || verdict.action == POLICY_HINT_HOLD;
	counters->pushes_hinted += is_hinted;
	counters->pushes_dropped += !is_hinted;
	counters->memory_refused += verdict.reason == &policy_reason_BUDGET;
	counters->push[offer->source][verdict.action][policy_reason_position(verdict.reason)]++;
	const struct conf_listen *listen = parent->listen;
	const struct conf_route *route = parent->route;
	const struct conf_origin *origin = parent->origin;
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
	const struct policy_verdict *verdict = &push->push.verdict;
	bool is_held = push->push.state == PUSH_HELD;
	counters->pushes_offered++;
	counters->pushes_forwarded += !is_held;
	counters->pushes_held += is_held;
	counters->pushes_open++;
	counters->requests_open++;
	counters->push[push->push.source][verdict->action][policy_reason_position(verdict->reason)]++;
	if (is_held)
		return;
	struct down *d = push->down.carrier;
	const struct exchange *parent = push->push.parent;
	const struct http_field *own = http_head_find(push->request, HTTP_TOKEN_PRIORITY);
	enum policy_type type = policy_type_of_offer((struct slice){0}, push->request->path);
	h2_set_priority(d->h2, push->down.stream,
	    policy_urgency(verdict->rule, type, h2_stream_priority(parent->down.stream),
	        own ? own->value : (struct slice){0}));
}

void up_promise(struct up *u, struct h2_event *e)
{
	struct hop *hop = u->hop;
	struct leg *parent_leg = e->user;
	if (!e->promised) { /* the engine has refused it by itself */
		HOP_COUNT(hop, peer_faults_up, 1);
		observe_log(hop->env.observe, OBSERVE_WARN, "origin %s: %s: %s", u->pool->origin->name,
		    e->fault ? e->fault->name : "promise refused", e->fault ? e->fault->text : "");
		struct observe_counters *counters = hop->env.observe->counters;
		counters->pushes_offered++;
		counters->pushes_dropped++;
		counters->push[POLICY_RELAYED][POLICY_DROP][policy_reason_position(&policy_reason_MALFORMED)]++;
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
	const struct leg leg = {.ops = &up_leg_ops, .carrier = u, .stream = e->promised};
	struct exchange *push = exchange_on_promise(parent, &leg, e->head);
	if (!push) {
		charge_reset(u, parent);
		return;
	}
	list_append(&u->legs, &push->up.link);
	h2_stream_set_user(e->promised, &push->up);
}
