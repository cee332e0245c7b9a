/* SPDX-License-Identifier: MIT */
/* Which options of a [push] rule change nothing: predicates for the rows of idle_options.c. */
#include "proxy/conf/load.h"

bool conf_rule_drops(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct policy_rule *)object)->action == POLICY_DROP;
}

bool conf_rule_only_hints(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct policy_rule *)object)->action == POLICY_HINT;
}

bool conf_rule_does_not_hint(const struct conf *c, const void *object)
{
	const struct policy_rule *rule = object;
	(void)c;
	return rule->action != POLICY_HINT && rule->action != POLICY_HINT_HOLD;
}

bool conf_rule_is_for_relayed(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct policy_rule *)object)->sources == 1u << POLICY_RELAYED;
}

bool conf_rule_never_pauses(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct policy_rule *)object)->min_used == 0;
}
