/* SPDX-License-Identifier: MIT */
/* Promises that we make to a client: RFC 9113 5.1.2, 6.6, 8.4. */
#include "tests/support/h2_script.h"

static struct script *serving_with(const uint32_t *settings, uint32_t requests)
{
	struct script *s =
	    script_open_with(H2_SERVER, &(struct script_options){.settings = settings});
	for (uint32_t i = 0; i < requests; i++)
		script_sends_get(s, 2 * i + 1);
	script_clears(s);
	return s;
}

static struct script *serving(void)
{
	return serving_with(NULL, 1);
}

static enum h2_promise_answer may(struct script *s, uint32_t parent)
{
	return h2_may_promise(s->conn, script_handle(s, parent));
}

/* covers: R41 P-make-request-fields */
SCRIPT_TEST(promise_carries_its_request_on_the_right_parent)
{
	struct script *s = serving_with(NULL, 2);
	struct http_head *head = script_head(s, HTTP_PROMISE, ":method", "GET", ":scheme", "https",
	    ":authority", "example.org", ":path", "/a?b=c", "cookie", "x=1", "accept", "", "cookie",
	    "y=2", "!x-secret", "s", NULL);
	struct session_stream *stream = session_promise(s->conn, script_handle(s, 3), head, &head);
	http_head_free(head);
	assert_non_null(stream);
	assert_true(h2_stream_is_pushed(stream));
	assert_int_equal(h2_stream_id(stream), 2);
	assert_ptr_equal(stream->user, &head);
	struct script_frame *f = script_expects_frame(s, H2_PUSH_PROMISE, 3);
	assert_int_equal(f->promised, 2);
	script_expects_fields(s, f,
	    ":method: GET\n:scheme: https\n:authority: example.org\n:path: /a?b=c\n"
	    "!cookie: x=1\naccept: \n!cookie: y=2\n!x-secret: s\n"); /* RFC 7541 7.1.3: short cookies */
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R44 */
SCRIPT_TEST(promised_ids_are_even_and_rise)
{
	struct script *s = serving_with(NULL, 3);
	for (uint32_t i = 0; i < 30; i++)
		assert_int_equal(script_promises(s, 1 + 2 * (i % 3), "/"), 2 * i + 2);
	for (uint32_t i = 0; i < 30; i++)
		assert_int_equal(
		    script_expects_frame(s, H2_PUSH_PROMISE, 1 + 2 * (i % 3))->promised, 2 * i + 2);
	script_close(s);
}

/* covers: R42 R43 P-make-before-reference */
SCRIPT_TEST(promise_is_queued_at_once_and_leaves_before_later_frames)
{
	struct script *s = serving();
	assert_int_equal(script_promises(s, 1, "/one"), 2);
	assert_true(h2_control(s->conn).len > 0);
	assert_true(script_responds(s, 1, false, "200"));
	assert_int_equal(script_promises(s, 1, "/two"), 4);
	script_offers(s, 1, 10, false);
	assert_int_equal(script_promises(s, 1, "/three"), 6);
	script_expects_frame(s, H2_PUSH_PROMISE, 1);
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_frame(s, H2_PUSH_PROMISE, 1);
	script_expects_frame(s, H2_PUSH_PROMISE, 1);
	script_expects_body(s, 1, 10, false);
	script_close(s);
}

/* covers: R43 P-make-before-reference */
SCRIPT_TEST(promise_does_not_wait_for_flow_control)
{
	static const uint32_t shut[] = {SCRIPT_WINDOW, 0, 0};
	struct script *s = serving_with(shut, 1);
	script_responds(s, 1, false, "200");
	script_offers(s, 1, 10, true);
	script_expects_frame(s, H2_HEADERS, 1);
	assert_int_equal(script_promises(s, 1, "/one"), 2);
	script_expects_frame(s, H2_PUSH_PROMISE, 1);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R26 P-make-allowed */
SCRIPT_TEST(no_promise_to_a_client_that_refuses_pushes)
{
	static const uint32_t off[] = {SCRIPT_ENABLE_PUSH, 0, 0};
	struct script *s = serving_with(off, 1);
	assert_int_equal(may(s, 1), H2_PROMISE_DISABLED);
	assert_int_equal(script_promises(s, 1, "/"), 0);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R26 R29 P-make-allowed */
SCRIPT_TEST(push_off_and_on_again_takes_effect_at_once_and_running_pushes_go_on)
{
	struct script *s = serving();
	assert_int_equal(may(s, 1), H2_PROMISE_POSSIBLE);
	assert_int_equal(script_promises(s, 1, "/one"), 2);
	script_clears(s);
	script_sends_settings(s, SCRIPT_ENABLE_PUSH, 0, SCRIPT_SETTINGS_END);
	assert_int_equal(may(s, 1), H2_PROMISE_DISABLED);
	assert_int_equal(script_promises(s, 1, "/two"), 0);
	script_expects_settings_ack(s);
	script_responds(s, 2, true, "200");
	script_expects_frame(s, H2_HEADERS, 2);
	script_sends_settings(s, SCRIPT_ENABLE_PUSH, 1, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	assert_int_equal(script_promises(s, 1, "/three"), 4);
	script_expects_frame(s, H2_PUSH_PROMISE, 1);
	script_close(s);
}

/* covers: R33 R79 P-make-allowed */
SCRIPT_TEST(no_promise_while_the_client_allows_no_streams)
{
	static const uint32_t none[] = {SCRIPT_MAX_STREAMS, 0, 0};
	struct script *s = serving_with(none, 1);
	assert_int_equal(may(s, 1), H2_PROMISE_NO_STREAMS);
	assert_int_equal(script_promises(s, 1, "/"), 0);
	assert_int_equal(session_push_room(s->conn), 0);
	script_sends_settings(s, SCRIPT_MAX_STREAMS, 1, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	assert_int_equal(may(s, 1), H2_PROMISE_POSSIBLE);
	assert_int_equal(script_promises(s, 1, "/"), 2);
	assert_int_equal(session_push_room(s->conn), 1);
	script_close(s);
}

/* covers: R33 P-make-starts */
SCRIPT_TEST(reserved_streams_do_not_count_and_open_pushes_do)
{
	static const uint32_t two[] = {SCRIPT_MAX_STREAMS, 2, 0};
	struct script *s = serving_with(two, 1);
	for (uint32_t id = 2; id <= 10; id += 2)
		assert_int_equal(script_promises(s, 1, "/"), id);
	assert_int_equal(session_push_room(s->conn), 2);
	assert_true(script_responds(s, 2, false, "200"));
	assert_int_equal(session_push_room(s->conn), 1);
	assert_true(script_responds(s, 6, false, "200"));
	assert_int_equal(session_push_room(s->conn), 0);
	script_clears(s);
	script_offers(s, 2, 5, true);
	script_expects_body(s, 2, 5, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 2);
	assert_int_equal(session_push_room(s->conn), 1);
	assert_true(script_responds(s, 4, false, "200"));
	assert_int_equal(session_push_room(s->conn), 0);
	/* The client gives one up. */
	script_sends_rst(s, 6, SESSION_CANCEL);
	script_expects_event(s, SESSION_EVENT_RESET, 6);
	assert_int_equal(session_push_room(s->conn), 1);
	/* And so do we. */
	script_resets(s, 4, SESSION_CANCEL);
	assert_int_equal(session_push_room(s->conn), 2);
	script_close(s);
}

/* covers: R33 P-make-starts */
SCRIPT_TEST(push_that_ends_with_its_head_gives_its_place_back)
{
	static const uint32_t one[] = {SCRIPT_MAX_STREAMS, 1, 0};
	struct script *s = serving_with(one, 1);
	for (uint32_t id = 2; id <= 10; id += 2)
		assert_int_equal(script_promises(s, 1, "/"), id);
	for (uint32_t id = 2; id <= 10; id += 2) {
		assert_int_equal(session_push_room(s->conn), 1);
		assert_true(script_responds(s, id, true, "204"));
	}
	script_close(s);
}

/* covers: R33 R34 P-make-starts */
SCRIPT_TEST(lowered_limit_delays_starts_and_raising_lets_them_flow)
{
	static const uint32_t three[] = {SCRIPT_MAX_STREAMS, 3, 0};
	struct script *s = serving_with(three, 1);
	for (uint32_t id = 2; id <= 8; id += 2)
		assert_int_equal(script_promises(s, 1, "/"), id);
	script_responds(s, 2, false, "200");
	script_responds(s, 4, false, "200");
	script_clears(s);
	script_sends_settings(s, SCRIPT_MAX_STREAMS, 1, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	assert_int_equal(session_push_room(s->conn), 0);
	assert_int_equal(may(s, 1), H2_PROMISE_POSSIBLE); /* lower is not 0 */
	script_offers(s, 2, 5, true);                     /* those that are open finish */
	script_expects_body(s, 2, 5, true);
	assert_int_equal(session_push_room(s->conn), 0);
	script_offers(s, 4, 5, true);
	script_expects_body(s, 4, 5, true);
	assert_int_equal(session_push_room(s->conn), 1);
	script_sends_settings(s, SCRIPT_MAX_STREAMS, 10, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	assert_int_equal(session_push_room(s->conn), 10);
	script_close(s);
}

/* covers: R35 */
SCRIPT_TEST(clients_limit_does_not_bound_its_own_requests)
{
	static const uint32_t one[] = {SCRIPT_MAX_STREAMS, 1, 0};
	struct script *s = serving_with(one, 5);
	for (uint32_t id = 1; id < 10; id += 2)
		assert_true(script_responds(s, id, false, "200"));
	assert_int_equal(session_push_room(s->conn), 1);
	script_close(s);
}

/* covers: P-make-allowed */
SCRIPT_TEST(parent_must_be_open_toward_the_client)
{
	struct script *s = serving();
	script_sends_post(s, 3);
	assert_int_equal(may(s, 3), H2_PROMISE_POSSIBLE); /* open */
	assert_int_equal(may(s, 1), H2_PROMISE_POSSIBLE); /* half-closed (remote) */
	script_responds(s, 3, true, "200");               /* half-closed (local) */
	assert_int_equal(may(s, 3), H2_PROMISE_PARENT_CLOSED);
	assert_int_equal(script_promises(s, 3, "/"), 0);
	script_close(s);
}

/* covers: P-make-allowed */
SCRIPT_TEST(end_that_was_only_offered_does_not_close_the_parent_yet)
{
	static const uint32_t shut[] = {SCRIPT_WINDOW, 1, 0};
	struct script *s = serving_with(shut, 1);
	script_responds(s, 1, false, "200");
	script_offers(s, 1, 2, true);
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_body(s, 1, 1, false);
	assert_int_equal(script_promises(s, 1, "/"), 2);
	script_expects_frame(s, H2_PUSH_PROMISE, 1);
	script_sends_window_update(s, 1, 1);
	script_expects_body(s, 1, 1, true);
	script_close(s);
}

/* covers: R79 P-make-allowed */
SCRIPT_TEST(no_promise_on_a_pushed_stream)
{
	struct script *s = serving();
	assert_int_equal(script_promises(s, 1, "/"), 2);
	assert_int_equal(may(s, 2), H2_PROMISE_PARENT_CLOSED);
	assert_int_equal(script_promises(s, 2, "/"), 0);
	script_responds(s, 2, false, "200");
	assert_int_equal(may(s, 2), H2_PROMISE_PARENT_CLOSED);
	assert_int_equal(script_promises(s, 2, "/"), 0);
	script_close(s);
}

/* covers: R51 P-make-allowed */
SCRIPT_TEST(no_promise_after_goaway_of_the_client)
{
	struct script *s = serving();
	assert_int_equal(script_promises(s, 1, "/"), 2);
	script_clears(s);
	script_sends_goaway(s, 2, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 0);
	assert_int_equal(may(s, 1), H2_PROMISE_GOING_AWAY);
	assert_int_equal(script_promises(s, 1, "/"), 0);
	script_responds(s, 2, true, "200"); /* up to the last id they complete */
	script_expects_frame(s, H2_HEADERS, 2);
	script_expects_event(s, SESSION_EVENT_CLOSED, 2);
	script_close(s);
}

/* covers: P-make-allowed */
SCRIPT_TEST(promise_after_our_own_goaway)
{
	struct script *s = serving();
	session_shutdown(s->conn, s->now);
	assert_true(session_peer(s->conn).is_going_away);
	assert_false(session_peer(s->conn).goaway_came);
	assert_int_equal(may(s, 1), H2_PROMISE_POSSIBLE);
	assert_int_equal(script_promises(s, 1, "/"), 2);
	script_close(s);
}

/* covers: R51 */
SCRIPT_TEST(pushes_above_the_clients_last_id_are_over)
{
	struct script *s = serving();
	for (uint32_t id = 2; id <= 6; id += 2)
		assert_int_equal(script_promises(s, 1, "/"), id);
	script_clears(s);
	script_sends_goaway(s, 4, SESSION_NO_ERROR, "");
	script_expects_event(s, SESSION_EVENT_GOAWAY, 6);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_RESET, 6);
	assert_true(e->unprocessed);
	script_expects_no_event(s);
	script_responds(s, 2, true, "200");
	script_responds(s, 4, true, "200");
	script_responds(s, 1, true, "200");
	script_expects_frame(s, H2_HEADERS, 2);
	script_expects_frame(s, H2_HEADERS, 4);
	script_expects_frame(s, H2_HEADERS, 1);
	script_close(s);
}

/* covers: R52 P-make-client-reset */
SCRIPT_TEST(clients_reset_of_a_promise_is_an_event_with_its_code_and_hurts_nobody)
{
	static const uint32_t codes[] = {
	    SESSION_CANCEL, SESSION_REFUSED_STREAM, SESSION_NO_ERROR, SESSION_PROTOCOL_ERROR, 0xdeadbeef};
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		for (int begun = 0; begun < 2; begun++) {
			struct script *s = serving();
			assert_int_equal(script_promises(s, 1, "/"), 2);
			assert_int_equal(script_promises(s, 1, "/"), 4);
			if (begun)
				script_responds(s, 2, false, "200");
			script_clears(s);
			script_sends_rst(s, 2, codes[i]);
			struct script_event *e = script_expects_event(s, SESSION_EVENT_RESET, 2);
			assert_null(e->fault);
			assert_int_equal(e->code, codes[i]);
			script_expects_nothing(s); /* never an answer to RST_STREAM */
			script_responds(s, 4, true, "200");
			script_responds(s, 1, true, "200");
			script_expects_frame(s, H2_HEADERS, 4);
			script_expects_frame(s, H2_HEADERS, 1);
			script_close(s);
		}
}

/* covers: R46 */
SCRIPT_TEST(push_completes_after_its_parent)
{
	struct script *s = serving();
	assert_int_equal(script_promises(s, 1, "/"), 2);
	script_responds(s, 1, true, "200");
	script_expects_frame(s, H2_PUSH_PROMISE, 1);
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_responds(s, 2, false, "200");
	script_offers(s, 2, 3, true);
	script_expects_frame(s, H2_HEADERS, 2);
	script_expects_body(s, 2, 3, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 2);
	script_close(s);
}

/* covers: R53 */
SCRIPT_TEST(reset_of_the_parent_leaves_the_push)
{
	struct script *s = serving();
	assert_int_equal(script_promises(s, 1, "/"), 2);
	script_clears(s);
	script_sends_rst(s, 1, SESSION_CANCEL);
	script_expects_event(s, SESSION_EVENT_RESET, 1);
	script_responds(s, 2, true, "200");
	script_expects_frame(s, H2_HEADERS, 2);
	script_close(s);
}

/* covers: R45 P-make-messages */
SCRIPT_TEST(interim_heads_and_trailers_work_on_pushes)
{
	static const uint32_t one[] = {SCRIPT_MAX_STREAMS, 1, 0};
	struct script *s = serving_with(one, 1);
	assert_int_equal(script_promises(s, 1, "/"), 2);
	script_clears(s);
	assert_true(script_responds(s, 2, false, "103"));
	script_responds(s, 2, false, "200");
	script_offers(s, 2, 3, false);
	script_expects_frame(s, H2_HEADERS, 2);
	script_expects_frame(s, H2_HEADERS, 2);
	script_expects_body(s, 2, 3, false);
	assert_true(script_trails(s, 2));
	script_expects_frame(s, H2_HEADERS, 2);
	script_expects_event(s, SESSION_EVENT_CLOSED, 2);
	script_close(s);
}

/* covers: R34 */
SCRIPT_TEST(withdrawn_promise_is_reset)
{
	struct script *s = serving();
	assert_int_equal(script_promises(s, 1, "/"), 2);
	script_expects_frame(s, H2_PUSH_PROMISE, 1);
	script_resets(s, 2, SESSION_CANCEL);
	script_expects_rst(s, 2, SESSION_CANCEL);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R33 */
SCRIPT_TEST(running_push_finishes_at_a_limit_of_zero_and_no_other_starts)
{
	static const uint32_t one[] = {SCRIPT_MAX_STREAMS, 1, 0};
	struct script *s = serving_with(one, 1);
	assert_int_equal(script_promises(s, 1, "/"), 2);
	assert_int_equal(script_promises(s, 1, "/"), 4);
	assert_true(script_responds(s, 2, false, "200"));
	script_clears(s);
	script_sends_settings(s, SCRIPT_MAX_STREAMS, 0, SCRIPT_SETTINGS_END);
	assert_int_equal(session_push_room(s->conn), 0);
	script_offers(s, 2, 1, true);
	script_expects_settings_ack(s);
	script_expects_body(s, 2, 1, true);
	assert_int_equal(session_push_room(s->conn), 0);
	script_close(s);
}

/* covers: R33 P-make-starts */
SCRIPT_TEST(response_on_a_push_without_room_is_not_sent)
{
	static const uint32_t one[] = {SCRIPT_MAX_STREAMS, 1, 0};
	struct script *s = serving_with(one, 1);
	assert_int_equal(script_promises(s, 1, "/"), 2);
	assert_int_equal(script_promises(s, 1, "/"), 4);
	assert_true(script_responds(s, 2, false, "200"));
	script_clears(s);
	assert_false(script_responds(s, 4, false, "200"));
	script_expects_nothing(s);
	script_resets(s, 2, SESSION_CANCEL);
	script_expects_rst(s, 2, SESSION_CANCEL);
	assert_true(script_responds(s, 4, false, "200"));
	script_expects_frame(s, H2_HEADERS, 4);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(promise_carries_its_request_on_the_right_parent),
	    cmocka_unit_test(promised_ids_are_even_and_rise),
	    cmocka_unit_test(promise_is_queued_at_once_and_leaves_before_later_frames),
	    cmocka_unit_test(promise_does_not_wait_for_flow_control),
	    cmocka_unit_test(no_promise_to_a_client_that_refuses_pushes),
	    cmocka_unit_test(push_off_and_on_again_takes_effect_at_once_and_running_pushes_go_on),
	    cmocka_unit_test(no_promise_while_the_client_allows_no_streams),
	    cmocka_unit_test(reserved_streams_do_not_count_and_open_pushes_do),
	    cmocka_unit_test(push_that_ends_with_its_head_gives_its_place_back),
	    cmocka_unit_test(lowered_limit_delays_starts_and_raising_lets_them_flow),
	    cmocka_unit_test(clients_limit_does_not_bound_its_own_requests),
	    cmocka_unit_test(parent_must_be_open_toward_the_client),
	    cmocka_unit_test(end_that_was_only_offered_does_not_close_the_parent_yet),
	    cmocka_unit_test(no_promise_on_a_pushed_stream),
	    cmocka_unit_test(no_promise_after_goaway_of_the_client),
	    cmocka_unit_test(promise_after_our_own_goaway),
	    cmocka_unit_test(pushes_above_the_clients_last_id_are_over),
	    cmocka_unit_test(clients_reset_of_a_promise_is_an_event_with_its_code_and_hurts_nobody),
	    cmocka_unit_test(push_completes_after_its_parent),
	    cmocka_unit_test(reset_of_the_parent_leaves_the_push),
	    cmocka_unit_test(interim_heads_and_trailers_work_on_pushes),
	    cmocka_unit_test(withdrawn_promise_is_reset),
	    cmocka_unit_test(running_push_finishes_at_a_limit_of_zero_and_no_other_starts),
	    cmocka_unit_test(response_on_a_push_without_room_is_not_sent),
	};
	return SCRIPT_RUN(tests);
}
