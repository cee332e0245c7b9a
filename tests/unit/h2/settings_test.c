/* SPDX-License-Identifier: MIT */
/* SETTINGS in both directions: RFC 9113 6.5, RFC 9218 2.1. Each parameter at its borders. */
#include "proxy/base/memory.h"
#include "tests/support/h2_script.h"

#include <stdlib.h>
#include <string.h>

/* What a value of the peer's does to a connection: SESSION_NO_ERROR = it is accepted. */
static void value_is(enum h2_role role, uint32_t id, uint32_t value, uint32_t code)
{
	struct script *s = script_open(role);
	script_sends_settings(s, id, value, SCRIPT_SETTINGS_END);
	if (code == SESSION_NO_ERROR) {
		script_expects_settings_ack(s);
		script_expects_event(s, SESSION_EVENT_READY, 0);
		/* A tiny table must not disturb the block decoder of the next expectation. */
		script_expects_alive(s);
	} else {
		script_expects_connection_error(s, code);
	}
	script_close(s);
}

static void value_is_for_both(uint32_t id, uint32_t value, uint32_t code)
{
	value_is(H2_SERVER, id, value, code);
	value_is(H2_CLIENT, id, value, code);
}

/* covers: R28 P-recv-enable-push-value */
SCRIPT_TEST(enable_push_from_a_client_is_0_or_1)
{
	value_is(H2_SERVER, SCRIPT_ENABLE_PUSH, 0, SESSION_NO_ERROR);
	value_is(H2_SERVER, SCRIPT_ENABLE_PUSH, 1, SESSION_NO_ERROR);
	value_is(H2_SERVER, SCRIPT_ENABLE_PUSH, 2, SESSION_PROTOCOL_ERROR);
	value_is(H2_SERVER, SCRIPT_ENABLE_PUSH, 0xffffffff, SESSION_PROTOCOL_ERROR);
}

/* covers: R12 P-recv-enable-push-value */
SCRIPT_TEST(enable_push_from_a_server_is_0_only)
{
	value_is(H2_CLIENT, SCRIPT_ENABLE_PUSH, 0, SESSION_NO_ERROR);
	value_is(H2_CLIENT, SCRIPT_ENABLE_PUSH, 1, SESSION_PROTOCOL_ERROR);
	value_is(H2_CLIENT, SCRIPT_ENABLE_PUSH, 2, SESSION_PROTOCOL_ERROR);
	value_is(H2_CLIENT, SCRIPT_ENABLE_PUSH, 0xffffffff, SESSION_PROTOCOL_ERROR);
}

/* covers: R12 */
SCRIPT_TEST(initial_window_size_is_at_most_2_31_minus_1)
{
	value_is_for_both(SCRIPT_WINDOW, 0, SESSION_NO_ERROR);
	value_is_for_both(SCRIPT_WINDOW, 0x7fffffff, SESSION_NO_ERROR);
	value_is_for_both(SCRIPT_WINDOW, 0x80000000, SESSION_FLOW_CONTROL_ERROR);
	value_is_for_both(SCRIPT_WINDOW, 0xffffffff, SESSION_FLOW_CONTROL_ERROR);
}

/* covers: R12 */
SCRIPT_TEST(max_frame_size_is_between_2_14_and_2_24_minus_1)
{
	value_is_for_both(SCRIPT_FRAME_SIZE, 0, SESSION_PROTOCOL_ERROR);
	value_is_for_both(SCRIPT_FRAME_SIZE, 16383, SESSION_PROTOCOL_ERROR);
	value_is_for_both(SCRIPT_FRAME_SIZE, 16384, SESSION_NO_ERROR);
	value_is_for_both(SCRIPT_FRAME_SIZE, 0xffffff, SESSION_NO_ERROR);
	value_is_for_both(SCRIPT_FRAME_SIZE, 0x1000000, SESSION_PROTOCOL_ERROR);
}

SCRIPT_TEST(table_stream_and_list_limits_take_any_value)
{
	static const uint32_t ids[] = {SCRIPT_TABLE_SIZE, SCRIPT_MAX_STREAMS, SCRIPT_LIST_SIZE};
	for (size_t i = 0; i < 3; i++) {
		value_is_for_both(ids[i], 0, SESSION_NO_ERROR);
		value_is_for_both(ids[i], 1, SESSION_NO_ERROR);
		value_is_for_both(ids[i], 0xffffffff, SESSION_NO_ERROR);
	}
}

