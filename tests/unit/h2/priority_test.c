/* SPDX-License-Identifier: MIT */
/* Who goes first: RFC 9218, PRIORITY_UPDATE, and the order in which DATA frames leave. */
#include "tests/support/h2_script.h"

#include <stdio.h>

static void requests(struct script *s, uint32_t id, const char *priority)
{
	if (priority)
		script_sends_headers(s, id, H2_END_STREAM, ":method", "GET", ":scheme", "https",
		    ":authority", "a", ":path", "/", "priority", priority, NULL);
	else
		script_sends_get(s, id);
	script_expects_head(s, id, true);
}

static void priority_is(struct script *s, uint32_t id, uint8_t urgency, bool incremental)
{
	struct http_priority p = session_priority(s->conn, script_handle(s, id));
	assert_int_equal(p.urgency, urgency);
	assert_int_equal(p.incremental, incremental);
}

/* The ids of the DATA frames that leave now, as text. */
static void data_order_is(struct script *s, const char *expected)
{
	char got[512] = "";
	size_t at = 0;
	script_pumps(s);
	for (; s->frames_head < s->frames_tail; s->frames_head++) {
		const struct script_frame *f = s->frames[s->frames_head];
		if (f->type == H2_DATA && at + 12 < sizeof got)
			at += (size_t)snprintf(got + at, sizeof got - at, at ? " %u" : "%u", f->id);
	}
	s->events_head = s->events_tail; /* of streams that have ended by it */
	assert_string_equal(got, expected);
}

static void answers(struct script *s, uint32_t id, size_t bytes)
{
	script_responds(s, id, false, "200");
	script_offers(s, id, bytes, true);
}

SCRIPT_TEST(priority_field_is_read)
{
	struct script *s = script_open(H2_SERVER);
	requests(s, 1, NULL);
	priority_is(s, 1, 3, false);
	requests(s, 3, "u=0, i");
	priority_is(s, 3, 0, true);
	requests(s, 5, "u=7");
	priority_is(s, 5, 7, false);
	requests(s, 7, "i");
	priority_is(s, 7, 3, true);
	requests(s, 9, "u=8");
	priority_is(s, 9, 3, false);
	requests(s, 11, "((((");
	priority_is(s, 11, 3, false);
	script_close(s);
}

SCRIPT_TEST(priority_update_overrides_the_field)
{
	struct script *s = script_open(H2_SERVER);
	requests(s, 1, "u=5");
	script_sends_priority_update(s, 1, "u=1, i");
	script_expects_nothing(s);
	priority_is(s, 1, 1, true);
	script_sends_priority_update(s, 1, "");
	priority_is(s, 1, 3, false);
	script_close(s);
}

/* RFC 9218 7.1: it may overtake its request. */
SCRIPT_TEST(priority_update_before_the_request_counts_for_it)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_priority_update(s, 5, "u=1");
	script_sends_priority_update(s, 5, "u=2");
	script_expects_nothing(s);
	requests(s, 1, NULL);
	priority_is(s, 1, 3, false);
	requests(s, 5, "u=6");
	priority_is(s, 5, 2, false);
	script_close(s);
}

SCRIPT_TEST(priority_update_for_a_promised_stream_counts)
{
	struct script *s = script_open(H2_SERVER);
	requests(s, 1, NULL);
	assert_int_equal(script_promises(s, 1, "/"), 2);
	script_clears(s);
	script_sends_priority_update(s, 2, "u=0");
	script_expects_nothing(s);
	priority_is(s, 2, 0, false);
	script_close(s);
}

SCRIPT_TEST(priority_update_names_a_stream)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_priority_update(s, 0, "u=1");
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

static struct script *of_at_most(uint32_t streams)
{
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = streams;
	return script_open_with(H2_SERVER, &(struct script_options){.local = &local});
}

/* RFC 9218 7.1: idle streams with a priority and streams under way, together at most
 * MAX_CONCURRENT_STREAMS. covers: R139 */
