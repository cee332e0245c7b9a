/* SPDX-License-Identifier: MIT */
/*
 * The stream states as a table (RFC 9113 5.1): state × input → what happens. Only
 * h2_stream_move (stream.c) applies it. END_STREAM is an input of its own, given right after the
 * HEADERS or DATA that carried it.
 *
 *                          +--------+
 *            send PP       |  idle  |       recv PP
 *        ,-----------------|        |-----------------.
 *        v                 +--------+                 v
 *   reserved-local     send H / recv H         reserved-remote
 *        | send H              v                      | recv H
 *        |                  +------+                  |
 *        v     recv ES      | open |      send ES     v
 *   half-closed-remote <----|      |----> half-closed-local
 *        | send ES          +------+          recv ES |
 *        `-------------------> closed <---------------'      RST_STREAM: from all but idle
 */
#ifndef PUSHGATE_H2_STATE_H
#define PUSHGATE_H2_STATE_H

#include "proxy/h2/h2_fault.h"

enum h2_state {
	H2_STATE_IDLE,
	H2_STATE_RESERVED_LOCAL,
	H2_STATE_RESERVED_REMOTE,
	H2_STATE_OPEN,
	H2_STATE_HALF_CLOSED_LOCAL,
	H2_STATE_HALF_CLOSED_REMOTE,
	H2_STATE_CLOSED,
	/*
	 * Closed by our own RST_STREAM, or above the last id of our GOAWAY: frames still in transit
	 * are tolerated (RFC 9113 5.1, 6.8). No stream object has this state.
	 */
	H2_STATE_FORGOTTEN,
	H2_STATE_COUNT
};

enum h2_input {
	H2_INPUT_RECV_HEADERS,
	H2_INPUT_RECV_DATA,
	H2_INPUT_RECV_END_STREAM,
	H2_INPUT_RECV_PUSH_PROMISE, /* the stream is the parent */
	H2_INPUT_RECV_PROMISED,     /* the stream is the promised one */
	H2_INPUT_RECV_RST_STREAM,
	H2_INPUT_RECV_WINDOW_UPDATE,
	H2_INPUT_SEND_HEADERS,
	H2_INPUT_SEND_DATA,
	H2_INPUT_SEND_END_STREAM,
	H2_INPUT_SEND_PUSH_PROMISE,
	H2_INPUT_SEND_PROMISED,
	H2_INPUT_SEND_RST_STREAM,
	H2_INPUT_SEND_WINDOW_UPDATE,
	H2_INPUT_COUNT
};

enum h2_verdict {
	H2_VERDICT_NEVER, /* a bug of this program; 0, so that the table need not say it */
	H2_VERDICT_GO,    /* legal: the stream moves to `next` */
	/* legal but ignored; field blocks are still decoded, DATA is credited */
	H2_VERDICT_DISCARD,
	H2_VERDICT_FAULT, /* the peer's fault `fault` */
};

struct h2_transition {
	uint8_t verdict; /* enum h2_verdict */
	uint8_t next;    /* enum h2_state, of H2_VERDICT_GO */
	uint16_t fault;  /* enum h2_fault_id, of H2_VERDICT_FAULT */
};

extern const struct h2_transition h2_transitions[H2_STATE_COUNT][H2_INPUT_COUNT];

const char *h2_state_name(enum h2_state state);

/* Whether this side may send the input in this state. */
static inline bool h2_state_allows(enum h2_state state, enum h2_input input)
{
	return h2_transitions[state][input].verdict == H2_VERDICT_GO;
}

#endif
