/* SPDX-License-Identifier: MIT */
/* Responses that an origin sends, on requests and on pushes: RFC 9113 8.1, 8.1.1, 8.2, 8.3.2. */
#include "tests/support/h2_script.h"

/* A client with request 1 (GET, ended), request 3 beside it, and the push 2 on stream 1. */
static struct script *waiting_for(const char *method)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_requests(s, true, method, "/"), 1);
	assert_int_equal(script_gets(s), 3);
	script_clears(s);
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	return s;
}

static struct script *waiting(void)
{
	return waiting_for("GET");
}

static void only_the_stream_is_lost(struct script *s, uint32_t id)
{
	script_expects_stream_error(s, id, SESSION_PROTOCOL_ERROR);
	script_sends_ok(s, 3, H2_END_STREAM);
	script_expects_head(s, 3, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 3);
	script_expects_nothing(s);
	script_close(s);
}

#define MALFORMED(...)                                                                             \
	do {                                                                                       \
		for (uint32_t id_ = 1; id_ < 3; id_++) {                                           \
			struct script *malformed_ = waiting();                                     \
			script_sends_headers(malformed_, id_, 0, __VA_ARGS__, NULL);               \
			only_the_stream_is_lost(malformed_, id_);                                  \
		}                                                                                  \
	} while (0)

/* covers: R68 */
SCRIPT_TEST(response_is_delivered_as_it_was_sent)
{
	struct script *s = waiting();
	script_sends_headers(s, 1, 0, ":status", "206", "set-cookie", "a=1", "set-cookie", "b=2",
	    "x-empty", "", "content-length", "5", NULL);
	struct script_event *e = script_expects_head(s, 1, false);
	assert_int_equal(e->head->status, 206);
	assert_int_equal(e->head->kind, HTTP_RESPONSE);
	assert_int_equal(e->head->count, 4);
	assert_int_equal(e->head->content_length, 5);
	assert_ptr_equal(e->user, s); /* what script_requests gave to h2_request */
	script_close(s);
}

/* covers: R71 */
SCRIPT_TEST(status_is_one_three_digit_number)
{
	MALFORMED("server", "x");
	MALFORMED(":status", "200", ":status", "200");
	MALFORMED(":status", "");
	MALFORMED(":status", "20");
	MALFORMED(":status", "2000");
	MALFORMED(":status", "2x0");
	MALFORMED(":status", "099");
	MALFORMED(":status", "+20");
	MALFORMED(":status", " 200");
}

/* RFC 9113 8.6: there is no Switching Protocols in HTTP/2. */
/* covers: R71 */
SCRIPT_TEST(status_101_is_malformed)
{
	MALFORMED(":status", "101");
}

/* covers: R71 */
SCRIPT_TEST(pseudo_fields_of_a_request_unknown_or_misplaced)
{
	MALFORMED(":status", "200", ":method", "GET");
	MALFORMED(":status", "200", ":path", "/");
	MALFORMED(":status", "200", ":frob", "1");
	MALFORMED("server", "x", ":status", "200");
}

/* covers: R71 */
SCRIPT_TEST(response_fields_keep_http2_rules)
{
	MALFORMED(":status", "200", "Server", "x");
	MALFORMED(":status", "200", "connection", "close");
	MALFORMED(":status", "200", "transfer-encoding", "chunked");
	MALFORMED(":status", "200", "keep-alive", "5");
	MALFORMED(":status", "200", "upgrade", "h2c");
	MALFORMED(":status", "200", "x-a", "a\rb");
	MALFORMED(":status", "200", "x-a", "a\nb");
	MALFORMED(":status", "200", "x b", "v");
	MALFORMED(":status", "200", "x-a", " v");
}

/* covers: R71 */
SCRIPT_TEST(response_values_hold_no_nul)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		uint8_t block[128];
		size_t n = script_encodes(s, block, 64, ":status", "200", NULL);
		n += script_literal(block + n, "x-a", 3, "a\0b", 3);
		script_sends_raw(s, H2_HEADERS, H2_END_HEADERS, id, block, n);
		only_the_stream_is_lost(s, id);
	}
}

