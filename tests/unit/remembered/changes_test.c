/* SPDX-License-Identifier: MIT */
/* Copies of the memory of pages get what has changed, however far they are behind, and forget what it forgets. */
#include "proxy/base/memory.h"
#include "tests/support/remembered_world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct remembered_world w, copy;
static uint64_t since;
static char line[REMEMBERED_PAGE_BYTES];

static int set_up(void **state)
{
	(void)state;
	remembered_world_init(&w, &(struct remembered_options){.pages = 80});
	remembered_world_init(&copy, &(struct remembered_options){.pages = 80});
	since = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remembered_world_fini(&w);
	remembered_world_fini(&copy);
	return 0;
}

static const struct remembered_view page = {.items = "/a.css=style ~/b.js=script"};

/* Two clients get a page. */
static void learn(const char *path, const char *items, const char *response)
{
	const struct remembered_view v = {.path = path, .items = items, .response = response};
	remembered_view(&w, 1, &v);
	remembered_view(&w, 2, &v);
}

/* Gives the changes to the copy; returns how many lines there were. */
static int follow(void)
{
	size_t length;
	int count = 0;
	copy.now = w.now;
	remembered_look(w.m, w.now);
	for (; (length = remembered_write_since(w.m, &since, line, w.now)) > 0; count++)
		assert_null(remembered_replace_page(copy.m, slice_of(line, length), 0, copy.now));
	return count;
}

static const char *told(const char *path)
{
	const struct remembered_view v = {.path = path};
	return remembered_told(&copy, &v);
}

static void copies_follow(void **state)
{
	(void)state;
	learn("/", page.items, NULL);
	learn("/v", "/v.css=style", NULL);
	assert_int_equal(follow(), 2);
	assert_int_equal(follow(), 0);
	assert_string_equal(told("/"), "/a.css /b.js");
	assert_string_equal(told("/v"), "/v.css");
	/* A resource fails, and is back. */
	remembered_outcome(&w, 1, &page, "/a.css", REMEMBERED_GONE);
	assert_int_equal(follow(), 1);
	assert_string_equal(told("/"), "/b.js");
	w.now += 2 * 3600 * USEC_PER_SEC;
	assert_int_equal(follow(), 1);
	assert_string_equal(told("/"), "/a.css /b.js");
	/* Nothing is told any more. */
	const struct remembered_view v = {.path = "/v"};
	remembered_outcome(&w, 1, &v, "/v.css", REMEMBERED_GONE);
	assert_int_equal(follow(), 1);
	assert_string_equal(told("/v"), "");
	assert_non_null(remembered_replace_page(copy.m, SLICE("{}"), 0, copy.now));
	assert_string_equal(told("/"), "/a.css /b.js");
}

static void what_one_client_got_is_no_change(void **state)
{
	(void)state;
	remembered_view(&w, 1, &page);
	assert_int_equal(follow(), 0);
}

static void a_copy_that_is_behind_gets_the_newest_state_alone(void **state)
{
	(void)state;
	learn("/other", "/o.css=style", NULL);
	learn("/", page.items, NULL);
	for (int i = 0; i < 10; i++) {
		remembered_outcome(&w, 1, &page, "/a.css", REMEMBERED_GONE);
		remembered_look(w.m, w.now);
		w.now += 2 * WORLD_DAY / 10 * 6;
		remembered_look(w.m, w.now);
	}
	assert_int_equal(follow(), 2);
	assert_string_equal(told("/"), "/a.css /b.js");
	/* Another copy, from the beginning. */
	since = 0;
	remembered_clear(copy.m);
	assert_int_equal(follow(), 2);
	assert_string_equal(told("/other"), "/o.css");
}

