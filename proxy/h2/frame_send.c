/* SPDX-License-Identifier: MIT */
/* Queues control frames (RFC 9113 6) and field blocks (4.3) for the peer. */
#include "proxy/h2/h2_conn.h"

struct hpack_encoder *h2_encoder(struct h2_conn *c)
{
	if (!c->encoder)
		c->encoder =
		    hpack_encoder_new(c->limits->encoder_table_bytes, c->session.env->seed);
	return c->encoder;
}

void h2_send_frame(struct h2_conn *c, enum h2_frame_type type, uint8_t flags, uint32_t id,
    const uint8_t *payload, size_t length)
{
	struct h2_frame frame = {(uint32_t)length, id, (uint8_t)type, flags};
	uint8_t *p = h2_out_reserve(&c->out, H2_FRAME_HEADER_LEN + length);
	h2_frame_write(p, frame);
	if (length > 0)
		memcpy(p + H2_FRAME_HEADER_LEN, payload, length);
	h2_out_commit(&c->out, H2_FRAME_HEADER_LEN + length);
	h2_trace(c, true, &frame);
}

void h2_send_provoked(struct h2_conn *c, enum h2_frame_type type, uint8_t flags, uint32_t id,
    const uint8_t *payload, size_t length)
{
	h2_send_frame(c, type, flags, id, payload, length);
	c->out.provoked += H2_FRAME_HEADER_LEN + length;
}

void h2_send_rst_stream(struct h2_conn *c, uint32_t id, uint32_t code)
{
	uint8_t payload[4];
	h2_write32(payload, code);
	h2_send_provoked(c, H2_RST_STREAM, 0, id, payload, sizeof(payload));
}

void h2_send_window_update(struct h2_conn *c, uint32_t id, uint32_t increment)
{
	uint8_t payload[4];
	ensure(increment > 0 && increment <= H2_WINDOW_MAX);
	h2_write32(payload, increment);
	h2_send_provoked(c, H2_WINDOW_UPDATE, 0, id, payload, sizeof(payload));
}

void h2_send_ping(struct h2_conn *c, enum h2_ping_kind kind)
{
	uint8_t payload[8] = {(uint8_t)kind};
	uint32_t serial = ++c->ping_serial;
	/* uncovered: a value outside the enum */
	switch (kind) {
	case H2_PING_OWNER:
		c->owner_serial = serial;
		break;
	case H2_PING_RESETS:
		c->resets_serial = serial;
		break;
	case H2_PING_SHUTDOWN:
		c->shutdown_serial = serial;
		break;
	}
	h2_write32(payload + 4, serial);
	h2_send_frame(c, H2_PING, 0, 0, payload, sizeof(payload));
}

/*
 * Moves the parts of a block, from the last to the first, to make room for the CONTINUATION
 * headers.
 */
static void split_block(struct h2_conn *c, uint8_t *p, size_t length, size_t most, uint32_t id)
{
	size_t frames = (length + most - 1) / most;
	for (size_t i = frames; i-- > 1;) {
		size_t n = i == frames - 1 ? length - i * most : most;
		uint8_t *header = p + i * (most + H2_FRAME_HEADER_LEN);
		memmove(header + H2_FRAME_HEADER_LEN, p + H2_FRAME_HEADER_LEN + i * most, n);
		struct h2_frame frame = {
		    (uint32_t)n, id, H2_CONTINUATION, i == frames - 1 ? H2_END_HEADERS : 0};
		h2_frame_write(header, frame);
	}
	h2_out_commit(&c->out, length + frames * H2_FRAME_HEADER_LEN);
}

void h2_send_block(struct h2_conn *c, enum h2_frame_type type, uint8_t flags, uint32_t id,
    uint32_t promised_id, const struct http_head *head)
{
	struct hpack_encoder *encoder = h2_encoder(c);
	size_t prefix = type == H2_PUSH_PROMISE ? 4 : 0;
	size_t most = c->peer.max_frame_size;
	size_t bound = prefix + hpack_encode_bound(head);
	size_t frames_bound = bound / most + 1;
	uint8_t *p = h2_out_reserve(&c->out, bound + frames_bound * H2_FRAME_HEADER_LEN);
	uint8_t *payload = p + H2_FRAME_HEADER_LEN;
	if (prefix > 0)
		h2_write32(payload, promised_id);
	size_t length = prefix + hpack_encode(encoder, head, payload + prefix);
	ensure(length <= bound);
	budget_adjust(c->budget, &c->encoder_charged, hpack_encoder_bytes(encoder));
	struct h2_frame frame = {(uint32_t)length, id, (uint8_t)type, flags};
	if (length <= most) {
		frame.flags |= H2_END_HEADERS;
		h2_out_commit(&c->out, H2_FRAME_HEADER_LEN + length);
	} else {
		frame.length = (uint32_t)most;
		split_block(c, p, length, most, id);
	}
	h2_frame_write(p, frame);
	h2_trace(c, true, &frame);
}
