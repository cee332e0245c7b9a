/* SPDX-License-Identifier: MIT */
/*
 * What comes too late: commands to an engine that has failed, promises above the last id of our GOAWAY, answers to
 * PINGs that nobody sent; and what an engine says of itself then.
 */
#include "tests/support/h2_script.h"

/* ---- after a failure ---- */

static void fail_connection(struct script *s)
{
	script_sends_raw(s, H2_PING, 0, 1, "12345678", 8);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
}

/* covers: R40 */
SCRIPT_TEST(a_server_that_has_failed_does_nothing_more)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_sends_post(s, 3);
	script_expects_head(s, 1, false);
	script_expects_head(s, 3, false);
	script_responds(s, 1, false, "200");
	script_expects_frame(s, H2_HEADERS, 1);
	fail_connection(s);
	struct session_stream *one = script_handle(s, 1), *three = script_handle(s, 3);
	assert_int_equal(h2_may_promise(s->conn, one), H2_PROMISE_GOING_AWAY);
	assert_int_equal(script_promises(s, 1, "/a"), 0);
	assert_int_equal(session_push_room(s->conn), 0);
	assert_false(script_responds(s, 3, true, "200"));
	assert_false(script_trails(s, 1));
	session_offer(s->conn, one, 10, true);
	session_credit(s->conn, three, 0);
	session_widen(s->conn, three, 1 << 20);
	session_set_priority(s->conn, three, (struct http_priority){.urgency = 1});
	assert_int_equal(session_priority(s->conn, three).urgency, 3);
	assert_false(session_ping(s->conn, s->now));
	h2_update_settings(s->conn, &h2_settings_initial, s->now);
	session_shutdown(s->conn, s->now);
	session_terminate(s->conn, SESSION_NO_ERROR, SLICE("again"));
	session_tick(s->conn, s->now + 3600 * USEC_PER_SEC);
	assert_true(session_deadline(s->conn) == USEC_NEVER);
	session_reset(s->conn, three, SESSION_CANCEL);
	script_expects_nothing(s);
	assert_true(session_is_done(s->conn));
	/* Input is swallowed. */
	script_sends_get(s, 5);
	script_expects_nothing(s);
	script_close(s);
}

SCRIPT_TEST(a_client_that_has_failed_requests_nothing_more)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_gets(s), 1);
	script_expects_frame(s, H2_HEADERS, 1);
	fail_connection(s);
	assert_int_equal(session_request_room(s->conn), 0);
	assert_int_equal(script_gets(s), 0);
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_nothing(s);
	script_close(s);
}

/* The time never goes back, whatever clock the owner has. */
SCRIPT_TEST(an_earlier_now_changes_nothing)
{
	struct script *s = script_open(H2_SERVER);
	session_shutdown(s->conn, s->now);
	usec deadline = session_deadline(s->conn);
	session_tick(s->conn, s->now - 5);
	assert_true(session_deadline(s->conn) == deadline);
	script_expects_goaway(s, SESSION_NO_ERROR);
	script_close(s);
}

SCRIPT_TEST(freeing_nothing_is_fine)
{
	session_free(NULL);
}

/* ---- a tunnel ---- */

static struct script *connecting(void)
{
	struct script *s = script_open(H2_CLIENT);
	struct http_head *head = script_head(
	    s, HTTP_REQUEST, ":method", "CONNECT", ":authority", "example.org:443", NULL);
	struct session_stream *handle = session_request(s->conn, head, false, NULL);
	http_head_free(head);
	assert_non_null(handle);
	script_stream(s, 1)->handle = handle;
	script_stream(s, 1)->announced = true;
	script_expects_frame(s, H2_HEADERS, 1);
	return s;
}

/* RFC 9110 9.3.6: a content-length in a successful response to CONNECT means nothing. covers: R40 */
SCRIPT_TEST(a_tunnel_has_no_length)
{
	struct script *s = connecting();
	script_sends_headers(s, 1, 0, ":status", "200", "content-length", "5", NULL);
	script_expects_head(s, 1, false);
	script_sends_data(s, 1, 0, 100);
	script_expects_data(s, 1, 100, false);
	script_sends_data(s, 1, H2_END_STREAM, 3);
	script_expects_data(s, 1, 3, true);
	script_expects_no_event(s);
	script_close(s);
}

