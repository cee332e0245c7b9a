/* SPDX-License-Identifier: MIT */
/* Speculation rules: which paths they name, their text, where they are, and what requests say. */
#include "proxy/speculation/speculation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

static void paths_that_do_something_are_not_named(void **state)
{
	(void)state;
	static const char *const acting[] = {
	    "/logout", "/Logout", "/log-out", "/logOut", "/users/sign_out", "/wp-login.php", "/wp-admin/", "/Admin/users",
	    "/cart", "/shop/add-to-cart/7", "/addToCart", "/items/7/delete", "/items/7/remove.php", "/check-out", "/checkout/",
	    "/unsubscribe/abc", "/un.subscribe", "/newsletter/opt-out", "/api/v1/items", "/cgi-bin/x", "/oauth2/authorize",
	    "/password/reset", "/posts/3/edit", "/a/update",
	};
	static const char *const unusual[] = {
	    "", "*", "a", "//evil.example/", "/a?b=c", "/?", "/a#b", "/a;b", "/a%62", "/a\\b", "/a\"b", "/a b", "/a\x7f", "/\xc3\xa9",
	};
	static const char *const showing[] = {
	    "/", "/index.html", "/shop/", "/shop/shoes", "/2024/11/a-page-about-logs", "/about.php", "/~user/x", "/Addresses",
	    "/blogging/outline", "/cartography", "/deleted-scenes", "/a,b", "/a@b", "/xn--a(b)", "/additions",
	};
	for (size_t i = 0; i < sizeof(acting) / sizeof(*acting); i++)
		if (speculation_may_name(slice_of_string(acting[i])))
			fail_msg("%s is named", acting[i]);
	for (size_t i = 0; i < sizeof(unusual) / sizeof(*unusual); i++)
		if (speculation_may_name(slice_of_string(unusual[i])))
			fail_msg("%s is named", unusual[i]);
	for (size_t i = 0; i < sizeof(showing) / sizeof(*showing); i++)
		if (!speculation_may_name(slice_of_string(showing[i])))
			fail_msg("%s is not named", showing[i]);
	assert_false(speculation_may_name(SLICE("/a\0b")));
}

static void long_paths_and_words_are_looked_through(void **state)
{
	(void)state;
	char path[SPECULATION_PATH_BYTES + 1];
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	assert_true(speculation_may_name(slice_of(path, SPECULATION_PATH_BYTES)));
	assert_false(speculation_may_name(slice_of(path, SPECULATION_PATH_BYTES + 1)));
	memcpy(path + SPECULATION_PATH_BYTES - 7, "/logout", 7);
	assert_false(speculation_may_name(slice_of(path, SPECULATION_PATH_BYTES)));
	/* The words at both sides of a long one. */
	memcpy(path, "/cart/", 6);
	assert_false(speculation_may_name(slice_of(path, 500)));
}

static void rules_are_json_with_lists_of_urls(void **state)
{
	(void)state;
	static const struct slice paths[] = {SLICE_INIT("/a"), SLICE_INIT("/b/c.html")};
	struct arena a;
	arena_init(&a, NULL, 0);
	struct slice text = speculation_rules(SPECULATION_PREFETCH, SPECULATION_MODERATE, paths, 2, &a);
	assert_true(slice_equal(text, SLICE("{\"tag\":\"pushgate\",\"prefetch\":[{\"source\":\"list\",\"urls\":[\"/a\",\"/b/c.html\"],"
					    "\"eagerness\":\"moderate\"}]}")));
	static const char *const eagerness[] = {"conservative", "moderate", "eager", "immediate"};
	for (unsigned i = 0; i < 4; i++) {
		const char *is = NULL, *url = NULL;
		text = speculation_rules(SPECULATION_PRERENDER, (enum speculation_eagerness)i, paths, 1, &a);
		json_t *json = json_loadb(text.ptr, text.len, 0, NULL);
		assert_int_equal(json_unpack(json, "{s:[{s:s,s:[s]}]}", "prerender", "eagerness", &is, "urls", &url), 0);
		assert_string_equal(is, eagerness[i]);
		assert_string_equal(url, "/a");
		json_decref(json);
	}
	assert_true(slice_equal(speculation_rules(SPECULATION_PREFETCH, SPECULATION_EAGER, NULL, 0, &a), SLICE("{}")));
	arena_fini(&a);
}

static void a_page_is_found_by_the_path_of_its_rules(void **state)
{
	(void)state;
	static const char *const pages[] = {"/", "/a/b.html", "/a?b=c&d=%20", "/\"x\"", "/a%2Fb", "/a'(b)*,;:@[]+{}|^`<>"};
	struct arena a;
	arena_init(&a, NULL, 0);
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		struct slice page = slice_of_string(pages[i]);
		struct slice path = speculation_rules_path(page, &a);
		assert_true(slice_starts_with(path, SLICE("/.well-known/pushgate/speculation?page=/")));
		assert_int_equal(slice_find(path, '"'), path.len);
		assert_int_equal(slice_find(path, '&'), path.len);
		assert_true(slice_equal(speculation_page_of(path, &a), page));
	}
	assert_true(slice_equal(speculation_rules_path(SLICE("/a?b=\"c\""), &a),
	    SLICE("/.well-known/pushgate/speculation?page=/a%3Fb%3D%22c%22")));
	arena_fini(&a);
}

