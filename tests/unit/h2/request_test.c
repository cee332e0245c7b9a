/* SPDX-License-Identifier: MIT */
/* Requests that a client sends, well formed and not: RFC 9113 8.1, 8.2, 8.3, 8.5. */
#include "tests/support/h2_script.h"

#define URI ":scheme", "https", ":authority", "example.org", ":path", "/"
#define GET ":method", "GET", URI

/* The stream is lost, the connection and the compression state are not. */
static void only_the_stream_is_lost(struct script *s, uint32_t id)
{
	script_expects_stream_error(s, id, SESSION_PROTOCOL_ERROR);
	script_sends_get(s, id + 2);
	script_expects_head(s, id + 2, true);
	script_expects_nothing(s);
	script_close(s);
}

#define MALFORMED(...)                                                                             \
	do {                                                                                       \
		struct script *malformed_ = script_open(H2_SERVER);                                \
		script_sends_headers(malformed_, 1, H2_END_STREAM, __VA_ARGS__, NULL);             \
		only_the_stream_is_lost(malformed_, 1);                                            \
	} while (0)

#define WELL_FORMED(...)                                                                           \
	do {                                                                                       \
		struct script *fine_ = script_open(H2_SERVER);                                     \
		script_sends_headers(fine_, 1, H2_END_STREAM, __VA_ARGS__, NULL);                  \
		script_expects_head(fine_, 1, true);                                               \
		script_expects_nothing(fine_);                                                     \
		script_close(fine_);                                                               \
	} while (0)

/* covers: R68 */
SCRIPT_TEST(request_is_delivered_as_it_was_sent)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_headers(s, 1, H2_END_STREAM, GET, "cookie", "a=1", "x-a", "1", "cookie", "b=2",
	    "x-a", "", "accept", "*/*", "x-a", "3", NULL);
	struct script_event *e = script_expects_head(s, 1, true);
	assert_int_equal(e->head->kind, HTTP_REQUEST);
	assert_int_equal(e->head->method_token, HTTP_METHOD_GET);
	assert_int_equal(e->head->count, 6);
	assert_true(slice_equal(e->head->fields[3].value, SLICE("")));
	assert_true(slice_equal(e->head->fields[5].value, SLICE("3")));
	assert_null(e->user);
	script_close(s);
}

/* covers: R68 */
SCRIPT_TEST(unusual_but_correct_requests_are_accepted)
{
	WELL_FORMED(
	    ":method", "OPTIONS", ":scheme", "https", ":authority", "example.org", ":path", "*");
	WELL_FORMED(
	    ":path", "/", ":authority", "example.org", ":scheme", "https", ":method", "GET");
	WELL_FORMED(":method", "FROB", URI);
	WELL_FORMED(":method", "CONNECT", ":authority", "example.org:443");
	WELL_FORMED(GET, "te", "trailers");
	WELL_FORMED(GET, "host", "example.org");
	WELL_FORMED(":method", "GET", ":scheme", "https", ":path", "/", "host", "example.org");
	WELL_FORMED(GET, "content-length", "0");
	WELL_FORMED(
	    ":method", "GET", ":scheme", "https", ":authority", "[::1]:8443", ":path", "/?");
	WELL_FORMED(":method", "GET", ":scheme", "https", ":authority", "a", ":path",
	    "/a/../b//c?x=/y&z=%00");
}

/* covers: R77 */
SCRIPT_TEST(pseudo_fields_missing_doubled_or_empty)
{
	MALFORMED(URI);
	MALFORMED(":method", "GET", ":authority", "a", ":path", "/");
	MALFORMED(":method", "GET", ":scheme", "https", ":authority", "a");
	MALFORMED(GET, ":method", "GET");
	MALFORMED(GET, ":scheme", "https");
	MALFORMED(GET, ":authority", "example.org");
	MALFORMED(GET, ":path", "/");
	MALFORMED(":method", "", URI);
	MALFORMED(":method", "GET", ":scheme", "https", ":authority", "a", ":path", "");
	MALFORMED("x-only", "fields");
}

