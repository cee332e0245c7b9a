/* SPDX-License-Identifier: MIT */
/* Whether a client is known to mishandle a 103 (Early Hints), by its User-Agent; see hint_clients.h. */
#include "policy/hint_clients.h"

static const struct hint_client {
	struct slice product, from, below;
} clients[] = {
#define HINT_CLIENT(product, from, below, happens, source)                                         \
	{SLICE_INIT(product), SLICE_INIT(from), SLICE_INIT(below)},
    POLICY_HINT_CLIENTS(HINT_CLIENT)
#undef HINT_CLIENT
};

/* Returns the first number of the version, 4 of "4.12.0", and leaves "12.0" of it. Text that begins with no digit counts as
 * 0, and nothing is left of the version. */
static uint32_t next_number(struct slice *version)
{
	uint32_t number = 0;
	size_t i = 0;

	for (; i < version->len && version->ptr[i] >= '0' && version->ptr[i] <= '9'; i++)
		if (number < UINT32_MAX / 10)
			number = 10 * number + (uint32_t)(version->ptr[i] - '0');
	bool goes_on = i > 0 && i < version->len && version->ptr[i] == '.';
	*version = goes_on ? slice_from(*version, i + 1) : (struct slice){0};
	return number;
}

static bool is_below(struct slice version, struct slice bound)
{
	while (version.len > 0 || bound.len > 0) {
		uint32_t a = next_number(&version), b = next_number(&bound);
		if (a != b)
			return a < b;
	}
	return false;
}

static bool is_row_of(const struct hint_client *row, struct slice user_agent)
{
	if (!slice_starts_with(user_agent, row->product))
		return false;
	struct slice rest = slice_from(user_agent, row->product.len);
	if (row->below.len == 0)
		return rest.len == 0 || rest.ptr[0] == '/';
	if (rest.len < 2 || rest.ptr[0] != '/')
		return false;
	struct slice version = slice_from(rest, 1);
	return is_below(version, row->below) && !is_below(version, row->from);
}

bool policy_hint_client_is_known(struct slice user_agent)
{
	for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
		if (is_row_of(&clients[i], user_agent))
			return true;
	return false;
}

static bool mishandles(const struct http_head *request)
{
	const struct http_field *agent = http_head_find(request, HTTP_TOKEN_USER_AGENT);

	return agent && policy_hint_client_is_known(agent->value);
}

bool policy_mishandles_hints(const struct policy_offer *offer)
{
	struct policy_request *known = offer->request;

	if (!known)
		return mishandles(offer->parent);
	if (known->mishandles_hints == POLICY_MATCH_UNKNOWN)
		known->mishandles_hints =
		    mishandles(offer->parent) ? POLICY_MATCH_YES : POLICY_MATCH_NO;
	return known->mishandles_hints == POLICY_MATCH_YES;
}
