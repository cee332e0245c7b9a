/* SPDX-License-Identifier: MIT */
/* Values with a grammar of their own: authorities, hosts, Priority, Via, Proxy-Status. */
#include "proxy/http/authority.h"
#include "proxy/http/priority.h"
#include "proxy/http/via.h"
#include "tests/unit/http/heads.h"

static void assert_authority(
    const char *text, const char *scheme, const char *host, uint16_t port, bool given)
{
	struct http_authority a;
	assert_true(http_authority_parse(slice_of_string(text), slice_of_string(scheme), &a));
	assert_true(slice_equal(a.host, slice_of_string(host)));
	assert_int_equal(a.port, port);
	assert_int_equal(a.port_given, given);
}

static void authority_is_cut_into_host_and_port(void **state)
{
	(void)state;
	assert_authority("a.example", "https", "a.example", 443, false);
	assert_authority("a.example", "HTTP", "a.example", 80, false);
	assert_authority("a.example", "", "a.example", 0, false);
	assert_authority("a.example:8080", "https", "a.example", 8080, true);
	assert_authority("a.example:", "https", "a.example", 443, false);
	assert_authority("A_b~!$&'()*+,;=-.", "http", "A_b~!$&'()*+,;=-.", 80, false);
	assert_authority("%41b", "http", "%41b", 80, false);
	assert_authority("a%2Eb%ef%bd%89%7E.", "http", "a%2Eb%ef%bd%89%7E.", 80, false);
	assert_authority("..a..b..", "http", "..a..b..", 80, false);
	assert_authority("192.0.2.1:65535", "http", "192.0.2.1", 65535, true);
	assert_authority("[::1]", "http", "[::1]", 80, false);
	assert_authority("[2001:db8::1]:8443", "https", "[2001:db8::1]", 8443, true);
}

static void malformed_authorities_are_refused(void **state)
{
	(void)state;
	const char *bad[] = {"", ":80", "u@a", "u:p@a:1", "a:b", "a:-1", "a:0", "a:65536",
	    "a:80:80", "a/", "a?", "a#", "a b", "a\\", "a%4", "a%zz", "%", "[::1", "[]",
	    "[1.2.3.4]", "[::1]x", "[::1]:x", "::1", "[::g]", "[fe80::1%25lo]", "a\x7f", "\xc3\xa4",
	    "a\n", ".", "...", ".:80", "%", "a%", "a%0", "%00", "a%00.b", "a%1f", "a%20", "a%22b", "a%23", "a%25b", "a%2541",
	    "a%2fb", "a%2F", "a%3A80", "a%3c", "a%3eb", "a%3f", "u%40a", "%5b::1%5D", "a%5c", "a%5eb", "a%60", "a%7bb",
	    "a%7c", "a%7D", "a%7f"};
	struct http_authority a;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (http_authority_parse(slice_of_string(bad[i]), SLICE("https"), &a))
			fail_msg("accepted: %s", bad[i]);
	}
}

static bool same(const char *one, const char *other)
{
	struct http_authority a, b;
	assert_true(http_authority_parse(slice_of_string(one), SLICE("https"), &a));
	assert_true(http_authority_parse(slice_of_string(other), SLICE("https"), &b));
	return http_authority_equal(&a, &b);
}

static void authorities_compare_without_case_dot_and_default_port(void **state)
{
	(void)state;
	assert_true(same("a.example", "A.EXAMPLE."));
	assert_true(same("a.example", "a.example:443"));
	assert_false(same("a.example", "a.example:80"));
	assert_false(same("a.example", "b.example"));
	assert_false(same("a.example", "a.example.."));
}

static bool matches(const char *pattern, const char *host)
{
	return http_host_matches(slice_of_string(pattern), slice_of_string(host));
}

static void host_patterns_match_names_below_or_exactly(void **state)
{
	(void)state;
	assert_true(matches("*", "a.example"));
	assert_true(matches("a.example", "A.Example."));
	assert_true(matches("a.example.", "a.example"));
	assert_false(matches("a.example", "b.a.example"));
	assert_true(matches("*.example.com", "www.example.com"));
	assert_true(matches("*.example.com", "a.b.EXAMPLE.com."));
	assert_false(matches("*.example.com", "example.com"));
	assert_false(matches("*.example.com", ".example.com"));
	assert_false(matches("*.example.com", "badexample.com"));
	assert_true(matches("[::1]", "[::1]"));
	assert_false(matches("", "a"));
}

