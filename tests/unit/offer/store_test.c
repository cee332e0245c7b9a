/* SPDX-License-Identifier: MIT */
/* What was learned outlives the process; files that are not ours change nothing. */
/* covers: P-src-learned P-src-learned-private */
#include "proxy/offer/offer.h"
#include "tests/support/learned_look.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SEC USEC_PER_SEC

struct fixture {
	char folder[32], path[64];
	struct offer_learned *t;
	usec now;
	char *errors;
	size_t length;
	FILE *stream;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	strcpy(f->folder, "/tmp/learned-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/learned.json", f->folder);
	f->t = offer_learned_new(&(struct offer_learned_options){0}, 1, NULL);
	f->now = 500 * SEC;
	f->stream = open_memstream(&f->errors, &f->length);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	offer_learned_free(f->t);
	fclose(f->stream);
	free(f->errors);
	unlink(f->path);
	assert_int_equal(rmdir(f->folder), 0); /* nothing else was left in it */
	free(f);
	return 0;
}

static void visits(struct fixture *f, int from, int to, const char *page, const char *path)
{
	char referer[128], client[16];
	snprintf(referer, sizeof(referer), "https://h.example%s", page);
	for (int i = from; i < to; i++) {
		sprintf(client, "c%d", i);
		struct offer_learned_request r = {.authority = SLICE("h.example"),
		    .client = slice_of_string(client),
		    .path = slice_of_string(page),
		    .is_get = true,
		    .is_navigation = true,
		    .status = 200};
		offer_learned_on_navigation(f->t, &r, f->now);
		r.is_navigation = false;
		r.path = slice_of_string(path);
		r.referer = slice_of_string(referer);
		offer_learned_on_request(f->t, &r, f->now);
		f->now += 11 * SEC;
		offer_learned_tick(f->t, f->now);
	}
}

static size_t offers(
    struct offer_learned *t, const char *page, struct offer_learned_item *items, usec now)
{
	return offer_learned_offers(t, SLICE("h.example"), slice_of_string(page), items, now);
}

static void what_was_saved_is_loaded(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item before[OFFER_LEARNED_RESOURCES], after[OFFER_LEARNED_RESOURCES];
	visits(f, 0, 4, "/", "/a.css");
	visits(f, 4, 9, "/", "/b\".js");
	visits(f, 0, 4, "/b", "/c.woff2");
	assert_true(offer_learned_save(f->t, f->path, f->now, f->stream));
	struct offer_learned *loaded =
	    offer_learned_new(&(struct offer_learned_options){0}, 2, NULL);
	/* Another boot, another clock. */
	assert_true(offer_learned_load(loaded, f->path, 7 * SEC, f->stream));
	assert_int_equal(offers(loaded, "/b", after, 7 * SEC), 1);
	size_t n = offers(f->t, "/", before, f->now);
	assert_int_equal(n, 2);
	assert_int_equal(offers(loaded, "/", after, 7 * SEC), n);
	for (size_t i = 0; i < n; i++) {
		assert_true(slice_equal(before[i].path, after[i].path));
		assert_true(fabs(before[i].numbers.hits - after[i].numbers.hits) < 1e-6);
		assert_true(fabs(before[i].numbers.views - after[i].numbers.views) < 1e-6);
		assert_int_equal(before[i].numbers.clients, after[i].numbers.clients);
		assert_int_equal(before[i].numbers.proposed, after[i].numbers.proposed);
		assert_int_equal(before[i].numbers.came_true, after[i].numbers.came_true);
	}
	assert_int_equal(f->length, 0);
	offer_learned_free(loaded);
}

