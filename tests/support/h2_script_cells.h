/* SPDX-License-Identifier: MIT */
/*
 * Walks through the stream states (RFC 9113 5.1): puts a stream into a state, delivers one frame of
 * each type, and compares the result with a letter. The tables are in the tests.
 */
#ifndef PUSHGATE_TESTS_SUPPORT_H2_SCRIPT_CELLS_H
#define PUSHGATE_TESTS_SUPPORT_H2_SCRIPT_CELLS_H

#include "tests/support/h2_script.h"

/* The columns, in the order of the letters in a row. */
enum script_input {
	INPUT_DATA,
	INPUT_DATA_END,
	INPUT_HEADERS,
	INPUT_HEADERS_END,
	INPUT_PRIORITY,
	INPUT_RST,
	INPUT_PROMISE,
	INPUT_WINDOW_UPDATE,
	INPUT_CONTINUATION,
	INPUT_PRIORITY_UPDATE,
	INPUT_UNKNOWN,
	INPUT_COUNT,
};

/*
 * .  accepted: any events, no RST_STREAM or GOAWAY
 * -  ignored: neither event nor frame
 * r  RESET event with the peer's code, no frame
 * p  stream error PROTOCOL_ERROR          c  stream error STREAM_CLOSED
 * P  connection error PROTOCOL_ERROR      C  connection error STREAM_CLOSED
 * x  STREAM_CLOSED, on the stream or on the connection (both are in 5.1)
 * Q  connection error, STREAM_CLOSED or PROTOCOL_ERROR
 * y  error, STREAM_CLOSED or PROTOCOL_ERROR, of either scope
 * *  ignored, or x
 * a  ignored, or y
 * f  the promised stream is refused, nothing else happens
 */
struct script_row {
	const char *name;
	enum h2_role role;
	uint32_t id;
	void (*drive)(struct script *s);
	enum { SCRIPT_BLOCK_TRAILERS, SCRIPT_BLOCK_REQUEST, SCRIPT_BLOCK_RESPONSE } block;
	const char *letters;
};

void script_walks(const struct script_row *rows, size_t count);

#endif
