/* SPDX-License-Identifier: MIT */
/*
 * Gathers the facts that the policy decides by; see offer.h. Decides nothing.
 *
 * An origin may promise a resource only if this client's own request for it, on this listener, would be
 * allowed, and routed to the same origin. What the origin's certificate covers does not matter, except in forward mode
 * (forward_promise.c).
 */
#include "proxy/offer/offer.h"

#include "policy/hint_clients.h"
#include "proxy/base/ascii.h"
#include "proxy/hold/hold.h"
#include "proxy/http/authority.h"
#include "proxy/relay/relay.h"
#include "proxy/route/route.h"

/* Why this client gets no hints with this request, whenever the offer comes. */
static const struct policy_reason *hint_client_refusal(const struct offer_env *env,
    const struct client_facts *client, const struct policy_offer *offer)
{
	if (client && !client->takes_interim)
		return &policy_reason_HINT_VERSION;
	if (client && client->is_half_closed)
		return &policy_reason_CLIENT_GOING_AWAY;
	if (policy_interim(&env->conf->policy, offer) == POLICY_NO)
		return &policy_reason_NO_INTERIM;
	/* The client gets the origin's 103 in any case. */
	bool reads_hints = offer->in_early_hints || (client && client->hints_expected &&
							offer->navigation == POLICY_NAVIGATION_YES);
	if (!reads_hints)
		return &policy_reason_HINT_CLIENT;
	return NULL;
}

/* Why a hint is impossible now: the final response has come, or the client ignores 103 responses. */
static const struct policy_reason *hint_refusal(const struct offer_env *env,
    const struct client_facts *client, const struct exchange *x, const struct policy_offer *offer)
{
	if (!offer->in_early_hints && !exchange_may_hint(x))
		return &policy_reason_HINT_LATE;
	return hint_client_refusal(env, client, offer);
}

/* Asked last: it is of use only where a 103 would leave, by a rule for all clients too. */
static bool is_hint_mishandled(const struct offer_env *env, const struct policy_offer *offer)
{
	const struct policy_rules *rules = &env->conf->policy;
	bool may_hint = !offer->hint_refusal || offer->hint_refusal == &policy_reason_HINT_CLIENT;
	return may_hint && (offer->in_early_hints || policy_hints(rules)) &&
	       policy_mishandles_hints(offer) && policy_interim(rules, offer) != POLICY_YES;
}

/* The effort is no fact about the exchange: asking spends it. */
static struct effort *effort_for(const struct exchange *x)
{
	return exchange_effort((struct exchange *)(uintptr_t)x);
}

/* The facts that all offers of one source with the request share. */
static struct policy_offer facts_of(const struct offer_env *env, const struct client_facts *client,
    const struct exchange *x, enum policy_source source)
{
	struct policy_offer facts = {.source = source,
	    .parent = x->request,
	    .now = x->relay->now,
	    .effort = effort_for(x),
	    .request = x->pushes.request};
	offer_request_context(env, client, x, &facts);
	return facts;
}

bool offer_wants_pushes(
    const struct offer_env *env, const struct client_facts *client, const struct exchange *x)
{
	const struct conf_origin *o = x->place.origin;
	if (o->push != CONF_PUSH_AUTO)
		return o->push == CONF_PUSH_ACCEPT;
	/* An origin must not push for a pushed request, and promises name a host. */
	if (exchange_is_push(x) || x->request->authority.len == 0)
		return false;
	struct policy_offer facts = facts_of(env, client, x, POLICY_RELAYED);
	facts.hold_refusal = hold_refusal(x, NULL);
	facts.hint_refusal = hint_refusal(env, client, x, &facts);
	return policy_wants_pushes(&env->conf->policy, &facts);
}

bool offer_reads_links(
    const struct offer_env *env, const struct client_facts *client, const struct exchange *x)
{
	const struct policy_rules *rules = &env->conf->policy;
	if (!client)
		return false;
	bool accepts_pushes =
	    client->push_enabled && client->accepts_streams && !client->is_going_away;
	if (!accepts_pushes && !policy_holds_or_hints(rules))
		return false;
	struct policy_offer facts = facts_of(env, client, x, POLICY_LINK);
	facts.hold_refusal = hold_refusal(x, NULL);
	/* Without policy_reason_HINT_LATE: where a rule would hint, the log says why it does not. */
	facts.hint_refusal = hint_client_refusal(env, client, &facts);
	return policy_wants_offers(rules, &facts);
}