SCRIPT_TEST(priority_updates_for_more_idle_streams_than_may_be_opened_are_an_error)
{
	struct script *s = of_at_most(10);
	requests(s, 1, NULL);
	requests(s, 3, NULL);
	for (uint32_t i = 0; i < 40; i++) /* again and again of the same eight */
		script_sends_priority_update(s, 5 + 2 * (i % 8), "u=1");
	script_expects_alive(s);
	requests(s, 5, NULL); /* one of them is idle no more */
	script_expects_alive(s);
	priority_is(s, 5, 1, false);
	script_sends_priority_update(s, 21, "u=1");
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

SCRIPT_TEST(priority_updates_of_ids_that_were_passed_over_do_not_count)
{
	struct script *s = of_at_most(3);
	for (uint32_t id = 1; id < 40; id += 4) {
		script_sends_priority_update(s, id, "u=1");
		script_sends_priority_update(s, id + 2, "u=2");
		requests(s, id + 2, "u=7");
		priority_is(s, id + 2, 2, false);
		script_sends_rst(s, id + 2, SESSION_CANCEL);
		script_clears(s);
	}
	script_expects_alive(s);
	script_close(s);
}

SCRIPT_TEST(many_priority_updates_for_idle_streams_are_bounded)
{
	struct script *s = of_at_most(65536);
	for (uint32_t i = 0; i < 1500; i++)
		script_sends_priority_update(s, 2 * i + 1, "u=1");
	script_expects_alive(s);
	assert_true(s->budget.used_bytes < 100000);
	requests(s, 1, NULL); /* the oldest are forgotten */
	priority_is(s, 1, 3, false);
	requests(s, 2743, NULL);
	priority_is(s, 2743, 3, false);
	requests(s, 2745, NULL); /* the last 128 are known */
	priority_is(s, 2745, 1, false);
	requests(s, 2999, NULL);
	priority_is(s, 2999, 1, false);
	script_close(s);
}

SCRIPT_TEST(priority_update_without_memory_is_forgotten)
{
	struct script *s = script_open(H2_SERVER);
	budget_fail_nth(&s->budget, 1);
	script_sends_priority_update(s, 1, "u=1");
	script_expects_alive(s);
	requests(s, 1, NULL);
	priority_is(s, 1, 3, false);
	script_close(s);
}

SCRIPT_TEST(smaller_urgency_goes_first)
{
	struct script *s = script_open(H2_SERVER);
	requests(s, 1, "u=6");
	requests(s, 3, "u=3");
	requests(s, 5, "u=0");
	s->data_most = 100;
	answers(s, 1, 200);
	answers(s, 3, 200);
	answers(s, 5, 200);
	data_order_is(s, "5 5 3 3 1 1");
	script_close(s);
}

SCRIPT_TEST(one_after_the_other_when_not_incremental)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t id = 1; id < 6; id += 2)
		requests(s, id, NULL);
	s->data_most = 100;
	answers(s, 5, 200);
	answers(s, 1, 200);
	answers(s, 3, 200);
	data_order_is(s, "1 1 3 3 5 5");
	script_close(s);
}

SCRIPT_TEST(incremental_streams_take_turns)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t id = 1; id < 6; id += 2)
		requests(s, id, "i");
	s->data_most = 100;
	answers(s, 1, 300);
	answers(s, 3, 300);
	answers(s, 5, 200);
	data_order_is(s, "1 3 5 1 3 5 1 3");
	script_close(s);
}

SCRIPT_TEST(stream_without_window_or_data_gives_way)
{
	static const uint32_t small[] = {SCRIPT_WINDOW, 100, 0};
	struct script *s = script_open_with(H2_SERVER, &(struct script_options){.settings = small});
	requests(s, 1, "u=0");
	requests(s, 3, "u=5");
	answers(s, 1, 200);
	answers(s, 3, 50);
	data_order_is(s, "1 3");
	script_sends_window_update(s, 1, 100);
	data_order_is(s, "1");
	script_close(s);
}

SCRIPT_TEST(scarce_connection_window_goes_to_the_most_urgent)
{
	struct script *s = script_open(H2_SERVER);
	requests(s, 1, NULL);
	answers(s, 1, 65535);
	data_order_is(s, "1 1 1 1");
	requests(s, 3, "u=5");
	requests(s, 5, "u=1");
	answers(s, 3, 100);
	answers(s, 5, 100);
	data_order_is(s, "");
	script_sends_window_update(s, 0, 100);
	data_order_is(s, "5");
	script_sends_window_update(s, 0, 100);
	data_order_is(s, "3");
	script_close(s);
}

