/* SPDX-License-Identifier: MIT */
/* Forward mode: what an origin may promise. */
#include "proxy/offer/offer.h"

#include "proxy/http/authority.h"

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