const struct policy_reason *offer_interim_refusal(const struct offer_env *env,
    const struct client_facts *client, const struct exchange *x, uint16_t status)
{
	/* The origin chose the fields of a promised request: they do not name the client. */
	const struct exchange *asked = x->pushed.parent ? x->pushed.parent : x;
	const struct policy_offer facts = facts_of(env, client, asked, POLICY_RELAYED);
	enum policy_tristate said = policy_interim(&env->conf->policy, &facts);
	if (said == POLICY_NO)
		return &policy_reason_NO_INTERIM;
	bool is_mishandled = status == 103 && said == POLICY_ANY && policy_mishandles_hints(&facts);
	return is_mishandled ? &policy_reason_HINT_MISHANDLED : NULL;
}

bool offer_is_subscription(const struct exchange *x, bool wants_pushes)
{
	return x->place.route->subscription && wants_pushes && x->method == HTTP_METHOD_GET &&
	       !exchange_is_push(x);
}

/* ---- an offer ---- */

/* The facts from a request's fields are used only by rules, [preload] sections and hints. Without these,
 * the fields need not be searched. */
static bool looks_at_requests(const struct conf *conf)
{
	enum policy_action fallback = conf->policy.fallback;
	return conf->policy.count > 0 || conf->preload_count > 0 || fallback == POLICY_HINT ||
	       fallback == POLICY_HINT_HOLD;
}

static struct slice user_of(const struct exchange *x)
{
	const struct exchange_user *user = x->facts.user;
	return user ? slice_of(user->name, user->length) : (struct slice){0};
}

void offer_request_context(const struct offer_env *env, const struct client_facts *client,
    const struct exchange *x, struct policy_offer *offer)
{
	if (!client)
		return;
	offer->client = client->address;
	offer->user = user_of(x);
	offer->certificate = x->facts.certificate;
	offer->client_push_enabled = client->push_enabled;
	offer->client_accepts_streams = client->accepts_streams;
	offer->client_going_away = client->is_going_away;
	if (offer->request) {
		offer->save_data = offer->request->save_data;
		offer->navigation = offer->request->navigation;
		offer->purpose = offer->request->purpose;
		offer->draw = offer->request->draw;
	} else if (looks_at_requests(env->conf)) {
		offer->save_data = policy_save_data_of(x->request);
		offer->navigation = policy_navigation_of(x->request);
		offer->purpose = policy_purpose_of(x->request);
		offer->draw =
		    policy_draw(&client->address, x->request->authority, x->request->path);
	}
	offer->rtt_usec = client->rtt_usec;
	offer->connection_pushes = client->open_pushes;
	offer->connection_push_bytes = client->waiting_bytes;
}

/* The facts of a request that the client of the parent would make for the resource. */
static struct request_facts facts_asked(
    const struct exchange *parent, const struct http_head *promised)
{
	struct request_facts asked = parent->facts;
	asked.head = promised;
	asked.target = NULL;
	return asked;
}

static bool listener_covers(const struct client_facts *client, const struct exchange *parent,
    const struct http_head *promised)
{
	struct http_authority a;
	const struct conf_listen *l = parent->facts.listener;
	if (conf_listen_is_forward(l)) /* a proxy's own certificate says nothing of origins */
		return true;
	if (!slice_equal(promised->scheme, parent->request->scheme) &&
	    !route_may_use_scheme(&parent->facts, promised->scheme))
		return false;
	if (slice_equal(promised->authority, parent->request->authority))
		return true;
	if (l && l->client_auth && route_is_for_other_clients(&parent->facts, promised))
		return false;
	if (!client->covers)
		return true;
	return http_authority_parse(promised->authority, promised->scheme, &a) &&
	       client->covers(client->listener, a.host);
}

