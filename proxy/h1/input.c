/* SPDX-License-Identifier: MIT */
/*
 * Received bytes that have not been read yet. Usually that is one piece, which is read at once. Pieces
 * wait while a body has no credit, and while a pipelined request waits for its turn; the owner stops
 * reading from the transport then, so they are few.
 */
#include "proxy/h1/h1_conn.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

/* ---- buffers ---- */

#define BUFFER_LEAST 512u

char *h1_buffer_reserve(struct h1_buffer *b, size_t n)
{
	if (b->capacity - b->length < n) {
		size_t capacity = b->capacity < BUFFER_LEAST ? BUFFER_LEAST : b->capacity;
		while (capacity < b->length + n)
			capacity *= 2;
		b->bytes = memory_resize(b->bytes, capacity, 1);
		b->capacity = capacity;
	}
	return b->bytes + b->length;
}

void h1_buffer_add(struct h1_buffer *b, struct slice bytes)
{
	memcpy(h1_buffer_reserve(b, bytes.len), bytes.ptr, bytes.len);
	b->length += bytes.len;
}

void h1_buffer_free(struct h1_buffer *b)
{
	free(b->bytes);
	*b = (struct h1_buffer){0};
}

/* ---- pieces ---- */

void h1_input_add(struct h1_conn *c, struct chunk *chunk, size_t offset, size_t length)
{
	struct h1_input *in = &c->input;
	if (length == 0)
		return;
	const struct piece piece = {chunk_hold(chunk), (uint32_t)offset, (uint32_t)length};
	if (in->at.length == 0 && in->count == 0) {
		if (in->at.chunk)
			chunk_release(in->at.chunk);
		in->at = piece;
		return;
	}
	if (in->first + in->count == in->capacity) {
		if (in->first > 0) {
			memmove(in->more, in->more + in->first, in->count * sizeof(*in->more));
			in->first = 0;
		} else {
			in->capacity = in->capacity ? 2 * in->capacity : 4;
			in->more = memory_resize(in->more, in->capacity, sizeof(*in->more));
		}
	}
	in->more[in->first + in->count++] = piece;
}

/* Makes the next piece the present one, when that is read. */
static void advance(struct h1_input *in)
{
	while (in->at.length == 0 && in->at.chunk) {
		chunk_release(in->at.chunk);
		in->at = (struct piece){0};
		if (in->count == 0)
			return;
		in->at = in->more[in->first++];
		if (--in->count == 0) {
			free(in->more);
			in->more = NULL;
			in->first = in->capacity = 0;
		}
	}
}

struct slice h1_input_front(struct h1_conn *c)
{
	struct h1_input *in = &c->input;
	advance(in);
	return in->at.length > 0 ? piece_slice(in->at) : (struct slice){0};
}

struct piece h1_input_take_piece(struct h1_conn *c, size_t n)
{
	struct h1_input *in = &c->input;
	ensure(n <= in->at.length);
	const struct piece taken = {in->at.chunk, in->at.offset, (uint32_t)n};
	in->at.offset += (uint32_t)n;
	in->at.length -= (uint32_t)n;
	return taken;
}

void h1_input_take(struct h1_conn *c, size_t n)
{
	(void)h1_input_take_piece(c, n);
}

void h1_input_skip(struct h1_conn *c, size_t n)
{
	struct h1_input *in = &c->input;
	struct piece *piece = &in->at;
	for (uint32_t i = 0; n > 0; i++) {
		uint32_t taken = piece->length < n ? piece->length : (uint32_t)n;
		piece->offset += taken;
		piece->length -= taken;
		n -= taken;
		ensure(n == 0 || i < in->count);
		piece = &in->more[in->first + i];
	}
}

size_t h1_input_bytes(const struct h1_conn *c)
{
	const struct h1_input *in = &c->input;
	size_t bytes = in->at.length;
	for (uint32_t i = 0; i < in->count; i++)
		bytes += in->more[in->first + i].length;
	return bytes;
}

void h1_input_drop(struct h1_conn *c)
{
	struct h1_input *in = &c->input;
	in->at.length = 0;
	for (uint32_t i = 0; i < in->count; i++)
		in->more[in->first + i].length = 0;
	h1_buffer_free(&in->head);
	in->line_bytes = 0;
	in->ends_with_cr = false;
}

/* A whole chunk is charged for each piece that waits: it cannot be used for anything else. */
size_t h1_input_held(const struct h1_conn *c)
{
	const struct h1_input *in = &c->input;
	size_t held = in->head.capacity + c->nominated.capacity + c->asked_protocol.capacity;
	if (in->at.length > 0)
		held += in->at.chunk->capacity;
	for (uint32_t i = 0; i < in->count; i++)
		held += in->more[in->first + i].chunk->capacity;
	return held;
}

void h1_input_fini(struct h1_conn *c)
{
	struct h1_input *in = &c->input;
	h1_input_drop(c);
	advance(in);
}

/* ---- lines ---- */

/* Finds the end of the empty line in `bytes`, which continue the lines read so far: *used is set to the
 * bytes up to it, or to all. Returns true if it is there. */
static bool find_end(
    struct h1_input *in, struct slice bytes, size_t *used, const struct session_fault **fault)
{
	size_t at = 0;
	while (at < bytes.len) {
		const char *lf = memchr(bytes.ptr + at, '\n', bytes.len - at);
		if (!lf) {
			in->line_bytes += bytes.len - at;
			break;
		}
		size_t end = (size_t)(lf - bytes.ptr);
		bool has_cr = end > 0 ? lf[-1] == '\r' : in->ends_with_cr;
		if (!has_cr) {
			*fault = h1_fault(LINE_END);
			return false;
		}
		bool is_empty = in->line_bytes + (end - at) == 1;
		in->line_bytes = 0;
		at = end + 1;
		if (is_empty) {
			*used = at;
			return true;
		}
	}
	*used = bytes.len;
	in->ends_with_cr = bytes.ptr[bytes.len - 1] == '\r';
	return false;
}

static void begin_anew(struct h1_input *in)
{
	in->line_bytes = 0;
	in->ends_with_cr = false;
}

bool h1_input_lines(
    struct h1_conn *c, size_t most, struct slice *head, const struct session_fault **fault)
{
	struct h1_input *in = &c->input;
	*fault = NULL;
	if (in->head.length == 0 && in->head.bytes)
		h1_buffer_free(&in->head);
	for (;;) {
		struct slice front = h1_input_front(c);
		if (front.len == 0)
			return false;
		size_t room = most - in->head.length, used;
		struct slice looked_at = slice_sub(front, 0, room);
		bool has_end = find_end(in, looked_at, &used, fault);
		if (*fault) { /* the bytes before the fault are still of use */
			h1_buffer_add(&in->head, looked_at);
			return false;
		}
		if (has_end && in->head.length == 0) { /* all of it lies in one piece */
			h1_input_take(c, used);
			*head = slice_of(looked_at.ptr, used - 2);
			begin_anew(in);
			return true;
		}
		h1_buffer_add(&in->head, slice_sub(looked_at, 0, used));
		h1_input_take(c, used);
		if (has_end) {
			*head = slice_of(in->head.bytes, in->head.length - 2);
			in->head.length = 0; /* the bytes stay until the next call */
			begin_anew(in);
			return true;
		}
		if (in->head.length >= most) {
			*fault = h1_fault(HEAD_LARGE);
			return false;
		}
	}
}
