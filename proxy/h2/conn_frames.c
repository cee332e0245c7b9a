/* SPDX-License-Identifier: MIT */
/*
 * Receives the small frames (RFC 9113 6.3, 6.4, 6.7, 6.8, 6.9; RFC 9218 7.1). SETTINGS:
 * conn_settings.c; DATA: conn_data.c; field blocks: block.c.
 */
#include "proxy/h2/h2_conn.h"

/* Checks only the form: RFC 7540's weights and dependencies are not used (RFC 9113 5.3.2). */
const struct session_fault *h2_recv_priority(struct h2_conn *c, const uint8_t *payload)
{
	const struct h2_frame *frame = &c->reader.frame;
	const struct session_fault *fault =
	    h2_guard_count(&c->guard, H2_GUARDED_PRIORITIES, c->now);
	if (fault)
		return fault;
	struct h2_stream *s;
	if ((h2_read32(payload) & H2_ID_MASK) == frame->stream_id &&
	    h2_stream_state(c, frame->stream_id, &s) != H2_STATE_CLOSED)
		return h2_fault(SELF_DEPENDENCY);
	return NULL;
}

/*
 * Counts a received reset. A client's resets of its own requests waste work, so they use the reset
 * bucket. A peer may refuse each stream that this side opened once for free; a promise was counted
 * when it came.
 */
static const struct session_fault *count_reset(struct h2_conn *c, uint32_t id, bool had_stream)
{
	bool own = h2_id_is_own(c, id);
	if (!own && c->role == H2_SERVER)
		return h2_guard_count(&c->guard, H2_GUARDED_RESETS, c->now);
	if (had_stream)
		return NULL;
	return h2_guard_count(&c->guard, own ? H2_GUARDED_WINDOWS : H2_GUARDED_PROMISES, c->now);
}

const struct session_fault *h2_recv_rst_stream(struct h2_conn *c, const uint8_t *payload)
{
	uint32_t id = c->reader.frame.stream_id, code = h2_read32(payload);
	struct h2_stream *s;
	enum h2_state state = h2_stream_state(c, id, &s);
	if (!s) {
		const struct h2_transition *t = &h2_transitions[state][H2_INPUT_RECV_RST_STREAM];
		return t->verdict == H2_VERDICT_FAULT ? &h2_faults[t->fault]
						      : count_reset(c, id, false);
	}
	h2_stream_abort(c, s, H2_INPUT_RECV_RST_STREAM, NULL, code, code == SESSION_REFUSED_STREAM);
	return count_reset(c, id, true);
}

static const struct session_fault *recv_pong(struct h2_conn *c, const uint8_t *payload)
{
	uint32_t serial = h2_read32(payload + 4);
	switch ((enum h2_ping_kind)payload[0]) {
	case H2_PING_OWNER:
		if (!c->owner_ping || serial != c->owner_serial)
			break;
		c->owner_ping = false;
		h2_event_make(c, SESSION_EVENT_PONG, NULL);
		return NULL;
	case H2_PING_RESETS:
		if (!c->forgotten.ping_under_way || serial != c->resets_serial)
			break;
		h2_forgotten_ponged(&c->forgotten);
		if (h2_forgotten_wants_ping(&c->forgotten)) {
			h2_forgotten_pinged(&c->forgotten);
			h2_send_ping(c, H2_PING_RESETS);
		}
		return NULL;
	case H2_PING_SHUTDOWN:
		if (c->goaway_sent != H2_GOAWAY_ANNOUNCED || serial != c->shutdown_serial)
			break;
		h2_shutdown_finish(c);
		return NULL;
	}
	/* An unexpected PING answer is harmless, but counted. */
	return h2_guard_count(&c->guard, H2_GUARDED_PINGS, c->now);
}

const struct session_fault *h2_recv_ping(struct h2_conn *c, const uint8_t *payload)
{
	if (c->reader.frame.flags & H2_ACK)
		return recv_pong(c, payload);
	const struct session_fault *fault = h2_guard_count(&c->guard, H2_GUARDED_PINGS, c->now);
	if (!fault)
		h2_send_provoked(c, H2_PING, H2_ACK, 0, payload, 8);
	return fault;
}