static void what_two_clients_asked_for_is_not_written(void **state)
{
	struct fixture *f = *state;
	char text[4096] = "";
	visits(f, 0, 2, "/private", "/secret.css");
	visits(f, 0, 3, "/", "/a.css");
	visits(f, 3, 4, "/", "/only-one.css");
	assert_true(offer_learned_save(f->t, f->path, f->now, f->stream));
	FILE *in = fopen(f->path, "r");
	assert_true(fread(text, 1, sizeof(text) - 1, in) > 0);
	fclose(in);
	assert_null(strstr(text, "secret"));
	assert_null(strstr(text, "private"));
	assert_null(strstr(text, "only-one"));
	assert_non_null(strstr(text, "/a.css"));
}

/* The fixture's end fails if anything but the saved file is in the folder. */
static void what_a_killed_process_left_is_replaced(void **state)
{
	struct fixture *f = *state;
	char aside[sizeof(f->path) + 4];
	snprintf(aside, sizeof(aside), "%s.new", f->path);
	FILE *half = fopen(aside, "w");
	assert_non_null(half);
	fputs("{\"version\": 1, \"pages\": [", half);
	fclose(half);
	visits(f, 0, 3, "/", "/a.css");
	assert_true(offer_learned_save(f->t, f->path, f->now, f->stream));
	assert_int_equal(access(aside, F_OK), -1);
}

static void saving_replaces_the_file_whole_or_not_at_all(void **state)
{
	struct fixture *f = *state;
	struct stat first, second;
	visits(f, 0, 3, "/", "/a.css");
	assert_true(offer_learned_save(f->t, f->path, f->now, f->stream));
	assert_int_equal(stat(f->path, &first), 0);
	assert_true(offer_learned_save(f->t, f->path, f->now, f->stream));
	assert_int_equal(stat(f->path, &second), 0);
	assert_true(
	    first.st_ino != second.st_ino || first.st_mtim.tv_nsec != second.st_mtim.tv_nsec);
	assert_false(offer_learned_save(f->t, "/nowhere/at/all.json", f->now, f->stream));
	fflush(f->stream);
	assert_string_equal(
	    f->errors, "/nowhere/at/all.json: cannot be written: No such file or directory\n");
	/* A folder cannot be replaced by a file; what was written aside goes. */
	assert_false(offer_learned_save(f->t, f->folder, f->now, f->stream));
	assert_int_equal(stat(f->path, &second), 0);
}

/* In place of the library's. */
static unsigned syncs;
static bool sync_fails;

int fsync(int fd)
{
	assert_true(fd >= 0);
	syncs++;
	errno = EIO;
	return sync_fails ? -1 : 0;
}

