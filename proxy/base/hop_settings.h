/* SPDX-License-Identifier: MIT */
/* What one side of a connection has announced (RFC 9113 6.5.2), as far as it is shown to people. */
#ifndef PUSHGATE_BASE_HOP_SETTINGS_H
#define PUSHGATE_BASE_HOP_SETTINGS_H

#include <stdint.h>

struct hop_settings {
	uint32_t is_known; /* 0: the protocol has no settings, or none have come */
	uint32_t enable_push;
	uint32_t max_concurrent_streams; /* UINT32_MAX: no limit */
	uint32_t initial_window_size;
	int64_t connection_window; /* bytes that this side still takes on the connection */
};

#endif
