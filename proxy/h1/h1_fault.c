/* SPDX-License-Identifier: MIT */
/* The fault table. */
#include "proxy/h1/h1_fault.h"

const struct session_fault h1_faults[H1_FAULT_COUNT] = {
#define H1_FAULT_ROW(symbol, name, section, refusal, text)                                         \
	[H1_FAULT_##symbol] = {name, section, text, SESSION_PROTOCOL_ERROR,                        \
	    SESSION_SCOPE_CONNECTION, SESSION_REFUSAL_##refusal},
    H1_FAULTS(H1_FAULT_ROW)
#undef H1_FAULT_ROW
};

const char *h1_fault_name(size_t index)
{
	return index < H1_FAULT_COUNT ? h1_faults[index].name : NULL;
}
