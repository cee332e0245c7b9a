/* SPDX-License-Identifier: MIT */
/* Heads out of a fuzz target's input: "name: value" lines, pseudo-fields too, to an empty one. */
#ifndef PUSHGATE_FUZZ_HEAD_TEXT_H
#define PUSHGATE_FUZZ_HEAD_TEXT_H

#include "proxy/http/head.h"
#include "tests/fuzz/input.h"

static inline struct http_head *head_text(struct http_head_pool *pool, struct input *in)
{
	struct http_head *head = http_head_new(pool);
	while (in->left > 0) {
		struct slice line = input_line(in);
		if (line.len == 0)
			break;
		/* A pseudo-field's own colon is its first byte. */
		size_t colon = 1 + slice_find(slice_from(line, 1), ':');
		struct slice value = slice_from(line, colon + 1);
		if (slice_starts_with(value, SLICE(" ")))
			value = slice_from(value, 1);
		http_head_add(head, slice_sub(line, 0, colon), value);
	}
	return head;
}

#endif
