/* SPDX-License-Identifier: MIT */
/* Files are read again when they have changed and rest. */
#include "proxy/process/file_watch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[32], paths[2][48];
static struct watched_file files[2];
static struct file_watch watch;
static usec now;
static unsigned version;

static void change(unsigned i)
{
	FILE *out = fopen(paths[i], "w");
	assert_non_null(out);
	/* The length differs each time: clocks of file systems are coarse. */
	for (unsigned n = 0; n <= version; n++)
		fputc('x', out);
	version++;
	fclose(out);
}

static bool look(void)
{
	now += FILE_WATCH_USEC;
	return file_watch_run(&watch, files, 2, now);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	watch = (struct file_watch){0};
	for (unsigned i = 0; i < 2; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%u", dir, i);
		change(i);
		files[i] = (struct watched_file){.path = paths[i]};
		assert_true(watched_file_has_changed(&files[i]));
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(paths[0]);
	unlink(paths[1]);
	return rmdir(dir);
}

static void files_that_rest_are_not_read(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_false(look());
}

static void a_change_is_reported_once_at_the_look_that_sees_none(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		change(i);
		assert_false(look());
		assert_true(look());
		assert_false(look());
	}
	unlink(paths[1]);
	assert_false(look());
	assert_true(look());
}

static void files_that_change_one_after_the_other_are_read_together(void **state)
{
	(void)state;
	change(0);
	assert_false(look());
	change(1);
	assert_false(look());
	assert_true(look());
}

static void a_file_that_never_rests_is_read_all_the_same(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < FILE_WATCH_RESTLESS; i++) {
			change(0);
			assert_false(look());
		}
		change(0);
		assert_true(look());
	}
}

static void nothing_is_looked_at_before_its_time(void **state)
{
	(void)state;
	assert_false(look());
	change(0);
	now += FILE_WATCH_USEC - 1;
	assert_false(file_watch_run(&watch, files, 2, now));
	assert_int_equal(watch.changes, 0);
	now++;
	assert_false(file_watch_run(&watch, files, 2, now));
	assert_int_equal(watch.changes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(files_that_rest_are_not_read, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_change_is_reported_once_at_the_look_that_sees_none, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(files_that_change_one_after_the_other_are_read_together, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_file_that_never_rests_is_read_all_the_same, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(nothing_is_looked_at_before_its_time, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