/* RFC 9218 2.1: 0 or 1. */
SCRIPT_TEST(no_rfc7540_priorities_is_0_or_1)
{
	value_is_for_both(SCRIPT_NO_7540_PRIORITY, 0, SESSION_NO_ERROR);
	value_is_for_both(SCRIPT_NO_7540_PRIORITY, 2, SESSION_PROTOCOL_ERROR);
	static const uint32_t first[] = {SCRIPT_NO_7540_PRIORITY, 1, 0};
	struct script *s = script_open_with(H2_SERVER, &(struct script_options){.settings = first});
	assert_int_equal(h2_peer_settings(s->conn)->no_rfc7540_priorities, 1);
	script_close(s);
}

/* covers: R75 */
SCRIPT_TEST(unknown_settings_are_ignored)
{
	value_is_for_both(0x7, 0xffffffff, SESSION_NO_ERROR);
	value_is_for_both(0xa, 1, SESSION_NO_ERROR);
	value_is_for_both(0xffff, 42, SESSION_NO_ERROR);
}

/* covers: R28 */
SCRIPT_TEST(last_of_two_values_in_one_frame_counts)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_settings(s, SCRIPT_ENABLE_PUSH, 0, SCRIPT_WINDOW, 5, SCRIPT_ENABLE_PUSH, 1,
	    SCRIPT_WINDOW, 7, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	assert_int_equal(h2_peer_settings(s->conn)->enable_push, 1);
	assert_int_equal(h2_peer_settings(s->conn)->initial_window_size, 7);
	script_close(s);
}

/* covers: R28 */
SCRIPT_TEST(wrong_value_counts_even_when_a_right_one_follows)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_settings(s, SCRIPT_ENABLE_PUSH, 2, SCRIPT_ENABLE_PUSH, 1, SCRIPT_SETTINGS_END);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

SCRIPT_TEST(field_lists_are_as_large_as_the_peer_says_or_else_as_we_do)
{
	static const struct {
		uint32_t ours, theirs, most;
	} rows[] = {
	    {UINT32_MAX, UINT32_MAX, UINT32_MAX},
	    {1000, UINT32_MAX, 1000},
	    {1000, 2000, 2000},
	    {1000, 10, 10},
	    {UINT32_MAX, 0, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct h2_limits limits = h2_limits_default;
		limits.request_list_bytes = rows[i].ours;
		struct script *s = script_open_with(H2_CLIENT, &(struct script_options){.limits = &limits});
		assert_int_equal(h2_list_bytes_most(s->conn), rows[i].ours); /* nothing is announced yet */
		script_sends_settings(s, SCRIPT_LIST_SIZE, rows[i].theirs, SCRIPT_SETTINGS_END);
		script_pumps(s);
		assert_int_equal(h2_list_bytes_most(s->conn), rows[i].most);
		script_close(s);
	}
}

/* How a request with one field of so many bytes fits; size: as it came (0: it was made here). */
static enum session_fit fit_of(struct script *s, size_t field, size_t size, size_t *present)
{
	char *value = memory_alloc(field + 1);
	memset(value, 'v', field);
	value[field] = '\0';
	struct http_head *head = script_head(s, HTTP_REQUEST, ":method", "GET", ":scheme", "https",
	    ":authority", "a", ":path", "/", "x", value, NULL);
	head->list_bytes = size;
	*present = http_head_list_bytes(head);
	enum session_fit fit = session_request_fits(s->conn, head, true);
	http_head_free(head);
	free(value);
	return fit;
}

SCRIPT_TEST(a_request_fits_when_its_fields_are_no_larger_than_the_peer_takes)
{
	struct script *s = script_open(H2_CLIENT);
	size_t present;
	assert_int_equal(fit_of(s, 50000, 50000, &present), SESSION_FITS); /* there is no limit */
	fit_of(s, 500, 0, &present);
	script_sends_settings(s, SCRIPT_LIST_SIZE, (uint32_t)present, SCRIPT_SETTINGS_END);
	script_pumps(s);
	/* The present size counts, and not that with which it came. */
	static const size_t sizes[] = {0, 1, 8192, 8193};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(fit_of(s, 500, sizes[i], &present), SESSION_FITS);
		assert_int_equal(fit_of(s, 501, sizes[i], &present), SESSION_HEAD_LARGE);
	}
	script_close(s);
}

