/* SPDX-License-Identifier: MIT */
/*
 * Receives bytes: the preface (RFC 9113 3.4), frame headers (4.1), and payloads, whole or streamed
 * as the frame table says. The handlers interpret the frames.
 */
#include "proxy/h2/h2_conn.h"

static const struct session_fault *(*const handlers[H2_FRAME_ROWS])(
    struct h2_conn *c, const uint8_t *payload) = {
    [H2_DATA] = h2_recv_data,
    [H2_HEADERS] = h2_block_begin,
    [H2_PRIORITY] = h2_recv_priority,
    [H2_RST_STREAM] = h2_recv_rst_stream,
    [H2_SETTINGS] = h2_recv_settings,
    [H2_PUSH_PROMISE] = h2_block_begin,
    [H2_PING] = h2_recv_ping,
    [H2_GOAWAY] = h2_recv_goaway,
    [H2_WINDOW_UPDATE] = h2_recv_window_update,
    [H2_CONTINUATION] = h2_block_continue,
    [H2_PRIORITY_UPDATE] = h2_recv_priority_update,
};

/* Continues with the next frame, or skips the rest of the payload first. */
static void after_payload(struct h2_conn *c)
{
	struct h2_reader *r = &c->reader;
	r->stream = NULL;
	r->data_left = 0;
	r->filled = 0;
	r->at = r->left > 0 ? H2_READING_SKIP : H2_READING_HEADER;
}

static uint32_t at_most(size_t n, uint32_t limit)
{
	return n < limit ? (uint32_t)n : limit;
}

static size_t read_preface(struct h2_conn *c, const uint8_t *p, size_t n)
{
	struct h2_reader *r = &c->reader;
	uint32_t take = at_most(n, H2_PREFACE_LEN - r->filled);
	if (memcmp(p, &H2_PREFACE[r->filled], take) != 0) {
		h2_fault_apply(c, 0, h2_fault(PREFACE_BAD));
		return n;
	}
	r->filled = (uint8_t)(r->filled + take);
	if (r->filled == H2_PREFACE_LEN) {
		r->at = H2_READING_HEADER;
		r->filled = 0;
	}
	return take;
}

/* Frees the assembly buffer, unless an event lends its bytes until the next call. */
static void release_block(struct h2_conn *c)
{
	bool is_lent = c->has_event && c->event.kind == SESSION_EVENT_GOAWAY;
	if (c->block.data && !is_lent)
		h2_block_fini(&c->block, c->budget);
}

/* Calls the handler for a frame with its complete payload. */
static void handle_whole(struct h2_conn *c, const uint8_t *payload)
{
	struct h2_reader *r = &c->reader;
	r->left = 0;
	after_payload(c);
	c->reason = NULL;
	const struct session_fault *fault = handlers[r->frame.type](c, payload);
	if (fault)
		h2_fault_apply(c, r->frame.stream_id, fault);
	c->block.partial = 0;
	if (!c->block.is_open) {
		c->block.deadline = USEC_NEVER;
		release_block(c);
	}
}

/* Checks a frame header before its payload is read: size, order, floods. */
static const struct session_fault *admit(
    struct h2_conn *c, const struct h2_frame *frame, const struct h2_frame_row *row)
{
	/*
	 * This check is first: a peer that does not speak HTTP/2 should not get a frame size error.
	 */
	if (!c->peer_settings_came && (frame->type != H2_SETTINGS || frame->flags & H2_ACK))
		return h2_fault(FIRST_FRAME);
	if (frame->length > c->local.max_frame_size)
		return h2_fault(FRAME_TOO_LARGE);
	if (c->block.is_open) {
		if (!row || !row->in_block || frame->stream_id != c->block.stream_id)
			return h2_fault(BLOCK_INTERRUPTED);
	} else if (row && row->in_block) {
		return h2_fault(CONTINUATION_STRAY);
	}
	/* Bounds the replies that the peer does not read. (recv_request bounds the heads.) */
	if (c->out.provoked > c->limits->control_bytes)
		return h2_fault(FLOOD_CONTROL);
	const struct session_fault *fault = h2_frame_verify(frame, h2_other_role(c->role));
	if (fault)
		return fault;
	if (!row)
		return h2_guard_count(&c->guard, H2_GUARDED_PRIORITIES, c->now);
	bool is_block =
	    row->in_block || frame->type == H2_HEADERS || frame->type == H2_PUSH_PROMISE;
	if (is_block && c->block.length + frame->length > c->limits->field_block_bytes)
		return h2_fault(BLOCK_TOO_LARGE);
	return NULL;
}

