/* SPDX-License-Identifier: MIT */
/*
 * Every fault that a peer can commit, one row each. A handler returns &h2_faults[H2_FAULT_…] or
 * NULL. Only h2_fault_apply (h2_conn.h) turns a row into RST_STREAM or GOAWAY.
 */
#ifndef PUSHGATE_H2_H2_FAULT_H
#define PUSHGATE_H2_H2_FAULT_H

#include "proxy/h2/h2.h"

// clang-format off
/* X(symbol, name, section, code, scope, sentence) */
#define H2_FAULTS(X) \
	/* The beginning. */ \
	X(PREFACE_BAD, "preface-bad", "RFC 9113 3.4", PROTOCOL_ERROR, CONNECTION, \
		"The connection does not start with the client connection preface.") \
	X(FIRST_FRAME, "first-frame-not-settings", "RFC 9113 3.4", PROTOCOL_ERROR, CONNECTION, \
		"The first frame is not SETTINGS.") \
	X(PREFACE_TIMEOUT, "preface-timeout", "RFC 9113 3.4", SETTINGS_TIMEOUT, CONNECTION, \
		"The preface and the first SETTINGS did not come in time.") \
	X(SETTINGS_TIMEOUT, "settings-timeout", "RFC 9113 6.5.3", SETTINGS_TIMEOUT, CONNECTION, \
		"Our SETTINGS were not acknowledged in time.") \
	X(BLOCK_TIMEOUT, "field-block-timeout", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"A field block was begun and not finished in time.") \
	/* Framing. */ \
	X(FRAME_TOO_LARGE, "frame-too-large", "RFC 9113 4.2", FRAME_SIZE_ERROR, CONNECTION, \
		"A frame is longer than our SETTINGS_MAX_FRAME_SIZE.") \
	X(FRAME_LENGTH, "frame-length-wrong", "RFC 9113 4.2", FRAME_SIZE_ERROR, CONNECTION, \
		"A frame is too short or too long for its fields.") \
	X(PRIORITY_LENGTH, "priority-length-wrong", "RFC 9113 6.3", FRAME_SIZE_ERROR, STREAM, \
		"A PRIORITY frame is not 5 bytes long.") \
	X(SETTINGS_ACK_LENGTH, "settings-ack-not-empty", "RFC 9113 6.5", FRAME_SIZE_ERROR, CONNECTION, \
		"A SETTINGS acknowledgement has a payload.") \
	X(PADDING_TOO_LONG, "padding-too-long", "RFC 9113 6.1", PROTOCOL_ERROR, CONNECTION, \
		"Padding is as long as the payload or longer.") \
	X(DATA_ON_ZERO, "data-on-stream-zero", "RFC 9113 6.1", PROTOCOL_ERROR, CONNECTION, \
		"DATA on stream 0.") \
	X(HEADERS_ON_ZERO, "headers-on-stream-zero", "RFC 9113 6.2", PROTOCOL_ERROR, CONNECTION, \
		"HEADERS on stream 0.") \
	X(PRIORITY_ON_ZERO, "priority-on-stream-zero", "RFC 9113 6.3", PROTOCOL_ERROR, CONNECTION, \
		"PRIORITY on stream 0.") \
	X(RST_ON_ZERO, "reset-on-stream-zero", "RFC 9113 6.4", PROTOCOL_ERROR, CONNECTION, \
		"RST_STREAM on stream 0.") \
	X(SETTINGS_ON_STREAM, "settings-on-a-stream", "RFC 9113 6.5", PROTOCOL_ERROR, CONNECTION, \
		"SETTINGS on another stream than 0.") \
	X(PROMISE_ON_ZERO, "promise-on-stream-zero", "RFC 9113 6.6", PROTOCOL_ERROR, CONNECTION, \
		"PUSH_PROMISE on stream 0.") \
	X(PING_ON_STREAM, "ping-on-a-stream", "RFC 9113 6.7", PROTOCOL_ERROR, CONNECTION, \
		"PING on another stream than 0.") \
	X(GOAWAY_ON_STREAM, "goaway-on-a-stream", "RFC 9113 6.8", PROTOCOL_ERROR, CONNECTION, \
		"GOAWAY on another stream than 0.") \
	X(PRIORITY_UPDATE_ON_STREAM, "priority-update-on-a-stream", "RFC 9218 7.1", PROTOCOL_ERROR, CONNECTION, \
		"PRIORITY_UPDATE on another stream than 0.") \
	X(PRIORITY_UPDATE_SENDER, "priority-update-from-server", "RFC 9218 7.1", PROTOCOL_ERROR, CONNECTION, \
		"A server sent PRIORITY_UPDATE.") \
	X(PRIORITY_UPDATE_ID, "priority-update-of-wrong-stream", "RFC 9218 7.1", PROTOCOL_ERROR, CONNECTION, \
		"PRIORITY_UPDATE names stream 0 or a push that was never promised.") \
	X(PRIORITY_UPDATE_MANY, "priority-updates-too-many", "RFC 9218 7.1", PROTOCOL_ERROR, CONNECTION, \
		"PRIORITY_UPDATE names more idle streams than may be opened.") \
	/* Field blocks. */ \
	X(CONTINUATION_STRAY, "continuation-stray", "RFC 9113 6.10", PROTOCOL_ERROR, CONNECTION, \
		"CONTINUATION without an unfinished field block before it.") \
	X(BLOCK_INTERRUPTED, "field-block-interrupted", "RFC 9113 4.3", PROTOCOL_ERROR, CONNECTION, \
		"Something else than CONTINUATION of the same stream inside a field block.") \
	X(BLOCK_TOO_LARGE, "field-block-too-large", "RFC 9113 10.5.1", ENHANCE_YOUR_CALM, CONNECTION, \
		"A field block is larger than we take.") \
	X(BLOCK_CONTINUATIONS, "continuation-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"A field block comes in too many CONTINUATION frames.") \
	X(BLOCK_MEMORY, "field-block-no-memory", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"There is no memory for so large a field block now.") \
	X(COMPRESSION, "field-block-undecodable", "RFC 9113 4.3", COMPRESSION_ERROR, CONNECTION, \
		"A field block cannot be decoded.") \
	X(LIST_TOO_LARGE, "field-list-too-large", "RFC 9113 10.5.1", ENHANCE_YOUR_CALM, STREAM, \
		"A field list is larger than our SETTINGS_MAX_HEADER_LIST_SIZE.") \
	/* Settings. */ \
	X(SETTINGS_PUSH, "settings-enable-push", "RFC 9113 6.5.2", PROTOCOL_ERROR, CONNECTION, \
		"SETTINGS_ENABLE_PUSH is neither 0 nor 1, or a server sent 1.") \
	X(SETTINGS_WINDOW, "settings-window-size", "RFC 9113 6.5.2", FLOW_CONTROL_ERROR, CONNECTION, \
		"SETTINGS_INITIAL_WINDOW_SIZE is above 2^31-1.") \
	X(SETTINGS_FRAME, "settings-frame-size", "RFC 9113 6.5.2", PROTOCOL_ERROR, CONNECTION, \
		"SETTINGS_MAX_FRAME_SIZE is below 2^14 or above 2^24-1.") \
	X(SETTINGS_CONNECT, "settings-connect-protocol", "RFC 8441 3", PROTOCOL_ERROR, CONNECTION, \
		"SETTINGS_ENABLE_CONNECT_PROTOCOL is neither 0 nor 1.") \
	X(SETTINGS_CONNECT_BACK, "settings-connect-protocol-withdrawn", "RFC 8441 3", PROTOCOL_ERROR, CONNECTION, \
		"A server sent SETTINGS_ENABLE_CONNECT_PROTOCOL of 0 after 1.") \
	X(SETTINGS_PRIORITIES, "settings-no-priorities", "RFC 9218 2.1", PROTOCOL_ERROR, CONNECTION, \
		"SETTINGS_NO_RFC7540_PRIORITIES is neither 0 nor 1.") \
	/* Stream states. */ \
	X(DATA_ON_IDLE, "data-on-idle-stream", "RFC 9113 5.1", PROTOCOL_ERROR, CONNECTION, \
		"DATA on an idle stream.") \
	X(HEADERS_ON_IDLE, "headers-on-idle-stream", "RFC 9113 5.1", PROTOCOL_ERROR, CONNECTION, \
		"HEADERS on an idle stream that the peer may not open so.") \
	X(RST_ON_IDLE, "reset-on-idle-stream", "RFC 9113 6.4", PROTOCOL_ERROR, CONNECTION, \
		"RST_STREAM on an idle stream.") \
	X(WINDOW_ON_IDLE, "window-update-on-idle-stream", "RFC 9113 5.1", PROTOCOL_ERROR, CONNECTION, \
		"WINDOW_UPDATE on an idle stream.") \
	X(PROMISE_ON_IDLE, "promise-on-idle-stream", "RFC 9113 6.6", PROTOCOL_ERROR, CONNECTION, \
		"PUSH_PROMISE on an idle stream.") \
	X(HEADERS_ON_RESERVED, "headers-on-reserved-stream", "RFC 9113 5.1", PROTOCOL_ERROR, CONNECTION, \
		"A client sent HEADERS on a stream that we promised.") \
	X(DATA_ON_RESERVED, "data-on-reserved-stream", "RFC 9113 5.1", PROTOCOL_ERROR, CONNECTION, \
		"DATA on a reserved stream.") \
	X(WINDOW_ON_RESERVED, "window-update-on-reserved-stream", "RFC 9113 5.1", PROTOCOL_ERROR, CONNECTION, \
		"WINDOW_UPDATE on a stream that the peer has promised.") \
	X(PROMISE_ON_RESERVED, "promise-on-reserved-stream", "RFC 9113 6.6", PROTOCOL_ERROR, CONNECTION, \
		"PUSH_PROMISE on a reserved stream.") \
	X(PROMISE_ON_PUSHED, "promise-on-pushed-stream", "RFC 9113 6.6", PROTOCOL_ERROR, CONNECTION, \
		"PUSH_PROMISE on a stream of the server's own.") \
	X(DATA_ON_HALF_CLOSED, "data-on-half-closed-stream", "RFC 9113 5.1", STREAM_CLOSED, STREAM, \
		"DATA after END_STREAM.") \
	X(HEADERS_ON_HALF_CLOSED, "headers-on-half-closed-stream", "RFC 9113 5.1", STREAM_CLOSED, STREAM, \
		"HEADERS after END_STREAM.") \
	X(PROMISE_ON_HALF_CLOSED, "promise-on-half-closed-stream", "RFC 9113 6.6", PROTOCOL_ERROR, CONNECTION, \
		"PUSH_PROMISE after END_STREAM.") \
	X(DATA_ON_CLOSED, "data-on-closed-stream", "RFC 9113 5.1", STREAM_CLOSED, CONNECTION, \
		"DATA on a closed stream.") \
	X(HEADERS_ON_CLOSED, "headers-on-closed-stream", "RFC 9113 5.1", STREAM_CLOSED, CONNECTION, \
		"HEADERS on a closed stream.") \
	X(PROMISE_ON_CLOSED, "promise-on-closed-stream", "RFC 9113 6.6", PROTOCOL_ERROR, CONNECTION, \
		"PUSH_PROMISE on a closed stream.") \
	X(STREAM_ID_LOW, "stream-id-not-above", "RFC 9113 5.1.1", PROTOCOL_ERROR, CONNECTION, \
		"A new stream's id is not above every earlier one.") \
	X(SELF_DEPENDENCY, "stream-depends-on-itself", "RFC 7540 5.3.1", PROTOCOL_ERROR, STREAM, \
		"A stream is made to depend on itself.") \
	X(STREAMS_TOO_MANY, "too-many-streams", "RFC 9113 5.1.2", REFUSED_STREAM, STREAM, \
		"The peer exceeds our SETTINGS_MAX_CONCURRENT_STREAMS.") \
	X(STREAM_MEMORY, "no-memory-for-stream", "RFC 9113 8.7", REFUSED_STREAM, STREAM, \
		"There is no memory for another stream now.") \
	X(STREAM_UNREAD, "responses-unread", "RFC 9113 10.5", REFUSED_STREAM, STREAM, \
		"The peer asks for more before it has read the responses that wait for it.") \
	/* Promises. */ \
	X(PROMISE_SENDER, "promise-from-client", "RFC 9113 8.4", PROTOCOL_ERROR, CONNECTION, \
		"A client sent PUSH_PROMISE.") \
	X(PROMISE_ID, "promised-id-wrong", "RFC 9113 5.1.1", PROTOCOL_ERROR, CONNECTION, \
		"A promised id is odd, zero, or not above every earlier one.") \
	X(PROMISE_DISABLED, "promise-while-disabled", "RFC 9113 6.6", PROTOCOL_ERROR, CONNECTION, \
		"PUSH_PROMISE although the peer has acknowledged SETTINGS_ENABLE_PUSH=0.") \
	X(PROMISE_MALFORMED, "promise-malformed", "RFC 9113 8.4", PROTOCOL_ERROR, STREAM, \
		"A promised request is malformed, or not one that may be promised.") \
	X(PROMISE_UNWANTED, "promise-unwanted", "RFC 9113 8.4", REFUSED_STREAM, STREAM, \
		"A promise came before the peer had seen SETTINGS_ENABLE_PUSH=0.") \
	X(PROMISE_TOO_MANY, "promises-reserved-full", "RFC 9113 5.1.2", REFUSED_STREAM, STREAM, \
		"More promises are unanswered than we keep.") \
	X(PROMISE_LIST, "promise-field-list-too-large", "RFC 9113 10.5.1", REFUSED_STREAM, STREAM, \
		"A promised request's field list is larger than our SETTINGS_MAX_HEADER_LIST_SIZE.") \
	X(PROMISE_IN_TUNNEL, "promise-in-tunnel", "RFC 9113 8.5", PROTOCOL_ERROR, STREAM, \
		"PUSH_PROMISE on the stream of a tunnel.") \
	X(PROMISE_ORPHAN, "promise-parent-reset", "RFC 9113 8.4", CANCEL, STREAM, \
		"A promise on a stream that we have reset.") \
	/* Flow control. */ \
	X(WINDOW_ZERO, "window-increment-zero", "RFC 9113 6.9", PROTOCOL_ERROR, STREAM, \
		"WINDOW_UPDATE of a stream with an increment of 0.") \
	X(WINDOW_ZERO_CONNECTION, "connection-window-increment-zero", "RFC 9113 6.9", PROTOCOL_ERROR, CONNECTION, \
		"WINDOW_UPDATE of the connection with an increment of 0.") \
	X(WINDOW_OVERFLOW, "window-overflow", "RFC 9113 6.9.1", FLOW_CONTROL_ERROR, STREAM, \
		"WINDOW_UPDATE lifts a stream's window above 2^31-1.") \
	X(WINDOW_OVERFLOW_CONNECTION, "connection-window-overflow", "RFC 9113 6.9.1", FLOW_CONTROL_ERROR, CONNECTION, \
		"WINDOW_UPDATE lifts the connection's window above 2^31-1.") \
	X(WINDOW_OVERFLOW_SETTINGS, "settings-window-overflow", "RFC 9113 6.9.2", FLOW_CONTROL_ERROR, CONNECTION, \
		"SETTINGS_INITIAL_WINDOW_SIZE lifts a stream's window above 2^31-1.") \
	X(OVERRUN, "window-overrun", "RFC 9113 6.9.1", FLOW_CONTROL_ERROR, STREAM, \
		"DATA exceeds the stream's window.") \
	X(OVERRUN_CONNECTION, "connection-window-overrun", "RFC 9113 6.9.1", FLOW_CONTROL_ERROR, CONNECTION, \
		"DATA exceeds the connection's window.") \
	/* Messages. */ \
	X(REQUEST_MALFORMED, "request-malformed", "RFC 9113 8.1.1", PROTOCOL_ERROR, STREAM, \
		"A request's fields are malformed.") \
	X(RESPONSE_MALFORMED, "response-malformed", "RFC 9113 8.1.1", PROTOCOL_ERROR, STREAM, \
		"A response's fields are malformed.") \
	X(TRAILERS_MALFORMED, "trailers-malformed", "RFC 9113 8.1.1", PROTOCOL_ERROR, STREAM, \
		"A trailer section is malformed.") \
	X(TRAILERS_WITHOUT_END, "trailers-without-end", "RFC 9113 8.1", PROTOCOL_ERROR, STREAM, \
		"HEADERS after the head without END_STREAM.") \
	X(TUNNEL_HEADERS, "headers-in-tunnel", "RFC 9113 8.5", PROTOCOL_ERROR, STREAM, \
		"HEADERS after the head on the stream of a CONNECT, which carries DATA alone.") \
	X(INTERIM_WITH_END, "interim-with-end", "RFC 9113 8.1", PROTOCOL_ERROR, STREAM, \
		"An interim response with END_STREAM.") \
	X(INTERIM_TOO_MANY, "interim-flood", "RFC 9110 15.2", ENHANCE_YOUR_CALM, STREAM, \
		"More interim responses than we take.") \
	X(DATA_BEFORE_HEAD, "data-before-head", "RFC 9113 8.1", PROTOCOL_ERROR, STREAM, \
		"DATA before the final head of a response.") \
	X(BODY_FORBIDDEN, "body-forbidden", "RFC 9113 8.1.1", PROTOCOL_ERROR, STREAM, \
		"DATA bytes in a response that has no content.") \
	X(BODY_LONG, "body-longer-than-content-length", "RFC 9113 8.1.1", PROTOCOL_ERROR, STREAM, \
		"More DATA bytes than content-length says.") \
	X(BODY_SHORT, "body-shorter-than-content-length", "RFC 9113 8.1.1", PROTOCOL_ERROR, STREAM, \
		"Fewer DATA bytes than content-length says.") \
	X(GOAWAY_RAISED, "goaway-raised", "RFC 9113 6.8", PROTOCOL_ERROR, CONNECTION, \
		"A later GOAWAY has a higher last stream id.") \
	/* Floods: guard.c. */ \
	X(FLOOD_RESETS, "reset-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"Streams are reset faster than requests complete.") \
	X(FLOOD_PROVOKED, "fault-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"The peer's faults make us reset streams too often.") \
	X(FLOOD_PINGS, "ping-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"Too many PING frames.") \
	X(FLOOD_SETTINGS, "settings-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"Too many SETTINGS or GOAWAY frames.") \
	X(FLOOD_PRIORITIES, "priority-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"Too many frames without effect: PRIORITY, PRIORITY_UPDATE, unknown types.") \
	X(FLOOD_EMPTY, "empty-frame-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"Too many frames that carry nothing.") \
	X(FLOOD_WINDOWS, "window-update-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"Too many WINDOW_UPDATE frames, or resets of what we had closed.") \
	X(FLOOD_PROMISES, "promise-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"Far more promises than requests.") \
	X(FLOOD_BLOCKS, "field-block-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"Far more field blocks than completed requests.") \
	X(FLOOD_EXPANSION, "expansion-flood", "RFC 7541 7.3", ENHANCE_YOUR_CALM, CONNECTION, \
		"Indexed fields that are far larger than what was sent for them.") \
	X(FLOOD_CONTROL, "control-output-flood", "RFC 9113 10.5", ENHANCE_YOUR_CALM, CONNECTION, \
		"The peer makes us answer and does not read the answers.")
// clang-format on

enum h2_fault_id {
#define H2_FAULT_ENUM(symbol, name, section, code, scope, text) H2_FAULT_##symbol,
	H2_FAULTS(H2_FAULT_ENUM)
#undef H2_FAULT_ENUM
	    H2_FAULT_COUNT
};

extern const struct session_fault h2_faults[H2_FAULT_COUNT];

/* The row, for returns: `return h2_fault(OVERRUN);` */
#define h2_fault(symbol) (&h2_faults[H2_FAULT_##symbol])

#endif
