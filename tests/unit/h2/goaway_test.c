/* SPDX-License-Identifier: MIT */
/* GOAWAY in both directions, graceful shutdown, the end of the transport: RFC 9113 6.8, 5.4.1. */
#include "tests/support/h2_script.h"

static struct script *requesting(uint32_t count)
{
	struct script *s = script_open(H2_CLIENT);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(script_gets(s), 2 * i + 1);
	script_clears(s);
	return s;
}

static struct script *serving(uint32_t count)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t i = 0; i < count; i++)
		script_sends_get(s, 2 * i + 1);
	script_clears(s);
	return s;
}

/* ---- received ---- */

/* covers: R72 R73 */
SCRIPT_TEST(requests_above_the_last_id_are_unprocessed_and_others_go_on)
{
	struct script *s = requesting(4);
	script_sends_goaway(s, 3, SESSION_NO_ERROR, "bye");
	struct script_event *e = script_expects_event(s, SESSION_EVENT_GOAWAY, 5); /* the first of them */
	assert_int_equal(e->code, SESSION_NO_ERROR);
	assert_int_equal(e->last_id, 3);
	assert_string_equal(e->debug, "bye");
	for (uint32_t i = 0; i < 2; i++) {
		script_pumps(s);
		assert_true(s->events_head < s->events_tail);
		e = s->events[s->events_head++];
		assert_int_equal(e->kind, SESSION_EVENT_RESET);
		assert_true(e->id == 5 || e->id == 7);
		assert_true(e->unprocessed);
		assert_null(e->fault);
	}
	script_expects_no_event(s);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	assert_false(session_is_done(s->conn));
	script_sends_ok(s, 3, H2_END_STREAM);
	script_expects_head(s, 3, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 3);
	assert_true(session_is_done(s->conn));
	assert_false(session_has_failed(s->conn));
	script_close(s);
}

/* In whatever order they are kept. */
SCRIPT_TEST(the_first_of_many_requests_above_the_last_id_is_told)
{
	for (uint32_t last = 1; last < 40; last += 2) {
		struct script *s = requesting(20);
		script_sends_goaway(s, last, SESSION_NO_ERROR, "");
		if (last < 39)
			script_expects_event(s, SESSION_EVENT_GOAWAY, last + 2);
		else
			script_expects_event(s, SESSION_EVENT_GOAWAY, 0); /* none is */
		script_close(s);
	}
}