/* Begins a frame whose header is complete. */
static void begin_frame(struct h2_conn *c)
{
	struct h2_reader *r = &c->reader;
	const struct h2_frame *frame = &r->frame;
	const struct h2_frame_row *row = h2_frame_row(frame->type);
	h2_trace(c, false, frame);
	r->left = frame->length;
	after_payload(c);
	c->reason = NULL;
	const struct session_fault *fault = admit(c, frame, row);
	if (!fault && row) {
		if (row->payload == H2_PAYLOAD_WHOLE) {
			if (frame->length == 0)
				handle_whole(c, r->header);
			else
				r->at = H2_READING_PAYLOAD;
			return;
		}
		fault = handlers[frame->type](c, NULL);
	}
	if (fault)
		h2_fault_apply(c, frame->stream_id, fault);
}

static size_t read_header(struct h2_conn *c, const uint8_t *p, size_t n)
{
	struct h2_reader *r = &c->reader;
	uint32_t take = at_most(n, H2_FRAME_HEADER_LEN - r->filled);
	memcpy(r->header + r->filled, p, take);
	r->filled = (uint8_t)(r->filled + take);
	if (r->filled == H2_FRAME_HEADER_LEN) {
		r->frame = h2_frame_parse(r->header);
		begin_frame(c);
	}
	return take;
}

static size_t read_payload(struct h2_conn *c, const uint8_t *p, size_t n)
{
	struct h2_reader *r = &c->reader;
	struct h2_block *b = &c->block;
	if (b->partial == 0 && n >= r->left) {
		size_t take = r->left;
		handle_whole(c, p);
		return take;
	}
	if (b->partial == 0 && !h2_block_reserve(b, c->budget, r->left)) {
		h2_fault_apply(c, 0, h2_fault(BLOCK_MEMORY));
		return n;
	}
	/* A slow frame occupies memory like a slow field block, so it has a deadline too. */
	if (b->deadline == USEC_NEVER)
		b->deadline = clock_after(c->now, c->limits->block_timeout);
	uint32_t take = at_most(n, r->left);
	h2_block_gather(b, p, take);
	r->left -= take;
	if (r->left == 0)
		handle_whole(c, b->data + b->length);
	return take;
}

static size_t read_data(struct h2_conn *c, struct chunk *chunk, size_t offset, size_t n)
{
	struct h2_reader *r = &c->reader;
	uint32_t take = at_most(n, r->data_left);
	r->data_left -= take;
	r->left -= take;
	h2_recv_data_piece(c, chunk, offset, take);
	if (r->data_left == 0)
		after_payload(c);
	return take;
}

static size_t read_pad_length(struct h2_conn *c, uint8_t pad)
{
	struct h2_reader *r = &c->reader;
	r->left--;
	r->at = H2_READING_SKIP;
	const struct session_fault *fault = h2_recv_pad_length(c, pad);
	if (fault || r->data_left == 0)
		after_payload(c);
	if (fault)
		h2_fault_apply(c, r->frame.stream_id, fault);
	return 1;
}

static size_t skip(struct h2_conn *c, size_t n)
{
	uint32_t take = at_most(n, c->reader.left);
	c->reader.left -= take;
	if (c->reader.left == 0)
		after_payload(c);
	return take;
}

static size_t step(struct h2_conn *c, struct chunk *chunk, size_t offset, size_t n)
{
	const uint8_t *p = chunk->data + offset;
	/* uncovered: a value outside the enum */
	switch (c->reader.at) {
	case H2_READING_PREFACE:
		return read_preface(c, p, n);
	case H2_READING_HEADER:
		return read_header(c, p, n);
	case H2_READING_PAYLOAD:
		return read_payload(c, p, n);
	case H2_READING_PAD:
		return read_pad_length(c, p[0]);
	case H2_READING_DATA:
		return read_data(c, chunk, offset, n);
	case H2_READING_SKIP:
		return skip(c, n);
	}
	ensure_failed("a state of the reader", __FILE__, __LINE__, __func__);
}

size_t h2_receive(
    struct session *session, struct chunk *chunk, size_t offset, size_t length, usec now)
{
	struct h2_conn *c = h2_of(session);
	h2_conn_bury(c);
	if (now > c->now)
		c->now = now;
	ensure(!c->has_event);
	if (!c->block.is_open && c->block.partial == 0)
		release_block(c);
	uint64_t events_before = c->events_made;
	c->reader.chunk = chunk;
	size_t used = 0;
	while (used < length && !c->has_failed && c->events_made == events_before)
		used += step(c, chunk, offset + used, length - used);
	c->reader.chunk = NULL;
	if (!c->has_failed)
		return used;
	release_block(c);
	return length;
}

void h2_receive_eof(struct session *session)
{
	struct h2_conn *c = h2_of(session);
	if (!h2_is_done(c))
		h2_conn_fail(c, NULL, SESSION_NO_ERROR, false);
}
