/* SPDX-License-Identifier: MIT */
/* Response bodies of the demo origin. */
#include "proxy/tool/demo_body.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

struct demo_body demo_body_text(struct slice text)
{
	return (struct demo_body){.text = text, .length = text.len};
}

struct demo_body demo_body_pattern(uint64_t length)
{
	/* 64 bytes long, so that an offset is easy to find in a hex dump. */
	static const struct slice pattern =
	    SLICE_INIT("pushgate 0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOP\n");
	return (struct demo_body){.text = pattern, .length = length};
}

void demo_body_send(struct demo_body *b, struct net_out *out, size_t n)
{
	ensure(n <= demo_body_ready(b));
	while (n > 0) {
		struct slice part = slice_sub(b->text, (size_t)(b->at % b->text.len), n);
		net_out_copy(out, part.ptr, part.len);
		b->at += part.len;
		n -= part.len;
	}
}

void demo_body_append(struct demo_body *b, struct slice data)
{
	ensure(b->is_echo);
	size_t left = (size_t)demo_body_ready(b);
	if (b->at > 0)
		memmove(b->buffer, b->buffer + b->at, left);
	if (left + data.len > b->capacity) {
		b->capacity = 2 * b->capacity + data.len;
		b->buffer = memory_resize(b->buffer, b->capacity, 1);
	}
	memcpy(b->buffer + left, data.ptr, data.len);
	b->text = slice_of(b->buffer, left + data.len);
	b->at = 0;
	b->length = b->text.len;
}

void demo_body_fini(struct demo_body *b)
{
	free(b->buffer);
	b->buffer = NULL;
}
