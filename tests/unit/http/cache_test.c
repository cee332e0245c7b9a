/* SPDX-License-Identifier: MIT */
/* What RFC 9111 lets a cache do with one response, and HTTP dates (RFC 9110 5.6.7). */
#include "proxy/http/cache.h"
#include "proxy/http/date.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Sun, 06 Nov 1994 08:49:37 GMT */
#define RFC_SEC UINT64_C(784111777)
#define NOW UINT64_C(1795000000)
#define NOW_TEXT "Wed, 18 Nov 2026 11:06:40 GMT"
#define NOW_PLUS_60 "Wed, 18 Nov 2026 11:07:40 GMT"
#define NOW_LESS_60 "Wed, 18 Nov 2026 11:05:40 GMT"

static struct http_head_pool *pool;

static int start(void **state)
{
	(void)state;
	pool = http_head_pool_new(4);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	http_head_pool_free(pool);
	return 0;
}

/* Lines "name: value", up to NULL. */
static struct http_head *built(enum http_head_kind kind, const char *const *lines)
{
	struct http_head *head = http_head_new(pool);
	head->kind = kind;
	head->method_token = HTTP_METHOD_GET;
	head->status = kind == HTTP_RESPONSE ? 200 : 0;
	for (; *lines; lines++) {
		const char *parted = strstr(*lines, ": ");
		assert_non_null(parted);
		http_head_add(
		    head, slice_of(*lines, (size_t)(parted - *lines)), slice_of_string(parted + 2));
	}
	return head;
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})
#define REQUEST(...) built(HTTP_REQUEST, LINES(__VA_ARGS__))
#define RESPONSE(...) built(HTTP_RESPONSE, LINES(__VA_ARGS__))
#define BARE_REQUEST() built(HTTP_REQUEST, NONE)
#define BARE_RESPONSE() built(HTTP_RESPONSE, NONE)

static struct http_cache_control control(enum http_head_kind kind, const char *const *lines)
{
	struct http_head *head = built(kind, lines);
	struct http_cache_control cc = http_cache_control(head);
	http_head_free(head);
	return cc;
}

#define RESPONSE_CONTROL(...) control(HTTP_RESPONSE, LINES(__VA_ARGS__))
#define REQUEST_CONTROL(...) control(HTTP_REQUEST, LINES(__VA_ARGS__))

static void every_directive_is_read_whatever_its_case_and_spacing(void **state)
{
	(void)state;
	static const char *const forms[] = {
	    "cache-control: no-store, no-cache, private, public, must-revalidate, "
	    "proxy-revalidate, immutable, max-age=5, s-maxage=6, only-if-cached, max-stale=7, "
	    "min-fresh=8",
	    "cache-control: ,,NO-STORE,No-Cache , PRIVATE\t,Public,MUST-REVALIDATE,"
	    "Proxy-Revalidate,Immutable,Max-Age=5,S-MAXAGE=6,Only-If-Cached,MAX-STALE=7,"
	    "Min-Fresh=8,",
	    "cache-control: no-store=x, no-cache=\"a, b\", private=\"set-cookie\", public=, "
	    "must-revalidate, proxy-revalidate, immutable, max-age = \"5\", s-maxage= 6 , "
	    "only-if-cached, max-stale =\" 7 \", min-fresh=\"8\"",
	};
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct http_cache_control cc = RESPONSE_CONTROL(forms[i]);
		assert_true(cc.no_store && cc.no_cache && cc.is_private && cc.is_public);
		assert_true(cc.must_revalidate && cc.proxy_revalidate && cc.immutable);
		assert_true(cc.only_if_cached && cc.has_max_stale);
		assert_true(cc.has_max_age && cc.has_s_maxage);
		assert_int_equal(cc.max_age_sec, 5);
		assert_int_equal(cc.s_maxage_sec, 6);
		assert_int_equal(cc.max_stale_sec, 7);
		assert_int_equal(cc.min_fresh_sec, 8);
	}
}

