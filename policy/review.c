/* SPDX-License-Identifier: MIT */
/*
 * Reviews a push when its response begins, by what the offer could not show: status, type, length.
 */
#include "policy/guards.h"
#include "policy/pattern.h"
#include "proxy/limits.h"

static bool status_is_allowed(
    const struct policy_rule *rule, enum policy_source source, uint16_t status)
{
	if (rule && rule->statuses_allowed != 0)
		return rule->statuses_allowed >> (status / 100) & 1u;
	/* An origin may push an error response; a resource that pushgate requested must exist. */
	return source == POLICY_RELAYED || status < 400;
}

/* Ignores parameters. A response without content-type is not allowed. */
static bool media_is_allowed(const struct policy_rule *rule, const struct http_head *response)
{
	if (!rule || rule->media_types.count == 0)
		return true;
	const struct http_field *field = http_head_find(response, HTTP_TOKEN_CONTENT_TYPE);
	if (!field)
		return false;
	struct slice media = slice_sub(field->value, 0, slice_find(field->value, ';'));
	struct effort effort = effort_of(LIMIT_EFFORT_OF_REQUEST);
	return policy_patterns_take(&rule->media_types, slice_trim(media), true, &effort);
}

static bool length_is_allowed(const struct policy_rule *rule, const struct policy_offer *offer,
    const struct http_head *response)
{
	/* The content-length of a response to HEAD is not sent as a body. */
	return !rule || rule->max_bytes == 0 || offer->promised->method_token == HTTP_METHOD_HEAD ||
	       response->content_length == HTTP_LENGTH_UNKNOWN ||
	       response->content_length <= rule->max_bytes;
}

struct policy_verdict policy_withdraw(
    const struct policy_verdict *decided, const struct policy_reason *why)
{
	struct policy_verdict left = *decided;
	bool hints = decided->action == POLICY_HINT_HOLD;
	left.action = hints ? POLICY_HINT : POLICY_DROP;
	left.lost_half = hints ? why : NULL;
	left.reason = hints ? decided->reason : why;
	return left;
}

struct policy_verdict policy_review(const struct policy_verdict *decided,
    const struct policy_offer *offer, const struct http_head *response)
{
	const struct policy_rule *rule = decided->rule;
	const struct policy_reason *fault = NULL;

	if ((policy_action_parts(decided->action) & POLICY_PART_BODY) == 0 ||
	    http_head_is_interim(response))
		return *decided;
	if (!status_is_allowed(rule, offer->source, response->status))
		fault = &policy_reason_STATUS;
	else if (!media_is_allowed(rule, response))
		fault = &policy_reason_CONTENT_TYPE;
	else if (!length_is_allowed(rule, offer, response))
		fault = &policy_reason_TOO_LARGE;
	else if (policy_action_parts(decided->action) & POLICY_PART_HOLD)
		fault = offer->hold_refusal;
	return fault ? policy_withdraw(decided, fault) : *decided;
}
