/* SPDX-License-Identifier: MIT */
/* The fault table and the names of error codes (RFC 9113 7). conn.c answers faults. */
#include "proxy/h2/h2_fault.h"

const struct h2_fault h2_faults[H2_FAULT_COUNT] = {
#define H2_FAULT_ROW(symbol, name, section, code, scope, text)                                     \
	[H2_FAULT_##symbol] = {name, section, text, H2_##code, H2_SCOPE_##scope},
    H2_FAULTS(H2_FAULT_ROW)
#undef H2_FAULT_ROW
};

size_t h2_fault_index(const struct h2_fault *fault)
{
	return (size_t)(fault - h2_faults);
}

const char *h2_fault_name(size_t index)
{
	return index < H2_FAULT_COUNT ? h2_faults[index].name : NULL;
}

const char *h2_code_name(uint32_t code)
{
	static const char *const names[] = {
	    "NO_ERROR",
	    "PROTOCOL_ERROR",
	    "INTERNAL_ERROR",
	    "FLOW_CONTROL_ERROR",
	    "SETTINGS_TIMEOUT",
	    "STREAM_CLOSED",
	    "FRAME_SIZE_ERROR",
	    "REFUSED_STREAM",
	    "CANCEL",
	    "COMPRESSION_ERROR",
	    "CONNECT_ERROR",
	    "ENHANCE_YOUR_CALM",
	    "INADEQUATE_SECURITY",
	    "HTTP_1_1_REQUIRED",
	};
	return code < sizeof(names) / sizeof(names[0]) ? names[code] : "UNKNOWN";
}
