/* SPDX-License-Identifier: MIT */
/* Flow control of what the peer sends, and who gives credit for what: RFC 9113 5.2, 6.9. */
#include "tests/support/h2_script.h"

#define CONNECTION_WINDOW 65535u

static struct script *small_windows(enum h2_role role)
{
	struct h2_settings local = h2_settings_initial;
	local.initial_window_size = 1000;
	struct h2_limits limits = h2_limits_default;
	limits.connection_window = CONNECTION_WINDOW;
	limits.resets_provoked = (struct rate){1000, 1000};
	struct script *s =
	    script_open_with(role, &(struct script_options){.local = &local, .limits = &limits});
	if (role == H2_SERVER) {
		script_sends_post(s, 1);
	} else {
		script_gets(s);
		script_pumps(s);
		script_sends_ok(s, 1, 0);
	}
	script_expects_head(s, 1, false);
	script_clears(s);
	return s;
}

/* covers: R60 */
SCRIPT_TEST(peer_that_overruns_a_stream_window_loses_the_stream)
{
	for (int role = 0; role < 2; role++) {
		struct script *s = small_windows((enum h2_role)role);
		script_sends_data(s, 1, 0, 1000);
		script_expects_data(s, 1, 1000, false);
		script_sends_data(s, 1, 0, 1);
		script_expects_stream_error(s, 1, SESSION_FLOW_CONTROL_ERROR);
		script_close(s);
	}
}

/* covers: R60 */
SCRIPT_TEST(frame_that_is_longer_than_the_window_is_noticed_before_it_is_delivered)
{
	struct script *s = small_windows(H2_SERVER);
	script_sends_data(s, 1, 0, 1001);
	script_expects_stream_error(s, 1, SESSION_FLOW_CONTROL_ERROR);
	script_close(s);
}

/* covers: R60 */
SCRIPT_TEST(padding_counts_toward_the_window)
{
	struct script *s = small_windows(H2_SERVER);
	script_sends_padded_data(s, 1, 0, 745, 254); /* 1 + 745 + 254 = 1000 */
	script_expects_data(s, 1, 745, false);
	script_sends_data(s, 1, H2_END_STREAM, 0);
	script_expects_data(s, 1, 0, true);
	script_close(s);
	s = small_windows(H2_SERVER);
	script_sends_padded_data(s, 1, 0, 745, 255);
	script_expects_stream_error(s, 1, SESSION_FLOW_CONTROL_ERROR);
	script_close(s);
}

/* covers: R60 */
SCRIPT_TEST(peer_that_overruns_the_connection_window_loses_the_connection)
{
	/* Connection credit comes back on receipt, so only a frame greater than all of it can overrun. */
	struct h2_settings local = h2_settings_initial;
	local.max_frame_size = 1 << 20;
	local.initial_window_size = 1 << 24;
	struct h2_limits limits = h2_limits_default;
	limits.connection_window = 65535;
	struct script *s = script_open_with(
	    H2_SERVER, &(struct script_options){.local = &local, .limits = &limits});
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_data(s, 1, 0, 65536);
	script_expects_connection_error(s, SESSION_FLOW_CONTROL_ERROR);
	script_close(s);
}

SCRIPT_TEST(stream_credit_comes_only_for_what_the_owner_took)
{
	struct script *s = small_windows(H2_SERVER);
	script_sends_data(s, 1, 0, 1000);
	script_expects_data(s, 1, 1000, false);
	assert_int_equal(script_takes_credit(s, 1), 0);
	script_credits(s, 1, 100);
	script_credits(s, 1, 900);
	assert_int_equal(script_takes_credit(s, 1), 1000);
	script_sends_data(s, 1, 0, 1000);
	script_expects_data(s, 1, 1000, false);
	script_close(s);
}

SCRIPT_TEST(stream_credit_goes_out_at_half_the_window)
{
	struct script *s = small_windows(H2_SERVER);
	script_sends_data(s, 1, 0, 1000);
	script_expects_data(s, 1, 1000, false);
	script_credits(s, 1, 499);
	assert_int_equal(script_takes_credit(s, 1), 0);
	script_credits(s, 1, 1);
	assert_int_equal(script_takes_credit(s, 1), 500);
	script_close(s);
}

