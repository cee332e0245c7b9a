/* SPDX-License-Identifier: MIT */
/*
 * Trailers (RFC 9110 6.5). Some recipients merge them into the fields of the head: what may not stand there, because
 * the route sets or removes it or pushgate writes it, must not come behind it either.
 */
#include "proxy/route/route.h"

/* A gateway that asks for users takes Authorization for its own; it cannot be sent as a trailer at all. */
static bool asks_for_users(const struct conf_listen *l)
{
	return l && l->access && l->access->users && !conf_listen_is_forward(l) &&
	       access_asks_for_users(l);
}

void route_request_trailers(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *trailers)
{
	route_drop_spellings(l, route, trailers);
	route_remove_forwarding(trailers);
	if (asks_for_users(l))
		http_head_remove(trailers, HTTP_TOKEN_AUTHORIZATION);
	if (route)
		route_remove_fields(&route->request_fields, trailers);
}

void route_response_trailers(const struct conf_route *route, struct http_head *trailers)
{
	route_remove_forwarding(trailers);
	if (route)
		route_remove_fields(&route->response_fields, trailers);
}
