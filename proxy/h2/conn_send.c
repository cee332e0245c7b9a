/* SPDX-License-Identifier: MIT */
/*
 * Sends for the owner of a connection: DATA one frame at a time (RFC 9113 6.1, RFC 9218), requests,
 * responses, resets. Promises: conn_push.c; GOAWAY: conn_shutdown.c; frames: frame_send.c.
 */
#include "proxy/h2/h2_conn.h"

#include <stdio.h>

/* ---- DATA ---- */

void h2_offer(struct session *session, struct session_stream *stream, size_t bytes, bool end)
{
	struct h2_conn *c = h2_of(session);
	struct h2_stream *s = h2_stream_of(stream);
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
	uint32_t window = h2_window(c, s);
	return length < window ? (uint32_t)length : window;
}

bool h2_next_data(struct session *session, uint32_t most, struct session_output *output)
{
	struct h2_conn *c = h2_of(session);
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
	struct h2_frame frame = {length, s->id, H2_DATA, end ? H2_END_STREAM : 0};
	h2_frame_write(c->data_header, frame);
	*output = (struct session_output){
	    .before = slice_of(c->data_header, sizeof(c->data_header)),
	    .stream = &s->base,
	    .length = length,
	    .end = end,
	};
	h2_trace(c, true, &frame);
	h2_sched_took_turn(&c->sched, place);
	h2_guard_refund(&c->guard, H2_WORK_DATA_OUT, c->now);
	if (end)
		h2_stream_end(c, s, H2_INPUT_SEND_END_STREAM);
	h2_stream_schedule(c, s);
	return true;
}

/* A larger frame would delay a more urgent one at the peer. */
#define FRAME_BYTES_MAX 16384u

bool h2_next_output(struct session *session, uint32_t most, struct session_output *output)
{
	struct h2_conn *c = h2_of(session);
	size_t length = h2_out_length(&c->out);
	if (length > 0) {
		*output =
		    (struct session_output){.before = slice_of(c->out.data + c->out.start, length)};
		h2_out_taken(&c->out, length);
		return true;
	}
	h2_out_trim(&c->out, c->handles == 0);
	return h2_next_data(session, most < FRAME_BYTES_MAX ? most : FRAME_BYTES_MAX, output);
}

bool h2_wants_write(const struct session *session)
{
	const struct h2_conn *c = h2_of(session);
	return h2_out_length(&c->out) > 0 ||
	       (!c->has_failed && h2_sched_first(&c->sched, c->outflow.window > 0) != NULL);
}

/* ---- commands on streams ---- */

/*
 * RFC 9113 6.5.2: there is no limit until the peer sends one. Before its SETTINGS a usual limit is
 * assumed.
 */
#define STREAMS_ASSUMED 100u

uint32_t h2_request_room(const struct session *session)
{
	const struct h2_conn *c = h2_of(session);
	if (c->role != H2_CLIENT || c->has_failed || h2_is_going_away(c) ||
	    c->own_next_id > H2_ID_MAX)
		return 0;
	uint32_t most = c->peer_settings_came ? c->peer.max_concurrent_streams : STREAMS_ASSUMED;
	uint32_t room = most > c->census.local_open ? most - c->census.local_open : 0;
	uint32_t ids = (H2_ID_MAX - c->own_next_id) / 2 + 1;
	return room < ids ? room : ids;
}

/* A head that came with so little is not counted anew where the limit is many times as high: what pushgate itself
 * adds is some hundred bytes. */
#define LITTLE_BYTES 8192u

static bool list_fits(const struct http_head *head, uint32_t most)
{
	bool is_little = head->list_bytes > 0 && head->list_bytes <= LITTLE_BYTES;
	if (is_little && most >= 4 * LITTLE_BYTES)
		return true;
	return most == UINT32_MAX || http_head_list_bytes(head) <= most;
}

uint32_t h2_list_bytes_most(const struct session *session)
{
	const struct h2_conn *c = h2_of(session);
	uint32_t announced = c->peer.max_header_list_size;
	return announced == UINT32_MAX ? c->limits->request_list_bytes : announced;
}

/* RFC 9113 10.5.1: an origin may close the whole connection because of a larger field section. */
enum session_fit h2_request_fits(
    const struct session *session, const struct http_head *head, bool end)
{
	const struct h2_conn *c = h2_of(session);
	(void)end;
	if (head->protocol.len > 0 && !c->peer.enable_connect_protocol)
		return SESSION_NO_TUNNEL;
	return list_fits(head, h2_list_bytes_most(session)) ? SESSION_FITS : SESSION_HEAD_LARGE;
}

