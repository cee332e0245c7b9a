/* SPDX-License-Identifier: MIT */
/* How a connection begins: RFC 9113 3.4 and the first SETTINGS (6.5). */
#include "tests/support/h2_script.h"

static const struct script_options silent = {.silent = true};

/* Nothing came that could be answered with a frame, so a GOAWAY is the engine's choice (3.4). */
static void expects_failed(struct script *s, uint32_t code)
{
	script_pumps(s);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_FAILED, 0);
	assert_non_null(e->fault);
	assert_int_equal(e->fault->code, code);
	assert_true(session_has_failed(s->conn));
	script_expects_no_event(s);
}

SCRIPT_TEST(server_sends_settings_before_it_has_heard_anything)
{
	struct script *s = script_open_with(H2_SERVER, &silent);
	assert_true(session_wants_write(s->conn));
	struct script_frame *f = script_expects_frame(s, H2_SETTINGS, 0);
	assert_int_equal(f->flags & H2_ACK, 0);
	script_expects_nothing(s);
	script_close(s);
}

SCRIPT_TEST(client_sends_preface_and_settings_at_once)
{
	struct script *s = script_open_with(H2_CLIENT, &silent);
	script_expects_frame(s, H2_SETTINGS, 0);
	assert_true(s->preface_seen);
	script_expects_nothing(s);
	script_close(s);
}

static uint32_t announced(const struct script_frame *f, uint32_t id, uint32_t otherwise)
{
	for (uint32_t i = 0; i < f->length; i += 6)
		if (((uint32_t)f->payload[i] << 8 | f->payload[i + 1]) == id)
			return (uint32_t)f->payload[i + 2] << 24 |
			       (uint32_t)f->payload[i + 3] << 16 |
			       (uint32_t)f->payload[i + 4] << 8 | f->payload[i + 5];
	return otherwise;
}

SCRIPT_TEST(first_settings_carry_the_local_values)
{
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = 77;
	local.initial_window_size = 262144;
	local.max_frame_size = 32768;
	local.header_table_size = 8192;
	local.max_header_list_size = 12345;
	struct script *s =
	    script_open_with(H2_SERVER, &(struct script_options){.local = &local, .silent = true});
	struct script_frame *f = script_expects_frame(s, H2_SETTINGS, 0);
	assert_int_equal(announced(f, SCRIPT_MAX_STREAMS, 0), 77);
	assert_int_equal(announced(f, SCRIPT_WINDOW, 65535), 262144);
	assert_int_equal(announced(f, SCRIPT_FRAME_SIZE, 16384), 32768);
	assert_int_equal(announced(f, SCRIPT_TABLE_SIZE, 4096), 8192);
	assert_int_equal(announced(f, SCRIPT_LIST_SIZE, 0), 12345);
	script_close(s);
}

/* covers: R30 P-recv-enable-push-value */
SCRIPT_TEST(server_never_announces_enable_push)
{
	struct h2_settings local = h2_settings_initial;
	for (uint32_t value = 0; value < 2; value++) {
		local.enable_push = value;
		struct script *s = script_open_with(
		    H2_SERVER, &(struct script_options){.local = &local, .silent = true});
		struct script_frame *f = script_expects_frame(s, H2_SETTINGS, 0);
		assert_int_equal(announced(f, SCRIPT_ENABLE_PUSH, 99), 99);
		script_close(s);
	}
}

/* covers: R30 */
SCRIPT_TEST(client_that_refuses_pushes_says_so)
{
	struct h2_settings local = h2_settings_initial;
	local.enable_push = 0;
	struct script *s =
	    script_open_with(H2_CLIENT, &(struct script_options){.local = &local, .silent = true});
	struct script_frame *f = script_expects_frame(s, H2_SETTINGS, 0);
	assert_int_equal(announced(f, SCRIPT_ENABLE_PUSH, 1), 0);
	script_close(s);
}

SCRIPT_TEST(connection_window_is_raised_at_once)
{
	struct h2_limits limits = h2_limits_default;
	limits.connection_window = 1 << 20;
	struct script *s = script_open_with(
	    H2_SERVER, &(struct script_options){.limits = &limits, .silent = true});
	assert_int_equal(script_takes_credit(s, 0), (1 << 20) - 65535);
	script_close(s);
}

SCRIPT_TEST(connection_window_of_65535_needs_no_update)
{
	struct h2_limits limits = h2_limits_default;
	limits.connection_window = 65535;
	struct script *s = script_open_with(
	    H2_CLIENT, &(struct script_options){.limits = &limits, .silent = true});
	assert_int_equal(script_takes_credit(s, 0), 0);
	script_close(s);
}

