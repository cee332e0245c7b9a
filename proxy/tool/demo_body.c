/* SPDX-License-Identifier: MIT */
/* Response bodies of the demo origin. */
#include "proxy/tool/demo_body.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#define RING_LEAST_BYTES 16384u

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
	while (n > 0) {
		size_t part = b->capacity - b->first < n ? b->capacity - b->first : n;
		net_out_copy(out, b->buffer + b->first, part);
		b->first = (b->first + part) % b->capacity;
		b->used -= part;
		n -= part;
	}
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

static void grow(struct demo_body *b, size_t least)
{
	size_t capacity = b->capacity ? b->capacity : RING_LEAST_BYTES;
	while (capacity < least)
		capacity *= 2;
	char *fresh = memory_alloc(capacity);
	size_t tail = b->capacity - b->first < b->used ? b->capacity - b->first : b->used;
	if (b->used > 0) {
		memcpy(fresh, b->buffer + b->first, tail);
		memcpy(fresh + tail, b->buffer, b->used - tail);
	}
	free(b->buffer);
	b->buffer = fresh;
	b->capacity = capacity;
	b->first = 0;
}

void demo_body_append(struct demo_body *b, struct slice data)
{
	ensure(b->kind == DEMO_BODY_ECHO);
	if (b->used + data.len > b->capacity)
		grow(b, b->used + data.len);
	size_t at = (b->first + b->used) % b->capacity;
	size_t part = b->capacity - at < data.len ? b->capacity - at : data.len;
	memcpy(b->buffer + at, data.ptr, part);
	memcpy(b->buffer, data.ptr + part, data.len - part);
	b->used += data.len;
}

void demo_body_fini(struct demo_body *b)
{
	free(b->buffer);
	b->buffer = NULL;
}
