/* SPDX-License-Identifier: MIT */
/*
 * What the learned table takes from a request, and what it must not: rule by rule, with few
 * clients.
 */
/* covers: P-src-learned P-src-learned-private */
#include "proxy/offer/offer.h"
#include "tests/support/learned_look.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEC USEC_PER_SEC
#define HOST "www.example"

struct fixture {
	struct offer_learned *t;
	usec now;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	f->t = offer_learned_new(&(struct offer_learned_options){0}, 42, NULL);
	f->now = 1000 * SEC;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	offer_learned_free(f->t);
	free(f);
	return 0;
}

static struct offer_learned_request request(const char *client, const char *path, const char *referer)
{
	return (struct offer_learned_request){
	    .authority = SLICE(HOST),
	    .path = slice_of_string(path),
	    .referer = slice_of_string(referer),
	    .client = slice_of_string(client),
	    .is_get = true,
	    .status = 200,
	};
}

static void view(struct fixture *f, const char *client, const char *path)
{
	struct offer_learned_request r = request(client, path, "");
	r.is_navigation = true;
	offer_learned_on_navigation(f->t, &r, f->now++);
}

static void ask(struct fixture *f, const char *client, const char *path, const char *referer)
{
	struct offer_learned_request r = request(client, path, referer);
	offer_learned_on_request(f->t, &r, f->now++);
}

static void wait_for_window(struct fixture *f)
{
	f->now += 11 * SEC;
	offer_learned_tick(f->t, f->now);
}

static const char *const names[] = {
    "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11"};

/* Clients from … to - 1 look at the page one after another, each asking for the path. */
static void visits(struct fixture *f, int from, int to, const char *page, const char *path)
{
	char referer[128];
	snprintf(referer, sizeof(referer), "https://" HOST "%s", page);
	for (int i = from; i < to; i++) {
		view(f, names[i], page);
		ask(f, names[i], path, referer);
		wait_for_window(f);
	}
}

static size_t offers(struct fixture *f, const char *page, struct offer_learned_item *items)
{
	return offer_learned_offers(
	    f->t, SLICE(HOST), slice_of_string(page), items, f->now);
}

static size_t offer_count(struct fixture *f, const char *page)
{
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	return offers(f, page, items);
}

static void three_clients_make_a_proposal_and_two_do_not(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	visits(f, 0, 2, "/", "/app.css");
	assert_int_equal(offer_count(f, "/"), 0);
	visits(f, 2, 3, "/", "/app.css");
	assert_int_equal(offers(f, "/?utm=1", items), 1);
	assert_memory_equal(items[0].path.ptr, "/app.css", 8);
	assert_memory_equal(items[0].as.ptr, "style", 5);
	assert_int_equal(items[0].numbers.clients, 3);
	assert_int_equal(items[0].confidence, 10000);
	assert_true(items[0].is_proposed);
	assert_int_equal(offer_count(f, "/other"), 0);
	assert_int_equal(
	    offer_learned_offers(f->t, SLICE("WWW.Example"), SLICE("/"), items, f->now), 1);
	assert_int_equal(
	    offer_learned_offers(f->t, SLICE("other.example"), SLICE("/"), items, f->now), 0);
}

static void one_client_that_comes_back_stays_one(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 100; i++)
		visits(f, 0, 1, "/", "/secret.css");
	visits(f, 1, 2, "/", "/secret.css");
	assert_int_equal(offer_count(f, "/"), 0);
	assert_int_equal(offer_learned_stats(f->t).counted, 2);
	assert_int_equal(offer_learned_stats(f->t).repeated, 99);
}

