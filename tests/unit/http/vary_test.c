/* SPDX-License-Identifier: MIT */
/* Which requests a stored response may answer as far as Vary goes (RFC 9111 4.1). */
#include "proxy/http/vary.h"
#include "tests/unit/http/heads.h"

/* differs: the field's name, or NULL when the stored response may be used. Takes all heads. */
static void check_vary(struct http_head *response, struct http_head *stored,
    struct http_head *request, const char *differs)
{
	struct slice field = {"", 0};
	bool matches = http_vary_matches(response, stored, request, &field);
	if (matches != !differs || (differs && !slice_equal(field, slice_of_string(differs))))
		fail_msg("%s: \"%.*s\"", matches ? "matches" : "differs", SLICE_ARG(field));
	http_head_free(response);
	http_head_free(stored);
	http_head_free(request);
}

static void vary_compares_the_named_fields(void **state)
{
	(void)state;
	check_vary(BARE_RESPONSE(), REQUEST("accept: a"), REQUEST("accept: b"), NULL);
	check_vary(RESPONSE("vary: "), REQUEST("accept: a"), REQUEST("accept: b"), NULL);
	check_vary(RESPONSE("vary: accept"), REQUEST("accept: a"), REQUEST("accept: b"), "accept");
	check_vary(RESPONSE("vary: Accept"), REQUEST("accept: a"), REQUEST("accept: b"), "accept");
	check_vary(
	    RESPONSE("vary: accept"), REQUEST("accept: a", "x: 1"), REQUEST("accept: a"), NULL);
	check_vary(RESPONSE("vary: X-Odd"), REQUEST("x-odd: 1"), REQUEST("x-odd: 2"), "X-Odd");
	check_vary(RESPONSE("vary: X-Odd"), REQUEST("x-odd: 1"), REQUEST("x-odd: 1"), NULL);
	check_vary(RESPONSE("vary: accept"), REQUEST("accept: A"), REQUEST("accept: a"), "accept");
}

static void star_in_vary_matches_nothing(void **state)
{
	(void)state;
	check_vary(RESPONSE("vary: *"), BARE_REQUEST(), BARE_REQUEST(), "*");
	check_vary(RESPONSE("vary: accept, *"), BARE_REQUEST(), BARE_REQUEST(), "*");
	check_vary(RESPONSE("vary: accept", "vary: *"), BARE_REQUEST(), BARE_REQUEST(), "*");
}

static void all_vary_fields_count_and_the_first_to_differ_is_named(void **state)
{
	(void)state;
	check_vary(RESPONSE("vary: accept", "vary: , cookie,,user-agent"),
	    REQUEST("cookie: a", "user-agent: x"), REQUEST("cookie: b", "user-agent: y"), "cookie");
	check_vary(RESPONSE("vary: accept", "vary: cookie, user-agent"),
	    REQUEST("cookie: a", "user-agent: x"), REQUEST("cookie: a", "user-agent: y"),
	    "user-agent");
}

static void absent_and_empty_are_not_the_same(void **state)
{
	(void)state;
	check_vary(RESPONSE("vary: accept, x"), BARE_REQUEST(), BARE_REQUEST(), NULL);
	check_vary(RESPONSE("vary: accept"), BARE_REQUEST(), REQUEST("accept: "), "accept");
	check_vary(RESPONSE("vary: accept"), REQUEST("accept: a"), BARE_REQUEST(), "accept");
	check_vary(RESPONSE("vary: x"), BARE_REQUEST(), REQUEST("x: "), "x");
	check_vary(RESPONSE("vary: x"), REQUEST("x: "), REQUEST("x: "), NULL);
}