SCRIPT_TEST(a_refused_tunnel_has_a_response_like_any_other)
{
	struct script *s = connecting();
	script_sends_headers(s, 1, 0, ":status", "403", "content-length", "5", NULL);
	script_expects_head(s, 1, false);
	script_sends_data(s, 1, H2_END_STREAM, 6);
	script_expects_stream_error(s, 1, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

/* Nor does a request for one have content: a length that says so is a mistake, and one of 0 means nothing. */
SCRIPT_TEST(a_request_for_a_tunnel_has_no_length)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_headers(s, 1, H2_END_STREAM, ":method", "CONNECT", ":authority",
	    "example.org:443", "content-length", "0", NULL);
	script_expects_head(s, 1, true);
	script_sends_headers(s, 3, H2_END_STREAM, ":method", "CONNECT", ":authority",
	    "example.org:443", "content-length", "5", NULL);
	script_expects_stream_error(s, 3, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

/* ---- GOAWAY ---- */

static struct script *going_away_client(void)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_gets(s), 1);
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_clears(s);
	session_shutdown(s->conn, s->now);
	assert_int_equal(script_expects_goaway(s, SESSION_NO_ERROR)->last_id, 0x7ffffffe);
	script_answers_pings(s);
	assert_int_equal(script_expects_goaway(s, SESSION_NO_ERROR)->last_id, 2);
	return s;
}

/* covers: R72 */
SCRIPT_TEST(a_promise_above_our_goaway_is_ignored_and_its_block_is_not)
{
	struct script *s = going_away_client();
	/* Its fields enter the table: what refers to them later must be understood. */
	script_sends_promise(s, 1, 4, ":method", "GET", ":scheme", "https", ":authority",
	    "example.com", ":path", "/late", "x-late", "value of the late one", NULL);
	script_expects_nothing(s);
	script_sends_headers(
	    s, 1, H2_END_STREAM, ":status", "200", "x-late", "value of the late one", NULL);
	struct script_event *e = script_expects_head(s, 1, true);
	const struct http_field *f = http_head_find_name(e->head, SLICE("x-late"));
	assert_non_null(f);
	assert_true(slice_equal(f->value, SLICE("value of the late one")));
	script_close(s);
}

/* covers: R72 */
SCRIPT_TEST(frames_on_a_stream_above_our_goaway_are_ignored)
{
	struct script *s = going_away_client();
	script_sends_promise(s, 1, 4, ":method", "GET", ":scheme", "https", ":authority",
	    "example.com", ":path", "/late", NULL);
	script_sends_ok(s, 4, 0);
	script_sends_data(s, 4, H2_END_STREAM, 100);
	script_sends_rst(s, 4, SESSION_CANCEL);
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* covers: R72 */
SCRIPT_TEST(an_error_after_our_goaway_does_not_raise_its_last_id)
{
	struct script *s = going_away_client();
	script_sends_promise(s, 1, 4, ":method", "GET", ":scheme", "https", ":authority",
	    "example.com", ":path", "/late", NULL);
	script_expects_nothing(s);
	script_sends_raw(s, H2_PING, 0, 1, "12345678", 8);
	assert_int_equal(script_expects_goaway(s, SESSION_PROTOCOL_ERROR)->last_id, 2);
	script_close(s);
}

SCRIPT_TEST(a_goaway_repeated_with_an_error_ends_the_connection)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_goaway(s, 0, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	script_sends_goaway(s, 0, SESSION_NO_ERROR, "");
	script_expects_nothing(s);
	script_sends_goaway(s, 0, SESSION_INTERNAL_ERROR, "");
	assert_int_equal(script_expects_event(s, SESSION_EVENT_GOAWAY, 0)->code, SESSION_INTERNAL_ERROR);
	script_expects_event(s, SESSION_EVENT_FAILED, 0);
	script_close(s);
}

SCRIPT_TEST(an_error_after_our_goaway_names_the_same_last_id)
{
	struct script *s = going_away_client();
	script_sends_raw(s, H2_PING, 0, 1, "12345678", 8);
	assert_int_equal(script_expects_goaway(s, SESSION_PROTOCOL_ERROR)->last_id, 2);
	script_close(s);
}

/* What is ignored is above the last id; below it the states count as ever. */
SCRIPT_TEST(a_frame_on_a_closed_stream_is_a_fault_after_our_goaway_too)
{
	struct script *s = going_away_client();
	script_sends_ok(s, 2, H2_END_STREAM);
	script_expects_head(s, 2, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 2);
	script_sends_data(s, 2, 0, 1);
	script_expects_goaway(s, SESSION_STREAM_CLOSED);
	script_close(s);
}

/* ---- priorities of RFC 7540 ---- */

SCRIPT_TEST(a_stream_that_is_over_may_depend_on_itself)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_get(s, 1);
	script_expects_head(s, 1, true);
	script_responds(s, 1, true, "200");
	script_clears(s);
	script_sends_priority(s, 1, 1);
	script_expects_alive(s);
	/* One that we have reset: its trailers were under way. */
	script_sends_post(s, 3);
	script_expects_head(s, 3, false);
	script_resets(s, 3, SESSION_CANCEL);
	script_clears(s);
	uint8_t payload[64] = {0, 0, 0, 3, 15};
	size_t length = 5 + script_literal(payload + 5, "x-a", 3, "b", 1);
	script_sends_raw(
	    s, H2_HEADERS, H2_END_STREAM | H2_END_HEADERS | H2_HAS_PRIORITY, 3, payload, length);
	script_expects_alive(s);
	script_close(s);
}

/* ---- PING ---- */

SCRIPT_TEST(an_answer_to_no_ping_is_harmless)
{
	struct script *s = script_open(H2_CLIENT);
	/* The first byte tells which of ours it was, the last four which one of these. */
	for (unsigned kind = 0; kind < 6; kind++) {
		uint8_t payload[8] = {(uint8_t)kind, 0, 0, 0, 0, 0, 0, 99};
		script_sends_raw(s, H2_PING, H2_ACK, 0, payload, 8);
		script_expects_nothing(s);
	}
	/* Under way, and answered with another number. */
	assert_true(session_ping(s->conn, s->now));
	struct script_frame *ping = script_expects_frame(s, H2_PING, 0);
	uint8_t payload[8];
	memcpy(payload, ping->payload, 8);
	payload[7] ^= 1;
	script_sends_raw(s, H2_PING, H2_ACK, 0, payload, 8);
	script_expects_nothing(s);
	payload[7] ^= 1;
	script_sends_raw(s, H2_PING, H2_ACK, 0, payload, 8);
	script_expects_event(s, SESSION_EVENT_PONG, 0);
	/* The same once more. */
	script_sends_raw(s, H2_PING, H2_ACK, 0, payload, 8);
	script_expects_nothing(s);
	script_close(s);
}

/* One PING is under way for all resets; the next one goes out when it came back. */
SCRIPT_TEST(a_wrong_answer_to_the_ping_of_a_reset_is_no_answer)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_gets(s), 1);
	assert_int_equal(script_gets(s), 3);
	script_clears(s);
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	struct script_frame *ping = script_expects_frame(s, H2_PING, 0);
	uint8_t payload[8];
	memcpy(payload, ping->payload, 8);
	script_resets(s, 3, SESSION_CANCEL);
	script_expects_rst(s, 3, SESSION_CANCEL);
	uint64_t last = s->ping_payload;
	payload[7] ^= 1;
	script_sends_raw(s, H2_PING, H2_ACK, 0, payload, 8);
	script_expects_nothing(s);
	assert_true(s->ping_payload == last);
	payload[7] ^= 1;
	script_sends_raw(s, H2_PING, H2_ACK, 0, payload, 8);
	script_expects_frame(s, H2_PING, 0);
	assert_true(s->ping_payload != last);
	script_close(s);
}

