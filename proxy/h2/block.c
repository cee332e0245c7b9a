/* SPDX-License-Identifier: MIT */
/*
 * Field-block assembly (RFC 9113 4.3, 6.2, 6.6, 6.10): strips padding, priority and the promised
 * id, joins the fragments, and delivers the whole block. A block in one frame is never copied.
 */
#include "proxy/h2/block.h"
#include "proxy/base/memory.h"
#include "proxy/h2/h2_conn.h"

void h2_block_init(struct h2_block *b)
{
	*b = (struct h2_block){.deadline = USEC_NEVER};
}

void h2_block_fini(struct h2_block *b, struct budget *budget)
{
	budget_give(budget, b->charged);
	free(b->data);
	h2_block_init(b);
}

bool h2_block_reserve(struct h2_block *b, struct budget *budget, uint32_t bytes)
{
	uint32_t need = b->length + b->partial + bytes;
	if (need <= b->capacity)
		return true;
	uint32_t capacity = b->capacity ? b->capacity : 256;
	while (capacity < need)
		capacity *= 2;
	size_t more = capacity - b->charged;
	if (capacity <= H2_BLOCK_BASE)
		budget_force(budget, more);
	else if (!budget_take(budget, more))
		return false;
	b->charged += more;
	b->data = memory_resize(b->data, capacity, 1);
	b->capacity = capacity;
	return true;
}

void h2_block_gather(struct h2_block *b, const uint8_t *bytes, uint32_t n)
{
	ensure(n <= b->capacity - b->length - b->partial);
	memcpy(b->data + b->length + b->partial, bytes, n);
	b->partial += n;
}

/* Adds a fragment of the field block; it may be inside the buffer. */
static void append(struct h2_block *b, const uint8_t *fragment, uint32_t n)
{
	ensure(n <= b->capacity - b->length);
	if (n > 0)
		memmove(b->data + b->length, fragment, n);
	b->length += n;
}

/*
 * Finds the payload's fragment: advances *p and shortens *n past the pad length, the fields before
 * the fragment, and the padding (RFC 9113 6.2, 6.6). A payload too short for its fields has a wrong
 * size (4.2); padding that leaves no room for them is too long.
 */
static const struct session_fault *strip(
    struct h2_block *b, const struct h2_frame *frame, const uint8_t **p, uint32_t *n)
{
	uint32_t pad_field = frame->flags & H2_PADDED ? 1 : 0;
	uint32_t fields = 0;
	if (frame->type == H2_PUSH_PROMISE)
		fields = 4;
	else if (frame->flags & H2_HAS_PRIORITY)
		fields = 5;
	if (*n < pad_field + fields)
		return h2_fault(FRAME_LENGTH);
	uint32_t pad = pad_field ? (*p)[0] : 0;
	if (pad > *n - pad_field - fields)
		return h2_fault(PADDING_TOO_LONG);
	uint32_t id = fields ? h2_read32(*p + pad_field) & H2_ID_MASK : 0;
	b->promised_id = frame->type == H2_PUSH_PROMISE ? id : 0;
	b->depends_on_itself = fields == 5 && id == frame->stream_id;
	*p += pad_field + fields;
	*n -= pad_field + fields + pad;
	return NULL;
}

/* Adds a fragment; the last one completes the block. */
static const struct session_fault *add_fragment(
    struct h2_conn *c, const uint8_t *p, uint32_t n, bool last)
{
	struct h2_block *b = &c->block;
	struct slice whole = slice_of(p, n);
	if (!last || b->length > 0) {
		bool inside = b->partial > 0;
		b->partial = 0;
		if (!inside && !h2_block_reserve(b, c->budget, n))
			return h2_fault(BLOCK_MEMORY);
		append(b, p, n);
		whole = slice_of(b->data, b->length);
	}
	if (!last)
		return n == 0 ? h2_guard_count(&c->guard, H2_GUARDED_EMPTY, c->now) : NULL;
	b->is_open = false;
	b->deadline = USEC_NEVER;
	return b->type == H2_PUSH_PROMISE ? h2_recv_promise(c, whole) : h2_recv_headers(c, whole);
}

const struct session_fault *h2_block_begin(struct h2_conn *c, const uint8_t *payload)
{
	struct h2_block *b = &c->block;
	const struct h2_frame *frame = &c->reader.frame;
	uint32_t n = frame->length;
	enum h2_guarded kind =
	    frame->type == H2_PUSH_PROMISE ? H2_GUARDED_PROMISES : H2_GUARDED_BLOCKS;
	const struct session_fault *fault = h2_guard_count(&c->guard, kind, c->now);
	if (!fault)
		fault = strip(b, frame, &payload, &n);
	if (fault)
		return fault;
	b->is_open = true;
	b->type = frame->type;
	b->flags = frame->flags;
	b->stream_id = frame->stream_id;
	b->continuations = 0;
	bool last = frame->flags & H2_END_HEADERS;
	if (!last && b->deadline == USEC_NEVER)
		b->deadline = clock_after(c->now, c->limits->block_timeout);
	return add_fragment(c, payload, n, last);
}

const struct session_fault *h2_block_continue(struct h2_conn *c, const uint8_t *payload)
{
	const struct h2_frame *frame = &c->reader.frame;
	c->block.continuations++;
	if (c->block.continuations > c->limits->continuations)
		return h2_fault(BLOCK_CONTINUATIONS);
	return add_fragment(c, payload, frame->length, frame->flags & H2_END_HEADERS);
}
