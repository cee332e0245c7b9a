/* SPDX-License-Identifier: MIT */
/* What RFC 9111 lets a cache do with one response. */
#include "proxy/http/cache.h"
#include "tests/unit/http/heads.h"

#define NOW UINT64_C(1795000000)
#define NOW_TEXT "Wed, 18 Nov 2026 11:06:40 GMT"
#define NOW_PLUS_60 "Wed, 18 Nov 2026 11:07:40 GMT"
#define NOW_LESS_60 "Wed, 18 Nov 2026 11:05:40 GMT"

/* Takes both heads. */
static bool stores(bool shared, struct http_head *request, struct http_head *response)
{
	bool may =
	    shared ? http_may_store_shared(request, response) : http_may_store(request, response);
	http_head_free(request);
	http_head_free(response);
	return may;
}

static bool stores_status(uint16_t status, const char *cache_control)
{
	struct http_head *response = cache_control ? RESPONSE(cache_control) : BARE_RESPONSE();
	response->status = status;
	return stores(true, BARE_REQUEST(), response);
}

static void status_decides_what_is_storable(void **state)
{
	(void)state;
	static const uint16_t by_default[] = {
	    200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 451, 501};
	static const uint16_t when_told[] = {302, 303, 307};
	static const uint16_t never[] = {100, 103, 199, 206, 304, 400, 401, 407, 428, 429, 431, 500,
	    502, 503, 504, 511, 299, 999};
	for (size_t i = 0; i < sizeof(by_default) / sizeof(by_default[0]); i++)
		assert_true(stores_status(by_default[i], NULL));
	for (size_t i = 0; i < sizeof(when_told) / sizeof(when_told[0]); i++) {
		assert_false(stores_status(when_told[i], NULL));
		assert_true(stores_status(when_told[i], "cache-control: max-age=1"));
		assert_true(stores_status(when_told[i], "cache-control: s-maxage=1"));
		assert_true(stores_status(when_told[i], "cache-control: public"));
		assert_true(stores_status(when_told[i], "expires: 0"));
		assert_false(stores_status(when_told[i], "cache-control: immutable"));
	}
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		assert_false(stores_status(never[i], "cache-control: public, max-age=60"));
}

static void no_store_on_either_side_forbids_it(void **state)
{
	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		assert_true(stores(shared, BARE_REQUEST(), BARE_RESPONSE()));
		assert_false(stores(shared, BARE_REQUEST(), RESPONSE("cache-control: no-store")));
		assert_false(stores(shared, REQUEST("cache-control: no-store"), BARE_RESPONSE()));
		assert_false(stores(shared, BARE_REQUEST(),
		    RESPONSE("cache-control: must-understand, no-store, public")));
		assert_true(stores(shared, REQUEST("cache-control: no-cache"),
		    RESPONSE("cache-control: no-cache")));
	}
}

static void private_is_for_no_shared_cache(void **state)
{
	(void)state;
	assert_false(stores(true, BARE_REQUEST(), RESPONSE("cache-control: private, public")));
	assert_false(
	    stores(true, BARE_REQUEST(), RESPONSE("cache-control: private=\"x\", max-age=9")));
	assert_true(stores(false, BARE_REQUEST(), RESPONSE("cache-control: private")));
}

static void authorization_needs_leave_for_a_shared_cache(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool may;
	} rows[] = {{"cache-control: max-age=60", false}, {"x: y", false},
	    {"expires: " NOW_PLUS_60, false}, {"cache-control: proxy-revalidate, max-age=1", false},
	    {"cache-control: public", true}, {"cache-control: must-revalidate", true},
	    {"cache-control: s-maxage=0", true}, {"cache-control: public, no-store", false},
	    {"cache-control: public, private", false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (stores(true, REQUEST("authorization: Basic eA=="), RESPONSE(rows[i].line)) !=
		    rows[i].may)
			fail_msg("%s", rows[i].line);
	}
	assert_true(
	    stores(false, REQUEST("authorization: x"), RESPONSE("cache-control: max-age=60")));
}

static void only_get_and_head_are_stored(void **state)
{
	(void)state;
	for (int method = HTTP_METHOD_OTHER; method <= HTTP_METHOD_PATCH; method++) {
		struct http_head *request = BARE_REQUEST();
		request->method_token = (uint16_t)method;
		assert_int_equal(stores(false, request, RESPONSE("cache-control: max-age=9")),
		    method == HTTP_METHOD_GET || method == HTTP_METHOD_HEAD);
	}
}

