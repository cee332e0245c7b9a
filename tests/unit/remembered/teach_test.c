/* SPDX-License-Identifier: MIT */
/* The memory of pages: who teaches, what is told, what is forgotten, and its bounds. */
#include "tests/unit/remembered/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct remembered_view page = {.items = "/a.css=style ~/b.js=script"};
static const struct remembered_view guarded = {
    .items = "/a.css=style ~/b.js=script", .response = "cache-control: private"};

static void views(uint32_t from, uint32_t to, const struct remembered_view *view)
{
	for (uint32_t c = from; c <= to; c++)
		assert_int_equal(remembered_view(&w, c, view), REMEMBERED_TAUGHT);
}

/* ---- who teaches ---- */

static void two_clients_teach_an_open_page(void **state)
{
	(void)state;
	views(1, 1, &page);
	assert_string_equal(remembered_told(&w, &page), "");
	views(2, 2, &page);
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
}

static void three_clients_teach_a_guarded_page(void **state)
{
	(void)state;
	static const char *const responses[] = {"cache-control: private", "set-cookie: a=b", "vary: Cookie"};
	for (int i = 0; i < 3; i++) {
		struct remembered_view v = {.path = "/0", .items = page.items, .response = responses[i]};
		char path[] = {'/', (char)('0' + i), 0};
		v.path = path;
		views(1, 2, &v);
		assert_string_equal(remembered_told(&w, &v), "");
		views(3, 3, &v);
		assert_string_equal(remembered_told(&w, &v), "/a.css /b.js");
	}
}

static void no_other_view_teaches(void **state)
{
	(void)state;
	static const struct {
		struct remembered_view view;
		enum remembered_answer answer;
	} rows[] = {
	    {{.status = 404}, REMEMBERED_NO_PAGE},
	    {{.status = 301}, REMEMBERED_NO_PAGE},
	    {{.status = 206}, REMEMBERED_NO_PAGE},
	    {{.status = 304}, REMEMBERED_NO_PAGE},
	    {{.is_post = true}, REMEMBERED_NO_PAGE},
	    {{.is_no_page_load = true}, REMEMBERED_NO_PAGE},
	    {{.type = ""}, REMEMBERED_NO_PAGE},
	    {{.type = "application/json"}, REMEMBERED_NO_PAGE},
	    {{.has_user = true}, REMEMBERED_CREDENTIALED},
	    {{.request = "authorization: Basic eDp5"}, REMEMBERED_CREDENTIALED},
	    {{.response = "cache-control: no-store"}, REMEMBERED_NOT_STORED},
	    {{.request = "cache-control: no-store"}, REMEMBERED_NOT_STORED},
	    {{.response = "vary: *"}, REMEMBERED_TOO_VARIED},
	    {{.response = "vary: a, b, c, d, e"}, REMEMBERED_TOO_VARIED},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct remembered_view v = rows[i].view;
		v.items = page.items;
		for (uint32_t c = 1; c < 9; c++)
			assert_int_equal(remembered_view(&w, c, &v), rows[i].answer);
		assert_string_equal(remembered_told(&w, &page), "");
		assert_string_not_equal(remembered_answer_text(rows[i].answer), "");
	}
}

static void xhtml_is_html_and_a_post_is_told_nothing(void **state)
{
	(void)state;
	struct remembered_view v = page;
	v.type = "Application/XHTML+xml";
	views(1, 2, &v);
	assert_string_equal(remembered_told(&w, &v), "/a.css /b.js");
	v.is_post = true;
	assert_string_equal(remembered_told(&w, &v), "");
}

static void schemes_authorities_and_paths_are_other_pages(void **state)
{
	(void)state;
	views(1, 2, &page);
	struct remembered_view v = page;
	v.is_plain_http = true;
	assert_string_equal(remembered_told(&w, &v), "");
	v = page;
	v.authority = "other.example";
	assert_string_equal(remembered_told(&w, &v), "");
	v.authority = "WWW.Example";
	assert_string_equal(remembered_told(&w, &v), "/a.css /b.js");
	v.path = "/A";
	assert_string_equal(remembered_told(&w, &v), "");
	v = page;
	v.path = "/?q=1";
	assert_string_equal(remembered_told(&w, &v), "");
}