static void directives_are_found_whole_or_not_at_all(void **state)
{
	(void)state;
	struct http_cache_control cc = RESPONSE_CONTROL(
	    "cache-control: no-stores, xno-cache, "
	    "ext=\"no-store, private, max-age=1\", publicly, max-age2=3, \"no-store\", no store");
	assert_false(cc.no_store || cc.no_cache || cc.is_private || cc.is_public || cc.has_max_age);
	cc = RESPONSE_CONTROL("x-cache-control: no-store", "vary: no-store");
	assert_false(cc.no_store);
}

static void all_fields_count_together(void **state)
{
	(void)state;
	struct http_cache_control cc = RESPONSE_CONTROL("cache-control: max-age=1", "x: y",
	    "cache-control: no-cache", "cache-control: private");
	assert_true(cc.has_max_age && cc.no_cache && cc.is_private);
}

static void first_of_equal_directives_counts(void **state)
{
	(void)state;
	assert_int_equal(RESPONSE_CONTROL("cache-control: max-age=5, max-age=9").max_age_sec, 5);
	assert_int_equal(
	    RESPONSE_CONTROL("cache-control: max-age=5", "cache-control: max-age=9").max_age_sec,
	    5);
	assert_int_equal(RESPONSE_CONTROL("cache-control: max-age=x, max-age=9").max_age_sec, 0);
}

static void seconds_that_do_not_parse_are_zero_and_large_ones_are_cut(void **state)
{
	(void)state;
	static const char *const bad[] = {"cache-control: max-age",
	    "cache-control: max-age=", "cache-control: max-age=-1", "cache-control: max-age=1.5",
	    "cache-control: max-age=+1", "cache-control: max-age=1 2", "cache-control: max-age=abc",
	    "cache-control: max-age=0x1", "cache-control: max-age=\"\"",
	    "cache-control: max-age='1'", "cache-control: max-age=1s", "cache-control: max-age==1"};
	static const char *const large[] = {"cache-control: max-age=2147483648",
	    "cache-control: max-age=2147483649", "cache-control: max-age=4294967296",
	    "cache-control: max-age=18446744073709551616",
	    "cache-control: max-age=99999999999999999999999999999999999999"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct http_cache_control cc = RESPONSE_CONTROL(bad[i]);
		assert_true(cc.has_max_age);
		assert_int_equal(cc.max_age_sec, 0);
	}
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		assert_int_equal(RESPONSE_CONTROL(large[i]).max_age_sec, 2147483648u);
	assert_int_equal(RESPONSE_CONTROL("cache-control: max-age=007").max_age_sec, 7);
	assert_int_equal(REQUEST_CONTROL("cache-control: max-stale").max_stale_sec, UINT32_MAX);
	assert_int_equal(REQUEST_CONTROL("cache-control: max-stale=x").max_stale_sec, 0);
}

static void quote_without_an_end_forbids_storing(void **state)
{
	(void)state;
	assert_true(RESPONSE_CONTROL("cache-control: private=\"a, max-age=5, no-store").no_store);
	assert_true(RESPONSE_CONTROL("cache-control: max-age=\"").no_store);
	assert_false(RESPONSE_CONTROL("cache-control: max-age=\"\"").no_store);
}

static void pragma_counts_in_requests_without_cache_control(void **state)
{
	(void)state;
	assert_true(REQUEST_CONTROL("pragma: no-cache").no_cache);
	assert_true(REQUEST_CONTROL("pragma: x, NO-CACHE").no_cache);
	assert_false(REQUEST_CONTROL("pragma: x").no_cache);
	assert_false(REQUEST_CONTROL("pragma: no-cache", "cache-control: max-age=1").no_cache);
	assert_false(RESPONSE_CONTROL("pragma: no-cache").no_cache);
	assert_true(control(HTTP_PROMISE, LINES("pragma: no-cache")).no_cache);
}

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

