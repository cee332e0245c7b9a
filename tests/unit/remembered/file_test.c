/* SPDX-License-Identifier: MIT */
/* The memory of pages as a file: nothing that is told is lost, no client is in it, and nothing is believed. */
#include "proxy/base/memory.h"
#include "tests/unit/remembered/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MUTATIONS = 2000, WRITTEN = 1800000000 };

static const struct remembered_view page = {.items = "/a.css=style ~/b.js=script https://cdn.example/c.js=script"};
static const struct remembered_view variant = {.path = "/v?x=1",
    .items = "/de.css=style",
    .request = "accept-language: de\ncookie: secret=1",
    .response = "vary: accept-language, cookie\nno-vary-search: key-order"};

static void learn(void)
{
	struct remembered_view v = variant;
	for (uint32_t c = 1; c <= 3; c++) {
		char fields[80];
		snprintf(fields, sizeof(fields), "accept-language: de\ncookie: secret=%u", c);
		v.request = fields;
		remembered_view(&w, 0x01020304 + c, &page);
		assert_int_equal(remembered_view(&w, 0x01020304 + c, &v), REMEMBERED_TAUGHT);
	}
	const struct remembered_view one = {.path = "/one", .items = "/private.css=style"};
	remembered_view(&w, 5, &one);
	remembered_outcome(&w, 0x01020305, &page, "/a.css", REMEMBERED_OFFERED);
}

static const char *read_back(const char *text, size_t length, uint64_t away)
{
	uint32_t line;
	remembered_clear(w.m);
	return remembered_read(w.m, slice_of(text, length), WRITTEN + away, w.now, &line);
}

static void what_is_told_comes_back(void **state)
{
	(void)state;
	size_t length, again;
	learn();
	char *text = remembered_text(&w, &length, WRITTEN);
	assert_null(read_back(text, length, 0));
	assert_string_equal(remembered_told(&w, &page), "/a.css https://cdn.example/c.js /b.js");
	assert_string_equal(remembered_told(&w, &variant), "/de.css");
	/* The same once more, in the same order. */
	char *other = remembered_text(&w, &again, WRITTEN);
	assert_int_equal(length, again);
	assert_memory_equal(text, other, length);
	free(other);
	free(text);
}

static void no_client_and_nothing_of_one_client_is_in_it(void **state)
{
	(void)state;
	size_t length;
	learn();
	char *text = remembered_text(&w, &length, WRITTEN);
	assert_null(memmem(text, length, "secret", 6));
	assert_null(memmem(text, length, "private", 7));
	assert_null(memmem(text, length, "/one", 4));
	free(text);
}

static void a_client_counts_once_over_restarts(void **state)
{
	(void)state;
	const struct remembered_view evil = {.items = "/evil.js=script"};
	size_t length;
	for (int i = 0; i < 10; i++) {
		remembered_view(&w, 1, &evil);
		char *text = remembered_text(&w, &length, WRITTEN);
		assert_null(read_back(text, length, 0));
		free(text);
	}
	assert_string_equal(remembered_told(&w, &evil), "");
}

static void ages_go_on_while_nobody_runs(void **state)
{
	(void)state;
	size_t length;
	learn();
	char *text = remembered_text(&w, &length, WRITTEN);
	/* The clock of a machine that has just started. */
	w.now = USEC_PER_SEC;
	assert_null(read_back(text, length, 13 * 86400));
	assert_string_equal(remembered_told(&w, &page), "/a.css https://cdn.example/c.js /b.js");
	assert_null(read_back(text, length, 15 * 86400));
	assert_string_equal(remembered_told(&w, &page), "");
	/* A clock that was set back, and one that is wrong. */
	assert_null(read_back(text, length, (uint64_t)0 - 86400));
	assert_string_equal(remembered_told(&w, &page), "/a.css https://cdn.example/c.js /b.js");
	assert_null(read_back(text, length, UINT64_MAX / 2));
	free(text);
}

static void what_was_read_gives_way_to_clients(void **state)
{
	(void)state;
	size_t length;
	learn();
	char *text = remembered_text(&w, &length, WRITTEN);
	assert_null(read_back(text, length, 0));
	const struct remembered_view v2 = {.items = "/a.css=style /new.js=script"};
	remembered_view(&w, 1, &v2);
	assert_string_equal(remembered_told(&w, &page), "/a.css https://cdn.example/c.js /b.js");
	remembered_view(&w, 2, &v2);
	assert_string_equal(remembered_told(&w, &page), "/a.css /new.js");
	free(text);
}

