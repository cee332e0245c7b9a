/* SPDX-License-Identifier: MIT */
/* Rewritten paths through the whole data plane: promises, links, what is held; and clients split among origins. */
#include "tests/support/gateway_world.h"

/* covers: R491 R493 R496 */

#define API "[route api]\npath = /api\norigin = a\nrewrite = /api "
#define REST "[route rest]\norigin = a\n"

/* A world, a client, and its request for this path, which the origin gets as `theirs`. */
struct scene {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_stream *page; /* at the client */
	struct gate_stream *at;   /* at the origin */
};

static struct scene scene_with(const char *more, const struct gate_peer_options *options, const char *path, const char *theirs)
{
	struct scene s = {.w = gate_world_new(NULL, NULL, NULL, more)};
	s.client = gate_client(s.w, options);
	s.page = gate_get(s.client, path);
	UNTIL(s.w, gate_find(s.w, theirs));
	s.at = gate_find(s.w, theirs);
	return s;
}

static uint64_t dropped(const struct gate_world *w, enum policy_source source, const struct policy_reason *reason)
{
	return w->counters.push[source][POLICY_DROP][policy_reason_position(reason)];
}

static const char *field_of(const struct gate_stream *s, enum http_token token)
{
	static char text[512];
	const struct http_field *f = s->head ? http_head_find(s->head, token) : NULL;
	snprintf(text, sizeof(text), "%.*s", f ? (int)f->value.len : 0, f ? f->value.ptr : "");
	return text;
}

/* ---- promises ---- */

static void a_promise_reaches_the_client_with_the_public_path(void **state)
{
	(void)state;
	static const struct {
		const char *rewrite, *page, *theirs, *promised, *public;
	} rows[] = {
	    {API "/\n", "/api/page", "/page", "/a.css", "/api/a.css"},
	    {API "/\n", "/api/page", "/page", "/x/a.css?q", "/api/x/a.css?q"},
	    {API "/\n", "/api", "/", "/", "/api/"},
	    {API "/v1\n", "/api/page", "/v1/page", "/v1/a.css", "/api/a.css"},
	    {"[route all]\norigin = a\nrewrite = / /app\n", "/page", "/app/page", "/app/a.css", "/a.css"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = scene_with(rows[i].rewrite, NULL, rows[i].page, rows[i].theirs);
		struct gate_stream *promise = gate_promise(s.at, "http", "example.com", rows[i].promised);
		UNTIL(s.w, gate_find_at(s.client, rows[i].public));
		struct gate_stream *push = gate_find_at(s.client, rows[i].public);
		assert_ptr_equal(push->parent, s.page);
		gate_answer_fields(promise, 200, true, "content-location", rows[i].promised, NULL);
		UNTIL(s.w, push->is_over);
		assert_string_equal(field_of(push, HTTP_TOKEN_CONTENT_LOCATION), rows[i].public);
		gate_world_free(s.w);
	}
}

static void a_promise_that_points_out_of_the_prefix_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *more, *page, *theirs, *promised;
	} rows[] = {
	    {API "/v1\n" REST, "/api/page", "/v1/page", "/a.css"},
	    {API "/v1\n" REST, "/api/page", "/v1/page", "/v1x/a.css"},
	    {API "/v1\n" REST, "/api/page", "/v1/page", "/v1/../a.css"},
	    {API "/v1\n" REST, "/api/page", "/v1/page", "/v1/%2e%2e/a.css"},
	    {API "/v1\n" REST, "/api/page", "/v1/page", "/api/a.css"},
	    /* the client's own request for it would ask the origin for another path */
	    {API "/v1\n" REST, "/page", "/page", "/api/a.css"},
	    {"[route all]\norigin = a\nrewrite = /api /v1\n", "/page", "/page", "/api/a.css"},
	    {API "/v1\n[route deep]\npath = /api/x\norigin = a\n", "/api/page", "/v1/page", "/v1/x/a.css"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = scene_with(rows[i].more, NULL, rows[i].page, rows[i].theirs);
		struct gate_stream *promise = gate_promise(s.at, "http", "example.com", rows[i].promised);
		UNTIL(s.w, promise->is_over);
		assert_true(promise->was_reset);
		assert_int_equal(promise->code, SESSION_CANCEL);
		assert_int_equal(dropped(s.w, POLICY_RELAYED, &policy_reason_OUTSIDE_PREFIX), 1);
		gate_answer(s.at, 200, 7, true);
		UNTIL(s.w, s.page->is_over);
		assert_int_equal(s.page->received, 7);
		gate_world_free(s.w);
	}
}

