/* SPDX-License-Identifier: MIT */
/* The memory of pages: Content-Security-Policy and Referrer-Policy of the origin's 103; Link fields of our own. */
#include "tests/unit/remembered/world.h"

#include "proxy/base/memory.h"
#include "proxy/http/field_key.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POLICY "default-src 'self' https://cdn.example; img-src *"
static const struct remembered_view page = {
    .items = "/a.css=style", .csp = POLICY, .referrer_policy = "no-referrer, same-origin"};

static void fields_are_told_as_resources_are(void **state)
{
	(void)state;
	remembered_view(&w, 1, &page);
	assert_string_equal(remembered_told_fields(&w, &page), " | ");
	remembered_view(&w, 1, &page);
	assert_string_equal(remembered_told_fields(&w, &page), " | ");
	remembered_view(&w, 2, &page);
	assert_string_equal(
	    remembered_told_fields(&w, &page), POLICY " | no-referrer, same-origin");
	assert_string_equal(remembered_told(&w, &page), "/a.css");
	const struct remembered_view other = {.path = "/other"};
	assert_string_equal(remembered_told_fields(&w, &other), " | ");
	w.now += 15 * WORLD_DAY;
	assert_string_equal(remembered_told_fields(&w, &page), " | ");
}

static void a_guarded_page_needs_three_clients(void **state)
{
	(void)state;
	struct remembered_view guarded = page;
	guarded.response = "set-cookie: a=b";
	remembered_view(&w, 1, &guarded);
	remembered_view(&w, 2, &guarded);
	assert_string_equal(remembered_told_fields(&w, &guarded), " | ");
	remembered_view(&w, 3, &guarded);
	assert_string_equal(
	    remembered_told_fields(&w, &guarded), POLICY " | no-referrer, same-origin");
}

static void a_value_that_changes_takes_over_when_most_clients_got_it(void **state)
{
	(void)state;
	struct remembered_view newer = page;
	newer.csp = "default-src 'none'";
	newer.referrer_policy = NULL;
	for (uint32_t c = 1; c <= 8; c++)
		remembered_view(&w, c, &page);
	for (uint32_t c = 9; c <= 11; c++)
		remembered_view(&w, c, &newer);
	assert_string_equal(remembered_told_fields(&w, &page), " | ");
	for (uint32_t c = 12; c <= 14; c++)
		remembered_view(&w, c, &newer);
	assert_string_equal(remembered_told_fields(&w, &page), "default-src 'none' | ");
}

static void a_value_of_one_view_alone_is_told_to_nobody_and_makes_no_new_version(void **state)
{
	(void)state;
	for (uint32_t c = 1; c <= 6; c++) {
		char csp[80];
		snprintf(csp, sizeof(csp), "script-src %s%u", c % 2 ? "'nonce-x" : "https://x", c);
		const struct remembered_view v = {.items = page.items, .csp = csp};
		remembered_view(&w, c, &v);
	}
	assert_string_equal(remembered_told_fields(&w, &page), " | ");
	assert_string_equal(remembered_told(&w, &page), "/a.css");
	/* Two clients with another set are enough for a new version. */
	for (uint32_t c = 7; c <= 8; c++) {
		char csp[80];
		snprintf(csp, sizeof(csp), "script-src https://x%u", c);
		const struct remembered_view v = {.items = "/b.css=style", .csp = csp};
		remembered_view(&w, c, &v);
	}
	assert_string_equal(remembered_told(&w, &page), "/b.css");
}

