/* SPDX-License-Identifier: MIT */
/* The reason table of reasons.h as data. */
#include "policy/reasons.h"
#include "proxy/base/ensure.h"
#include <string.h>

#define POLICY_REASON_ROW(symbol, code, sentence, advice)                                          \
	const struct policy_reason policy_reason_##symbol = {code, sentence, advice};
POLICY_REASONS(POLICY_REASON_ROW)
#undef POLICY_REASON_ROW

#define POLICY_REASON_POINTER(symbol, code, sentence, advice) &policy_reason_##symbol,
const struct policy_reason *const policy_reason_table[POLICY_REASON_COUNT] = {
    POLICY_REASONS(POLICY_REASON_POINTER)};
#undef POLICY_REASON_POINTER

size_t policy_reason_position(const struct policy_reason *reason)
{
	size_t at = 0;
	while (policy_reason_table[at] != reason) {
		at++;
		ensure(at < POLICY_REASON_COUNT);
	}
	return at;
}

const struct policy_reason *policy_reason_find(const char *code)
{
	for (size_t i = 0; i < POLICY_REASON_COUNT; i++)
		if (strcmp(policy_reason_table[i]->code, code) == 0)
			return policy_reason_table[i];
	return NULL;
}
