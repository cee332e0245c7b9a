/* SPDX-License-Identifier: MIT */
/*
 * What need not be found out again for each offer of one request: facts from its fields, and of each rule whether the
 * request's texts, its client and its user match. It belongs to the request, and lies in its owner's memory.
 */
#ifndef PUSHGATE_POLICY_REQUEST_ANSWERS_H
#define PUSHGATE_POLICY_REQUEST_ANSWERS_H

#include "policy/policy.h"

struct policy_request {
	bool save_data, revalidates; /* policy_save_data_of, policy_revalidates */
	enum policy_navigation navigation;
	uint32_t draw;
	size_t rule_count;
	uint8_t matches[]; /* of each rule: enum policy_rule_match */
};
enum policy_rule_match { POLICY_MATCH_UNKNOWN, POLICY_MATCH_NO, POLICY_MATCH_YES };

size_t policy_request_bytes(const struct policy_rules *rules);
/* r has policy_request_bytes(rules). */
void policy_request_init(struct policy_request *r, const struct policy_rules *rules,
    const struct http_head *request, const struct address *client);

#endif