/* covers: R77 */
SCRIPT_TEST(pseudo_fields_unknown_misplaced_or_of_a_response)
{
	MALFORMED(GET, ":status", "200");
	MALFORMED(GET, ":frob", "x");
	MALFORMED(GET, ":", "x");
	MALFORMED(
	    ":method", "GET", ":scheme", "https", ":authority", "a", "accept", "*/*", ":path", "/");
	MALFORMED("accept", "*/*", GET);
}

/* covers: R77 */
SCRIPT_TEST(path_must_start_with_a_slash)
{
	MALFORMED(":method", "GET", ":scheme", "https", ":authority", "a", ":path", "x");
	MALFORMED(":method", "GET", ":scheme", "https", ":authority", "a", ":path", "*");
	MALFORMED(":method", "GET", ":scheme", "https", ":authority", "a", ":path", "https://a/");
	MALFORMED(":method", "GET", ":scheme", "https", ":authority", "a", ":path", "/a b");
}

SCRIPT_TEST(connect_has_method_and_authority_alone)
{
	MALFORMED(":method", "CONNECT", ":authority", "a:443", ":path", "/");
	MALFORMED(":method", "CONNECT", ":authority", "a:443", ":scheme", "https");
	MALFORMED(":method", "CONNECT");
	MALFORMED(":method", "CONNECT", URI);
}

/* covers: R77 */
SCRIPT_TEST(authority_is_one_and_agrees_with_host)
{
	MALFORMED(":method", "GET", ":scheme", "https", ":authority", "user@a", ":path", "/");
	MALFORMED(":method", "GET", ":scheme", "https", ":authority", "a b", ":path", "/");
	MALFORMED(GET, "host", "other.example");
	MALFORMED(GET, "host", "example.org", "host", "other.example");
}

/* covers: R77 */
SCRIPT_TEST(fields_of_one_connection_are_malformed)
{
	MALFORMED(GET, "connection", "close");
	MALFORMED(GET, "connection", "keep-alive");
	MALFORMED(GET, "keep-alive", "1");
	MALFORMED(GET, "proxy-connection", "keep-alive");
	MALFORMED(GET, "transfer-encoding", "chunked");
	MALFORMED(GET, "upgrade", "websocket");
	MALFORMED(GET, "te", "trailers, gzip");
	MALFORMED(GET, "te", "gzip");
}

/* covers: R77 */
SCRIPT_TEST(names_are_lower_case_tokens)
{
	MALFORMED(GET, "X-Upper", "v");
	MALFORMED(GET, "x-uppeR", "v");
	MALFORMED(GET, "x y", "v");
	MALFORMED(GET, "x\tz", "v");
	MALFORMED(GET, "x:y", "v");
	MALFORMED(GET, "x(y", "v");
	MALFORMED(GET, "x\"y", "v");
	MALFORMED(GET, "x\177", "v");
	MALFORMED(GET, "x\200", "v");
	MALFORMED(GET, "", "v");
}

/* covers: R77 */
SCRIPT_TEST(values_hold_no_controls_and_no_outer_whitespace)
{
	static const struct {
		const char *bytes;
		size_t length;
	} bad[] = {{"\r", 1}, {"\n", 1}, {"\0", 1}, {"a\rb", 3}, {"a\nb", 3}, {"a\0b", 3},
	    {"a\r\nb: c", 7}, {" a", 2}, {"a ", 2}, {"\ta", 2}, {"a\t", 2}, {" ", 1}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct script *s = script_open(H2_SERVER);
		uint8_t block[256];
		size_t n = script_encodes(s, block, 128, GET, NULL);
		n += script_literal(block + n, "x-a", 3, bad[i].bytes, bad[i].length);
		script_sends_raw(s, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 1, block, n);
		only_the_stream_is_lost(s, 1);
	}
	WELL_FORMED(GET, "x-a", "inner \t blanks", "x-b", "\303\244", "x-c",
	    "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~");
}

