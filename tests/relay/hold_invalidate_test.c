/* SPDX-License-Identifier: MIT */
/* What is not held any more once a request has changed it at the origin (RFC 9111 4.4). */
#include "tests/support/hold_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define FRESH FIELDS("cache-control", "max-age=60")

/* The response to x goes to its client. */
static void respond_to(
    struct hold_world *hw, struct exchange *x, unsigned status, hold_fields fields)
{
	struct http_head *head = world_response(hw->w, status);
	for (; fields && *fields; fields += 2)
		http_head_add(head, slice_of_string(fields[0]), slice_of_string(fields[1]));
	hold_invalidate(&hw->hold, x, head);
	http_head_free(head);
	hold_world_pass(hw);
}

static void respond(struct hold_world *hw, const char *method, const char *path, unsigned status,
    hold_fields fields)
{
	struct world_leg *down;
	respond_to(
	    hw, hold_world_request(hw, &hw->store, method, path, NULL, &down), status, fields);
}

/* covers: P-hold-no-store */
static void unsafe_method_that_succeeds_drops_what_is_held_for_its_uri(void **state)
{
	(void)state;
	const struct {
		const char *method;
		unsigned status;
		bool drops;
	} cases[] = {{"POST", 200, true}, {"PUT", 204, true}, {"DELETE", 303, true},
	    {"PATCH", 200, true}, {"BREW", 200, true}, {"POST", 404, false}, {"POST", 500, false},
	    {"POST", 103, false}, {"GET", 200, false}, {"HEAD", 200, false},
	    {"OPTIONS", 200, false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down, *up;
		hold_world_push(hw, "/a", FRESH, "abc");
		hold_world_push(hw, "/b", FRESH, "abc");
		hold_world_promise(hw, "/c", NULL, &up);
		respond(hw, cases[i].method, "/a", cases[i].status, NULL);
		respond(hw, cases[i].method, "/c", cases[i].status, NULL);
		assert_string_equal(hw->notes,
		    cases[i].drops ? "invalidated expired 3; invalidated expired 0" : "");
		assert_string_equal(up->said, cases[i].drops ? "reset 8" : "");
		assert_int_equal(hold_world_get(hw, "/a", NULL, &down), !cases[i].drops);
		assert_true(hold_world_get(hw, "/b", NULL, &down));
		hold_world_free(hw);
	}
}

static void a_tunnel_drops_nothing(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	x->method = HTTP_METHOD_CONNECT;
	x->tunnel.is_asked = true;
	respond_to(hw, x, 200, NULL);
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	hold_world_free(hw);
}

/* covers: P-hold-no-store */
static void location_and_content_location_of_the_same_authority_are_dropped_too(void **state)
{
	(void)state;
	const struct {
		const char *name, *value;
		bool drops;
	} cases[] = {{"location", "/a", true}, {"location", "a", true},
	    {"location", "https://EXAMPLE.com:443/a", true},
	    {"content-location", "../x/../a", true}, {"location", "https://other.example/a", false},
	    {"location", "http://example.com/a", false}, {"location", "//example.com/a", true},
	    {"location", ":bad:", false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down;
		hold_world_push(hw, "/a", FRESH, "abc");
		respond(hw, "POST", "/form", 201, FIELDS(cases[i].name, cases[i].value));
		assert_int_equal(hold_world_get(hw, "/a", NULL, &down), !cases[i].drops);
		hold_world_free(hw);
	}
}

/* covers: P-hold-no-store */
static void change_on_one_connection_drops_what_others_hold_and_the_worker(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(NULL, false, &hold_world_ample, &hold_world_ample);
	struct hold_store other;
	struct world_leg *down;
	hold_store_init(&other, &hw->hold, &hw->w->budget, &hold_world_ample, true);
	hold_world_push(hw, "/private", FIELDS("cache-control", "private, max-age=60"), "abc");
	hold_world_push(hw, "/shared", FIELDS("cache-control", "public, max-age=60"), "abc");
	struct exchange *x = hold_world_request(hw, &other, "POST", "/private", NULL, &down);
	respond_to(hw, x, 200, FIELDS("content-location", "/shared"));
	assert_int_equal(hw->store.count + hw->hold.shared.count, 0);
	hold_store_fini(&other);
	hold_world_free(hw);
}

/* What is promised from now on is for the connection with this store. */
static void asks_for_page(struct hold_world *hw, struct hold_store *s)
{
	hw->parent = hold_world_request(hw, s, "GET", "/page", NULL, &hw->parent_down);
	exchange_dispatch(hw->parent);
	hw->parent_up = world_leg_of(hw->w, &hw->parent->up);
}

/* covers: P-hold-no-store */
static void change_reaches_every_connection_whoever_was_the_first(void **state)
{
	(void)state;
	enum { CONNECTIONS = 4 };
	for (unsigned gone = 0; gone < CONNECTIONS; gone++) {
		struct hold_world *hw = hold_world_new();
		struct hold_store stores[CONNECTIONS];
		for (unsigned i = 0; i < CONNECTIONS; i++) {
			hold_store_init(
			    &stores[i], &hw->hold, &hw->w->budget, &hold_world_ample, true);
			asks_for_page(hw, &stores[i]);
			hold_world_push(hw, "/a", FRESH, "abc");
			hold_world_push(hw, "/b", FRESH, "abc");
		}
		hold_store_fini(&stores[gone]); /* its connection is over */
		respond(hw, "POST", "/a", 200, NULL);
		for (unsigned i = 0; i < CONNECTIONS; i++)
			assert_int_equal(stores[i].count, i != gone);
		for (unsigned i = 0; i < CONNECTIONS; i++)
			if (i != gone)
				hold_store_fini(&stores[i]);
		hold_world_free(hw);
	}
}

/* covers: P-hold-no-store */
static void answer_under_way_is_finished_after_a_change_and_given_to_nobody_else(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *late;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	hold_world_head(hw, push, 200, FRESH, false);
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	respond(hw, "POST", "/a", 200, NULL);
	assert_false(hold_world_get(hw, "/a", NULL, &late));
	world_download(hw->w, push, "abc", true);
	hold_world_pass(hw);
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "abc");
	assert_int_equal(hw->store.count, 0);
	hold_world_free(hw);
}

/* RFC 9111 4.4: nobody invalidates what is another origin's.
 * covers: P-hold-claim */
static void change_names_nothing_of_another_scheme(void **state)
{
	(void)state;
	for (int is_same = 0; is_same < 2; is_same++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down;
		struct exchange *push = hold_world_promise_at(hw, "http", "example.com:8443");
		hold_world_head(hw, push, 200, FRESH, true);
		hold_world_pass(hw);
		struct exchange *x =
		    hold_world_request(hw, &hw->store, "POST", "/form", NULL, &down);
		world_request_of(x)->authority = SLICE("example.com:8443");
		world_request_of(x)->scheme = is_same ? SLICE("http") : SLICE("https");
		respond_to(hw, x, 201, FIELDS("location", "http://example.com:8443/a"));
		assert_string_equal(hw->notes, is_same ? "invalidated expired 0" : "");
		hold_world_free(hw);
	}
}

static void only_the_named_resource_is_dropped_by_a_change(void **state)
{
	(void)state; /* covers: P-hold-claim */
	static const struct {
		const char *location;
		bool drops;
	} cases[] = {
	    {"https://example.com:443/a", true},
	    {"http://example.com:443/a", false}, /* another scheme is another resource */
	    {"https://example.org/a", false},
	    {"https://", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw = hold_world_new();
		hold_world_push(hw, "/a", FRESH, "abc");
		respond(hw, "POST", "/form", 201, FIELDS("location", cases[i].location));
		assert_string_equal(hw->notes, cases[i].drops ? "invalidated expired 3" : "");
		hold_world_free(hw);
	}
	/* Neither is what a request over another scheme changes, where host and port are the same. */
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	struct exchange *x = hold_world_request(hw, &hw->store, "POST", "/a", NULL, &down);
	world_request_of(x)->scheme = SLICE("http");
	world_request_of(x)->authority = SLICE("example.com:443");
	respond_to(hw, x, 200, NULL);
	assert_string_equal(hw->notes, "");
	hold_world_free(hw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unsafe_method_that_succeeds_drops_what_is_held_for_its_uri),
	    cmocka_unit_test(a_tunnel_drops_nothing),
	    cmocka_unit_test(location_and_content_location_of_the_same_authority_are_dropped_too),
	    cmocka_unit_test(change_on_one_connection_drops_what_others_hold_and_the_worker),
	    cmocka_unit_test(change_reaches_every_connection_whoever_was_the_first),
	    cmocka_unit_test(answer_under_way_is_finished_after_a_change_and_given_to_nobody_else),
	    cmocka_unit_test(change_names_nothing_of_another_scheme),
	    cmocka_unit_test(only_the_named_resource_is_dropped_by_a_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
