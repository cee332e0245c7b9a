/* SPDX-License-Identifier: MIT */
/*
 * What requests and responses say of rules: Sec-Speculation-Tags, Sec-Fetch-Dest, Speculation-Rules. That a load is
 * speculative is a fact for rules of pushes too (policy_purpose_of).
 */
#include "proxy/speculation/speculation.h"

static struct slice value_of(const struct http_head *head, struct slice name)
{
	for (uint32_t i = 0; i < head->count; i++)
		if (slice_equal_nocase(head->fields[i].name, name))
			return head->fields[i].value;
	return SLICE("");
}

struct slice speculation_tags(const struct http_head *request)
{
	return value_of(request, SLICE("sec-speculation-tags"));
}

bool speculation_is_page(const struct http_head *request, const struct http_head *response)
{
	const struct http_field *dest = http_head_find(request, HTTP_TOKEN_SEC_FETCH_DEST);
	return response->status == 200 && request->method_token == HTTP_METHOD_GET && dest &&
	       slice_equal(dest->value, SLICE("document")) &&
	       slice_equal_nocase(http_head_media_type(response), SLICE("text/html"));
}

bool speculation_has_rules(const struct http_head *response)
{
	return value_of(response, SLICE("speculation-rules")).len > 0;
}
