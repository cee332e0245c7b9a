/* SPDX-License-Identifier: MIT */
/* The Priority field's value (RFC 9218 4): a structured dictionary; only `u` and `i` are used. */
#ifndef PUSHGATE_HTTP_PRIORITY_H
#define PUSHGATE_HTTP_PRIORITY_H

#include "proxy/base/slice.h"

struct http_priority {
	uint8_t urgency;  /* 0…7, 3 by default */
	bool incremental; /* false by default */
};

#define HTTP_PRIORITY_DEFAULT ((struct http_priority){3, false})

/*
 * Ignores unknown members and those out of range. A malformed value gives the default (RFC 9218 4).
 */
struct http_priority http_priority_parse(struct slice value);

#endif
