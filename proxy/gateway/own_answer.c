/* SPDX-License-Identifier: MIT */
/* What the gateway adds to pushgate's own answers: bodies of the configuration, where a redirect leads, HSTS,
 * and the status that a call of gRPC gets. */
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
	const char *tls = client_part(x)->hop.tls;
	/* RFC 6797 7.2: never in cleartext */
	return l && l->hsts && tls && *tls ? slice_of_string(l->hsts) : SLICE("");
}

/* Causes of which more is known than their HTTP status says. */
static const struct {
	const struct relay_cause *cause;
	enum grpc_status status;
} grpc_statuses[] = {
    /* A request that cannot be read is no call, and HTTP demands the status (RFC 9112 3, 3.2, 5.1, 6.3). */
    {&relay_cause_DOWN_MALFORMED, GRPC_OK},
    {&relay_cause_REQUEST_LATE, GRPC_OK},
    {&relay_cause_TARGET_LARGE, GRPC_OK},
    {&relay_cause_CODING_UNKNOWN, GRPC_OK},
    {&relay_cause_VERSION_UNKNOWN, GRPC_OK},
    {&relay_cause_CALL_LATE, GRPC_DEADLINE_EXCEEDED},
    {&relay_cause_REQUEST_DEADLINE, GRPC_DEADLINE_EXCEEDED},
    {&relay_cause_HEAD_LATE, GRPC_DEADLINE_EXCEEDED},
    {&relay_cause_STREAM_IDLE, GRPC_DEADLINE_EXCEEDED},
    {&relay_cause_UPLOAD_LATE, GRPC_DEADLINE_EXCEEDED},
    {&relay_cause_UPLOAD_LARGE, GRPC_RESOURCE_EXHAUSTED},
    {&relay_cause_HEAD_LARGE, GRPC_RESOURCE_EXHAUSTED},
    {&relay_cause_UP_TAKES_LESS, GRPC_RESOURCE_EXHAUSTED},
    {&relay_cause_UP_FIELDS_LARGE, GRPC_RESOURCE_EXHAUSTED},
    {&relay_cause_REQUEST_RATE, GRPC_RESOURCE_EXHAUSTED},
    {&relay_cause_REQUEST_CONCURRENCY, GRPC_RESOURCE_EXHAUSTED},
    {&relay_cause_USER_FAILURES, GRPC_RESOURCE_EXHAUSTED},
    {&relay_cause_PROXY_USER_UNKNOWN, GRPC_UNAUTHENTICATED},
    /* The origin may have processed the call: UNAVAILABLE would invite the client to send it again. */
    {&relay_cause_UP_MALFORMED, GRPC_INTERNAL},
    {&relay_cause_UP_FAULT, GRPC_INTERNAL},
    {&relay_cause_UP_ERROR, GRPC_INTERNAL},
    {&relay_cause_LOOP, GRPC_INTERNAL},
    {&relay_cause_MISDIRECTED, GRPC_UNIMPLEMENTED},
    {&relay_cause_UNTRUSTED_SCHEME, GRPC_UNIMPLEMENTED},
    {&relay_cause_NOT_IMPLEMENTED, GRPC_UNIMPLEMENTED},
    {&relay_cause_NEEDS_HTTP2, GRPC_UNIMPLEMENTED},
};

static enum grpc_status grpc_status_of(const struct exchange_ending *ending, uint16_t http_status)
{
	if (ending->cause == &relay_cause_UP_RESET)
		return http_grpc_status_of_reset(ending->code);
	for (size_t i = 0; i < sizeof(grpc_statuses) / sizeof(grpc_statuses[0]); i++)
		if (grpc_statuses[i].cause == ending->cause)
			return grpc_statuses[i].status;
	return http_grpc_status(http_status);
}

/* What passes by itself: clients that come back at once, all at the same time, would make it last. */
#define RETRY_AFTER_SEC 1u

static uint32_t retry_after(const struct relay_cause *cause)
{
	static const struct relay_cause *const passing[] = {
	    &relay_cause_QUEUE_FULL,
	    &relay_cause_TUNNELS_FULL,
	    &relay_cause_SUBSCRIPTIONS_FULL,
	    &relay_cause_NO_MEMORY,
	    &relay_cause_MEMORY_SHORT,
	    &relay_cause_MEMORY_STALLED,
	    &relay_cause_SHED,
	    &relay_cause_UP_UNREACHABLE,
	    &relay_cause_UP_UNROUTABLE,
	    &relay_cause_UP_UNPROCESSED,
	    &relay_cause_USERS_BUSY,
	};
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (passing[i] == cause)
			return RETRY_AFTER_SEC;
	return 0;
}

/* How a client shows who its user is (RFC 7617 2). */
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
	const struct gateway *g = context;
	const struct conf_route *route = x->place.route;
	answer->transport_security = gateway_transport_security(x);
	uint32_t refused_for = admission_part(x)->retry_after;
	answer->retry_after = refused_for > 0 ? refused_for : retry_after(x->ending.cause);
	bool is_redirect = x->ending.cause == &relay_cause_ROUTE_REDIRECT;
	bool is_fixed = x->ending.cause == &relay_cause_FIXED_ANSWER;
	if (is_redirect || is_fixed) /* by another field the request might have another route */
		answer->vary = g->env.conf->condition_fields;
	if (x->ending.cause == &relay_cause_PAC_FILE) {
		answer->details = NULL;
		answer->body = pac_text(g, x);
		answer->content_type = "application/x-ns-proxy-autoconfig";
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
		answer->location = route_redirect_target(&g->routes, x->request, exchange_arena(x));
}
