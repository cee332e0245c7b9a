/* SPDX-License-Identifier: MIT */
/* The files of acme-dir: whole at any moment, and readable for their owner alone. */
#include "proxy/process/acme_helper.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], path[80], aside[88];

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/pushgate-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/l.pem", folder);
	snprintf(aside, sizeof(aside), "%s.new", path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	if (unlink(aside) != 0)
		rmdir(aside);
	return rmdir(folder);
}

static int write_text(const char *text)
{
	const struct slice parts[] = {slice_sub(slice_of_string(text), 0, 1),
	    slice_from(slice_of_string(text), 1)};
	return acme_file_write(path, parts, 2);
}

static void file_has(const char *text)
{
	size_t length;
	char *read = acme_file_read(path, &length);
	assert_non_null(read);
	assert_int_equal(length, strlen(text));
	assert_string_equal(read, text);
	free(read);
}

static void file_is_for_its_owner_alone(void **state)
{
	(void)state;
	struct stat st;
	mode_t mask = umask(0);
	assert_int_equal(write_text("first"), 0);
	umask(mask);
	file_has("first");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(access(aside, F_OK), -1);
}

static void file_is_replaced_as_a_whole(void **state)
{
	(void)state;
	struct stat before, after;
	assert_int_equal(write_text("the first one"), 0);
	assert_int_equal(stat(path, &before), 0);
	FILE *reader = fopen(path, "r");
	assert_int_equal(write_text("second"), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_true(before.st_ino != after.st_ino);
	char text[64] = "";
	assert_non_null(fgets(text, sizeof(text), reader));
	assert_string_equal(text, "the first one");
	fclose(reader);
	file_has("second");
}

static void half_of_a_killed_process_is_replaced(void **state)
{
	(void)state;
	FILE *f = fopen(aside, "w");
	fputs("half", f);
	fclose(f);
	assert_int_equal(write_text("whole"), 0);
	file_has("whole");
	assert_int_equal(access(aside, F_OK), -1);
}

static void file_stays_when_it_cannot_be_replaced(void **state)
{
	(void)state;
	assert_int_equal(write_text("first"), 0);
	assert_int_equal(mkdir(aside, 0700), 0); /* in the way */
	assert_int_equal(write_text("second"), EEXIST);
	file_has("first");
}

static void missing_files_and_folders_are_errors(void **state)
{
	(void)state;
	size_t length;
	const struct slice part = SLICE("x");
	char long_path[5000];
	assert_null(acme_file_read(path, &length));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(acme_file_write("/nowhere/at/all", &part, 1), ENOENT);
	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(acme_file_write(long_path, &part, 1), ENAMETOOLONG);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(file_is_for_its_owner_alone),
	    TEST(file_is_replaced_as_a_whole),
	    TEST(half_of_a_killed_process_is_replaced),
	    TEST(file_stays_when_it_cannot_be_replaced),
	    TEST(missing_files_and_folders_are_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
