/* SPDX-License-Identifier: MIT */
/* Checks what a request must be, finds its route, and what that route makes of it. */
#include "proxy/route/route.h"

#include "proxy/base/hash.h"
#include "proxy/base/rare.h"
#include "proxy/http/grpc.h"
#include "proxy/http/via.h"

const struct conf_origin *route_side(const struct conf_route *route, const struct address *client)
{
	if (route->side_count < 2)
		return route->origin;
	/* Without a secret, so that it is the same in all workers and after a restart. */
	uint64_t hash = hash_bytes(route->side_seed, client->bytes, sizeof(client->bytes));
	uint64_t at = (hash >> 32) * route->side_weights >> 32;
	size_t side = 0;
	while (at >= route->sides[side].weight)
		at -= route->sides[side++].weight;
	return route->sides[side].origin;
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
	if (!f || !route_max_forwards(f->value, &left) || left > 0)
		return NULL;
	*detail = "Max-Forwards is used up";
	return head->method_token == HTTP_METHOD_OPTIONS ? &relay_cause_FINAL_RECIPIENT
							 : &relay_cause_NOT_IMPLEMENTED;
}

/* redirect-to-https: whatever is asked for, in cleartext and through no proxy that ended TLS. */
static RARE const struct relay_cause *to_https(const struct http_head *request, const char **detail)
{
	if (slice_equal_nocase(request->scheme, SLICE("https")))
		return NULL;
	if (!route_host_is_plain(request))
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
static RARE const struct relay_cause *find_tunnel(
    const struct http_head *head, struct request_routing *r, const char **detail)
{
	const struct conf_route *route = r->place.route;
	struct slice offered = head->upgrade, upgrade;
	if (head->protocol.len > 0 && !tunnel_of(route, head->protocol))
		return *detail = "the route has no such upgrade", &relay_cause_NOT_IMPLEMENTED;
	r->is_tunnel = head->method_token == HTTP_METHOD_CONNECT;
	while (!r->is_tunnel && slice_next_member(&offered, &upgrade)) {
		const struct slice *named = tunnel_of(route, upgrade);
		r->is_tunnel = named != NULL;
		if (named)
			r->upgrade = *named;
	}
	r->tunnel_bytes = route->tunnel_bytes;
	return NULL;
}

/* The answer of the route itself, or why it does not send the request to its origin. */
static const struct relay_cause *answer_of_route(
    const struct http_head *request, const struct conf_route *route, const char **detail)
{
	if (route->redirect.status && route_redirect_needs_host(route) &&
	    !route_host_is_plain(request))
		return *detail = request->authority.len == 0
				     ? "no Host, and the route redirects to it"
				     : "no host to be redirected to",
		       &relay_cause_DOWN_MALFORMED;
	if (route->redirect.status)
		return *detail = "the route redirects", &relay_cause_ROUTE_REDIRECT;
	if (route->answer.status)
		return *detail = "the route answers", &relay_cause_FIXED_ANSWER;
	if (route->folder.path)
		return *detail = "the route answers from a folder", &relay_cause_FILE;
	if (route_rewrites(route, request->path) && route_leaves_rewrite(route, request->path))
		return *detail = "the path points out of what is rewritten",
		       &relay_cause_DOWN_MALFORMED;
	if (request->method_token == HTTP_METHOD_OTHER && route->rewrite.is_given &&
	    route_destination_leaves(request, route))
		return *detail = "Destination points out of what is rewritten",
		       &relay_cause_DOWN_MALFORMED;
	return NULL;
}

const struct relay_cause *route_admit(
    const struct route_env *env, struct request_facts *f, struct arena *a, const char **detail)
{
	const struct http_head *head = f->head;
	const struct conf_listen *l = f->listener;
	bool is_forward = conf_listen_is_forward(l);
	if (!is_forward && head->method_token == HTTP_METHOD_CONNECT && head->protocol.len == 0)
		return *detail = "CONNECT is for forward proxies", &relay_cause_NOT_IMPLEMENTED;
	if (f->came_through && http_via_has(head, env->pseudonym))
		return *detail = "the request has been here before", &relay_cause_LOOP;
	if (is_forward)
		return route_admit_forward(f, a, detail);
	if (l && l->client_auth && route_is_for_other_clients(f, head))
		return *detail = "the host asks clients for other certificates than the name of "
				 "the handshake (SNI)",
		       &relay_cause_MISDIRECTED;
	const struct relay_cause *refusal = route_check_scheme(f, detail);
	return !refusal && l && l->redirect_to_https ? to_https(head, detail) : refusal;
}

uint64_t route_body_limit(const struct request_facts *f, const struct conf_route *route)
{
	if (route->max_request_body.is_given)
		return route->max_request_body.bytes;
	return f->listener ? f->listener->max_request_body_bytes : 0;
}

static bool is_too_large(const struct request_facts *f, const struct conf_route *route)
{
	uint64_t most = route_body_limit(f, route);
	uint64_t length = f->head->content_length;
	return most > 0 && length != HTTP_LENGTH_UNKNOWN && length > most;
}

const struct relay_cause *route_find(const struct route_env *env, const struct request_facts *f,
    struct effort *effort, struct request_routing *r, const char **detail)
{
	const struct http_head *head = f->head;
	const struct conf_listen *l = f->listener;
	const struct router *router = env->router;
	const struct conf_route *route = NULL;
	const struct relay_cause *refusal;
	*r = (struct request_routing){0};
	if (l && l->mode != CONF_MODE_GATEWAY) {
		if (l->mode == CONF_MODE_ADMIN)
			return &relay_cause_ADMIN_PAGE;
		router = env->forward_router;
	}
	switch (router_find(router, f, &route, NULL, effort)) {
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
	r->place = (struct relay_place){route, route_side(route, &f->client)};
	refusal = answer_of_route(head, route, detail);
	if (refusal)
		return refusal;
	bool is_call = http_is_grpc_call(head);
	r->is_streaming = route->streaming || is_call;
	if (head->method_token == HTTP_METHOD_CONNECT || head->upgrade.len > 0) {
		refusal = find_tunnel(head, r, detail);
		if (refusal || r->is_tunnel)
			return refusal;
	}
	r->is_call = is_call;
	if (is_call)
		r->call_timeout = http_grpc_timeout(head);
	return is_too_large(f, route) ? &relay_cause_UPLOAD_LARGE : last_hop(head, detail);
}