/* covers: R71 */
SCRIPT_TEST(differing_content_lengths_are_malformed)
{
	MALFORMED(":status", "200", "content-length", "1", "content-length", "2");
	MALFORMED(":status", "200", "content-length", "1,2");
	MALFORMED(":status", "200", "content-length", "x");
}

/* ---- interim responses ---- */

/* covers: R67 R45 */
SCRIPT_TEST(interim_responses_precede_the_final_one)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_headers(s, id, 0, ":status", "100", NULL);
		script_sends_headers(s, id, 0, ":status", "103", "link", "</a>", NULL);
		script_sends_headers(s, id, 0, ":status", "199", NULL);
		script_sends_ok(s, id, H2_END_STREAM);
		assert_int_equal(script_expects_head(s, id, false)->head->status, 100);
		assert_int_equal(script_expects_head(s, id, false)->head->status, 103);
		assert_int_equal(script_expects_head(s, id, false)->head->status, 199);
		assert_int_equal(script_expects_head(s, id, true)->head->status, 200);
		script_close(s);
	}
}

SCRIPT_TEST(interim_response_that_ends_the_stream_is_malformed)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_headers(s, id, H2_END_STREAM, ":status", "103", NULL);
		only_the_stream_is_lost(s, id);
	}
}

SCRIPT_TEST(data_after_an_interim_response_is_malformed)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_headers(s, id, 0, ":status", "103", NULL);
		script_expects_head(s, id, false);
		script_sends_data(s, id, 0, 5);
		only_the_stream_is_lost(s, id);
	}
}

/* covers: R70 */
SCRIPT_TEST(data_before_any_head_is_malformed)
{
	struct script *s = waiting();
	script_sends_data(s, 1, 0, 5);
	only_the_stream_is_lost(s, 1);
	s = waiting();
	script_sends_data(s, 1, H2_END_STREAM, 0);
	only_the_stream_is_lost(s, 1);
}

/* covers: R71 */
SCRIPT_TEST(second_final_head_is_malformed)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_ok(s, id, 0);
		script_expects_head(s, id, false);
		script_sends_ok(s, id, 0);
		only_the_stream_is_lost(s, id);
		s = waiting();
		script_sends_ok(s, id, 0);
		script_expects_head(s, id, false);
		script_sends_ok(s, id, H2_END_STREAM);
		only_the_stream_is_lost(s, id);
	}
}

/* covers: R71 */
SCRIPT_TEST(interim_head_after_the_final_one_is_malformed)
{
	struct script *s = waiting();
	script_sends_ok(s, 1, 0);
	script_expects_head(s, 1, false);
	script_sends_headers(s, 1, 0, ":status", "103", NULL);
	only_the_stream_is_lost(s, 1);
}

/* ---- bodies ---- */

/* covers: R48 R69 R45 */
SCRIPT_TEST(body_unlike_content_length_is_malformed)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_headers(
		    s, id, H2_END_STREAM, ":status", "200", "content-length", "1", NULL);
		only_the_stream_is_lost(s, id);
		s = waiting();
		script_sends_headers(s, id, 0, ":status", "200", "content-length", "5", NULL);
		script_expects_head(s, id, false);
		script_sends_data(s, id, 0, 4);
		script_expects_data(s, id, 4, false);
		script_sends_data(s, id, H2_END_STREAM, 0);
		only_the_stream_is_lost(s, id);
		s = waiting();
		script_sends_headers(s, id, 0, ":status", "200", "content-length", "5", NULL);
		script_expects_head(s, id, false);
		script_sends_data(s, id, 0, 5);
		script_expects_data(s, id, 5, false);
		script_sends_data(s, id, 0, 1);
		only_the_stream_is_lost(s, id);
		s = waiting();
		script_sends_headers(s, id, 0, ":status", "200", "content-length", "5", NULL);
		script_expects_head(s, id, false);
		script_sends_headers(s, id, H2_END_STREAM, "x-t", "1", NULL);
		only_the_stream_is_lost(s, id);
	}
}