static void style_sheets_and_requests_add_to_the_view(void **state)
{
	(void)state;
	const struct remembered_view v = {.path = "/p?x=1", .items = "/a.css=style"};
	for (uint32_t c = 1; c <= 3; c++) {
		views(c, c, &v);
		remembered_asks(&w, c, "https://www.example/p?x=1", "/f.woff2=font", true);
		remembered_asks(&w, c, "https://www.example/p?x=1", "/i.png=image /a.css=style /api=", false);
		assert_string_equal(
		    remembered_told(&w, &v), c == 1 ? "" : c == 2 ? "/a.css /f.woff2" : "/a.css /f.woff2 /i.png");
	}
	/* Too late, by a client without a view, and after another page. */
	views(4, 4, &v);
	remembered_asks(&w, 9, "https://www.example/p", "/late.png=image", false);
	remembered_asks(&w, 4, "https://www.example/q", "/late.png=image", false);
	w.now += 11 * USEC_PER_SEC;
	for (uint32_t c = 1; c <= 4; c++)
		remembered_asks(&w, c, "https://www.example/p", "/late.png=image", false);
	assert_string_equal(remembered_told(&w, &v), "/a.css /f.woff2 /i.png");
}

static void assets_in_caches_are_told_and_rare_ones_are_not(void **state)
{
	(void)state;
	const struct remembered_view v = {.items = ""};
	for (uint32_t c = 1; c <= 8; c++) {
		views(c, c, &v);
		/* Three of eight ask: the others have it. */
		if (c > 5)
			remembered_asks(&w, c, "https://www.example/", "/i.png=image", false);
	}
	assert_string_equal(remembered_told(&w, &v), "/i.png");
	for (uint32_t c = 11; c <= 18; c++) {
		views(c, c, &v);
		remembered_asks(&w, c, "https://www.example/", c % 4 == 0 ? "/r.png=image" : "/i.png=image", false);
	}
	assert_string_equal(remembered_told(&w, &v), "/i.png");
}

static void clients_with_full_caches_change_nothing(void **state)
{
	(void)state;
	const struct remembered_view v = {.items = "/a.css=style"};
	for (uint32_t c = 1; c <= 3; c++) {
		views(c, c, &v);
		remembered_asks(&w, c, "https://www.example/", "/f.woff2=font", true);
		remembered_asks(&w, c, "https://www.example/", "/i.png=image", false);
	}
	for (uint32_t c = 11; c <= 60; c++)
		views(c, c, &v);
	assert_string_equal(remembered_told(&w, &v), "/a.css /f.woff2 /i.png");
	/* Others ask for something else. */
	for (uint32_t c = 61; c <= 63; c++) {
		views(c, c, &v);
		remembered_asks(&w, c, "https://www.example/", "/j.png=image", false);
	}
	assert_string_equal(remembered_told(&w, &v), "/a.css /f.woff2 /j.png");
	/* What nobody names for long is forgotten, though the page is viewed. */
	for (uint32_t c = 1; c <= 16; c++) {
		w.now += WORLD_DAY;
		views(100 + c, 100 + c, &v);
	}
	assert_string_equal(remembered_told(&w, &v), "/a.css");
}

/* ---- forgetting ---- */

static void what_fails_is_not_told_for_an_hour_then_for_a_day(void **state)
{
	(void)state;
	views(1, 3, &page);
	remembered_outcome(&w, 1, &page, "/a.css", REMEMBERED_GONE);
	assert_string_equal(remembered_told(&w, &page), "/b.js");
	w.now += 3601 * USEC_PER_SEC;
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
	remembered_outcome(&w, 1, &page, "/a.css", REMEMBERED_GONE);
	w.now += 3601 * USEC_PER_SEC;
	assert_string_equal(remembered_told(&w, &page), "/b.js");
	w.now += WORLD_DAY;
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
}