static uint32_t age_of(const char *const *lines)
{
	struct http_head *response = built(HTTP_RESPONSE, lines);
	uint32_t sec = http_age_sec(response);
	http_head_free(response);
	return sec;
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

static void other_fields_compare_by_their_octets(void **state)
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

static void check_date(const char *text, uint64_t now_sec, uint64_t want)
{
	uint64_t sec = 0;
	if (!http_date_parse(slice_of_string(text), now_sec, &sec) || sec != want)
		fail_msg("%s: %llu", text, (unsigned long long)sec);
}

static void all_three_forms_of_a_date_are_read(void **state)
{
	(void)state;
	check_date("Sun, 06 Nov 1994 08:49:37 GMT", NOW, RFC_SEC);
	check_date("Sunday, 06-Nov-94 08:49:37 GMT", NOW, RFC_SEC);
	check_date("Sun Nov  6 08:49:37 1994", NOW, RFC_SEC);
	check_date("sUN, 06 nOV 1994 08:49:37 gmt", NOW, RFC_SEC);
	check_date(" Sun, 06 Nov 1994 08:49:37 GMT\t", NOW, RFC_SEC);
	check_date("Wed Nov 18 11:06:40 2026", NOW, NOW);
	check_date(NOW_TEXT, NOW, NOW);
	check_date("Thu, 01 Jan 1970 00:00:00 GMT", NOW, 0);
	check_date("Wed, 31 Dec 1969 23:59:59 GMT", NOW, 0);
	check_date("Sat, 01 Jan 0001 00:00:00 GMT", NOW, 0);
	check_date("Tue, 29 Feb 2000 00:00:00 GMT", NOW, 951782400);
	check_date("Wed, 01 Mar 2000 00:00:00 GMT", NOW, 951868800);
	check_date("Thu, 29 Feb 2024 23:59:60 GMT", NOW, 1709251200);
	check_date("Mon, 01 Mar 2100 00:00:00 GMT", NOW, 4107542400);
	check_date("Fri, 31 Dec 9999 23:59:59 GMT", NOW, 253402300799);
}

static void every_day_follows_the_one_before(void **state)
{
	(void)state;
	static const char months[12][4] = {
	    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	uint64_t want = 0, sec;
	for (int year = 1970; year <= 2110; year++) {
		for (int month = 0; month < 12; month++) {
			for (int day = 1; day <= 31; day++) {
				char text[64];
				int length = snprintf(text, sizeof(text),
				    "Mon, %02d %s %04d 00:00:00 GMT", day, months[month], year);
				if (!http_date_parse(slice_of(text, (size_t)length), NOW, &sec)) {
					assert_true(day > 28);
					continue;
				}
				assert_int_equal(sec, want);
				want += 86400;
			}
		}
	}
	assert_int_equal(want / 86400, 141 * 365 + 34); /* 35 leap years, but not 2100 */
}

static void two_digit_year_is_at_most_fifty_years_ahead(void **state)
{
	(void)state;
	const uint64_t year_2080 = 3471292800;
	check_date("Friday, 18-Nov-26 11:06:40 GMT", NOW, NOW);
	check_date("Friday, 01-Jan-76 00:00:00 GMT", NOW, 3345062400); /* 2076, within 50 years */
	check_date("Friday, 01-Jan-77 00:00:00 GMT", NOW, 220924800);  /* 1977 */
	check_date("Friday, 01-Jan-70 00:00:00 GMT", NOW, 3155760000); /* 2070 */
	check_date("Friday, 01-Jan-00 00:00:00 GMT", NOW, 946684800);  /* 2000 */
	check_date("Friday, 01-Jan-10 00:00:00 GMT", year_2080, 4417977600); /* 2110 */
	check_date("Friday, 01-Jan-99 00:00:00 GMT", 0, 915148800);          /* 1999 */
	check_date("Friday, 01-Jan-25 00:00:00 GMT", 0, 0);                  /* 1925 */
	check_date("Tuesday, 29-Feb-00 00:00:00 GMT", NOW, 951782400);
}

static void what_is_no_date_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", " ", "0", "Sun", "Sun,", "Sun, ", "1994",
	    "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
	    "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37 GMT x",
	    "Sun, 06 Nov 1994 08:49:37 GMTx", "Sun, 6 Nov 1994 08:49:37 GMT",
	    "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 19945 08:49:37 GMT",
	    "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
	    "Sun, 06  Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT",
	    "Sxn, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nxv 1994 08:49:37 GMT",
	    "Sun, 06 November 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
	    "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 32 Dec 1994 08:49:37 GMT",
	    "Sun, 29 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 2100 08:49:37 GMT",
	    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
	    "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
	    "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
	    "Sunday, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
	    "Sunday, 31-Nov-94 08:49:37 GMT", "Sunday Nov  6 08:49:37 1994",
	    "Sun Nov 6 08:49:37 1994", "Sun Nov   6 08:49:37 1994", "Sun Nov  6 08:49:37 94",
	    "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  0 08:49:37 1994"};
	uint64_t sec;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (http_date_parse(slice_of_string(bad[i]), NOW, &sec))
			fail_msg("read: %s", bad[i]);
	}
	const char *whole = "Sunday, 06-Nov-94 08:49:37 GMT";
	for (size_t length = 0; length < strlen(whole); length++)
		assert_false(http_date_parse(slice_of(whole, length), NOW, &sec));
}

