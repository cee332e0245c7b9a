/* SPDX-License-Identifier: MIT */
/*
 * Receives DATA (RFC 9113 6.1): windows, padding, content-length. The bytes go to the owner piece
 * by piece. Connection credit is given here at once; the owner gives stream credit (h2_credit).
 */
#include "proxy/h2/h2_conn.h"

void h2_credit_stream(struct h2_conn *c, struct h2_stream *s, uint32_t bytes)
{
	if (!h2_state_allows((enum h2_state)s->state, H2_INPUT_SEND_WINDOW_UPDATE))
		return;
	uint32_t increment = h2_inflow_give(&s->inflow, bytes);
	if (increment > 0)
		h2_send_window_update(c, s->id, increment);
}

/* Counts the frame's bytes against content-length (RFC 9113 8.1.1). */
static const struct session_fault *use_body(struct h2_stream *s, uint32_t bytes, bool end)
{
	if (s->body_left == HTTP_LENGTH_UNKNOWN)
		return NULL;
	if (bytes > s->body_left)
		return s->is_bodyless ? h2_fault(BODY_FORBIDDEN) : h2_fault(BODY_LONG);
	s->body_left -= bytes;
	return end && s->body_left > 0 ? h2_fault(BODY_SHORT) : NULL;
}

static void emit(struct h2_conn *c, struct h2_stream *s, struct piece piece, bool end)
{
	struct session_event *event = h2_event_make(c, SESSION_EVENT_DATA, s);
	event->piece = piece;
	event->end = end;
	s->unread += piece.length;
	if (end)
		h2_stream_end(c, s, H2_INPUT_RECV_END_STREAM);
}

/* Begins a DATA frame with `bytes` bytes of data; the rest of its length is padding. */
static const struct session_fault *begin(struct h2_conn *c, struct h2_stream *s, uint32_t bytes)
{
	struct h2_reader *r = &c->reader;
	bool end = r->frame.flags & H2_END_STREAM;
	const struct session_fault *fault = use_body(s, bytes, end);
	if (fault)
		return fault;
	if (bytes == 0 && !end)
		fault = h2_guard_count(&c->guard, H2_GUARDED_EMPTY, c->now);
	if (fault)
		return fault;
	if (r->frame.length > bytes)
		h2_credit_stream(c, s, r->frame.length - bytes);
	if (bytes > 0) {
		r->stream = s;
		r->data_left = bytes;
		r->at = H2_READING_DATA;
	} else if (end) {
		emit(c, s, (struct piece){.chunk = r->chunk}, true);
	}
	return NULL;
}

const struct session_fault *h2_recv_data(struct h2_conn *c, const uint8_t *payload)
{
	(void)payload;
	struct h2_reader *r = &c->reader;
	const struct h2_frame *frame = &r->frame;
	if (frame->flags & H2_PADDED && frame->length == 0)
		return h2_fault(FRAME_LENGTH);
	if (!h2_inflow_take(&c->inflow, frame->length))
		return h2_fault(OVERRUN_CONNECTION);
	uint32_t increment = h2_inflow_give(&c->inflow, frame->length);
	if (increment > 0)
		h2_send_window_update(c, 0, increment);
	struct h2_stream *s;
	const struct session_fault *fault =
	    h2_stream_receive(c, frame->stream_id, H2_INPUT_RECV_DATA, &s);
	if (fault)
		return fault;
	if (!s)
		return frame->length == 0 ? h2_guard_count(&c->guard, H2_GUARDED_EMPTY, c->now)
					  : NULL;
	if (!h2_inflow_take(&s->inflow, frame->length))
		return h2_fault(OVERRUN);
	if (s->recv_phase == H2_PHASE_HEAD)
		return h2_fault(DATA_BEFORE_HEAD);
	if (!(frame->flags & H2_PADDED))
		return begin(c, s, frame->length);
	r->stream = s;
	r->at = H2_READING_PAD;
	return NULL;
}

const struct session_fault *h2_recv_pad_length(struct h2_conn *c, uint8_t pad)
{
	struct h2_reader *r = &c->reader;
	if (pad > r->left)
		return h2_fault(PADDING_TOO_LONG);
	return begin(c, r->stream, r->left - pad);
}

void h2_recv_data_piece(struct h2_conn *c, struct chunk *chunk, size_t offset, uint32_t length)
{
	struct h2_reader *r = &c->reader;
	struct piece piece = {chunk, (uint32_t)offset, length};
	emit(c, r->stream, piece, r->data_left == 0 && r->frame.flags & H2_END_STREAM);
}

void h2_credit(struct session *session, struct session_stream *stream, size_t bytes)
{
	struct h2_conn *c = h2_of(session);
	struct h2_stream *s = h2_stream_of(stream);
	ensure(bytes <= s->unread);
	s->unread -= bytes;
	if (!c->has_failed && s->life == H2_LIFE_ALIVE)
		h2_credit_stream(c, s, (uint32_t)bytes);
}

void h2_widen(struct session *session, struct session_stream *stream, uint32_t window)
{
	struct h2_conn *c = h2_of(session);
	struct h2_stream *s = h2_stream_of(stream);
	if (c->has_failed || s->life != H2_LIFE_ALIVE ||
	    !h2_state_allows((enum h2_state)s->state, H2_INPUT_SEND_WINDOW_UPDATE))
		return;
	uint32_t increment = h2_inflow_grow(&s->inflow, window);
	if (increment > 0)
		h2_send_window_update(c, s->id, increment);
}