/* It is there whole before it replaces another one: after a power failure the folder may know the new name alone. */
static void a_file_that_is_not_on_the_disk_replaces_none(void **state)
{
	struct fixture *f = *state;
	struct stat first, second;
	visits(f, 0, 3, "/", "/a.css");
	syncs = 0;
	assert_true(offer_learned_save(f->t, f->path, f->now, f->stream));
	assert_int_equal(syncs, 1);
	assert_int_equal(stat(f->path, &first), 0);
	sync_fails = true;
	assert_false(offer_learned_save(f->t, f->path, f->now, f->stream));
	sync_fails = false;
	assert_int_equal(stat(f->path, &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
	fflush(f->stream);
	assert_non_null(strstr(f->errors, "Input/output error"));
}

static void a_file_that_is_not_there_is_no_mistake(void **state)
{
	struct fixture *f = *state;
	assert_true(offer_learned_load(f->t, f->path, f->now, f->stream));
	assert_int_equal(f->length, 0);
	assert_int_equal(offer_learned_stats(f->t).pages, 0);
}

#define HEAD                                                                                       \
	"{\"version\": 1, \"pages\": [{\"authority\": \"h.example\", \"path\": \"/\", "            \
	"\"resources\": ["
#define COUNTS                                                                                     \
	"\"clients\": 4, \"proposed\": 0, \"came_true\": 0, \"offered\": 0, \"taken\": 0, "        \
	"\"refused\": 0}"
#define GOOD "{\"path\": \"/a.css\", \"hits\": 4, \"views\": 4.5, " COUNTS
#define TAIL "]}]}"

static void put(struct fixture *f, const char *text)
{
	FILE *out = fopen(f->path, "w");
	fputs(text, out);
	fclose(out);
}

static void hostile_files_are_refused_and_leave_nothing(void **state)
{
	struct fixture *f = *state;
	static const char *const rows[] = {
	    "",
	    "{",
	    "[]",
	    "null",
	    "{}",
	    "{\"version\": 2, \"pages\": []}",
	    "{\"version\": \"1\", \"pages\": []}",
	    "{\"version\": 1}",
	    "{\"version\": 1, \"pages\": {}}",
	    "{\"version\": 1, \"pages\": [1]}",
	    "{\"version\": 1, \"pages\": [{\"authority\": \"\", \"path\": \"/\", \"resources\": "
	    "[]}]}",
	    "{\"version\": 1, \"pages\": [{\"authority\": \"h\", \"path\": \"x\", \"resources\": "
	    "[]}]}",
	    "{\"version\": 1, \"pages\": [{\"authority\": \"h\\r\\nx\", \"path\": \"/\", "
	    "\"resources\": []}]}",
	    "{\"version\": 1, \"pages\": [{\"authority\": \"h\", \"path\": \"/\", \"resources\": "
	    "1}]}",
	    HEAD GOOD "," GOOD TAIL,
	    HEAD GOOD ", 7" TAIL,
	    HEAD "{\"path\": \"a\", \"hits\": 4, \"views\": 4, " COUNTS TAIL,
	    HEAD "{\"path\": \"/a\\u0001.css\", \"hits\": 4, \"views\": 4, " COUNTS TAIL,
	    HEAD "{\"path\": \"/a.css\", \"hits\": 5, \"views\": 4, " COUNTS TAIL,
	    HEAD "{\"path\": \"/a.css\", \"hits\": -1, \"views\": 4, " COUNTS TAIL,
	    HEAD "{\"path\": \"/a.css\", \"hits\": 1e300, \"views\": 1e300, " COUNTS TAIL,
	    HEAD "{\"path\": \"/a.css\", \"hits\": \"4\", \"views\": 4, " COUNTS TAIL,
	    HEAD "{\"path\": \"/a.css\", \"hits\": 4, \"views\": 4, \"clients\": 4}" TAIL,
	    HEAD
	    "{\"path\": \"/a.css\", \"hits\": 4, \"views\": 4, \"clients\": -4, \"proposed\": 0}" TAIL,
	    HEAD "{\"path\": \"/a.css\", \"hits\": 4, \"views\": 4, \"clients\": 4, \"proposed\": 1, "
		 "\"came_true\": 2, \"offered\": 0, \"taken\": 0, \"refused\": 0}" TAIL,
	    HEAD GOOD TAIL "x",
	    HEAD GOOD
	    "]}, {\"authority\": \"H.example\", \"path\": \"/?q\", \"resources\": [" GOOD TAIL,
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rewind(f->stream);
		put(f, rows[i]);
		if (offer_learned_load(f->t, f->path, f->now, f->stream))
			fail_msg("row %zu was loaded", i);
		fflush(f->stream);
		assert_true(f->length > strlen(f->path));
		assert_memory_equal(f->errors, f->path, strlen(f->path));
		assert_int_equal(offer_learned_stats(f->t).pages, 0);
		assert_int_equal(offer_learned_stats(f->t).resources, 0);
	}
	put(f, HEAD GOOD TAIL);
	assert_true(offer_learned_load(f->t, f->path, f->now, f->stream));
	struct offer_learned_item item[OFFER_LEARNED_RESOURCES];
	assert_int_equal(offers(f->t, "/", item, f->now), 1);
}

/* The two are rounded one by one when they are written. */
static void hits_that_are_rounded_above_the_views_are_all_of_them(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item item[OFFER_LEARNED_RESOURCES];
	put(f, HEAD "{\"path\": \"/a.css\", \"hits\": 4.0000005, \"views\": 4, " COUNTS TAIL);
	assert_true(offer_learned_load(f->t, f->path, f->now, f->stream));
	assert_int_equal(offers(f->t, "/", item, f->now), 1);
	assert_true(item[0].numbers.hits <= item[0].numbers.views);
	assert_int_equal(item[0].confidence, 10000);
}

/* What is proposed needs fewer hits to stay so than to become so: it is the same after a restart. */
static void what_was_proposed_before_needs_fewer_hits(void **state)
{
	struct fixture *f = *state;
	static const char few[] = "{\"path\": \"/a.css\", \"hits\": 2, \"views\": 2, \"clients\": 4, \"proposed\": %u, "
				  "\"came_true\": 0, \"offered\": 0, \"taken\": 0, \"refused\": 0}";
	for (unsigned proposed = 0; proposed < 2; proposed++) {
		struct offer_learned_item item[OFFER_LEARNED_RESOURCES];
		char text[512], resource[256];
		snprintf(resource, sizeof(resource), few, proposed);
		snprintf(text, sizeof(text), "%s%s%s", HEAD, resource, TAIL);
		put(f, text);
		struct offer_learned *t = offer_learned_new(&(struct offer_learned_options){0}, 1, NULL);
		assert_true(offer_learned_load(t, f->path, f->now, f->stream));
		assert_int_equal(offers(t, "/", item, f->now), proposed);
		offer_learned_free(t);
	}
}

static void a_file_that_claims_more_than_fits_is_loaded_within_bounds(void **state)
{
	struct fixture *f = *state;
	const struct offer_learned_options options = {.pages = 16, .bytes = 600000};
	struct offer_learned *t = offer_learned_new(&options, 3, NULL);
	FILE *out = fopen(f->path, "w");
	fputs("{\"version\": 1, \"pages\": [", out);
	for (int i = 0; i < 1000; i++)
		fprintf(out,
		    "%s{\"authority\": \"h\", \"path\": \"/%d\", \"resources\": [" GOOD "]}",
		    i ? "," : "", i);
	fputs("]}", out);
	fclose(out);
	assert_true(offer_learned_load(t, f->path, f->now, f->stream));
	assert_int_equal(offer_learned_stats(t).pages, 14);
	assert_true(offer_learned_stats(t).bytes <= offer_learned_stats(t).most_bytes);
	offer_learned_free(t);
}

/* One that stood behind something before a restart is not counted once more after it. */
static void support_is_not_gathered_over_restarts(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item item[OFFER_LEARNED_RESOURCES];
	for (int life = 0; life < 5; life++) {
		visits(f, 0, 1, "/", "/evil.js");
		assert_true(offer_learned_save(f->t, f->path, f->now, f->stream));
		offer_learned_free(f->t);
		f->t =
		    offer_learned_new(&(struct offer_learned_options){0}, (uint64_t)life, NULL);
		assert_true(offer_learned_load(f->t, f->path, f->now, f->stream));
	}
	visits(f, 0, 1, "/", "/evil.js");
	assert_int_equal(offers(f->t, "/", item, f->now), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(what_was_saved_is_loaded),
	    TEST(what_two_clients_asked_for_is_not_written),
	    TEST(what_a_killed_process_left_is_replaced),
	    TEST(saving_replaces_the_file_whole_or_not_at_all),
	    TEST(a_file_that_is_not_on_the_disk_replaces_none),
	    TEST(a_file_that_is_not_there_is_no_mistake),
	    TEST(hostile_files_are_refused_and_leave_nothing),
	    TEST(hits_that_are_rounded_above_the_views_are_all_of_them),
	    TEST(what_was_proposed_before_needs_fewer_hits),
	    TEST(a_file_that_claims_more_than_fits_is_loaded_within_bounds),
	    TEST(support_is_not_gathered_over_restarts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
