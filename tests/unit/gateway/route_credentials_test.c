/* SPDX-License-Identifier: MIT */
/*
 * Two routes of one host and path with fields of their own, and one origin: what the origin said for one of them is not an answer
 * to requests of the other, unless the response says so itself (RFC 9111 3.5, 4.1). Held, being pushed, or known by its validator.
 */
#include "tests/unit/gateway/field_rules.h"

/* covers: P-hold-claim P-hold-private P-hold-shared */

#define PRIVATE "cache-control", "private, max-age=60"
#define FRESH "cache-control", "max-age=60"
#define PUBLIC "cache-control", "public, max-age=60"

/* Tenants a and b each have a route with a field of its own; every other request has none. Route alike is a's by another name. */
static struct gate_world *tenants_world(const char *server, const char *field, const char *value_a, const char *value_b)
{
	char rules[512];
	snprintf(rules, sizeof(rules),
	    "field = X-Tenant: a\nrequest-set = %s: %s\n"
	    "[route b]\norigin = a\nfield = X-Tenant: b\nrequest-set = %s: %s\n"
	    "[route alike]\norigin = a\nfield = X-Tenant: alike\nrequest-set = %s: %s\n"
	    "[route others]\norigin = a\n",
	    field, value_a, field, value_b, field, value_a);
	return rules_world(server, rules);
}

struct field_of_route {
	const char *name, *lower, *a, *b;
	bool is_authorization;
};

static const struct field_of_route fields[] = {
    {"Authorization", "authorization", "Bearer KEY-A", "Bearer KEY-B", true},
    {"X-Api-Key", "x-api-key", "KEY-A", "KEY-B", false},
    {"Cookie", "cookie", "key=A", "key=B", false},
};

/* Who asks for what was pushed for a's page, and where. */
enum asker { SAME_ROUTE, ALIKE_ROUTE, OTHER_ROUTE, NO_FIELDS, ASKERS };
static const char *const tenants[ASKERS] = {"a", "alike", "b", "none"};
enum where { SAME_CONNECTION, OTHER_CONNECTION };

struct response {
	const char *label, *cache_control;
	bool names_field; /* in Vary */
};
static const struct response responses[] = {
    {"private", "private, max-age=60", false},
    {"max-age", "max-age=60", false},
    {"public", "public, max-age=60", false},
    {"max-age and Vary", "max-age=60", true},
    {"public and Vary", "public, max-age=60", true},
};

static bool is_public(const struct response *r)
{
	return strncmp(r->cache_control, "public", 6) == 0;
}

/* What must come of it. */
static const char *wanted(
    const struct field_of_route *f, const struct response *r, enum asker asker, enum where where)
{
	bool is_alike = asker == SAME_ROUTE || asker == ALIKE_ROUTE;
	bool is_there = where == SAME_CONNECTION ||
			(strncmp(r->cache_control, "private", 7) != 0 && (!f->is_authorization || is_public(r)));
	if (!is_there) /* in the store of the page's connection alone */
		return "origin";
	if (is_alike)
		return "claimed";
	if (r->names_field)
		return "vary";
	return is_public(r) ? "claimed" : "route";
}