SCRIPT_TEST(padding_of_a_live_stream_is_credited_by_the_engine)
{
	struct script *s = small_windows(H2_SERVER);
	/* 1000 bytes of padding for each one of data: the owner can only credit the data. */
	for (int i = 0; i < 40; i++) {
		script_sends_padded_data(s, 1, 0, 1, 99);
		script_expects_data(s, 1, 1, false);
		script_credits(s, 1, 1);
	}
	script_expects_nothing(s);
	script_close(s);
}

SCRIPT_TEST(no_stream_credit_once_the_peer_has_ended)
{
	struct script *s = small_windows(H2_SERVER);
	script_sends_data(s, 1, H2_END_STREAM, 1000);
	script_expects_data(s, 1, 1000, true);
	script_credits(s, 1, 1000);
	assert_int_equal(script_takes_credit(s, 1), 0);
	script_close(s);
}

static void sends_much(struct script *s, uint32_t id, size_t bytes)
{
	for (size_t n = 0; n < bytes; n += 1000)
		script_sends_data(s, id, 0, 1000);
}

/* covers: R56 */
SCRIPT_TEST(connection_credit_comes_on_receipt)
{
	struct script *s = small_windows(H2_SERVER);
	uint32_t credit = 0;
	for (uint32_t id = 3; id < 183; id += 2) {
		script_sends_post(s, id);
		script_expects_head(s, id, false);
		script_sends_data(s, id, 0, 1000);
		script_expects_data(s, id, 1000, false);
	}
	credit = script_takes_credit(s, 0);
	assert_in_range(credit, 90000 - CONNECTION_WINDOW / 2, 90000);
	script_close(s);
}

/* covers: R57 P-recv-after-reset */
SCRIPT_TEST(connection_credit_comes_for_data_of_reset_streams)
{
	for (int padded = 0; padded < 2; padded++) {
		struct script *s = small_windows(H2_CLIENT);
		script_resets(s, 1, SESSION_CANCEL);
		script_expects_rst(s, 1, SESSION_CANCEL);
		for (int i = 0; i < 90; i++)
			if (padded)
				script_sends_padded_data(s, 1, 0, 744, 255);
			else
				script_sends_data(s, 1, 0, 1000);
		script_expects_nothing(s);
		assert_in_range(script_takes_credit(s, 0), 90000 - CONNECTION_WINDOW / 2, 90000);
		assert_int_equal(script_takes_credit(s, 1), 0);
		script_close(s);
	}
}

/* covers: R57 */
SCRIPT_TEST(connection_credit_comes_for_data_of_refused_promises)
{
	struct script *s = small_windows(H2_CLIENT);
	script_sends_promise(
	    s, 1, 2, ":method", "PUT", ":scheme", "https", ":authority", "a", ":path", "/", NULL);
	script_expects_stream_error(s, 2, SESSION_PROTOCOL_ERROR);
	script_sends_ok(s, 2, 0);
	sends_much(s, 2, 90000);
	script_expects_nothing(s);
	assert_in_range(script_takes_credit(s, 0), 90000 - CONNECTION_WINDOW / 2, 90000);
	script_sends_headers(s, 1, H2_END_STREAM, "x-t", "end", NULL);
	script_expects_event(s, SESSION_EVENT_TRAILERS, 1);
	script_close(s);
}

/* covers: R57 */
SCRIPT_TEST(connection_credit_comes_for_data_that_is_an_error)
{
	/* Data on a half-closed (remote) stream: the stream is reset, its bytes still count. */
	struct script *s = small_windows(H2_SERVER);
	for (uint32_t id = 3; id < 183; id += 2) {
		script_sends_get(s, id);
		script_expects_head(s, id, true);
		script_sends_data(s, id, 0, 1000);
		script_expects_stream_error(s, id, SESSION_STREAM_CLOSED);
	}
	assert_in_range(script_takes_credit(s, 0), 90000 - CONNECTION_WINDOW / 2, 90000);
	script_close(s);
}

SCRIPT_TEST(connection_credit_comes_for_the_frame_that_overruns_its_stream)
{
	struct script *s = small_windows(H2_SERVER);
	for (uint32_t id = 3; id < 123; id += 2) {
		script_sends_post(s, id);
		script_expects_head(s, id, false);
		script_sends_data(s, id, 0, 1500);
		script_expects_stream_error(s, id, SESSION_FLOW_CONTROL_ERROR);
	}
	assert_in_range(script_takes_credit(s, 0), 90000 - CONNECTION_WINDOW / 2, 90000);
	script_close(s);
}