SCRIPT_TEST(priority_may_change_while_data_waits)
{
	struct script *s = script_open(H2_SERVER);
	requests(s, 1, NULL);
	requests(s, 3, NULL);
	s->data_most = 100;
	answers(s, 1, 200);
	answers(s, 3, 200);
	session_set_priority(s->conn, script_handle(s, 3), (struct http_priority){.urgency = 1});
	data_order_is(s, "3 3 1 1");
	requests(s, 5, NULL);
	requests(s, 7, NULL);
	answers(s, 5, 200);
	answers(s, 7, 200);
	script_sends_priority_update(s, 5, "u=7");
	data_order_is(s, "7 7 5 5");
	script_close(s);
}

/* covers: P-make-never-starves */
SCRIPT_TEST(push_comes_after_its_parent)
{
	struct script *s = script_open(H2_SERVER);
	requests(s, 1, "u=2");
	requests(s, 3, "u=7");
	assert_int_equal(script_promises(s, 1, "/"), 2);
	assert_int_equal(script_promises(s, 3, "/"), 4);
	priority_is(s, 2, 3, false);
	assert_int_equal(session_priority(s->conn, script_handle(s, 4)).urgency, 7);
	s->data_most = 100;
	answers(s, 2, 200);
	answers(s, 1, 200);
	data_order_is(s, "1 1 2 2");
	script_close(s);
}

/* covers: R42 P-make-before-reference */
SCRIPT_TEST(control_frames_leave_before_data)
{
	struct script *s = script_open(H2_SERVER);
	requests(s, 1, NULL);
	answers(s, 1, 100);
	script_clears(s);
	requests(s, 3, NULL);
	answers(s, 3, 100);
	assert_int_equal(script_promises(s, 3, "/"), 2);
	script_sends_ping(s, 7);
	script_expects_frame(s, H2_HEADERS, 3);
	script_expects_frame(s, H2_PUSH_PROMISE, 3);
	script_expects_frame(s, H2_PING, 0);
	script_expects_body(s, 3, 100, true);
	script_close(s);
}

SCRIPT_TEST(client_sends_request_bodies_by_urgency_too)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_requests(s, false, "POST", "/"), 1);
	assert_int_equal(script_requests(s, false, "POST", "/"), 3);
	session_set_priority(s->conn, script_handle(s, 3), (struct http_priority){.urgency = 0});
	script_offers(s, 1, 10, true);
	script_offers(s, 3, 10, true);
	data_order_is(s, "3 1");
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(priority_field_is_read),
	    cmocka_unit_test(priority_update_overrides_the_field),
	    cmocka_unit_test(priority_update_before_the_request_counts_for_it),
	    cmocka_unit_test(priority_update_for_a_promised_stream_counts),
	    cmocka_unit_test(priority_update_names_a_stream),
	    cmocka_unit_test(
		priority_updates_for_more_idle_streams_than_may_be_opened_are_an_error),
	    cmocka_unit_test(priority_updates_of_ids_that_were_passed_over_do_not_count),
	    cmocka_unit_test(many_priority_updates_for_idle_streams_are_bounded),
	    cmocka_unit_test(priority_update_without_memory_is_forgotten),
	    cmocka_unit_test(smaller_urgency_goes_first),
	    cmocka_unit_test(one_after_the_other_when_not_incremental),
	    cmocka_unit_test(incremental_streams_take_turns),
	    cmocka_unit_test(stream_without_window_or_data_gives_way),
	    cmocka_unit_test(scarce_connection_window_goes_to_the_most_urgent),
	    cmocka_unit_test(priority_may_change_while_data_waits),
	    cmocka_unit_test(push_comes_after_its_parent),
	    cmocka_unit_test(control_frames_leave_before_data),
	    cmocka_unit_test(client_sends_request_bodies_by_urgency_too),
	};
	return SCRIPT_RUN(tests);
}