static void what_nobody_uses_pauses_for_a_day(void **state)
{
	(void)state;
	for (uint32_t c = 1; c <= 7; c++) {
		views(c, c, &page);
		remembered_outcome(&w, c, &page, "/a.css", REMEMBERED_OFFERED);
		remembered_outcome(&w, c, &page, "/b.js", REMEMBERED_OFFERED);
		if (c == 2)
			remembered_outcome(&w, c, &page, "/b.js", REMEMBERED_USED);
	}
	assert_string_equal(remembered_told(&w, &page), "/b.js");
	w.now += WORLD_DAY;
	views(11, 12, &page);
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
}

static void one_client_pauses_nothing(void **state)
{
	(void)state;
	views(1, 3, &page);
	for (int i = 0; i < 100; i++) {
		views(3, 3, &page);
		remembered_outcome(&w, 3, &page, "/a.css", REMEMBERED_OFFERED);
		remembered_outcome(&w, 9, &page, "/a.css", REMEMBERED_OFFERED);
	}
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
	char lines[REMEMBERED_LINES][REMEMBERED_LINE];
	assert_int_equal(remembered_lines(w.m, lines, w.now), 1);
	assert_non_null(strstr(lines[0], "; used 0 of 1"));
}

static void a_resource_does_not_inherit_the_outcomes_of_another(void **state)
{
	(void)state;
	/* The same validator: no new version, which would forget the votes. */
	const struct remembered_view sets[] = {{.items = "/a.css=style", .response = "etag: \"1\""},
	    {.items = "/b.css=style", .response = "etag: \"1\""},
	    {.items = "/c.css=style", .response = "etag: \"1\""}};
	views(1, 6, &sets[0]);
	for (uint32_t c = 1; c <= 4; c++)
		remembered_outcome(&w, c, &sets[0], "/a.css", REMEMBERED_OFFERED);
	for (int s = 1; s < 3; s++)
		views(1, 6, &sets[s]);
	views(7, 7, &sets[2]);
	remembered_outcome(&w, 7, &sets[2], "/c.css", REMEMBERED_OFFERED);
	assert_string_equal(remembered_told(&w, &sets[2]), "/c.css");
}

static void a_new_version_of_two_clients_takes_over(void **state)
{
	(void)state;
	const struct remembered_view v2 = {.items = "/a.css=style /c.js=script"};
	views(1, 6, &page);
	views(7, 7, &v2);
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
	views(7, 7, &v2);
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
	views(8, 8, &v2);
	assert_string_equal(remembered_told(&w, &page), "/a.css /c.js");
}

static void a_guarded_version_keeps_what_both_have_until_three_clients_came(void **state)
{
	(void)state;
	const struct remembered_view v2 = {
	    .items = "/a.css=style /c.js=script", .response = "cache-control: private"};
	views(1, 6, &guarded);
	views(7, 8, &v2);
	assert_string_equal(remembered_told(&w, &v2), "/a.css");
	views(9, 9, &v2);
	assert_string_equal(remembered_told(&w, &v2), "/a.css /c.js");
}

static void the_same_validator_with_another_set_is_no_new_version(void **state)
{
	(void)state;
	struct remembered_view v1 = page, v2 = {.items = "/c.js=script"};
	v1.response = v2.response = "etag: \"1\"";
	views(1, 6, &v1);
	views(7, 8, &v2);
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
}

static void a_page_is_forgotten_when_nobody_views_it(void **state)
{
	(void)state;
	views(1, 2, &page);
	w.now += 13 * WORLD_DAY;
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
	w.now += 2 * WORLD_DAY;
	assert_string_equal(remembered_told(&w, &page), "");
	const struct remembered_view other = {.path = "/o"};
	views(1, 1, &other);
	char line[256];
	remembered_describe(w.m, line, sizeof(line));
	assert_non_null(strstr(line, "pages=1/"));
}

/* ---- variants and queries ---- */

static void variants_have_sets_of_their_own(void **state)
{
	(void)state;
	const struct remembered_view de = {
	    .items = "/de.css=style", .request = "accept-language: de", .response = "vary: Accept-Language"};
	const struct remembered_view en = {
	    .items = "/en.css=style", .request = "accept-language: en", .response = "vary: accept-language, Accept-Encoding"};
	views(1, 2, &de);
	views(3, 4, &en);
	assert_string_equal(remembered_told(&w, &de), "/de.css");
	assert_string_equal(remembered_told(&w, &en), "/en.css");
	assert_string_equal(remembered_told(&w, &page), "");
}

