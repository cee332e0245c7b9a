/* SPDX-License-Identifier: MIT */
/* What was learned, loaded again: how it fades and grows, files without bounds, and no memory. */
/* covers: P-src-learned */
#include "proxy/offer/offer.h"
#include "tests/support/learned_look.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define START (1000 * USEC_PER_SEC)

struct fixture {
	char folder[32], path[64];
	char *errors;
	size_t length;
	FILE *stream;
	struct offer_learned *t;
	usec now;
};

static struct offer_learned *table_new(struct budget *parent)
{
	return offer_learned_new(&(struct offer_learned_options){0}, 0x5eed, parent);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	strcpy(f->folder, "/tmp/learned-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/state", f->folder);
	f->stream = open_memstream(&f->errors, &f->length);
	f->t = table_new(NULL);
	f->now = START;
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
	/* Nothing was left beside it. */
	assert_int_equal(rmdir(f->folder), 0);
	free(f);
	return 0;
}

/* ---- what clients do ---- */

/* One view of a page, and the resources that its client asks for; the window is over afterwards. */
static void look(struct offer_learned *t, usec *now, const char *page, int client,
    const char *const *paths, size_t count)
{
	char name[32], referer[128];
	snprintf(name, sizeof(name), "198.51.100.%d", client);
	snprintf(referer, sizeof(referer), "https://a.example%s", page);
	struct offer_learned_request r = {.authority = SLICE("a.example"),
	    .path = slice_of_string(page),
	    .client = slice_of_string(name),
	    .is_get = true,
	    .is_navigation = true,
	    .status = 200};
	offer_learned_on_navigation(t, &r, *now);
	r.is_navigation = false;
	r.referer = slice_of_string(referer);
	for (size_t i = 0; i < count; i++) {
		r.path = slice_of_string(paths[i]);
		offer_learned_on_request(t, &r, *now += USEC_PER_MSEC);
	}
	*now += 11 * USEC_PER_SEC;
	offer_learned_tick(t, *now);
}

/* Four clients ask for two resources of a page, and one of them for another one. */
static void learn(struct fixture *f)
{
	static const char *const paths[] = {"/a.css", "/b.js", "/mine.png"};
	for (int client = 1; client <= 4; client++)
		look(f->t, &f->now, "/page", client, paths, client == 4 ? 3 : 2);
}

static size_t offers(const struct offer_learned *t, struct offer_learned_item *items, usec now)
{
	return offer_learned_offers(
	    t, SLICE("a.example"), SLICE("/page"), items, now);
}

