/* SPDX-License-Identifier: MIT */
/*
 * Frame headers: length ranges, stream zero, reserved bits, undefined flags, unknown types (RFC 9113
 * 4.1, 4.2, 5.5, 6). The expectations are written from the RFC, type by type.
 */
#include "tests/support/h2_script.h"

#include <stdlib.h>

/* A connection with stream 1 open toward the peer (both directions) in either role. */
static struct script *opened(enum h2_role role)
{
	struct script *s = script_open(role);
	if (role == H2_SERVER) {
		script_sends_post(s, 1);
	} else {
		script_requests(s, false, "POST", "/");
		script_pumps(s);
		script_sends_ok(s, 1, 0);
	}
	script_clears(s);
	return s;
}

static void sends_zeros(struct script *s, uint8_t type, uint8_t flags, uint32_t id, size_t length)
{
	uint8_t *zeros = calloc(1, length + 1);
	if (type == H2_PING || length < 4)
		memset(zeros, 1, length);
	else
		zeros[3] = 1; /* WINDOW_UPDATE by 1, RST_STREAM PROTOCOL_ERROR */
	script_sends_raw(s, type, flags, id, zeros, length);
	free(zeros);
}

static void length_is_connection_error(uint8_t type, uint8_t flags, uint32_t id, size_t length)
{
	for (int role = 0; role < 2; role++) {
		struct script *s = opened((enum h2_role)role);
		sends_zeros(s, type, flags, id, length);
		script_expects_connection_error(s, SESSION_FRAME_SIZE_ERROR);
		script_close(s);
	}
}

SCRIPT_TEST(ping_is_8_bytes)
{
	length_is_connection_error(H2_PING, 0, 0, 0);
	length_is_connection_error(H2_PING, 0, 0, 7);
	length_is_connection_error(H2_PING, 0, 0, 9);
	length_is_connection_error(H2_PING, H2_ACK, 0, 7);
}

/* covers: R38 */
SCRIPT_TEST(rst_stream_is_4_bytes)
{
	length_is_connection_error(H2_RST_STREAM, 0, 1, 0);
	length_is_connection_error(H2_RST_STREAM, 0, 1, 3);
	length_is_connection_error(H2_RST_STREAM, 0, 1, 5);
}

/* covers: R38 */
SCRIPT_TEST(window_update_is_4_bytes)
{
	length_is_connection_error(H2_WINDOW_UPDATE, 0, 0, 3);
	length_is_connection_error(H2_WINDOW_UPDATE, 0, 0, 5);
	length_is_connection_error(H2_WINDOW_UPDATE, 0, 1, 0);
	length_is_connection_error(H2_WINDOW_UPDATE, 0, 1, 3);
	length_is_connection_error(H2_WINDOW_UPDATE, 0, 1, 5);
}

SCRIPT_TEST(settings_is_a_multiple_of_6_bytes)
{
	length_is_connection_error(H2_SETTINGS, 0, 0, 1);
	length_is_connection_error(H2_SETTINGS, 0, 0, 5);
	length_is_connection_error(H2_SETTINGS, 0, 0, 7);
}

SCRIPT_TEST(settings_acknowledgement_is_empty)
{
	length_is_connection_error(H2_SETTINGS, H2_ACK, 0, 1);
	length_is_connection_error(H2_SETTINGS, H2_ACK, 0, 6);
}

SCRIPT_TEST(goaway_has_at_least_8_bytes)
{
	length_is_connection_error(H2_GOAWAY, 0, 0, 0);
	length_is_connection_error(H2_GOAWAY, 0, 0, 7);
}

/* RFC 9113 6.3: the one size error that costs only the stream. */
SCRIPT_TEST(priority_of_other_than_5_bytes_is_stream_error)
{
	for (int role = 0; role < 2; role++) {
		static const size_t lengths[] = {0, 4, 6};
		for (size_t i = 0; i < 3; i++) {
			struct script *s = opened((enum h2_role)role);
			sends_zeros(s, H2_PRIORITY, 0, 1, lengths[i]);
			script_expects_stream_error(s, 1, SESSION_FRAME_SIZE_ERROR);
			script_close(s);
		}
	}
}

