/* SPDX-License-Identifier: MIT */
/* Forward mode: what a request must be, where it goes by what it says itself, and what its origin may promise. */
#include "proxy/offer/offer.h"

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

RARE const struct relay_cause *offer_admit_forward(struct exchange *x, const char **detail)
{
	struct http_authority authority;
	const struct http_head *head = x->request;
	const struct relay_cause *refusal = check_target(head, detail);
	if (refusal)
		return refusal;
	if (offer_target_of(x))
		return NULL;
	/* uncovered: a head without a readable authority is malformed */
	if (!http_authority_parse(head->authority, head->scheme, &authority) || authority.port == 0)
		return *detail = "no host and port", &relay_cause_NO_TARGET;
	return *detail = "host-strange", &relay_cause_HOST_STRANGE;
}

bool offer_read_target(const struct http_head *request, struct offer_target *target)
{
	struct http_authority authority;
	target->is_tunnel =
	    request->method_token == HTTP_METHOD_CONNECT && request->protocol.len == 0;
	target->is_tls = slice_equal_nocase(request->scheme, SLICE("https"));
	if (!http_authority_parse(request->authority, request->scheme, &authority) ||
	    authority.port == 0)
		return false;
	target->port = authority.port;
	target->request = request;
	enum http_host_kind kind = http_host_read(authority.host, target->host, &target->address);
	target->is_address = kind == HTTP_HOST_ADDRESS;
	return kind != HTTP_HOST_STRANGE;
}

/* ---- promises ---- */

/* Only for names: an address in a certificate says nothing of who may reach it from here. */
static bool is_covered(const struct offer_env *env, const struct exchange *parent,
    struct slice scheme, struct slice host)
{
	char name[HTTP_HOST_TEXT];
	struct address address;
	return slice_equal(scheme, SLICE("https")) && env->promiser &&
	       http_host_read(host, name, &address) == HTTP_HOST_NAME &&
	       env->promiser->covers(parent, slice_of_string(name));
}

bool offer_may_promise_forward(
    const struct offer_env *env, const struct exchange *parent, struct http_head *promised)
{
	const struct http_head *request = parent->request;
	struct http_authority theirs, own;
	if (!slice_equal_nocase(promised->scheme, request->scheme) ||
	    !http_authority_parse(promised->authority, request->scheme, &theirs) ||
	    !http_authority_parse(request->authority, request->scheme, &own) ||
	    theirs.port != own.port)
		return false;
	promised->scheme = arena_copy(&promised->arena, request->scheme);
	http_head_remove(promised, HTTP_TOKEN_HOST);
	if (!http_authority_equal(&theirs, &own))
		return is_covered(env, parent, promised->scheme, theirs.host);
	if (!slice_equal(promised->authority, request->authority))
		promised->authority = arena_copy(&promised->arena, request->authority);
	return true;
}

const struct offer_target *offer_target_of(struct exchange *x)
{
	struct offer_target target;
	if (!offer_known_target(x) && offer_read_target(x->request, &target)) {
		struct offer_target *kept = arena_alloc(exchange_arena(x), sizeof(target));
		*kept = target;
		x->context.target = kept;
	}
	return offer_known_target(x);
}
