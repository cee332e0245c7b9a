/* SPDX-License-Identifier: MIT */
/*
 * What of the requests and responses that pass reaches the learned table: no page that does not exist, and nothing that is of
 * another type than its path, or for one client.
 */
#include "tests/support/gateway_world.h"

#include "proxy/offer/learned_table.h"
#include "tests/support/learned_look.h"

/* covers: P-src-learned P-src-learned-private */

#define FIELDS_MOST 7
struct row {
	const char *path;
	unsigned page_status, status;
	const char *page[FIELDS_MOST], *asset[FIELDS_MOST]; /* fields of the responses */
	bool is_learned;
};
#define SPREAD(f) f[0], f[1], f[2], f[3], f[4], f[5], f[6]
#define HTML "content-type", "text/html; charset=utf-8"
#define CSS "content-type", "text/css"

static const struct row rows[] = {
    {"/a.css", 200, 200, {HTML}, {CSS}, true},
    {"/a.css", 200, 200, {NULL}, {NULL}, true},
    {"/a.css", 304, 200, {NULL}, {"content-type", "TEXT/CSS;charset=utf-8"}, true},
    {"/a.css", 200, 200, {"content-type", "application/xhtml+xml"}, {CSS, "vary", "accept-encoding"}, true},
    {"/a.js", 200, 200, {HTML}, {"content-type", "application/javascript"}, true},
    {"/a.png", 200, 200, {HTML}, {"content-type", "image/webp", "cache-control", "public, max-age=60"}, true},
    {"/a.woff2", 200, 200, {HTML}, {"content-type", "font/woff2"}, true},
    /* pages that are none */
    {"/a.css", 404, 200, {HTML}, {CSS}, false},
    {"/a.css", 302, 200, {"location", "/elsewhere"}, {CSS}, false},
    {"/a.css", 500, 200, {HTML}, {CSS}, false},
    {"/a.css", 200, 200, {"content-type", "application/json"}, {CSS}, false},
    /* responses that are no assets, whatever their path says */
    {"/a.css", 200, 404, {HTML}, {CSS}, false},
    {"/logout.php/x.css", 200, 200, {HTML}, {HTML}, false},
    {"/logout.php/x.css", 200, 200, {HTML}, {CSS, "set-cookie", "session="}, false},
    {"/a.css", 200, 200, {HTML}, {"content-type", "text/javascript"}, false},
    {"/a.png", 200, 200, {HTML}, {"content-type", "image"}, false},
    {"/u/alice/inbox.css", 200, 200, {HTML}, {CSS, "cache-control", "private, max-age=60"}, false},
    {"/u/alice/inbox.css", 200, 200, {HTML}, {CSS, "cache-control", "no-store"}, false},
    {"/u/alice/inbox.css", 200, 200, {HTML}, {CSS, "vary", "Cookie"}, false},
    {"/u/alice/inbox.css", 200, 200, {HTML}, {CSS, "vary", "*"}, false},
    /* paths that are none of assets, whatever the response says */
    {"/logout", 200, 200, {HTML}, {CSS}, false},
    {"/cart/add?item=9", 200, 200, {HTML}, {CSS}, false},
    {"/a.css?token=4711", 200, 200, {HTML}, {CSS}, false},
};

static struct gate_stream *get(
    struct gate_world *w, struct gate_peer *client, const char *path, const char *name, const char *value)
{
	struct gate_stream *asked = gate_request(client, "GET", "example.com", path, true, name, value, NULL);
	UNTIL(w, gate_find(w, path));
	return asked;
}