static void assert_priority(const char *value, int urgency, bool incremental)
{
	struct http_priority p = http_priority_parse(slice_of_string(value));
	if (p.urgency != urgency || p.incremental != incremental)
		fail_msg("%s: u=%d, i=%d", value, p.urgency, p.incremental);
}

static void priority_members_are_read(void **state)
{
	(void)state;
	assert_priority("", 3, false);
	assert_priority("u=0", 0, false);
	assert_priority("u=7, i", 7, true);
	assert_priority("i=?1,u=5", 5, true);
	assert_priority("u=1, i=?0", 1, false);
	assert_priority("  u=1\t,\ti  ", 1, true);
	assert_priority("u=2;x=\"a,b\";y, i;z", 2, true);
	assert_priority("u=1, u=2", 2, false);
	assert_priority("u=05", 5, false);
}

static void priority_members_unknown_or_out_of_range_are_ignored(void **state)
{
	(void)state;
	assert_priority("u=8", 3, false);
	assert_priority("u=-1, i", 3, true);
	assert_priority("u=1.0", 3, false);
	assert_priority("u=\"1\"", 3, false);
	assert_priority("u, i", 3, true);
	assert_priority("u=1, i=1", 1, false);
	assert_priority("u=1, u=9", 3, false);
	assert_priority("x=(1 \"a\" tok;p=1);q, u=2, y=:YQ==:, z=*a/b:c, w=-1.5, i", 2, true);
	assert_priority("uu=1, *k.e-y_2=?0, u=4", 4, false);
	assert_priority("x=\"\\\"\\\\\", u=4", 4, false);
}

static void priority_that_does_not_parse_is_the_default(void **state)
{
	(void)state;
	const char *bad[] = {"u=1,", "u=1,,i", ",u=1", "u=1 i", "u=", "U=1", "u =1", "u= 1", "u=1;",
	    "u=1;=2", "u=1, x=\"a", "u=1, x=\"\\a\"", "u=1, x=\"\x01\"", "u=1, x=(1",
	    "u=1, x=(1,2)", "u=1, x=:a", "u=1, x=:a b:", "u=1, x=?2", "u=1, x=1.", "u=1, x=1.2345",
	    "u=1, x=-", "u=1, x=1234567890123456", "u=1, x=1234567890123.1", "u=1, x=@1",
	    "u=1;p=", "\tu=1", "u=1, x=(\"a\"\"b\")", "u=1, \xc3=1"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_priority(bad[i], 3, false);
}

static bool via_has(const char *value)
{
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE("via"), SLICE("1.1 first"));
	http_head_add(head, SLICE("via"), slice_of_string(value));
	bool has = http_via_has(head, SLICE("gate-1"));
	http_head_free(head);
	return has;
}

static void own_name_in_via_is_a_loop(void **state)
{
	(void)state;
	assert_true(via_has("2 gate-1"));
	assert_true(via_has("HTTP/2 Gate-1 (comment)"));
	assert_true(via_has("1.1 other:80, 2 gate-1,1.0 third"));
	assert_true(via_has("1.1 other (a, b (c\\) d) e) , 2\tgate-1"));
	assert_true(via_has("1.1 other(x),2 gate-1"));
}

static void other_names_in_via_are_none(void **state)
{
	(void)state;
	assert_false(via_has(""));
	assert_false(via_has("2 gate-10"));
	assert_false(via_has("gate-1 other"));
	assert_false(via_has("1.1 other gate-1"));
	assert_false(via_has("1.1 other (x, 2 gate-1)"));
	assert_false(via_has("1.1 other (x, 2 gate-1"));
	assert_false(via_has("2 , gate-1"));
}

static void added_via_is_found_again(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE("via"), SLICE("1.1 first"));
	assert_false(http_via_has(head, SLICE("gate-1")));
	head->version = HTTP_VERSION_2;
	const struct http_via via = http_via_make(SLICE("gate-1"));
	http_via_add(head, &via);
	assert_int_equal(head->count, 2);
	assert_true(slice_equal(head->fields[1].value, SLICE("2 gate-1")));
	assert_int_equal(head->fields[1].token, HTTP_TOKEN_VIA);
	assert_true(http_via_has(head, SLICE("gate-1")));
	http_head_free(head);
}

