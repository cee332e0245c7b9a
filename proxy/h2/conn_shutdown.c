/* SPDX-License-Identifier: MIT */
/* Ends a connection from this side: GOAWAY, gracefully or at once (RFC 9113 6.8). */
#include "proxy/h2/h2_conn.h"

/*
 * Requests sent before the first GOAWAY arrived come within a round trip. A peer that does not
 * answer the PING gets this time.
 */
#define SHUTDOWN_ROUND_TRIP USEC_PER_SEC

/* Most bytes of debug data: enough for a reason. */
#define DEBUG_BYTES 128u

uint32_t h2_last_taken_id(const struct h2_conn *c)
{
	bool is_bound = c->goaway_sent == H2_GOAWAY_FINAL && c->goaway_sent_last < c->peer_last_id;
	return is_bound ? c->goaway_sent_last : c->peer_last_id;
}

void h2_send_goaway(struct h2_conn *c, uint32_t last_id, uint32_t code, struct slice debug)
{
	uint8_t payload[8 + DEBUG_BYTES];
	debug = slice_sub(debug, 0, DEBUG_BYTES);
	h2_write32(payload, last_id);
	h2_write32(payload + 4, code);
	if (debug.len > 0)
		memcpy(payload + 8, debug.ptr, debug.len);
	h2_send_frame(c, H2_GOAWAY, 0, 0, payload, 8 + debug.len);
}

void h2_shutdown(struct session *session, usec now)
{
	struct h2_conn *c = h2_of(session);
	if (now > c->now)
		c->now = now;
	if (c->has_failed || c->goaway_sent != H2_GOAWAY_NOT)
		return;
	c->goaway_sent = H2_GOAWAY_ANNOUNCED;
	c->shutdown_deadline = clock_after(c->now, SHUTDOWN_ROUND_TRIP);
	/*
	 * The highest id that the peer can open: some peers treat an id of the other parity as an
	 * error.
	 */
	uint32_t last_id = h2_id_is_own(c, H2_ID_MAX) ? H2_ID_MAX - 1 : H2_ID_MAX;
	h2_send_goaway(c, last_id, SESSION_NO_ERROR, slice_of("", 0));
	h2_send_ping(c, H2_PING_SHUTDOWN);
}

void h2_shutdown_finish(struct h2_conn *c)
{
	ensure(c->goaway_sent == H2_GOAWAY_ANNOUNCED);
	c->shutdown_deadline = USEC_NEVER;
	c->goaway_sent_last = c->peer_last_id;
	c->goaway_sent = H2_GOAWAY_FINAL;
	h2_send_goaway(c, c->goaway_sent_last, SESSION_NO_ERROR, slice_of("", 0));
}

void h2_half_close(struct session *session, usec now)
{
	struct h2_conn *c = h2_of(session);
	if (now > c->now)
		c->now = now;
	if (c->has_failed)
		return;
	c->preface_deadline = c->settings_deadline = c->block.deadline = USEC_NEVER;
	if (c->goaway_sent == H2_GOAWAY_FINAL)
		return;
	c->goaway_sent = H2_GOAWAY_ANNOUNCED;
	h2_shutdown_finish(c);
}

void h2_terminate(struct session *session, uint32_t code, struct slice debug)
{
	struct h2_conn *c = h2_of(session);
	if (c->has_failed)
		return;
	h2_send_goaway(c, h2_last_taken_id(c), code, debug);
	c->has_failed = c->was_terminated = true;
	c->failure_code = code;
}