/* Each row is asked for in a valid view by five clients, and must not be learned. */
static void what_is_no_plain_same_origin_get_is_not_learned(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_request rows[11];
	size_t count = 0;
	const char *referer = "https://" HOST "/p";
	for (size_t i = 0; i < 11; i++)
		rows[i] = request("", "/x.css", referer);
	rows[count++].is_get = false;
	rows[count++].has_credentials = true;
	rows[count++].status = 404;
	rows[count++].status = 304;
	rows[count++].status = 206;
	rows[count++].is_navigation = true;
	rows[count++].authority = SLICE("cdn.example");
	rows[count++].referer = SLICE("https://evil.example/p");
	rows[count++].referer = SLICE("https://" HOST "/not-open");
	rows[count++].referer = SLICE("about:blank");
	rows[count++].path = SLICE("/p?itself");
	assert_int_equal(count, 11);
	for (size_t row = 0; row < count; row++) {
		offer_learned_clear(f->t);
		for (int i = 0; i < 5; i++) {
			view(f, names[i], "/p");
			rows[row].client = slice_of_string(names[i]);
			offer_learned_on_request(f->t, &rows[row], f->now++);
			wait_for_window(f);
		}
		if (offer_learned_stats(f->t).resources != 0)
			fail_msg("row %zu was learned", row);
	}
}

/* Whatever so many clients agree on that it would be proposed. */
static void only_plain_paths_of_assets_are_learned(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *path;
		bool is_learned;
	} rows[] = {
	    {"/logout", false},
	    {"/cart/add?item=9", false},
	    {"/cart/add?item=9.css", false},
	    {"/u/alice/inbox.css?token=4711", false},
	    {"/app.css?v=2", false},
	    {"/app.css?", false},
	    {"/logout/", false},
	    {"/logout.php", false},
	    {"/logout.html", false},
	    {"/api/cart.json", false},
	    {"/film.mp4", false},
	    {"/logout;x.css", false},
	    {"/logout%3fx.css", false},
	    {"/logout%00.css", false},
	    {"/..%2flogout%23.css", false},
	    {"/logout\\x.css", false},
	    {"/css", false},
	    {"/.css", true}, /* a name as any other */
	    {"/app.css", true},
	    {"/app.min.JS", true},
	    {"/module.mjs", true},
	    {"/a/logo.svg", true},
	    {"/font.woff2", true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		offer_learned_clear(f->t);
		visits(f, 0, 6, "/page", rows[i].path);
		if (offer_count(f, "/page") != rows[i].is_learned)
			fail_msg("%s: learned %d", rows[i].path, !rows[i].is_learned);
		assert_int_equal(offer_learned_stats(f->t).resources, rows[i].is_learned);
	}
}

/* A response that contradicts its path, or is for one client alone: the owner says so. */
static void what_its_response_makes_unfit_is_not_learned(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 6; i++) {
		struct offer_learned_request r = request(names[i], "/logout.php/x.css", "https://" HOST "/");
		r.is_unfit = true;
		view(f, names[i], "/");
		offer_learned_on_request(f->t, &r, f->now++);
		wait_for_window(f);
	}
	assert_int_equal(offer_count(f, "/"), 0);
	assert_int_equal(offer_learned_stats(f->t).resources, 0);
}

static struct offer_learned_request navigation(const char *client, const char *path)
{
	struct offer_learned_request r = request(client, path, "");
	r.is_navigation = r.is_unanswered = true;
	return r;
}

/* covers: P-src-learned */
static void a_page_that_was_never_answered_teaches_nothing(void **state)
{
	struct fixture *f = *state;
	for (int round = 0; round < 2; round++) {
		bool is_answered = round == 1;
		offer_learned_clear(f->t);
		for (int i = 0; i < 6; i++) {
			struct offer_learned_request r = navigation(names[i], "/made-up?by=me");
			offer_learned_on_navigation(f->t, &r, f->now++);
			ask(f, names[i], "/early.css", "https://" HOST "/made-up");
			if (is_answered)
				offer_learned_on_page(f->t, &r, f->now++);
			ask(f, names[i], "/app.css", "https://" HOST "/made-up");
			wait_for_window(f);
		}
		assert_int_equal(offer_count(f, "/made-up"), is_answered);
		assert_int_equal(offer_learned_stats(f->t).resources, is_answered);
		assert_int_equal(offer_learned_stats(f->t).counted, is_answered ? 6 : 0);
	}
}