/* RFC 9110 7.6.3: the received-protocol, without "HTTP/". */
static void via_has_the_version_in_which_the_message_came(void **state)
{
	(void)state; /* covers: R133 */
	static const struct {
		enum http_version version;
		const char *via, *name;
	} rows[] = {
	    {HTTP_VERSION_1_0, "1.0 gate", "http/1.0"},
	    {HTTP_VERSION_1_1, "1.1 gate", "http/1.1"},
	    {HTTP_VERSION_2, "2 gate", "h2"},
	};
	const struct http_via gate = http_via_make(SLICE("gate"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_head *head = http_head_new(pool);
		head->version = (uint8_t)rows[i].version;
		struct http_head *copy = http_head_copy(head), *like = http_head_new_like(head);
		http_via_add(head, &gate);
		http_via_add(copy, &gate);
		http_via_add(like, &gate);
		assert_true(slice_equal(head->fields[0].value, slice_of_string(rows[i].via)));
		assert_true(slice_equal(copy->fields[0].value, slice_of_string(rows[i].via)));
		assert_true(slice_equal(like->fields[0].value, slice_of_string(rows[i].via)));
		assert_string_equal(http_version_name(rows[i].version), rows[i].name);
		http_head_free(like);
		http_head_free(copy);
		http_head_free(head);
	}
}

static void message_of_our_own_was_not_received(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	const struct http_via gate = http_via_make(SLICE("gate"));
	http_via_add(head, &gate);
	assert_int_equal(head->count, 0);
	assert_null(http_version_name(HTTP_VERSION_NONE));
	http_head_free(head);
}

static struct slice value_of(const struct http_head *head, enum http_token token)
{
	const struct http_field *field = http_head_find(head, token);
	return field ? field->value : SLICE("");
}

static void own_error_says_who_and_why(void **state)
{
	(void)state;
	struct slice body;
	const struct http_own_answer answer = {
	    .status = 502,
	    .pseudonym = SLICE("gate-1"),
	    .error = "connection_refused",
	    .details = "says \"no\" \\ \x01\xc3",
	    .date = SLICE("Sun, 06 Nov 1994 08:49:37 GMT"),
	};
	struct http_head *head = http_own_response(pool, &answer, &body);
	assert_int_equal(head->kind, HTTP_RESPONSE);
	assert_int_equal(head->status, 502);
	assert_true(slice_equal(body, SLICE("502 Bad Gateway: says \"no\" \\ \x01\xc3\n")));
	assert_int_equal(head->content_length, body.len);
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_CONTENT_LENGTH), SLICE("32")));
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_CONTENT_TYPE), SLICE("text/plain")));
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_SERVER), SLICE("pushgate")));
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_DATE), answer.date));
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_CACHE_CONTROL), SLICE("no-store")));
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_PROXY_STATUS),
	    SLICE("gate-1; error=connection_refused; details=\"says \\\"no\\\" \\\\ ??\"")));
	http_head_free(head);
}

static void own_response_without_an_error_has_no_proxy_status(void **state)
{
	(void)state;
	struct slice body;
	struct http_own_answer answer = {.status = 404, .pseudonym = SLICE("gate")};
	struct http_head *head = http_own_response(pool, &answer, &body);
	assert_true(slice_equal(body, SLICE("404 Not Found\n")));
	assert_null(http_head_find(head, HTTP_TOKEN_PROXY_STATUS));
	assert_null(http_head_find(head, HTTP_TOKEN_CACHE_CONTROL));
	assert_null(http_head_find(head, HTTP_TOKEN_DATE));
	http_head_free(head);
	answer.is_momentary = true;
	head = http_own_response(pool, &answer, &body);
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_CACHE_CONTROL), SLICE("no-store")));
	http_head_free(head);
	answer.status = 599;
	head = http_own_response(pool, &answer, &body);
	assert_true(slice_equal(body, SLICE("599\n")));
	http_head_free(head);
}

static void name_that_is_no_token_is_quoted_in_proxy_status(void **state)
{
	(void)state;
	struct slice body;
	const struct http_own_answer answer = {
	    .status = 504, .pseudonym = SLICE("10.0.0.1"), .error = "http_response_timeout"};
	struct http_head *head = http_own_response(pool, &answer, &body);
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_PROXY_STATUS),
	    SLICE("\"10.0.0.1\"; error=http_response_timeout")));
	http_head_free(head);
}

static void answer_for_the_origin_says_its_status(void **state)
{
	(void)state; /* RFC 9209 2.3.16 */
	struct slice body;
	const struct http_own_answer answer = {.status = 431,
	    .pseudonym = SLICE("gate"),
	    .error = "http_request_error",
	    .details = "too large"};
	struct http_head *head = http_own_response(pool, &answer, &body);
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_PROXY_STATUS),
	    SLICE("gate; error=http_request_error; status-code=431; details=\"too large\"")));
	http_head_free(head);
}

