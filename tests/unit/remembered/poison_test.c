/* SPDX-License-Identifier: MIT */
/* What must teach nobody: what one client alone got, or what clients said themselves. */
#include "tests/support/remembered_world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct remembered_world w;

static int set_up(void **state)
{
	(void)state;
	static const struct slice ignored[] = {SLICE_INIT("utm_*")};
	remembered_world_init(&w, &(struct remembered_options){.ignored = ignored, .ignored_count = 1});
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remembered_world_fini(&w);
	return 0;
}

static const struct remembered_view page = {.items = "/a.css=style /b.js=script"};

static void views(uint32_t from, uint32_t to, const struct remembered_view *view)
{
	for (uint32_t c = from; c <= to; c++)
		(void)remembered_view(&w, c, view);
}

static void assert_told(const char *path, const char *told)
{
	const struct remembered_view v = {.path = path};
	assert_string_equal(remembered_told(&w, &v), told);
}

static void a_reflected_query_teaches_nobody(void **state)
{
	(void)state;
	views(1, 3, &page);
	const struct remembered_view evil = {.path = "/?utm_source=https%3a%2f%2fevil.example/x.js",
	    .items = "/a.css=style /b.js=script https://evil.example/x.js=script"};
	views(11, 30, &evil);
	assert_told("/", "/a.css /b.js");
	/* What is not a plain copy: these clients all said the same. */
	const struct remembered_view hidden = {.path = "/?utm_source=ZXZpbA",
	    .items = "/a.css=style /b.js=script https://evil.example/y.js=script"};
	views(11, 30, &hidden);
	assert_told("/", "/a.css /b.js");
}

static void a_query_that_matters_is_a_page_of_its_own(void **state)
{
	(void)state;
	views(1, 3, &page);
	const struct remembered_view evil = {.path = "/?q=evil", .items = "/evil.js=script"};
	views(11, 30, &evil);
	assert_told("/", "/a.css /b.js");
}

static void a_reflected_field_teaches_nobody(void **state)
{
	(void)state;
	static const char *const fields[] = {
	    "x-forwarded-host: evil.example",
	    "user-agent: evil.example",
	    "accept: text/html, evil.example/x",
	    "accept-language: de, evil.example",
	    "referer: https://evil.example/",
	    "referer: https://www.example/?r=evil.example",
	    "cookie: theme=%65vil.example",
	    "x-cdn: ZXZpbA",
	};
	views(1, 3, &page);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct remembered_view evil = {
		    .request = fields[i], .items = "/a.css=style /b.js=script https://evil.example/x.js=script"};
		views(11, 30, &evil);
		assert_told("/", "/a.css /b.js");
	}
}

static void honest_clients_with_fields_of_their_own_teach(void **state)
{
	(void)state;
	char field[64];
	for (uint32_t c = 1; c <= 3; c++) {
		snprintf(field, sizeof(field), "x-trace: %u\nreferer: https://www.example/styles/", c);
		const struct remembered_view v = {.request = field, .items = "/styles/application.css=style"};
		views(c, c, &v);
	}
	assert_told("/", "/styles/application.css");
}

static void one_client_that_asks_a_thousand_times_teaches_nothing(void **state)
{
	(void)state;
	const struct remembered_view evil = {.items = "/evil.js=script"};
	const struct remembered_view guarded = {
	    .path = "/g", .items = "/evil.js=script", .response = "cache-control: private"};
	for (int i = 0; i < 1000; i++) {
		views(1, 1, &evil);
		views(1, 1, &guarded);
	}
	assert_told("/", "");
	views(2, 2, &guarded);
	assert_told("/g", "");
	/* Nor does it displace what others got. */
	views(11, 13, &page);
	for (int i = 0; i < 1000; i++)
		views(1, 1, &evil);
	assert_told("/", "/a.css /b.js");
}

static void one_user_at_many_addresses_is_one_client(void **state)
{
	(void)state;
	const struct remembered_view v = {.request = "cookie: session=1234",
	    .response = "cache-control: private",
	    .items = "/a.css=style /users/alice.css=style"};
	views(1, 20, &v);
	assert_told("/", "");
}

static void names_of_users_in_paths_are_not_told(void **state)
{
	(void)state;
	static const char *const users[] = {"alice", "bernd", "carol", "david", "emily", "frank"};
	for (uint32_t c = 0; c < 6; c++) {
		char items[128], cookie[64];
		snprintf(items, sizeof(items), "/a.css=style /users/%s.css=style /users/me.css?u=%s=style", users[c],
		    users[c]);
		snprintf(cookie, sizeof(cookie), "cookie: user=%s", users[c]);
		const struct remembered_view v = {
		    .request = cookie, .response = "vary: cookie\nset-cookie: seen=1", .items = items};
		views(c + 1, c + 1, &v);
	}
	const struct remembered_view other = {.request = "cookie: user=zoe"};
	assert_string_equal(remembered_told(&w, &other), "/a.css");
}

