/* SPDX-License-Identifier: MIT */
/*
 * Facts from a request's own fields: whether it is a navigation, a speculative load, saves data, or
 * revalidates; and its draw for `share` (Fetch metadata, client hints, RFC 9110 13, RFC 9111 5.2.1.4).
 */
#include "policy/policy.h"
#include "proxy/base/hash.h"
#include "proxy/http/cache_control.h"

enum policy_navigation policy_navigation_of(const struct http_head *request)
{
	const struct http_field *dest = http_head_find(request, HTTP_TOKEN_SEC_FETCH_DEST);
	const struct http_field *field =
	    dest ? dest : http_head_find(request, HTTP_TOKEN_SEC_FETCH_MODE);

	if (!field)
		return POLICY_NAVIGATION_UNKNOWN;
	return slice_equal_nocase(field->value, dest ? SLICE("document") : SLICE("navigate"))
		   ? POLICY_NAVIGATION_YES
		   : POLICY_NAVIGATION_NO;
}

/* The item before its parameters (RFC 8941), which are cut off too. */
static struct slice next_part(struct slice *rest)
{
	size_t end = slice_find(*rest, ';');
	struct slice part = slice_trim(slice_sub(*rest, 0, end));

	*rest = slice_from(*rest, end + 1);
	return part;
}

static enum policy_purpose purpose_in(struct slice value)
{
	if (!slice_equal_nocase(next_part(&value), SLICE("prefetch")))
		return POLICY_PURPOSE_NONE;
	while (value.len > 0)
		if (slice_equal_nocase(next_part(&value), SLICE("prerender")))
			return POLICY_PURPOSE_PRERENDER;
	return POLICY_PURPOSE_PREFETCH;
}

enum policy_purpose policy_purpose_of(const struct http_head *request)
{
	static const struct slice names[] = {
	    SLICE_INIT("sec-purpose"), SLICE_INIT("purpose"), SLICE_INIT("x-moz")};
	enum policy_purpose purpose = POLICY_PURPOSE_NONE;

	for (uint32_t i = 0; i < request->count; i++) {
		const struct http_field *f = &request->fields[i];
		if (f->token != HTTP_TOKEN_NONE ||
		    !slice_is_among(f->name, names, sizeof names / sizeof *names))
			continue;
		enum policy_purpose said = purpose_in(f->value);
		if (said > purpose) /* Chromium sends "purpose: prefetch" beside the newer field */
			purpose = said;
	}
	return purpose;
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
	const struct http_cache_control cc = http_cache_control(request);
	return http_head_find(request, HTTP_TOKEN_IF_NONE_MATCH) ||
	       http_head_find(request, HTTP_TOKEN_IF_MODIFIED_SINCE) || cc.no_cache ||
	       (cc.has_max_age && cc.max_age_sec == 0); /* a browser that reloads the page */
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
	r->purpose = policy_purpose_of(request);
	r->mishandles_hints = POLICY_MATCH_UNKNOWN;
	r->draw = policy_draw(client, request->authority, request->path);
	r->rule_count = rules->count;
	memset(r->matches, POLICY_MATCH_UNKNOWN, rules->count);
}
