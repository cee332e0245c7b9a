/* SPDX-License-Identifier: MIT */
/*
 * Certificates of clients. A certificate belongs to the host that asked for it: on the connection of one host no request
 * is served for another one whose clients are asked for something else (RFC 9110 7.4). The fields that tell an origin of
 * it are those of RFC 9440; a client's own are taken out as fields of one hop are (http/next_hop.c), and other spellings
 * of them by route_drop_spellings.
 */
#include "proxy/http/authority.h"
#include "proxy/route/route.h"

bool route_is_for_other_clients(const struct request_facts *f, const struct http_head *request)
{
	const struct conf_client_auth *auth = f->listener->client_auth;
	struct http_authority authority = {.host = SLICE("")};
	if (!auth->has_hosts)
		return false;
	if (request->authority.len > 0 &&
	    !http_authority_parse(request->authority, request->scheme, &authority))
		return true;
	return conf_client_ca_of_host(auth, authority.host) != f->client_ca;
}

void route_set_client_cert(
    const struct request_facts *f, const struct conf_route *route, struct http_head *head)
{
	const struct client_certificate *certificate = f->certificate;
	if (route->client_cert == CONF_CLIENT_CERT_NO || conf_listen_is_forward(f->listener))
		return;
	http_head_add_token(head, HTTP_TOKEN_CLIENT_CERT, certificate->leaf);
	if (route->client_cert == CONF_CLIENT_CERT_CHAIN && certificate->chain.len > 0)
		http_head_add_token(head, HTTP_TOKEN_CLIENT_CERT_CHAIN, certificate->chain);
}
