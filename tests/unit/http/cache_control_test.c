/* SPDX-License-Identifier: MIT */
/* Cache-Control and Pragma as they are read (RFC 9111 5.2, 5.4). */
#include "proxy/http/cache_control.h"
#include "tests/unit/http/heads.h"

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
		assert_true(cc.must_revalidate);
		assert_true(cc.has_max_age && cc.has_s_maxage);
		assert_int_equal(cc.max_age_sec, 5);
		assert_int_equal(cc.s_maxage_sec, 6);
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
	};
	return cmocka_run_group_tests(tests, start, stop);
}