static void check_freshness(uint32_t shared, uint32_t own, const char *const *lines)
{
	struct http_head *response = built(HTTP_RESPONSE, lines);
	assert_int_equal(http_freshness_sec(response, true, NOW), shared);
	assert_int_equal(http_freshness_sec(response, false, NOW), own);
	http_head_free(response);
}

static void s_maxage_goes_before_max_age_before_expires(void **state)
{
	(void)state;
	check_freshness(
	    5, 9, LINES("cache-control: max-age=9, s-maxage=5", "expires: " NOW_PLUS_60));
	check_freshness(5, 60, LINES("cache-control: s-maxage=5", "expires: " NOW_PLUS_60));
	check_freshness(9, 9, LINES("cache-control: max-age=9", "expires: " NOW_LESS_60));
	check_freshness(0, 0, LINES("cache-control: max-age=0", "expires: " NOW_PLUS_60));
	check_freshness(0, 0, LINES("cache-control: max-age=x", "expires: " NOW_PLUS_60));
	check_freshness(0, 9, LINES("cache-control: max-age=9, s-maxage=x"));
}

static void expires_counts_from_date_or_now(void **state)
{
	(void)state;
	check_freshness(60, 60, LINES("expires: " NOW_PLUS_60));
	check_freshness(60, 60, LINES("date: " NOW_TEXT, "expires: " NOW_PLUS_60));
	check_freshness(60, 60, LINES("date: " NOW_LESS_60, "expires: " NOW_PLUS_60));
	check_freshness(60, 60, LINES("date: nonsense", "expires: " NOW_PLUS_60));
	check_freshness(0, 0, LINES("date: " NOW_TEXT, "expires: " NOW_TEXT));
	check_freshness(0, 0, LINES("date: " NOW_TEXT, "expires: " NOW_LESS_60));
	check_freshness(0, 0, LINES("date: " NOW_PLUS_60, "expires: " NOW_PLUS_60));
	/* The origin's clock is ahead: its own difference counts. */
	check_freshness(
	    60, 60, LINES("date: " NOW_PLUS_60, "expires: Wed, 18 Nov 2026 11:08:40 GMT"));
	check_freshness(2147483648u, 2147483648u, LINES("expires: Fri, 31 Dec 9999 23:59:59 GMT"));
}

static void expires_that_is_no_date_is_stale(void **state)
{
	(void)state;
	static const char *const bad[] = {"expires: 0", "expires: -1", "expires: never",
	    "expires: Wed, 18 Nov 2026 11:07:40 CET", "expires: Wed, 18 Nov 2026 11:07:40",
	    "expires: 1795000060", "expires: "};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_freshness(0, 0, LINES(bad[i]));
}

static void age_and_apparent_age_shorten_it(void **state)
{
	(void)state;
	check_freshness(70, 70, LINES("cache-control: max-age=100", "age: 30"));
	check_freshness(0, 0, LINES("cache-control: max-age=100", "age: 100"));
	check_freshness(0, 0, LINES("cache-control: max-age=100", "age: 99999999999999"));
	check_freshness(40, 40, LINES("cache-control: max-age=100", "date: " NOW_LESS_60));
	check_freshness(
	    40, 40, LINES("cache-control: max-age=100", "date: " NOW_LESS_60, "age: 30"));
	check_freshness(
	    20, 20, LINES("cache-control: max-age=100", "date: " NOW_LESS_60, "age: 80"));
	check_freshness(100, 100, LINES("cache-control: max-age=100", "date: " NOW_PLUS_60));
	check_freshness(30, 30, LINES("expires: " NOW_PLUS_60, "age: 30"));
}

static void nothing_said_or_no_cache_is_never_fresh(void **state)
{
	(void)state;
	check_freshness(0, 0, NONE);
	check_freshness(0, 0, LINES("cache-control: public, immutable"));
	check_freshness(0, 0, LINES("date: " NOW_TEXT, "last-modified: " NOW_LESS_60));
	check_freshness(0, 0, LINES("cache-control: no-cache, max-age=60"));
	check_freshness(0, 0, LINES("cache-control: max-age=60, no-cache=\"set-cookie\""));
	check_freshness(
	    0, 0, LINES("cache-control: s-maxage=60, no-cache", "expires: " NOW_PLUS_60));
}

