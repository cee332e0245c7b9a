/* SPDX-License-Identifier: MIT */
/*
 * The cookie that keeps a client at its server. Its value is the server's key in hexadecimal: nothing about the
 * client, and nothing that must be kept. Origins do not see it, and a response that sets it is for its client alone.
 */
#include "proxy/http/cache_control.h"
#include "proxy/upstream/destination.h"
#include "proxy/upstream/upstream.h"
#include <inttypes.h>
#include <string.h>

#define KEY_DIGITS 16u

/* 0: it is no key. */
static uint64_t read_key(struct slice text)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t key = 0;

	if (text.len != KEY_DIGITS)
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		const char *digit = strchr(digits, text.ptr[i]);
		if (!digit || text.ptr[i] == '\0')
			return 0;
		key = key << 4 | (uint64_t)(digit - digits);
	}
	return key;
}

void upstream_read_affinity(struct exchange *x)
{
	const char *name = x->place.origin->balance.affinity_cookie;
	const struct exchange *parent = x->pushed.parent;
	uint64_t key = read_key(exchange_cut_cookie(x, slice_of_string(name)));

	if (key == 0 && parent && parent->place.origin == x->place.origin)
		key = attempt_of(parent)->affinity;
	if (key != 0)
		attempt_of(x)->affinity = key;
}

void upstream_add_affinity(const struct exchange *x, struct http_head *response)
{
	const struct server *s = given_server(x);

	if (!s || exchange_is_push(x) || s->member.key == attempt_of(x)->affinity)
		return;
	bool is_secure = slice_equal(x->request->scheme, SLICE("https"));
	http_head_add_token(response, HTTP_TOKEN_SET_COOKIE,
	    arena_printf(&response->arena, "%s=%016" PRIx64 "; Path=/; HttpOnly; SameSite=Lax%s",
		x->place.origin->balance.affinity_cookie, s->member.key,
		is_secure ? "; Secure" : ""));
	if (!http_cache_control(response).no_store)
		http_head_add_token(response, HTTP_TOKEN_CACHE_CONTROL, SLICE("private"));
}
