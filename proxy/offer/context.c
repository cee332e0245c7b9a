/* SPDX-License-Identifier: MIT */
/*
 * Gathers the facts that the policy decides by; see offer.h. Decides nothing.
 *
 * An origin may promise a resource only if this client's own request for it, on this listener, would be
 * allowed, and routed to the same origin. What the origin's certificate covers does not matter, except in forward mode
 * (forward.c).
 */
#include "proxy/offer/offer.h"

#include "policy/request.h"
#include "proxy/base/ascii.h"
#include "proxy/base/rare.h"
#include "proxy/http/authority.h"
#include "proxy/http/grpc.h"
#include "proxy/http/via.h"
#include "proxy/relay/relay.h"

/* ---- the request ---- */

bool offer_came_through(const struct http_head *request)
{
	for (uint32_t i = 0; i < request->count; i++) {
		uint16_t token = request->fields[i].token;
		if (token == HTTP_TOKEN_VIA || token == HTTP_TOKEN_FORWARDED ||
		    token == HTTP_TOKEN_X_FORWARDED_FOR)
			return true;
	}
	return false;
}

/*
 * RFC 9110 7.6.2: if Max-Forwards is 0, pushgate answers as the final recipient; returns how. TRACE
 * is not reflected, although 9.3.8 suggests it: a web page must not learn the fields that its browser
 * added, such as cookies.
 */
static const struct relay_cause *last_hop(const struct http_head *head, const char **detail)
{
	uint64_t left;
	if (head->method_token != HTTP_METHOD_OPTIONS && head->method_token != HTTP_METHOD_TRACE)
		return NULL;
	const struct http_field *f = http_head_find(head, HTTP_TOKEN_MAX_FORWARDS);
	if (!f || !offer_max_forwards(f->value, &left) || left > 0)
		return NULL;
	*detail = "Max-Forwards is used up";
	return head->method_token == HTTP_METHOD_OPTIONS ? &relay_cause_FINAL_RECIPIENT
							 : &relay_cause_NOT_IMPLEMENTED;
}

/* redirect-to-https: whatever is asked for, in cleartext and through no proxy that ended TLS. */
static RARE const struct relay_cause *to_https(const struct exchange *x, const char **detail)
{
	if (slice_equal_nocase(x->request->scheme, SLICE("https")))
		return NULL;
	if (!offer_host_is_plain(x->request))
		return *detail = "no host to be redirected to", &relay_cause_DOWN_MALFORMED;
	return *detail = "http is redirected to https here", &relay_cause_REDIRECT;
}

/* The protocol as the route names it: case does not count in an Upgrade (RFC 9110 7.8), but :protocol has a
 * name of a registry, in lower case. NULL: the route does not take it. */
static const struct slice *tunnel_of(const struct conf_route *route, struct slice protocol)
{
	for (size_t i = 0; i < route->upgrade_count; i++)
		if (slice_equal_nocase(route->upgrades[i], protocol))
			return &route->upgrades[i];
	return NULL;
}

/*
 * An extended CONNECT (RFC 8441), or a request that offers to change the protocol: of those that it offers the
 * first that the route takes is asked for. If there is none, the offer is ignored, and the request is a
 * request (RFC 9110 7.8).
 */
static RARE const struct relay_cause *offer_tunnel(struct exchange *x, const char **detail)
{
	const struct conf_route *route = x->context.route;
	struct slice offered = x->request->upgrade, protocol = x->request->protocol, upgrade;
	if (protocol.len > 0 && !tunnel_of(route, protocol))
		return *detail = "the route has no such upgrade", &relay_cause_NOT_IMPLEMENTED;
	if (x->method == HTTP_METHOD_CONNECT)
		exchange_ask_for_tunnel(x, SLICE(""));
	while (!x->tunnel.is_asked && slice_next_member(&offered, &upgrade)) {
		const struct slice *named = tunnel_of(route, upgrade);
		if (named)
			exchange_ask_for_tunnel(x, *named);
	}
	x->tunnel.bytes_most = route->tunnel_bytes;
	return NULL;
}

/* What the route itself answers, or why it does not send the request to its origin. */
static const struct relay_cause *answer_of_route(const struct exchange *x, const char **detail)
{
	const struct conf_route *route = x->context.route;
	if (route->redirect.status && offer_redirect_needs_host(route) &&
	    !offer_host_is_plain(x->request))
		return *detail = x->request->authority.len == 0
				     ? "no Host, and the route redirects to it"
				     : "no host to be redirected to",
		       &relay_cause_DOWN_MALFORMED;
	if (route->redirect.status)
		return *detail = "the route redirects", &relay_cause_ROUTE_REDIRECT;
	if (route->answer.status)
		return *detail = "the route answers", &relay_cause_FIXED_ANSWER;
	if (offer_rewrites(route, x->request->path) &&
	    offer_leaves_rewrite(route, x->request->path))
		return *detail = "the path points out of what is rewritten",
		       &relay_cause_DOWN_MALFORMED;
	if (x->method == HTTP_METHOD_OTHER && route->rewrite.is_given &&
	    offer_destination_leaves(x))
		return *detail = "Destination points out of what is rewritten",
		       &relay_cause_DOWN_MALFORMED;
	return NULL;
}