/* RFC 9113 6.8: the peer has not processed and will not process our streams above this id. Returns the lowest of
 * them, or NULL. */
static struct h2_stream *abort_above(struct h2_conn *c, uint32_t last_id)
{
	struct h2_stream *lowest = NULL;
	map_for_each(&c->streams, s, struct h2_stream, node)
	{
		if (!h2_id_is_own(c, s->id) || s->id <= last_id)
			continue;
		if (!lowest || s->id < lowest->id)
			lowest = s;
		h2_stream_abort(c, s, H2_INPUT_RECV_RST_STREAM, NULL, SESSION_REFUSED_STREAM, true);
	}
	return lowest;
}

const struct session_fault *h2_recv_goaway(struct h2_conn *c, const uint8_t *payload)
{
	uint32_t last_id = h2_read32(payload) & H2_ID_MASK;
	uint32_t code = h2_read32(payload + 4);
	if (c->goaway_came && last_id > c->goaway_came_last)
		return h2_fault(GOAWAY_RAISED);
	const struct session_fault *fault = h2_guard_count(&c->guard, H2_GUARDED_SETTINGS, c->now);
	if (fault || (c->goaway_came && last_id == c->goaway_came_last && code == SESSION_NO_ERROR))
		return fault;
	c->goaway_came = true;
	c->goaway_came_last = last_id;
	struct session_event *event = h2_event_make(c, SESSION_EVENT_GOAWAY, NULL);
	event->last_id = last_id;
	event->code = code;
	event->debug = slice_of(payload + 8, c->reader.frame.length - 8);
	event->stream = h2_handle(abort_above(c, last_id));
	if (code != SESSION_NO_ERROR)
		h2_conn_fail(c, NULL, code, false);
	return NULL;
}

const struct session_fault *h2_recv_window_update(struct h2_conn *c, const uint8_t *payload)
{
	uint32_t id = c->reader.frame.stream_id;
	uint32_t increment = h2_read32(payload) & H2_ID_MASK;
	const struct session_fault *fault = h2_guard_count(&c->guard, H2_GUARDED_WINDOWS, c->now);
	if (fault)
		return fault;
	if (id == 0) {
		if (increment == 0)
			return h2_fault(WINDOW_ZERO_CONNECTION);
		return h2_outflow_shift(&c->outflow, increment)
			   ? NULL
			   : h2_fault(WINDOW_OVERFLOW_CONNECTION);
	}
	struct h2_stream *s;
	fault = h2_stream_receive(c, id, H2_INPUT_RECV_WINDOW_UPDATE, &s);
	if (fault || !s)
		return fault;
	if (increment == 0)
		return h2_fault(WINDOW_ZERO);
	if (!h2_outflow_shift(&s->outflow, increment))
		return h2_fault(WINDOW_OVERFLOW);
	h2_stream_schedule(c, s);
	return NULL;
}

const struct session_fault *h2_recv_priority_update(struct h2_conn *c, const uint8_t *payload)
{
	uint32_t id = h2_read32(payload) & H2_ID_MASK;
	const struct session_fault *fault =
	    h2_guard_count(&c->guard, H2_GUARDED_PRIORITIES, c->now);
	if (fault)
		return fault;
	struct h2_stream *s = NULL;
	enum h2_state state = id ? h2_stream_state(c, id, &s) : H2_STATE_IDLE;
	if (id == 0 || (state == H2_STATE_IDLE && h2_id_is_own(c, id)))
		return h2_fault(PRIORITY_UPDATE_ID);
	struct slice value = slice_of(payload + 4, c->reader.frame.length - 4);
	struct http_priority priority = http_priority_parse(value);
	if (s) {
		h2_sched_set_priority(&c->sched, &s->place, priority);
	} else if (state == H2_STATE_IDLE) {
		h2_early_forget(&c->early, c->peer_last_id);
		h2_early_put(&c->early, c->budget, id, priority);
		if (c->early.count + c->census.remote_open > h2_streams_allowed(c))
			return h2_fault(PRIORITY_UPDATE_MANY);
	}
	return NULL;
}
