/* SPDX-License-Identifier: MIT */
/* Next pages: who teaches where clients go from a page, how many must agree, and that nothing else is told of them. */
#include "proxy/base/memory.h"
#include "tests/unit/remembered/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A client follows a link to this view. A second passes. */
static void follow(uint32_t client, const char *referer, const struct remembered_view *view)
{
	char fields[512];
	struct remembered_view v = *view;
	snprintf(fields, sizeof(fields), "referer: %s%s%s", referer, v.request ? "\n" : "", v.request ? v.request : "");
	v.request = fields;
	struct http_head *request = remembered_request(&w, &v), *response = http_head_new(w.pool);
	response->status = v.status ? v.status : 200;
	http_head_add(response, SLICE("content-type"), slice_of_string(v.type ? v.type : "text/html"));
	if (v.response)
		http_head_add(response, SLICE("cache-control"), slice_of_string(v.response));
	const struct remembered_lesson lesson = {.request = request,
	    .response = response,
	    .client = slice_of(&client, sizeof(client)),
	    .is_page_load = !v.is_no_page_load,
	    .has_user = v.has_user};
	remembered_follow(w.m, &lesson, w.now);
	w.now += USEC_PER_SEC;
	http_head_free(request);
	http_head_free(response);
}

static void go(uint32_t client, const char *from, const char *to)
{
	char referer[256];
	snprintf(referer, sizeof(referer), "https://www.example%s", from);
	follow(client, referer, &(struct remembered_view){.path = to});
}

static const char *next_of(const struct remembered *m, const char *path, const char *fields)
{
	static char text[1024];
	struct remembered_told told[REMEMBERED_RESOURCES];
	struct http_head *request = remembered_request(&w, &(struct remembered_view){.path = path, .request = fields});
	size_t count = remembered_next(m, request, told, w.now), at = 0;
	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		at += (size_t)sprintf(text + at, "%s%.*s", i > 0 ? " " : "", SLICE_ARG(told[i].item.target));
	http_head_free(request);
	return text;
}

#define assert_next(path, text) assert_string_equal(next_of(w.m, path, NULL), text)

static void three_clients_tell_where_a_page_leads(void **state)
{
	(void)state;
	go(1, "/", "/shop");
	go(1, "/", "/shop");
	go(2, "/", "/shop");
	assert_next("/", "");
	go(3, "/", "/shop");
	assert_next("/", "/shop");
	assert_next("/shop", "");
	/* It is no resource of the page. */
	assert_string_equal(remembered_told(&w, &(struct remembered_view){.path = "/"}), "");
	/* What the page needs does not depend on it, and the other way round. */
	for (uint32_t client = 10; client < 12; client++)
		remembered_view(&w, client, &(struct remembered_view){.path = "/", .items = "/a.css=style"});
	assert_string_equal(remembered_told(&w, &(struct remembered_view){.path = "/"}), "/a.css");
	assert_next("/", "/shop");
}

static void pages_that_are_seldom_opened_are_not_told(void **state)
{
	(void)state;
	for (uint32_t client = 1; client < 4; client++)
		go(client, "/", "/old");
	assert_next("/", "/old");
	for (uint32_t client = 4; client < 10; client++)
		go(client, "/", "/new");
	/* Of the last eight clients two have opened /old. */
	assert_next("/", "/new");
}

static void one_visit_may_lead_to_several_pages(void **state)
{
	(void)state;
	for (uint32_t client = 1; client < 4; client++) {
		go(client, "/", "/a");
		go(client, "/", "/b");
		go(client, "/", "/c"); /* no vote adds a third page */
	}
	assert_next("/", "/a /b");
	/* After half an hour it is another visit: the vote is about that one. */
	w.now += 31 * 60 * USEC_PER_SEC;
	go(3, "/", "/a");
	assert_next("/", "/a");
}

static void who_has_the_same_cookies_is_one_client(void **state)
{
	(void)state;
	for (uint32_t client = 1; client < 6; client++)
		follow(client, "https://www.example/", &(struct remembered_view){.path = "/x", .request = "cookie: id=12345"});
	assert_next("/", "");
	for (uint32_t client = 6; client < 8; client++)
		follow(client, "https://www.example/", &(struct remembered_view){.path = "/x"});
	assert_next("/", "/x");
}

static void what_a_cookie_names_is_the_clients_own(void **state)
{
	(void)state;
	char fields[64];
	for (uint32_t client = 1; client < 6; client++) {
		snprintf(fields, sizeof(fields), "cookie: user=alice; n=%u", (unsigned)client);
		follow(client, "https://www.example/", &(struct remembered_view){.path = "/users/alice", .request = fields});
	}
	assert_next("/", "");
}