static void put(const struct fixture *f, const char *text)
{
	FILE *out = fopen(f->path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

/* ---- after loading ---- */

static void loaded_support_is_faded_like_other(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	learn(f);
	assert_true(offer_learned_save(f->t, f->path, f->now, f->stream));
	offer_learned_clear(f->t);
	assert_true(offer_learned_load(f->t, f->path, f->now, f->stream));
	assert_int_equal(offers(f->t, items, f->now), 2);
	assert_int_equal(offers(f->t, items, f->now + 60 * 86400 * USEC_PER_SEC), 0);
}

static void a_loaded_table_goes_on_learning(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	static const char *const paths[] = {"/a.css", "/new.js"};
	learn(f);
	assert_true(offer_learned_save(f->t, f->path, f->now, f->stream));
	offer_learned_clear(f->t);
	assert_true(offer_learned_load(f->t, f->path, f->now, f->stream));
	for (int client = 11; client <= 14; client++)
		look(f->t, &f->now, "/page", client, paths, 2);
	assert_int_equal(offers(f->t, items, f->now), 3);
	assert_true(slice_equal(items[0].path, SLICE("/a.css")));
}

/* ---- files that mean harm ---- */

static void assert_refused(struct fixture *f, const char *what)
{
	fflush(f->stream);
	size_t before = f->length;
	if (offer_learned_load(f->t, f->path, START, f->stream))
		fail_msg("was loaded: %s", what);
	fflush(f->stream);
	if (f->length <= before || f->errors[f->length - 1] != '\n')
		fail_msg("nothing was said of: %s", what);
	struct offer_learned_stats stats = offer_learned_stats(f->t);
	assert_int_equal(stats.pages + stats.resources + stats.clients, 0);
}

#define PAGE(authority, path, resources)                                                           \
	"{\"authority\": \"" authority "\", \"path\": \"" path "\", \"resources\": " resources "}"
#define STATE(pages) "{\"version\": 1, \"pages\": [" pages "]}"
#define KNOWN_OF(path, hits, views, clients, proposed)                                             \
	"{\"path\": \"" path "\", \"hits\": " hits ", \"views\": " views ", \"clients\": " clients \
	", \"proposed\": " proposed                                                                \
	", \"came_true\": 0, \"offered\": 0, \"taken\": 0, \"refused\": 0}"
#define KNOWN(path) KNOWN_OF(path, "5.0", "6.0", "4", "2")
#define ONE(known) STATE(PAGE("a.example", "/", "[" known "]"))

static void support_beyond_what_is_counted_is_cut(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	put(f, STATE(PAGE("A.example", "/page?x",
		   "[" KNOWN_OF("/a.css", "5", "6", "4000000", "2") ", " KNOWN_OF(
		       "/weak.css", "5", "6", "1", "0") "]")));
	assert_true(offer_learned_load(f->t, f->path, START, f->stream));
	/* What too few stand behind is left out. */
	assert_int_equal(offers(f->t, items, START), 1);
	assert_true(slice_equal(items[0].path, SLICE("/a.css")));
	assert_int_equal(items[0].numbers.clients, OFFER_LEARNED_SUPPORTERS);
}

/* Hits are some of the views; a millionth more is the rounding of another program. */
static void hits_may_be_above_the_views_by_a_millionth(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	put(f, ONE(KNOWN_OF("/a.css", "6.00001", "6", "4", "2")));
	assert_refused(f, "more hits than views");
	put(f, STATE(PAGE("a.example", "/page", "[" KNOWN_OF("/a.css", "6.000001", "6", "4", "2") "]")));
	assert_true(offer_learned_load(f->t, f->path, START, f->stream));
	assert_int_equal(offers(f->t, items, START), 1);
	assert_true(items[0].numbers.hits <= items[0].numbers.views);
}

static void a_page_with_too_many_resources_is_refused(void **state)
{
	struct fixture *f = *state;
	FILE *out = fopen(f->path, "w");
	fputs("{\"version\": 1, \"pages\": [{\"authority\": \"a\", \"path\": \"/\", "
	      "\"resources\": [1",
	    out);
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++)
		fputs(", 1", out);
	fputs("]}]}", out);
	fclose(out);
	assert_refused(f, "many resources");
}

static void nesting_without_end_is_refused(void **state)
{
	struct fixture *f = *state;
	FILE *out = fopen(f->path, "w");
	for (int i = 0; i < 1000000; i++)
		fputc('[', out);
	fclose(out);
	assert_refused(f, "nesting");
}

static void a_file_that_is_too_large_is_refused_unread(void **state)
{
	struct fixture *f = *state;
	put(f, "{}");
	assert_int_equal(truncate(f->path, (off_t)OFFER_LEARNED_FILE_BYTES + 1), 0);
	assert_refused(f, "size");
}

static void what_is_no_file_is_refused(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(mkdir(f->path, 0700), 0);
	assert_refused(f, "a folder");
	assert_int_equal(rmdir(f->path), 0);
	/* And does not wait for someone to write. */
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_refused(f, "a FIFO");
}

/* ---- memory ---- */

/* Whichever take is refused: nothing breaks, all is given back, and learning goes on. */
static void every_refused_take_is_survived(void **state)
{
	static const char *const paths[] = {"/a.css", "/b.js", "/c.png"};
	struct fixture *f = *state;
	put(f, ONE(KNOWN("/loaded.css")));
	for (size_t nth = 1; nth <= 60; nth++) {
		struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
		struct budget parent;
		usec now = START;
		budget_init(&parent, NULL, 1 << 20);
		struct offer_learned *t = table_new(&parent);
		budget_fail_nth(&parent, nth);
		assert_true(offer_learned_load(t, f->path, now, f->stream));
		for (int client = 1; client <= 12; client++)
			look(t, &now, "/page", client, paths, 3);
		assert_int_equal(offers(t, items, now), 3);
		/* The first two are those of what was loaded. */
		if (nth > 2)
			assert_int_equal(offer_learned_stats(t).pages, 2);
		offer_learned_free(t);
		assert_int_equal(parent.used_bytes, 0);
		budget_fini(&parent);
	}
}

static void no_room_at_all_learns_nothing(void **state)
{
	struct fixture *f = *state;
	static const char *const paths[] = {"/a.css"};
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	struct budget parent;
	usec now = START;
	budget_init(&parent, NULL, 100);
	struct offer_learned *t = table_new(&parent);
	put(f, ONE(KNOWN("/loaded.css")));
	assert_true(offer_learned_load(t, f->path, now, f->stream));
	for (int client = 1; client <= 12; client++)
		look(t, &now, "/page", client, paths, 1);
	assert_int_equal(offers(t, items, now), 0);
	assert_int_equal(offer_learned_stats(t).pages, 0);
	assert_true(offer_learned_stats(t).refused >= 12);
	offer_learned_free(t);
	assert_int_equal(parent.used_bytes, 0);
	budget_fini(&parent);
}

#define with_folder(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    with_folder(loaded_support_is_faded_like_other),
	    with_folder(a_loaded_table_goes_on_learning),
	    with_folder(support_beyond_what_is_counted_is_cut),
	    with_folder(hits_may_be_above_the_views_by_a_millionth),
	    with_folder(a_page_with_too_many_resources_is_refused),
	    with_folder(nesting_without_end_is_refused),
	    with_folder(a_file_that_is_too_large_is_refused_unread),
	    with_folder(what_is_no_file_is_refused),
	    with_folder(every_refused_take_is_survived),
	    with_folder(no_room_at_all_learns_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