/* covers: R75 */
SCRIPT_TEST(preface_and_settings_are_acknowledged)
{
	struct script *s = script_open_with(H2_SERVER, &silent);
	assert_false(h2_peer_settings_came(s->conn));
	script_clears(s);
	script_sends_preface(s);
	script_expects_nothing(s);
	script_sends_settings(s, SCRIPT_WINDOW, 1000, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_expects_event(s, SESSION_EVENT_READY, 0);
	assert_true(h2_peer_settings_came(s->conn));
	assert_int_equal(h2_peer_settings(s->conn)->initial_window_size, 1000);
	assert_false(h2_settings_acknowledged(s->conn));
	script_sends_settings_ack(s);
	script_expects_no_frame(s);
	assert_true(h2_settings_acknowledged(s->conn));
	script_close(s);
}

SCRIPT_TEST(requests_may_come_before_the_acknowledgement)
{
	struct script *s = script_open_with(H2_SERVER, &(struct script_options){.no_ack = true});
	script_sends_get(s, 1);
	script_expects_head(s, 1, true);
	script_close(s);
}

SCRIPT_TEST(client_may_request_before_the_servers_settings)
{
	struct script *s = script_open_with(H2_CLIENT, &silent);
	script_clears(s);
	assert_int_not_equal(session_request_room(s->conn), 0);
	assert_int_equal(script_gets(s), 1);
	script_expects_frame(s, H2_HEADERS, 1);
	script_close(s);
}

SCRIPT_TEST(wrong_preface_is_protocol_error)
{
	static const char *const wrong[] = {"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
	    "PRI * HTTP/2.0\r\n\r\nSM\r\n\rx", "PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n",
	    "XRI * HTTP/2.0\r\n"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct script *s = script_open_with(H2_SERVER, &silent);
		script_clears(s);
		script_sends_bytes(s, wrong[i], strlen(wrong[i]));
		expects_failed(s, SESSION_PROTOCOL_ERROR);
		script_close(s);
	}
}

SCRIPT_TEST(each_wrong_byte_of_the_preface_is_noticed)
{
	for (size_t i = 0; i < H2_PREFACE_LEN; i++) {
		char preface[H2_PREFACE_LEN];
		memcpy(preface, H2_PREFACE, H2_PREFACE_LEN);
		preface[i] ^= 0x20;
		struct script *s = script_open_with(H2_SERVER, &silent);
		script_sends_bytes(s, preface, H2_PREFACE_LEN);
		expects_failed(s, SESSION_PROTOCOL_ERROR);
		script_close(s);
	}
}

SCRIPT_TEST(first_frame_of_a_client_must_be_settings)
{
	struct script *s = script_open_with(H2_SERVER, &silent);
	script_clears(s);
	script_sends_preface(s);
	script_sends_get(s, 1);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

SCRIPT_TEST(first_frame_of_a_server_must_be_settings)
{
	static const struct {
		uint8_t type, length;
		uint32_t id;
	} frames[] = {{H2_DATA, 8, 1}, {H2_HEADERS, 8, 1}, {H2_PRIORITY, 5, 1},
	    {H2_RST_STREAM, 4, 1}, {H2_PUSH_PROMISE, 8, 1}, {H2_PING, 8, 0}, {H2_GOAWAY, 8, 0},
	    {H2_WINDOW_UPDATE, 4, 0}, {H2_CONTINUATION, 8, 1}};
	for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
		struct script *s = script_open_with(H2_CLIENT, &silent);
		script_clears(s);
		script_sends_raw(s, frames[i].type, 0, frames[i].id, "\0\0\0\2\x82\x82\x82\x82",
		    frames[i].length);
		script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
		script_close(s);
	}
}

/* covers: R140 */
SCRIPT_TEST(answer_in_http1_is_no_preface_rather_than_too_large_a_frame)
{
	static const char *const words[] = {
	    "HTTP/1.1 400 Bad Request\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct script *s = script_open_with(H2_CLIENT, &silent);
		script_clears(s);
		script_sends_bytes(s, words[i], 9);
		struct script_event *e = script_expects_event(s, SESSION_EVENT_FAILED, 0);
		assert_string_equal(e->fault->name, "first-frame-not-settings");
		assert_int_equal(e->fault->code, SESSION_PROTOCOL_ERROR);
		script_close(s);
	}
}

SCRIPT_TEST(first_settings_must_not_be_an_acknowledgement)
{
	struct script *s = script_open_with(H2_CLIENT, &silent);
	script_clears(s);
	script_sends_settings_ack(s);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

SCRIPT_TEST(everything_in_one_piece_is_understood)
{
	struct script *s = script_open_with(H2_SERVER, &silent);
	script_clears(s);
	s->glue = true;
	script_sends_preface(s);
	script_sends_settings(s, SCRIPT_SETTINGS_END);
	script_sends_settings_ack(s);
	script_sends_get(s, 1);
	script_sends_post(s, 3);
	script_sends_data(s, 3, 0, 100);
	script_sends_data(s, 3, H2_END_STREAM, 10);
	script_sends_ping(s, 1);
	script_delivers(s);
	script_expects_event(s, SESSION_EVENT_READY, 0);
	script_expects_head(s, 1, true);
	script_expects_head(s, 3, false);
	script_expects_data(s, 3, 110, true);
	script_expects_settings_ack(s);
	assert_int_equal(script_expects_frame(s, H2_PING, 0)->flags, H2_ACK);
	script_expects_alive(s);
	script_close(s);
}

SCRIPT_TEST(end_of_transport_before_anything_is_failure_without_fault)
{
	for (int role = 0; role < 2; role++) {
		struct script *s = script_open_with((enum h2_role)role, &silent);
		script_eof(s);
		struct script_event *e = script_expects_event(s, SESSION_EVENT_FAILED, 0);
		assert_null(e->fault);
		script_close(s);
	}
}

SCRIPT_TEST(end_of_transport_inside_a_frame_is_failure)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_frame_header(s, 100, H2_HEADERS, H2_END_HEADERS, 1);
	script_eof(s);
	script_expects_event(s, SESSION_EVENT_FAILED, 0);
	script_close(s);
}

SCRIPT_TEST(all_input_after_failure_is_ignored)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_get(s, 2);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_sends_get(s, 1);
	script_sends_ping(s, 5);
	script_sends_bytes(s, "garbage that is no frame at all", 31);
	script_expects_nothing(s);
	script_eof(s);
	script_expects_nothing(s);
	script_close(s);
}

