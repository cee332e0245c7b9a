/* SPDX-License-Identifier: MIT */
/* Response bodies of the demo origin. */
#include "proxy/tool/demo_body.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

/* 64 bytes long, so that an offset is easy to find in a hex dump. */
static const struct slice pattern =
    SLICE_INIT("pushgate 0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOP\n");

uint64_t demo_body_ready(const struct demo_body *b)
{
	switch (b->kind) {
	case DEMO_BODY_NONE:
		return 0;
	case DEMO_BODY_TEXT:
		return b->text.len;
	case DEMO_BODY_PATTERN:
		return b->length - b->at;
	case DEMO_BODY_ECHO:
		return b->used;
	}
	return 0;
}

static void send_pattern(struct demo_body *b, struct net_out *out, size_t n)
{
	while (n > 0) {
		struct slice part = slice_sub(pattern, (size_t)(b->at % pattern.len), n);
		net_out_copy(out, part.ptr, part.len);
		b->at += part.len;
		n -= part.len;
	}
}

static void send_echo(struct demo_body *b, struct net_out *out, size_t n)
{
	if (n == 0)
		return;
	net_out_copy(out, b->buffer, n);
	b->used -= n;
	memmove(b->buffer, b->buffer + n, b->used);
}

void demo_body_send(struct demo_body *b, struct net_out *out, size_t n)
{
	ensure(n <= demo_body_ready(b));
	switch (b->kind) {
	case DEMO_BODY_NONE:
		break;
	case DEMO_BODY_TEXT:
		net_out_copy(out, b->text.ptr, n);
		b->text = slice_from(b->text, n);
		break;
	case DEMO_BODY_PATTERN:
		send_pattern(b, out, n);
		break;
	case DEMO_BODY_ECHO:
		send_echo(b, out, n);
		break;
	}
}

void demo_body_append(struct demo_body *b, struct slice data)
{
	ensure(b->kind == DEMO_BODY_ECHO);
	if (b->used + data.len > b->capacity) {
		b->capacity = 2 * b->capacity + data.len;
		b->buffer = memory_resize(b->buffer, b->capacity, 1);
	}
	memcpy(b->buffer + b->used, data.ptr, data.len);
	b->used += data.len;
}

void demo_body_fini(struct demo_body *b)
{
	free(b->buffer);
	b->buffer = NULL;
}