SCRIPT_TEST(a_wrong_answer_to_the_ping_of_a_shutdown_does_not_end_it)
{
	struct script *s = script_open(H2_SERVER);
	session_shutdown(s->conn, s->now);
	script_expects_goaway(s, SESSION_NO_ERROR);
	struct script_frame *ping = script_expects_frame(s, H2_PING, 0);
	uint8_t payload[8];
	memcpy(payload, ping->payload, 8);
	payload[7] ^= 1;
	script_sends_raw(s, H2_PING, H2_ACK, 0, payload, 8);
	script_expects_nothing(s);
	payload[7] ^= 1;
	script_sends_raw(s, H2_PING, H2_ACK, 0, payload, 8);
	script_expects_goaway(s, SESSION_NO_ERROR);
	/* The final one is said once. */
	script_sends_raw(s, H2_PING, H2_ACK, 0, payload, 8);
	script_expects_nothing(s);
	script_close(s);
}

/* ---- settings ---- */

/* Push was turned off, and the peer has not heard of it yet. */
SCRIPT_TEST(a_promise_that_crosses_our_settings_is_refused_and_no_fault)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_gets(s), 1);
	script_clears(s);
	struct h2_settings settings = h2_settings_initial;
	settings.enable_push = 0;
	h2_update_settings(s->conn, &settings, s->now);
	script_expects_frame(s, H2_SETTINGS, 0);
	script_sends_good_promise(s, 1, 2);
	script_pumps(s);
	struct script_frame *rst = script_expects_frame(s, H2_RST_STREAM, 2);
	assert_true(rst->code == SESSION_CANCEL || rst->code == SESSION_REFUSED_STREAM);
	script_expects_no_event(s);
	assert_false(session_has_failed(s->conn));
	script_close(s);
}

