/* SPDX-License-Identifier: MIT */
/* Matches of patterns with all the effort that they need. */
#ifndef PUSHGATE_TESTS_PATTERNS_H
#define PUSHGATE_TESTS_PATTERNS_H

#include "policy/pattern.h"

static inline bool regex_matches(const struct policy_regex *regex, struct slice text)
{
	struct effort enough = effort_of(UINT64_MAX);
	return policy_regex_match(regex, text, &enough);
}

static inline bool patterns_take(const struct policy_patterns *p, struct slice text, bool nocase)
{
	struct effort enough = effort_of(UINT64_MAX);
	return policy_patterns_take(p, text, nocase, &enough);
}

#endif