static void guarded_pages_teach_plain_assets_of_their_own_site_alone(void **state)
{
	(void)state;
	const struct remembered_view v = {.response = "cache-control: private",
	    .items = "/a.css=style /logout= /x.css?token=1=style /x;y.css=style /%2e/x.css=style "
		     "https://cdn.example/c.js=script //cdn.example/c.js=script /data.json=fetch"};
	views(1, 8, &v);
	assert_told("/", "/a.css");
}

static void a_page_that_becomes_private_tells_no_other_urls_any_more(void **state)
{
	(void)state;
	struct remembered_view v = {.items = "/a.css=style /x.css?v1=style https://cdn.example/c.js=script"};
	views(1, 4, &v);
	assert_told("/", "/a.css /x.css?v1 https://cdn.example/c.js");
	v.response = "cache-control: private";
	views(5, 5, &v);
	assert_told("/", "/a.css");
}

static void logged_in_and_logged_out_are_variants(void **state)
{
	(void)state;
	const char *vary = "vary: cookie";
	const struct remembered_view out = {.response = vary, .items = "/a.css=style /login.js=script"};
	for (uint32_t c = 1; c <= 6; c++) {
		char cookie[64];
		snprintf(cookie, sizeof(cookie), "cookie: session=%u", 1000000 + c);
		const struct remembered_view in = {
		    .response = vary, .request = cookie, .items = "/a.css=style /account.js=script"};
		views(c, c, &in);
		views(10 + c, 10 + c, &out);
	}
	assert_string_equal(remembered_told(&w, &out), "/a.css /login.js");
	const struct remembered_view in = {.request = "cookie: session=9"};
	assert_string_equal(remembered_told(&w, &in), "/a.css /account.js");
}

static void logged_in_pages_that_do_not_say_so_are_not_told(void **state)
{
	(void)state;
	for (uint32_t c = 1; c <= 12; c++) {
		char cookie[64];
		snprintf(cookie, sizeof(cookie), "cookie: session=%u", 1000000 + c);
		const struct remembered_view in = {.response = "cache-control: private",
		    .request = cookie,
		    .items = "/a.css=style /account.js=script"};
		const struct remembered_view out = {
		    .response = "cache-control: private", .items = "/a.css=style /login.js=script"};
		views(c, c, c % 2 ? &in : &out);
	}
	assert_told("/", "/a.css");
}

static void what_experiments_differ_in_is_not_told(void **state)
{
	(void)state;
	const struct remembered_view arm_a = {.items = "/a.css=style /arm-a.js=script"};
	const struct remembered_view arm_b = {.items = "/a.css=style /arm-b.js=script"};
	uint32_t seed = 1, wrong = 0;
	for (uint32_t c = 1; c <= 200; c++) {
		seed = seed * 1664525u + 1013904223u;
		views(c, c, seed >> 30 & 1 ? &arm_a : &arm_b);
		const struct remembered_view v = {0};
		const char *told = remembered_told(&w, &v);
		wrong += c > 20 && strstr(told, "arm-") != NULL;
		if (c > 20)
			assert_non_null(strstr(told, "/a.css"));
	}
	/* Six of eight clients in the same arm come by chance. */
	assert_true(wrong < 60);
}

static void alternating_sets_are_not_told(void **state)
{
	(void)state;
	const struct remembered_view arms[] = {
	    {.items = "/a.css=style /arm-a.js=script"}, {.items = "/a.css=style /arm-b.js=script"}};
	for (uint32_t c = 1; c <= 100; c++)
		views(c, c, &arms[c % 2]);
	assert_told("/", "/a.css");
	for (uint32_t c = 101; c <= 200; c++) {
		views(c, c, &arms[c / 2 % 2]);
		if (c > 110)
			assert_told("/", "/a.css");
	}
}

static void ten_thousand_links_teach_nothing(void **state)
{
	(void)state;
	char *items = malloc(10000 * 20), *at = items;
	for (int i = 0; i < 10000; i++)
		at += sprintf(at, "%s/%d.css=style", i ? " " : "", i);
	const struct remembered_view v = {.items = items};
	for (uint32_t c = 1; c < 4; c++)
		assert_int_equal(remembered_view(&w, c, &v), REMEMBERED_TOO_LONG);
	assert_told("/", "");
	assert_true(w.budget.peak_bytes < 8192);
	free(items);
}