static void a_request_that_climbs_out_of_the_prefix_is_refused(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, API "/v1\n" REST);
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *climbs = gate_get(client, "/api/../admin"), *other = gate_get(client, "/x/../y");
	struct gate_stream *twice = gate_get(client, "/api/%252e%252e/admin"); /* for servers that decode twice */
	UNTIL(w, climbs->is_over && twice->is_over && gate_find(w, "/x/../y"));
	assert_int_equal(climbs->status, 400);
	assert_int_equal(twice->status, 400);
	assert_int_equal(gate_seen(&w->sites[0], "/v1/../admin"), 0);
	assert_int_equal(gate_seen(&w->sites[0], "/v1/%252e%252e/admin"), 0);
	gate_answer(gate_find(w, "/x/../y"), 200, 1, true);
	UNTIL(w, other->is_over);
	assert_int_equal(other->status, 200);
	gate_world_free(w);
}

static void a_tunnel_is_asked_for_by_the_origins_path(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, API "/v1\nupgrade = echo\n" REST);
	w->sites[0].options.takes_tunnels = true;
	struct gate_peer *client = gate_client(w, NULL);
	UNTIL(w, client->settings_came > 0);
	struct gate_stream *tunnel = gate_tunnel(client, "echo", "/api/socket?q");
	UNTIL(w, gate_find(w, "/v1/socket?q"));
	gate_answer(gate_find(w, "/v1/socket?q"), 200, 0, false);
	UNTIL(w, tunnel->status == 200);
	struct gate_stream *climbs = gate_tunnel(client, "echo", "/api/%2e%2e/socket");
	UNTIL(w, climbs->status == 400);
	gate_world_free(w);
}

/* ---- links and offers of our own ---- */

#define LINKS "[preload p]\nlink = yes\n"

static void a_link_becomes_a_push_with_the_public_path(void **state)
{
	(void)state;
	struct scene s = scene_with(API "/v1\n" REST LINKS, NULL, "/api/page", "/v1/page");
	gate_answer_fields(s.at, 200, true, "link", "</v1/a.css>; rel=preload; as=style, </out.css>; rel=preload; as=style", NULL);
	UNTIL(s.w, gate_find(s.w, "/v1/a.css") && s.page->is_over);
	assert_non_null(gate_find_at(s.client, "/api/a.css"));
	assert_string_equal(field_of(s.page, HTTP_TOKEN_LINK), "</api/a.css>; rel=preload; as=style, </out.css>; rel=preload; as=style");
	assert_int_equal(dropped(s.w, POLICY_LINK, &policy_reason_OUTSIDE_PREFIX), 1);
	assert_int_equal(gate_seen(&s.w->sites[0], "/out.css"), 0);
	gate_world_free(s.w);
}

static void an_own_offer_has_the_public_path_and_is_asked_for_by_the_origins(void **state)
{
	(void)state;
	struct scene s = scene_with(API "/v1\n" REST "[preload p]\nadd = /api/a.css\n", NULL, "/api/page", "/v1/page");
	UNTIL(s.w, gate_find_at(s.client, "/api/a.css") && gate_find(s.w, "/v1/a.css"));
	gate_world_free(s.w);
}