/* The origin that has requests of this client for the resource. A push stays with its parent's origin, if that is
 * one of the route's: a client may be on other sides of other routes. */
static const struct conf_origin *origin_of(
    const struct conf_route *route, const struct exchange *parent)
{
	if (conf_route_uses(route, parent->place.origin))
		return parent->place.origin;
	return route_side(route, &parent->facts.client);
}

/* Whether the client's own request for the promised resource would ask the origin for another path. */
static bool has_other_path(
    const struct conf_route *route, struct http_head *promised, struct slice theirs)
{
	if (!route->rewrite.is_given && theirs.ptr == promised->path.ptr)
		return false;
	struct slice sent = route_origin_path(route, promised->path, &promised->arena);
	return !slice_equal(sent, theirs);
}

static enum router_answer find_route(const struct offer_env *env, struct exchange *parent,
    const struct http_head *promised, const struct conf_route **route)
{
	const struct request_facts asked = facts_asked(parent, promised);
	return router_find(
	    route_router(env->route, asked.listener), &asked, route, NULL, exchange_effort(parent));
}

/* For a promise: whether this client's own request would be routed to the same origin. */
static bool may_promise(
    const struct offer_env *env, struct exchange *parent, struct http_head *promised, bool *outside)
{
	const struct conf_route *route;
	struct slice theirs = promised->path;
	bool is_theirs =
	    conf_listen_is_forward(parent->facts.listener)
		? offer_may_promise_forward(env, parent, promised)
		: route_map_promise(parent->request, &parent->place, promised, outside);
	if (!is_theirs || *outside || find_route(env, parent, promised, &route) != ROUTER_FOUND ||
	    origin_of(route, parent) != parent->place.origin)
		return false;
	*outside = has_other_path(route, promised, theirs);
	return !*outside;
}

/* For an offer of pushgate's own: finds the route and the origin. False: no route matches, or none with an
 * origin. */
static bool find_place(const struct offer_env *env, struct exchange *parent,
    const struct http_head *promised, struct relay_place *place)
{
	const struct conf_route *route;
	if (find_route(env, parent, promised, &route) != ROUTER_FOUND || !route->origin)
		return false;
	*place = (struct relay_place){route, origin_of(route, parent)};
	return true;
}

/* Whether the rules of the listener would let the client ask for it itself: who, what, and in forward mode where.
 * The address of an offer of our own is judged when it is requested. */
static bool may_client_ask(const struct offer_env *env, struct exchange *parent,
    struct http_head *promised, enum policy_source source)
{
	bool is_forward = conf_listen_is_forward(parent->facts.listener);
	struct effort *effort = exchange_effort(parent);
	struct request_facts asked = facts_asked(parent, promised);
	if (is_forward)
		route_target_of(&asked, &promised->arena);
	if (access_may_ask(&asked, effort).answer != ACCESS_ALLOW)
		return false;
	return source != POLICY_RELAYED || !is_forward || !env->promiser ||
	       env->promiser->may_reach(parent, &asked, effort);
}

void offer_context(const struct offer_env *env, const struct client_facts *client,
    struct exchange *parent, struct http_head *promised, struct policy_offer *offer,
    struct relay_place *place)
{
	offer_request_context(env, client, parent, offer);
	/* asked about pushgate's own offers alone */
	offer->parent_revalidates =
	    offer->source != POLICY_RELAYED &&
	    (offer->request ? offer->request->revalidates : policy_revalidates(parent->request));
	offer->hint_refusal = hint_refusal(env, client, parent, offer);
	if (is_hint_mishandled(env, offer))
		offer->hint_refusal = &policy_reason_HINT_MISHANDLED;
	if (offer->source == POLICY_RELAYED)
		offer->origin_may_promise =
		    may_promise(env, parent, promised, &offer->outside_prefix);
	else
		offer->origin_may_promise = find_place(env, parent, promised, place);
	/* by its public path */
	offer->hold_refusal = hold_refusal(parent, promised);
	offer->listener_covers = client && listener_covers(client, parent, promised);
	if (offer->origin_may_promise && parent->facts.listener && parent->facts.listener->access)
		offer->access_denied = !may_client_ask(env, parent, promised, offer->source);
}
