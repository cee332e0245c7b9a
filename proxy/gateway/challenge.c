/* SPDX-License-Identifier: MIT */
/*
 * Answers an authority of ACME that asks over cleartext whether pushgate serves a host (RFC 8555 8.3). The answer follows
 * from the token in the path and from the key of the account: the worker need not know which challenges are open. No other
 * account can use it.
 */
#include "proxy/acme/acme.h"
#include "proxy/gateway/gateway_private.h"
#include "proxy/http/authority.h"

/* One of the names that listeners with acme have: other hosts' challenges are their origins'. */
static bool is_named(const struct conf *conf, struct slice host)
{
	for (size_t i = 0; i < conf->listen_count; i++) {
		const struct conf_acme_listen *acme = conf->listens[i].acme;
		for (size_t k = 0; acme && k < acme->count; k++)
			if (slice_equal_nocase(slice_of_string(acme->names[k]), host))
				return true;
	}
	return false;
}

bool challenge_serves(const struct gateway *g, struct exchange *x)
{
	const struct http_head *head = x->request;
	const struct conf_listen *listen = x->facts.listener;
	struct http_authority authority;
	if (!*g->acme_thumbprint || listen->certificate_count > 0 ||
	    listen->mode != CONF_MODE_GATEWAY ||
	    (head->method_token != HTTP_METHOD_GET && head->method_token != HTTP_METHOD_HEAD) ||
	    acme_path_token(head->path).len == 0 ||
	    !http_authority_parse(head->authority, SLICE("http"), &authority) ||
	    !is_named(g->env.conf, authority.host))
		return false;
	exchange_refuse(x, &relay_cause_ACME_CHALLENGE, NULL);
	return true;
}

struct slice challenge_text(const struct gateway *g, struct exchange *x)
{
	struct slice token = acme_path_token(x->request->path);
	return arena_printf(exchange_arena(x), "%.*s.%s", SLICE_ARG(token), g->acme_thumbprint);
}
