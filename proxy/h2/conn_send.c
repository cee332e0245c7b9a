/* SPDX-License-Identifier: MIT */
/*
 * Sends frames: queues control frames, makes DATA frames one at a time (RFC 9113 6.1, RFC 9218),
 * and runs the owner's commands on streams. Promises: conn_push.c; GOAWAY: conn_shutdown.c.
 */
#include "proxy/h2/h2_conn.h"

/* ---- frames ---- */

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
	size_t bound = prefix + hpack_encode_bound(encoder, head);
	size_t frames_bound = bound / most + 1;
	uint8_t *p = h2_out_reserve(&c->out, bound + frames_bound * H2_FRAME_HEADER_LEN);
	uint8_t *payload = p + H2_FRAME_HEADER_LEN;
	if (prefix > 0)
		h2_write32(payload, promised_id);
	size_t length = prefix + hpack_encode(encoder, head, payload + prefix);
	ensure(length <= bound);
	budget_adjust(c->env.budget, &c->encoder_charged, hpack_encoder_bytes(encoder));
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

struct slice h2_control(const struct h2_conn *c)
{
	if (h2_out_length(&c->out) == 0)
		return slice_of("", 0);
	return slice_of(c->out.data + c->out.start, h2_out_length(&c->out));
}

void h2_control_taken(struct h2_conn *c, size_t bytes)
{
	h2_out_taken(&c->out, bytes);
	if (c->handles == 0)
		h2_out_trim(&c->out);
}

/* ---- DATA ---- */

void h2_offer(struct h2_conn *c, struct h2_stream *s, size_t bytes, bool end)
{
	if (c->has_failed || s->life != H2_LIFE_ALIVE)
		return;
	ensure(s->send_phase == H2_PHASE_BODY || (bytes == 0 && !end));
	s->offered = bytes;
	s->offered_end = end;
	h2_stream_schedule(c, s);
}

static uint32_t data_length(const struct h2_conn *c, const struct h2_stream *s, uint32_t most)
{
	uint64_t length = s->offered;
	if (length > most)
		length = most;
	if (length > c->peer.max_frame_size)
		length = c->peer.max_frame_size;
	uint32_t window = h2_stream_window(c, s);
	return length < window ? (uint32_t)length : window;
}

bool h2_next_data(struct h2_conn *c, uint32_t most, struct h2_data_frame *data)
{
	if (c->has_failed)
		return false;
	struct h2_place *place = h2_sched_first(&c->sched, most > 0 && c->outflow.window > 0);
	if (!place)
		return false;
	struct h2_stream *s = container_of(place, struct h2_stream, place);
	uint32_t length = data_length(c, s, most);
	bool end = s->offered_end && length == s->offered;
	ensure(length > 0 || end);
	s->offered -= length;
	s->outflow.window -= length;
	c->outflow.window -= length;
	data->stream = s;
	data->user = s->user;
	data->length = length;
	data->end = end;
	struct h2_frame frame = {length, s->id, H2_DATA, end ? H2_END_STREAM : 0};
	h2_frame_write(data->header, frame);
	h2_trace(c, true, &frame);
	h2_sched_took_turn(&c->sched, place);
	h2_guard_refund(&c->guard, H2_WORK_DATA_OUT, c->now);
	if (end)
		h2_stream_end(c, s, H2_INPUT_SEND_END_STREAM);
	h2_stream_schedule(c, s);
	return true;
}

bool h2_wants_write(const struct h2_conn *c)
{
	return h2_out_length(&c->out) > 0 ||
	       (!c->has_failed && h2_sched_first(&c->sched, c->outflow.window > 0) != NULL);
}

/* ---- commands on streams ---- */

/*
 * RFC 9113 6.5.2: there is no limit until the peer sends one. Before its SETTINGS a usual limit is
 * assumed.
 */
#define STREAMS_ASSUMED 100u

uint32_t h2_request_room(const struct h2_conn *c)
{
	if (c->role != H2_CLIENT || c->has_failed || h2_is_going_away(c) ||
	    c->own_next_id > H2_ID_MAX)
		return 0;
	uint32_t most = c->peer_settings_came ? c->peer.max_concurrent_streams : STREAMS_ASSUMED;
	uint32_t room = most > c->census.local_open ? most - c->census.local_open : 0;
	uint32_t ids = (H2_ID_MAX - c->own_next_id) / 2 + 1;
	return room < ids ? room : ids;
}

