/* SPDX-License-Identifier: MIT */
/* Time: h2_deadline says when, h2_tick does it (RFC 9113 3.4, 6.5.3, 10.5). */
#include "tests/support/h2_script.h"

#define PREFACE (3 * USEC_PER_SEC)
#define SETTINGS (7 * USEC_PER_SEC)
#define BLOCK (2 * USEC_PER_SEC)

static struct script *timed(enum h2_role role, bool silent, bool no_ack)
{
	struct h2_limits limits = h2_limits_default;
	limits.preface_timeout = PREFACE;
	limits.settings_timeout = SETTINGS;
	limits.block_timeout = BLOCK;
	return script_open_with(
	    role, &(struct script_options){.limits = &limits, .silent = silent, .no_ack = no_ack});
}

/* Nothing happens up to the deadline; with it the connection ends with the code. */
static void ends_at_deadline(struct script *s, usec after, uint32_t code)
{
	script_clears(s);
	assert_int_equal(session_deadline(s->conn), s->now + after);
	script_ticks(s, after - 1);
	script_expects_nothing(s);
	assert_false(session_has_failed(s->conn));
	script_ticks(s, 1);
	script_expects_connection_error(s, code);
	assert_int_equal(session_deadline(s->conn), USEC_NEVER);
	script_close(s);
}

/* covers: R65 */
SCRIPT_TEST(silent_client_is_given_up)
{
	ends_at_deadline(timed(H2_SERVER, true, false), PREFACE, SESSION_SETTINGS_TIMEOUT);
}

/* covers: R65 */
SCRIPT_TEST(half_a_preface_does_not_stop_the_clock)
{
	struct script *s = timed(H2_SERVER, true, false);
	script_ticks(s, USEC_PER_SEC);
	script_sends_bytes(s, H2_PREFACE, 10);
	ends_at_deadline(s, PREFACE - USEC_PER_SEC, SESSION_SETTINGS_TIMEOUT);
}

/* covers: R65 */
SCRIPT_TEST(preface_without_settings_does_not_stop_the_clock)
{
	struct script *s = timed(H2_SERVER, true, false);
	script_ticks(s, USEC_PER_SEC);
	script_sends_preface(s);
	ends_at_deadline(s, PREFACE - USEC_PER_SEC, SESSION_SETTINGS_TIMEOUT);
}

/* covers: R203 */
SCRIPT_TEST(nothing_is_waited_for_of_a_peer_that_has_ended_its_side)
{
	struct script *s = timed(H2_SERVER, false, true);
	assert_true(session_deadline(s->conn) != USEC_NEVER);
	session_half_close(s->conn, s->now);
	assert_int_equal(session_deadline(s->conn), USEC_NEVER);
	script_close(s);
}

SCRIPT_TEST(settings_that_are_not_acknowledged_end_the_connection)
{
	ends_at_deadline(timed(H2_SERVER, false, true), SETTINGS, SESSION_SETTINGS_TIMEOUT);
	ends_at_deadline(timed(H2_CLIENT, false, true), SETTINGS, SESSION_SETTINGS_TIMEOUT);
}

SCRIPT_TEST(later_settings_have_their_own_deadline)
{
	struct script *s = timed(H2_SERVER, false, false);
	assert_int_equal(session_deadline(s->conn), USEC_NEVER);
	script_ticks(s, 100 * USEC_PER_SEC);
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = 5;
	h2_update_settings(s->conn, &local, s->now);
	ends_at_deadline(s, SETTINGS, SESSION_SETTINGS_TIMEOUT);
}

SCRIPT_TEST(quiet_connection_has_no_deadline)
{
	for (int role = 0; role < 2; role++) {
		struct script *s = timed((enum h2_role)role, false, false);
		assert_int_equal(session_deadline(s->conn), USEC_NEVER);
		script_ticks(s, 1000000 * USEC_PER_SEC);
		script_expects_nothing(s);
		script_expects_alive(s);
		script_close(s);
	}
}

/* covers: R65 */
SCRIPT_TEST(field_block_that_is_not_finished_ends_the_connection)
{
	struct script *s = timed(H2_SERVER, false, false);
	script_sends_raw(s, H2_HEADERS, H2_END_STREAM, 1, "\x82", 1);
	assert_int_equal(session_deadline(s->conn), s->now + BLOCK);
	script_ticks(s, BLOCK / 2);
	script_sends_raw(s, H2_CONTINUATION, 0, 1, "\x87", 1); /* does not prolong it */
	ends_at_deadline(s, BLOCK / 2, SESSION_ENHANCE_YOUR_CALM);
}

/* covers: R65 */
SCRIPT_TEST(field_block_has_one_clock_from_its_first_byte)
{
	struct script *s = timed(H2_SERVER, false, false);
	script_sends_frame_header(s, 2, H2_HEADERS, H2_END_STREAM, 1);
	script_sends_bytes(s, "\x82", 1);
	usec deadline = session_deadline(s->conn);
	assert_int_equal(deadline, s->now + BLOCK);
	script_ticks(s, BLOCK / 2);
	script_sends_bytes(s, "\x87", 1);
	assert_int_equal(session_deadline(s->conn), deadline);
	script_sends_frame_header(s, 2, H2_CONTINUATION, 0, 1);
	script_sends_bytes(s, "\x84", 1);
	assert_int_equal(session_deadline(s->conn), deadline);
	ends_at_deadline(s, BLOCK / 2, SESSION_ENHANCE_YOUR_CALM);
}

