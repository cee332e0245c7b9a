/* SPDX-License-Identifier: MIT */
/*
 * Trailers (RFC 9110 6.5). Some recipients merge them into the fields of the head: what may not stand there, because
 * the route sets or removes it or pushgate writes it, must not come behind it either.
 */
#include "proxy/route/route.h"

void route_request_trailers(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *trailers)
{
	route_drop_spellings(l, route, trailers);
	route_remove_forwarding(trailers);
	if (l && l->request_id != CONF_REQUEST_ID_OFF)
		http_head_remove(trailers, HTTP_TOKEN_X_REQUEST_ID);
	if (access_takes_authorization(
		l)) /* of any scheme: it cannot be sent as a trailer at all */
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