static void what_was_asked_for_stands_beside_votes_that_say_nothing_of_it(void **state)
{
	(void)state;
	const struct remembered_view v = {.items = "/a.css=style"};
	size_t length;
	for (uint32_t c = 1; c <= 3; c++) {
		remembered_view(&w, c, &v);
		remembered_asks(&w, c, "https://www.example/", "/i.png=image", false);
	}
	char *text = remembered_text(&w, &length, WRITTEN);
	assert_null(read_back(text, length, 0));
	free(text);
	for (uint32_t c = 11; c <= 20; c++) {
		remembered_view(&w, c, &v);
		assert_string_equal(remembered_told(&w, &v), "/a.css /i.png");
	}
}

static void pages_that_are_there_stay(void **state)
{
	(void)state;
	size_t length;
	uint32_t line;
	learn();
	char *text = remembered_text(&w, &length, WRITTEN);
	assert_null(remembered_read(w.m, slice_of(text, length), WRITTEN, w.now, &line));
	assert_int_equal(line, 3);
	assert_string_equal(remembered_told(&w, &page), "/a.css https://cdn.example/c.js /b.js");
	free(text);
}

#define BEGIN "{\"pushgate-pages\":1,\"written\":1800000000}\n"
#define NAME                                                                                                            \
	"\"scheme\":\"https\",\"authority\":\"a.example\",\"path\":\"/\",\"vary\":\"\",\"rule\":\"=*\",\"query\":\"\","         \
	"\"variant\":\"\",\"known\":5,\"viewed\":1,\"views\":3"
#define RESOURCE(target, sources, known, rest)                                                                          \
	"{\"target\":\"" target "\",\"rel\":\"preload\",\"as\":\"style\",\"crossorigin\":\"\",\"attributes\":\"\","            \
	"\"sources\":[" sources "],\"known\":" known ",\"named\":1,\"offered\":0,\"used\":0,\"failed\":0" rest "}"
#define PAGE(resources) BEGIN "{" NAME ",\"resources\":[" resources "]}\n"

static void hostile_bytes_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool is_good;
	} rows[] = {
	    {BEGIN, true},
	    {PAGE(RESOURCE("/a.css", "\"link\"", "5", "")), true},
	    {"", false},
	    {"\n", false},
	    {"[]\n", false},
	    {"{\"pushgate-pages\":2,\"written\":1}\n", false},
	    {"{\"pushgate-pages\":1,\"written\":-1}\n", false},
	    {"{\"pushgate-pages\":1}\n", false},
	    {BEGIN "\n", false},
	    {BEGIN "[]\n", false},
	    {BEGIN "{}\n", false},
	    {BEGIN "{" NAME ",\"resources\":[", false},
	    {BEGIN "{" NAME ",\"resources\":{}}\n", false},
	    {BEGIN "{" NAME ",\"views\":1,\"resources\":[]}\n", false},
	    {PAGE(""), false},
	    {PAGE("1"), false},
	    {PAGE(RESOURCE("/a.css", "\"link\"", "5", "") "," RESOURCE("/a.css", "\"head\"", "5", "")), false},
	    {PAGE(RESOURCE("a.css", "\"link\"", "5", "")), false},
	    {PAGE(RESOURCE("//a.css", "\"link\"", "5", "")), false},
	    {PAGE(RESOURCE("javascript:x", "\"link\"", "5", "")), false},
	    {PAGE(RESOURCE("/a\\u0000.css", "\"link\"", "5", "")), false},
	    {PAGE(RESOURCE("/a>.css", "\"link\"", "5", "")), false},
	    {PAGE(RESOURCE("/a\\n.css", "\"link\"", "5", "")), false},
	    {PAGE(RESOURCE("", "\"link\"", "5", "")), false},
	    {PAGE(RESOURCE("/a.css", "", "5", "")), false},
	    {PAGE(RESOURCE("/a.css", "\"link\",\"link\"", "5", "")), false},
	    {PAGE(RESOURCE("/a.css", "\"other\"", "5", "")), false},
	    {PAGE(RESOURCE("/a.css", "1", "5", "")), false},
	    {PAGE(RESOURCE("/a.css", "\"link\"", "0", "")), false},
	    {PAGE(RESOURCE("/a.css", "\"link\"", "-5", "")), false},
	    {PAGE(RESOURCE("/a.css", "\"link\"", "5.5", "")), false},
	    {PAGE(RESOURCE("/a.css", "\"link\"", "9999999999999", "")), false},
	    {PAGE(RESOURCE("/a.css", "\"link\"", "5", ",\"more\":1")), false},
	    {PAGE(RESOURCE("/a.css", "\"link\"", "5", "")) "x", false},
	    {PAGE(RESOURCE("/a.css", "\"asked\"", "5", "")), true},
	    {PAGE(RESOURCE("/a.css?q", "\"asked\"", "5", "")), false},
	    {PAGE(RESOURCE("/a.css", "\"link\",\"asked\"", "5", "")), true},
	    {PAGE(RESOURCE("/a.css?q", "\"link\",\"asked\"", "5", "")), false},
	    {PAGE(RESOURCE("/a.css", "\"link\",\"followed\"", "5", "")), false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_good = read_back(rows[i].text, strlen(rows[i].text), 0) == NULL;
		if (is_good != rows[i].is_good)
			fail_msg("%s", rows[i].text);
		char line[REMEMBERED_LINES][REMEMBERED_LINE];
		assert_true(is_good || remembered_lines(w.m, line, w.now) == 0);
	}
}

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void changed_bytes_are_refused_or_read(void **state)
{
	(void)state;
	size_t length;
	uint32_t seed = 1, good = 0;
	learn();
	char *text = remembered_text(&w, &length, WRITTEN), *copy = memory_alloc(length);
	for (int i = 0; i < MUTATIONS; i++) {
		memcpy(copy, text, length);
		size_t n = draw(&seed) % 4 ? length : draw(&seed) % length;
		for (uint32_t left = draw(&seed) % 3; left > 0 && n > 0; left--)
			copy[draw(&seed) % n] = (char)draw(&seed);
		good += read_back(copy, n, 0) == NULL;
		(void)remembered_told(&w, &page);
	}
	assert_true(good > 0 && good < MUTATIONS);
	free(copy);
	free(text);
}