static void each_asker(const struct field_of_route *f, const struct response *r, bool shares, enum where where)
{
	for (unsigned asker = 0; asker < ASKERS; asker++) {
		struct stage stage = {.w = tenants_world(shares ? "hold-shared = yes" : NULL, f->name, f->a, f->b)};
		const struct play p = {.source = PROMISED,
		    .page = {"x-tenant", "a"},
		    /* as the origin got the page's request, if Vary is to be compared with it */
		    .promise = {"x-tenant", "a", f->lower, f->a},
		    .response = {"cache-control", r->cache_control, r->names_field ? "vary" : NULL, f->name},
		    .claim = {"x-tenant", tenants[asker]},
		    .from_elsewhere = where == OTHER_CONNECTION};
		struct played d = play(&stage, &p);
		field_is(d.page_at->head, f->lower, f->a, f->name);
		const char *must = wanted(f, r, (enum asker)asker, where);
		if (strcmp(d.outcome, must) != 0)
			fail_msg("%s, %s, a's asked by %s (shared %d, other connection %d): %s, not %s", f->name, r->label,
			    tenants[asker], shares, where, d.outcome, must);
		gate_world_free(stage.w);
	}
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void a_route_gets_nothing_that_was_pushed_for_another_on_the_same_connection(void **state)
{
	(void)state;
	for (size_t f = 0; f < COUNT(fields); f++)
		for (size_t r = 0; r < COUNT(responses); r++)
			each_asker(&fields[f], &responses[r], false, SAME_CONNECTION);
}

static void nor_on_any_where_holds_are_shared(void **state)
{
	(void)state;
	for (size_t f = 0; f < COUNT(fields); f++)
		for (size_t r = 0; r < COUNT(responses); r++) {
			each_asker(&fields[f], &responses[r], true, SAME_CONNECTION);
			each_asker(&fields[f], &responses[r], true, OTHER_CONNECTION);
		}
}

/* What pushgate asked for itself has the fields of the route that this request of ours took, not those of the page's. */
static void our_own_request_counts_with_the_fields_that_it_was_sent_with(void **state)
{
	(void)state;
	for (size_t f = 0; f < COUNT(fields); f++)
		for (unsigned asker = 0; asker < ASKERS; asker++) {
			struct stage stage = {.w = tenants_world(NULL, fields[f].name, fields[f].a, fields[f].b)};
			const struct play p = {.source = LINKED,
			    .page = {"x-tenant", "a"},
			    .response = {PRIVATE},
			    .claim = {"x-tenant", tenants[asker]}};
			struct played d = play(&stage, &p);
			field_is(d.own_at->head, fields[f].lower, "", fields[f].name);
			assert_string_equal(d.outcome, asker == NO_FIELDS ? "claimed" : "route");
			gate_world_free(stage.w);
		}
}

/* ---- while it is being pushed ---- */

struct flight {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_stream *page_at, *pushed;
};

static struct flight flight_new(void)
{
	struct flight f = {.w = tenants_world(NULL, "X-Api-Key", "KEY-A", "KEY-B")};
	f.client = refusing_client(f.w);
	gate_request(f.client, "GET", "example.com", "/page", true, "x-tenant", "a", NULL);
	f.page_at = at_origin(f.w, "/page", 1);
	f.pushed = gate_promise_fields(f.page_at, "http", "example.com", "/r.css", "x-tenant", "a", NULL);
	gate_passes(f.w);
	return f;
}

static struct gate_stream *flight_ask(struct flight *f, const char *tenant)
{
	return gate_request(f->client, "GET", "example.com", "/r.css", true, "x-tenant", tenant, NULL);
}

static void a_request_of_another_route_waits_for_the_head_alone(void **state)
{
	(void)state;
	static const struct {
		const char *cache_control;
		bool joins;
	} rows[] = {{"private, max-age=60", false}, {"max-age=60", false}, {"public, max-age=60", true}};
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct flight f = flight_new();
		struct gate_stream *mine = flight_ask(&f, "a"), *theirs = flight_ask(&f, "b");
		gate_passes(f.w);
		assert_int_equal(gate_seen(&f.w->sites[0], "/r.css"), 0);
		gate_answer_fields(f.pushed, 103, false, "link", "</secret.css>; rel=preload", NULL);
		gate_passes(f.w);
		gate_answer_fields(f.pushed, 200, false, "cache-control", rows[i].cache_control, NULL);
		gate_more(f.pushed, HELD_BYTES, true);
		UNTIL(f.w, mine->is_over);
		assert_int_equal(mine->received, HELD_BYTES);
		assert_int_equal(theirs->interims, 0);
		if (!rows[i].joins) {
			struct gate_stream *at = at_origin(f.w, "/r.css", 1);
			field_is(at->head, "x-api-key", "KEY-B", "b's own");
			gate_answer_fields(at, 200, false, NULL);
			gate_more(at, ORIGIN_BYTES, true);
		}
		UNTIL(f.w, theirs->is_over);
		assert_int_equal(theirs->received, rows[i].joins ? HELD_BYTES : ORIGIN_BYTES);
		gate_world_free(f.w);
	}
}

static void one_that_comes_behind_the_head_leaves_for_the_origin_at_once(void **state)
{
	(void)state;
	struct flight f = flight_new();
	gate_answer_fields(f.pushed, 200, false, PRIVATE, NULL);
	gate_more(f.pushed, 1, false);
	gate_passes(f.w);
	struct gate_stream *theirs = flight_ask(&f, "b");
	struct gate_stream *at = at_origin(f.w, "/r.css", 1);
	field_is(at->head, "x-api-key", "KEY-B", "b's own");
	gate_answer_fields(at, 200, false, NULL);
	gate_more(at, ORIGIN_BYTES, true);
	UNTIL(f.w, theirs->is_over);
	assert_int_equal(theirs->received, ORIGIN_BYTES);
	gate_more(f.pushed, HELD_BYTES - 1, true);
	struct gate_stream *mine = flight_ask(&f, "a");
	UNTIL(f.w, mine->is_over);
	assert_int_equal(mine->received, HELD_BYTES);
	gate_world_free(f.w);
}

/* ---- conditions ---- */

static void the_validator_of_one_route_says_nothing_to_the_other(void **state)
{
	(void)state;
	struct stage stage = {.w = tenants_world("hold-shared = yes", "X-Api-Key", "KEY-A", "KEY-B")};
	const struct play p = {.page = {"x-tenant", "a"},
	    .response = {FRESH, "etag", "\"1\""},
	    .claim = {"x-tenant", "b", "if-none-match", "\"1\""},
	    .from_elsewhere = true};
	struct played d = play(&stage, &p);
	assert_string_equal(d.outcome, "route");
	field_is(d.claim_at->head, "if-none-match", "\"1\"", "b's condition goes to the origin");
	gate_world_free(stage.w);
}

/* ---- what is held already ---- */

