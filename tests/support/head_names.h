/* SPDX-License-Identifier: MIT */
/* Fields by name, for names without a token. */
#ifndef PUSHGATE_TESTS_HEAD_NAMES_H
#define PUSHGATE_TESTS_HEAD_NAMES_H

#include "proxy/http/head.h"

/* The first such field, or NULL. */
static inline const struct http_field *http_head_find_name(
    const struct http_head *head, struct slice name)
{
	for (uint32_t i = 0; i < head->count; i++) {
		if (slice_equal(head->fields[i].name, name))
			return &head->fields[i];
	}
	return NULL;
}

#endif