/* The answer to another page, of another client, or with credentials, is none to this view. */
static void only_its_own_answer_makes_a_view_count(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_request mine = navigation("c0", "/page"), r;
	offer_learned_on_navigation(f->t, &mine, f->now++);
	r = navigation("c0", "/other");
	offer_learned_on_page(f->t, &r, f->now++);
	r = navigation("c1", "/page");
	offer_learned_on_page(f->t, &r, f->now++);
	r = mine;
	r.has_credentials = true;
	offer_learned_on_page(f->t, &r, f->now++);
	r = mine;
	r.path = SLICE("");
	offer_learned_on_page(f->t, &r, f->now++);
	ask(f, "c0", "/app.css", "https://" HOST "/page");
	assert_int_equal(offer_learned_stats(f->t).resources, 0);
	offer_learned_on_page(f->t, &mine, f->now++);
	ask(f, "c0", "/app.css", "https://" HOST "/page");
	assert_int_equal(offer_learned_stats(f->t).resources, 1);
}

static void paths_that_no_uri_has_are_not_learned(void **state)
{
	struct fixture *f = *state;
	char path[OFFER_LEARNED_PATH_BYTES + 2];
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	memcpy(path + sizeof(path) - 4, ".js", 4);
	view(f, "c0", "/");
	ask(f, "c0", path, "https://" HOST "/");
	ask(f, "c0", "/\xff.js", "https://" HOST "/");
	ask(f, "c0", "/a b.js", "https://" HOST "/");
	ask(f, "c0", "*", "https://" HOST "/");
	ask(f, "c0", "", "https://" HOST "/");
	assert_int_equal(offer_learned_stats(f->t).resources, 0);
	memcpy(path + sizeof(path) - 5, ".js", 4);
	ask(f, "c0", path, "https://" HOST "/");
	assert_int_equal(offer_learned_stats(f->t).resources, 1);
}

static void what_comes_after_the_window_is_not_learned(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 5; i++) {
		view(f, names[i], "/");
		f->now += 10 * SEC - 2;
		ask(f, names[i], "/in.css", "https://" HOST "/");
		ask(f, names[i], "/late.css", "https://" HOST "/");
	}
	wait_for_window(f);
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	assert_int_equal(offers(f, "/", items), 1);
	assert_memory_equal(items[0].path.ptr, "/in.css", 7);
}

static void a_page_with_credentials_begins_no_view(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_request r = request("c0", "/account", "");
	r.is_navigation = r.has_credentials = true;
	offer_learned_on_navigation(f->t, &r, f->now);
	r.has_credentials = r.is_navigation = false;
	offer_learned_on_navigation(f->t, &r, f->now);
	r.is_navigation = true;
	r.is_get = false;
	offer_learned_on_navigation(f->t, &r, f->now);
	assert_int_equal(offer_learned_stats(f->t).pages, 0);
	r.is_get = true;
	offer_learned_on_navigation(f->t, &r, f->now);
	assert_int_equal(offer_learned_stats(f->t).pages, 1);
}

/* The client looks at the page without credentials, then again with them: only the first look may count. */
static void what_is_taken_with_credentials_counts_neither_way(void **state)
{
	struct fixture *f = *state;
	static const struct {
		bool has_credentials;
		double hits, views;
	} rows[] = {{false, 4, 4}, {true, 3, 3}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
		struct offer_learned_request page = request("c3", "/p", "");
		page.has_credentials = rows[i].has_credentials;
		offer_learned_clear(f->t);
		visits(f, 0, 3, "/p", "/a.css");
		view(f, "c3", "/p");
		ask(f, "c3", "/other.css", "https://" HOST "/p");
		offer_learned_on_outcome(f->t, &page, SLICE("/a.css"), OFFER_LEARNED_OFFERED, f->now);
		offer_learned_on_outcome(f->t, &page, SLICE("/a.css"), OFFER_LEARNED_TAKEN, f->now);
		wait_for_window(f);
		assert_int_equal(offers(f, "/p", items), 1);
		assert_int_equal(lround(items[0].numbers.hits), rows[i].hits);
		assert_int_equal(lround(items[0].numbers.views), rows[i].views);
		assert_int_equal(items[0].numbers.taken, 1);
	}
}