static void check_heuristic(uint32_t sec, uint16_t status, const char *const *lines)
{
	struct http_head *response = built(HTTP_RESPONSE, lines);
	response->status = status;
	assert_int_equal(http_heuristic_sec(response, NOW), sec);
	http_head_free(response);
}

static void without_a_lifetime_a_validator_is_good_for_a_tenth_of_its_age(void **state)
{
	(void)state;
	check_heuristic(0, 200, NONE);
	check_heuristic(5, 200, LINES("etag: \"a\""));
	check_heuristic(5, 200, LINES("etag: \"a\"", "age: 1000"));
	check_heuristic(6, 200, LINES("last-modified: " NOW_LESS_60));
	check_heuristic(6, 200, LINES("last-modified: " NOW_LESS_60, "etag: \"a\"", "date: " NOW_TEXT));
	check_heuristic(5, 200, LINES("last-modified: " NOW_LESS_60, "age: 2"));
	check_heuristic(12, 200, LINES("last-modified: " NOW_LESS_60, "date: " NOW_PLUS_60));
	check_heuristic(5, 200, LINES("last-modified: " NOW_TEXT));
	check_heuristic(5, 200, LINES("last-modified: " NOW_PLUS_60));
	check_heuristic(0, 200, LINES("last-modified: never"));
	check_heuristic(5, 200, LINES("last-modified: never", "etag: \"a\""));
	check_heuristic(3153600, 200, LINES("last-modified: Tue, 18 Nov 2025 11:06:40 GMT"));
}

static void heuristic_is_only_for_what_tells_nothing_itself(void **state)
{
	(void)state;
	static const char *const tells[] = {"cache-control: max-age=60", "cache-control: max-age=0",
	    "cache-control: max-age=x", "cache-control: s-maxage=0", "cache-control: no-cache",
	    "expires: 0", "expires: " NOW_PLUS_60};
	for (size_t i = 0; i < sizeof(tells) / sizeof(tells[0]); i++)
		check_heuristic(0, 200, LINES("etag: \"a\"", tells[i]));
	check_heuristic(5, 404, LINES("etag: \"a\""));
	check_heuristic(0, 302, LINES("etag: \"a\""));
	check_heuristic(5, 302, LINES("etag: \"a\"", "cache-control: public"));
	check_heuristic(5, 200, LINES("etag: \"a\"", "cache-control: private, must-revalidate"));
}

static void lifetime_is_told_by_max_age_expires_or_s_maxage(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool own, shared;
	} rows[] = {{"cache-control: max-age=0", true, true}, {"expires: 0", true, true},
	    {"cache-control: s-maxage=9", false, true}, {"cache-control: public", false, false},
	    {"etag: \"a\"", false, false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_head *response = RESPONSE(rows[i].line);
		assert_int_equal(http_tells_lifetime(response, false), rows[i].own);
		assert_int_equal(http_tells_lifetime(response, true), rows[i].shared);
		http_head_free(response);
	}
}

static void check_same_for_all(bool want, const char *const *lines)
{
	struct http_head *response = built(HTTP_RESPONSE, lines);
	if (http_is_same_for_all(response, NOW) != want)
		fail_msg("%s", lines[0]);
	http_head_free(response);
}

static void response_says_itself_that_it_is_the_same_for_all(void **state)
{
	(void)state;
	check_same_for_all(true, LINES("cache-control: public"));
	check_same_for_all(true, LINES("cache-control: public, no-cache"));
	check_same_for_all(true, LINES("cache-control: s-maxage=1"));
	check_same_for_all(true, LINES("cache-control: max-age=1"));
	check_same_for_all(true, LINES("cache-control: max-age=0, s-maxage=1"));
	check_same_for_all(true, LINES("expires: " NOW_PLUS_60));
	check_same_for_all(true, LINES("cache-control: max-age=9", "vary: accept-encoding"));
	check_same_for_all(false, NONE);
	check_same_for_all(false, LINES("etag: \"a\"", "last-modified: " NOW_LESS_60));
	check_same_for_all(false, LINES("cache-control: max-age=0"));
	check_same_for_all(false, LINES("cache-control: max-age=9, s-maxage=0"));
	check_same_for_all(false, LINES("cache-control: max-age=9, no-cache"));
	check_same_for_all(false, LINES("expires: " NOW_TEXT));
	check_same_for_all(false, LINES("expires: 0"));
	check_same_for_all(false, LINES("cache-control: max-age=0", "expires: " NOW_PLUS_60));
	check_same_for_all(false, LINES("cache-control: public, private"));
	check_same_for_all(false, LINES("cache-control: max-age=9, private=\"x\""));
	check_same_for_all(false, LINES("cache-control: public, no-store"));
	check_same_for_all(false, LINES("cache-control: public", "set-cookie: a=1"));
	check_same_for_all(false, LINES("cache-control: public", "vary: Accept, Cookie"));
	check_same_for_all(false, LINES("cache-control: public", "vary: *"));
}

