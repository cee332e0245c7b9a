/* SPDX-License-Identifier: MIT */
/* Facts that a request's fields tell, and its draw. */
#include "tests/unit/policy/offer.h"

/* A request with up to two more fields. */
static struct http_head *request(struct http_head_pool *pool, const char *const fields[4])
{
	struct http_head *head = head_request(pool, "GET", "a.example", "/");
	for (int i = 0; i < 4 && fields[i]; i += 2)
		http_head_add(head, slice_of_string(fields[i]), slice_of_string(fields[i + 1]));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	return head;
}

static void fields_tell_navigation_saving_and_revalidation(void **state)
{
	(void)state;
	static const struct {
		const char *fields[4];
		enum policy_navigation navigation;
		bool saves, revalidates;
	} rows[] = {
	    {{NULL}, POLICY_NAVIGATION_UNKNOWN, false, false},
	    {{"sec-fetch-mode", "navigate"}, POLICY_NAVIGATION_YES, false, false},
	    {{"sec-fetch-mode", "navigate", "sec-fetch-dest", "document"}, POLICY_NAVIGATION_YES,
		false, false},
	    {{"sec-fetch-mode", "navigate", "sec-fetch-dest", "iframe"}, POLICY_NAVIGATION_NO,
		false, false},
	    {{"sec-fetch-mode", "navigate", "sec-fetch-dest", "frame"}, POLICY_NAVIGATION_NO, false,
		false},
	    {{"sec-fetch-mode", "navigate", "sec-fetch-dest", "embed"}, POLICY_NAVIGATION_NO, false,
		false},
	    {{"sec-fetch-mode", "navigate", "sec-fetch-dest", "object"}, POLICY_NAVIGATION_NO,
		false, false},
	    {{"sec-fetch-dest", "document"}, POLICY_NAVIGATION_YES, false, false},
	    {{"sec-fetch-dest", "style"}, POLICY_NAVIGATION_NO, false, false},
	    {{"sec-fetch-mode", "no-cors", "save-data", "on"}, POLICY_NAVIGATION_NO, true, false},
	    {{"save-data", "ON ; x=1"}, POLICY_NAVIGATION_UNKNOWN, true, false},
	    {{"save-data", "off"}, POLICY_NAVIGATION_UNKNOWN, false, false},
	    {{"save-data", "once"}, POLICY_NAVIGATION_UNKNOWN, false, false},
	    {{"if-none-match", "\"a\""}, POLICY_NAVIGATION_UNKNOWN, false, true},
	    {{"if-modified-since", "x"}, POLICY_NAVIGATION_UNKNOWN, false, true},
	    {{"cache-control", "max-age=0"}, POLICY_NAVIGATION_UNKNOWN, false, true},
	    {{"cache-control", "max-age=1"}, POLICY_NAVIGATION_UNKNOWN, false, false},
	    {{"cache-control", "x=\"no-cache\""}, POLICY_NAVIGATION_UNKNOWN, false, false},
	    {{"cache-control", "a, No-Cache"}, POLICY_NAVIGATION_UNKNOWN, false, true},
	    {{"pragma", "no-cache"}, POLICY_NAVIGATION_UNKNOWN, false, true},
	    {{"pragma", "no-cache", "cache-control", "max-age=9"}, POLICY_NAVIGATION_UNKNOWN, false,
		false},
	};
	struct http_head_pool *pool = http_head_pool_new(2);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct http_head *head = request(pool, rows[i].fields);
		assert_int_equal(policy_navigation_of(head), rows[i].navigation);
		assert_int_equal(policy_save_data_of(head), rows[i].saves);
		assert_int_equal(policy_revalidates(head), rows[i].revalidates);
		http_head_free(head);
	}
	http_head_pool_free(pool);
}