static void send_head(
    struct h2_conn *c, struct h2_stream *s, const struct http_head *head, bool end)
{
	h2_send_block(c, H2_HEADERS, end ? H2_END_STREAM : 0, s->id, 0, head);
	if (end)
		h2_stream_end(c, s, H2_INPUT_SEND_END_STREAM);
}

struct h2_stream *h2_request(struct h2_conn *c, const struct http_head *head, bool end, void *user)
{
	ensure(c->role == H2_CLIENT);
	if (h2_request_room(c) == 0)
		return NULL;
	struct h2_stream *s = h2_stream_new(c, c->own_next_id, H2_INPUT_SEND_HEADERS);
	if (!s)
		return NULL;
	c->own_next_id += 2;
	s->user = user;
	s->method = (uint8_t)head->method_token;
	s->send_phase = H2_PHASE_BODY;
	h2_guard_refund(&c->guard, H2_WORK_REQUEST, c->now);
	send_head(c, s, head, end);
	return s;
}

bool h2_respond(struct h2_conn *c, struct h2_stream *s, const struct http_head *head, bool end)
{
	ensure(c->role == H2_SERVER && head->status != 101);
	if (c->has_failed || s->life != H2_LIFE_ALIVE || s->send_phase != H2_PHASE_HEAD)
		return false;
	if (s->state == H2_STATE_RESERVED_LOCAL && h2_push_room(c) == 0)
		return false;
	ensure(!(http_head_is_interim(head) && end));
	if (http_head_is_interim(head) && h2_peer_is_behind(c))
		return false;
	const struct h2_fault *fault = h2_stream_move(c, s, H2_INPUT_SEND_HEADERS);
	ensure(!fault);
	if (!http_head_is_interim(head)) {
		s->send_phase = H2_PHASE_BODY;
		s->is_tunnel = s->method == HTTP_METHOD_CONNECT && head->status / 100 == 2;
	}
	send_head(c, s, head, end);
	return true;
}

bool h2_trailers(struct h2_conn *c, struct h2_stream *s, const struct http_head *head)
{
	if (c->has_failed || s->life != H2_LIFE_ALIVE || s->send_phase != H2_PHASE_BODY)
		return false;
	ensure(s->offered == 0 && !s->offered_end);
	if (!h2_stream_takes_data_alone(s, c->role)) {
		send_head(c, s, head, true);
	} else {
		h2_send_frame(c, H2_DATA, H2_END_STREAM, s->id, NULL, 0);
		h2_stream_end(c, s, H2_INPUT_SEND_END_STREAM);
	}
	return true;
}

/* Drops an event about the stream that the owner has not fetched yet. */
static void cancel_event(struct h2_conn *c, struct h2_stream *s)
{
	if (!c->has_event || c->event.stream != s)
		return;
	c->has_event = false;
	http_head_free(c->event.head);
	struct h2_stream *promised = c->event.promised;
	c->event = (struct h2_event){0};
	if (promised)
		h2_reset(c, promised, H2_CANCEL);
}

void h2_reset(struct h2_conn *c, struct h2_stream *s, uint32_t code)
{
	if (c->has_failed || s->life == H2_LIFE_ENDED)
		return;
	cancel_event(c, s);
	if (s->life == H2_LIFE_ALIVE) {
		h2_send_rst_stream(c, s->id, code);
		if (h2_peer_may_send((enum h2_state)s->state))
			h2_stream_forget(c, s->id);
		const struct h2_fault *fault = h2_stream_move(c, s, H2_INPUT_SEND_RST_STREAM);
		ensure(!fault);
		h2_stream_detach(c, s);
	}
	h2_stream_free(c, s);
}

void h2_set_priority(struct h2_conn *c, struct h2_stream *s, struct http_priority priority)
{
	if (!c->has_failed && s->life == H2_LIFE_ALIVE)
		h2_sched_set_priority(&c->sched, &s->place, priority);
}

bool h2_ping(struct h2_conn *c, usec now)
{
	if (now > c->now)
		c->now = now;
	if (c->has_failed || c->owner_ping)
		return false;
	c->owner_ping = true;
	h2_send_ping(c, H2_PING_OWNER);
	return true;
}