static void tabs_are_told_apart_by_referer(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	for (int i = 0; i < 4; i++) {
		view(f, names[i], "/a");
		view(f, names[i], "/b");
		ask(f, names[i], "/b.css", "https://" HOST "/b?q");
		ask(f, names[i], "/a.css", "https://" HOST "/a");
		/* Without one, it may belong to either. */
		ask(f, names[i], "/any.css", "");
		ask(f, names[i], "/any.css", "https://" HOST "/");
		wait_for_window(f);
	}
	assert_int_equal(offers(f, "/a", items), 1);
	assert_memory_equal(items[0].path.ptr, "/a.css", 6);
	assert_int_equal(offers(f, "/b", items), 1);
	assert_memory_equal(items[0].path.ptr, "/b.css", 6);
}

static void without_referer_the_only_open_view_is_meant(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 4; i++) {
		view(f, names[i], "/a");
		ask(f, names[i], "/a.css", "");
		ask(f, names[i], "/a.js", "https://" HOST);
		wait_for_window(f);
	}
	assert_int_equal(offer_count(f, "/a"), 2);
}

static void what_a_style_sheet_asks_for_belongs_to_its_page(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	for (int i = 0; i < 4; i++) {
		view(f, names[i], "/a");
		view(f, names[i], "/b");
		ask(f, names[i], "/a.css", "https://" HOST "/a");
		ask(f, names[i], "/font.woff2", "https://" HOST "/a.css");
		wait_for_window(f);
	}
	assert_int_equal(offers(f, "/a", items), 2);
	assert_int_equal(offers(f, "/b", items), 0);
}

static void what_the_client_has_is_no_miss(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	/* All get the style sheet with the first page; the second asks only for what is its own. */
	visits(f, 0, 4, "/a", "/common.css");
	for (int i = 4; i < 8; i++) {
		view(f, names[i], "/b");
		ask(f, names[i], "/common.css", "https://" HOST "/b");
		ask(f, names[i], "/b.js", "https://" HOST "/b");
		wait_for_window(f);
	}
	visits(f, 0, 4, "/b", "/b.js");
	assert_int_equal(offers(f, "/b", items), 2);
	assert_int_equal(items[0].confidence, 10000);
	assert_int_equal(items[1].confidence, 10000);
	/* A client that is not known to have it, and does not ask: a miss. */
	visits(f, 8, 9, "/b", "/b.js");
	assert_int_equal(offers(f, "/b", items), 2);
	assert_int_equal(items[0].confidence, 10000);
	assert_int_equal(items[1].confidence, 8000);
}

static void who_fetches_all_again_has_come_with_an_empty_cache(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	visits(f, 0, 6, "/a", "/common.css");
	visits(f, 0, 6, "/b", "/common.css");
	assert_int_equal(offers(f, "/b", items), 1);
	assert_int_equal((int)(items[0].numbers.hits + 0.5), 6);
}

static void who_fetches_little_again_still_has_the_rest(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	visits(f, 0, 6, "/a", "/one.css");
	visits(f, 0, 6, "/a2", "/two.css");
	visits(f, 0, 6, "/a3", "/live.json");
	for (int i = 6; i < 10; i++) {
		view(f, names[i], "/b");
		ask(f, names[i], "/one.css", "https://" HOST "/b");
		ask(f, names[i], "/two.css", "https://" HOST "/b");
		wait_for_window(f);
	}
	/*
	 * They have both style sheets, and ask again for what cannot be cached: that tells nothing
	 * of this page.
	 */
	visits(f, 0, 6, "/b", "/live.json");
	assert_int_equal(offers(f, "/b", items), 2);
	assert_int_equal(items[0].confidence, 10000);
	assert_int_equal(items[1].confidence, 10000);
}

static void a_304_excuses_and_a_silent_view_says_nothing(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	visits(f, 0, 4, "/", "/a.css");
	struct offer_learned_request r = request("c5", "/a.css", "https://" HOST "/");
	view(f, "c5", "/");
	r.status = 304;
	offer_learned_on_request(f->t, &r, f->now);
	ask(f, "c5", "/a.js", "https://" HOST "/");
	wait_for_window(f);
	view(f, "c6", "/");
	wait_for_window(f);
	assert_int_equal(offers(f, "/", items), 1);
	assert_int_equal(items[0].confidence, 10000);
	assert_int_equal(offer_learned_stats(f->t).silent, 1);
}

