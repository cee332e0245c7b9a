/* SPDX-License-Identifier: MIT */
/* What the configuration has for pushgate's own answers: bodies, where a redirect leads, and HSTS. */
#include "proxy/gateway/private.h"

#include "proxy/http/authority.h"
#include "proxy/http/via.h"

static const struct conf_error_body *find_body(const struct conf *conf, uint16_t status)
{
	const struct conf_error_body *any = NULL;
	for (size_t i = 0; i < conf->error_body_count; i++) {
		const struct conf_error_body *b = &conf->error_bodies[i];
		if (b->status == status)
			return b;
		if (b->status == 0)
			any = b;
	}
	return any;
}

/* The URI that was asked for, with https and its port. The target "*" has no path (RFC 9110 7.1). */
static struct slice secure_location(struct exchange *x)
{
	const struct http_head *request = x->request;
	struct arena *a = exchange_arena(x);
	struct http_authority authority;
	/* uncovered: offer_route has parsed it */
	if (!http_authority_parse(request->authority, request->scheme, &authority))
		return SLICE("");
	uint16_t port = x->context.listen->redirect_port;
	struct slice path = request->path;
	if (slice_equal(path, SLICE("*")))
		path = SLICE("");
	if (port == 443)
		return arena_printf(
		    a, "https://%.*s%.*s", SLICE_ARG(authority.host), SLICE_ARG(path));
	return arena_printf(
	    a, "https://%.*s:%u%.*s", SLICE_ARG(authority.host), (unsigned)port, SLICE_ARG(path));
}

struct slice gateway_transport_security(const struct exchange *x)
{
	const struct conf_listen *l = x->context.listen;
	const char *tls = x->context.down.tls;
	/* RFC 6797 7.2: never in cleartext */
	return l && l->hsts && tls && *tls ? slice_of_string(l->hsts) : SLICE("");
}

void gateway_own_answer(void *context, struct exchange *x, struct http_own_answer *answer)
{
	const struct gateway *g = context;
	const struct conf_error_body *body = find_body(g->env.conf, answer->status);
	if (answer->status >= 400 && body) {
		answer->body = body->body;
		answer->content_type = body->content_type;
	}
	if (x->ending.cause == &relay_cause_REDIRECT)
		answer->location = secure_location(x);
	answer->transport_security = gateway_transport_security(x);
}