static void authorization_needs_leave_from_the_response(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool may;
	} rows[] = {{"cache-control: public", true}, {"cache-control: must-revalidate", true},
	    {"cache-control: s-maxage=9", true}, {"cache-control: max-age=9", false}, {"x: y", false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_head *response = RESPONSE(rows[i].line);
		assert_int_equal(http_permits_authorization(response), rows[i].may);
		http_head_free(response);
	}
}

static uint32_t age_of(const char *const *lines)
{
	struct http_head *response = built(HTTP_RESPONSE, lines);
	uint32_t sec = http_age_sec(response);
	http_head_free(response);
	return sec;
}

static void what_a_client_may_use_again(void **state)
{
	(void)state;
	static const struct {
		const char *fields[2];
		bool may;
		uint32_t fresh_sec;
	} rows[] = {
	    {{"x: y"}, true, 0},
	    {{"cache-control: no-store"}, false, 0},
	    {{"cache-control: no-cache, max-age=60"}, false, 0},
	    {{"cache-control: max-age=0", "expires: " NOW_PLUS_60}, false, 0},
	    {{"cache-control: max-age=x"}, false, 0},
	    {{"cache-control: max-age=60", "expires: 0"}, true, 60},
	    {{"cache-control: max-age=60", "age: 60"}, true, 0},
	    {{"cache-control: max-age=60", "age: 59"}, true, 1},
	    {{"cache-control: max-age=90", "date: " NOW_LESS_60}, true, 30},
	    {{"cache-control: private, s-maxage=0"}, true, 0},
	    {{"expires: " NOW_PLUS_60}, true, 60},
	    {{"expires: " NOW_TEXT}, false, 0},
	    {{"expires: " NOW_TEXT, "date: " NOW_LESS_60}, true, 0},
	    {{"expires: 0"}, false, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *more = rows[i].fields[1] ? rows[i].fields[1] : "x: y";
		struct http_head *request = BARE_REQUEST(), *response = RESPONSE(rows[i].fields[0], more);
		uint32_t fresh_sec = 99;
		if (http_may_reuse(request, response, NOW, &fresh_sec) != rows[i].may ||
		    fresh_sec != rows[i].fresh_sec)
			fail_msg("row %zu: %u", i, fresh_sec);
		http_head_free(request);
		http_head_free(response);
	}
	struct http_head *request = REQUEST("cache-control: no-store"), *response = BARE_RESPONSE();
	uint32_t fresh_sec;
	assert_false(http_may_reuse(request, response, NOW, &fresh_sec));
	http_head_free(request);
	http_head_free(response);
}

static void age_is_the_first_member_or_nothing(void **state)
{
	(void)state;
	assert_int_equal(age_of(NONE), 0);
	assert_int_equal(age_of(LINES("age: 12")), 12);
	assert_int_equal(age_of(LINES("age: 12, 13")), 12);
	assert_int_equal(age_of(LINES("age: 12", "age: 13")), 12);
	assert_int_equal(age_of(LINES("age: x, 13")), 0);
	assert_int_equal(age_of(LINES("age: -1")), 0);
	assert_int_equal(age_of(LINES("age: 1.5")), 0);
	assert_int_equal(age_of(LINES("age: ")), 0);
	assert_int_equal(age_of(LINES("age: 99999999999999999999999")), 2147483648u);
}

static void check_etag(bool want, const char *etag, const char *if_none_match)
{
	struct http_head *request = if_none_match ? REQUEST(if_none_match) : BARE_REQUEST();
	struct http_head *response = etag ? RESPONSE(etag) : BARE_RESPONSE();
	if (http_etag_matches(request, response) != want)
		fail_msg("%s, %s", etag, if_none_match);
	http_head_free(request);
	http_head_free(response);
}

static void entity_tags_compare_weakly(void **state)
{
	(void)state;
	check_etag(true, "etag: \"a\"", "if-none-match: \"a\"");
	check_etag(true, "etag: W/\"a\"", "if-none-match: \"a\"");
	check_etag(true, "etag: \"a\"", "if-none-match: W/\"a\"");
	check_etag(true, "etag: W/\"a\"", "if-none-match: W/\"a\"");
	check_etag(true, "etag: \"\"", "if-none-match: \"\"");
	check_etag(false, "etag: \"a\"", "if-none-match: \"A\"");
	check_etag(false, "etag: \"a\"", "if-none-match: \"ab\"");
	check_etag(false, NULL, "if-none-match: \"a\"");
	check_etag(false, "etag: \"a\"", NULL);
	check_etag(false, NULL, NULL);
}

static void if_none_match_is_a_list_or_a_star(void **state)
{
	(void)state;
	check_etag(true, "etag: \"c\"", "if-none-match: \"a\" , ,W/\"b\",\"c\"");
	check_etag(true, "etag: \"a,\"", "if-none-match: \"b\", \"a,\"");
	check_etag(true, "etag: \"a\\\"", "if-none-match: \"a\\\", \"b\"");
	check_etag(true, "etag: \"b\"", "if-none-match: \"a\\\", \"b\"");
	check_etag(false, "etag: \"b\"", "if-none-match: \"a, b\"");
	check_etag(true, "etag: \"a\"", "if-none-match: *");
	check_etag(false, NULL, "if-none-match: *");
	check_etag(false, "etag: \"*\"", "if-none-match: \"a\"");
}

static void malformed_tags_match_nothing(void **state)
{
	(void)state;
	check_etag(false, "etag: a", "if-none-match: a");
	check_etag(false, "etag: \"a", "if-none-match: \"a");
	check_etag(false, "etag: \"a\"x", "if-none-match: \"a\"");
	check_etag(false, "etag: w/\"a\"", "if-none-match: \"a\"");
	check_etag(false, "etag: \"a\"", "if-none-match: b, \"a\"");
	check_etag(false, "etag: \"a\"", "if-none-match: \"b\" \"a\"");
	check_etag(false, "etag: \"a\"", "if-none-match: *, \"b\"");
	check_etag(false, "etag: \"a\"", "if-none-match: ");
}

static void all_if_none_match_fields_count(void **state)
{
	(void)state;
	struct http_head *request =
	    REQUEST("if-none-match: \"a\"", "if-none-match: bad, \"a\"", "if-none-match: \"b\"");
	struct http_head *response = RESPONSE("etag: \"b\"");
	assert_true(http_etag_matches(request, response));
	http_head_free(request);
	http_head_free(response);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(status_decides_what_is_storable),
	    cmocka_unit_test(no_store_on_either_side_forbids_it),
	    cmocka_unit_test(private_is_for_no_shared_cache),
	    cmocka_unit_test(authorization_needs_leave_for_a_shared_cache),
	    cmocka_unit_test(only_get_and_head_are_stored),
	    cmocka_unit_test(s_maxage_goes_before_max_age_before_expires),
	    cmocka_unit_test(expires_counts_from_date_or_now),
	    cmocka_unit_test(expires_that_is_no_date_is_stale),
	    cmocka_unit_test(age_and_apparent_age_shorten_it),
	    cmocka_unit_test(nothing_said_or_no_cache_is_never_fresh),
	    cmocka_unit_test(what_a_client_may_use_again),
	    cmocka_unit_test(without_a_lifetime_a_validator_is_good_for_a_tenth_of_its_age),
	    cmocka_unit_test(heuristic_is_only_for_what_tells_nothing_itself),
	    cmocka_unit_test(lifetime_is_told_by_max_age_expires_or_s_maxage),
	    cmocka_unit_test(response_says_itself_that_it_is_the_same_for_all),
	    cmocka_unit_test(authorization_needs_leave_from_the_response),
	    cmocka_unit_test(age_is_the_first_member_or_nothing),
	    cmocka_unit_test(entity_tags_compare_weakly),
	    cmocka_unit_test(if_none_match_is_a_list_or_a_star),
	    cmocka_unit_test(malformed_tags_match_nothing),
	    cmocka_unit_test(all_if_none_match_fields_count),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