static void what_is_rarely_asked_for_is_not_proposed(void **state)
{
	struct fixture *f = *state;
	visits(f, 0, 3, "/", "/a.css");
	assert_int_equal(offer_count(f, "/"), 1);
	visits(f, 3, 10, "/", "/b.css");
	/* Once proposed, it takes a little more to go. */
	assert_int_equal(offer_count(f, "/"), 2);
	visits(f, 10, 12, "/", "/b.css");
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	assert_int_equal(offers(f, "/", items), 1);
	assert_memory_equal(items[0].path.ptr, "/b.css", 6);
}

static void what_is_old_fades(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	visits(f, 0, 6, "/", "/a.css");
	assert_int_equal(offers(f, "/", items), 1);
	double hits = items[0].numbers.hits;
	f->now += 7 * 86400 * SEC - 60 * SEC;
	assert_int_equal(offers(f, "/", items), 1);
	assert_true(fabs(items[0].numbers.hits - hits / 2) < 0.01);
	f->now += 8 * 86400 * SEC;
	assert_int_equal(offers(f, "/", items), 0);
}

static void how_often_a_proposal_comes_true_is_measured(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	visits(f, 0, 3, "/", "/a.css");
	visits(f, 3, 6, "/", "/a.css");
	visits(f, 6, 8, "/", "/b.css");
	assert_int_equal(offers(f, "/", items), 1);
	assert_int_equal(items[0].numbers.proposed, 5);
	assert_int_equal(items[0].numbers.came_true, 3);
}

static void pushes_do_not_make_what_is_pushed_look_unused(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	visits(f, 0, 3, "/", "/a.css");
	for (int i = 3; i < 10; i++) {
		struct offer_learned_request page = request(names[i], "/", "");
		view(f, names[i], "/");
		offer_learned_on_outcome(f->t, &page, SLICE("/a.css"), OFFER_LEARNED_OFFERED, f->now);
		if (i % 2)
			offer_learned_on_outcome(f->t, &page, SLICE("/a.css"), OFFER_LEARNED_TAKEN, f->now);
		else if (i == 4)
			offer_learned_on_outcome(
			    f->t, &page, SLICE("/a.css"), OFFER_LEARNED_REFUSED, f->now);
		ask(f, names[i], "/b.js", "https://" HOST "/");
		wait_for_window(f);
	}
	assert_int_equal(offers(f, "/", items), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(items[i].confidence, 10000);
		if (items[i].path.ptr[1] != 'a')
			continue;
		assert_int_equal(items[i].numbers.offered, 7);
		assert_int_equal(items[i].numbers.taken, 4);
		assert_int_equal(items[i].numbers.refused, 1);
		assert_int_equal((int)(items[i].numbers.hits + 0.5), 7);
	}
}

static void what_is_gone_stops_being_proposed(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_request page = request("c9", "/", "");
	visits(f, 0, 5, "/", "/a.css");
	offer_learned_on_outcome(f->t, &page, SLICE("/a.css"), OFFER_LEARNED_GONE, f->now);
	assert_int_equal(offer_count(f, "/"), 0);
	offer_learned_on_outcome(f->t, &page, SLICE("/unknown"), OFFER_LEARNED_GONE, f->now);
	page.path = SLICE("/unknown");
	offer_learned_on_outcome(f->t, &page, SLICE("/a.css"), OFFER_LEARNED_TAKEN, f->now);
}

static void the_surest_is_offered_first(void **state)
{
	struct fixture *f = *state;
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	for (int i = 0; i < 6; i++) {
		view(f, names[i], "/");
		ask(f, names[i], "/z.css", "https://" HOST "/");
		ask(f, names[i], "/b.css", "https://" HOST "/");
		if (i < 4)
			ask(f, names[i], "/a.css", "https://" HOST "/");
		wait_for_window(f);
	}
	assert_int_equal(offer_learned_offers(f->t, SLICE(HOST), SLICE("/"), items, f->now), 3);
	assert_memory_equal(items[0].path.ptr, "/b.css", 6);
	assert_memory_equal(items[1].path.ptr, "/z.css", 6);
}