static void other_paths_are_of_no_rules(void **state)
{
	(void)state;
#define AT "/.well-known/pushgate/speculation"
	static const char *const paths[] = {
	    "/", AT, AT "?", AT "?page", AT "?page=", AT "?page=a", AT "?page=%41", AT "/?page=/", AT "?Page=/", AT "?x&page=/",
	    AT "?page=/&x", AT "?page=/%", AT "?page=/%4", AT "?page=/%4g", AT "?page=/%00", AT "?page=/%0d%0a", AT "?page=/%20",
	    AT "?page=/%23", AT "?page=/%7f", AT "?page=/%e9", AT "?page=/+", "/x" AT "?page=/", AT "?page=http://a/",
	};
	struct arena a;
	arena_init(&a, NULL, 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (speculation_page_of(slice_of_string(paths[i]), &a).len > 0)
			fail_msg("%s", paths[i]);
	/* The bounds. */
	char page[3 * SPECULATION_PATH_BYTES + 64];
	memset(page, '"', sizeof(page));
	page[0] = '/';
	struct slice path = speculation_rules_path(slice_of(page, SPECULATION_PATH_BYTES), &a);
	assert_int_equal(speculation_page_of(path, &a).len, SPECULATION_PATH_BYTES);
	assert_int_equal(speculation_rules_path(slice_of(page, SPECULATION_PATH_BYTES + 1), &a).len, 0);
	memset(page, 'a', sizeof(page));
	memcpy(page, AT "?page=/", sizeof(AT "?page=/") - 1);
	size_t before = sizeof(AT "?page=") - 1;
	assert_int_equal(
	    speculation_page_of(slice_of(page, before + SPECULATION_PATH_BYTES), &a).len, SPECULATION_PATH_BYTES);
	assert_int_equal(speculation_page_of(slice_of(page, before + SPECULATION_PATH_BYTES + 1), &a).len, 0);
	assert_int_equal(speculation_page_of(slice_of(page, before + 3 * SPECULATION_PATH_BYTES + 1), &a).len, 0);
	arena_fini(&a);
}

static void requests_name_the_tags_of_rules(void **state)
{
	(void)state;
	struct http_head_pool *pool = http_head_pool_new(4);
	struct http_head *head = http_head_new(pool);
	assert_int_equal(speculation_tags(head).len, 0);
	http_head_add(head, SLICE("sec-speculation-tags"), SLICE("null, \"pushgate\""));
	assert_true(slice_equal(speculation_tags(head), SLICE("null, \"pushgate\"")));
	http_head_free(head);
	http_head_pool_free(pool);
}

static void rules_are_for_documents(void **state)
{
	(void)state;
	static const struct {
		enum http_method method;
		uint16_t status;
		const char *dest, *type, *rules;
		bool is_page;
	} rows[] = {
	    {HTTP_METHOD_GET, 200, "document", "text/html", NULL, true},
	    {HTTP_METHOD_GET, 200, "document", "Text/HTML; charset=utf-8", NULL, true},
	    {HTTP_METHOD_GET, 200, "document", "text/html", "\"/own.json\"", true},
	    {HTTP_METHOD_HEAD, 200, "document", "text/html", NULL, false},
	    {HTTP_METHOD_GET, 404, "document", "text/html", NULL, false},
	    {HTTP_METHOD_GET, 206, "document", "text/html", NULL, false},
	    {HTTP_METHOD_GET, 200, "iframe", "text/html", NULL, false},
	    {HTTP_METHOD_GET, 200, NULL, "text/html", NULL, false},
	    {HTTP_METHOD_GET, 200, "document", "text/plain", NULL, false},
	    {HTTP_METHOD_GET, 200, "document", "text/htmlx", NULL, false},
	    {HTTP_METHOD_GET, 200, "document", NULL, NULL, false},
	};
	struct http_head_pool *pool = http_head_pool_new(4);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct http_head *request = http_head_new(pool), *response = http_head_new(pool);
		request->method_token = (uint16_t)rows[i].method;
		response->status = rows[i].status;
		if (rows[i].dest)
			http_head_add(request, SLICE("sec-fetch-dest"), slice_of_string(rows[i].dest));
		if (rows[i].type)
			http_head_add(response, SLICE("content-type"), slice_of_string(rows[i].type));
		if (rows[i].rules)
			http_head_add(response, SLICE("speculation-rules"), slice_of_string(rows[i].rules));
		assert_int_equal(speculation_has_rules(response), rows[i].rules != NULL);
		if (speculation_is_page(request, response) != rows[i].is_page)
			fail_msg("row %zu", i);
		http_head_free(request);
		http_head_free(response);
	}
	http_head_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paths_that_do_something_are_not_named),
	    cmocka_unit_test(long_paths_and_words_are_looked_through),
	    cmocka_unit_test(rules_are_json_with_lists_of_urls),
	    cmocka_unit_test(a_page_is_found_by_the_path_of_its_rules),
	    cmocka_unit_test(other_paths_are_of_no_rules),
	    cmocka_unit_test(requests_name_the_tags_of_rules),
	    cmocka_unit_test(rules_are_for_documents),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