const struct relay_cause *offer_admit(
    const struct offer_env *env, struct exchange *x, const char **detail)
{
	const struct http_head *head = x->request;
	const struct conf_listen *l = x->context.listen;
	bool is_forward = conf_listen_is_forward(l);
	if (!is_forward && x->method == HTTP_METHOD_CONNECT && head->protocol.len == 0)
		return *detail = "CONNECT is for forward proxies", &relay_cause_NOT_IMPLEMENTED;
	if (x->context.came_through && http_via_has(head, env->pseudonym))
		return *detail = "the request has been here before", &relay_cause_LOOP;
	if (is_forward)
		return offer_admit_forward(x, detail);
	const struct relay_cause *refusal = offer_check_scheme(x, detail);
	return !refusal && l && l->redirect_to_https ? to_https(x, detail) : refusal;
}

const struct relay_cause *offer_route(
    const struct offer_env *env, struct exchange *x, const char **detail)
{
	const struct http_head *head = x->request;
	const struct conf_route *route = NULL;
	const struct relay_cause *refusal;
	switch (router_find_within(offer_router(env, x), head, &route, NULL, exchange_effort(x))) {
	case ROUTER_NO_HOST:
		if (head->authority.len == 0)
			return *detail = "no Host, and no route is for any host",
			       &relay_cause_DOWN_MALFORMED;
		return *detail = "no route for this host", &relay_cause_MISDIRECTED;
	case ROUTER_NO_PATH:
		return *detail = "no route for this path", &relay_cause_NO_ROUTE;
	case ROUTER_FOUND:
		break;
	}
	x->context.route = route;
	x->context.origin = offer_side(route, &x->context.client);
	refusal = answer_of_route(x, detail);
	if (refusal)
		return refusal;
	bool is_call = http_is_grpc_call(head);
	x->context.is_streaming = !x->upload.source_ended && (route->streaming || is_call);
	if (x->method == HTTP_METHOD_CONNECT || head->upgrade.len > 0) {
		refusal = offer_tunnel(x, detail);
		if (refusal || x->tunnel.is_asked)
			return refusal;
	}
	x->context.is_call = is_call;
	if (is_call)
		x->context.call_timeout = http_grpc_timeout(head);
	if (x->context.upload_limit_bytes && head->content_length != HTTP_LENGTH_UNKNOWN &&
	    head->content_length > x->context.upload_limit_bytes)
		return &relay_cause_UPLOAD_LARGE;
	return last_hop(head, detail);
}