static void only_links_of_the_site_to_pages_teach(void **state)
{
	(void)state;
	static const struct {
		const char *referer;
		struct remembered_view view;
	} rows[] = {
	    {"https://other.example/", {.path = "/x"}},
	    {"http://www.example/", {.path = "/x"}},
	    {"https://www.example:8443/", {.path = "/x"}},
	    {"https://www.example.evil/", {.path = "/x"}},
	    {"https://www.example", {.path = "/x"}}, /* the origin alone: the page is not known */
	    {"about:blank", {.path = "/x"}},
	    {"", {.path = "/x"}},
	    {"https://www.example/x", {.path = "/x"}}, /* a reload */
	    {"https://www.example/x?y", {.path = "/x"}},
	    {"https://www.example/", {.path = "/x?y=1"}},
	    {"https://www.example/", {.path = "/x;y"}},
	    {"https://www.example/", {.path = "/x%20y"}},
	    {"https://www.example/", {.path = "//x"}},
	    {"https://www.example/", {.path = "/x", .status = 302}},
	    {"https://www.example/", {.path = "/x", .status = 404}},
	    {"https://www.example/", {.path = "/x", .status = 503}},
	    {"https://www.example/", {.path = "/x", .type = "application/pdf"}},
	    {"https://www.example/", {.path = "/x", .response = "no-store"}},
	    {"https://www.example/", {.path = "/x", .is_no_page_load = true}},
	    {"https://www.example/", {.path = "/x", .is_post = true}},
	    {"https://www.example/", {.path = "/x", .has_user = true}},
	    {"https://www.example/", {.path = "/x", .request = "authorization: Basic x"}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint32_t client = 1; client < 5; client++)
			follow(client, rows[i].referer, &rows[i].view);
		if (*next_of(w.m, "/", NULL) || *next_of(w.m, "/x", NULL))
			fail_msg("row %zu", i);
	}
	/* A private page that the memory needs no lesson of: any three clients. */
	for (uint32_t client = 1; client < 4; client++)
		follow(client, "https://WWW.example/", &(struct remembered_view){.path = "/x", .response = "private"});
	assert_next("/", "/x");
}

/* A client may send any byte in a field: the message would be malformed. */
static void a_referer_that_is_no_uri_teaches_nothing(void **state)
{
	(void)state;
	static const char *const referers[] = {
	    "/?q=\xff", "/?q=\xc3\xa4", "/?q=a b", "/?q=\t1", "/\xff", "/?q=\x7f"};
	for (size_t i = 0; i < sizeof(referers) / sizeof(referers[0]); i++)
		for (uint32_t client = 1; client < 4; client++)
			go(client, referers[i], "/shop");
	assert_int_equal(remembered_taken(w.m), 0);
}

static void a_page_with_variants_learns_from_those_who_viewed_one(void **state)
{
	(void)state;
	const struct remembered_view in = {.path = "/", .request = "cookie: a=1", .response = "vary: cookie"},
				     out = {.path = "/", .response = "vary: cookie"};
	remembered_view(&w, 1, &in);
	for (uint32_t client = 2; client < 5; client++)
		remembered_view(&w, client, &out);
	for (uint32_t client = 2; client < 8; client++)
		go(client, "/", "/x"); /* of these, 5 to 7 have viewed neither, or long ago */
	assert_next("/", "/x");
	assert_string_equal(next_of(w.m, "/", "cookie: b=2"), "");
}

static void queries_that_matter_make_pages(void **state)
{
	(void)state;
	for (uint32_t client = 1; client < 4; client++)
		go(client, "/?tab=1&utm_source=x", "/x");
	assert_next("/?tab=1&utm_source=x", "/x");
	assert_next("/?tab=2", "");
	assert_next("/", "");
	for (uint32_t client = 1; client < 4; client++)
		go(client, "/", "/y");
	assert_next("/", "/y");
	assert_next("/?tab=1&utm_source=x", "/x");
	/* There are eight of a place at most. */
	char page[16];
	for (unsigned i = 2; i < 20; i++) {
		snprintf(page, sizeof(page), "/?tab=%u", i);
		for (uint32_t client = 1; client < 4; client++)
			go(client, page, "/z");
	}
	assert_next("/?tab=7", "/z");
	assert_next("/?tab=19", "");
	assert_next("/", "/y");
}

static void a_file_and_copies_have_them(void **state)
{
	(void)state;
	for (uint32_t client = 1; client < 4; client++)
		go(client, "/", "/shop");
	size_t length;
	uint32_t line;
	char *text = remembered_text(&w, &length, 1800000000);
	struct remembered *copy = remembered_new(&(struct remembered_options){0}, 1, NULL);
	assert_null(remembered_read(copy, slice_of(text, length), 1800000000, w.now, &line));
	assert_string_equal(next_of(copy, "/", NULL), "/shop");
	remembered_free(copy);
	free(text);
}

