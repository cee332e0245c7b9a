/* SPDX-License-Identifier: MIT */
/* The waterfall: columns, bars, cut paths. */
#include "proxy/tool/fetch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static char *shown(const struct fetch_result *result, size_t width)
{
	const struct fetch_request r = {.url = "http://a.test/", .method = "GET"};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	fetch_show(&r, result, width, out);
	fclose(out);
	return text;
}

static struct fetch_result result_of(struct fetch_item *items, size_t count)
{
	return (struct fetch_result){
	    .items = items, .count = count, .total = 10000, .protocol = "h2c"};
}

static char *nth_line(char *text, unsigned n)
{
	while (n-- > 0)
		text = strchr(text, '\n') + 1;
	*strchr(text, '\n') = '\0';
	return text;
}

static void response_and_pushes_are_lines_with_bars_on_one_scale(void **state)
{
	(void)state;
	struct fetch_item items[] = {
	    {.id = 1,
		.state = FETCH_COMPLETE,
		.status = 200,
		.path = "/",
		.first_byte = 5000,
		.end = 10000,
		.bytes = 12345},
	    {.id = 2,
		.state = FETCH_COMPLETE,
		.status = 200,
		.path = "/a.css",
		.promised = 2500,
		.first_byte = 5000,
		.end = 7400,
		.bytes = 7},
	};
	const struct fetch_result result = result_of(items, 2);
	char *text = shown(&result, 92);
	assert_non_null(strstr(text, "h2c: 1 push promised, 1 complete; 12.4kB in 10.0ms\n"));
	char *copy = strdup(text);
	assert_string_equal(nth_line(copy, 4),
	    "     1    200             5.0ms   10.0ms  12.3kB |..........==========| /");
	free(copy);
	assert_string_equal(nth_line(text, 5),
	    "     2    200    2.5ms    5.0ms    7.4ms      7B |     p....=====     | /a.css");
	free(text);
}

static void what_did_not_arrive_says_why(void **state)
{
	(void)state;
	struct fetch_item items[] = {
	    {.id = 1,
		.state = FETCH_COMPLETE,
		.status = 200,
		.path = "/",
		.first_byte = 1,
		.end = 2},
	    {.id = 2,
		.state = FETCH_RESET,
		.path = "/r",
		.promised = 1,
		.end = 9000,
		.why = "CANCEL"},
	    {.id = 4,
		.state = FETCH_REFUSED,
		.path = "/f",
		.promised = 1,
		.end = 1,
		.why = "another origin"},
	    {.id = 6, .state = FETCH_LOST, .path = "/l", .promised = 1},
	};
	const struct fetch_result result = result_of(items, 4);
	char *text = shown(&result, 80);
	assert_non_null(strstr(text, "/r (reset: CANCEL)\n"));
	assert_non_null(strstr(text, "/f (refused: another origin)\n"));
	assert_non_null(strstr(text, "/l (lost)\n"));
	assert_non_null(strstr(text, "3 pushes promised, 0 complete"));
	free(text);
}

static void interim_responses_have_lines_of_their_own(void **state)
{
	(void)state;
	struct fetch_item items[] = {
	    {.id = 1,
		.state = FETCH_COMPLETE,
		.status = 200,
		.path = "/",
		.first_byte = 5000,
		.end = 10000,
		.interims = {{103, 2000, "</a.css>; rel=preload"}},
		.interim_count = 1},
	};
	const struct fetch_result result = result_of(items, 1);
	char *text = shown(&result, 80);
	assert_non_null(
	    strstr(text, "\n          103             2.0ms  link: </a.css>; rel=preload\n"));
	free(text);
}

static void lines_fit_the_width_and_long_paths_are_cut(void **state)
{
	(void)state;
	char path[400];
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	struct fetch_item items[] = {
	    {.id = 2147483646,
		.state = FETCH_COMPLETE,
		.status = 200,
		.path = path,
		.first_byte = 1,
		.end = 9999},
	};
	const struct fetch_result result = result_of(items, 1);
	for (size_t width = 80; width < 1000; width += 37) {
		char *text = shown(&result, width);
		char *line = nth_line(text, 4);
		assert_in_range(strlen(line), 60, width + 4 /* the long id */);
		if (strlen(line) < 400)
			assert_string_equal(line + strlen(line) - 5, "pp...");
		free(text);
	}
}

static void nothing_sent_shows_nothing(void **state)
{
	(void)state;
	const struct fetch_result result = {0};
	char *text = shown(&result, 80);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(response_and_pushes_are_lines_with_bars_on_one_scale),
	    cmocka_unit_test(what_did_not_arrive_says_why),
	    cmocka_unit_test(interim_responses_have_lines_of_their_own),
	    cmocka_unit_test(lines_fit_the_width_and_long_paths_are_cut),
	    cmocka_unit_test(nothing_sent_shows_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
