/* SPDX-License-Identifier: MIT */
/* Forward mode: what a request must be, and where it goes by what it says itself. */
#include "proxy/route/route.h"

#include "proxy/base/rare.h"
#include "proxy/http/authority.h"
#include "proxy/relay/relay.h"

/* RFC 9112 3.2.2: a client of a proxy names the whole URI; over HTTP/2 it always does. */
static const struct relay_cause *check_target(const struct http_head *head, const char **detail)
{
	if (head->scheme_from_connection)
		return *detail = "this is a proxy: the target must be a whole URI",
		       &relay_cause_NO_TARGET;
	if (head->scheme.len > 0 && !http_scheme_is_http(head->scheme))
		return *detail = "no scheme that this proxy speaks", &relay_cause_NO_TARGET;
	return NULL;
}

RARE const struct relay_cause *route_admit_forward(
    struct request_facts *f, struct arena *a, const char **detail)
{
	struct http_authority authority;
	const struct http_head *head = f->head;
	const struct relay_cause *refusal = check_target(head, detail);
	if (refusal)
		return refusal;
	if (route_target_of(f, a))
		return NULL;
	/* uncovered: a head without a readable authority is malformed */
	if (!http_authority_parse(head->authority, head->scheme, &authority) || authority.port == 0)
		return *detail = "no host and port", &relay_cause_NO_TARGET;
	return *detail = "host-strange", &relay_cause_HOST_STRANGE;
}

bool route_read_target(const struct http_head *request, struct request_target *target)
{
	struct http_authority authority;
	target->is_tunnel =
	    request->method_token == HTTP_METHOD_CONNECT && request->protocol.len == 0;
	target->is_tls = slice_equal_nocase(request->scheme, SLICE("https"));
	target->path_answers = NULL;
	if (!http_authority_parse(request->authority, request->scheme, &authority) ||
	    authority.port == 0)
		return false;
	target->port = authority.port;
	enum http_host_kind kind = http_host_read(authority.host, target->host, &target->address);
	target->is_address = kind == HTTP_HOST_ADDRESS;
	return kind != HTTP_HOST_STRANGE;
}

static uint8_t *new_path_answers(const struct conf_access *access, struct arena *a)
{
	if (!access || !(access->needs & CONF_ACCESS_PATH))
		return NULL;
	uint8_t *answers = arena_alloc(a, access->rule_count);
	return memset(answers, ACCESS_PATH_UNKNOWN, access->rule_count);
}

const struct request_target *route_target_of(struct request_facts *f, struct arena *a)
{
	struct request_target target;
	if (!f->target && route_read_target(f->head, &target)) {
		target.path_answers = new_path_answers(f->listener->access, a);
		f->target = arena_alloc(a, sizeof(target));
		*f->target = target;
	}
	return f->target;
}
