/* SPDX-License-Identifier: MIT */
/*
 * The memory of streams that we have reset: what was under way for them is no error (RFC 9113 5.1),
 * until a PING sent after the RST_STREAM has come back, and whatever was forgotten meanwhile.
 */
#include "proxy/h2/forgotten.h"
#include "proxy/limits.h"
#include "tests/support/h2_script.h"

static struct script *with_request(void)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_gets(s), 1);
	script_clears(s);
	return s;
}

/* covers: R54 P-recv-after-reset */
SCRIPT_TEST(ping_follows_the_reset)
{
	struct script *s = with_request();
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	struct script_frame *f = script_expects_frame(s, H2_PING, 0);
	assert_int_equal(f->flags, 0);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R54 P-recv-after-reset */
SCRIPT_TEST(everything_for_a_reset_stream_is_ignored_until_the_ping_is_back)
{
	struct script *s = with_request();
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_sends_ok(s, 1, 0);
	script_sends_data(s, 1, 0, 100);
	script_sends_window_update(s, 1, 0);
	script_sends_window_update(s, 1, 0x7fffffff);
	script_sends_window_update(s, 1, 0x7fffffff);
	script_sends_rst(s, 1, SESSION_CANCEL);
	script_sends_headers(s, 1, 0, ":bad", "block", NULL);
	script_sends_headers(s, 1, H2_END_STREAM, "X-Bad", "block", NULL);
	script_sends_data(s, 1, H2_END_STREAM, 100);
	script_expects_alive(s);
	script_close(s);
}

/*
 * A peer's reader answers PING by itself, while its application goes on with what it had decided: so the
 * answer does not forget the stream, it only makes it the first to go when room is needed.
 */
/* covers: R5 R54 P-recv-after-reset */
SCRIPT_TEST(reset_stream_is_remembered_after_the_ping_came_back)
{
	struct script *s = with_request();
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_answers_pings(s);
	script_sends_ok(s, 1, 0);
	script_sends_data(s, 1, 0, 100);
	script_sends_good_promise(s, 1, 2);
	struct script_frame *f = script_expects_frame(s, H2_RST_STREAM, 2);
	assert_true(f->code == SESSION_REFUSED_STREAM || f->code == SESSION_CANCEL);
	script_expects_event(s, SESSION_EVENT_PROMISE, 0);
	script_sends_headers(s, 1, H2_END_STREAM, "x-t", "1", NULL);
	script_expects_alive(s);
	script_close(s);
	s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_answers_pings(s);
	script_sends_data(s, 1, 0, 100);
	script_sends_headers(s, 1, H2_END_STREAM, "x-t", "1", NULL);
	script_expects_alive(s);
	script_close(s);
}

/* Confirmed ones make room, the oldest first. */
SCRIPT_TEST(oldest_confirmed_reset_is_forgotten_when_room_is_needed)
{
	struct script *s = with_request();
	uint32_t last = 1;
	for (uint32_t i = 0; i <= LIMIT_REMEMBERED_RESETS; i++) {
		script_resets(s, last, SESSION_CANCEL);
		script_pumps(s);
		script_answers_pings(s);
		last = script_gets(s);
		assert_int_not_equal(last, 0);
	}
	script_clears(s);
	for (uint32_t id = 3; id < last; id += 2)
		script_sends_data(s, id, 0, 10);
	script_expects_alive(s);
	script_sends_data(s, 1, 0, 10);
	script_expects_connection_error(s, SESSION_STREAM_CLOSED);
	script_close(s);
}

/* The id that took the place of a confirmed one while a PING was in transit needs a PING of its own. */
static void ping_in_transit_confirms_only_what_it_followed(void **state)
{
	(void)state;
	struct h2_forgotten f = {0};
	for (uint32_t i = 0; i < LIMIT_REMEMBERED_RESETS - 1; i++)
		h2_forgotten_add(&f, 2 * i + 1);
	h2_forgotten_pinged(&f);
	h2_forgotten_ponged(&f);
	h2_forgotten_add(&f, 10001);
	h2_forgotten_pinged(&f);
	h2_forgotten_add(&f, 10003); /* instead of 1 */
	assert_false(h2_forgotten_has(&f, 1));
	assert_false(h2_forgotten_wants_ping(&f));
	h2_forgotten_ponged(&f);
	assert_true(h2_forgotten_wants_ping(&f));
	assert_int_equal(f.confirmed, LIMIT_REMEMBERED_RESETS - 1);
	h2_forgotten_pinged(&f);
	h2_forgotten_ponged(&f);
	assert_false(h2_forgotten_wants_ping(&f));
	h2_forgotten_fini(&f);
}

/* A PING that was sent before the reset proves nothing. */
SCRIPT_TEST(answer_to_an_earlier_ping_does_not_forget)
{
	struct script *s = with_request();
	assert_int_equal(script_gets(s), 3);
	script_resets(s, 1, SESSION_CANCEL);
	script_clears(s); /* RST_STREAM 1 and its PING are out */
	uint64_t first = s->ping_payload;
	script_resets(s, 3, SESSION_CANCEL);
	script_clears(s);
	script_sends_raw(s, H2_PING, H2_ACK, 0, &first, 8);
	script_sends_ok(s, 3, 0);
	script_sends_data(s, 3, H2_END_STREAM, 10);
	script_expects_alive(s);
	script_close(s);
}

/* covers: R64 */
SCRIPT_TEST(more_resets_than_are_remembered_make_no_errors)
{
	static const uint32_t many[] = {SCRIPT_MAX_STREAMS, 10000, 0};
	struct script *s = script_open_with(H2_CLIENT, &(struct script_options){.settings = many});
	uint32_t count = 2 * LIMIT_REMEMBERED_RESETS;
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(script_gets(s), 2 * i + 1);
	script_clears(s);
	for (uint32_t i = 0; i < count; i++)
		script_resets(s, 2 * i + 1, SESSION_CANCEL);
	for (uint32_t i = 0; i < count; i++)
		script_expects_rst(s, 2 * i + 1, SESSION_CANCEL);
	for (uint32_t i = 0; i < count; i++) {
		script_sends_ok(s, 2 * i + 1, 0);
		script_sends_data(s, 2 * i + 1, H2_END_STREAM, 10);
	}
	script_expects_alive(s);
	script_answers_pings(s);
	script_expects_alive(s);
	script_close(s);
}

/* covers: R64 */
SCRIPT_TEST(churn_of_promises_and_resets_with_pings_never_answered)
{
	struct script *s = with_request();
	for (uint32_t id = 2; id < 2000; id += 2) {
		script_sends_good_promise(s, 1, id);
		script_expects_event(s, SESSION_EVENT_PROMISE, 1);
		script_resets(s, id, SESSION_REFUSED_STREAM);
		script_expects_rst(s, id, SESSION_REFUSED_STREAM);
	}
	for (uint32_t id = 2; id < 2000; id += 2)
		script_sends_ok(s, id, H2_END_STREAM);
	script_expects_alive(s);
	assert_true(s->budget.used_bytes < 65536);
	script_close(s);
}

SCRIPT_TEST(at_most_one_ping_of_the_memory_is_under_way)
{
	struct script *s = with_request();
	for (uint32_t i = 0; i < 20; i++)
		assert_int_not_equal(script_gets(s), 0);
	script_clears(s);
	for (uint32_t i = 0; i < 20; i++) {
		script_resets(s, 2 * i + 1, SESSION_CANCEL);
		script_pumps(s);
	}
	assert_int_equal(s->pings_due, 1);
	script_close(s);
}

SCRIPT_TEST(pings_of_the_memory_are_not_told_to_the_owner)
{
	struct script *s = with_request();
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_answers_pings(s);
	script_expects_no_event(s);
	script_close(s);
}

SCRIPT_TEST(owners_ping_and_the_memorys_do_not_mix)
{
	struct script *s = with_request();
	assert_true(session_ping(s->conn, s->now));
	assert_false(session_ping(s->conn, s->now));
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_answers_pings(s);
	script_expects_event(s, SESSION_EVENT_PONG, 0);
	script_expects_nothing(s);
	assert_true(session_ping(s->conn, s->now));
	script_close(s);
}

SCRIPT_TEST(unasked_ping_answers_are_ignored)
{
	struct script *s = with_request();
	script_sends_raw(s, H2_PING, H2_ACK, 0, "12345678", 8);
	script_expects_alive(s);
	assert_true(session_ping(s->conn, s->now));
	script_pumps(s);
	script_sends_raw(s, H2_PING, H2_ACK, 0, "12345678", 8);
	script_expects_no_event(s);
	script_close(s);
}

/* covers: R75 */
SCRIPT_TEST(ping_is_answered_with_its_bytes)
{
	struct script *s = with_request();
	script_sends_raw(s, H2_PING, 0, 0, "\0\1\2\3\4\5\6\7", 8);
	struct script_frame *f = script_expects_frame(s, H2_PING, 0);
	assert_int_equal(f->flags, H2_ACK);
	assert_memory_equal(f->payload, "\0\1\2\3\4\5\6\7", 8);
	script_close(s);
}

/* A peer's own closing needs no memory: what comes after it is an error for ever. */
SCRIPT_TEST(data_on_a_stream_that_the_peer_ended_long_ago_is_stream_closed)
{
	struct script *s = with_request();
	for (uint32_t i = 0; i < 300; i++) {
		script_sends_ok(s, 2 * i + 1, H2_END_STREAM);
		script_expects_head(s, 2 * i + 1, true);
		script_expects_event(s, SESSION_EVENT_CLOSED, 2 * i + 1);
		assert_int_equal(script_gets(s), 2 * i + 3);
	}
	script_clears(s);
	script_sends_data(s, 1, 0, 10);
	script_pumps(s);
	if (session_has_failed(s->conn))
		script_expects_connection_error(s, SESSION_STREAM_CLOSED);
	else
		script_expects_rst(s, 1, SESSION_STREAM_CLOSED);
	script_close(s);
}

SCRIPT_TEST(later_reset_is_followed_by_its_own_ping)
{
	struct script *s = with_request();
	for (uint32_t i = 0; i < 3; i++) {
		script_resets(s, 2 * i + 1, SESSION_CANCEL);
		script_expects_rst(s, 2 * i + 1, SESSION_CANCEL);
		assert_int_equal(s->pings_due, 1);
		script_answers_pings(s);
		assert_int_equal(s->pings_due, 0);
		assert_int_not_equal(script_gets(s), 0);
		script_clears(s);
	}
	script_close(s);
}

/* What was lost is tolerated until a PING that was sent after the loss is back. */
SCRIPT_TEST(overflow_lasts_until_a_later_ping_is_back)
{
	static const uint32_t many[] = {SCRIPT_MAX_STREAMS, 10000, 0};
	struct script *s = script_open_with(H2_CLIENT, &(struct script_options){.settings = many});
	uint32_t count = LIMIT_REMEMBERED_RESETS + 10, last = 2 * count - 1;
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(script_gets(s), 2 * i + 1);
	script_clears(s);
	for (uint32_t i = 0; i < count; i++)
		script_resets(s, 2 * i + 1, SESSION_CANCEL);
	script_clears(s);
	assert_int_equal(s->pings_due, 1); /* it left with the first reset */
	uint64_t first = s->ping_payload;
	script_sends_raw(s, H2_PING, H2_ACK, 0, &first, 8);
	script_clears(s);
	assert_int_equal(s->pings_due, 2);
	script_sends_data(s, last, 0, 5);
	script_expects_alive(s);
	script_close(s);
}

/* ---- a reset between an event's making and its fetching ---- */

static void receives_up_to_the_event(struct script *s, const void *bytes, size_t length)
{
	struct chunk *chunk = chunk_acquire(s->chunks);
	memcpy(chunk->data, bytes, length);
	assert_int_equal(session_receive(s->conn, chunk, 0, length, s->now), length);
	script_resets(s, 1, SESSION_CANCEL);
	struct session_event e;
	assert_false(session_next_event(s->conn, &e));
	chunk_release(chunk);
}

SCRIPT_TEST(event_of_a_stream_that_was_reset_meanwhile_is_gone)
{
	struct script *s = with_request();
	script_sends_ok(s, 1, 0);
	script_expects_head(s, 1, false);
	receives_up_to_the_event(s, "\0\0\3\0\0\0\0\0\1ddd", 12);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_expects_alive(s);
	script_close(s);
}

SCRIPT_TEST(promise_on_a_stream_that_was_reset_meanwhile_is_refused)
{
	struct script *s = with_request();
	s->last_peer = 2;
	receives_up_to_the_event(s,
	    "\0\0\12\5\4\0\0\0\1"
	    "\0\0\0\2\x82\x87\x84\x41\1a",
	    19);
	script_pumps(s);
	script_expects_rst(s, 2, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_expects_alive(s);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ping_follows_the_reset),
	    cmocka_unit_test(everything_for_a_reset_stream_is_ignored_until_the_ping_is_back),
	    cmocka_unit_test(reset_stream_is_remembered_after_the_ping_came_back),
	    cmocka_unit_test(oldest_confirmed_reset_is_forgotten_when_room_is_needed),
	    cmocka_unit_test(ping_in_transit_confirms_only_what_it_followed),
	    cmocka_unit_test(answer_to_an_earlier_ping_does_not_forget),
	    cmocka_unit_test(more_resets_than_are_remembered_make_no_errors),
	    cmocka_unit_test(churn_of_promises_and_resets_with_pings_never_answered),
	    cmocka_unit_test(at_most_one_ping_of_the_memory_is_under_way),
	    cmocka_unit_test(pings_of_the_memory_are_not_told_to_the_owner),
	    cmocka_unit_test(owners_ping_and_the_memorys_do_not_mix),
	    cmocka_unit_test(unasked_ping_answers_are_ignored),
	    cmocka_unit_test(ping_is_answered_with_its_bytes),
	    cmocka_unit_test(data_on_a_stream_that_the_peer_ended_long_ago_is_stream_closed),
	    cmocka_unit_test(later_reset_is_followed_by_its_own_ping),
	    cmocka_unit_test(overflow_lasts_until_a_later_ping_is_back),
	    cmocka_unit_test(event_of_a_stream_that_was_reset_meanwhile_is_gone),
	    cmocka_unit_test(promise_on_a_stream_that_was_reset_meanwhile_is_refused),
	};
	return SCRIPT_RUN(tests);
}