/* covers: R77 */
SCRIPT_TEST(content_length_is_one_number)
{
	MALFORMED(":method", "POST", URI, "content-length", "x");
	MALFORMED(":method", "POST", URI, "content-length", "-1");
	MALFORMED(":method", "POST", URI, "content-length", "+1");
	MALFORMED(":method", "POST", URI, "content-length", "");
	MALFORMED(":method", "POST", URI, "content-length", "0x0");
	MALFORMED(":method", "POST", URI, "content-length", "0", "content-length", "1");
	MALFORMED(":method", "POST", URI, "content-length", "99999999999999999999");
}

/* RFC 8441 4: only where SETTINGS_ENABLE_CONNECT_PROTOCOL was announced (tunnel_test.c). */
SCRIPT_TEST(protocol_pseudo_field_is_malformed)
{
	MALFORMED(":method", "CONNECT", ":protocol", "websocket", URI);
	MALFORMED(GET, ":protocol", "websocket");
}

SCRIPT_TEST(connect_carries_data_both_ways)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_headers(s, 1, 0, ":method", "CONNECT", ":authority", "example.org:443", NULL);
	struct script_event *e = script_expects_head(s, 1, false);
	assert_int_equal(e->head->method_token, HTTP_METHOD_CONNECT);
	assert_true(slice_equal(e->head->authority, SLICE("example.org:443")));
	script_responds(s, 1, false, "200");
	script_offers(s, 1, 10, false);
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_body(s, 1, 10, false);
	script_sends_data(s, 1, 0, 5);
	script_expects_data(s, 1, 5, false);
	script_sends_data(s, 1, H2_END_STREAM, 5);
	script_expects_data(s, 1, 5, true);
	script_offers(s, 1, 3, true);
	script_expects_body(s, 1, 3, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_close(s);
}

/* ---- bodies (8.1.1) ---- */

static struct script *posting(const char *length)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_headers(s, 1, 0, ":method", "POST", URI, "content-length", length, NULL);
	struct script_event *e = script_expects_head(s, 1, false);
	assert_int_not_equal(e->head->content_length, HTTP_LENGTH_UNKNOWN);
	return s;
}

/* covers: R69 R77 */
SCRIPT_TEST(body_as_long_as_content_length_is_fine)
{
	struct script *s = posting("10");
	script_sends_data(s, 1, 0, 4);
	script_expects_data(s, 1, 4, false);
	script_sends_padded_data(s, 1, 0, 6, 30);
	script_expects_data(s, 1, 6, false);
	script_sends_data(s, 1, H2_END_STREAM, 0);
	script_expects_data(s, 1, 0, true);
	script_close(s);
	s = posting("10");
	script_sends_data(s, 1, 0, 10);
	script_sends_headers(s, 1, H2_END_STREAM, "x-t", "1", NULL);
	script_expects_data(s, 1, 10, false);
	script_expects_event(s, SESSION_EVENT_TRAILERS, 1);
	script_close(s);
}

/* covers: R69 R77 */
SCRIPT_TEST(body_shorter_than_content_length_is_malformed)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_headers(
	    s, 1, H2_END_STREAM, ":method", "POST", URI, "content-length", "1", NULL);
	only_the_stream_is_lost(s, 1);
	s = posting("10");
	script_sends_data(s, 1, H2_END_STREAM, 0);
	only_the_stream_is_lost(s, 1);
	s = posting("10");
	script_sends_data(s, 1, 0, 9);
	script_expects_data(s, 1, 9, false);
	script_sends_headers(s, 1, H2_END_STREAM, "x-t", "1", NULL);
	only_the_stream_is_lost(s, 1);
}