static uint32_t learned(const struct row *r)
{
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, "[preload p]\nlearned = propose\n[route a]\norigin = a\n");
	static const struct gate_peer_options no_push = {.no_push = true};
	struct gate_peer *client = gate_client(w, &no_push);
	struct gate_stream *page = get(w, client, "/page", "sec-fetch-mode", "navigate");
	gate_answer_fields(gate_find(w, "/page"), r->page_status, true, SPREAD(r->page));
	UNTIL(w, page->is_over);
	struct gate_stream *asset = get(w, client, r->path, "referer", "http://example.com/page");
	gate_answer_fields(gate_find(w, r->path), r->status, true, SPREAD(r->asset));
	UNTIL(w, asset->is_over);
	gate_passes(w);
	uint32_t count = offer_learned_stats(w->gateway->learned).resources;
	gate_world_free(w);
	return count;
}

static void assets_of_pages_are_learned_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (learned(&rows[i]) != rows[i].is_learned)
			fail_msg("row %zu: %s, learned %d", i, rows[i].path, !rows[i].is_learned);
}

/* Our own answers are no pages either, but for a page that the route has. */
static void a_request_that_no_route_takes_is_no_page(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new(NULL, NULL, NULL, "[preload p]\nlearned = propose\n[route a]\norigin = a\npath = /a\n");
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *page =
	    gate_request(client, "GET", "example.com", "/none", true, "sec-fetch-mode", "navigate", NULL);
	UNTIL(w, page->is_over);
	assert_int_equal(page->status, 404);
	struct gate_stream *asset = get(w, client, "/a/x.css", "referer", "http://example.com/none");
	gate_answer_fields(gate_find(w, "/a/x.css"), 200, true, CSS, NULL);
	UNTIL(w, asset->is_over);
	assert_int_equal(offer_learned_stats(w->gateway->learned).resources, 0);
	gate_world_free(w);
}

/* ---- what comes of the table's pushes ---- */

/* A page in the table with one resource, which is worth to be pushed. */
static struct learned_page *known_page(struct gate_world *w)
{
	struct learned_page *p;
	const struct offer_learned_numbers numbers = {.hits = 9, .views = 9, .clients = 8};
	usec now = w->gateway->relay.now;
	assert_null(learned_page_add(w->gateway->learned, SLICE("example.com"), SLICE("/page"), &p, now));
	assert_null(learned_numbers_add(w->gateway->learned, p, SLICE("/a.css"), numbers, now));
	return p;
}

enum push_end { DELIVERED, RESET_BY_CLIENT, NOT_FOUND, HELD };

static void push_ends(struct gate_world *w, struct gate_peer *client, struct gate_stream *at, enum push_end how)
{
	gate_answer_fields(at, how == NOT_FOUND ? 404 : 200, how == NOT_FOUND, "cache-control", "max-age=60", NULL);
	if (how == RESET_BY_CLIENT) {
		gate_more(at, 5, false);
		UNTIL(w, gate_find_at(client, "/a.css") && gate_find_at(client, "/a.css")->received == 5);
		gate_reset_stream(gate_find_at(client, "/a.css"), SESSION_CANCEL);
	} else if (how != NOT_FOUND) {
		gate_more(at, 5, true);
	}
	UNTIL(w, at->is_over);
	if (how == HELD) {
		struct gate_stream *claim = gate_get(client, "/a.css");
		UNTIL(w, claim->is_over);
		assert_int_equal(claim->received, 5);
	}
}