static void lists_compare_without_their_spacing_and_lines(void **state)
{
	(void)state;
	check_vary(RESPONSE("vary: accept-encoding"), REQUEST("accept-encoding: gzip, br"),
	    REQUEST("accept-encoding:  gzip ,,br,"), NULL);
	check_vary(RESPONSE("vary: accept-encoding"), REQUEST("accept-encoding: gzip, br"),
	    REQUEST("accept-encoding: gzip", "accept-encoding: br"), NULL);
	check_vary(RESPONSE("vary: accept-encoding"), REQUEST("accept-encoding: gzip, br"),
	    REQUEST("accept-encoding: br, gzip"), "accept-encoding");
	check_vary(RESPONSE("vary: accept-encoding"), REQUEST("accept-encoding: gzip, br"),
	    REQUEST("accept-encoding: gzip"), "accept-encoding");
	check_vary(RESPONSE("vary: accept"), REQUEST("accept: a;x=\"1, 2\""),
	    REQUEST("accept: a;x=\"1,2\""), "accept");
}

static void other_fields_compare_by_their_bytes(void **state)
{
	(void)state;
	check_vary(RESPONSE("vary: user-agent"), REQUEST("user-agent: a, b"),
	    REQUEST("user-agent: a,b"), "user-agent");
	check_vary(RESPONSE("vary: x"), REQUEST("x: a,,b"), REQUEST("x: a,b"), "x");
	check_vary(RESPONSE("vary: x"), REQUEST("x: a, b"), REQUEST("x:  a", "x: b\t"), NULL);
	check_vary(RESPONSE("vary: cookie"), REQUEST("cookie: a=1; b=2"),
	    REQUEST("cookie: a=1", "cookie: b=2"), NULL);
	check_vary(RESPONSE("vary: cookie"), REQUEST("cookie: a=1; b=2"),
	    REQUEST("cookie: a=1", "cookie: b=3"), "cookie");
	check_vary(RESPONSE("vary: cookie"), REQUEST("cookie: a=1"),
	    REQUEST("cookie: a=1", "cookie: "), "cookie");
}

static void vary_without_end_matches_nothing(void **state)
{
	(void)state;
	char line[8 + 2 * 65] = "vary: ";
	size_t length = 6;
	for (int i = 0; i < 64; i++) {
		memcpy(line + length, "a,", 3);
		length += 2;
	}
	check_vary(RESPONSE(line), BARE_REQUEST(), BARE_REQUEST(), NULL);
	memcpy(line + length, "a", 2);
	check_vary(RESPONSE(line), BARE_REQUEST(), BARE_REQUEST(), "a");
}

static void malformed_vary_matches_nothing(void **state)
{
	(void)state;
	static const struct {
		const char *line, *name;
	} rows[] = {{"vary: cookie accept", "cookie accept"}, {"vary: \"cookie, accept", "\"cookie, accept"},
	    {"vary: \"cookie\"", "\"cookie\""}, {"vary: accept, cookie; x", "cookie; x"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_head *response = RESPONSE(rows[i].line);
		assert_true(http_vary_names(response, HTTP_TOKEN_COOKIE));
		assert_true(http_vary_names(response, HTTP_TOKEN_NONE));
		check_vary(response, REQUEST("cookie: a"), REQUEST("cookie: b"), rows[i].name);
	}
}

static void vary_names_a_field_or_all(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool cookie, none;
	} rows[] = {{"vary: cookie", true, false}, {"vary: a, COOKIE", true, false}, {"vary: accept", false, false},
	    {"vary: x-unknown", false, false}, {"vary: a, *", true, true}, {"vary: cookies", false, false},
	    {"x: cookie", false, false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_head *response = RESPONSE(rows[i].line);
		assert_int_equal(http_vary_names(response, HTTP_TOKEN_COOKIE), rows[i].cookie);
		assert_int_equal(http_vary_names(response, HTTP_TOKEN_NONE), rows[i].none);
		http_head_free(response);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(vary_compares_the_named_fields),
	    cmocka_unit_test(star_in_vary_matches_nothing),
	    cmocka_unit_test(all_vary_fields_count_and_the_first_to_differ_is_named),
	    cmocka_unit_test(absent_and_empty_are_not_the_same),
	    cmocka_unit_test(lists_compare_without_their_spacing_and_lines),
	    cmocka_unit_test(other_fields_compare_by_their_bytes),
	    cmocka_unit_test(vary_without_end_matches_nothing),
	    cmocka_unit_test(malformed_vary_matches_nothing),
	    cmocka_unit_test(vary_names_a_field_or_all),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
