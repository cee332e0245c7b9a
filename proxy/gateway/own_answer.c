/* SPDX-License-Identifier: MIT */
/* The gateway's part of pushgate's own answers: bodies of the configuration, the target of a redirect, HSTS, and the
 * status that a call of gRPC gets. */
#include "proxy/gateway/gateway_private.h"

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
	/* uncovered: route_find has parsed it */
	if (!http_authority_parse(request->authority, request->scheme, &authority))
		return SLICE("");
	uint16_t port = x->facts.listener->redirect_port;
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
	const struct conf_listen *l = x->facts.listener;
	const char *tls = x->facts.tls;
	/* RFC 6797 7.2: never in cleartext */
	return l && l->hsts && tls && *tls ? slice_of_string(l->hsts) : SLICE("");
}

static enum grpc_status grpc_status_of(const struct exchange_ending *ending, uint16_t http_status)
{
	if (ending->cause == &relay_cause_UP_RESET)
		return http_grpc_status_of_reset(ending->code);
	if (ending->cause->grpc_status == RELAY_GRPC_BY_STATUS)
		return http_grpc_status(http_status);
	return (enum grpc_status)ending->cause->grpc_status;
}

/* Clients that came back at once, all at the same time, would make the reason last. */
#define RETRY_AFTER_SEC 1u

static uint32_t retry_after(const struct exchange *x)
{
	uint32_t own = admission_part(x)->retry_after;
	return own == 0 && x->ending.cause->passes_soon ? RETRY_AFTER_SEC : own;
}

/* Asks for the user's name and password (RFC 7617 2). */
static struct slice challenge(struct exchange *x)
{
	const struct conf_access *access = x->facts.listener->access;
	bool asks = x->ending.cause == &relay_cause_USER_UNKNOWN ||
		    x->ending.cause == &relay_cause_PROXY_USER_UNKNOWN;
	if (!asks || !access)
		return SLICE("");
	return arena_printf(
	    exchange_arena(x), "Basic realm=\"%s\", charset=\"UTF-8\"", access->realm);
}

void gateway_own_answer(void *context, struct exchange *x, struct http_own_answer *answer)
{
	struct gateway *g = context;
	const struct conf_route *route = x->place.route;
	if (x->facts.listener->mode == CONF_MODE_ADMIN)
		admin_own_answer(g->admin, x, answer);
	if (x->ending.cause == &relay_cause_ADMIN_PAGE)
		return;
	answer->transport_security = gateway_transport_security(x);
	answer->retry_after = retry_after(x);
	bool is_redirect = x->ending.cause == &relay_cause_ROUTE_REDIRECT;
	bool is_fixed = x->ending.cause == &relay_cause_FIXED_ANSWER;
	bool is_file = x->ending.cause == &relay_cause_FILE;
	/* By another field the request might have another route. */
	if (is_redirect || is_fixed || is_file)
		answer->vary = g->env.conf->condition_fields;
	if (is_file)
		file_answer(x, answer);
	if (x->ending.cause == &relay_cause_ACME_CHALLENGE) {
		answer->details = NULL;
		answer->body = challenge_text(g, x);
		answer->content_type = "application/octet-stream";
		return;
	}
	if (x->ending.cause == &relay_cause_PAC_FILE) {
		answer->details = NULL;
		answer->body = pac_text(g, x);
		answer->content_type = "application/x-ns-proxy-autoconfig";
		return;
	}
	if (x->ending.cause == &relay_cause_SPECULATION_RULES) {
		speculation_answer(g, x, answer);
		return;
	}
	if (is_redirect)
		answer->status = route->redirect.status;
	if (is_fixed) {
		answer->status = route->answer.status;
		answer->details = NULL;
	}
	if (http_is_grpc_call(x->request))
		answer->grpc_status = grpc_status_of(&x->ending, answer->status);
	if (answer->grpc_status != GRPC_OK)
		return;
	answer->challenge = challenge(x);
	const struct conf_error_body *body = find_body(g->env.conf, answer->status);
	if (answer->status >= 400 && body) {
		answer->body = body->body;
		answer->content_type = body->content_type;
	}
	if (is_fixed && route->answer.content_type) {
		answer->body = route->answer.body;
		answer->content_type = route->answer.content_type;
	}
	if (x->ending.cause == &relay_cause_REDIRECT)
		answer->location = secure_location(x);
	if (is_redirect)
		answer->location = route_redirect_target(&g->routes, &x->facts, exchange_arena(x));
}