static void date_is_written_in_the_preferred_form(void **state)
{
	(void)state;
	static const struct {
		uint64_t sec;
		const char *text;
	} rows[] = {
	    {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
	    {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
	    {951782399, "Mon, 28 Feb 2000 23:59:59 GMT"},
	    {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
	    {951868800, "Wed, 01 Mar 2000 00:00:00 GMT"},
	    {4107542399, "Sun, 28 Feb 2100 23:59:59 GMT"},
	    {4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"},
	    {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
	};
	char text[HTTP_DATE_LEN + 1] = "";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		http_date_write(text, rows[i].sec);
		assert_string_equal(text, rows[i].text);
	}
}

static void what_is_written_reads_the_same(void **state)
{
	(void)state;
	char text[HTTP_DATE_LEN];
	/* A step that meets each day of a leap year and each hour, over some centuries. */
	for (uint64_t sec = 0; sec < UINT64_C(13000000000); sec += 86400 * 3 + 3607) {
		uint64_t read = 0;
		http_date_write(text, sec);
		assert_true(http_date_parse(slice_of(text, sizeof(text)), 0, &read));
		assert_int_equal(read, sec);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_directive_is_read_whatever_its_case_and_spacing),
	    cmocka_unit_test(directives_are_found_whole_or_not_at_all),
	    cmocka_unit_test(all_fields_count_together),
	    cmocka_unit_test(first_of_equal_directives_counts),
	    cmocka_unit_test(seconds_that_do_not_parse_are_zero_and_large_ones_are_cut),
	    cmocka_unit_test(quote_without_an_end_forbids_storing),
	    cmocka_unit_test(pragma_counts_in_requests_without_cache_control),
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
	    cmocka_unit_test(age_is_the_first_member_or_nothing),
	    cmocka_unit_test(vary_compares_the_named_fields),
	    cmocka_unit_test(star_in_vary_matches_nothing),
	    cmocka_unit_test(all_vary_fields_count_and_the_first_to_differ_is_named),
	    cmocka_unit_test(absent_and_empty_are_not_the_same),
	    cmocka_unit_test(lists_compare_without_their_spacing_and_lines),
	    cmocka_unit_test(other_fields_compare_by_their_octets),
	    cmocka_unit_test(vary_without_end_matches_nothing),
	    cmocka_unit_test(entity_tags_compare_weakly),
	    cmocka_unit_test(if_none_match_is_a_list_or_a_star),
	    cmocka_unit_test(malformed_tags_match_nothing),
	    cmocka_unit_test(all_if_none_match_fields_count),
	    cmocka_unit_test(all_three_forms_of_a_date_are_read),
	    cmocka_unit_test(every_day_follows_the_one_before),
	    cmocka_unit_test(two_digit_year_is_at_most_fifty_years_ahead),
	    cmocka_unit_test(what_is_no_date_is_refused),
	    cmocka_unit_test(date_is_written_in_the_preferred_form),
	    cmocka_unit_test(what_is_written_reads_the_same),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