SCRIPT_TEST(headers_too_short_for_priority_is_frame_size_error)
{
	for (size_t length = 0; length < 5; length++) {
		struct script *s = script_open(H2_SERVER);
		sends_zeros(s, H2_HEADERS, H2_HAS_PRIORITY | H2_END_HEADERS, 1, length);
		script_expects_connection_error(s, SESSION_FRAME_SIZE_ERROR);
		script_close(s);
	}
}

/* covers: R7 P-recv-size */
SCRIPT_TEST(padded_frame_without_its_pad_length_is_frame_size_error)
{
	length_is_connection_error(H2_DATA, H2_PADDED, 1, 0);
	length_is_connection_error(H2_HEADERS, H2_PADDED | H2_END_HEADERS, 1, 0);
}

/* covers: R7 P-recv-size */
SCRIPT_TEST(promise_too_short_for_its_id_is_frame_size_error)
{
	for (size_t length = 0; length < 4; length++) {
		struct script *s = opened(H2_CLIENT);
		sends_zeros(s, H2_PUSH_PROMISE, H2_END_HEADERS, 1, length);
		script_expects_connection_error(s, SESSION_FRAME_SIZE_ERROR);
		script_close(s);
	}
	for (size_t length = 0; length < 5; length++) {
		struct script *s = opened(H2_CLIENT);
		uint8_t payload[5] = {0};
		script_sends_raw(
		    s, H2_PUSH_PROMISE, H2_END_HEADERS | H2_PADDED, 1, payload, length);
		script_expects_connection_error(s, SESSION_FRAME_SIZE_ERROR);
		script_close(s);
	}
}

SCRIPT_TEST(priority_update_too_short_for_its_id_is_frame_size_error)
{
	for (size_t length = 0; length < 4; length++) {
		struct script *s = opened(H2_SERVER);
		sends_zeros(s, H2_PRIORITY_UPDATE, 0, 0, length);
		script_expects_connection_error(s, SESSION_FRAME_SIZE_ERROR);
		script_close(s);
	}
}

/* ---- MAX_FRAME_SIZE ---- */

/* covers: R7 P-recv-size */
SCRIPT_TEST(any_frame_longer_than_our_max_frame_size_is_refused_by_its_header)
{
	for (uint32_t type = 0; type < 0x12; type++) {
		if (type == H2_DATA || type > H2_CONTINUATION)
			continue;
		bool zero = type == H2_SETTINGS || type == H2_PING || type == H2_GOAWAY;
		struct script *s = opened(H2_CLIENT);
		script_sends_frame_header(s, 16385, (uint8_t)type,
		    type == H2_SETTINGS ? 0 : H2_END_HEADERS, zero ? 0 : 1);
		script_pumps(s);
		if (type == H2_CONTINUATION || type == H2_PRIORITY) {
			/* A stray CONTINUATION is wrong in two ways, PRIORITY may cost the stream only. */
			assert_true(type == H2_PRIORITY || session_has_failed(s->conn));
		} else {
			script_expects_connection_error(s, SESSION_FRAME_SIZE_ERROR);
		}
		script_close(s);
	}
}

/* RFC 9113 4.2: not a frame that alters the state of the connection, so a stream error is allowed. */
SCRIPT_TEST(data_longer_than_our_max_frame_size_is_frame_size_error)
{
	struct script *s = opened(H2_SERVER);
	script_sends_frame_header(s, 16385, H2_DATA, 0, 1);
	script_pumps(s);
	if (session_has_failed(s->conn))
		script_expects_connection_error(s, SESSION_FRAME_SIZE_ERROR);
	else
		script_expects_stream_error(s, 1, SESSION_FRAME_SIZE_ERROR);
	script_close(s);
}

SCRIPT_TEST(unknown_frame_longer_than_our_max_frame_size_is_frame_size_error)
{
	struct script *s = opened(H2_SERVER);
	script_sends_frame_header(s, 16385, 0x55, 0, 0);
	script_expects_connection_error(s, SESSION_FRAME_SIZE_ERROR);
	script_close(s);
}

SCRIPT_TEST(frame_of_exactly_our_max_frame_size_is_fine)
{
	for (int role = 0; role < 2; role++) {
		struct script *s = opened((enum h2_role)role);
		script_sends_data(s, 1, 0, 16384);
		script_expects_data(s, 1, 16384, false);
		sends_zeros(s, 0x99, 0xff, 1, 16384);
		script_expects_alive(s);
		script_close(s);
	}
}