static void fields_tell_speculative_loads(void **state)
{
	(void)state;
	static const struct {
		const char *fields[4];
		enum policy_purpose purpose;
	} rows[] = {
	    {{NULL}, POLICY_PURPOSE_NONE},
	    {{"sec-purpose", "prefetch"}, POLICY_PURPOSE_PREFETCH},
	    {{"sec-purpose", "prefetch;prerender"}, POLICY_PURPOSE_PRERENDER},
	    {{"sec-purpose", "Prefetch ; anonymous-client-ip; Prerender"}, POLICY_PURPOSE_PRERENDER},
	    {{"sec-purpose", "prefetch;anonymous-client-ip"}, POLICY_PURPOSE_PREFETCH},
	    {{"sec-purpose", "prefetch;"}, POLICY_PURPOSE_PREFETCH},
	    {{"sec-purpose", "prerender"}, POLICY_PURPOSE_NONE},
	    {{"sec-purpose", "x;prefetch"}, POLICY_PURPOSE_NONE},
	    {{"sec-purpose", ""}, POLICY_PURPOSE_NONE},
	    {{"purpose", "prefetch"}, POLICY_PURPOSE_PREFETCH},
	    {{"x-moz", "prefetch"}, POLICY_PURPOSE_PREFETCH},
	    {{"x-mos", "prefetch"}, POLICY_PURPOSE_NONE},
	    {{"purpose", "prefetch", "sec-purpose", "prefetch;prerender"}, POLICY_PURPOSE_PRERENDER},
	    {{"sec-purpose", "prefetch;prerender", "purpose", "prefetch"}, POLICY_PURPOSE_PRERENDER},
	};
	struct http_head_pool *pool = http_head_pool_new(2);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct http_head *head = request(pool, rows[i].fields);
		assert_int_equal(policy_purpose_of(head), rows[i].purpose);
		http_head_free(head);
	}
	http_head_pool_free(pool);
}

static void draw_is_even_and_stays_with_client_and_path(void **state)
{
	(void)state;
	struct address client = {{192, 0, 2, 1}, 4};
	struct slice host = SLICE("a.example");
	uint32_t draw = policy_draw(&client, host, SLICE("/a?x=1"));
	assert_int_equal(draw, policy_draw(&client, host, SLICE("/a?x=2")));
	assert_int_not_equal(draw, policy_draw(&client, host, SLICE("/b")));
	unsigned below = 0;
	for (unsigned i = 0; i < 65536; i++) {
		client.bytes[2] = (uint8_t)(i >> 8), client.bytes[3] = (uint8_t)i;
		draw = policy_draw(&client, host, SLICE("/a"));
		assert_in_range(draw, 0, POLICY_DRAWS - 1);
		below += draw < POLICY_DRAWS / 10;
	}
	assert_in_range(below, 6200, 6900);
}

static void hosts_are_matched_without_port_and_last_dot(void **state)
{
	(void)state;
	static const struct {
		const char *authority, *glob;
		bool takes;
	} rows[] = {
	    {"www.example.com", "www.example.com", true},
	    {"www.example.com:8443", "www.example.com", true},
	    {"www.example.com.", "www.example.com", true},
	    {"www.example.com.:8443", "www.example.com", true},
	    {"[2001:db8::1]", "[2001:db8::1]", true},
	    {"[2001:db8::1]:443", "[2001:db8::1]", true},
	    {"", "", true},
	    {"", "www.example.com", false},
	    {"www.example.org", "www.example.com", false},
	};
	struct scene s;
	scene_init(&s);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct slice glob = slice_of_string(rows[i].glob);
		struct policy_rule rule = {.hosts = {&glob, NULL, 1}};
		s.parent->authority = slice_of_string(rows[i].authority);
		assert_int_equal(policy_rule_takes(&rule, &s.offer), rows[i].takes);
	}
	/* A rule that does not look at the request needs none. */
	s.offer.parent = NULL;
	assert_true(policy_rule_takes(&(struct policy_rule){0}, &s.offer));
	scene_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_tell_navigation_saving_and_revalidation),
	    cmocka_unit_test(fields_tell_speculative_loads),
	    cmocka_unit_test(draw_is_even_and_stays_with_client_and_path),
	    cmocka_unit_test(hosts_are_matched_without_port_and_last_dot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
