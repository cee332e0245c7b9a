/* SPDX-License-Identifier: MIT */
/* Tunnels: the extended CONNECT and its setting (RFC 8441), the stream of a CONNECT (RFC 9113 8.5). */
#include "tests/support/h2_script.h"

#define WEBSOCKET                                                                                  \
	":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority",          \
	    "example.org", ":path", "/chat"

/* ---- the server ---- */

static struct script *taking_tunnels(void)
{
	struct h2_settings local = h2_settings_initial;
	local.enable_connect_protocol = 1;
	return script_open_with(H2_SERVER, &(struct script_options){.local = &local});
}

/* Stream 1 of a server that has answered with 200. */
static struct script *with_a_tunnel(void)
{
	struct script *s = taking_tunnels();
	script_sends_headers(s, 1, 0, WEBSOCKET, NULL);
	script_expects_head(s, 1, false);
	assert_true(script_responds(s, 1, false, "200"));
	script_expects_frame(s, H2_HEADERS, 1);
	return s;
}

static void refused(struct script *s)
{
	script_expects_stream_error(s, 1, SESSION_PROTOCOL_ERROR);
	script_sends_get(s, 3);
	script_expects_head(s, 3, true);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R391 */
SCRIPT_TEST(the_setting_is_announced_only_where_it_is_wanted)
{
	struct h2_settings local = h2_settings_initial;
	local.enable_connect_protocol = 1;
	struct script *s = script_open_with(
	    H2_SERVER, &(struct script_options){.local = &local, .silent = true});
	struct script_frame *f = script_expects_frame(s, H2_SETTINGS, 0);
	assert_int_equal(f->length, 6);
	assert_memory_equal(f->payload, "\0\x08\0\0\0\1", 6);
	script_close(s);
	s = script_open_with(H2_SERVER, &(struct script_options){.silent = true});
	assert_int_equal(script_expects_frame(s, H2_SETTINGS, 0)->length, 0);
	script_close(s);
}

/* covers: R392 */
SCRIPT_TEST(an_extended_connect_is_a_request_with_a_protocol)
{
	struct script *s = taking_tunnels();
	script_sends_headers(s, 1, 0, WEBSOCKET, "sec-websocket-version", "13", NULL);
	const struct http_head *head = script_expects_head(s, 1, false)->head;
	assert_int_equal(head->method_token, HTTP_METHOD_CONNECT);
	assert_true(slice_equal(head->protocol, SLICE("websocket")));
	assert_true(slice_equal(head->scheme, SLICE("https")));
	assert_true(slice_equal(head->authority, SLICE("example.org")));
	assert_true(slice_equal(head->path, SLICE("/chat")));
	assert_int_equal(head->count, 1);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R392 */
SCRIPT_TEST(without_the_setting_it_is_malformed)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_headers(s, 1, 0, WEBSOCKET, NULL);
	refused(s);
}

/* covers: R392 */
SCRIPT_TEST(a_protocol_belongs_to_connect_alone)
{
	struct script *s = taking_tunnels();
	script_sends_headers(s, 1, H2_END_STREAM, ":method", "GET", ":protocol", "websocket",
	    ":scheme", "https", ":authority", "a", ":path", "/", NULL);
	refused(s);
}

/* A plain CONNECT stays what it was. */
SCRIPT_TEST(the_setting_changes_nothing_about_a_plain_connect)
{
	struct script *s = taking_tunnels();
	script_sends_headers(s, 1, 0, ":method", "CONNECT", ":authority", "a:443", NULL);
	assert_int_equal(script_expects_head(s, 1, false)->head->protocol.len, 0);
	script_close(s);
	s = taking_tunnels();
	script_sends_headers(
	    s, 1, 0, ":method", "CONNECT", ":authority", "a:443", ":path", "/", NULL);
	refused(s);
}

/* A content-length says nothing here, and the next hop could take it for framing. covers: R393 */
SCRIPT_TEST(its_content_length_is_taken_out)
{
	struct script *s = taking_tunnels();
	script_sends_headers(s, 1, 0, WEBSOCKET, "content-length", "3", "x-a", "1", NULL);
	const struct http_head *head = script_expects_head(s, 1, false)->head;
	assert_int_equal(head->count, 1);
	assert_int_equal(head->content_length, HTTP_LENGTH_UNKNOWN);
	script_sends_data(s, 1, 0, 100);
	script_expects_data(s, 1, 100, false);
	script_sends_data(s, 1, H2_END_STREAM, 0);
	script_expects_data(s, 1, 0, true);
	script_close(s);
}

/* covers: R393 */
SCRIPT_TEST(each_direction_ends_by_itself)
{
	struct script *s = with_a_tunnel();
	script_sends_data(s, 1, H2_END_STREAM, 7);
	script_expects_data(s, 1, 7, true);
	script_offers(s, 1, 10, false);
	script_expects_body(s, 1, 10, false);
	script_expects_no_event(s);
	script_offers(s, 1, 3, true);
	script_expects_body(s, 1, 3, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_close(s);
	s = with_a_tunnel();
	script_offers(s, 1, 10, true);
	script_expects_body(s, 1, 10, true);
	script_expects_no_event(s);
	script_sends_data(s, 1, 0, 4);
	script_expects_data(s, 1, 4, false);
	script_sends_data(s, 1, H2_END_STREAM, 0);
	script_expects_data(s, 1, 0, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_close(s);
}

/* Before the answer too: a CONNECT has no content that trailers could follow. covers: R394 */
SCRIPT_TEST(trailers_of_a_connect_are_malformed)
{
	for (int answered = 0; answered < 2; answered++)
		for (unsigned end = 0; end < 2; end++) {
			struct script *s = taking_tunnels();
			script_sends_headers(s, 1, 0, WEBSOCKET, NULL);
			script_expects_head(s, 1, false);
			if (answered)
				assert_true(script_responds(s, 1, false, "200"));
			if (answered)
				script_expects_frame(s, H2_HEADERS, 1);
			script_sends_headers(s, 1, end ? H2_END_STREAM : 0, "x-t", "1", NULL);
			refused(s);
		}
}

/* covers: R394 */
SCRIPT_TEST(frames_of_stream_management_may_come)
{
	struct script *s = with_a_tunnel();
	script_sends_priority(s, 1, 0);
	script_sends_window_update(s, 1, 100);
	script_sends_raw(s, 0xbe, 0, 1, "x", 1);
	script_expects_nothing(s);
	script_sends_rst(s, 1, SESSION_CANCEL);
	assert_int_equal(script_expects_event(s, SESSION_EVENT_RESET, 1)->code, SESSION_CANCEL);
	script_close(s);
}

/* covers: R395 */
SCRIPT_TEST(our_end_of_a_tunnel_is_data_whatever_the_owner_calls_it)
{
	struct script *s = with_a_tunnel();
	assert_true(script_trails(s, 1));
	struct script_frame *f = script_expects_frame(s, H2_DATA, 1);
	assert_int_equal(f->length, 0);
	assert_int_equal(f->flags, H2_END_STREAM);
	script_sends_data(s, 1, H2_END_STREAM, 2);
	script_expects_data(s, 1, 2, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R395 */
SCRIPT_TEST(nothing_is_promised_in_a_tunnel)
{
	struct script *s = taking_tunnels();
	script_sends_headers(s, 1, 0, WEBSOCKET, NULL);
	script_expects_head(s, 1, false);
	assert_int_equal(h2_may_promise(s->conn, script_handle(s, 1)), H2_PROMISE_POSSIBLE);
	assert_true(script_responds(s, 1, false, "200"));
	script_expects_frame(s, H2_HEADERS, 1);
	assert_int_equal(h2_may_promise(s->conn, script_handle(s, 1)), H2_PROMISE_PARENT_CLOSED);
	assert_int_equal(script_promises(s, 1, "/a"), 0);
	script_expects_nothing(s);
	script_close(s);
}

/* A refused one is an answer like any other. */
SCRIPT_TEST(a_refusal_may_have_trailers)
{
	struct script *s = taking_tunnels();
	script_sends_headers(s, 1, 0, WEBSOCKET, NULL);
	script_expects_head(s, 1, false);
	assert_true(script_responds(s, 1, false, "403"));
	script_expects_frame(s, H2_HEADERS, 1);
	assert_true(script_trails(s, 1));
	assert_int_equal(script_expects_frame(s, H2_HEADERS, 1)->flags & H2_END_STREAM, H2_END_STREAM);
	script_sends_data(s, 1, 0, 5);
	script_expects_data(s, 1, 5, false);
	script_close(s);
}

/* ---- the client ---- */

static const uint32_t tunnels_taken[] = {SCRIPT_CONNECT_PROTOCOL, 1, 0};

/* Stream 1 asks for a tunnel, stream 3 is a GET. */
static struct script *asking(void)
{
	struct script *s =
	    script_open_with(H2_CLIENT, &(struct script_options){.settings = tunnels_taken});
	struct http_head *head = script_head(s, HTTP_REQUEST, WEBSOCKET, NULL);
	struct session_stream *handle = session_request(s->conn, head, false, NULL);
	http_head_free(head);
	assert_non_null(handle);
	script_stream(s, 1)->handle = handle;
	script_stream(s, 1)->announced = true;
	script_expects_fields(s, script_expects_frame(s, H2_HEADERS, 1),
	    ":method: CONNECT\n:scheme: https\n:authority: example.org\n:path: /chat\n"
	    ":protocol: websocket\n");
	assert_int_equal(script_gets(s), 3);
	script_expects_frame(s, H2_HEADERS, 3);
	return s;
}

static struct script *answered(void)
{
	struct script *s = asking();
	script_sends_ok(s, 1, 0);
	script_expects_head(s, 1, false);
	return s;
}

/* RFC 8441 3. covers: R399 */
SCRIPT_TEST(a_request_with_a_protocol_fits_once_the_server_has_said_so)
{
	struct script *s = script_open(H2_CLIENT);
	struct http_head *tunnel = script_head(s, HTTP_REQUEST, WEBSOCKET, NULL);
	struct http_head *plain =
	    script_head(s, HTTP_REQUEST, ":method", "CONNECT", ":authority", "a:443", NULL);
	assert_int_equal(session_request_fits(s->conn, tunnel, false), SESSION_NO_TUNNEL);
	assert_int_equal(session_request_fits(s->conn, plain, false), SESSION_FITS);
	script_sends_settings(s, SCRIPT_CONNECT_PROTOCOL, 1, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	assert_int_equal(session_request_fits(s->conn, tunnel, false), SESSION_FITS);
	assert_int_equal(session_request_fits(s->conn, plain, false), SESSION_FITS);
	http_head_free(tunnel);
	http_head_free(plain);
	script_close(s);
}

static void only_the_tunnel_is_lost(struct script *s)
{
	script_expects_stream_error(s, 1, SESSION_PROTOCOL_ERROR);
	script_sends_ok(s, 3, H2_END_STREAM);
	script_expects_head(s, 3, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 3);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R396 */
SCRIPT_TEST(the_setting_is_0_or_1)
{
	static const enum h2_role roles[] = {H2_SERVER, H2_CLIENT};
	for (size_t i = 0; i < 2; i++) {
		struct script *s = script_open(roles[i]);
		script_sends_settings(s, SCRIPT_CONNECT_PROTOCOL, 1, SCRIPT_SETTINGS_END);
		script_expects_settings_ack(s);
		assert_int_equal(h2_peer_settings(s->conn)->enable_connect_protocol, 1);
		script_close(s);
		s = script_open(roles[i]);
		script_sends_settings(s, SCRIPT_CONNECT_PROTOCOL, 2, SCRIPT_SETTINGS_END);
		script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
		script_close(s);
	}
}

/* covers: R396 */
SCRIPT_TEST(a_server_does_not_take_it_back)
{
	struct script *s =
	    script_open_with(H2_CLIENT, &(struct script_options){.settings = tunnels_taken});
	script_sends_settings(s, SCRIPT_CONNECT_PROTOCOL, 1, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_clears(s);
	script_sends_settings(s, SCRIPT_CONNECT_PROTOCOL, 0, SCRIPT_SETTINGS_END);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	assert_string_equal(s->events[s->events_tail - 1]->fault->name,
	    "settings-connect-protocol-withdrawn");
	script_close(s);
	/* Nor within one frame. */
	s = script_open(H2_CLIENT);
	script_sends_settings(
	    s, SCRIPT_CONNECT_PROTOCOL, 1, SCRIPT_CONNECT_PROTOCOL, 0, SCRIPT_SETTINGS_END);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
	/* It may say 0 as often as it likes before. */
	s = script_open(H2_CLIENT);
	script_sends_settings(
	    s, SCRIPT_CONNECT_PROTOCOL, 0, SCRIPT_CONNECT_PROTOCOL, 1, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_close(s);
}

/* What a client says of it has no effect (RFC 8441 3). */
SCRIPT_TEST(a_client_may_say_what_it_likes)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_settings(
	    s, SCRIPT_CONNECT_PROTOCOL, 1, SCRIPT_CONNECT_PROTOCOL, 0, SCRIPT_SETTINGS_END);
	script_expects_settings_ack(s);
	script_clears(s);
	script_sends_headers(s, 1, 0, WEBSOCKET, NULL);
	refused(s);
}

/* covers: R397 */
SCRIPT_TEST(an_answer_of_2xx_opens_the_tunnel)
{
	struct script *s = asking();
	script_sends_headers(s, 1, 0, ":status", "103", NULL);
	assert_false(script_expects_head(s, 1, false)->head->opens_tunnel);
	script_sends_headers(s, 1, 0, ":status", "299", "content-length", "0", "x-a", "1", NULL);
	const struct http_head *head = script_expects_head(s, 1, false)->head;
	assert_true(head->opens_tunnel);
	char text[1024];
	session_describe(s->conn, text, sizeof(text));
	assert_non_null(strstr(text, "  s1 open tunnel u=3"));
	assert_int_equal(head->count, 1);
	assert_int_equal(head->content_length, HTTP_LENGTH_UNKNOWN);
	script_sends_data(s, 1, 0, 9);
	script_expects_data(s, 1, 9, false);
	script_offers(s, 1, 10, true);
	script_expects_body(s, 1, 10, true);
	script_sends_data(s, 1, H2_END_STREAM, 0);
	script_expects_data(s, 1, 0, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_close(s);
}

/* covers: R397 */
SCRIPT_TEST(any_other_answer_opens_none)
{
	static const char *const statuses[] = {"302", "403", "500"};
	for (size_t i = 0; i < 3; i++) {
		struct script *s = asking();
		script_sends_headers(
		    s, 1, 0, ":status", statuses[i], "content-length", "2", NULL);
		const struct http_head *head = script_expects_head(s, 1, false)->head;
		assert_false(head->opens_tunnel);
		assert_int_equal(head->content_length, 2);
		script_sends_data(s, 1, 0, 2);
		script_expects_data(s, 1, 2, false);
		script_sends_headers(s, 1, H2_END_STREAM, "x-t", "1", NULL);
		script_expects_event(s, SESSION_EVENT_TRAILERS, 1);
		script_close(s);
	}
}

SCRIPT_TEST(an_answer_to_anything_else_opens_none)
{
	struct script *s = asking();
	script_sends_ok(s, 3, 0);
	assert_false(script_expects_head(s, 3, false)->head->opens_tunnel);
	script_close(s);
}

/* covers: R395 */
SCRIPT_TEST(the_end_of_a_request_for_a_tunnel_is_data)
{
	for (int is_answered = 0; is_answered < 2; is_answered++) {
		struct script *s = is_answered ? answered() : asking();
		assert_true(script_trails(s, 1));
		assert_int_equal(script_expects_frame(s, H2_DATA, 1)->flags, H2_END_STREAM);
		script_expects_nothing(s);
		script_close(s);
	}
}

/* covers: R398 */
SCRIPT_TEST(headers_in_a_tunnel_of_ours_are_malformed)
{
	struct script *s = answered();
	script_sends_headers(s, 1, H2_END_STREAM, "x-t", "1", NULL);
	only_the_tunnel_is_lost(s);
	s = answered();
	script_sends_headers(s, 1, 0, ":status", "200", NULL);
	only_the_tunnel_is_lost(s);
}

/* covers: R398 */
SCRIPT_TEST(a_promise_in_a_tunnel_is_malformed)
{
	struct script *s = answered();
	script_sends_good_promise(s, 1, 2);
	script_expects_rst(s, 2, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_PROTOCOL_ERROR);
	assert_string_equal(
	    script_expects_event(s, SESSION_EVENT_RESET, 1)->fault->name, "promise-in-tunnel");
	/* The promised response crosses our reset, and costs nothing. */
	script_sends_ok(s, 2, H2_END_STREAM);
	script_sends_ok(s, 3, H2_END_STREAM);
	script_expects_head(s, 3, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 3);
	script_expects_alive(s);
	script_close(s);
}

SCRIPT_TEST(a_promise_before_the_answer_is_one_like_any_other)
{
	struct script *s = asking();
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_expects_nothing(s);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_setting_is_announced_only_where_it_is_wanted),
	    cmocka_unit_test(an_extended_connect_is_a_request_with_a_protocol),
	    cmocka_unit_test(without_the_setting_it_is_malformed),
	    cmocka_unit_test(a_protocol_belongs_to_connect_alone),
	    cmocka_unit_test(the_setting_changes_nothing_about_a_plain_connect),
	    cmocka_unit_test(its_content_length_is_taken_out),
	    cmocka_unit_test(each_direction_ends_by_itself),
	    cmocka_unit_test(trailers_of_a_connect_are_malformed),
	    cmocka_unit_test(frames_of_stream_management_may_come),
	    cmocka_unit_test(our_end_of_a_tunnel_is_data_whatever_the_owner_calls_it),
	    cmocka_unit_test(nothing_is_promised_in_a_tunnel),
	    cmocka_unit_test(a_refusal_may_have_trailers),
	    cmocka_unit_test(the_setting_is_0_or_1),
	    cmocka_unit_test(a_server_does_not_take_it_back),
	    cmocka_unit_test(a_client_may_say_what_it_likes),
	    cmocka_unit_test(a_request_with_a_protocol_fits_once_the_server_has_said_so),
	    cmocka_unit_test(an_answer_of_2xx_opens_the_tunnel),
	    cmocka_unit_test(any_other_answer_opens_none),
	    cmocka_unit_test(an_answer_to_anything_else_opens_none),
	    cmocka_unit_test(the_end_of_a_request_for_a_tunnel_is_data),
	    cmocka_unit_test(headers_in_a_tunnel_of_ours_are_malformed),
	    cmocka_unit_test(a_promise_in_a_tunnel_is_malformed),
	    cmocka_unit_test(a_promise_before_the_answer_is_one_like_any_other),
	};
	return SCRIPT_RUN(tests);
}
