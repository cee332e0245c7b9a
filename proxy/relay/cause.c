/* SPDX-License-Identifier: MIT */
/* The rows of the outcome table; see cause.h. */
#include "proxy/relay/cause.h"

/* A row overrides the defaults, which come first. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#define ROW(symbol, name_, side_, status_, error_, down_, reason_, ...)                            \
	const struct relay_cause relay_cause_##symbol = {.name = (name_),                          \
	    .side = (side_),                                                                       \
	    .status = (status_),                                                                   \
	    .error = (error_),                                                                     \
	    .down_code = (down_),                                                                  \
	    .push_reason = &policy_reason_##reason_,                                               \
	    .up_code = RELAY_CANCEL,                                                               \
	    .push_up_code = RELAY_CANCEL,                                                          \
	    .grpc_status = RELAY_GRPC_BY_STATUS,                                                   \
	    __VA_ARGS__};
RELAY_CAUSES(ROW)
#undef ROW
#pragma GCC diagnostic pop

const struct relay_cause *const relay_cause_table[RELAY_CAUSE_COUNT] = {
#define POINTER(symbol, ...) &relay_cause_##symbol,
    RELAY_CAUSES(POINTER)
#undef POINTER
};

size_t relay_cause_index(const struct relay_cause *cause)
{
	size_t i = 0;
	while (relay_cause_table[i] != cause)
		i++;
	return i;
}

uint32_t relay_code_across(uint32_t rule, uint32_t came)
{
	if (rule == RELAY_SAME)
		return came;
	if (rule != RELAY_PASS)
		return rule;
	switch (came) {
	case RELAY_CANCEL:
	case RELAY_REFUSED_STREAM:
		return came;
	}
	return RELAY_INTERNAL_ERROR;
}