/* covers: R45 R67 */
SCRIPT_TEST(body_as_long_as_content_length_is_fine)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_headers(s, id, 0, ":status", "404", "content-length", "5", NULL);
		script_expects_head(s, id, false);
		script_sends_data(s, id, 0, 2);
		script_sends_data(s, id, H2_END_STREAM, 3);
		script_expects_data(s, id, 5, true);
		script_expects_event(s, SESSION_EVENT_CLOSED, id);
		script_close(s);
	}
}

/* covers: R45 R67 */
SCRIPT_TEST(response_to_head_may_name_a_length)
{
	struct script *s = waiting_for("HEAD");
	script_sends_headers(s, 1, H2_END_STREAM, ":status", "200", "content-length", "1000", NULL);
	struct script_event *e = script_expects_head(s, 1, true);
	assert_int_equal(e->head->content_length, 1000);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R45 */
SCRIPT_TEST(response_to_a_promised_head_may_name_a_length)
{
	struct script *s = waiting();
	script_sends_promise(
	    s, 1, 4, ":method", "HEAD", ":scheme", "https", ":authority", "a", ":path", "/", NULL);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_sends_headers(s, 4, H2_END_STREAM, ":status", "200", "content-length", "1000", NULL);
	script_expects_head(s, 4, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 4);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R45 R67 */
SCRIPT_TEST(not_modified_may_name_a_length)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_headers(
		    s, id, H2_END_STREAM, ":status", "304", "content-length", "1000", NULL);
		script_expects_head(s, id, true);
		script_expects_event(s, SESSION_EVENT_CLOSED, id);
		script_expects_nothing(s);
		script_close(s);
	}
}

/* RFC 9110 6.4.1: these have no content, and content that comes nevertheless is malformed. */
SCRIPT_TEST(content_where_there_can_be_none_is_malformed)
{
	static const struct {
		const char *method, *status;
	} cases[] = {{"HEAD", "200"}, {"GET", "204"}, {"GET", "304"}};
	for (size_t i = 0; i < 3; i++) {
		struct script *s = waiting_for(cases[i].method);
		script_sends_headers(s, 1, 0, ":status", cases[i].status, NULL);
		script_expects_head(s, 1, false);
		script_sends_data(s, 1, 0, 5);
		only_the_stream_is_lost(s, 1);
	}
}

/* covers: R45 R67 */
SCRIPT_TEST(bodyless_response_may_end_with_an_empty_data_frame)
{
	static const char *const statuses[] = {"200", "204", "304"};
	for (size_t i = 0; i < 3; i++) {
		struct script *s = waiting();
		script_sends_headers(s, 1, 0, ":status", statuses[i], NULL);
		script_expects_head(s, 1, false);
		script_sends_data(s, 1, H2_END_STREAM, 0);
		script_expects_data(s, 1, 0, true);
		script_expects_event(s, SESSION_EVENT_CLOSED, 1);
		script_close(s);
	}
}

/* ---- trailers ---- */

/* covers: R67 R45 */
SCRIPT_TEST(trailers_end_the_response)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_ok(s, id, 0);
		script_sends_data(s, id, 0, 5);
		script_sends_headers(s, id, H2_END_STREAM, "x-t", "1", NULL);
		script_expects_head(s, id, false);
		script_expects_data(s, id, 5, false);
		script_expects_event(s, SESSION_EVENT_TRAILERS, id);
		script_expects_event(s, SESSION_EVENT_CLOSED, id);
		script_close(s);
	}
}

/* covers: R71 */
SCRIPT_TEST(trailers_with_pseudo_fields_or_without_end_are_malformed)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_ok(s, id, 0);
		script_expects_head(s, id, false);
		script_sends_headers(s, id, H2_END_STREAM, ":status", "200", "x-t", "1", NULL);
		only_the_stream_is_lost(s, id);
		s = waiting();
		script_sends_ok(s, id, 0);
		script_expects_head(s, id, false);
		script_sends_headers(s, id, 0, "x-t", "1", NULL);
		only_the_stream_is_lost(s, id);
	}
}