/* One that came with little is not counted anew where the limit is many times as high. */
SCRIPT_TEST(a_little_request_fits_a_large_limit)
{
	static const uint32_t large[] = {SCRIPT_LIST_SIZE, 32768, 0};
	static const uint32_t less[] = {SCRIPT_LIST_SIZE, 32767, 0};
	size_t present;
	struct script *s = script_open_with(H2_CLIENT, &(struct script_options){.settings = large});
	assert_int_equal(fit_of(s, 8000, 8192, &present), SESSION_FITS);
	assert_int_equal(fit_of(s, 40000, 8192, &present), SESSION_FITS);
	assert_int_equal(fit_of(s, 40000, 8193, &present), SESSION_HEAD_LARGE);
	assert_int_equal(fit_of(s, 40000, 0, &present), SESSION_HEAD_LARGE);
	script_close(s);
	s = script_open_with(H2_CLIENT, &(struct script_options){.settings = less});
	assert_int_equal(fit_of(s, 8000, 8192, &present), SESSION_FITS);
	assert_int_equal(fit_of(s, 40000, 8192, &present), SESSION_HEAD_LARGE);
	script_close(s);
}

/* covers: R28 */
SCRIPT_TEST(what_the_peer_leaves_out_has_the_rfcs_value)
{
	struct script *s = script_open(H2_SERVER);
	const struct h2_settings *peer = h2_peer_settings(s->conn);
	assert_int_equal(peer->enable_push, 1);
	assert_int_equal(peer->header_table_size, 4096);
	assert_int_equal(peer->max_concurrent_streams, UINT32_MAX);
	assert_int_equal(peer->initial_window_size, 65535);
	assert_int_equal(peer->max_frame_size, 16384);
	assert_int_equal(peer->max_header_list_size, UINT32_MAX);
	assert_int_equal(peer->no_rfc7540_priorities, 0);
	script_close(s);
}

/* covers: R75 */
SCRIPT_TEST(each_settings_frame_gets_one_acknowledgement)
{
	struct script *s = script_open(H2_CLIENT);
	for (uint32_t i = 0; i < 3; i++)
		script_sends_settings(s, SCRIPT_MAX_STREAMS, i + 5, SCRIPT_SETTINGS_END);
	for (int i = 0; i < 3; i++) {
		script_expects_settings_ack(s);
		script_expects_event(s, SESSION_EVENT_READY, 0);
	}
	script_expects_nothing(s);
	assert_int_equal(h2_peer_settings(s->conn)->max_concurrent_streams, 7);
	script_close(s);
}

/* covers: R75 */
SCRIPT_TEST(settings_hold_from_their_acknowledgement_on)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_get(s, 1);
	script_expects_head(s, 1, true);
	script_sends_settings(s, SCRIPT_WINDOW, 3, SCRIPT_SETTINGS_END);
	assert_true(script_responds(s, 1, false, "200"));
	script_offers(s, 1, 10, true);
	script_expects_settings_ack(s);
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_body(s, 1, 3, false);
	script_sends_settings(s, SCRIPT_WINDOW, 10, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_expects_body(s, 1, 7, true);
	script_close(s);
}

/* covers: R75 */
SCRIPT_TEST(greater_frame_size_may_be_used_and_smaller_is_kept)
{
	static const uint32_t first[] = {SCRIPT_FRAME_SIZE, 20000, SCRIPT_WINDOW, 1000000, 0};
	struct script *s = script_open_with(H2_SERVER, &(struct script_options){.settings = first});
	s->data_most = 1 << 20;
	script_sends_window_update(s, 0, 1000000);
	script_sends_get(s, 1);
	script_expects_head(s, 1, true);
	script_responds(s, 1, false, "200");
	script_offers(s, 1, 50000, true);
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_body(
	    s, 1, 50000, true); /* the script itself fails on more than 20000 a frame */
	script_close(s);
}

/* covers: R75 */
SCRIPT_TEST(peers_table_size_is_obeyed_with_updates)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t i = 0; i < 6; i++) {
		static const uint32_t sizes[] = {4096, 0, 100, 0, 8192, 64};
		/* Two values in one frame: the smallest must be announced too (RFC 7541 4.2). The
		 * script's decoder, libnghttp2's, fails when it is not. */
		script_sends_settings(s, SCRIPT_TABLE_SIZE, sizes[i], SCRIPT_SETTINGS_END);
		script_sends_get(s, 2 * i + 1);
		script_clears(s);
		struct http_head *head = script_head(s, HTTP_RESPONSE, ":status", "200", "x-one",
		    "value", "x-two", "another value", NULL);
		assert_true(session_respond(s->conn, script_handle(s, 2 * i + 1), head, true));
		http_head_free(head);
		struct script_frame *f = script_expects_frame(s, H2_HEADERS, 2 * i + 1);
		script_expects_fields(s, f, ":status: 200\nx-one: value\nx-two: another value\n");
		script_clears(s);
	}
	script_close(s);
}