/* ---- what is being learned ---- */

static void the_only_line_is(struct fixture *f, const char *wanted)
{
	char lines[OFFER_LEARNED_LINES][OFFER_LEARNED_LINE];
	size_t count = offer_learned_lines(f->t, lines, f->now);
	assert_int_equal(count, wanted != NULL);
	if (wanted)
		assert_string_equal(lines[0], wanted);
}

/* covers: P-src-learned-shown */
static void a_line_says_what_is_missing(void **state)
{
	struct fixture *f = *state;
	the_only_line_is(f, NULL);
	view(f, "c0", "/page?q");
	the_only_line_is(f, NULL); /* its window is open */
	ask(f, "c0", "/app.css", "https://" HOST "/page");
	wait_for_window(f);
	the_only_line_is(f, HOST "/page: 1 client, 1 load so far; 0 of 1 resource proposed; /app.css lacks 2 more clients");
	visits(f, 1, 2, "/page", "/app.css");
	the_only_line_is(f, HOST "/page: 2 clients, 2 loads so far; 0 of 1 resource proposed; /app.css lacks 1 more client");
	visits(f, 1, 2, "/page", "/app.css"); /* the same client once more */
	the_only_line_is(f, HOST "/page: 2 clients, 2 loads so far; 0 of 1 resource proposed; /app.css lacks 1 more client");
	visits(f, 2, 3, "/page", "/app.css");
	the_only_line_is(f, HOST "/page: 3 clients, 3 loads so far; 1 of 1 resource proposed");
	visits(f, 3, 12, "/page", "/other.js");
	the_only_line_is(f, HOST "/page: 12 clients, 12 loads so far; 1 of 2 resources proposed");
	/* Three months later the clients are there, and what they did has faded. */
	offer_learned_clear(f->t);
	visits(f, 0, 3, "/page", "/app.css");
	f->now += (usec)26 * 86400 * SEC;
	the_only_line_is(f, HOST "/page: 3 clients, 3 loads so far; 0 of 1 resource proposed; /app.css lacks 3 more loads with it");
}

static void what_is_requested_too_seldom_lacks_a_share(void **state)
{
	struct fixture *f = *state;
	char path[32];
	visits(f, 0, 3, "/page", "/rare.css");
	for (int i = 3; i < 12; i++) {
		snprintf(path, sizeof(path), "/%d.css", i);
		visits(f, i, i + 1, "/page", path);
	}
	the_only_line_is(f, HOST "/page: 12 clients, 12 loads so far; 0 of 10 resources proposed; /rare.css lacks a larger "
				 "share of the loads: 25 % of 35 %");
}

static void a_long_name_is_cut_and_a_made_up_page_has_no_line(void **state)
{
	struct fixture *f = *state;
	char page[97], name[OFFER_LEARNED_LINE], lines[OFFER_LEARNED_LINES][OFFER_LEARNED_LINE];
	memset(page, 'p', sizeof(page));
	page[0] = '/';
	page[sizeof(page) - 1] = '\0';
	visits(f, 0, 2, page, "/a-style-sheet-with-a-name-that-is-longer-than-anybody-would-read-in-one-line.css");
	offer_learned_page_name(SLICE(HOST), slice_of_string(page), name);
	assert_int_equal(strlen(name), 100);
	assert_int_equal(offer_learned_lines(f->t, lines, f->now), 1);
	assert_memory_equal(lines[0], name, 100);
	assert_non_null(strstr(lines[0], ": 2 clients, 2 loads so far; 0 of 1 resource proposed; /a-style"));
	assert_non_null(strstr(lines[0], " lacks 1 more client"));
	struct offer_learned_request r = navigation("c5", "/made-up");
	offer_learned_on_navigation(f->t, &r, f->now++);
	wait_for_window(f);
	assert_int_equal(offer_learned_lines(f->t, lines, f->now), 1);
	offer_learned_page_name(SLICE(""), SLICE("/"), name);
	assert_string_equal(name, "");
}

