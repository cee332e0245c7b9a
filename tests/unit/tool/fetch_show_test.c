/* SPDX-License-Identifier: MIT */
/* The waterfall: columns, bars, cut paths. */
#include "proxy/tool/fetch.h"
#include <jansson.h>
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
	fetch_show(&r, result, 0, width, out);
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
		.is_push = true,
		.start = 2500,
		.first_byte = 5000,
		.end = 7400,
		.bytes = 7},
	};
	const struct fetch_result result = result_of(items, 2);
	char *text = shown(&result, 73);
	assert_string_equal(text,
	    "GET http://a.test/\n"
	    "h2c: 1 push promised, 1 complete; 12.4 kB in 10.0 ms\n"
	    "\n"
	    "path   how status     size   start   first     end  0         5       ms\n"
	    "/       asked 200  12.3 kB     0.0     5.0    10.0 |r.........==========|\n"
	    "/a.css pushed 200      7 B     2.5     5.0     7.4 |     p....=====     |\n"
	    "\n"
	    "Bars: r requested, p promised, . waiting, = receiving\n");
	free(text);
}

static void asset_that_was_requested_is_told_from_a_push(void **state)
{
	(void)state;
	struct fetch_item items[] = {
	    {.id = 1, .state = FETCH_COMPLETE, .status = 200, .path = "/", .first_byte = 5000, .end = 5000},
	    {.id = 3,
		.state = FETCH_COMPLETE,
		.status = 200,
		.path = "/a.css",
		.start = 5000,
		.first_byte = 10000,
		.end = 10000},
	};
	const struct fetch_result result = result_of(items, 2);
	char *text = shown(&result, 73);
	assert_non_null(
	    strstr(text, "/a.css  asked 200      0 B     5.0    10.0    10.0 |          r........=|\n"));
	free(text);
}

static void axis_counts_seconds_when_they_are_many(void **state)
{
	(void)state;
	struct fetch_item items[] = {{.id = 1, .path = "/", .state = FETCH_COMPLETE, .end = 1}};
	struct fetch_result result = result_of(items, 1);
	result.total = 45 * USEC_PER_SEC;
	char *text = shown(&result, 71);
	assert_non_null(strstr(text, " in 45.00 s\n"));
	assert_non_null(strstr(text, "  0       20         s\n"));
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
		.is_push = true,
		.start = 1,
		.end = 9000,
		.why = "CANCEL"},
	    {.id = 4,
		.state = FETCH_REFUSED,
		.path = "/f",
		.is_push = true,
		.start = 1,
		.end = 1,
		.why = "another origin"},
	    {.id = 6, .state = FETCH_LOST, .path = "/l", .is_push = true, .start = 1},
	};
	const struct fetch_result result = result_of(items, 4);
	char *text = shown(&result, 80);
	assert_non_null(strstr(text, "x  | reset: CANCEL\n"));
	assert_non_null(strstr(text, " | refused: another origin\n"));
	assert_non_null(strstr(text, "x| lost\n"));
	assert_non_null(strstr(text, "3 pushes promised, 0 complete"));
	assert_non_null(strstr(text, "= receiving, x not completed\n"));
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
	    strstr(text, "ms\n      early 103              2.0  link: </a.css>; rel=preload\n/ "));
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
		assert_in_range(strlen(line), 60, width);
		assert_memory_equal(line, "...pp", 5);
		assert_non_null(strstr(line, "pp  asked "));
		free(text);
	}
}

static void json_has_each_stream_with_its_times(void **state)
{
	(void)state;
	struct fetch_item items[] = {
	    {.id = 1,
		.state = FETCH_COMPLETE,
		.status = 200,
		.path = "/\"",
		.first_byte = 5000,
		.end = 10000,
		.bytes = 12345,
		.interims = {{103, 2000, "</a.css>"}},
		.interim_count = 1},
	    {.id = 2, .state = FETCH_REFUSED, .path = "/f", .is_push = true, .start = 1, .why = "another origin"},
	};
	const struct fetch_result results[] = {result_of(items, 2), result_of(items, 1)};
	const struct fetch_request r = {.url = "http://a.test/", .method = "GET"};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	fetch_show_json(&r, results, 2, out);
	fclose(out);
	json_error_t error;
	json_t *all = json_loads(text, 0, &error), *run, *stream;
	assert_non_null(all);
	run = json_array_get(json_object_get(all, "runs"), 0);
	assert_string_equal(json_string_value(json_object_get(run, "url")), "http://a.test/");
	assert_int_equal(json_integer_value(json_object_get(run, "total_us")), 10000);
	assert_true(json_is_true(json_object_get(run, "takes_pushes")));
	stream = json_array_get(json_object_get(run, "streams"), 0);
	assert_string_equal(json_string_value(json_object_get(stream, "path")), "/\"");
	assert_string_equal(json_string_value(json_object_get(stream, "kind")), "requested");
	assert_int_equal(json_integer_value(json_object_get(stream, "first_byte_us")), 5000);
	assert_int_equal(json_integer_value(json_object_get(stream, "bytes")), 12345);
	assert_int_equal(json_array_size(json_object_get(stream, "interims")), 1);
	stream = json_array_get(json_object_get(run, "streams"), 1);
	assert_string_equal(json_string_value(json_object_get(stream, "kind")), "pushed");
	assert_string_equal(json_string_value(json_object_get(stream, "state")), "refused");
	assert_string_equal(json_string_value(json_object_get(stream, "why")), "another origin");
	assert_true(json_is_null(json_object_get(stream, "end_us")));
	/* The second run is the one without pushes. */
	run = json_array_get(json_object_get(all, "runs"), 1);
	assert_true(json_is_false(json_object_get(run, "takes_pushes")));
	json_decref(all);
	free(text);
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
	    cmocka_unit_test(asset_that_was_requested_is_told_from_a_push),
	    cmocka_unit_test(axis_counts_seconds_when_they_are_many),
	    cmocka_unit_test(what_did_not_arrive_says_why),
	    cmocka_unit_test(interim_responses_have_lines_of_their_own),
	    cmocka_unit_test(lines_fit_the_width_and_long_paths_are_cut),
	    cmocka_unit_test(json_has_each_stream_with_its_times),
	    cmocka_unit_test(nothing_sent_shows_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
