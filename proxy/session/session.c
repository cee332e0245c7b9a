/* SPDX-License-Identifier: MIT */
/* The names of the codes that end streams and connections (RFC 9113 7). */
#include "proxy/session/session.h"

const char *session_code_name(uint32_t code)
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