/* ---- resets ---- */

/* covers: R70 R49 */
SCRIPT_TEST(reset_in_mid_body_is_an_event_with_its_code)
{
	for (uint32_t id = 1; id < 3; id++) {
		struct script *s = waiting();
		script_sends_ok(s, id, 0);
		script_sends_data(s, id, 0, 5);
		script_sends_rst(s, id, SESSION_INTERNAL_ERROR);
		script_expects_head(s, id, false);
		script_expects_data(s, id, 5, false);
		struct script_event *e = script_expects_event(s, SESSION_EVENT_RESET, id);
		assert_null(e->fault);
		assert_int_equal(e->code, SESSION_INTERNAL_ERROR);
		assert_false(e->unprocessed);
		script_expects_nothing(s);
		script_close(s);
	}
}

/* covers: R72 */
SCRIPT_TEST(refused_stream_says_that_nothing_was_processed)
{
	struct script *s = waiting();
	script_sends_rst(s, 1, SESSION_REFUSED_STREAM);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_RESET, 1);
	assert_true(e->unprocessed);
	script_close(s);
}

/* RFC 9113 8.1: an early answer. covers: R74 */
SCRIPT_TEST(complete_response_before_the_request_is_done_is_kept)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_requests(s, false, "POST", "/"), 1);
	script_clears(s);
	script_sends_ok(s, 1, 0);
	script_sends_data(s, 1, H2_END_STREAM, 4);
	script_expects_head(s, 1, false);
	script_expects_data(s, 1, 4, true);
	script_expects_no_event(s);
	script_sends_rst(s, 1, SESSION_NO_ERROR);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_RESET, 1);
	assert_int_equal(e->code, SESSION_NO_ERROR);
	assert_null(e->fault);
	script_expects_nothing(s);
	script_close(s);
}

SCRIPT_TEST(complete_response_lets_the_request_go_on)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_requests(s, false, "POST", "/"), 1);
	script_clears(s);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_offers(s, 1, 10, true);
	script_expects_body(s, 1, 10, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(response_is_delivered_as_it_was_sent),
	    cmocka_unit_test(status_is_one_three_digit_number),
	    cmocka_unit_test(status_101_is_malformed),
	    cmocka_unit_test(pseudo_fields_of_a_request_unknown_or_misplaced),
	    cmocka_unit_test(response_fields_keep_http2_rules),
	    cmocka_unit_test(response_values_hold_no_nul),
	    cmocka_unit_test(differing_content_lengths_are_malformed),
	    cmocka_unit_test(interim_responses_precede_the_final_one),
	    cmocka_unit_test(interim_response_that_ends_the_stream_is_malformed),
	    cmocka_unit_test(data_after_an_interim_response_is_malformed),
	    cmocka_unit_test(data_before_any_head_is_malformed),
	    cmocka_unit_test(second_final_head_is_malformed),
	    cmocka_unit_test(interim_head_after_the_final_one_is_malformed),
	    cmocka_unit_test(body_unlike_content_length_is_malformed),
	    cmocka_unit_test(body_as_long_as_content_length_is_fine),
	    cmocka_unit_test(response_to_head_may_name_a_length),
	    cmocka_unit_test(response_to_a_promised_head_may_name_a_length),
	    cmocka_unit_test(not_modified_may_name_a_length),
	    cmocka_unit_test(content_where_there_can_be_none_is_malformed),
	    cmocka_unit_test(bodyless_response_may_end_with_an_empty_data_frame),
	    cmocka_unit_test(trailers_end_the_response),
	    cmocka_unit_test(trailers_with_pseudo_fields_or_without_end_are_malformed),
	    cmocka_unit_test(reset_in_mid_body_is_an_event_with_its_code),
	    cmocka_unit_test(refused_stream_says_that_nothing_was_processed),
	    cmocka_unit_test(complete_response_before_the_request_is_done_is_kept),
	    cmocka_unit_test(complete_response_lets_the_request_go_on),
	};
	return SCRIPT_RUN(tests);
}
