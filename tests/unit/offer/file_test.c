/* SPDX-License-Identifier: MIT */
/* A manifest's file: taken again when it changes, kept when what comes is bad. */
/* covers: P-src-manifest */
#include "proxy/offer/offer.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char folder[32], path[64], aside[64];
	time_t second; /* of the next write: states must differ without waiting for the clock */
	char *errors;
	size_t length;
	FILE *stream;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	strcpy(f->folder, "/tmp/manifest-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/push.json", f->folder);
	snprintf(f->aside, sizeof(f->aside), "%s/aside.json", f->folder);
	f->second = 1000;
	f->stream = open_memstream(&f->errors, &f->length);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	fclose(f->stream);
	free(f->errors);
	unlink(f->path);
	unlink(f->aside);
	rmdir(f->folder);
	free(f);
	return 0;
}

static void put(struct fixture *f, const char *path, const char *text)
{
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	const struct timespec times[2] = {{.tv_sec = f->second}, {.tv_sec = f->second}};
	f->second++;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static size_t count_of(const struct offer_manifest_file *file)
{
	return offer_manifest_find(offer_manifest_file_content(file), SLICE("/")).count;
}

static bool has_said(struct fixture *f, const char *text)
{
	fflush(f->stream);
	bool is_said = f->errors && strstr(f->errors, text);
	rewind(f->stream);
	fflush(f->stream);
	if (f->errors)
		f->errors[0] = '\0';
	return is_said;
}

static bool is_silent(struct fixture *f)
{
	fflush(f->stream);
	return f->length == 0;
}

static struct offer_manifest_file *open_good(struct fixture *f)
{
	bool is_good;
	struct offer_manifest_file *file = offer_manifest_file_open(f->path, &is_good, f->stream);
	assert_true(is_good);
	return file;
}

/* What is there cannot be used: nothing is offered of it, and it is said once. */
static void assert_empty(struct fixture *f, const char *path)
{
	bool is_good;
	struct offer_manifest_file *file = offer_manifest_file_open(path, &is_good, f->stream);
	assert_false(is_good);
	assert_int_equal(count_of(file), 0);
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_SAME);
	offer_manifest_file_close(file);
}

static void file_that_is_bad_at_first_is_taken_when_it_is_good(void **state)
{
	struct fixture *f = *state;
	bool is_good;
	put(f, f->path, "{\"/a.css\": {\"wei");
	struct offer_manifest_file *file = offer_manifest_file_open(f->path, &is_good, f->stream);
	assert_false(is_good);
	assert_true(has_said(f, "push.json:1:"));
	put(f, f->path, "{\"/a.css\": {\"weight\": 1}}");
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_READ);
	assert_int_equal(count_of(file), 1);
	offer_manifest_file_close(file);
}

static void unchanged_file_is_not_read_again(void **state)
{
	struct fixture *f = *state;
	put(f, f->path, "{\"/a.css\": {}, \"/b.css\": {\"weight\": 1}}");
	struct offer_manifest_file *file = open_good(f);
	assert_non_null(file);
	const struct offer_manifest *m = offer_manifest_file_content(file);
	for (int i = 0; i < 3; i++)
		assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_SAME);
	assert_ptr_equal(offer_manifest_file_content(file), m);
	assert_int_equal(count_of(file), 2);
	assert_true(is_silent(f));
	offer_manifest_file_close(file);
}

static void changed_file_is_reloaded(void **state)
{
	struct fixture *f = *state;
	put(f, f->path, "{\"/a.css\": {\"weight\": 1}}");
	struct offer_manifest_file *file = open_good(f);
	put(f, f->path, "{\"/a.css\": {\"weight\": 1}, \"/b.css\": {}}");
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_READ);
	assert_int_equal(count_of(file), 2);
	/* The same length, another time. */
	put(f, f->path, "{\"/a.css\": {\"weight\": 1}, \"/c.css\": {}}");
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_READ);
	/* The same length and time, another inode. */
	f->second--;
	put(f, f->aside, "{\"/d.css\": {\"weight\": 1}, \"/c.css\": {}}");
	assert_int_equal(rename(f->aside, f->path), 0);
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_READ);
	assert_true(slice_equal(
	    offer_manifest_find(offer_manifest_file_content(file), SLICE("/")).list[0].target, SLICE("/d.css")));
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_SAME);
	assert_true(is_silent(f));
	offer_manifest_file_close(file);
}

static void bad_change_keeps_the_old_one_and_says_so_once(void **state)
{
	struct fixture *f = *state;
	put(f, f->path, "{\"/a.css\": {\"weight\": 1}}");
	struct offer_manifest_file *file = open_good(f);
	const struct offer_manifest *m = offer_manifest_file_content(file);
	put(f, f->path, "{\"/a.css\": {\"wei");
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_UNUSABLE);
	assert_true(has_said(f, "push.json:1:"));
	assert_ptr_equal(offer_manifest_file_content(file), m);
	assert_int_equal(count_of(file), 1);
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_SAME);
	put(f, f->path, "{\"/a.css\": {\"weight\": 1}, \"/b.css\": {}}");
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_READ);
	assert_int_equal(count_of(file), 2);
	offer_manifest_file_close(file);
}

static void vanished_file_keeps_the_old_one_and_says_so_once(void **state)
{
	struct fixture *f = *state;
	put(f, f->path, "{\"/a.css\": {\"weight\": 1}}");
	struct offer_manifest_file *file = open_good(f);
	unlink(f->path);
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_UNUSABLE);
	assert_true(has_said(f, "what was read before stays in use"));
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_SAME);
	assert_int_equal(count_of(file), 1);
	put(f, f->path, "{\"/a.css\": {\"weight\": 1}}");
	assert_int_equal(offer_manifest_file_check(file, f->stream), WATCHED_READ);
	offer_manifest_file_close(file);
}

static void what_is_no_file_offers_nothing(void **state)
{
	struct fixture *f = *state;
	assert_empty(f, f->path);
	assert_true(has_said(f, "cannot be read: No such file"));
	assert_empty(f, f->folder);
	assert_true(has_said(f, "is not a regular file"));
	/* A FIFO without a writer must not hold whoever opens it. */
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_empty(f, f->path);
	assert_true(has_said(f, "is not a regular file"));
}

static void file_that_is_too_large_is_left_unread(void **state)
{
	struct fixture *f = *state;
	put(f, f->path, "{}");
	assert_int_equal(truncate(f->path, OFFER_MANIFEST_BYTES + 1), 0);
	assert_empty(f, f->path);
	assert_true(has_said(f, "is larger than 1048576 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		file_that_is_bad_at_first_is_taken_when_it_is_good, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(unchanged_file_is_not_read_again, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(changed_file_is_reloaded, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		bad_change_keeps_the_old_one_and_says_so_once, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		vanished_file_keeps_the_old_one_and_says_so_once, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(what_is_no_file_offers_nothing, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		file_that_is_too_large_is_left_unread, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