static void what_comes_of_a_push_counts_for_its_resource(void **state)
{
	(void)state;
	static const struct {
		enum push_end how;
		uint32_t taken, refused;
		double hits; /* of 9: one that is not there any more is seldom proposed again */
	} ends[] = {{DELIVERED, 1, 0, 9}, {RESET_BY_CLIENT, 0, 1, 9}, {NOT_FOUND, 0, 0, 9.0 / 4}, {HELD, 1, 0, 9}};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const struct gate_peer_options options = {.no_push = ends[i].how == HELD};
		struct gate_world *w = gate_world_new(NULL, NULL, NULL,
		    ends[i].how == HELD ? "[preload p]\nlearned = apply\n[route a]\norigin = a\n[push h]\naction = hold\n"
					: "[preload p]\nlearned = apply\n[route a]\norigin = a\n");
		struct learned_page *p = known_page(w);
		struct gate_peer *client = gate_client(w, &options);
		get(w, client, "/page", "sec-fetch-mode", "navigate");
		UNTIL(w, gate_find(w, "/a.css"));
		push_ends(w, client, gate_find(w, "/a.css"), ends[i].how);
		UNTIL(w, w->counters.pushes_open == 0); /* while its page is open, which it counts for */
		gate_answer(gate_find(w, "/page"), 200, 1, true);
		UNTIL(w, w->counters.requests_open == 0);
		const struct learned_resource *r = p->resources[0];
		assert_int_equal(r->numbers.offered, 1);
		if (r->numbers.taken != ends[i].taken || r->numbers.refused != ends[i].refused)
			fail_msg("row %zu: taken %u, refused %u", i, r->numbers.taken, r->numbers.refused);
		assert_true(r->numbers.hits > ends[i].hits - 0.1 && r->numbers.hits < ends[i].hits + 0.1);
		gate_world_free(w);
	}
}

/* More would be no use to a client at once, and each takes a place in memory. */
static void of_many_resources_the_surest_are_offered(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new(NULL, NULL, NULL, "[preload p]\nlearned = apply\n[route a]\norigin = a\n");
	struct learned_page *p = known_page(w);
	uint32_t offered[2] = {0, 0};
	char path[16];
	for (int i = 0; i < OFFER_LEARNED_RESOURCES - 1; i++) {
		/* The first half is less sure. */
		const struct offer_learned_numbers numbers = {.hits = i < 32 ? 8 : 9, .views = 9, .clients = 8};
		snprintf(path, sizeof(path), "/%d.css", i);
		assert_null(learned_numbers_add(
		    w->gateway->learned, p, slice_of_string(path), numbers, w->gateway->relay.now));
	}
	get(w, gate_client(w, NULL), "/page", "sec-fetch-mode", "navigate");
	gate_passes(w);
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++)
		offered[p->resources[i]->numbers.hits > 8.5] += p->resources[i]->numbers.offered;
	assert_int_equal(offered[0], 0);
	assert_int_equal(offered[1], 32);
	gate_world_free(w);
}

/* A hint counts for its resource as a push does, if it was offered because it was learned. */
static void a_hint_counts_for_what_was_learned_alone(void **state)
{
	(void)state;
	static const char *const preloads[] = {
	    "[preload p]\nadd = /a.css as=style\n[preload q]\nlearned = apply\npath = /other\n",
	    "[preload p]\nlearned = apply\n"};
	for (unsigned is_learned = 0; is_learned < 2; is_learned++) {
		char more[256];
		snprintf(more, sizeof(more), "[route a]\norigin = a\n[push h]\naction = hint\n%s", preloads[is_learned]);
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, more);
		struct learned_page *p = known_page(w);
		struct gate_stream *asked = get(w, gate_client(w, NULL), "/page", "sec-fetch-mode", "navigate");
		UNTIL(w, asked->interims == 1);
		assert_int_equal(w->counters.pushes_hinted, 1);
		assert_int_equal(p->resources[0]->numbers.offered, is_learned);
		gate_world_free(w);
	}
}

static void what_was_learned_is_offered_where_a_preload_section_says_so(void **state)
{
	(void)state;
	static const struct {
		const char *preloads;
		unsigned offered;
	} scenes[] = {
	    {"[preload p]\nlearned = propose\n", 1},
	    {"[preload p]\nlearned = apply\nnavigation = yes\n", 1},
	    {"[preload p]\nlearned = apply\nnavigation = no\n", 0},
	    {"[preload p]\nlearned = apply\npath = /other\n", 0},
	    {"[preload p]\nlearned = apply\npath = /other\n[preload q]\nlink = yes\n", 0},
	};
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		char more[256];
		snprintf(more, sizeof(more), "[route a]\norigin = a\n%s", scenes[i].preloads);
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, more);
		known_page(w);
		get(w, gate_client(w, NULL), "/page", "sec-fetch-mode", "navigate");
		assert_int_equal(w->counters.pushes_offered, scenes[i].offered);
		gate_world_free(w);
	}
}