static void own_response_that_may_have_no_body_has_none(void **state)
{
	(void)state;
	struct slice body;
	const struct http_own_answer answer = {
	    .status = 204, .pseudonym = SLICE("gate"), .details = "x"};
	struct http_head *head = http_own_response(pool, &answer, &body);
	assert_int_equal(body.len, 0);
	assert_null(http_head_find(head, HTTP_TOKEN_CONTENT_LENGTH));
	assert_true(head->content_length == HTTP_LENGTH_UNKNOWN);
	assert_null(http_head_find(head, HTTP_TOKEN_ALLOW));
	http_head_free(head);
}

static void own_response_says_what_is_allowed(void **state)
{
	(void)state;
	struct slice body;
	const struct http_own_answer answer = {.status = 204, .allow = SLICE("GET, OPTIONS")};
	struct http_head *head = http_own_response(pool, &answer, &body);
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_ALLOW), SLICE("GET, OPTIONS")));
	http_head_free(head);
}

static void own_response_whose_body_comes_later_has_no_length(void **state)
{
	(void)state;
	static const struct http_own_field more[] = {{SLICE_INIT("x-one"), SLICE_INIT("1")}, {SLICE_INIT("x-two"), SLICE_INIT("2")}};
	struct slice body;
	const struct http_own_answer answer = {.status = 200, .content_type = "text/event-stream", .is_streamed = true, .more = more, .more_count = 2};
	struct http_head *head = http_own_response(pool, &answer, &body);
	assert_int_equal(body.len, 0);
	assert_null(http_head_find(head, HTTP_TOKEN_CONTENT_LENGTH));
	assert_int_equal(head->content_length, HTTP_LENGTH_UNKNOWN);
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_CONTENT_TYPE), SLICE("text/event-stream")));
	assert_true(slice_equal(http_head_find_name(head, SLICE("x-one"))->value, SLICE("1")));
	assert_true(slice_equal(http_head_find_name(head, SLICE("x-two"))->value, SLICE("2")));
	http_head_free(head);
}

static void own_response_says_when_to_try_again(void **state)
{
	(void)state;
	struct slice body;
	struct http_own_answer answer = {.status = 429, .retry_after = 4000000000u};
	struct http_head *head = http_own_response(pool, &answer, &body);
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_RETRY_AFTER), SLICE("4000000000")));
	assert_true(slice_equal(value_of(head, HTTP_TOKEN_CACHE_CONTROL), SLICE("no-store")));
	http_head_free(head);
	answer.retry_after = 0;
	head = http_own_response(pool, &answer, &body);
	assert_null(http_head_find(head, HTTP_TOKEN_RETRY_AFTER));
	http_head_free(head);
	answer.retry_after = 1;
	answer.grpc_status = GRPC_RESOURCE_EXHAUSTED; /* its HTTP status is 200 */
	head = http_own_response(pool, &answer, &body);
	assert_null(http_head_find(head, HTTP_TOKEN_RETRY_AFTER));
	http_head_free(head);
}

static void reasons_are_known_or_empty(void **state)
{
	(void)state;
	assert_string_equal(http_status_reason(200), "OK");
	assert_string_equal(http_status_reason(103), "Early Hints");
	assert_string_equal(http_status_reason(599), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(authority_is_cut_into_host_and_port),
	    cmocka_unit_test(malformed_authorities_are_refused),
	    cmocka_unit_test(authorities_compare_without_case_dot_and_default_port),
	    cmocka_unit_test(host_patterns_match_names_below_or_exactly),
	    cmocka_unit_test(priority_members_are_read),
	    cmocka_unit_test(priority_members_unknown_or_out_of_range_are_ignored),
	    cmocka_unit_test(priority_that_does_not_parse_is_the_default),
	    cmocka_unit_test(own_name_in_via_is_a_loop),
	    cmocka_unit_test(other_names_in_via_are_none),
	    cmocka_unit_test(added_via_is_found_again),
	    cmocka_unit_test(via_has_the_version_in_which_the_message_came),
	    cmocka_unit_test(message_of_our_own_was_not_received),
	    cmocka_unit_test(own_error_says_who_and_why),
	    cmocka_unit_test(own_response_without_an_error_has_no_proxy_status),
	    cmocka_unit_test(name_that_is_no_token_is_quoted_in_proxy_status),
	    cmocka_unit_test(answer_for_the_origin_says_its_status),
	    cmocka_unit_test(own_response_that_may_have_no_body_has_none),
	    cmocka_unit_test(own_response_says_what_is_allowed),
	    cmocka_unit_test(own_response_whose_body_comes_later_has_no_length),
	    cmocka_unit_test(own_response_says_when_to_try_again),
	    cmocka_unit_test(reasons_are_known_or_empty),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