static void megabytes_of_text_teach_nothing(void **state)
{
	(void)state;
	const size_t size = 1 << 20;
	char *long_text = malloc(size + 64);
	strcpy(long_text, "/a.css=style /");
	memset(long_text + strlen(long_text), 'x', size);
	strcpy(long_text + size, ".css=style");
	const struct remembered_view v = {.items = long_text};
	views(1, 3, &v);
	assert_told("/", "/a.css");
	strcpy(long_text, "x-long: ");
	memset(long_text + 8, 'x', size);
	long_text[size] = '\0';
	const struct remembered_view r = {.path = "/r", .request = long_text, .items = "/a.css=style"};
	assert_int_equal(remembered_view(&w, 1, &r), REMEMBERED_TOO_LONG);
	struct remembered_view p = {.items = "/a.css=style"};
	memset(long_text, '/', size);
	p.path = long_text;
	assert_int_equal(remembered_view(&w, 1, &p), REMEMBERED_TOO_LONG);
	free(long_text);
}

static void words_made_to_be_compared_cost_little(void **state)
{
	(void)state;
	char *items = malloc(256 * 1020), *at = items, *field = malloc(8192), *f = field + sprintf(field, "x-words: ");
	for (int i = 0; i < 250; i++) {
		at += sprintf(at, "%s/", i ? " " : "");
		memset(at, 'x', 240);
		at += 240;
		at += sprintf(at, "%d.css", i);
		f += sprintf(f, "xxxxx%d,", i + 10000);
	}
	at += sprintf(at, " /a.css");
	const struct remembered_view v = {.items = items, .request = field};
	assert_int_equal(remembered_view(&w, 1, &v), REMEMBERED_TAUGHT);
	const struct remembered_view plain = {.items = "/a.css"};
	assert_int_equal(remembered_view(&w, 2, &plain), REMEMBERED_TAUGHT);
	/* /a.css has no byte of any word. */
	assert_told("/", "/a.css");
	char line[256];
	remembered_describe(w.m, line, sizeof(line));
	assert_null(strstr(line, "resources=0 "));
	free(items);
	free(field);
}

static void attributes_that_end_a_link_are_not_remembered(void **state)
{
	(void)state;
	static const struct {
		const char *attributes;
		bool is_good;
	} rows[] = {
	    {"; fetchpriority=high", true},
	    {"; imagesrcset=\"a.png 1x, b.png 2x\"", true},
	    {", </evil.js>; rel=preload", false},
	    {"; media=\"print", false},
	    {"; a=\"\\\"", false},
	    {"; a=b\r\nx: y", false},
	    {"; a=\x7f", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[] = {'/', (char)('a' + i), 0};
		const struct remembered_view v = {.path = path};
		const struct remembered_item item = {.target = SLICE("/a.css"),
		    .as = SLICE("style"),
		    .source = REMEMBERED_STYLE,
		    .attributes = slice_of_string(rows[i].attributes)};
		char uri[64];
		snprintf(uri, sizeof(uri), "https://www.example%s", path);
		for (uint32_t c = 1; c <= 2; c++) {
			views(c, c, &v);
			remembered_add(w.m, slice_of_string(uri), slice_of(&c, sizeof(c)), &item, 1, w.now);
		}
		assert_string_equal(remembered_told(&w, &v), rows[i].is_good ? "/a.css" : "");
	}
}

static void a_client_that_fills_a_page_leaves_room(void **state)
{
	(void)state;
	char evil[64 * 40], *at = evil;
	for (int i = 0; i < 64; i++)
		at += sprintf(at, "%s/evil/%d.css=style", i ? " " : "", i);
	const struct remembered_view v = {.items = evil};
	views(1, 1, &v);
	for (int i = 0; i < 10; i++)
		remembered_asks(&w, 1, "https://www.example/", evil, false);
	views(2, 4, &page);
	assert_told("/", "/a.css /b.js");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	    TEST(a_reflected_query_teaches_nobody),
	    TEST(a_query_that_matters_is_a_page_of_its_own),
	    TEST(a_reflected_field_teaches_nobody),
	    TEST(honest_clients_with_fields_of_their_own_teach),
	    TEST(one_client_that_asks_a_thousand_times_teaches_nothing),
	    TEST(one_user_at_many_addresses_is_one_client),
	    TEST(names_of_users_in_paths_are_not_told),
	    TEST(guarded_pages_teach_plain_assets_of_their_own_site_alone),
	    TEST(a_page_that_becomes_private_tells_no_other_urls_any_more),
	    TEST(logged_in_and_logged_out_are_variants),
	    TEST(logged_in_pages_that_do_not_say_so_are_not_told),
	    TEST(what_experiments_differ_in_is_not_told),
	    TEST(alternating_sets_are_not_told),
	    TEST(ten_thousand_links_teach_nothing),
	    TEST(megabytes_of_text_teach_nothing),
	    TEST(words_made_to_be_compared_cost_little),
	    TEST(attributes_that_end_a_link_are_not_remembered),
	    TEST(a_client_that_fills_a_page_leaves_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
