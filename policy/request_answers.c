/* SPDX-License-Identifier: MIT */
/* The facts about a request that all decisions on its offers share; see request.h. */
#include "policy/request_answers.h"

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