SCRIPT_TEST(finished_field_block_stops_the_clock)
{
	struct script *s = timed(H2_SERVER, false, false);
	uint8_t block[100];
	size_t n = script_encodes(s, block, sizeof block, ":method", "GET", ":scheme", "https",
	    ":authority", "a", ":path", "/", NULL);
	script_sends_raw(s, H2_HEADERS, H2_END_STREAM, 1, block, 2);
	script_ticks(s, BLOCK - 1);
	script_sends_raw(s, H2_CONTINUATION, H2_END_HEADERS, 1, block + 2, n - 2);
	script_expects_head(s, 1, true);
	assert_int_equal(session_deadline(s->conn), USEC_NEVER);
	script_ticks(s, 10 * BLOCK);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R65 */
SCRIPT_TEST(frame_that_is_not_finished_ends_the_connection)
{
	struct script *s = timed(H2_SERVER, false, false);
	script_sends_frame_header(s, 8, H2_PING, 0, 0);
	script_sends_bytes(s, "123", 3);
	ends_at_deadline(s, BLOCK, SESSION_ENHANCE_YOUR_CALM);
	s = timed(H2_SERVER, false, false);
	script_sends_frame_header(s, 8, H2_PING, 0, 0);
	script_sends_bytes(s, "123", 3);
	script_ticks(s, BLOCK - 1);
	script_sends_bytes(s, "45678", 5);
	assert_int_equal(script_expects_frame(s, H2_PING, 0)->flags, H2_ACK);
	assert_int_equal(session_deadline(s->conn), USEC_NEVER);
	script_close(s);
}

SCRIPT_TEST(early_tick_does_no_harm)
{
	struct script *s = timed(H2_SERVER, true, false);
	for (int i = 0; i < 100; i++)
		script_ticks(s, 1);
	script_clears(s);
	assert_false(session_has_failed(s->conn));
	assert_int_equal(session_deadline(s->conn), SCRIPT_START + PREFACE);
	script_close(s);
}

SCRIPT_TEST(timeout_of_zero_is_no_timeout)
{
	struct h2_limits limits = h2_limits_default;
	limits.preface_timeout = limits.settings_timeout = limits.block_timeout = 0;
	struct script *s = script_open_with(
	    H2_SERVER, &(struct script_options){.limits = &limits, .silent = true});
	assert_int_equal(session_deadline(s->conn), USEC_NEVER);
	script_close(s);
}

SCRIPT_TEST(shutdown_does_not_wait_for_a_silent_peer)
{
	struct script *s = timed(H2_SERVER, false, false);
	script_sends_get(s, 1);
	script_clears(s);
	session_shutdown(s->conn, s->now);
	script_expects_goaway(s, SESSION_NO_ERROR);
	usec deadline = session_deadline(s->conn);
	assert_int_not_equal(deadline, USEC_NEVER);
	script_ticks(s, deadline - s->now - 1);
	script_expects_nothing(s);
	script_ticks(s, 1);
	assert_int_equal(script_expects_goaway(s, SESSION_NO_ERROR)->last_id, 1);
	script_expects_nothing(s);
	assert_int_equal(session_deadline(s->conn), USEC_NEVER);
	script_responds(s, 1, true, "200");
	script_expects_frame(s, H2_HEADERS, 1);
	script_close(s);
}

/* Nothing has come or gone in between that would have told the time. */
SCRIPT_TEST(changed_settings_tell_the_time)
{
	struct script *s = timed(H2_SERVER, false, false);
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = 5;
	usec later = s->now + 100 * USEC_PER_SEC;
	h2_update_settings(s->conn, &local, later);
	assert_int_equal(session_deadline(s->conn), later + SETTINGS);
	local.max_concurrent_streams = 6;
	h2_update_settings(s->conn, &local, s->now); /* and nobody turns it back */
	script_sends_settings_ack(s); /* of the first: the second has its time from now on */
	assert_int_equal(session_deadline(s->conn), later + SETTINGS);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(silent_client_is_given_up),
	    cmocka_unit_test(half_a_preface_does_not_stop_the_clock),
	    cmocka_unit_test(preface_without_settings_does_not_stop_the_clock),
	    cmocka_unit_test(nothing_is_waited_for_of_a_peer_that_has_ended_its_side),
	    cmocka_unit_test(settings_that_are_not_acknowledged_end_the_connection),
	    cmocka_unit_test(later_settings_have_their_own_deadline),
	    cmocka_unit_test(quiet_connection_has_no_deadline),
	    cmocka_unit_test(field_block_that_is_not_finished_ends_the_connection),
	    cmocka_unit_test(field_block_has_one_clock_from_its_first_byte),
	    cmocka_unit_test(finished_field_block_stops_the_clock),
	    cmocka_unit_test(frame_that_is_not_finished_ends_the_connection),
	    cmocka_unit_test(early_tick_does_no_harm),
	    cmocka_unit_test(timeout_of_zero_is_no_timeout),
	    cmocka_unit_test(shutdown_does_not_wait_for_a_silent_peer),
	    cmocka_unit_test(changed_settings_tell_the_time),
	};
	return SCRIPT_RUN(tests);
}
