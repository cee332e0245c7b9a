/* SPDX-License-Identifier: MIT */
/*
 * SETTINGS in both directions (RFC 9113 6.5). The peer's settings apply when they are received.
 * Ours bind the peer when it has acknowledged them; a more generous value applies at once.
 */
#include "proxy/base/memory.h"
#include "proxy/h2/h2_conn.h"

/* ---- ours ---- */

/* Enforces the largest initial window that the peer may be using (RFC 9113 6.9.2). */
static void enforce_window(struct h2_conn *c)
{
	uint32_t window = c->acked.initial_window_size;
	for (uint32_t i = 0; i < c->pending_count; i++)
		if (c->pending[i].initial_window_size > window)
			window = c->pending[i].initial_window_size;
	int64_t by = (int64_t)window - c->window_now;
	if (by == 0)
		return;
	c->window_now = window;
	map_for_each(&c->streams, s, struct h2_stream, node)
	{
		/* h2_widen may have enlarged the window already: do not exceed the maximum. */
		int64_t room = H2_WINDOW_MAX - s->inflow.size;
		h2_inflow_shift(&s->inflow, by < room ? by : room);
		/* The credit that is owed may be half of the smaller window now. If the peer cannot send,
		 * no other event gives it. */
		h2_credit_stream(c, s, 0);
	}
}

void h2_settings_announce(struct h2_conn *c)
{
	bool is_first = !c->was_acked && c->pending_count == 0;
	if (c->pending_count == H2_SETTINGS_PENDING)
		return;
	uint8_t payload[H2_SETTING_COUNT * H2_SETTING_LEN];
	size_t length = h2_settings_write(payload, &c->wanted, &c->local);
	if (length == 0 && !is_first)
		return;
	h2_send_frame(c, H2_SETTINGS, 0, 0, payload, length);
	c->local = c->wanted;
	if (!c->pending)
		c->pending = memory_alloc(H2_SETTINGS_PENDING * sizeof(*c->pending));
	c->pending[c->pending_count++] = c->local;
	if (c->settings_deadline == USEC_NEVER)
		c->settings_deadline = clock_after(c->now, c->limits->settings_timeout);
	enforce_window(c);
}

void h2_update_settings(struct session *session, const struct h2_settings *local, usec now)
{
	struct h2_conn *c = h2_of(session);
	if (now > c->now)
		c->now = now;
	if (c->has_failed)
		return;
	ensure(local->initial_window_size <= H2_WINDOW_MAX);
	c->wanted.max_concurrent_streams = local->max_concurrent_streams;
	c->wanted.initial_window_size = local->initial_window_size;
	if (c->role == H2_CLIENT && local->enable_push == 0)
		c->wanted.enable_push = 0;
	h2_settings_announce(c);
}

void h2_refuse_pushes(struct session *session, usec now)
{
	struct h2_settings settings = h2_of(session)->local;
	settings.enable_push = 0;
	h2_update_settings(session, &settings, now);
}

static const struct session_fault *recv_ack(struct h2_conn *c)
{
	if (c->reader.frame.length != 0)
		return h2_fault(SETTINGS_ACK_LENGTH);
	/* An unexpected acknowledgement is harmless, but counted. */
	if (c->pending_count == 0)
		return h2_guard_count(&c->guard, H2_GUARDED_SETTINGS, c->now);
	c->acked = c->pending[0];
	c->pending_count--;
	memmove(c->pending, c->pending + 1, c->pending_count * sizeof(c->pending[0]));
	if (c->pending_count == 0) {
		free(c->pending);
		c->pending = NULL;
	}
	if (!c->was_acked && c->decoder)
		hpack_decoder_set_limit(c->decoder, c->acked.header_table_size);
	c->was_acked = true;
	c->settings_deadline =
	    c->pending_count > 0 ? clock_after(c->now, c->limits->settings_timeout) : USEC_NEVER;
	enforce_window(c);
	h2_settings_announce(c);
	return NULL;
}

/* ---- the peer's ---- */

/* RFC 9113 6.9.2: changes the window of every stream; it may become negative. */
static const struct session_fault *move_windows(struct h2_conn *c, int64_t by)
{
	if (by == 0)
		return NULL;
	map_for_each(&c->streams, s, struct h2_stream, node)
	{
		if (!h2_outflow_shift(&s->outflow, by))
			return h2_fault(WINDOW_OVERFLOW_SETTINGS);
		h2_stream_schedule(c, s);
	}
	return NULL;
}

static const struct session_fault *apply_setting(struct h2_conn *c, uint16_t id, uint32_t value)
{
	const struct h2_setting_row *row = h2_setting_find(id);
	if (!row)
		return NULL;
	if (value < row->min || value > row->max[h2_other_role(c->role)])
		return &h2_faults[row->fault];
	/* A server that gets this setting makes nothing of it (RFC 8441 3). */
	if (row->offset == offsetof(struct h2_settings, enable_connect_protocol) &&
	    c->role == H2_CLIENT && value < c->peer.enable_connect_protocol)
		return h2_fault(SETTINGS_CONNECT_BACK);
	h2_setting_set(&c->peer, row, value);
	/* RFC 7541 4.2: the smallest of several values matters too, so the encoder gets each. */
	if (row->offset == offsetof(struct h2_settings, header_table_size))
		hpack_encoder_set_limit(h2_encoder(c), value);
	return NULL;
}

const struct session_fault *h2_recv_settings(struct h2_conn *c, const uint8_t *payload)
{
	const struct h2_frame *frame = &c->reader.frame;
	if (frame->flags & H2_ACK)
		return recv_ack(c);
	const struct session_fault *fault = h2_guard_count(&c->guard, H2_GUARDED_SETTINGS, c->now);
	int64_t window = c->peer.initial_window_size;
	for (uint32_t at = 0; !fault && at < frame->length; at += H2_SETTING_LEN) {
		const uint8_t *p = payload + at;
		fault = apply_setting(c, (uint16_t)(p[0] << 8 | p[1]), h2_read32(p + 2));
	}
	if (!fault)
		fault = move_windows(c, c->peer.initial_window_size - window);
	if (fault)
		return fault;
	c->peer_settings_came = true;
	c->preface_deadline = USEC_NEVER;
	h2_send_provoked(c, H2_SETTINGS, H2_ACK, 0, NULL, 0);
	h2_event_make(c, SESSION_EVENT_READY, NULL);
	return NULL;
}
