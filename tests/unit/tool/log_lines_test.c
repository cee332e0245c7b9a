/* SPDX-License-Identifier: MIT */
/* The lines of an access log: what is read, and which request a push came with. */
#include "proxy/tool/log_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REQUEST(id) "{\"worker\":0,\"id\":" #id ",\"path\":\"/page\"}\n"
#define PUSH(parent) "{\"worker\":0,\"push\":true,\"parent\":" #parent "}\n"

static FILE *log_file;

static struct log_lines read_text(const char *text)
{
	struct log_lines l = {0};
	if (log_file)
		fclose(log_file);
	log_file = fmemopen((void *)(uintptr_t)text, strlen(text), "r"); /* read alone */
	assert_non_null(log_file);
	log_lines_read(&l, log_file);
	return l;
}

static const struct log_line *line(const struct log_lines *l, size_t number)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->lines[i].number == number)
			return &l->lines[i];
	fail_msg("no line %zu", number);
	return NULL;
}

/* The number of the line of its request; 0: none. */
static size_t parent_of(const struct log_lines *l, size_t number)
{
	const struct log_line *push = line(l, number);
	assert_true(push->is_push);
	return push->parent ? push->parent->number : 0;
}

static void push_finds_its_request_before_or_behind_it(void **state)
{
	(void)state;
	struct log_lines l = read_text(REQUEST(1) PUSH(1) PUSH(2) REQUEST(2) PUSH(2) PUSH(3));
	assert_int_equal(l.count, 6);
	assert_int_equal(parent_of(&l, 2), 1);
	assert_int_equal(parent_of(&l, 3), 4);
	assert_int_equal(parent_of(&l, 5), 4);
	assert_int_equal(parent_of(&l, 6), 0);
	log_lines_free(&l);
}

static void parent_and_its_pushes_stand_together(void **state)
{
	(void)state;
	struct log_lines l = read_text(PUSH(2) PUSH(1) REQUEST(2) REQUEST(1) PUSH(2));
	static const size_t order[] = {2, 4, 1, 3, 5};
	for (size_t i = 0; i < l.count; i++)
		assert_int_equal(l.lines[i].number, order[i]);
	log_lines_free(&l);
}

/* A worker that was started again counts from 1 again. */
static void nearest_request_of_the_name_counts(void **state)
{
	(void)state;
	struct log_lines l =
	    read_text(REQUEST(1) REQUEST(7) PUSH(1) REQUEST(8) PUSH(1) REQUEST(1) PUSH(1));
	assert_int_equal(parent_of(&l, 3), 1);
	assert_int_equal(parent_of(&l, 5), 6);
	assert_int_equal(parent_of(&l, 7), 6);
	log_lines_free(&l);
}

static void workers_count_each_for_itself(void **state)
{
	(void)state;
	struct log_lines l =
	    read_text(REQUEST(1) "{\"worker\":1,\"id\":1}\n{\"worker\":1,\"push\":true,"
				 "\"parent\":1}\n" PUSH(1));
	assert_int_equal(parent_of(&l, 3), 2);
	assert_int_equal(parent_of(&l, 4), 1);
	log_lines_free(&l);
}

static void what_is_no_line_of_a_log_is_counted(void **state)
{
	(void)state;
	struct log_lines l = read_text("\n[1]\n{\"worker\":\n" REQUEST(1) "{} {}\n7");
	assert_int_equal(l.count, 1);
	assert_int_equal(l.unread, 5);
	assert_int_equal(l.lines[0].number, 4);
	log_lines_free(&l);
	l = read_text("\n");
	assert_int_equal(l.count, 0);
	log_lines_free(&l);
}

static void members_are_strings_or_empty(void **state)
{
	(void)state;
	struct log_lines l = read_text("{\"path\":\"/a\",\"status\":200,\"rule\":null}\n");
	assert_string_equal(log_line_text(&l.lines[0], "path"), "");
	log_lines_load(&l, 0, 1);
	assert_string_equal(log_line_text(&l.lines[0], "path"), "/a");
	assert_string_equal(log_line_text(&l.lines[0], "status"), "");
	assert_string_equal(log_line_text(&l.lines[0], "rule"), "");
	assert_string_equal(log_line_text(&l.lines[0], "other"), "");
	log_lines_unload(&l, 0, 1);
	log_lines_free(&l);
}

static void lines_of_one_request_are_loaded_together(void **state)
{
	(void)state;
	struct log_lines l = read_text(REQUEST(2) PUSH(1) REQUEST(1) PUSH(1) REQUEST(1));
	assert_int_equal(log_lines_group(&l, 0), 4);
	assert_int_equal(log_lines_group(&l, 4), 5);
	log_lines_load(&l, 0, 4);
	assert_string_equal(log_line_text(&l.lines[1], "path"), "/page");
	assert_string_equal(log_line_text(&l.lines[4], "path"), "");
	log_lines_unload(&l, 0, 4);
	assert_null(l.lines[1].json);
	log_lines_free(&l);
}

/* A pipe is copied to a file without a name, since each line is read twice. */
static void log_that_comes_through_a_pipe_can_be_loaded(void **state)
{
	(void)state;
	FILE *pipe = popen("printf '%s\\n' '{\"worker\":0,\"id\":1,\"path\":\"/a\"}' '{\"worker\":0,\"id\":2,\"path\":\"/b\"}'", "r");
	struct log_lines l = {0};
	assert_non_null(pipe);
	log_lines_read(&l, pipe);
	pclose(pipe);
	assert_int_equal(l.count, 2);
	log_lines_load(&l, 1, 2);
	assert_string_equal(log_line_text(&l.lines[1], "path"), "/b");
	log_lines_unload(&l, 1, 2);
	log_lines_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(push_finds_its_request_before_or_behind_it),
	    cmocka_unit_test(parent_and_its_pushes_stand_together),
	    cmocka_unit_test(nearest_request_of_the_name_counts),
	    cmocka_unit_test(workers_count_each_for_itself),
	    cmocka_unit_test(what_is_no_line_of_a_log_is_counted),
	    cmocka_unit_test(members_are_strings_or_empty),
	    cmocka_unit_test(lines_of_one_request_are_loaded_together),
	    cmocka_unit_test(log_that_comes_through_a_pipe_can_be_loaded),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	fclose(log_file);
	return failed;
}