SCRIPT_TEST(table_size_down_and_up_before_the_next_block_announces_both)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_get(s, 1);
	script_sends_get(s, 3);
	script_clears(s);
	script_responds(s, 1, true, "299");
	script_clears(s);
	script_sends_settings(
	    s, SCRIPT_TABLE_SIZE, 0, SCRIPT_TABLE_SIZE, 4096, SCRIPT_SETTINGS_END);
	script_clears(s);
	script_responds(s, 3, true, "299");
	struct script_frame *f = script_expects_frame(s, H2_HEADERS, 3);
	script_expects_fields(s, f, ":status: 299\n");
	/* 0x20 is a size update to 0 and must be the first byte; then the way back up. */
	assert_int_equal(f->payload[0], 0x20);
	assert_int_equal(f->payload[1] & 0xe0, 0x20);
	script_close(s);
}

/* covers: R35 */
SCRIPT_TEST(max_concurrent_streams_bounds_a_clients_requests)
{
	static const uint32_t first[] = {SCRIPT_MAX_STREAMS, 2, 0};
	struct script *s = script_open_with(H2_CLIENT, &(struct script_options){.settings = first});
	assert_int_equal(session_request_room(s->conn), 2);
	assert_int_equal(script_gets(s), 1);
	assert_int_equal(script_gets(s), 3);
	assert_int_equal(session_request_room(s->conn), 0);
	assert_int_equal(script_gets(s), 0);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	assert_int_equal(session_request_room(s->conn), 1);
	script_sends_settings(s, SCRIPT_MAX_STREAMS, 0, SCRIPT_SETTINGS_END);
	assert_int_equal(session_request_room(s->conn), 0);
	script_sends_settings(s, SCRIPT_MAX_STREAMS, 10, SCRIPT_SETTINGS_END);
	assert_int_equal(session_request_room(s->conn), 9);
	script_close(s);
}

/* covers: R35 */
SCRIPT_TEST(hundred_requests_are_assumed_before_the_servers_settings)
{
	struct script *s = script_open_with(H2_CLIENT, &(struct script_options){.silent = true});
	assert_int_equal(session_request_room(s->conn), 100);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_not_equal(script_gets(s), 0);
	assert_int_equal(session_request_room(s->conn), 95);
	script_sends_settings(s, SCRIPT_MAX_STREAMS, 3, SCRIPT_SETTINGS_END);
	assert_int_equal(session_request_room(s->conn), 0);
	script_close(s);
}

/* RFC 9113 5.1.2: the stream above our limit costs only itself. */
SCRIPT_TEST(request_above_our_stream_limit_is_refused_alone)
{
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = 2;
	struct script *s = script_open_with(H2_SERVER, &(struct script_options){.local = &local});
	script_sends_post(s, 1);
	script_sends_get(s, 3);
	script_expects_head(s, 1, false);
	script_expects_head(s, 3, true);
	script_sends_get(s, 5);
	script_expects_stream_error(s, 5, SESSION_REFUSED_STREAM);
	script_responds(s, 3, true, "200");
	script_expects_frame(s, H2_HEADERS, 3);
	script_expects_event(s, SESSION_EVENT_CLOSED, 3);
	script_sends_get(s, 7);
	script_expects_head(s, 7, true);
	script_close(s);
}

SCRIPT_TEST(own_settings_may_change_and_are_acknowledged)
{
	struct script *s = script_open(H2_SERVER);
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = 1;
	h2_update_settings(s->conn, &local, s->now);
	struct script_frame *f = script_expects_frame(s, H2_SETTINGS, 0);
	assert_int_equal(f->flags & H2_ACK, 0);
	assert_true(f->length >= 6);
	/* Until the peer has acknowledged it may act under the old value. */
	script_sends_post(s, 1);
	script_sends_post(s, 3);
	script_expects_head(s, 1, false);
	script_expects_head(s, 3, false);
	script_sends_settings_ack(s);
	script_sends_post(s, 5);
	script_expects_stream_error(s, 5, SESSION_REFUSED_STREAM);
	script_close(s);
}