static void the_longest_page_has_room(void **state)
{
	(void)state;
	static char items[REMEMBERED_RESOURCES * (REMEMBERED_TARGET_BYTES + 8)];
	char *at = items;
	for (int i = 0; i < REMEMBERED_RESOURCES / 2; i++) {
		at += sprintf(at, "%s/%02d/", i ? " " : "", i);
		memset(at, 'x', REMEMBERED_TARGET_BYTES - 8);
		at += REMEMBERED_TARGET_BYTES - 8;
		at += sprintf(at, ".css");
	}
	const struct remembered_view v = {.items = items};
	for (uint32_t c = 1; c <= 3; c++)
		remembered_view(&w, c, &v);
	size_t length;
	char *text = remembered_text(&w, &length, WRITTEN);
	assert_true(length > 32 * 1024);
	assert_null(read_back(text, length, 0));
	assert_true(strlen(remembered_told(&w, &v)) > 32 * 1000);
	free(text);
}

static void a_small_memory_reads_what_it_has_room_for(void **state)
{
	(void)state;
	size_t length;
	uint32_t line;
	for (int i = 0; i < 40; i++) {
		char path[16];
		snprintf(path, sizeof(path), "/%d", i);
		const struct remembered_view v = {.path = path, .items = "/a.css=style"};
		remembered_view(&w, 1, &v);
		remembered_view(&w, 2, &v);
	}
	char *text = remembered_text(&w, &length, WRITTEN);
	struct remembered_world small;
	remembered_world_init(&small, &(struct remembered_options){.pages = 16});
	assert_null(remembered_read(small.m, slice_of(text, length), WRITTEN, small.now, &line));
	char lines[REMEMBERED_LINES][REMEMBERED_LINE];
	assert_int_equal(remembered_lines(small.m, lines, small.now), 14);
	remembered_world_fini(&small);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	    TEST(what_is_told_comes_back),
	    TEST(no_client_and_nothing_of_one_client_is_in_it),
	    TEST(a_client_counts_once_over_restarts),
	    TEST(ages_go_on_while_nobody_runs),
	    TEST(what_was_read_gives_way_to_clients),
	    TEST(what_was_asked_for_stands_beside_votes_that_say_nothing_of_it),
	    TEST(pages_that_are_there_stay),
	    TEST(hostile_bytes_are_refused),
	    TEST(changed_bytes_are_refused_or_read),
	    TEST(the_longest_page_has_room),
	    TEST(a_small_memory_reads_what_it_has_room_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