static void a_client_that_makes_up_variants_displaces_none(void **state)
{
	(void)state;
	const struct remembered_view de = {
	    .items = "/de.css=style", .request = "accept-language: de", .response = "vary: Accept-Language"};
	views(1, 2, &de);
	for (int i = 0; i < 100; i++) {
		char field[40];
		snprintf(field, sizeof(field), "accept-language: x%d", i);
		const struct remembered_view v = {.items = "", .request = field, .response = de.response};
		assert_int_equal(remembered_view(&w, 9, &v), REMEMBERED_TAUGHT);
	}
	assert_string_equal(remembered_told(&w, &de), "/de.css");
}

static void rules_change_when_two_clients_have_them(void **state)
{
	(void)state;
	struct remembered_view v = page;
	views(1, 2, &page);
	v.response = "vary: accept-language";
	assert_int_equal(remembered_view(&w, 3, &v), REMEMBERED_OTHER_VARIANT);
	assert_int_equal(remembered_view(&w, 3, &v), REMEMBERED_OTHER_VARIANT);
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
	assert_int_equal(remembered_view(&w, 4, &v), REMEMBERED_TAUGHT);
	assert_string_equal(remembered_told(&w, &page), "");
	views(5, 5, &v);
	assert_string_equal(remembered_told(&w, &page), "/a.css /b.js");
}

static void queries_matter_as_no_vary_search_says(void **state)
{
	(void)state;
	struct remembered_view v = {.path = "/?a=1&u=2", .items = "/a.css=style", .response = "no-vary-search: params=(\"u\")"};
	views(1, 1, &v);
	v.path = "/?u=3&a=1";
	views(2, 2, &v);
	v.path = "/?a=1";
	assert_string_equal(remembered_told(&w, &v), "/a.css");
	v.path = "/?a=2";
	assert_string_equal(remembered_told(&w, &v), "");
}

/* ---- bounds ---- */

static void resources_of_a_page_are_bounded(void **state)
{
	(void)state;
	char items[64 * 100], *at = items;
	for (int i = 0; i < 200; i++)
		at += sprintf(at, "%s/%d.css=style", i ? " " : "", i);
	const struct remembered_view v = {.items = items};
	views(1, 3, &v);
	char line[256];
	remembered_describe(w.m, line, sizeof(line));
	assert_non_null(strstr(line, "resources=64 "));
}

static void pages_and_bytes_are_bounded_and_told_pages_stay(void **state)
{
	(void)state;
	struct remembered_world small;
	remembered_world_init(&small, &(struct remembered_options){.pages = 16, .bytes = 60000});
	remembered_view(&small, 1, &page);
	remembered_view(&small, 2, &page);
	for (int i = 0; i < 1000; i++) {
		char path[32];
		snprintf(path, sizeof(path), "/made-up/%d", i);
		const struct remembered_view v = {.path = path, .items = page.items};
		remembered_view(&small, 3, &v);
		assert_true(small.budget.used_bytes < 60000 + 4096);
	}
	assert_string_equal(remembered_told(&small, &page), "/a.css /b.js");
	remembered_world_fini(&small);
}

static void pages_that_told_something_leave_room_for_new_ones(void **state)
{
	(void)state;
	struct remembered_world small;
	remembered_world_init(&small, &(struct remembered_options){.pages = 16});
	char path[32];
	struct remembered_view v = {.path = path, .items = page.items};
	for (uint32_t c = 1; c <= 2; c++)
		for (int i = 0; i < 16; i++) {
			snprintf(path, sizeof(path), "/%d", i);
			remembered_view(&small, c, &v);
		}
	/* Two at a time, the pages before get their second client too. */
	for (int i = 0; i < 40; i++)
		for (uint32_t c = 1; c <= 2; c++) {
			snprintf(path, sizeof(path), "/%d", i);
			remembered_view(&small, c, &v);
		}
	char line[256];
	remembered_describe(small.m, line, sizeof(line));
	assert_non_null(strstr(line, "established=14 "));
	assert_string_equal(remembered_told(&small, &v), "/a.css /b.js");
	remembered_world_fini(&small);
}

