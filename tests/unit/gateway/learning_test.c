/* SPDX-License-Identifier: MIT */
/*
 * What of the requests and responses that pass reaches the learned table: no page that does not exist, and nothing that is of
 * another type than its path, or for one client.
 */
#include "tests/support/gateway_world.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(assets_of_pages_are_learned_and_nothing_else),
	    cmocka_unit_test(a_request_that_no_route_takes_is_no_page),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
