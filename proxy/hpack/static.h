/* SPDX-License-Identifier: MIT */
/* HPACK's static table (RFC 7541 A), found by token instead of by comparing names. */
#ifndef PUSHGATE_HPACK_STATIC_H
#define PUSHGATE_HPACK_STATIC_H

#include "proxy/http/token.h"

#define STATIC_ENTRIES 61u

struct static_entry {
	struct slice name, value;
	enum http_token token;
};

/* By index; [0] is unused. */
extern const struct static_entry static_table[STATIC_ENTRIES + 1];

/* The first index with this name, 0 if the table has none. */
extern const uint8_t static_name_index[HTTP_TOKEN_COUNT];

/* The index of this name and value, or 0. */
uint32_t static_find(enum http_token token, struct slice value);

#endif
