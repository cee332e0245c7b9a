/* SPDX-License-Identifier: MIT */
/* The urgency of a pushed response, relative to its parent (RFC 9218). */
#include "policy/policy.h"
#include "proxy/base/ensure.h"

/* How many steps less urgent than its parent a push of each type is. */
static const uint8_t steps_below_parent[POLICY_TYPE_COUNT] = {
    [POLICY_TYPE_UNKNOWN] = 2,
    [POLICY_TYPE_DOCUMENT] = 1,
    [POLICY_TYPE_STYLE] = 1,
    [POLICY_TYPE_SCRIPT] = 1,
    [POLICY_TYPE_IMAGE] = 2,
    [POLICY_TYPE_FONT] = 1,
    [POLICY_TYPE_JSON] = 2,
    [POLICY_TYPE_MEDIA] = 3,
};

static struct http_priority less_urgent(
    struct http_priority parent, unsigned steps, bool is_incremental)
{
	unsigned urgency = parent.urgency + steps;
	return (struct http_priority){(uint8_t)(urgency < 7 ? urgency : 7), is_incremental};
}

struct http_priority policy_urgency(const struct policy_rule *rule, enum policy_type type,
    struct http_priority parent, struct slice own)
{
	int urgency = rule ? rule->urgency : POLICY_URGENCY_AUTO;

	ensure((unsigned)type < POLICY_TYPE_COUNT);
	if (urgency >= 0)
		return (struct http_priority){(uint8_t)(urgency < 7 ? urgency : 7), false};
	if (urgency == POLICY_URGENCY_BEFORE)
		return (struct http_priority){
		    (uint8_t)(parent.urgency ? parent.urgency - 1 : 0), false};
	if (urgency == POLICY_URGENCY_INTERLEAVED)
		return (struct http_priority){parent.urgency, true};
	if (urgency == POLICY_URGENCY_AUTO && own.len > 0)
		return http_priority_parse(own);
	return less_urgent(parent, urgency == POLICY_URGENCY_AFTER ? 1 : steps_below_parent[type],
	    urgency == POLICY_URGENCY_AUTO && type == POLICY_TYPE_IMAGE);
}