/* covers: R69 R77 */
SCRIPT_TEST(last_bytes_of_a_short_body_never_come_with_an_end)
{
	struct script *s = posting("10");
	script_sends_data(s, 1, H2_END_STREAM, 9);
	script_pumps(s);
	while (s->events_head < s->events_tail && s->events[s->events_head]->kind == SESSION_EVENT_DATA)
		assert_false(s->events[s->events_head++]->end);
	only_the_stream_is_lost(s, 1);
}

/* covers: R69 R77 */
SCRIPT_TEST(body_longer_than_content_length_is_malformed)
{
	struct script *s = posting("10");
	script_sends_data(s, 1, 0, 10);
	script_expects_data(s, 1, 10, false);
	script_sends_data(s, 1, 0, 1);
	only_the_stream_is_lost(s, 1);
	s = posting("0");
	script_sends_data(s, 1, H2_END_STREAM, 1);
	only_the_stream_is_lost(s, 1);
}

/* ---- trailers ---- */

/* covers: R67 */
SCRIPT_TEST(trailers_end_the_request)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_headers(s, 1, H2_END_STREAM, "x-checksum", "abc", "x-checksum", "", NULL);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_TRAILERS, 1);
	assert_int_equal(e->head->kind, HTTP_TRAILERS);
	assert_int_equal(e->head->count, 2);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R77 */
SCRIPT_TEST(malformed_trailers)
{
	static const char *const names[] = {":method", ":path", ":status", ":frob", "X-Upper",
	    "connection", "transfer-encoding", "x y", "content-length", "te"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct script *s = script_open(H2_SERVER);
		script_sends_post(s, 1);
		script_expects_head(s, 1, false);
		script_sends_headers(s, 1, H2_END_STREAM, "x-good", "1", names[i], "1", NULL);
		only_the_stream_is_lost(s, 1);
	}
}

SCRIPT_TEST(second_head_without_end_is_malformed)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_headers(s, 1, 0, "x-not", "trailers", NULL);
	only_the_stream_is_lost(s, 1);
}

SCRIPT_TEST(malformed_request_that_goes_on_is_reset_once)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_headers(s, 1, 0, URI, NULL);
	script_expects_stream_error(s, 1, SESSION_PROTOCOL_ERROR);
	script_sends_data(s, 1, 0, 100);
	script_sends_headers(s, 1, H2_END_STREAM, "x-t", "1", NULL);
	script_expects_alive(s);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request_is_delivered_as_it_was_sent),
	    cmocka_unit_test(unusual_but_correct_requests_are_accepted),
	    cmocka_unit_test(pseudo_fields_missing_doubled_or_empty),
	    cmocka_unit_test(pseudo_fields_unknown_misplaced_or_of_a_response),
	    cmocka_unit_test(path_must_start_with_a_slash),
	    cmocka_unit_test(connect_has_method_and_authority_alone),
	    cmocka_unit_test(authority_is_one_and_agrees_with_host),
	    cmocka_unit_test(fields_of_one_connection_are_malformed),
	    cmocka_unit_test(names_are_lower_case_tokens),
	    cmocka_unit_test(values_hold_no_controls_and_no_outer_whitespace),
	    cmocka_unit_test(content_length_is_one_number),
	    cmocka_unit_test(protocol_pseudo_field_is_malformed),
	    cmocka_unit_test(connect_carries_data_both_ways),
	    cmocka_unit_test(body_as_long_as_content_length_is_fine),
	    cmocka_unit_test(body_shorter_than_content_length_is_malformed),
	    cmocka_unit_test(last_bytes_of_a_short_body_never_come_with_an_end),
	    cmocka_unit_test(body_longer_than_content_length_is_malformed),
	    cmocka_unit_test(trailers_end_the_request),
	    cmocka_unit_test(malformed_trailers),
	    cmocka_unit_test(second_head_without_end_is_malformed),
	    cmocka_unit_test(malformed_request_that_goes_on_is_reset_once),
	};
	return SCRIPT_RUN(tests);
}
