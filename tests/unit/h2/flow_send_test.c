/* SPDX-License-Identifier: MIT */
/*
 * Flow control of what the engine sends: RFC 9113 5.2, 6.9. That no window is ever exceeded is
 * checked by the script layer on each DATA frame.
 */
#include "tests/support/h2_script.h"

/* Streams 1, 3, … with a response that has begun. */
static struct script *answering(uint32_t count, const uint32_t *settings)
{
	struct script *s =
	    script_open_with(H2_SERVER, &(struct script_options){.settings = settings});
	for (uint32_t i = 0; i < count; i++) {
		script_sends_get(s, 2 * i + 1);
		script_pumps(s);
		script_responds(s, 2 * i + 1, false, "200");
	}
	script_clears(s);
	return s;
}

SCRIPT_TEST(body_stops_at_the_stream_window_and_goes_on)
{
	static const uint32_t window[] = {SCRIPT_WINDOW, 100, 0};
	struct script *s = answering(1, window);
	script_offers(s, 1, 250, true);
	assert_int_equal(session_stream_window(s->conn, script_handle(s, 1)), 100);
	assert_false(session_stream_is_shut(s->conn, script_handle(s, 1)));
	script_expects_body(s, 1, 100, false);
	script_expects_nothing(s);
	assert_true(session_stream_is_shut(s->conn, script_handle(s, 1)));
	script_sends_window_update(s, 1, 1);
	script_expects_body(s, 1, 1, false);
	script_sends_window_update(s, 1, 1000);
	script_expects_body(s, 1, 149, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_close(s);
}

SCRIPT_TEST(body_stops_at_the_connection_window_and_goes_on)
{
	static const uint32_t window[] = {SCRIPT_WINDOW, 1000000, 0};
	struct script *s = answering(1, window);
	script_offers(s, 1, 100000, true);
	script_expects_body(s, 1, 65535, false);
	script_expects_nothing(s);
	script_sends_window_update(s, 1, 1000);
	script_expects_nothing(s);
	script_sends_window_update(s, 0, 10);
	script_expects_body(s, 1, 10, false);
	script_sends_window_update(s, 0, 1000000);
	script_expects_body(s, 1, 34455, true);
	script_close(s);
}

/* covers: R61 */
SCRIPT_TEST(empty_end_needs_no_window)
{
	static const uint32_t window[] = {SCRIPT_WINDOW, 0, 0};
	struct script *s = answering(1, window);
	script_offers(s, 1, 0, true);
	script_expects_body(s, 1, 0, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_close(s);
}

/* covers: R61 */
SCRIPT_TEST(empty_end_needs_no_connection_window)
{
	struct script *s = answering(2, NULL);
	script_offers(s, 1, 65535, false);
	script_expects_body(s, 1, 65535, false);
	script_offers(s, 3, 0, true);
	script_expects_body(s, 3, 0, true);
	script_offers(s, 1, 0, true);
	script_expects_body(s, 1, 0, true);
	script_close(s);
}

SCRIPT_TEST(end_goes_with_the_last_bytes_when_it_is_known)
{
	struct script *s = answering(1, NULL);
	script_offers(s, 1, 10, true);
	struct script_frame *f = script_expects_frame(s, H2_DATA, 1);
	assert_int_equal(f->length, 10);
	assert_int_equal(f->flags, H2_END_STREAM);
	script_close(s);
}

SCRIPT_TEST(offer_of_nothing_sends_nothing)
{
	struct script *s = answering(1, NULL);
	script_offers(s, 1, 0, false);
	script_expects_nothing(s);
	script_offers(s, 1, 5, false);
	script_offers(s, 1, 0, false);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R58 */
SCRIPT_TEST(lowered_initial_window_makes_windows_negative)
{
	struct script *s = answering(2, NULL);
	script_offers(s, 1, 30000, false);
	script_expects_body(s, 1, 30000, false);
	script_sends_settings(
	    s, SCRIPT_WINDOW, 10000, SCRIPT_SETTINGS_END); /* 1: -20000, 3: 10000 */
	script_expects_settings_ack(s);
	script_expects_event(s, SESSION_EVENT_READY, 0);
	assert_int_equal(session_stream_window(s->conn, script_handle(s, 1)), 0);
	script_offers(s, 1, 100, true);
	script_expects_nothing(s);
	script_offers(s, 3, 15000, false);
	script_expects_body(s, 3, 10000, false);
	script_sends_window_update(s, 1, 19999);
	script_expects_nothing(s);
	script_sends_window_update(s, 1, 1);
	script_expects_nothing(s);
	script_sends_window_update(s, 1, 1);
	script_expects_body(s, 1, 1, false);
	script_sends_settings(s, SCRIPT_WINDOW, 10099, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_expects_body(s, 1, 99, true);
	script_expects_body(s, 3, 99, false);
	script_close(s);
}

/* covers: R58 R61 */
SCRIPT_TEST(empty_end_leaves_even_a_negative_window)
{
	struct script *s = answering(1, NULL);
	script_offers(s, 1, 1000, false);
	script_expects_body(s, 1, 1000, false);
	script_sends_settings(s, SCRIPT_WINDOW, 0, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_offers(s, 1, 0, true);
	script_expects_body(s, 1, 0, true);
	script_close(s);
}

SCRIPT_TEST(initial_window_does_not_change_the_connection_window)
{
	static const uint32_t window[] = {SCRIPT_WINDOW, 0x7fffffff, 0};
	struct script *s = answering(1, window);
	script_offers(s, 1, 200000, false);
	script_expects_body(s, 1, 65535, false);
	script_sends_settings(s, SCRIPT_WINDOW, 1, SCRIPT_SETTINGS_END);
	script_sends_settings(s, SCRIPT_WINDOW, 0x7fffffff, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_expects_settings_ack(s);
	script_expects_no_frame(s);
	script_close(s);
}

/* ---- errors ---- */

/* covers: R39 */
SCRIPT_TEST(stream_window_overflow_resets_the_stream)
{
	struct script *s = answering(2, NULL);
	script_sends_window_update(s, 1, 0x7fffffff - 65535);
	script_expects_nothing(s);
	script_sends_window_update(s, 1, 1);
	script_expects_stream_error(s, 1, SESSION_FLOW_CONTROL_ERROR);
	script_offers(s, 3, 5, true);
	script_expects_body(s, 3, 5, true);
	script_close(s);
}

/* covers: R39 */
SCRIPT_TEST(window_overflow_on_a_promised_stream_resets_it_alone)
{
	struct script *s = answering(1, NULL);
	assert_int_equal(script_promises(s, 1, "/p"), 2);
	script_clears(s);
	script_sends_window_update(s, 2, 0x7fffffff);
	script_expects_stream_error(s, 2, SESSION_FLOW_CONTROL_ERROR);
	script_offers(s, 1, 5, true);
	script_expects_body(s, 1, 5, true);
	script_close(s);
}

SCRIPT_TEST(connection_window_overflow_ends_the_connection)
{
	struct script *s = answering(1, NULL);
	script_sends_window_update(s, 0, 0x7fffffff - 65535);
	script_expects_nothing(s);
	script_sends_window_update(s, 0, 1);
	script_expects_connection_error(s, SESSION_FLOW_CONTROL_ERROR);
	script_close(s);
}

/* RFC 9113 6.9.2: here the overflow costs the connection. */
SCRIPT_TEST(overflow_through_initial_window_size_ends_the_connection)
{
	struct script *s = answering(1, NULL);
	script_sends_window_update(s, 1, 1);
	script_sends_settings(s, SCRIPT_WINDOW, 0x7ffffffe, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_expects_event(s, SESSION_EVENT_READY, 0);
	script_sends_settings(s, SCRIPT_WINDOW, 0x7fffffff, SCRIPT_SETTINGS_END);
	script_expects_connection_error(s, SESSION_FLOW_CONTROL_ERROR);
	script_close(s);
}

/* covers: R39 */
SCRIPT_TEST(increment_of_zero_is_stream_error_on_a_stream)
{
	struct script *s = answering(2, NULL);
	assert_int_equal(script_promises(s, 1, "/p"), 2);
	script_clears(s);
	script_sends_window_update(s, 3, 0);
	script_expects_stream_error(s, 3, SESSION_PROTOCOL_ERROR);
	script_sends_window_update(s, 2, 0);
	script_expects_stream_error(s, 2, SESSION_PROTOCOL_ERROR);
	script_sends_window_update(s, 1, 0x80000000);
	script_expects_stream_error(s, 1, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

/* covers: R39 */
SCRIPT_TEST(increment_of_zero_is_connection_error_on_the_connection)
{
	struct script *s = answering(1, NULL);
	script_sends_window_update(s, 0, 0);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

SCRIPT_TEST(reserved_bit_of_the_increment_is_ignored)
{
	static const uint32_t window[] = {SCRIPT_WINDOW, 0, 0};
	struct script *s = answering(1, window);
	script_offers(s, 1, 10, false);
	script_sends_window_update(s, 1, 0x80000004);
	script_expects_body(s, 1, 4, false);
	script_close(s);
}

/* ---- pushes ---- */

/* covers: R59 */
SCRIPT_TEST(window_update_on_a_reserved_stream_counts_later)
{
	static const uint32_t window[] = {SCRIPT_WINDOW, 10, 0};
	struct script *s = answering(1, window);
	assert_int_equal(script_promises(s, 1, "/p"), 2);
	script_clears(s);
	script_sends_window_update(s, 2, 90);
	script_expects_nothing(s);
	script_responds(s, 2, false, "200");
	script_offers(s, 2, 200, true);
	script_expects_frame(s, H2_HEADERS, 2);
	script_expects_body(s, 2, 100, false);
	script_close(s);
}

/* covers: R58 */
SCRIPT_TEST(initial_window_changes_reserved_streams_too)
{
	struct script *s = answering(1, NULL);
	assert_int_equal(script_promises(s, 1, "/p"), 2);
	script_clears(s);
	script_sends_settings(s, SCRIPT_WINDOW, 7, SCRIPT_SETTINGS_END);
	script_responds(s, 2, false, "200");
	script_offers(s, 2, 10, true);
	script_expects_settings_ack(s);
	script_expects_frame(s, H2_HEADERS, 2);
	script_expects_body(s, 2, 7, false);
	script_close(s);
}

/* covers: R56 */
SCRIPT_TEST(stream_without_window_stalls_no_other)
{
	static const uint32_t window[] = {SCRIPT_WINDOW, 10, 0};
	struct script *s = answering(2, window);
	assert_int_equal(script_promises(s, 1, "/p"), 2);
	script_responds(s, 2, false, "200");
	script_clears(s);
	script_offers(s, 2, 100, true);
	script_expects_body(s, 2, 10, false);
	script_offers(s, 1, 10, true);
	script_expects_body(s, 1, 10, true);
	script_offers(s, 3, 10, true);
	script_expects_body(s, 3, 10, true);
	script_close(s);
}

/* ---- the client's side ---- */

SCRIPT_TEST(request_body_obeys_the_servers_windows)
{
	static const uint32_t window[] = {SCRIPT_WINDOW, 20, 0};
	struct script *s =
	    script_open_with(H2_CLIENT, &(struct script_options){.settings = window});
	assert_int_equal(script_requests(s, false, "POST", "/"), 1);
	script_offers(s, 1, 50, true);
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_body(s, 1, 20, false);
	script_sends_window_update(s, 1, 30);
	script_expects_body(s, 1, 30, true);
	script_close(s);
}

SCRIPT_TEST(windows_before_the_servers_settings_are_corrected_by_them)
{
	struct script *s = script_open_with(H2_CLIENT, &(struct script_options){.silent = true});
	script_clears(s);
	assert_int_equal(script_requests(s, false, "POST", "/"), 1);
	script_offers(s, 1, 50, false);
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_body(s, 1, 50, false);
	script_sends_settings(s, SCRIPT_WINDOW, 40, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_offers(s, 1, 50, true);
	script_expects_no_frame(s);
	script_sends_window_update(s, 1, 30);
	script_expects_body(s, 1, 20, false);
	script_close(s);
}

SCRIPT_TEST(trailers_need_no_window_but_come_after_all_data)
{
	static const uint32_t window[] = {SCRIPT_WINDOW, 5, 0};
	struct script *s = answering(1, window);
	script_offers(s, 1, 5, false);
	script_expects_body(s, 1, 5, false);
	assert_true(script_trails(s, 1));
	struct script_frame *f = script_expects_frame(s, H2_HEADERS, 1);
	assert_true(f->flags & H2_END_STREAM);
	script_expects_fields(s, f, "x-trailer: t\n");
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_close(s);
}

/* However much the owner asks for, and however large a frame the peer takes. */
SCRIPT_TEST(output_is_what_waits_and_then_one_frame_of_16384_bytes_at_most)
{
	static const uint32_t first[] = {SCRIPT_FRAME_SIZE, 20000, 0};
	struct script *s = answering(1, first);
	struct session_stream *stream = script_handle(s, 1);
	struct session_output output;
	assert_true(session_ping(s->conn, s->now));
	script_offers(s, 1, 16384 + 10, false);
	assert_true(session_next_output(s->conn, 1 << 20, &output));
	assert_null(output.stream);
	assert_int_equal(output.before.len, 9 + 8);
	assert_int_equal(output.before.ptr[3], H2_PING);
	assert_int_equal(output.length, 0);
	static const uint32_t lengths[] = {16384, 7, 3}, most[] = {1 << 20, 7, 7};
	for (size_t i = 0; i < 3; i++) {
		assert_true(session_next_output(s->conn, most[i], &output));
		assert_ptr_equal(output.stream, stream);
		assert_int_equal(output.before.ptr[3], H2_DATA);
		assert_int_equal(output.length, lengths[i]);
		assert_false(output.end);
	}
	assert_false(session_next_output(s->conn, 1 << 20, &output));
	assert_false(session_wants_write(s->conn));
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(body_stops_at_the_stream_window_and_goes_on),
	    cmocka_unit_test(body_stops_at_the_connection_window_and_goes_on),
	    cmocka_unit_test(empty_end_needs_no_window),
	    cmocka_unit_test(empty_end_needs_no_connection_window),
	    cmocka_unit_test(end_goes_with_the_last_bytes_when_it_is_known),
	    cmocka_unit_test(offer_of_nothing_sends_nothing),
	    cmocka_unit_test(lowered_initial_window_makes_windows_negative),
	    cmocka_unit_test(empty_end_leaves_even_a_negative_window),
	    cmocka_unit_test(initial_window_does_not_change_the_connection_window),
	    cmocka_unit_test(stream_window_overflow_resets_the_stream),
	    cmocka_unit_test(window_overflow_on_a_promised_stream_resets_it_alone),
	    cmocka_unit_test(connection_window_overflow_ends_the_connection),
	    cmocka_unit_test(overflow_through_initial_window_size_ends_the_connection),
	    cmocka_unit_test(increment_of_zero_is_stream_error_on_a_stream),
	    cmocka_unit_test(increment_of_zero_is_connection_error_on_the_connection),
	    cmocka_unit_test(reserved_bit_of_the_increment_is_ignored),
	    cmocka_unit_test(window_update_on_a_reserved_stream_counts_later),
	    cmocka_unit_test(initial_window_changes_reserved_streams_too),
	    cmocka_unit_test(stream_without_window_stalls_no_other),
	    cmocka_unit_test(request_body_obeys_the_servers_windows),
	    cmocka_unit_test(windows_before_the_servers_settings_are_corrected_by_them),
	    cmocka_unit_test(trailers_need_no_window_but_come_after_all_data),
	    cmocka_unit_test(output_is_what_waits_and_then_one_frame_of_16384_bytes_at_most),
	};
	return SCRIPT_RUN(tests);
}