/* The newest page's push of /r.css, answered. NULL: refused. */
static struct gate_stream *push_with_page(
    struct gate_world *w, struct gate_peer *client, const char *path, const char *tenant, const char *cache_control, size_t bytes)
{
	struct gate_stream *page = gate_request(client, "GET", "example.com", path, true, "x-tenant", tenant, NULL);
	struct gate_stream *at = at_origin(w, path, 1);
	struct gate_stream *pushed = gate_promise_fields(at, "http", "example.com", "/r.css", "x-tenant", tenant, NULL);
	gate_answer_fields(pushed, 200, false, "cache-control", cache_control, NULL);
	gate_more(pushed, bytes, true);
	gate_answer_fields(at, 200, true, NULL);
	UNTIL(w, page->is_over && pushed->is_over);
	gate_passes(w);
	return pushed;
}

static void each_route_has_a_response_of_its_own(void **state)
{
	(void)state;
	static const char *const kinds[] = {"private, max-age=60", "max-age=60"};
	for (unsigned shares = 0; shares < 2; shares++)
		for (size_t i = 0; i < COUNT(kinds); i++) {
			struct gate_world *w =
			    tenants_world(shares ? "hold-shared = yes" : NULL, "X-Api-Key", "KEY-A", "KEY-B");
			struct gate_peer *client = refusing_client(w);
			push_with_page(w, client, "/page1", "a", kinds[i], 4);
			push_with_page(w, client, "/page2", "b", kinds[i], 5);
			assert_int_equal(w->counters.pushes_held, 2);
			struct gate_stream *a = gate_request(client, "GET", "example.com", "/r.css", true, "x-tenant", "a", NULL);
			struct gate_stream *b = gate_request(client, "GET", "example.com", "/r.css", true, "x-tenant", "b", NULL);
			UNTIL(w, a->is_over && b->is_over);
			assert_int_equal(a->received, 4);
			assert_int_equal(b->received, 5);
			assert_int_equal(gate_seen(&w->sites[0], "/r.css"), 0);
			gate_world_free(w);
		}
}

static void what_is_public_is_held_once(void **state)
{
	(void)state;
	struct gate_world *w = tenants_world("hold-shared = yes", "X-Api-Key", "KEY-A", "KEY-B");
	struct gate_peer *client = refusing_client(w);
	push_with_page(w, client, "/page1", "a", "public, max-age=60", 4);
	gate_request(client, "GET", "example.com", "/page2", true, "x-tenant", "b", NULL);
	struct gate_stream *at = at_origin(w, "/page2", 1);
	struct gate_stream *pushed = gate_promise_fields(at, "http", "example.com", "/r.css", "x-tenant", "b", NULL);
	UNTIL(w, pushed->is_over);
	assert_int_equal(w->counters.pushes_held, 1);
	gate_world_free(w);
}

/* ---- the latest validator ---- */

static void fetch(struct gate_world *w, struct gate_peer *client, const char *tenant, const char *etag)
{
	size_t before = gate_seen(&w->sites[0], "/r.css");
	struct gate_stream *asked = gate_request(client, "GET", "example.com", "/r.css", true, "x-tenant", tenant, NULL);
	gate_answer_fields(at_origin(w, "/r.css", before + 1), 200, true, FRESH, "etag", etag, NULL);
	UNTIL(w, asked->is_over);
}

/* A client has version 1 by route a; another client then gets version 2 by its own route: is the first one's copy old? */
static void a_version_of_another_route_makes_no_copy_old(void **state)
{
	(void)state;
	static const struct {
		const char *tenant;
		bool is_old;
	} rows[] = {{"b", false}, {"none", false}, {"a", true}, {"alike", true}};
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gate_world *w = tenants_world(NULL, "X-Api-Key", "KEY-A", "KEY-B");
		struct gate_peer *client = refusing_client(w), *other = refusing_client(w);
		fetch(w, client, "a", "\"1\"");
		fetch(w, other, rows[i].tenant, "\"2\"");
		gate_request(client, "GET", "example.com", "/page", true, "x-tenant", "a", NULL);
		struct gate_stream *at = at_origin(w, "/page", 1);
		gate_promise_fields(at, "http", "example.com", "/r.css", "x-tenant", "a", NULL);
		UNTIL(w, w->counters.pushes_offered == 1);
		assert_int_equal(w->counters.pushes_held, rows[i].is_old);
		gate_world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_route_gets_nothing_that_was_pushed_for_another_on_the_same_connection),
	    cmocka_unit_test(nor_on_any_where_holds_are_shared),
	    cmocka_unit_test(our_own_request_counts_with_the_fields_that_it_was_sent_with),
	    cmocka_unit_test(a_request_of_another_route_waits_for_the_head_alone),
	    cmocka_unit_test(one_that_comes_behind_the_head_leaves_for_the_origin_at_once),
	    cmocka_unit_test(the_validator_of_one_route_says_nothing_to_the_other),
	    cmocka_unit_test(each_route_has_a_response_of_its_own),
	    cmocka_unit_test(what_is_public_is_held_once),
	    cmocka_unit_test(a_version_of_another_route_makes_no_copy_old),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