/* ---- words ---- */

static const char *describe(struct script *s)
{
	static char text[2000];
	size_t n = session_describe(s->conn, text, sizeof(text));
	assert_int_equal(n, strlen(text));
	return text;
}

static void assert_says(struct script *s, const char *what, bool is_said)
{
	const char *text = describe(s);
	if ((strstr(text, what) != NULL) != is_said)
		fail_msg("%s %s: %s", what, is_said ? "is missing" : "is there", text);
}

SCRIPT_TEST(a_connection_describes_where_it_stands)
{
	static const char *const states[] = {"goaway-came", "goaway-sent", "in-block", "failed="};
	struct script *s = script_open(H2_SERVER);
	assert_int_equal(strncmp(describe(s), "server open=0/0 ", 16), 0);
	for (size_t i = 0; i < 4; i++)
		assert_says(s, states[i], false);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_responds(s, 1, false, "200");
	session_set_priority(s->conn, script_handle(s, 1),
	    (struct http_priority){.urgency = 5, .incremental = true});
	session_offer(s->conn, script_handle(s, 1), 100000, true);
	script_clears(s); /* the window is used up */
	assert_says(s, "  s1 open u=5,i offered=34465+end send-window=0 ", true);
	assert_int_equal(script_promises(s, 1, "/a"), 2);
	script_clears(s);
	assert_says(s, "  s2 reserved-local pushed ", true);
	script_sends_goaway(s, 2, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	assert_says(s, states[0], true);
	session_shutdown(s->conn, s->now);
	script_clears(s);
	assert_says(s, states[1], true);
	script_sends_raw(s, H2_HEADERS, 0, 3, "\x82", 1); /* without END_HEADERS */
	script_pumps(s);
	assert_says(s, states[2], true);
	script_sends_raw(s, H2_PING, 0, 0, "12345678", 8);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	assert_says(s, states[3], true);
	script_close(s);
}

SCRIPT_TEST(a_description_is_cut_to_its_buffer)
{
	char text[40];
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(session_describe(s->conn, text, 0), 0);
	for (size_t size = 1; size <= sizeof(text); size++) {
		memset(text, 'x', sizeof(text));
		assert_int_equal(session_describe(s->conn, text, size), size - 1);
		assert_int_equal(strlen(text), size - 1);
	}
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_server_that_has_failed_does_nothing_more),
	    cmocka_unit_test(a_client_that_has_failed_requests_nothing_more),
	    cmocka_unit_test(an_earlier_now_changes_nothing),
	    cmocka_unit_test(freeing_nothing_is_fine),
	    cmocka_unit_test(a_promise_above_our_goaway_is_ignored_and_its_block_is_not),
	    cmocka_unit_test(frames_on_a_stream_above_our_goaway_are_ignored),
	    cmocka_unit_test(an_error_after_our_goaway_does_not_raise_its_last_id),
	    cmocka_unit_test(a_tunnel_has_no_length),
	    cmocka_unit_test(a_request_for_a_tunnel_has_no_length),
	    cmocka_unit_test(a_refused_tunnel_has_a_response_like_any_other),
	    cmocka_unit_test(a_goaway_repeated_with_an_error_ends_the_connection),
	    cmocka_unit_test(an_error_after_our_goaway_names_the_same_last_id),
	    cmocka_unit_test(a_frame_on_a_closed_stream_is_a_fault_after_our_goaway_too),
	    cmocka_unit_test(a_stream_that_is_over_may_depend_on_itself),
	    cmocka_unit_test(an_answer_to_no_ping_is_harmless),
	    cmocka_unit_test(a_wrong_answer_to_the_ping_of_a_reset_is_no_answer),
	    cmocka_unit_test(a_promise_that_crosses_our_settings_is_refused_and_no_fault),
	    cmocka_unit_test(a_wrong_answer_to_the_ping_of_a_shutdown_does_not_end_it),
	    cmocka_unit_test(a_connection_describes_where_it_stands),
	    cmocka_unit_test(a_description_is_cut_to_its_buffer),
	};
	return SCRIPT_RUN(tests);
}
