/* SPDX-License-Identifier: MIT */
/* The fault table. h2_conn.c answers faults. */
#include "proxy/h2/h2_fault.h"

const struct session_fault h2_faults[H2_FAULT_COUNT] = {
#define H2_FAULT_ROW(symbol, name, section, code, scope, text)                                     \
	[H2_FAULT_##symbol] = {name, section, text, SESSION_##code, SESSION_SCOPE_##scope, 0},
    H2_FAULTS(H2_FAULT_ROW)
#undef H2_FAULT_ROW
};

const char *h2_fault_name(size_t index)
{
	return index < H2_FAULT_COUNT ? h2_faults[index].name : NULL;
}
