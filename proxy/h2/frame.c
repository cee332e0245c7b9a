/* SPDX-License-Identifier: MIT */
/*
 * The frame table (RFC 9113 6, RFC 9218 7.1). conn_recv.c has the table of handlers.
 */
#include "proxy/h2/frame.h"

#define NO_LIMIT 0xffffffu

// clang-format off
const struct h2_frame_row h2_frame_rows[H2_FRAME_ROWS] = {
	[H2_DATA] = {"DATA", "RFC 9113 6.1", 0, NO_LIMIT, 1, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_NONZERO, H2_FAULT_DATA_ON_ZERO, H2_END_STREAM | H2_PADDED,
		H2_BY_BOTH, H2_FAULT_COUNT, H2_PAYLOAD_STREAMED, false},
	[H2_HEADERS] = {"HEADERS", "RFC 9113 6.2", 0, NO_LIMIT, 1, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_NONZERO, H2_FAULT_HEADERS_ON_ZERO,
		H2_END_STREAM | H2_END_HEADERS | H2_PADDED | H2_HAS_PRIORITY,
		H2_BY_BOTH, H2_FAULT_COUNT, H2_PAYLOAD_WHOLE, false},
	[H2_PRIORITY] = {"PRIORITY", "RFC 9113 6.3", 5, 5, 1, H2_FAULT_PRIORITY_LENGTH,
		H2_STREAM_NONZERO, H2_FAULT_PRIORITY_ON_ZERO, 0,
		H2_BY_BOTH, H2_FAULT_COUNT, H2_PAYLOAD_WHOLE, false},
	[H2_RST_STREAM] = {"RST_STREAM", "RFC 9113 6.4", 4, 4, 1, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_NONZERO, H2_FAULT_RST_ON_ZERO, 0,
		H2_BY_BOTH, H2_FAULT_COUNT, H2_PAYLOAD_WHOLE, false},
	[H2_SETTINGS] = {"SETTINGS", "RFC 9113 6.5", 0, NO_LIMIT, 6, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_ZERO, H2_FAULT_SETTINGS_ON_STREAM, H2_ACK,
		H2_BY_BOTH, H2_FAULT_COUNT, H2_PAYLOAD_WHOLE, false},
	[H2_PUSH_PROMISE] = {"PUSH_PROMISE", "RFC 9113 6.6", 4, NO_LIMIT, 1, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_NONZERO, H2_FAULT_PROMISE_ON_ZERO, H2_END_HEADERS | H2_PADDED,
		H2_BY_SERVER, H2_FAULT_PROMISE_SENDER, H2_PAYLOAD_WHOLE, false},
	[H2_PING] = {"PING", "RFC 9113 6.7", 8, 8, 1, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_ZERO, H2_FAULT_PING_ON_STREAM, H2_ACK,
		H2_BY_BOTH, H2_FAULT_COUNT, H2_PAYLOAD_WHOLE, false},
	[H2_GOAWAY] = {"GOAWAY", "RFC 9113 6.8", 8, NO_LIMIT, 1, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_ZERO, H2_FAULT_GOAWAY_ON_STREAM, 0,
		H2_BY_BOTH, H2_FAULT_COUNT, H2_PAYLOAD_WHOLE, false},
	[H2_WINDOW_UPDATE] = {"WINDOW_UPDATE", "RFC 9113 6.9", 4, 4, 1, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_ANY, H2_FAULT_COUNT, 0,
		H2_BY_BOTH, H2_FAULT_COUNT, H2_PAYLOAD_WHOLE, false},
	[H2_CONTINUATION] = {"CONTINUATION", "RFC 9113 6.10", 0, NO_LIMIT, 1, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_NONZERO, H2_FAULT_CONTINUATION_STRAY, H2_END_HEADERS,
		H2_BY_BOTH, H2_FAULT_COUNT, H2_PAYLOAD_WHOLE, true},
	[H2_PRIORITY_UPDATE] = {"PRIORITY_UPDATE", "RFC 9218 7.1", 4, NO_LIMIT, 1, H2_FAULT_FRAME_LENGTH,
		H2_STREAM_ZERO, H2_FAULT_PRIORITY_UPDATE_ON_STREAM, 0,
		H2_BY_CLIENT, H2_FAULT_PRIORITY_UPDATE_SENDER, H2_PAYLOAD_WHOLE, false},
};
// clang-format on

const struct session_fault *h2_frame_verify(const struct h2_frame *frame, enum h2_role sender)
{
	const struct h2_frame_row *row = h2_frame_row(frame->type);
	if (!row)
		return NULL;
	if (!(row->senders & 1 << sender))
		return &h2_faults[row->sender_fault];
	if ((row->stream_rule == H2_STREAM_ZERO && frame->stream_id != 0) ||
	    (row->stream_rule == H2_STREAM_NONZERO && frame->stream_id == 0))
		return &h2_faults[row->stream_fault];
	if (frame->length < row->length_min || frame->length > row->length_max ||
	    frame->length % row->length_unit != 0)
		return &h2_faults[row->length_fault];
	return NULL;
}