SCRIPT_TEST(our_greater_max_frame_size_lets_greater_frames_in)
{
	struct h2_settings local = h2_settings_initial;
	local.max_frame_size = 20000;
	struct script *s = script_open_with(H2_SERVER, &(struct script_options){.local = &local});
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_data(s, 1, 0, 20000);
	script_expects_data(s, 1, 20000, false);
	script_sends_frame_header(s, 20001, H2_DATA, 0, 1);
	script_pumps(s);
	assert_true(session_has_failed(s->conn) || script_stream(s, 1)->over);
	script_close(s);
}

/* ---- stream zero ---- */

static void zero_rule(enum h2_role role, uint8_t type, uint8_t flags, uint32_t id, size_t length)
{
	struct script *s = opened(role);
	sends_zeros(s, type, flags, id, length);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

/* covers: R1 P-recv-stream-zero */
SCRIPT_TEST(stream_frames_on_stream_zero_are_protocol_errors)
{
	for (int i = 0; i < 2; i++) {
		enum h2_role role = (enum h2_role)i;
		zero_rule(role, H2_DATA, 0, 0, 8);
		zero_rule(role, H2_DATA, H2_END_STREAM, 0, 0);
		zero_rule(role, H2_HEADERS, H2_END_HEADERS, 0, 1);
		zero_rule(role, H2_PRIORITY, 0, 0, 5);
		zero_rule(role, H2_RST_STREAM, 0, 0, 4);
		zero_rule(role, H2_PUSH_PROMISE, H2_END_HEADERS, 0, 8);
		zero_rule(role, H2_CONTINUATION, H2_END_HEADERS, 0, 8);
	}
}

SCRIPT_TEST(connection_frames_on_a_stream_are_protocol_errors)
{
	for (int i = 0; i < 2; i++) {
		enum h2_role role = (enum h2_role)i;
		for (uint32_t id = 1; id < 4; id++) {
			zero_rule(role, H2_SETTINGS, 0, id, 6);
			zero_rule(role, H2_SETTINGS, H2_ACK, id, 0);
			zero_rule(role, H2_PING, 0, id, 8);
			zero_rule(role, H2_PING, H2_ACK, id, 8);
			zero_rule(role, H2_GOAWAY, 0, id, 8);
		}
	}
	zero_rule(H2_SERVER, H2_PRIORITY_UPDATE, 0, 1, 8);
}

/* ---- who may send what ---- */

/* covers: R37 P-recv-from-client */
SCRIPT_TEST(promise_from_a_client_is_protocol_error)
{
	struct script *s = opened(H2_SERVER);
	script_sends_good_promise(s, 1, 2);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

/* RFC 9218 7.1: a server must not send it. */
SCRIPT_TEST(priority_update_from_a_server_is_protocol_error)
{
	struct script *s = opened(H2_CLIENT);
	script_sends_priority_update(s, 1, "u=1");
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

SCRIPT_TEST(headers_on_an_even_stream_from_a_client_is_protocol_error)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_get(s, 2);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

/* ---- what is to be ignored ---- */

/* covers: R15 R75 */
SCRIPT_TEST(reserved_bit_of_the_stream_id_is_ignored)
{
	struct script *s = script_open(H2_SERVER);
	uint8_t block[128];
	size_t n = script_encodes(s, block, sizeof block, ":method", "GET", ":scheme", "https",
	    ":authority", "a", ":path", "/", NULL);
	script_sends_raw(s, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 0x80000001, block, n);
	script_expects_head(s, 1, true);
	script_sends_raw(s, H2_PING, 0, 0x80000000, block, 8);
	struct script_frame *f = script_expects_frame(s, H2_PING, 0);
	assert_int_equal(f->flags, H2_ACK);
	script_close(s);
}

/* covers: R15 R75 */
SCRIPT_TEST(undefined_flags_are_ignored)
{
	for (int role = 0; role < 2; role++) {
		struct script *s = opened((enum h2_role)role);
		script_sends_raw(s, H2_PING, 0xfe, 0, "abcdefgh", 8);
		struct script_frame *f = script_expects_frame(s, H2_PING, 0);
		assert_int_equal(f->flags, H2_ACK);
		script_sends_raw(s, H2_DATA, 0xf6, 1, "ddd", 3);
		script_expects_data(s, 1, 3, false);
		script_sends_raw(s, H2_SETTINGS, 0xfe, 0, NULL, 0);
		script_expects_settings_ack(s);
		script_expects_event(s, SESSION_EVENT_READY, 0);
		script_sends_raw(s, H2_WINDOW_UPDATE, 0xff, 1, "\0\0\0\1", 4);
		script_expects_nothing(s);
		script_sends_raw(s, H2_RST_STREAM, 0xff, 1, "\0\0\0\10", 4);
		struct script_event *e = script_expects_event(s, SESSION_EVENT_RESET, 1);
		assert_int_equal(e->code, SESSION_CANCEL);
		script_close(s);
	}
}

/* covers: R75 */
SCRIPT_TEST(unknown_frame_types_are_ignored_on_any_stream)
{
	for (int role = 0; role < 2; role++) {
		struct script *s = opened((enum h2_role)role);
		static const uint8_t types[] = {0xa, 0xb, 0xc, 0x11, 0x7f, 0xff};
		for (size_t i = 0; i < sizeof types; i++)
			for (uint32_t id = 0; id < 5; id++)
				sends_zeros(s, types[i], 0xff, id, 3 * i);
		script_sends_data(s, 1, 0, 2);
		script_expects_data(s, 1, 2, false);
		script_expects_alive(s);
		script_close(s);
	}
}

SCRIPT_TEST(bare_headers_of_every_length_do_no_harm)
{
	/* Lengths that claim more than ever comes: nothing may be promised on their word. */
	static const uint32_t lengths[] = {0, 1, 8, 255, 16384, 16385, 0xffff, 0xffffff};
	for (uint32_t type = 0; type < 18; type++)
		for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
			struct script *s = opened(H2_SERVER);
			script_sends_frame_header(s, lengths[i], (uint8_t)type, 0, 1);
			script_sends_bytes(s, "\0\0\0\1", lengths[i] < 4 ? lengths[i] : 4);
			script_eof(s);
			script_close(s);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ping_is_8_bytes),
	    cmocka_unit_test(rst_stream_is_4_bytes),
	    cmocka_unit_test(window_update_is_4_bytes),
	    cmocka_unit_test(settings_is_a_multiple_of_6_bytes),
	    cmocka_unit_test(settings_acknowledgement_is_empty),
	    cmocka_unit_test(goaway_has_at_least_8_bytes),
	    cmocka_unit_test(priority_of_other_than_5_bytes_is_stream_error),
	    cmocka_unit_test(headers_too_short_for_priority_is_frame_size_error),
	    cmocka_unit_test(padded_frame_without_its_pad_length_is_frame_size_error),
	    cmocka_unit_test(promise_too_short_for_its_id_is_frame_size_error),
	    cmocka_unit_test(priority_update_too_short_for_its_id_is_frame_size_error),
	    cmocka_unit_test(any_frame_longer_than_our_max_frame_size_is_refused_by_its_header),
	    cmocka_unit_test(data_longer_than_our_max_frame_size_is_frame_size_error),
	    cmocka_unit_test(unknown_frame_longer_than_our_max_frame_size_is_frame_size_error),
	    cmocka_unit_test(frame_of_exactly_our_max_frame_size_is_fine),
	    cmocka_unit_test(our_greater_max_frame_size_lets_greater_frames_in),
	    cmocka_unit_test(stream_frames_on_stream_zero_are_protocol_errors),
	    cmocka_unit_test(connection_frames_on_a_stream_are_protocol_errors),
	    cmocka_unit_test(promise_from_a_client_is_protocol_error),
	    cmocka_unit_test(priority_update_from_a_server_is_protocol_error),
	    cmocka_unit_test(headers_on_an_even_stream_from_a_client_is_protocol_error),
	    cmocka_unit_test(reserved_bit_of_the_stream_id_is_ignored),
	    cmocka_unit_test(undefined_flags_are_ignored),
	    cmocka_unit_test(unknown_frame_types_are_ignored_on_any_stream),
	    cmocka_unit_test(bare_headers_of_every_length_do_no_harm),
	};
	return SCRIPT_RUN(tests);
}