static void a_memory_without_room_refuses(void **state)
{
	(void)state;
	struct remembered_world none;
	remembered_world_init(&none, &(struct remembered_options){.bytes = 600});
	for (uint32_t c = 1; c < 4; c++)
		assert_int_equal(remembered_view(&none, c, &page), REMEMBERED_NO_ROOM);
	assert_string_equal(remembered_told(&none, &page), "");
	remembered_world_fini(&none);
}

/* ---- what is printed ---- */

static char said[4096];

static void say(const char *line, void *context)
{
	(void)context;
	strcat(said, line);
	strcat(said, "\n");
}

static void status_and_explain_say_what_is_known(void **state)
{
	(void)state;
	char lines[REMEMBERED_LINES][REMEMBERED_LINE];
	struct remembered_view v2 = page;
	v2.items = "/a.css=style ~/b.js=script /c.png=image";
	views(1, 2, &page);
	views(3, 3, &v2);
	remembered_outcome(&w, 2, &page, "/b.js", REMEMBERED_OFFERED);
	remembered_outcome(&w, 2, &page, "/b.js", REMEMBERED_USED);
	remembered_outcome(&w, 2, &page, "/a.css", REMEMBERED_GONE);
	assert_int_equal(remembered_lines(w.m, lines, w.now), 1);
	assert_string_equal(lines[0],
	    "https://www.example/: 3 clients, 3 views, known for 3s; 1 of 3 resources told (head 1); used 1 of 1");
	struct http_head *request = remembered_request(&w, &page);
	said[0] = '\0';
	assert_true(remembered_explain(w.m, request, say, NULL, w.now));
	assert_non_null(strstr(said,
	    "/a.css as style: not told: it failed; tried again in 60min (link); known for 3s, named 1s ago; offered 0, "
	    "used 0, failed 1\n"));
	assert_non_null(strstr(said, "/b.js as script: told (head); known for 3s, named 1s ago; offered 1, used 1\n"));
	assert_non_null(strstr(said, "/c.png as image: not told: 1 more client must get it (link); known for 1s"));
	request->path = SLICE("/none");
	assert_false(remembered_explain(w.m, request, say, NULL, w.now));
	http_head_free(request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	    TEST(two_clients_teach_an_open_page),
	    TEST(three_clients_teach_a_guarded_page),
	    TEST(no_other_view_teaches),
	    TEST(xhtml_is_html_and_a_post_is_told_nothing),
	    TEST(schemes_authorities_and_paths_are_other_pages),
	    TEST(style_sheets_and_requests_add_to_the_view),
	    TEST(assets_in_caches_are_told_and_rare_ones_are_not),
	    TEST(clients_with_full_caches_change_nothing),
	    TEST(what_fails_is_not_told_for_an_hour_then_for_a_day),
	    TEST(what_nobody_uses_pauses_for_a_day),
	    TEST(one_client_pauses_nothing),
	    TEST(a_resource_does_not_inherit_the_outcomes_of_another),
	    TEST(a_new_version_of_two_clients_takes_over),
	    TEST(a_guarded_version_keeps_what_both_have_until_three_clients_came),
	    TEST(the_same_validator_with_another_set_is_no_new_version),
	    TEST(a_page_is_forgotten_when_nobody_views_it),
	    TEST(variants_have_sets_of_their_own),
	    TEST(a_client_that_makes_up_variants_displaces_none),
	    TEST(rules_change_when_two_clients_have_them),
	    TEST(queries_matter_as_no_vary_search_says),
	    TEST(resources_of_a_page_are_bounded),
	    TEST(pages_and_bytes_are_bounded_and_told_pages_stay),
	    TEST(pages_that_told_something_leave_room_for_new_ones),
	    TEST(a_memory_without_room_refuses),
	    TEST(status_and_explain_say_what_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