/* Two changes are under way, and are acknowledged one by one. */
SCRIPT_TEST(each_acknowledgement_is_of_the_oldest_settings)
{
	struct script *s = script_open(H2_SERVER);
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = 2;
	h2_update_settings(s->conn, &local, s->now);
	local.max_concurrent_streams = 1;
	h2_update_settings(s->conn, &local, s->now);
	script_clears(s);
	script_sends_post(s, 1);
	script_sends_post(s, 3);
	script_sends_post(s, 5); /* nothing is acknowledged yet */
	for (uint32_t id = 1; id < 6; id += 2)
		script_expects_head(s, id, false);
	script_sends_rst(s, 5, SESSION_CANCEL);
	script_sends_rst(s, 3, SESSION_CANCEL);
	script_clears(s);
	script_sends_settings_ack(s); /* 2 */
	script_sends_post(s, 7);
	script_expects_head(s, 7, false);
	script_sends_post(s, 9);
	script_expects_stream_error(s, 9, SESSION_REFUSED_STREAM);
	script_pumps(s);
	script_sends_settings_ack(s); /* 1 */
	script_sends_rst(s, 7, SESSION_CANCEL);
	script_clears(s);
	script_sends_post(s, 11);
	script_expects_stream_error(s, 11, SESSION_REFUSED_STREAM);
	script_close(s);
}

/* However fast the owner changes its mind, the peer hears the last word. */
SCRIPT_TEST(changes_without_acknowledgement_end_in_the_last_value)
{
	struct script *s = script_open(H2_SERVER);
	struct h2_settings local = h2_settings_initial;
	for (uint32_t i = 1; i <= 50; i++) {
		local.max_concurrent_streams = i;
		h2_update_settings(s->conn, &local, s->now);
	}
	uint32_t value = 0, frames = 0;
	for (; frames < 60; frames++) {
		script_pumps(SCRIPT_AT(s));
		while (s->frames_head < s->frames_tail &&
		       s->frames[s->frames_head]->type != H2_SETTINGS)
			s->frames_head++;
		if (s->frames_head == s->frames_tail)
			break;
		const struct script_frame *f = s->frames[s->frames_head++];
		for (uint32_t i = 0; i < f->length; i += 6)
			if (f->payload[i + 1] == SCRIPT_MAX_STREAMS)
				value = f->payload[i + 5];
		script_sends_settings_ack(s);
	}
	assert_int_equal(value, 50);
	assert_true(frames < 50); /* and what waits here is bounded */
	assert_int_equal(session_deadline(s->conn), USEC_NEVER);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(enable_push_from_a_client_is_0_or_1),
	    cmocka_unit_test(enable_push_from_a_server_is_0_only),
	    cmocka_unit_test(initial_window_size_is_at_most_2_31_minus_1),
	    cmocka_unit_test(max_frame_size_is_between_2_14_and_2_24_minus_1),
	    cmocka_unit_test(table_stream_and_list_limits_take_any_value),
	    cmocka_unit_test(no_rfc7540_priorities_is_0_or_1),
	    cmocka_unit_test(unknown_settings_are_ignored),
	    cmocka_unit_test(last_of_two_values_in_one_frame_counts),
	    cmocka_unit_test(wrong_value_counts_even_when_a_right_one_follows),
	    cmocka_unit_test(field_lists_are_as_large_as_the_peer_says_or_else_as_we_do),
	    cmocka_unit_test(a_request_fits_when_its_fields_are_no_larger_than_the_peer_takes),
	    cmocka_unit_test(a_little_request_fits_a_large_limit),
	    cmocka_unit_test(what_the_peer_leaves_out_has_the_rfcs_value),
	    cmocka_unit_test(each_settings_frame_gets_one_acknowledgement),
	    cmocka_unit_test(settings_hold_from_their_acknowledgement_on),
	    cmocka_unit_test(greater_frame_size_may_be_used_and_smaller_is_kept),
	    cmocka_unit_test(peers_table_size_is_obeyed_with_updates),
	    cmocka_unit_test(table_size_down_and_up_before_the_next_block_announces_both),
	    cmocka_unit_test(max_concurrent_streams_bounds_a_clients_requests),
	    cmocka_unit_test(hundred_requests_are_assumed_before_the_servers_settings),
	    cmocka_unit_test(request_above_our_stream_limit_is_refused_alone),
	    cmocka_unit_test(own_settings_may_change_and_are_acknowledged),
	    cmocka_unit_test(each_acknowledgement_is_of_the_oldest_settings),
	    cmocka_unit_test(changes_without_acknowledgement_end_in_the_last_value),
	};
	return SCRIPT_RUN(tests);
}