static void the_origins_103_has_public_links(void **state)
{
	(void)state;
	struct scene s = scene_with(API "/v1\n", NULL, "/api/page", "/v1/page");
	gate_answer_fields(s.at, 103, false, "link", "</v1/a.css>; rel=preload", NULL);
	UNTIL(s.w, s.page->interims == 1);
	gate_answer(s.at, 200, 1, true);
	UNTIL(s.w, s.page->is_over);
	gate_world_free(s.w);
}

/* ---- what is held ---- */

#define HOLDS "[push hold]\naction = hold\n"

/* A page with a held push of /api/a.css. */
static struct scene held(const char *more)
{
	const struct gate_peer_options options = {.no_push = true};
	struct scene s = scene_with(more, &options, "/api/page", "/v1/page");
	struct gate_stream *promise = gate_promise(s.at, "http", "example.com", "/v1/a.css");
	gate_answer_fields(promise, 200, true, "cache-control", "max-age=60", "content-location", "/v1/a.css", "set-cookie",
	    "a=b; Path=/v1", NULL);
	gate_answer(s.at, 200, 1, true);
	UNTIL(s.w, s.page->is_over);
	gate_passes(s.w);
	return s;
}

static void a_held_response_is_claimed_by_the_public_path_and_mapped_once(void **state)
{
	(void)state;
	struct scene s = held(API "/v1\n" HOLDS);
	struct gate_stream *claim = gate_get(s.client, "/api/a.css");
	UNTIL(s.w, claim->is_over);
	assert_int_equal(claim->status, 200);
	assert_int_equal(gate_seen(&s.w->sites[0], "/v1/a.css"), 0);
	assert_string_equal(field_of(claim, HTTP_TOKEN_CONTENT_LOCATION), "/api/a.css");
	assert_string_equal(field_of(claim, HTTP_TOKEN_SET_COOKIE), "a=b; Path=/api");
	gate_world_free(s.w);
}

static void a_location_in_the_origins_terms_invalidates_what_is_held(void **state)
{
	(void)state;
	static const char *const locations[] = {"/v1/a.css", "http://example.com/v1/a.css", "a.css"};
	for (size_t i = 0; i < sizeof(locations) / sizeof(locations[0]); i++) {
		struct scene s = held(API "/v1\n" HOLDS);
		struct gate_stream *post = gate_request(s.client, "POST", "example.com", "/api/edit", true, NULL);
		UNTIL(s.w, gate_find(s.w, "/v1/edit"));
		gate_answer_fields(gate_find(s.w, "/v1/edit"), 201, true, "location", locations[i], NULL);
		UNTIL(s.w, post->is_over);
		gate_get(s.client, "/api/a.css");
		UNTIL(s.w, gate_seen(&s.w->sites[0], "/v1/a.css") == 1);
		gate_world_free(s.w);
	}
}

static void what_one_origin_pushed_answers_no_request_for_another(void **state)
{
	(void)state;
	struct scene s = held("[route canary]\npath = /api\nfield = x-canary\norigin = b\n" API "/v1\n" HOLDS);
	gate_request(s.client, "GET", "example.com", "/api/a.css", true, "x-canary", "1", NULL);
	UNTIL(s.w, gate_seen(&s.w->sites[1], "/api/a.css") == 1);
	struct gate_stream *claim = gate_get(s.client, "/api/a.css");
	UNTIL(s.w, claim->is_over);
	assert_int_equal(claim->status, 200);
	gate_world_free(s.w);
}