static void pages_that_were_forgotten_go_from_copies(void **state)
{
	(void)state;
	learn("/", page.items, NULL);
	learn("/stays", "/s.css=style", NULL);
	assert_int_equal(follow(), 2);
	/* Other rules: the place begins anew with the second client, and its page is not told yet. */
	struct remembered_view v = {.items = page.items, .response = "vary: accept-language"};
	remembered_view(&w, 21, &v);
	remembered_view(&w, 22, &v);
	assert_int_equal(follow(), 1);
	assert_string_equal(told("/"), "");
	remembered_view(&w, 23, &v);
	assert_int_equal(follow(), 1);
	assert_string_equal(told("/"), "/a.css /b.js");
	/* Too old. */
	w.now += 15 * WORLD_DAY;
	(void)follow();
	assert_string_equal(told("/stays"), "");
	char text[256];
	remembered_describe(copy.m, text, sizeof(text));
	assert_non_null(strstr(text, " pages=0/"));
}

static void pages_without_room_go_from_copies_as_far_as_they_are_noted(void **state)
{
	(void)state;
	char path[16], text[256];
	for (int i = 0; i < 400; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		learn(path, "/a.css=style", NULL);
		if (i == 60)
			assert_int_equal(follow(), 61);
	}
	/* 64 are noted as forgotten. The copy makes room for the rest itself. */
	assert_int_equal(follow(), 70 + 64);
	assert_string_equal(told("/399"), "/a.css");
	assert_string_equal(told("/330"), "/a.css");
	remembered_describe(copy.m, text, sizeof(text));
	assert_non_null(strstr(text, " pages=70/"));
}

static void a_page_that_is_viewed_each_day_stays_in_a_copy(void **state)
{
	(void)state;
	learn("/", page.items, NULL);
	int lines = follow();
	for (uint32_t day = 0; day < 40; day++) {
		w.now += WORLD_DAY;
		remembered_view(&w, 100 + day % 3, &page);
		lines += follow();
		assert_string_equal(told("/"), "/a.css /b.js");
	}
	assert_in_range(lines, 40, 42);
}

static void views_of_a_copy_decide_what_it_forgets(void **state)
{
	(void)state;
	char path[16];
	learn("/", page.items, NULL);
	assert_int_equal(follow(), 1);
	struct http_head *request = remembered_request(&copy, &page), *response = http_head_new(copy.pool);
	response->kind = HTTP_RESPONSE;
	response->status = 200;
	http_head_add(response, SLICE("content-type"), SLICE("text/html"));
	const struct remembered_lesson lesson = {
	    .request = request, .response = response, .client = SLICE("1234"), .is_page_load = true};
	enum remembered_answer answer;
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		int n = snprintf(line, sizeof(line),
		    "{\"scheme\":\"https\",\"authority\":\"www.example\",\"path\":\"%s\",\"vary\":\"\",\"rule\":\"=*\","
		    "\"query\":\"\",\"variant\":\"\",\"known\":9,\"viewed\":1,\"views\":3,\"resources\":[{\"target\":"
		    "\"/x.css\",\"rel\":\"preload\",\"as\":\"style\",\"crossorigin\":\"\",\"attributes\":\"\",\"sources\":"
		    "[\"link\"],\"known\":9,\"named\":1,\"offered\":0,\"used\":0,\"failed\":0}]}",
		    path);
		assert_null(remembered_replace_page(copy.m, slice_of(line, (size_t)n), 0, copy.now));
		remembered_draft_free(remembered_draft_new(copy.m, &lesson, &answer, copy.now));
	}
	assert_string_equal(told("/"), "/a.css /b.js");
	assert_string_equal(told("/199"), "/x.css");
	assert_string_equal(told("/0"), "");
	http_head_free(request);
	http_head_free(response);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	    TEST(copies_follow),
	    TEST(what_one_client_got_is_no_change),
	    TEST(a_copy_that_is_behind_gets_the_newest_state_alone),
	    TEST(pages_that_were_forgotten_go_from_copies),
	    TEST(pages_without_room_go_from_copies_as_far_as_they_are_noted),
	    TEST(a_page_that_is_viewed_each_day_stays_in_a_copy),
	    TEST(views_of_a_copy_decide_what_it_forgets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