SCRIPT_TEST(reset_in_the_middle_of_a_data_frame_ignores_the_rest)
{
	struct script *s = small_windows(H2_SERVER);
	script_sends_frame_header(s, 900, H2_DATA, 0, 1);
	script_sends_bytes(s, "ddddd", 5);
	script_expects_data(s, 1, 5, false);
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	char rest[895];
	memset(rest, 'd', sizeof rest);
	script_sends_bytes(s, rest, sizeof rest);
	script_expects_alive(s);
	script_close(s);
}

SCRIPT_TEST(reset_before_the_pad_length_ignores_the_whole_frame)
{
	struct script *s = small_windows(H2_SERVER);
	script_sends_frame_header(s, 900, H2_DATA, H2_PADDED | H2_END_STREAM, 1);
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	char rest[900];
	memset(rest, 0xff, sizeof rest); /* nor is its padding looked at */
	script_sends_bytes(s, rest, sizeof rest);
	script_expects_alive(s);
	script_close(s);
}

SCRIPT_TEST(stream_that_ends_with_padding_alone_is_over_before_the_padding)
{
	struct script *s = small_windows(H2_SERVER);
	script_responds(s, 1, true, "200");
	script_expects_frame(s, H2_HEADERS, 1);
	script_sends_padded_data(s, 1, H2_END_STREAM, 0, 9);
	script_expects_data(s, 1, 0, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_expects_alive(s);
	script_close(s);
}

SCRIPT_TEST(data_is_delivered_before_its_frame_is_complete)
{
	struct script *s = small_windows(H2_SERVER);
	script_sends_frame_header(s, 900, H2_DATA, H2_END_STREAM, 1);
	script_sends_bytes(s, "ddd", 3);
	script_expects_data(s, 1, 3, false);
	char rest[897];
	memset(rest, 'd', sizeof rest);
	script_sends_bytes(s, rest, 896);
	script_expects_data(s, 1, 896, false);
	script_sends_bytes(s, rest, 1);
	script_expects_data(s, 1, 1, true);
	script_close(s);
}

SCRIPT_TEST(empty_data_without_end_is_no_error)
{
	struct script *s = small_windows(H2_SERVER);
	script_sends_data(s, 1, 0, 0);
	script_sends_data(s, 1, 0, 0);
	script_expects_no_frame(s);
	script_clears(s);
	script_sends_data(s, 1, H2_END_STREAM, 0);
	script_expects_data(s, 1, 0, true);
	script_close(s);
}

SCRIPT_TEST(receive_window_of_a_stream_may_grow_and_never_shrinks)
{
	struct script *s = small_windows(H2_CLIENT);
	session_widen(s->conn, script_handle(s, 1), 3000);
	assert_int_equal(script_takes_credit(s, 1), 2000);
	session_widen(s->conn, script_handle(s, 1), 500);
	assert_int_equal(script_takes_credit(s, 1), 0);
	sends_much(s, 1, 3000);
	script_expects_data(s, 1, 3000, false);
	script_sends_data(s, 1, 0, 1);
	script_expects_stream_error(s, 1, SESSION_FLOW_CONTROL_ERROR);
	script_close(s);
}

/* RFC 9113 6.9.2, 6.5.3: the new value holds for the peer when it acknowledges. */
SCRIPT_TEST(lowered_initial_window_of_ours_holds_from_the_acknowledgement)
{
	struct h2_settings local = h2_settings_initial;
	local.initial_window_size = 1000;
	struct script *s = small_windows(H2_SERVER);
	local.initial_window_size = 500;
	h2_update_settings(s->conn, &local, s->now);
	script_expects_frame(s, H2_SETTINGS, 0);
	script_sends_post(s, 3);
	script_expects_head(s, 3, false);
	script_sends_data(s, 3, 0, 1000);
	script_expects_data(s, 3, 1000, false);
	script_sends_settings_ack(s);
	script_expects_nothing(s);
	script_sends_post(s, 5);
	script_expects_head(s, 5, false);
	script_sends_data(s, 5, 0, 501);
	script_expects_stream_error(s, 5, SESSION_FLOW_CONTROL_ERROR);
	script_sends_data(s, 1, 0, 500);
	script_expects_data(s, 1, 500, false);
	script_close(s);
}

/* What is owed may be little of the old window, and all of the new one: without an update now the peer,
 * whose window is used up, waits for ever. */
SCRIPT_TEST(lowered_initial_window_of_ours_gives_what_is_owed)
{
	struct h2_settings local = h2_settings_initial;
	local.initial_window_size = 3000;
	struct script *s =
	    script_open_with(H2_SERVER, &(struct script_options){.local = &local, .no_ack = true});
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	sends_much(s, 1, 32000);
	script_expects_data(s, 1, 32000, false);
	script_credits(s, 1, 32000);
	assert_int_equal(script_takes_credit(s, 1), 0);
	script_sends_settings_ack(s);
	assert_int_equal(script_takes_credit(s, 1), 32000);
	script_sends_data(s, 1, H2_END_STREAM, 3000);
	script_expects_data(s, 1, 3000, true);
	script_close(s);
}

SCRIPT_TEST(raised_initial_window_of_ours_holds_at_once)
{
	struct h2_settings local = h2_settings_initial;
	struct script *s = small_windows(H2_SERVER);
	local.initial_window_size = 5000;
	h2_update_settings(s->conn, &local, s->now);
	script_expects_frame(s, H2_SETTINGS, 0);
	script_sends_data(s, 1, 0, 1000);
	script_expects_data(s, 1, 1000, false);
	/* The peer may use the new value before its acknowledgement reaches us, never the other way. */
	script_sends_settings_ack(s);
	script_sends_data(s, 1, 0, 4000);
	script_expects_data(s, 1, 4000, false);
	script_close(s);
}

SCRIPT_TEST(pushed_stream_has_a_window_of_its_own)
{
	struct script *s = small_windows(H2_CLIENT);
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_sends_ok(s, 2, 0);
	script_expects_head(s, 2, false);
	script_sends_data(s, 2, 0, 1000);
	script_expects_data(s, 2, 1000, false);
	script_sends_data(s, 1, 0, 1000);
	script_expects_data(s, 1, 1000, false);
	script_sends_data(s, 2, 0, 1);
	script_expects_stream_error(s, 2, SESSION_FLOW_CONTROL_ERROR);
	script_credits(s, 1, 1000);
	assert_int_equal(script_takes_credit(s, 1), 1000);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(peer_that_overruns_a_stream_window_loses_the_stream),
	    cmocka_unit_test(
		frame_that_is_longer_than_the_window_is_noticed_before_it_is_delivered),
	    cmocka_unit_test(padding_counts_toward_the_window),
	    cmocka_unit_test(peer_that_overruns_the_connection_window_loses_the_connection),
	    cmocka_unit_test(stream_credit_comes_only_for_what_the_owner_took),
	    cmocka_unit_test(stream_credit_goes_out_at_half_the_window),
	    cmocka_unit_test(padding_of_a_live_stream_is_credited_by_the_engine),
	    cmocka_unit_test(no_stream_credit_once_the_peer_has_ended),
	    cmocka_unit_test(connection_credit_comes_on_receipt),
	    cmocka_unit_test(connection_credit_comes_for_data_of_reset_streams),
	    cmocka_unit_test(connection_credit_comes_for_data_of_refused_promises),
	    cmocka_unit_test(connection_credit_comes_for_data_that_is_an_error),
	    cmocka_unit_test(connection_credit_comes_for_the_frame_that_overruns_its_stream),
	    cmocka_unit_test(reset_in_the_middle_of_a_data_frame_ignores_the_rest),
	    cmocka_unit_test(reset_before_the_pad_length_ignores_the_whole_frame),
	    cmocka_unit_test(stream_that_ends_with_padding_alone_is_over_before_the_padding),
	    cmocka_unit_test(data_is_delivered_before_its_frame_is_complete),
	    cmocka_unit_test(empty_data_without_end_is_no_error),
	    cmocka_unit_test(receive_window_of_a_stream_may_grow_and_never_shrinks),
	    cmocka_unit_test(lowered_initial_window_of_ours_holds_from_the_acknowledgement),
	    cmocka_unit_test(lowered_initial_window_of_ours_gives_what_is_owed),
	    cmocka_unit_test(raised_initial_window_of_ours_holds_at_once),
	    cmocka_unit_test(pushed_stream_has_a_window_of_its_own),
	};
	return SCRIPT_RUN(tests);
}
