/* SPDX-License-Identifier: MIT */
/*
 * Facts from a request's own fields: whether it is a navigation, saves data, or revalidates; and
 * its draw for `share` (Fetch metadata, client hints, RFC 9110 13, RFC 9111 5.2.1.4).
 */
#include "policy/policy.h"
#include "proxy/base/hash.h"
#include "proxy/http/cache_control.h"

enum policy_navigation policy_navigation_of(const struct http_head *request)
{
	const struct http_field *mode = http_head_find(request, HTTP_TOKEN_SEC_FETCH_MODE);

	if (!mode)
		return POLICY_NAVIGATION_UNKNOWN;
	return slice_equal_nocase(mode->value, SLICE("navigate")) ? POLICY_NAVIGATION_YES
								  : POLICY_NAVIGATION_NO;
}

bool policy_save_data_of(const struct http_head *request)
{
	const struct http_field *field = http_head_find(request, HTTP_TOKEN_SAVE_DATA);

	/* A structured item (RFC 8941); its parameters are ignored. */
	return field && slice_equal_nocase(
			    slice_trim(slice_sub(field->value, 0, slice_find(field->value, ';'))),
			    SLICE("on"));
}

bool policy_revalidates(const struct http_head *request)
{
	return http_head_find(request, HTTP_TOKEN_IF_NONE_MATCH) ||
	       http_head_find(request, HTTP_TOKEN_IF_MODIFIED_SINCE) ||
	       http_cache_control(request).no_cache;
}

uint32_t policy_draw(const struct address *client, struct slice authority, struct slice path)
{
	/*
	 * The hash has no secret, so that it is stable over restarts; a client can compute its
	 * draw.
	 */
	uint64_t hash = hash_bytes(1, client->bytes, sizeof client->bytes);

	hash = hash_bytes(hash, authority.ptr, authority.len);
	hash = hash_bytes(hash, path.ptr, slice_find(path, '?'));
	return (uint32_t)(hash % POLICY_DRAWS);
}

/* ---- found out once for a request ---- */

size_t policy_request_bytes(const struct policy_rules *rules)
{
	return sizeof(struct policy_request) + rules->count;
}

void policy_request_init(struct policy_request *r, const struct policy_rules *rules,
    const struct http_head *request, const struct address *client)
{
	r->save_data = policy_save_data_of(request);
	r->revalidates = policy_revalidates(request);
	r->navigation = policy_navigation_of(request);
	r->draw = policy_draw(client, request->authority, request->path);
	r->rule_count = rules->count;
	memset(r->matches, POLICY_MATCH_UNKNOWN, rules->count);
}