/* Why this client gets no hints with this request, whenever the offer comes. */
static const struct policy_reason *hint_client_refusal(const struct offer_env *env,
    const struct client_facts *client, const struct policy_offer *offer)
{
	if (client && !client->takes_interim)
		return &policy_reason_HINT_VERSION;
	if (client && client->is_half_closed)
		return &policy_reason_CLIENT_GOING_AWAY;
	if (policy_withholds_interim(&env->conf->policy, offer))
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

/* The effort is no fact about the exchange: asking spends it. */
static struct effort *effort_for(const struct exchange *x)
{
	return exchange_effort((struct exchange *)(uintptr_t)x);
}

bool offer_wants_pushes(
    const struct offer_env *env, const struct client_facts *client, const struct exchange *x)
{
	const struct conf_origin *o = x->context.origin;
	switch (o->push) {
	case CONF_PUSH_ACCEPT:
		return true;
	case CONF_PUSH_REFUSE:
		return false;
	case CONF_PUSH_AUTO:
		break;
	}
	/* An origin must not push for a pushed request, and promises name a host. */
	if (exchange_is_push(x) || x->request->authority.len == 0)
		return false;
	struct policy_offer facts = {.source = POLICY_RELAYED,
	    .parent = x->request,
	    .now = x->relay->now,
	    .effort = effort_for(x),
	    .request = x->pushes.request};
	offer_request_context(env, client, x, &facts);
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
	struct policy_offer facts = {.source = POLICY_LINK,
	    .parent = x->request,
	    .now = x->relay->now,
	    .effort = effort_for(x),
	    .request = x->pushes.request};
	offer_request_context(env, client, x, &facts);
	facts.hold_refusal = hold_refusal(x, NULL);
	/* Without policy_reason_HINT_LATE: where a rule would hint, the log says why it does not. */
	facts.hint_refusal = hint_client_refusal(env, client, &facts);
	return policy_wants_offers(rules, &facts);
}

bool offer_withholds_interim(
    const struct offer_env *env, const struct client_facts *client, const struct exchange *x)
{
	/* The origin chose the fields of a promised request: they do not name the client. */
	const struct exchange *asked = x->pushed.parent ? x->pushed.parent : x;
	struct policy_offer facts = {.parent = asked->request,
	    .now = x->relay->now,
	    .effort = effort_for(asked),
	    .request = asked->pushes.request};
	offer_request_context(env, client, asked, &facts);
	return policy_withholds_interim(&env->conf->policy, &facts);
}

bool offer_is_subscription(const struct exchange *x, bool wants_pushes)
{
	return x->context.route->subscription && wants_pushes && x->method == HTTP_METHOD_GET &&
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
	const struct exchange_user *user = x->context.user;
	return user ? slice_of(user->name, user->length) : (struct slice){0};
}

void offer_request_context(const struct offer_env *env, const struct client_facts *client,
    const struct exchange *x, struct policy_offer *offer)
{
	if (!client)
		return;
	offer->client = client->address;
	offer->user = user_of(x);
	offer->client_push_enabled = client->push_enabled;
	offer->client_accepts_streams = client->accepts_streams;
	offer->client_going_away = client->is_going_away;
	if (offer->request) {
		offer->save_data = offer->request->save_data;
		offer->navigation = offer->request->navigation;
		offer->draw = offer->request->draw;
	} else if (looks_at_requests(env->conf)) {
		offer->save_data = policy_save_data_of(x->request);
		offer->navigation = policy_navigation_of(x->request);
		offer->draw =
		    policy_draw(&client->address, x->request->authority, x->request->path);
	}
	offer->rtt_usec = client->rtt_usec;
	offer->connection_pushes = client->open_pushes;
	offer->connection_push_bytes = client->waiting_bytes;
}

static bool listener_covers(const struct client_facts *client, const struct exchange *parent,
    const struct http_head *promised)
{
	struct http_authority a;
	const struct exchange_context *c = &parent->context;
	if (conf_listen_is_forward(
		c->listen)) /* a proxy's own certificate says nothing of origins */
		return true;
	if (!slice_equal(promised->scheme, parent->request->scheme) &&
	    !offer_may_use_scheme(c->listen, &c->client, promised->scheme))
		return false;
	if (slice_equal(promised->authority, parent->request->authority) || !client->covers)
		return true;
	return http_authority_parse(promised->authority, promised->scheme, &a) &&
	       client->covers(client->listener, a.host);
}

/* The origin that has requests of this client for the resource. A push stays with its parent's origin, if that is
 * one of the route's: a client may be on other sides of other routes. */
static const struct conf_origin *origin_of(
    const struct conf_route *route, const struct exchange *parent)
{
	if (conf_route_uses(route, parent->context.origin))
		return parent->context.origin;
	return offer_side(route, &parent->context.client);
}

/* Whether the client's own request for the promised resource would ask the origin for another path. */
static bool has_other_path(
    const struct conf_route *route, struct http_head *promised, struct slice theirs)
{
	if (!route->rewrite.is_given && theirs.ptr == promised->path.ptr)
		return false;
	struct slice sent = offer_origin_path(route, promised->path, &promised->arena);
	return !slice_equal(sent, theirs);
}

/* For a promise: whether this client's own request would be routed to the same origin. */
static bool may_promise(
    const struct offer_env *env, struct exchange *parent, struct http_head *promised, bool *outside)
{
	const struct conf_route *route;
	struct slice theirs = promised->path;
	bool is_theirs = conf_listen_is_forward(parent->context.listen)
			     ? offer_may_promise_forward(env, parent, promised)
			     : offer_map_promise(parent, promised, outside);
	if (!is_theirs || *outside ||
	    router_find_within(offer_router(env, parent), promised, &route, NULL,
		exchange_effort(parent)) != ROUTER_FOUND ||
	    origin_of(route, parent) != parent->context.origin)
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
	if (router_find_within(offer_router(env, parent), promised, &route, NULL,
		exchange_effort(parent)) != ROUTER_FOUND ||
	    !route->origin)
		return false;
	*place = (struct relay_place){route, origin_of(route, parent)};
	return true;
}

/* Whether the rules of the listener would let the client ask for it itself: who, what, and in forward mode where.
 * The address of an offer of our own is judged when it is requested. */
static bool may_client_ask(const struct offer_env *env, struct exchange *parent,
    const struct http_head *promised, enum policy_source source)
{
	struct exchange asked = {.relay = parent->relay,
	    .request = promised,
	    .method = promised->method_token,
	    .context = parent->context,
	    .effort = *exchange_effort(parent),
	    .effort_since = parent->relay->now};
	asked.context.path_answers = NULL; /* of the parent's path */
	bool may_ask = offer_may_ask(&asked).answer == ACCESS_ALLOW;
	parent->effort = asked.effort;
	if (!may_ask)
		return false;
	return source != POLICY_RELAYED || !conf_listen_is_forward(asked.context.listen) ||
	       !env->promiser || env->promiser->may_reach(parent, &asked);
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
	if (offer->source == POLICY_RELAYED)
		offer->origin_may_promise =
		    may_promise(env, parent, promised, &offer->outside_prefix);
	else
		offer->origin_may_promise = find_place(env, parent, promised, place);
	/* by its public path */
	offer->hold_refusal = hold_refusal(parent, promised);
	offer->listener_covers = client && listener_covers(client, parent, promised);
	if (offer->origin_may_promise && parent->context.listen && parent->context.listen->access)
		offer->access_denied = !may_client_ask(env, parent, promised, offer->source);
}