/* ---- what status says, and what is loaded ---- */

static void show(struct gate_world *w)
{
	wheel_set(&w->gateway->relay.wheel, &w->gateway->learned_shown, w->gateway->relay.now);
	UNTIL(w, w->gateway->learned_shown.deadline > w->gateway->relay.now || w->gateway->learned_shown.deadline == USEC_NEVER);
	gate_passes(w);
}

static void what_is_being_learned_is_shown(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(
	    "status-socket = status", NULL, NULL, "[preload p]\nlearned = propose\n[route a]\norigin = a\n");
	char text[OBSERVE_LEARNED_TEXT];
	struct gateway *g = w->gateway;
	assert_false(list_is_linked(&g->learned_shown.link));
	known_page(w)->is_established = true;
	struct gate_stream *page = get(w, gate_client(w, NULL), "/page", "sec-fetch-mode", "navigate");
	gate_answer(gate_find(w, "/page"), 200, 1, true);
	UNTIL(w, page->is_over);
	assert_true(list_is_linked(&g->learned_shown.link));
	assert_in_range(g->learned_shown.deadline, g->relay.now, g->relay.now + 2 * USEC_PER_SEC);
	show(w);
	assert_true(observe_learned_read(&w->counters.learned[0], text));
	assert_string_equal(text, "example.com/page: 0 clients, 0 loads so far; 1 of 1 resource proposed");
	assert_false(observe_learned_read(&w->counters.learned[1], text));
	assert_true(list_is_linked(&g->learned_shown.link)); /* the view is open */
	offer_learned_clear(g->learned);
	show(w);
	assert_false(observe_learned_read(&w->counters.learned[0], text));
	assert_false(list_is_linked(&g->learned_shown.link));
	gate_world_free(w);
}

static void a_table_that_is_loaded_replaces_the_one_there_is(void **state)
{
	(void)state;
	static uint8_t pages[OFFER_LEARNED_PAGE_BYTES];
	struct gate_world *w = gate_world_new(
	    "status-socket = status", NULL, NULL, "[preload p]\nlearned = propose\n[route a]\norigin = a\n");
	struct gateway *g = w->gateway;
	known_page(w);
	size_t length = offer_learned_export(g->learned, 1, pages, g->relay.now);
	assert_true(length > 0);
	assert_null(gateway_load_learned(g, slice_of((const char *)pages, length)));
	assert_int_equal(offer_learned_stats(g->learned).pages, 1);
	assert_true(list_is_linked(&g->learned_shown.link));
	assert_non_null(gateway_load_learned(g, slice_of((const char *)pages, length - 1)));
	assert_int_equal(offer_learned_stats(g->learned).pages, 0);
	gate_world_free(w);
	w = gate_world_new(NULL, NULL, NULL, NULL); /* it learns nothing */
	assert_null(gateway_load_learned(w->gateway, slice_of((const char *)pages, length)));
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(assets_of_pages_are_learned_and_nothing_else),
	    cmocka_unit_test(a_request_that_no_route_takes_is_no_page),
	    cmocka_unit_test(what_comes_of_a_push_counts_for_its_resource),
	    cmocka_unit_test(of_many_resources_the_surest_are_offered),
	    cmocka_unit_test(a_hint_counts_for_what_was_learned_alone),
	    cmocka_unit_test(what_was_learned_is_offered_where_a_preload_section_says_so),
	    cmocka_unit_test(what_is_being_learned_is_shown),
	    cmocka_unit_test(a_table_that_is_loaded_replaces_the_one_there_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