static void what_is_held_answers_no_request_for_another_path_of_the_origin(void **state)
{
	(void)state;
	const struct gate_peer_options options = {.no_push = true};
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, "[route beta]\nfield = x-beta\norigin = a\nrewrite = / /beta\n" REST HOLDS);
	struct gate_peer *client = gate_client(w, &options);
	struct gate_stream *page = gate_request(client, "GET", "example.com", "/page", true, "x-beta", "1", NULL);
	UNTIL(w, gate_find(w, "/beta/page"));
	struct gate_stream *promise =
	    gate_promise_fields(gate_find(w, "/beta/page"), "http", "example.com", "/beta/a.css", "x-beta", "1", NULL);
	gate_answer_fields(promise, 200, true, "cache-control", "max-age=60", NULL);
	gate_answer(gate_find(w, "/beta/page"), 200, 1, true);
	UNTIL(w, page->is_over);
	gate_passes(w);
	gate_get(client, "/a.css");
	UNTIL(w, gate_seen(&w->sites[0], "/a.css") == 1);
	struct gate_stream *claim = gate_request(client, "GET", "example.com", "/a.css", true, "x-beta", "1", NULL);
	UNTIL(w, claim->is_over);
	assert_int_equal(claim->status, 200);
	assert_int_equal(gate_seen(&w->sites[0], "/beta/a.css"), 0);
	gate_world_free(w);
}

/* ---- sides ---- */

static void a_push_stays_at_the_side_of_its_page(void **state)
{
	(void)state;
	/* Not split as the page's route is: by itself the client would be on the other side there. */
	static const char more[] = "[route page]\norigin = a 0, b 1\n[route css]\npath = /css\norigin = b 0, a 1\n"
				   "[route alone]\npath = /alone\norigin = a\n[preload p]\nadd = /css/own.css\n";
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, more);
	struct gate_peer *client = gate_client(w, NULL);
	gate_get(client, "/page");
	UNTIL(w, gate_find(w, "/page") && gate_find(w, "/css/own.css"));
	struct gate_stream *at = gate_find(w, "/page");
	assert_ptr_equal(at->peer->site, &w->sites[1]);
	assert_int_equal(gate_seen(&w->sites[1], "/css/own.css"), 1);
	gate_promise(at, "http", "example.com", "/css/a.css");
	UNTIL(w, gate_find_at(client, "/css/a.css"));
	struct gate_stream *refused = gate_promise(at, "http", "example.com", "/alone/a.css");
	UNTIL(w, refused->is_over);
	assert_int_equal(dropped(w, POLICY_RELAYED, &policy_reason_AUTHORITY), 1);
	/* a request of its own is for the other side */
	gate_get(client, "/css/b.css");
	UNTIL(w, gate_seen(&w->sites[0], "/css/b.css") == 1);
	gate_world_free(w);
}

static void an_offer_for_a_route_without_origin_is_dropped(void **state)
{
	(void)state;
	struct scene s = scene_with(REST "[route gone]\npath = /gone\nanswer = 410\n[preload p]\nadd = /gone/a.css\n", NULL, "/page", "/page");
	struct gate_stream *promise = gate_promise(s.at, "http", "example.com", "/gone/b.css");
	UNTIL(s.w, promise->is_over);
	assert_int_equal(dropped(s.w, POLICY_RELAYED, &policy_reason_AUTHORITY), 1);
	assert_null(gate_find_at(s.client, "/gone/a.css"));
	assert_null(gate_find_at(s.client, "/gone/b.css"));
	gate_world_free(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_promise_reaches_the_client_with_the_public_path),
	    cmocka_unit_test(a_promise_that_points_out_of_the_prefix_is_refused),
	    cmocka_unit_test(a_request_that_climbs_out_of_the_prefix_is_refused),
	    cmocka_unit_test(a_tunnel_is_asked_for_by_the_origins_path),
	    cmocka_unit_test(a_link_becomes_a_push_with_the_public_path),
	    cmocka_unit_test(an_own_offer_has_the_public_path_and_is_asked_for_by_the_origins),
	    cmocka_unit_test(the_origins_103_has_public_links),
	    cmocka_unit_test(a_held_response_is_claimed_by_the_public_path_and_mapped_once),
	    cmocka_unit_test(a_location_in_the_origins_terms_invalidates_what_is_held),
	    cmocka_unit_test(what_one_origin_pushed_answers_no_request_for_another),
	    cmocka_unit_test(what_is_held_answers_no_request_for_another_path_of_the_origin),
	    cmocka_unit_test(a_push_stays_at_the_side_of_its_page),
	    cmocka_unit_test(an_offer_for_a_route_without_origin_is_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