static void values_that_could_be_no_policy_are_not_remembered(void **state)
{
	(void)state;
	char longest[REMEMBERED_FIELD_BYTES + 2];
	memset(longest, 'x', sizeof(longest));
	longest[REMEMBERED_FIELD_BYTES] = '\0';
	const struct {
		const char *csp, *referrer_policy, *told;
	} rows[] = {
	    {"", "", " | "},
	    {"a\rb", "a\nb", " | "},
	    {"a\x80", "a\x80", " | "},
	    {" a", " a", " | "},
	    {"a\"b", "a;b", " | "},
	    {"a\\b", "a:b", " | "},
	    {"script-src 'NONCE-abc'", "origin", " | origin"},
	    {"script-src 'sha256-AA=='; nonce-less", "unsafe-url",
		"script-src 'sha256-AA=='; nonce-less | unsafe-url"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[8];
		snprintf(path, sizeof(path), "/%zu", i);
		const struct remembered_view v = {
		    .path = path, .csp = rows[i].csp, .referrer_policy = rows[i].referrer_policy};
		for (uint32_t c = 1; c <= 2; c++)
			remembered_view(&w, c, &v);
		assert_string_equal(remembered_told_fields(&w, &v), rows[i].told);
	}
	struct remembered_view v = {.path = "/long", .csp = longest};
	for (uint32_t c = 1; c <= 2; c++)
		remembered_view(&w, c, &v);
	assert_int_equal(strlen(remembered_told_fields(&w, &v)), REMEMBERED_FIELD_BYTES + 3);
	memcpy(longest + REMEMBERED_FIELD_BYTES, "x", 2);
	v.path = "/longer";
	for (uint32_t c = 1; c <= 2; c++)
		remembered_view(&w, c, &v);
	assert_string_equal(remembered_told_fields(&w, &v), " | ");
}

static void what_the_client_said_itself_is_not_told(void **state)
{
	(void)state;
	struct remembered_view mirrored = page;
	mirrored.csp = "default-src evil.example";
	mirrored.request = "x-forwarded-host: evil.example";
	for (uint32_t c = 1; c <= 3; c++)
		remembered_view(&w, c, &mirrored);
	assert_string_equal(remembered_told_fields(&w, &page), " | ");
	/* The scheme of a Referer is no word of a client. */
	struct remembered_view linked = page;
	linked.path = "/linked";
	for (uint32_t c = 1; c <= 2; c++) {
		linked.request = c == 1 ? "referer: https://search.example/" : NULL;
		remembered_view(&w, c, &linked);
	}
	assert_string_equal(
	    remembered_told_fields(&w, &linked), POLICY " | no-referrer, same-origin");
}

static void fields_come_back_from_the_file_and_reach_copies(void **state)
{
	(void)state;
	size_t length;
	uint32_t line;
	uint64_t since = 0;
	static char page_line[REMEMBERED_PAGE_BYTES];
	for (uint32_t c = 1; c <= 2; c++)
		remembered_view(&w, c, &page);
	char *text = remembered_text(&w, &length, 1000);
	struct remembered_world copy;
	remembered_world_init(&copy, NULL);
	assert_null(remembered_read(copy.m, slice_of(text, length), 1000, copy.now, &line));
	assert_string_equal(
	    remembered_told_fields(&copy, &page), POLICY " | no-referrer, same-origin");
	remembered_clear(copy.m);
	length = remembered_write_since(w.m, &since, page_line, w.now);
	assert_null(remembered_replace_page(copy.m, slice_of(page_line, length), 0, copy.now));
	assert_string_equal(
	    remembered_told_fields(&copy, &page), POLICY " | no-referrer, same-origin");
	remembered_world_fini(&copy);
	free(text);
}

static void say(const char *text, void *context)
{
	strcat(strcat(context, text), "\n");
}

static void explain_names_the_field(void **state)
{
	(void)state;
	char said[2048] = "";
	for (uint32_t c = 1; c <= 2; c++)
		remembered_view(&w, c, &page);
	struct http_head *request = remembered_request(&w, &page);
	assert_true(remembered_explain(w.m, request, say, said, w.now));
	assert_non_null(strstr(said, "\nContent-Security-Policy: " POLICY ": told (link); "));
	assert_non_null(strstr(said, "\nReferrer-Policy: no-referrer, same-origin: told (link); "));
	http_head_free(request);
}

/* As http_hint_make would make them for each request. */
static void link_fields_are_made_with_the_resource(void **state)
{
	(void)state;
	const struct remembered_options options = {.field_seed = 7};
	remembered_world_fini(&w);
	remembered_world_init(&w, &options);
	const struct remembered_view linked = {.items = "/a.css=style https://cdn.example/b.js=script"};
	struct remembered_told told[REMEMBERED_RESOURCES];
	struct remembered_fields fields;
	for (uint32_t c = 1; c <= 2; c++)
		remembered_view(&w, c, &linked);
	struct http_head *request = remembered_request(&w, &linked);
	assert_int_equal(remembered_find(w.m, request, told, &fields, w.now), 2);
	for (size_t i = 0; i < 2; i++) {
		bool is_own = told[i].item.target.ptr[0] == '/';
		struct slice link = is_own ? SLICE("</a.css>; rel=preload; as=style") : SLICE("");
		assert_true(slice_equal(told[i].link, link));
		assert_int_equal(told[i].link_key,
		    is_own ? http_field_key(7, HTTP_TOKEN_LINK, SLICE("link"), link) : 0);
	}
	http_head_free(request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	    TEST(fields_are_told_as_resources_are),
	    TEST(a_guarded_page_needs_three_clients),
	    TEST(a_value_that_changes_takes_over_when_most_clients_got_it),
	    TEST(a_value_of_one_view_alone_is_told_to_nobody_and_makes_no_new_version),
	    TEST(values_that_could_be_no_policy_are_not_remembered),
	    TEST(what_the_client_said_itself_is_not_told),
	    TEST(fields_come_back_from_the_file_and_reach_copies),
	    TEST(explain_names_the_field),
	    TEST(link_fields_are_made_with_the_resource),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