static void what_a_file_told_stands_until_enough_clients_went_elsewhere(void **state)
{
	(void)state;
	for (uint32_t client = 1; client < 4; client++)
		go(client, "/", "/shop");
	size_t length;
	uint32_t line;
	char *text = remembered_text(&w, &length, 1800000000);
	remembered_clear(w.m);
	assert_next("/", "");
	assert_null(remembered_read(w.m, slice_of(text, length), 1800000000, w.now, &line));
	free(text);
	go(1, "/", "/b");
	go(2, "/", "/b");
	/* A new version of the page does not end it. */
	for (uint32_t client = 10; client < 14; client++)
		remembered_view(&w, client, &(struct remembered_view){.path = "/", .items = client < 12 ? "/a.css=style" : "/b.css=style"});
	assert_string_equal(remembered_told(&w, &(struct remembered_view){.path = "/"}), "/b.css");
	assert_next("/", "/shop");
	go(3, "/", "/b");
	assert_next("/", "/b");
}

static void say(const char *line, void *context)
{
	strcat(context, line);
	strcat(context, "\n");
}

static void explain_says_what_is_missing(void **state)
{
	(void)state;
	char text[4096] = "";
	go(1, "/", "/shop");
	struct http_head *request = remembered_request(&w, &(struct remembered_view){.path = "/"});
	assert_true(remembered_explain(w.m, request, say, text, w.now));
	assert_non_null(strstr(text, "/shop: not told: 2 more clients must get it (followed); "));
	go(2, "/", "/shop");
	go(3, "/", "/shop");
	text[0] = '\0';
	assert_true(remembered_explain(w.m, request, say, text, w.now));
	assert_non_null(strstr(text, "1 of 1 resource told (followed 1)"));
	assert_non_null(strstr(text, "/shop: told (followed); "));
	http_head_free(request);
}

static void malformed_messages_are_refused(void **state)
{
	(void)state;
	static uint8_t good[REMEMBERED_MESSAGE_BYTES], bad[REMEMBERED_MESSAGE_BYTES];
	const uint32_t client = 1;
	struct http_head *request =
	    remembered_request(&w, &(struct remembered_view){.path = "/next", .request = "referer: https://www.example/from?q"});
	struct http_head *response = http_head_new(w.pool);
	response->status = 200;
	http_head_add(response, SLICE("content-type"), SLICE("text/html"));
	const struct remembered_lesson lesson = {.request = request,
	    .response = response,
	    .client = slice_of(&client, sizeof(client)),
	    .is_page_load = true};
	size_t length = remembered_next_message(w.m, &lesson, good);
	assert_true(length > 0);
	assert_null(remembered_take(w.m, slice_of(good, length), w.now));
	for (size_t cut = 0; cut < length; cut++)
		assert_non_null(remembered_take(w.m, slice_of(good, cut), w.now));
	/* Any byte may be another: nothing breaks, whatever is believed. */
	for (size_t at = 0; at < length; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(bad, good, length);
			bad[at] ^= (uint8_t)(1u << bit);
			(void)remembered_take(w.m, slice_of(bad, length), w.now);
		}
	/* An item that is no next page, two items, a query with a blank. */
	uint8_t *item = memmem(good, length, "/next", 5);
	memcpy(bad, good, length);
	bad[item - good] = 'n';
	assert_non_null(remembered_take(w.m, slice_of(bad, length), w.now));
	size_t item_bytes = 8 + 5;
	memcpy(bad, good, length);
	memcpy(bad + length, good + length - item_bytes, item_bytes);
	assert_non_null(remembered_take(w.m, slice_of(bad, length + item_bytes), w.now));
	memcpy(bad, good, length);
	bad[(uint8_t *)memmem(good, length, "/fromq", 6) - good + 5] = ' ';
	assert_non_null(remembered_take(w.m, slice_of(bad, length), w.now));
	http_head_free(request);
	http_head_free(response);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(three_clients_tell_where_a_page_leads),
	    TEST(pages_that_are_seldom_opened_are_not_told),
	    TEST(one_visit_may_lead_to_several_pages),
	    TEST(who_has_the_same_cookies_is_one_client),
	    TEST(what_a_cookie_names_is_the_clients_own),
	    TEST(only_links_of_the_site_to_pages_teach),
	    TEST(a_referer_that_is_no_uri_teaches_nothing),
	    TEST(a_page_with_variants_learns_from_those_who_viewed_one),
	    TEST(queries_that_matter_make_pages),
	    TEST(a_file_and_copies_have_them),
	    TEST(what_a_file_told_stands_until_enough_clients_went_elsewhere),
	    TEST(explain_says_what_is_missing),
	    TEST(malformed_messages_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