SCRIPT_TEST(no_request_after_failure_and_none_from_a_server)
{
	struct script *s = script_open(H2_SERVER);
	assert_int_equal(session_request_room(s->conn), 0);
	script_close(s);
	s = script_open(H2_CLIENT);
	script_sends_raw(s, H2_DATA, 0, 0, "x", 1);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	assert_int_equal(session_request_room(s->conn), 0);
	assert_int_equal(script_gets(s), 0);
	script_expects_nothing(s);
	script_close(s);
}

SCRIPT_TEST(commands_after_failure_do_nothing)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_data(s, 1, 0, 10);
	script_expects_data(s, 1, 10, false);
	script_sends_get(s, 3);
	script_expects_head(s, 3, true);
	assert_true(script_responds(s, 3, false, "200"));
	script_clears(s);
	script_sends_get(s, 2);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	assert_false(script_responds(s, 1, false, "200"));
	assert_false(script_trails(s, 3));
	script_credits(s, 1, 10);
	assert_int_equal(script_promises(s, 1, "/x"), 0);
	script_offers(s, 1, 5, true);
	assert_false(session_ping(s->conn, s->now));
	session_shutdown(s->conn, s->now);
	script_expects_nothing(s);
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_nothing(s);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(server_sends_settings_before_it_has_heard_anything),
	    cmocka_unit_test(client_sends_preface_and_settings_at_once),
	    cmocka_unit_test(first_settings_carry_the_local_values),
	    cmocka_unit_test(server_never_announces_enable_push),
	    cmocka_unit_test(client_that_refuses_pushes_says_so),
	    cmocka_unit_test(connection_window_is_raised_at_once),
	    cmocka_unit_test(connection_window_of_65535_needs_no_update),
	    cmocka_unit_test(preface_and_settings_are_acknowledged),
	    cmocka_unit_test(requests_may_come_before_the_acknowledgement),
	    cmocka_unit_test(client_may_request_before_the_servers_settings),
	    cmocka_unit_test(wrong_preface_is_protocol_error),
	    cmocka_unit_test(each_wrong_byte_of_the_preface_is_noticed),
	    cmocka_unit_test(first_frame_of_a_client_must_be_settings),
	    cmocka_unit_test(first_frame_of_a_server_must_be_settings),
	    cmocka_unit_test(answer_in_http1_is_no_preface_rather_than_too_large_a_frame),
	    cmocka_unit_test(first_settings_must_not_be_an_acknowledgement),
	    cmocka_unit_test(everything_in_one_piece_is_understood),
	    cmocka_unit_test(end_of_transport_before_anything_is_failure_without_fault),
	    cmocka_unit_test(end_of_transport_inside_a_frame_is_failure),
	    cmocka_unit_test(all_input_after_failure_is_ignored),
	    cmocka_unit_test(no_request_after_failure_and_none_from_a_server),
	    cmocka_unit_test(commands_after_failure_do_nothing),
	};
	return SCRIPT_RUN(tests);
}