static void the_pages_of_several_clients_have_lines_first(void **state)
{
	struct fixture *f = *state;
	char lines[OFFER_LEARNED_LINES][OFFER_LEARNED_LINE], page[32];
	for (int i = 0; i < 40; i++) {
		snprintf(page, sizeof(page), "/%d", i);
		visits(f, 0, i == 3 ? 3 : i == 30 ? 5 : i == 39 ? 2 : 1, page, "/app.css");
	}
	assert_int_equal(offer_learned_lines(f->t, lines, f->now), OFFER_LEARNED_LINES);
	assert_non_null(strstr(lines[0], HOST "/30: 5 clients"));
	assert_non_null(strstr(lines[1], HOST "/3: 3 clients"));
	assert_non_null(strstr(lines[2], HOST "/39: 2 clients"));
	assert_non_null(strstr(lines[3], ": 1 client,"));
}

static void what_is_needed_is_said(void **state)
{
	struct fixture *f = *state;
	char needs[OFFER_LEARNED_LINE], same[OFFER_LEARNED_LINE];
	offer_learned_needs(f->t, needs);
	offer_learned_needs(NULL, same);
	assert_string_equal(needs, same);
	assert_string_equal(needs, "a resource is proposed when 3 clients have requested it after the page, in 3 loads and 35 % of "
				   "all; each client counts once in 7 days, without credentials");
}

static void count_item(const struct offer_learned_item *item, void *context)
{
	size_t *counts = context;
	counts[item->is_proposed]++;
}

static void the_list_has_proposals_and_candidates_apart(void **state)
{
	struct fixture *f = *state;
	size_t all[2] = {0}, proposed[2] = {0};
	visits(f, 0, 3, "/", "/a.css");
	visits(f, 3, 4, "/b", "/b.css");
	offer_learned_each(f->t, false, count_item, all, f->now);
	offer_learned_each(f->t, true, count_item, proposed, f->now);
	assert_int_equal(all[0], 1);
	assert_int_equal(all[1], 1);
	assert_int_equal(proposed[0], 0);
	assert_int_equal(proposed[1], 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(three_clients_make_a_proposal_and_two_do_not),
	    TEST(one_client_that_comes_back_stays_one),
	    TEST(what_is_no_plain_same_origin_get_is_not_learned),
	    TEST(only_plain_paths_of_assets_are_learned),
	    TEST(what_its_response_makes_unfit_is_not_learned),
	    TEST(a_page_that_was_never_answered_teaches_nothing),
	    TEST(only_its_own_answer_makes_a_view_count),
	    TEST(paths_that_no_uri_has_are_not_learned),
	    TEST(what_comes_after_the_window_is_not_learned),
	    TEST(a_page_with_credentials_begins_no_view),
	    TEST(what_is_taken_with_credentials_counts_neither_way),
	    TEST(tabs_are_told_apart_by_referer),
	    TEST(without_referer_the_only_open_view_is_meant),
	    TEST(what_a_style_sheet_asks_for_belongs_to_its_page),
	    TEST(what_the_client_has_is_no_miss),
	    TEST(who_fetches_all_again_has_come_with_an_empty_cache),
	    TEST(who_fetches_little_again_still_has_the_rest),
	    TEST(a_304_excuses_and_a_silent_view_says_nothing),
	    TEST(what_is_rarely_asked_for_is_not_proposed),
	    TEST(what_is_old_fades),
	    TEST(how_often_a_proposal_comes_true_is_measured),
	    TEST(pushes_do_not_make_what_is_pushed_look_unused),
	    TEST(what_is_gone_stops_being_proposed),
	    TEST(the_surest_is_offered_first),
	    TEST(a_line_says_what_is_missing),
	    TEST(what_is_requested_too_seldom_lacks_a_share),
	    TEST(a_long_name_is_cut_and_a_made_up_page_has_no_line),
	    TEST(the_pages_of_several_clients_have_lines_first),
	    TEST(what_is_needed_is_said),
	    TEST(the_list_has_proposals_and_candidates_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