/* covers: R73 */
SCRIPT_TEST(no_request_after_goaway)
{
	struct script *s = requesting(1);
	assert_int_not_equal(session_request_room(s->conn), 0);
	script_sends_goaway(s, 1, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	assert_true(session_peer(s->conn).is_going_away);
	assert_int_equal(session_request_room(s->conn), 0);
	assert_int_equal(script_gets(s), 0);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R73 */
SCRIPT_TEST(second_goaway_may_lower_the_last_id)
{
	struct script *s = requesting(3);
	script_sends_goaway(s, 0x7fffffff, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	script_expects_nothing(s);
	script_sends_goaway(s, 1, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 3);
	for (uint32_t i = 0; i < 2; i++) {
		script_pumps(s);
		assert_true(s->events[s->events_head]->unprocessed);
		assert_int_equal(s->events[s->events_head++]->kind, SESSION_EVENT_RESET);
	}
	script_expects_no_event(s);
	script_close(s);
}

/* RFC 9113 6.8: the last id never rises. */
SCRIPT_TEST(goaway_that_raises_the_last_id_is_protocol_error)
{
	struct script *s = requesting(3);
	script_sends_goaway(s, 1, SESSION_NO_ERROR, "");
	script_clears(s);
	script_sends_goaway(s, 5, SESSION_NO_ERROR, "");
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

SCRIPT_TEST(goaway_said_again_changes_nothing)
{
	struct script *s = requesting(1);
	script_sends_goaway(s, 1, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	script_sends_goaway(s, 1, SESSION_NO_ERROR, "");
	script_clears(s);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	assert_true(session_is_done(s->conn));
	script_close(s);
}

/* covers: R50 */
SCRIPT_TEST(pushes_under_way_complete_after_a_servers_goaway)
{
	struct script *s = requesting(1);
	script_sends_good_promise(s, 1, 2);
	script_sends_good_promise(s, 1, 4);
	script_sends_ok(s, 2, 0);
	script_clears(s);
	script_sends_goaway(s, 1, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	script_sends_data(s, 2, H2_END_STREAM, 4);
	script_expects_data(s, 2, 4, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 2);
	script_sends_ok(s, 4, H2_END_STREAM);
	script_expects_head(s, 4, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 4);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_close(s);
}

/* covers: R13 R49 */
SCRIPT_TEST(goaway_with_an_error_is_an_event)
{
	struct script *s = requesting(2);
	script_sends_goaway(s, 1, SESSION_PROTOCOL_ERROR, "you");
	struct script_event *e = script_expects_event(s, SESSION_EVENT_GOAWAY, 3);
	assert_int_equal(e->code, SESSION_PROTOCOL_ERROR);
	assert_true(session_peer(s->conn).is_going_away);
	assert_int_equal(session_request_room(s->conn), 0);
	assert_int_equal(script_gets(s), 0);
	/* It is over, by no fault that we have found, and there is nothing to answer. */
	script_pumps(s);
	while (s->events[s->events_head]->kind == SESSION_EVENT_RESET)
		assert_true(s->events[s->events_head++]->unprocessed);
	e = script_expects_event(s, SESSION_EVENT_FAILED, 0);
	assert_null(e->fault);
	assert_int_equal(e->code, SESSION_PROTOCOL_ERROR);
	script_expects_nothing(s);
	script_close(s);
}

SCRIPT_TEST(goaway_keeps_room_for_a_long_debug_text)
{
	struct script *s = requesting(0);
	uint8_t payload[2000] = {0};
	memset(payload + 8, 'x', sizeof payload - 8);
	script_sends_raw(s, H2_GOAWAY, 0, 0, payload, sizeof payload);
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	script_expects_alive(s);
	assert_true(session_is_done(s->conn));
	script_close(s);
}

SCRIPT_TEST(client_that_goes_away_still_gets_its_answers)
{
	struct script *s = serving(2);
	script_sends_goaway(s, 0, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	script_responds(s, 1, true, "200");
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	assert_false(session_is_done(s->conn));
	script_responds(s, 3, true, "200");
	script_expects_frame(s, H2_HEADERS, 3);
	assert_true(session_is_done(s->conn));
	script_close(s);
}

/* ---- our own shutdown ---- */

SCRIPT_TEST(graceful_shutdown_says_goaway_twice_with_a_round_trip_between)
{
	struct script *s = serving(1);
	session_shutdown(s->conn, s->now);
	struct script_frame *f = script_expects_goaway(s, SESSION_NO_ERROR);
	assert_int_equal(f->last_id, 0x7fffffff);
	script_expects_nothing(s);
	/* A request that was under way is still served. */
	script_sends_get(s, 3);
	script_expects_head(s, 3, true);
	script_answers_pings(s);
	f = script_expects_goaway(s, SESSION_NO_ERROR);
	assert_int_equal(f->last_id, 3);
	script_sends_get(s, 5);
	script_pumps(s);
	assert_false(session_has_failed(s->conn));
	script_expects_no_event(s); /* above the last id: ignored, or refused */
	script_clears(s);
	script_responds(s, 1, true, "200");
	script_responds(s, 3, true, "200");
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_frame(s, H2_HEADERS, 3);
	assert_true(session_is_done(s->conn));
	assert_false(session_has_failed(s->conn));
	script_close(s);
}

SCRIPT_TEST(shutdown_is_idempotent)
{
	struct script *s = serving(0);
	session_shutdown(s->conn, s->now);
	session_shutdown(s->conn, s->now);
	script_expects_goaway(s, SESSION_NO_ERROR);
	script_expects_nothing(s);
	script_answers_pings(s);
	assert_int_equal(script_expects_goaway(s, SESSION_NO_ERROR)->last_id, 0);
	session_shutdown(s->conn, s->now);
	script_expects_nothing(s);
	assert_true(session_is_done(s->conn));
	script_close(s);
}

SCRIPT_TEST(blocks_above_our_last_id_are_decoded)
{
	struct script *s = serving(1);
	session_shutdown(s->conn, s->now);
	script_answers_pings(s);
	script_clears(s);
	script_sends_headers(s, 3, 0, ":method", "POST", ":scheme", "https", ":authority", "a",
	    ":path", "/", "x-kept", "in the table", NULL);
	script_sends_data(s, 3, H2_END_STREAM, 100);
	script_clears(s);
	assert_false(session_has_failed(s->conn));
	script_expects_alive(s);
	script_close(s);
}

SCRIPT_TEST(client_shuts_down_too)
{
	struct script *s = requesting(1);
	session_shutdown(s->conn, s->now);
	/* The id is of the server's streams: an even one. libnghttp2 insists on it. */
	assert_int_equal(script_expects_goaway(s, SESSION_NO_ERROR)->last_id, 0x7ffffffe);
	assert_int_equal(session_request_room(s->conn), 0);
	assert_int_equal(script_gets(s), 0);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_answers_pings(s);
	assert_true(session_is_done(s->conn));
	script_close(s);
}

SCRIPT_TEST(terminate_says_why_and_names_the_last_id)
{
	struct script *s = serving(3);
	session_terminate(s->conn, SESSION_ENHANCE_YOUR_CALM, SLICE("enough"));
	struct script_frame *f = script_expects_goaway(s, SESSION_ENHANCE_YOUR_CALM);
	assert_int_equal(f->last_id, 5);
	assert_int_equal(f->length, 8 + 6);
	assert_memory_equal(f->payload + 8, "enough", 6);
	script_expects_nothing(s);
	assert_true(session_has_failed(s->conn));
	script_sends_get(s, 7);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R13 */
SCRIPT_TEST(goaway_for_a_fault_names_the_last_processed_id)
{
	struct script *s = serving(4);
	script_sends_get(s, 2);
	script_pumps(s);
	assert_int_equal(s->goaway_id, 7);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

/* ---- the peer has ended its sending side ---- */

/* covers: R203 */
SCRIPT_TEST(half_closed_peer_gets_one_goaway_and_its_responses)
{
	for (int announced = 0; announced < 2; announced++) {
		struct script *s = serving(2);
		if (announced) {
			session_shutdown(s->conn, s->now);
			script_clears(s);
		}
		session_half_close(s->conn, s->now + 1);
		assert_int_equal(script_expects_goaway(s, SESSION_NO_ERROR)->last_id, 3);
		session_half_close(s->conn, s->now);
		script_expects_nothing(s); /* no PING either: it could not be answered */
		assert_false(session_is_done(s->conn));
		script_responds(s, 1, true, "200");
		script_responds(s, 3, true, "200");
		script_expects_frame(s, H2_HEADERS, 1);
		script_expects_frame(s, H2_HEADERS, 3);
		assert_true(session_is_done(s->conn));
		assert_false(session_has_failed(s->conn));
		script_close(s);
	}
}

SCRIPT_TEST(half_close_after_a_failure_says_nothing)
{
	struct script *s = serving(1);
	session_terminate(s->conn, SESSION_ENHANCE_YOUR_CALM, SLICE("enough"));
	script_clears(s);
	session_half_close(s->conn, s->now);
	script_expects_nothing(s);
	script_close(s);
}

/* ---- the end of the transport ---- */

/* covers: R40 */
SCRIPT_TEST(end_of_transport_with_streams_open_is_failure_without_fault)
{
	for (int role = 0; role < 2; role++) {
		struct script *s = role == H2_SERVER ? serving(2) : requesting(2);
		script_eof(s);
		struct script_event *e = script_expects_event(s, SESSION_EVENT_FAILED, 0);
		assert_null(e->fault);
		assert_true(session_has_failed(s->conn));
		assert_true(session_is_done(s->conn) || h2_open_streams(s->conn) > 0);
		script_eof(s);
		script_expects_no_event(s);
		script_close(s);
	}
}

SCRIPT_TEST(end_of_transport_when_all_was_over_is_no_failure)
{
	struct script *s = requesting(0);
	script_sends_goaway(s, 0, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	script_eof(s);
	script_expects_no_event(s);
	script_close(s);
}

SCRIPT_TEST(closed_streams_leave_no_handles)
{
	struct script *s = serving(3);
	assert_int_equal(h2_open_streams(s->conn), 3);
	script_responds(s, 1, true, "200");
	script_sends_rst(s, 3, SESSION_CANCEL);
	script_resets(s, 5, SESSION_CANCEL);
	script_clears(s);
	assert_int_equal(h2_open_streams(s->conn), 0);
	assert_false(session_is_done(s->conn));
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requests_above_the_last_id_are_unprocessed_and_others_go_on),
	    cmocka_unit_test(the_first_of_many_requests_above_the_last_id_is_told),
	    cmocka_unit_test(no_request_after_goaway),
	    cmocka_unit_test(second_goaway_may_lower_the_last_id),
	    cmocka_unit_test(goaway_that_raises_the_last_id_is_protocol_error),
	    cmocka_unit_test(goaway_said_again_changes_nothing),
	    cmocka_unit_test(pushes_under_way_complete_after_a_servers_goaway),
	    cmocka_unit_test(goaway_with_an_error_is_an_event),
	    cmocka_unit_test(goaway_keeps_room_for_a_long_debug_text),
	    cmocka_unit_test(client_that_goes_away_still_gets_its_answers),
	    cmocka_unit_test(graceful_shutdown_says_goaway_twice_with_a_round_trip_between),
	    cmocka_unit_test(shutdown_is_idempotent),
	    cmocka_unit_test(blocks_above_our_last_id_are_decoded),
	    cmocka_unit_test(client_shuts_down_too),
	    cmocka_unit_test(terminate_says_why_and_names_the_last_id),
	    cmocka_unit_test(goaway_for_a_fault_names_the_last_processed_id),
	    cmocka_unit_test(half_closed_peer_gets_one_goaway_and_its_responses),
	    cmocka_unit_test(half_close_after_a_failure_says_nothing),
	    cmocka_unit_test(end_of_transport_with_streams_open_is_failure_without_fault),
	    cmocka_unit_test(end_of_transport_when_all_was_over_is_no_failure),
	    cmocka_unit_test(closed_streams_leave_no_handles),
	};
	return SCRIPT_RUN(tests);
}