static void send_head(
    struct h2_conn *c, struct h2_stream *s, const struct http_head *head, bool end)
{
	h2_send_block(c, H2_HEADERS, end ? H2_END_STREAM : 0, s->id, 0, head);
	if (end)
		h2_stream_end(c, s, H2_INPUT_SEND_END_STREAM);
}

struct session_stream *h2_request(
    struct session *session, const struct http_head *head, bool end, void *user)
{
	struct h2_conn *c = h2_of(session);
	ensure(c->role == H2_CLIENT);
	if (h2_request_room(session) == 0)
		return NULL;
	struct h2_stream *s = h2_stream_new(c, c->own_next_id, H2_INPUT_SEND_HEADERS);
	if (!s)
		return NULL;
	c->own_next_id += 2;
	s->base.user = user;
	s->method = (uint8_t)head->method_token;
	s->send_phase = H2_PHASE_BODY;
	h2_guard_refund(&c->guard, H2_WORK_REQUEST, c->now);
	send_head(c, s, head, end);
	return &s->base;
}

bool h2_respond(
    struct session *session, struct session_stream *stream, const struct http_head *head, bool end)
{
	struct h2_conn *c = h2_of(session);
	struct h2_stream *s = h2_stream_of(stream);
	ensure(c->role == H2_SERVER && head->status != 101);
	if (c->has_failed || s->life != H2_LIFE_ALIVE || s->send_phase != H2_PHASE_HEAD)
		return false;
	if (s->state == H2_STATE_RESERVED_LOCAL && h2_push_room(session) == 0)
		return false;
	ensure(!(http_head_is_interim(head) && end));
	if (http_head_is_interim(head) && h2_peer_is_behind(c))
		return false;
	const struct session_fault *fault = h2_stream_move(c, s, H2_INPUT_SEND_HEADERS);
	ensure(!fault);
	if (!http_head_is_interim(head)) {
		s->send_phase = H2_PHASE_BODY;
		s->is_tunnel = s->method == HTTP_METHOD_CONNECT && head->status / 100 == 2;
	}
	send_head(c, s, head, end);
	return true;
}

bool h2_trailers(
    struct session *session, struct session_stream *stream, const struct http_head *head)
{
	struct h2_conn *c = h2_of(session);
	struct h2_stream *s = h2_stream_of(stream);
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
	if (!c->has_event || c->event.stream != &s->base)
		return;
	c->has_event = false;
	http_head_free(c->event.head);
	struct session_stream *promised = c->event.promised;
	c->event = (struct session_event){0};
	if (promised)
		h2_reset(&c->session, promised, SESSION_CANCEL);
}

void h2_reset(struct session *session, struct session_stream *stream, uint32_t code)
{
	struct h2_conn *c = h2_of(session);
	struct h2_stream *s = h2_stream_of(stream);
	if (c->has_failed || s->life == H2_LIFE_ENDED)
		return;
	cancel_event(c, s);
	if (s->life == H2_LIFE_ALIVE) {
		h2_send_rst_stream(c, s->id, code);
		if (h2_peer_may_send((enum h2_state)s->state))
			h2_stream_forget(c, s->id);
		const struct session_fault *fault = h2_stream_move(c, s, H2_INPUT_SEND_RST_STREAM);
		ensure(!fault);
		h2_stream_detach(c, s);
	}
	h2_stream_free(c, s);
}

/* RFC 9218 7.1: the peer answers the request, and is told. A peer that does not know the frame ignores it. */
static void tell_priority(struct h2_conn *c, uint32_t id, struct http_priority priority)
{
	uint8_t payload[16];
	h2_write32(payload, id);
	int n = snprintf((char *)payload + 4, sizeof(payload) - 4, "u=%u%s", priority.urgency,
	    priority.incremental ? ", i" : "");
	h2_send_frame(c, H2_PRIORITY_UPDATE, 0, 0, payload, 4 + (size_t)n);
}

void h2_set_priority(
    struct session *session, struct session_stream *stream, struct http_priority priority)
{
	struct h2_conn *c = h2_of(session);
	struct h2_stream *s = h2_stream_of(stream);
	if (c->has_failed || s->life != H2_LIFE_ALIVE)
		return;
	if (c->role == H2_CLIENT)
		tell_priority(c, s->id, priority);
	h2_sched_set_priority(&c->sched, &s->place, priority);
}

bool h2_ping(struct session *session, usec now)
{
	struct h2_conn *c = h2_of(session);
	if (now > c->now)
		c->now = now;
	if (c->has_failed || c->owner_ping)
		return false;
	c->owner_ping = true;
	h2_send_ping(c, H2_PING_OWNER);
	return true;
}
