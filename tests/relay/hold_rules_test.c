/* SPDX-License-Identifier: MIT */
/* Who may claim what: users, Vary, freshness, conditions, methods, the worker's store. */
#include "tests/support/hold_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

#define FRESH FIELDS("cache-control", "max-age=60")

/* ---- users ---- */

struct identity {
	hold_fields parent, request;
	const char *miss; /* NULL: the same user */
};

/* covers: P-hold-private R564 */
static void two_users_on_one_connection_never_get_each_others(void **state)
{
	(void)state;
	static const char *const none[] = {NULL};
	static const char *const alice[] = {"cookie", "session=alice", NULL};
	static const char *const bob[] = {"cookie", "session=bob", NULL};
	static const char *const more[] = {"cookie", "session=alice", "cookie", "theme=dark", NULL};
	static const char *const joined[] = {"cookie", "session=alice; theme=dark", NULL};
	static const char *const swapped[] = {"cookie", "theme=dark; session=alice", NULL};
	static const char *const basic[] = {"authorization", "Basic YTpi", NULL};
	static const char *const other[] = {"authorization", "Basic Yzpk", NULL};
	static const char *const both[] = {
	    "authorization", "Basic YTpi", "cookie", "session=alice", NULL};
	static const char *const moved[] = {"authorization", "session=alice", NULL};
	static const char *const empty[] = {"cookie", "", NULL};
	/* of a forward proxy's user */
	static const char *const proxy[] = {"proxy-authorization", "Basic YTpi", NULL};
	static const char *const proxy_other[] = {"proxy-authorization", "Basic Yzpk", NULL};
	const struct identity cases[] = {
	    {none, none, NULL},
	    {none, alice, "cookie"},
	    {alice, none, "cookie"},
	    {alice, alice, NULL},
	    {alice, bob, "cookie"},
	    {more, joined, NULL},
	    {joined, more, NULL},
	    {joined, swapped, "cookie"},
	    {joined, alice, "cookie"},
	    {basic, basic, NULL},
	    {basic, other, "authorization"},
	    {basic, none, "authorization"},
	    {none, basic, "authorization"},
	    {both, both, NULL},
	    {both, alice, "authorization"},
	    {both, basic, "cookie"},
	    {alice, moved, "authorization"},
	    {none, empty, "cookie"},
	    {empty, empty, NULL},
	    {proxy, proxy, NULL},
	    {proxy, proxy_other, "authorization"},
	    {proxy, none, "authorization"},
	    {none, proxy, "authorization"},
	    {proxy, basic, "authorization"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw =
		    hold_world_with(cases[i].parent, false, &hold_world_ample, NULL);
		struct world_leg *down;
		char noted[32] = "claimed";
		bool is_same = !cases[i].miss;
		if (!is_same)
			snprintf(noted, sizeof(noted), "missed %s", cases[i].miss);
		hold_world_push(
		    hw, "/private", FIELDS("cache-control", "private, max-age=60"), "mine");
		assert_int_equal(
		    hold_world_get(hw, "/private", cases[i].request, &down), is_same);
		assert_string_equal(hw->notes, noted);
		assert_string_equal(down->bytes, is_same ? "mine" : "");
		if (!is_same) /* it is still there for whom it is for */
			assert_true(hold_world_get(hw, "/private", cases[i].parent, &down));
		hold_world_free(hw);
	}
}

/* Whether its cookies matter says only the head, which has not come.
 * covers: P-hold-private P-hold-join */
static void request_with_another_cookie_waits_for_the_head_and_gets_nothing_before(void **state)
{
	(void)state;
	const struct {
		hold_fields response;
		bool is_for_all;
	} cases[] = {
	    {FIELDS("cache-control", "max-age=60"), true},
	    {FIELDS("cache-control", "private, max-age=60"), false},
	    {FIELDS("cache-control", "no-store"), false},
	    {FIELDS("cache-control", "no-cache"), false},
	    {FIELDS("etag", "\"1\""), false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw =
		    hold_world_with(FIELDS("cookie", "a"), false, &hold_world_ample, NULL);
		struct world_leg *down;
		struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
		assert_true(hold_world_get(hw, "/a", FIELDS("cookie", "b"), &down));
		unsigned dispatched = hw->w->dispatch_count;
		exchange_on_response(push, world_response(hw->w, 103), false); /* may be private */
		hold_world_pass(hw);
		assert_string_equal(down->said, "");
		hold_world_head(hw, push, 200, cases[i].response, false);
		world_download(hw->w, push, "abc", true);
		hold_world_pass(hw);
		hold_world_take(hw, down);
		assert_string_equal(down->bytes, cases[i].is_for_all ? "abc" : "");
		assert_string_equal(down->said, cases[i].is_for_all ? "head 200; end; detach" : "");
		assert_int_equal(hw->w->dispatch_count, dispatched + !cases[i].is_for_all);
		hold_world_free(hw);
	}
}

/* covers: P-hold-private */
static void another_users_authorization_is_refused_before_any_byte_came(void **state)
{
	(void)state;
	struct hold_world *hw =
	    hold_world_with(FIELDS("authorization", "a"), false, &hold_world_ample, NULL);
	struct world_leg *down;
	assert_non_null(hold_world_promise(hw, "/a", NULL, NULL));
	assert_false(hold_world_get(hw, "/a", FIELDS("authorization", "b"), &down));
	assert_string_equal(hw->notes, "missed authorization");
	hold_world_free(hw);
}

/* covers: P-hold-private P-hold-join */
static void of_two_whose_heads_have_not_come_the_newer_is_waited_for(void **state)
{
	(void)state;
	struct hold_world *hw =
	    hold_world_with(FIELDS("cookie", "a"), false, &hold_world_ample, NULL);
	struct world_leg *down;
	assert_non_null(hold_world_promise(hw, "/a", NULL, NULL));
	hw->parent = hold_world_request(
	    hw, &hw->store, "GET", "/", FIELDS("cookie", "b"), &hw->parent_down);
	exchange_dispatch(hw->parent);
	struct exchange *newer = hold_world_promise(hw, "/a", NULL, NULL);
	assert_true(hold_world_get(hw, "/a", FIELDS("cookie", "c"), &down));
	assert_int_equal(newer->pushed.claims, 1);
	hold_world_head(hw, newer, 200, FRESH, false);
	world_download(hw->w, newer, "abc", true);
	hold_world_pass(hw);
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "abc");
	hold_world_free(hw);
}

/* covers: P-hold-private P-hold-join */
static void what_surely_fits_is_preferred_to_what_may(void **state)
{
	(void)state;
	struct hold_world *hw =
	    hold_world_with(FIELDS("cookie", "a"), false, &hold_world_ample, NULL);
	struct world_leg *down;
	hold_world_push(hw, "/a", FIELDS("cache-control", "private, max-age=60"), "mine");
	hw->parent = hold_world_request(
	    hw, &hw->store, "GET", "/", FIELDS("cookie", "b"), &hw->parent_down);
	exchange_dispatch(hw->parent);
	assert_non_null(hold_world_promise(hw, "/a", NULL, NULL)); /* newer, and has no head */
	assert_true(hold_world_get(hw, "/a", FIELDS("cookie", "a"), &down));
	assert_string_equal(down->bytes, "mine");
	hold_world_free(hw);
}

/* covers: P-hold-private */
static void another_connection_gets_nothing_private(void **state)
{
	(void)state;
	const struct hold_limits limits = hold_world_ample;
	struct hold_world *hw = hold_world_with(NULL, false, &limits, &limits);
	struct hold_store other;
	struct world_leg *down;
	hold_store_init(&other, &hw->hold, &hw->w->budget, &limits, true);
	hold_world_push(hw, "/private", FIELDS("cache-control", "private, max-age=60"), "mine");
	assert_false(hold_world_ask(hw, &other, "GET", "/private", NULL, &down));
	assert_false(hold_world_ask(hw, NULL, "GET", "/private", NULL, &down));
	assert_true(hold_world_get(hw, "/private", NULL, &down));
	hold_store_fini(&other);
	hold_world_free(hw);
}

/* covers: P-hold-private */
static void nothing_private_is_held_where_clients_are_shared(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *up;
	hw->store.one_user = false;
	assert_null(hold_world_promise(hw, "/a", NULL, &up));
	assert_string_equal(hw->w->refused, "hold-shared");
	assert_string_equal(up->said, "reset 8");
	hold_world_free(hw);
}

/* covers: P-hold-private */
static void nothing_private_is_held_for_a_request_that_came_through_a_proxy(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(NULL, true, &hold_world_ample, NULL);
	assert_null(hold_world_promise(hw, "/a", NULL, NULL));
	assert_string_equal(hw->w->refused, "hold-forwarded");
	hold_world_free(hw);
}

/* covers: P-hold-private */
static void request_that_came_through_a_proxy_claims_nothing_private(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	x->facts.came_through = true;
	assert_false(hold_claim(&hw->hold, x));
	assert_string_equal(hw->notes, "missed outside");
	hold_world_free(hw);
}

/* ---- routes ---- */

static bool route_gets(struct hold_world *hw, unsigned route, const char *path, struct world_leg **down)
{
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", path, NULL, down);
	x->place.route = hold_world_route(route);
	bool is_claimed = hold_claim(&hw->hold, x);
	if (!is_claimed)
		exchange_dispatch(x);
	hold_world_pass(hw);
	hold_world_take(hw, *down);
	return is_claimed;
}

/* The routes change the fields of their requests each in its own way.
 * covers: P-hold-private P-hold-claim */
static void what_an_origin_said_to_one_route_is_not_for_another(void **state)
{
	(void)state;
	for (unsigned is_public = 0; is_public < 2; is_public++) {
		struct hold_world *hw = hold_world_new();
		struct hold_ops ops = *hw->hold.ops;
		struct world_leg *down;
		ops.same_changes = hold_world_same_route;
		hw->hold.ops = &ops;
		hw->parent->place.route = hold_world_route(0);
		hold_world_push(hw, "/a", FIELDS("cache-control", is_public ? "public, max-age=60" : "max-age=60"), "abc");
		assert_int_equal(route_gets(hw, 1, "/a", &down), is_public);
		assert_string_equal(hw->notes, is_public ? "claimed" : "missed route");
		assert_string_equal(down->bytes, is_public ? "abc" : "");
		if (!is_public)
			assert_true(route_gets(hw, 0, "/a", &down));
		hold_world_free(hw);
	}
}

/* covers: P-hold-private P-hold-join */
static void request_of_another_route_waits_for_the_head_and_gets_nothing_before(void **state)
{
	(void)state;
	for (unsigned is_public = 0; is_public < 2; is_public++) {
		struct hold_world *hw = hold_world_new();
		struct hold_ops ops = *hw->hold.ops;
		struct world_leg *down;
		ops.same_changes = hold_world_same_route;
		hw->hold.ops = &ops;
		hw->parent->place.route = hold_world_route(0);
		struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
		assert_true(route_gets(hw, 1, "/a", &down));
		unsigned dispatched = hw->w->dispatch_count;
		exchange_on_response(push, world_response(hw->w, 103), false);
		hold_world_pass(hw);
		assert_string_equal(down->said, "");
		hold_world_head(hw, push, 200,
		    FIELDS("cache-control", is_public ? "public, max-age=60" : "max-age=60"), false);
		world_download(hw->w, push, "abc", true);
		hold_world_pass(hw);
		hold_world_take(hw, down);
		assert_string_equal(down->bytes, is_public ? "abc" : "");
		assert_int_equal(hw->w->dispatch_count, dispatched + !is_public);
		hold_world_free(hw);
	}
}

/* The route of the request leads to the same origin, but not as the push came from there.
 * covers: P-hold-claim */
static void request_that_goes_another_way_finds_nothing(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct hold_ops ops = *hw->hold.ops;
	ops.same_at_origin = hold_world_same_route;
	hw->hold.ops = &ops;
	hw->parent->place.route = hold_world_route(0);
	hold_world_push(hw, "/a", FRESH, "abc");
	assert_false(route_gets(hw, 1, "/a", &down));
	assert_string_equal(hw->notes, "");
	assert_true(route_gets(hw, 0, "/a", &down));
	assert_string_equal(down->bytes, "abc");
	hold_world_free(hw);
}

/* ---- the worker's store ---- */

/* covers: P-hold-shared */
static void what_a_shared_cache_may_store_serves_every_client_until_it_is_stale(void **state)
{
	(void)state;
	struct hold_world *hw =
	    hold_world_with(FIELDS("cookie", "alice"), false, &hold_world_ample, &hold_world_ample);
	struct hold_store other;
	struct world_leg *down;
	hold_store_init(&other, &hw->hold, &hw->w->budget, &hold_world_ample, true);
	hold_world_push(hw, "/style", FIELDS("cache-control", "public, max-age=4"), "abc");
	assert_int_equal(hw->hold.shared.count, 1);
	assert_int_equal(hw->store.count, 0);
	assert_true(hold_world_get(hw, "/style", NULL, &down));
	assert_true(hold_world_ask(hw, &other, "GET", "/style", FIELDS("cookie", "bob"), &down));
	assert_string_equal(down->bytes, "abc");
	struct exchange *x =
	    hold_world_request(hw, NULL, "GET", "/style", NULL, &down); /* HTTP/1.1, say */
	x->facts.came_through = true;
	assert_true(hold_claim(&hw->hold, x));
	hold_world_pass(hw);
	hold_world_take(hw, down);
	assert_string_equal(hw->notes, "claimed; claimed; claimed");
	hold_world_wait(hw, 5 * USEC_PER_SEC);
	assert_false(hold_world_ask(hw, &other, "GET", "/style", NULL, &down));
	assert_string_equal(hw->pushes, "/style claimed claimed");
	assert_int_equal(hw->wasted_bytes, 0);
	hold_store_fini(&other);
	hold_world_free(hw);
}

/* covers: P-hold-shared P-hold-private */
static void what_a_shared_cache_may_not_store_is_not_shared(void **state)
{
	(void)state;
	const char *const *responses[] = {
	    FIELDS("cache-control", "private, max-age=60"),
	    FIELDS("cache-control", "no-cache, max-age=60"),
	    FIELDS("cache-control", "s-maxage=0, max-age=60"),
	    FIELDS("cache-control", "public, max-age=60", "set-cookie", "a=b"),
	    FIELDS("etag", "\"no freshness\""),
	};
	for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
		struct hold_world *hw =
		    hold_world_with(NULL, false, &hold_world_ample, &hold_world_ample);
		struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
		hold_world_head(hw, push, 200, responses[i], false);
		hold_world_pass(hw);
		assert_int_equal(hw->hold.shared.count, 0);
		assert_int_equal(hw->store.count, 1);
		hold_world_free(hw);
	}
}

/* covers: P-hold-shared */
static void parents_authorization_keeps_a_response_from_being_shared_unless_it_says_public(
    void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hold_world *hw = hold_world_with(FIELDS("authorization", "Basic YTpi"),
		    false, &hold_world_ample, &hold_world_ample);
		hold_world_push(hw, "/a",
		    FIELDS("cache-control", i ? "public, max-age=60" : "max-age=60"), "abc");
		assert_int_equal(hw->hold.shared.count, i);
		hold_world_free(hw);
	}
}

/* What a route does that adds Authorization to requests for /locked. */
static struct http_head *with_password(void *context, const struct exchange *x)
{
	(void)context;
	struct http_head *head = http_head_overlay(x->request);
	if (slice_equal(x->request->path, SLICE("/locked")))
		http_head_add(head, SLICE("authorization"), SLICE("Basic YTpi"));
	return head;
}

/* covers: P-hold-shared */
static void routes_authorization_keeps_a_response_from_being_shared_unless_it_says_public(
    void **state)
{
	(void)state;
	static const struct {
		const char *path, *cache_control;
		unsigned shared;
	} cases[] = {
	    {"/open", "max-age=60", 1},
	    {"/locked", "max-age=60", 0},
	    {"/locked", "public, max-age=60", 1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw =
		    hold_world_with(NULL, false, &hold_world_ample, &hold_world_ample);
		struct hold_ops ops = *hw->hold.ops;
		ops.origin_request = with_password;
		hw->hold.ops = &ops;
		hold_world_push(
		    hw, cases[i].path, FIELDS("cache-control", cases[i].cache_control), "abc");
		assert_int_equal(hw->hold.shared.count, cases[i].shared);
		hold_world_free(hw);
	}
}

/* covers: P-hold-shared P-hold-private */
static void on_a_shared_listener_a_push_waits_unseen_for_a_head_that_allows_sharing(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(NULL, false, &hold_world_ample, &hold_world_ample);
	struct world_leg *down, *up;
	hw->store.one_user = false;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	assert_non_null(push);
	assert_false(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(hw->notes, "missed outside");
	hold_world_head(hw, push, 200, FIELDS("cache-control", "public, max-age=60"), false);
	hold_world_pass(hw);
	assert_true(hold_world_get(hw, "/a", NULL, &down)); /* joined live */
	world_download(hw->w, push, "abc", true);
	hold_world_pass(hw);
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "abc");
	push = hold_world_promise(hw, "/b", NULL, &up);
	hold_world_head(hw, push, 200, FIELDS("cache-control", "private, max-age=60"), false);
	hold_world_pass(hw);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(hw->pushes, "/b cancelled not-storable");
	hold_world_free(hw);
}

/* covers: P-hold-bounds P-hold-shared */
static void least_recently_asked_for_leaves_the_workers_store(void **state)
{
	(void)state;
	const struct hold_limits two = {.count = 2, .bytes = 1000, .age = 0};
	struct hold_world *hw = hold_world_with(NULL, false, &hold_world_ample, &two);
	struct world_leg *down;
	hold_fields shareable = FIELDS("cache-control", "public, max-age=60");
	hold_world_push(hw, "/1", shareable, "1");
	hold_world_push(hw, "/2", shareable, "2");
	assert_true(hold_world_get(hw, "/1", NULL, &down));
	hold_world_push(hw, "/3", shareable, "3");
	assert_true(hold_world_get(hw, "/1", NULL, &down));
	assert_true(hold_world_get(hw, "/3", NULL, &down));
	assert_false(hold_world_get(hw, "/2", NULL, &down));
	hold_world_free(hw);
}

/* ---- what is held at all ---- */

/* covers: P-hold-no-store */
static void what_may_not_be_stored_is_withdrawn(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *up;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, &up);
	hold_world_head(hw, push, 200, FIELDS("cache-control", "no-store"), false);
	hold_world_pass(hw);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(hw->notes, "withdrawn not-storable 0");
	assert_string_equal(hw->pushes, "/a cancelled not-storable");
	assert_ptr_equal(push->pushed.verdict.reason, &policy_reason_NOT_STORABLE);
	assert_int_equal(push->pushed.verdict.action, POLICY_DROP);
	assert_false(hold_world_get(hw, "/a", NULL, &down));
	hold_world_free(hw);
}

/* covers: P-hold-no-store */
static void partial_and_conditional_responses_are_withdrawn(void **state)
{
	(void)state;
	const struct {
		hold_fields promise;
		unsigned status;
	} cases[] = {
	    {FIELDS("range", "bytes=0-9"), 206},
	    {NULL, 206},
	    {FIELDS("if-none-match", "\"1\""), 304},
	    {FIELDS("if-modified-since", "Sat, 21 Nov 2026 04:00:00 GMT"), 200},
	    {FIELDS("cache-control", "no-store"), 200},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct exchange *push = hold_world_promise(hw, "/a", cases[i].promise, NULL);
		hold_world_head(hw, push, cases[i].status, FRESH, true);
		hold_world_pass(hw);
		assert_string_equal(hw->notes, "withdrawn not-storable 0");
		hold_world_free(hw);
	}
}

/* covers: P-hold-no-store */
static void second_look_of_the_policy_withdraws_what_is_held(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *up;
	struct policy_rule rule = {.name = "ok-only",
	    .action = POLICY_HINT_HOLD,
	    .statuses_allowed = 1u << 2,
	    .urgency = -1};
	hw->w->rules.rules = &rule;
	hw->w->rules.count = 1;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, &up);
	assert_int_equal(push->pushed.state, PUSH_HELD);
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	unsigned dispatched = hw->w->dispatch_count;
	hold_world_head(hw, push, 404, NULL, true);
	hold_world_pass(hw);
	assert_true(exchange_is_over(push));
	assert_int_equal(push->pushed.verdict.action, POLICY_HINT);
	assert_ptr_equal(push->pushed.verdict.lost_half, &policy_reason_STATUS);
	assert_ptr_equal(push->pushed.end_reason, &policy_reason_STATUS);
	assert_int_equal(hw->w->dispatch_count, dispatched + 1); /* who waited asks the origin */
	hold_world_free(hw);
}

/* ---- time ---- */

/* covers: P-hold-no-store */
static void without_freshness_nothing_stays_when_the_promised_stream_is_over(void **state)
{
	(void)state;
	hold_fields responses[] = {FIELDS("cache-control", "no-cache"),
	    FIELDS("cache-control", "max-age=0", "etag", "\"1\""),
	    FIELDS("cache-control", "no-cache", "etag", "\"1\""),
	    FIELDS("cache-control", "max-age=5", "age", "5", "last-modified", "Sun, 09 Sep 2001 01:45:00 GMT")};
	for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down;
		struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
		hold_world_head(hw, push, 200, responses[i], false);
		world_download(hw->w, push, "abc", false);
		hold_world_pass(hw);
		assert_false(exchange_is_over(push));
		world_download(hw->w, push, "", true);
		hold_world_pass(hw);
		assert_true(exchange_is_over(push));
		assert_string_equal(hw->notes, "expired hold-not-fresh 3");
		assert_false(hold_world_get(hw, "/a", NULL, &down));
		assert_string_equal(hw->notes, "expired hold-not-fresh 3; missed not-fresh");
		hold_world_free(hw);
	}
}

/* covers: P-hold-no-store */
static void stale_response_is_not_claimed(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FIELDS("cache-control", "max-age=3"), "abc");
	hw->w->relay.now += 4 * USEC_PER_SEC; /* and the wheel has not turned */
	assert_false(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(hw->notes, "missed not-fresh");
	hold_world_wait(hw, USEC_PER_SEC);
	assert_string_equal(hw->notes, "missed not-fresh; expired missed 3");
	assert_string_equal(hw->pushes, "/a expired missed");
	hold_world_free(hw);
}

/* covers: P-hold-fresh */
static void without_explicit_freshness_a_validator_is_good_for_a_while(void **state)
{
	(void)state;
	/* The test's clock begins at Sun, 09 Sep 2001 01:46:40 GMT. */
	const struct {
		hold_fields response;
		unsigned sec; /* it is good for, on its way to the 30 s of the store */
	} cases[] = {
	    {FIELDS("etag", "\"1\""), 5},
	    {FIELDS("etag", "\"1\"", "age", "100"), 5},
	    {FIELDS("last-modified", "Sun, 09 Sep 2001 01:46:30 GMT"), 5},
	    {FIELDS("last-modified", "Sun, 09 Sep 2001 01:45:00 GMT"), 10},
	    {FIELDS("last-modified", "Sun, 09 Sep 2001 01:45:00 GMT", "age", "3"), 7},
	    {FIELDS("last-modified", "Sun, 09 Sep 2001 01:45:00 GMT", "etag", "\"1\""), 10},
	    {FIELDS("last-modified", "Fri, 09 Sep 2005 01:46:40 GMT"), 5},
	    {FIELDS("last-modified", "Sat, 09 Sep 2000 01:46:40 GMT"), 30},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down;
		hold_world_push(hw, "/a", cases[i].response, "abc");
		hold_world_push(hw, "/b", cases[i].response, "abc");
		hold_world_wait(hw, (cases[i].sec - 1) * USEC_PER_SEC);
		assert_false(hold_world_get(hw, "/a", FIELDS("cookie", "c"), &down));
		assert_true(hold_world_get(hw, "/a", NULL, &down));
		hold_world_wait(hw, 3 * USEC_PER_SEC / 2);
		assert_false(hold_world_get(hw, "/b", NULL, &down));
		assert_int_equal(hw->store.count, 0);
		hold_world_free(hw);
	}
}

/* covers: P-hold-fresh */
static void shared_lifetime_alone_counts(void **state)
{
	(void)state;
	static const struct {
		const char *cache_control;
		bool stays;
	} cases[] = {{"s-maxage=60", true}, {"max-age=0, s-maxage=60", false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down;
		hold_world_push(hw, "/a", FIELDS("cache-control", cases[i].cache_control), "abc");
		assert_int_equal(hold_world_get(hw, "/a", NULL, &down), cases[i].stays);
		hold_world_free(hw);
	}
}

/* covers: P-hold-fresh */
static void what_nobody_could_claim_is_given_up_when_its_head_comes(void **state)
{
	(void)state;
	const struct {
		hold_fields response;
		enum policy_source source;
		const char *missed; /* NULL: it stays */
	} cases[] = {
	    {FIELDS("cache-control", "max-age=60", "vary", "*"), POLICY_RELAYED, "vary:*"},
	    {FIELDS("cache-control", "no-cache"), POLICY_RELAYED, NULL},
	    {FIELDS("cache-control", "no-cache"), POLICY_LINK, "not-fresh"},
	    {FIELDS("x-none", "nothing said"), POLICY_CONFIG, "not-fresh"},
	    {FIELDS("etag", "\"1\""), POLICY_LINK, NULL},
	    {FIELDS("x-none", "nothing said"), POLICY_RELAYED, "not-fresh"},
	    {FIELDS("cache-control", "public"), POLICY_RELAYED, "not-fresh"},
	    {FIELDS("cache-control", "max-age=0"), POLICY_RELAYED, "not-fresh"},
	    {FIELDS("cache-control", "max-age=5", "age", "5"), POLICY_RELAYED, "not-fresh"},
	    {FIELDS("cache-control", "max-age=0", "etag", "\"1\""), POLICY_RELAYED, NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down, *up;
		char noted[64];
		struct exchange *push = hold_world_promise(hw, "/a", NULL, &up);
		push->pushed.source = cases[i].source;
		hold_world_head(hw, push, 200, cases[i].response, false);
		hold_world_pass(hw);
		assert_string_equal(up->said, cases[i].missed ? "reset 8" : "");
		assert_int_equal(hold_world_get(hw, "/a", NULL, &down), !cases[i].missed);
		snprintf(noted, sizeof(noted), "withdrawn hold-not-fresh 0; missed %s",
		    cases[i].missed ? cases[i].missed : "");
		assert_string_equal(hw->notes, cases[i].missed ? noted : "");
		if (cases[i].missed)
			assert_ptr_equal(push->pushed.verdict.reason, &policy_reason_HOLD_NOT_FRESH);
		hold_world_free(hw);
	}
}

/* covers: P-hold-missed */
static void what_was_given_up_is_remembered_in_bounds(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	char path[16];
	for (unsigned i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		hold_world_push(hw, path, FIELDS("cache-control", "max-age=0"), "abc");
	}
	hw->notes[0] = 0;
	assert_false(hold_world_get(hw, "/7", NULL, &down)); /* 32 came after it */
	assert_string_equal(hw->notes, "");
	assert_false(hold_world_get(hw, "/8", NULL, &down));
	assert_false(hold_world_get(hw, "/39", NULL, &down));
	assert_string_equal(hw->notes, "missed not-fresh; missed not-fresh");
	hold_world_wait(hw, 31 * USEC_PER_SEC); /* longer than anything is held */
	assert_false(hold_world_get(hw, "/39", NULL, &down));
	assert_string_equal(hw->notes, "missed not-fresh; missed not-fresh");
	assert_true(hold_may_answer(&hw->hold));
	hold_world_free(hw);
}

/* covers: P-hold-missed */
static void what_grew_old_while_it_answered_is_missed_by_nobody(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FIELDS("cache-control", "max-age=3"), "abc");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_wait(hw, 4 * USEC_PER_SEC); /* the client is slow */
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "abc");
	assert_string_equal(hw->notes, "claimed");
	assert_false(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(hw->notes, "claimed");
	hold_world_free(hw);
}

/* covers: P-hold-missed */
static void only_a_request_that_it_could_answer_misses_what_was_given_up(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FIELDS("cache-control", "max-age=0"), "abc");
	hw->notes[0] = 0;
	assert_false(hold_world_ask(hw, &hw->store, "OPTIONS", "/a", NULL, &down));
	assert_string_equal(hw->notes, "");
	assert_false(hold_world_ask(hw, &hw->store, "HEAD", "/a", NULL, &down));
	assert_string_equal(hw->notes, "missed not-fresh");
	hold_world_free(hw);
}

/* covers: P-hold-missed */
static void without_memory_it_is_not_remembered(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	hold_world_head(hw, push, 200, FIELDS("cache-control", "max-age=0"), true);
	size_t limit = hw->w->budget.limit_bytes;
	hw->w->budget.limit_bytes = hw->w->budget.used_bytes;
	hold_world_pass(hw);
	hw->w->budget.limit_bytes = limit;
	assert_string_equal(hw->notes, "withdrawn hold-not-fresh 0");
	assert_false(hold_may_answer(&hw->hold));
	hw->notes[0] = 0;
	assert_false(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(hw->notes, "");
	hold_world_free(hw);
}

/* covers: P-hold-missed */
static void misses_are_named_in_both_exchanges(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct exchange *push = hold_world_push(
	    hw, "/a", FIELDS("cache-control", "max-age=60", "vary", "Accept-Language"), "abc");
	struct exchange *x =
	    hold_world_request(hw, &hw->store, "GET", "/a", FIELDS("accept-language", "de"), &down);
	assert_false(hold_claim(&hw->hold, x));
	assert_string_equal(x->ending.missed, "vary accept-language");
	assert_string_equal(push->ending.missed, "vary accept-language");
	assert_false(hold_world_get(hw, "/a", FIELDS("range", "bytes=0-0"), &down));
	assert_string_equal(push->ending.missed, "vary accept-language"); /* the first one */
	hold_world_wait(hw, 31 * USEC_PER_SEC);
	assert_string_equal(hw->pushes, "/a expired missed");
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	hold_world_free(hw);
}

/* covers: P-hold-missed */
static void push_that_is_claimed_after_a_miss_is_no_miss(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct exchange *push = hold_world_push(hw, "/a", FRESH, "abc");
	assert_false(hold_world_ask(hw, &hw->store, "OPTIONS", "/a", NULL, &down));
	assert_string_equal(push->ending.missed, "method");
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(hw->pushes, "/a claimed claimed");
	assert_null(push->ending.missed);
	hold_world_free(hw);
}

/* ---- the request ---- */

/* covers: P-hold-claim */
static void request_that_wants_the_origin_goes_there(void **state)
{
	(void)state;
	hold_fields requests[] = {
	    FIELDS("cache-control", "no-cache"),
	    FIELDS("cache-control", "no-store"),
	    FIELDS("pragma", "no-cache"),
	    FIELDS("cache-control", "max-age=0"),
	    FIELDS("cache-control", "max-age=1"),
	    FIELDS("cache-control", "min-fresh=59"),
	    FIELDS("if-match", "\"1\""),
	    FIELDS("if-unmodified-since", "Sat, 21 Nov 2026 04:00:00 GMT"),
	    FIELDS("if-none-match", "\"2\""),
	    FIELDS("if-modified-since", "Sat, 21 Nov 2026 03:00:00 GMT"),
	    FIELDS("range", "bytes=0-1"),
	    FIELDS("if-range", "\"1\""),
	    FIELDS("expect", "100-continue"),
	};
	const size_t revalidations = 10;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down;
		hold_world_push(hw, "/a",
		    FIELDS("cache-control", "max-age=60", "etag", "\"1\"", "last-modified",
			"Sat, 21 Nov 2026 04:00:00 GMT"),
		    "abc");
		hold_world_wait(hw, 2 * USEC_PER_SEC);
		assert_false(hold_world_get(hw, "/a", requests[i], &down));
		assert_string_equal(hw->notes,
		    i < revalidations                      ? "missed revalidation"
		    : strcmp(requests[i][0], "expect") == 0 ? "missed method"
							    : "missed range");
		assert_true(hold_world_get(
		    hw, "/a", FIELDS("cache-control", "max-age=2, min-fresh=58"), &down));
		hold_world_free(hw);
	}
}

/* covers: P-hold-claim */
static void condition_that_matches_is_answered_304(void **state)
{
	(void)state;
	hold_fields requests[] = {FIELDS("if-none-match", "\"0\", \"1\""),
	    FIELDS("if-modified-since", "Sat, 21 Nov 2026 04:00:00 GMT"),
	    FIELDS(
		"if-none-match", "W/\"1\"", "if-modified-since", "Sat, 21 Nov 2026 03:00:00 GMT")};
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down;
		hold_world_push(hw, "/a",
		    FIELDS("cache-control", "max-age=60", "etag", "\"1\"", "content-length", "3",
			"content-type", "text/css", "last-modified",
			"Sat, 21 Nov 2026 04:00:00 GMT"),
		    "abc");
		assert_true(hold_world_get(hw, "/a", requests[i], &down));
		assert_string_equal(down->said, "head 304 end; detach");
		assert_string_equal(hold_world_field(hw, 3, "etag"), "\"1\"");
		assert_string_equal(hold_world_field(hw, 3, "cache-control"), "max-age=60");
		assert_string_equal(hold_world_field(hw, 3, "content-length"), "");
		assert_string_equal(hold_world_field(hw, 3, "content-type"), "");
		assert_string_equal(
		    hold_world_field(hw, 3, "cache-status"), "pushgate; hit; detail=held");
		assert_string_equal(hw->notes, "claimed");
		assert_string_equal(hw->pushes, "/a claimed claimed"); /* the client has it */
		hold_world_free(hw);
	}
}

/* covers: P-hold-claim */
static void every_field_that_vary_names_must_be_equal(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct exchange *push =
	    hold_world_promise(hw, "/a", FIELDS("accept-encoding", "br", "x-variant", "7"), NULL);
	hold_world_head(hw, push, 200,
	    FIELDS("cache-control", "max-age=60", "vary",
		"Accept-Encoding, X-Variant, Accept-Language"),
	    true);
	hold_world_pass(hw);
	assert_false(hold_world_get(hw, "/a", FIELDS("x-variant", "7"), &down));
	assert_false(
	    hold_world_get(hw, "/a", FIELDS("accept-encoding", "br", "x-variant", "8"), &down));
	assert_false(hold_world_get(hw, "/a",
	    FIELDS("accept-encoding", "br", "x-variant", "7", "accept-language", "de"), &down));
	char lower[WORLD_SAID];
	for (size_t i = 0; i <= strlen(hw->notes); i++) /* the field is named as Vary does */
		lower[i] = (char)(hw->notes[i] >= 'A' && hw->notes[i] <= 'Z' ? hw->notes[i] + 32
									     : hw->notes[i]);
	assert_string_equal(lower,
	    "missed vary:accept-encoding; missed vary:x-variant; missed vary:accept-language");
	assert_true(
	    hold_world_get(hw, "/a", FIELDS("x-variant", "7", "accept-encoding", "br"), &down));

	push = hold_world_promise(hw, "/star", NULL, NULL);
	hold_world_head(hw, push, 200, FIELDS("cache-control", "max-age=60", "vary", "*"), true);
	hold_world_pass(hw);
	hw->notes[0] = 0;
	assert_false(hold_world_get(hw, "/star", NULL, &down));
	assert_string_equal(hw->notes, "missed vary:*");
	hold_world_free(hw);
}

/* covers: P-hold-claim P-hold-private */
/* What a route does that sets accept-language. */
static struct http_head *in_german(void *context, const struct exchange *x)
{
	(void)context;
	struct http_head *head = http_head_overlay(x->request);
	http_head_remove(head, HTTP_TOKEN_ACCEPT_LANGUAGE);
	http_head_add(head, SLICE("accept-language"), SLICE("de"));
	return head;
}

static void fields_that_a_route_changes_vary_as_the_origin_got_them(void **state)
{
	(void)state;
	static const struct {
		const char *promised, *asked;
		bool is_our_own, fits;
	} cases[] = {
	    {"de", "en", false, true},
	    {"en", "en", false, false}, /* the origin's promise is not changed */
	    {"en", "fr", true, true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct hold_ops ops = *hw->hold.ops;
		struct world_leg *down;
		ops.origin_request = in_german;
		hw->hold.ops = &ops;
		struct exchange *push = hold_world_promise(
		    hw, "/a", FIELDS("accept-language", cases[i].promised), NULL);
		if (cases[i].is_our_own)
			push->pushed.source = POLICY_LINK;
		hold_world_head(
		    hw, push, 200, FIELDS("cache-control", "max-age=60", "vary", "accept-language"), true);
		hold_world_pass(hw);
		assert_int_equal(hold_world_get(hw, "/a", FIELDS("accept-language", cases[i].asked), &down),
		    cases[i].fits);
		hold_world_free(hw);
	}
}

static void vary_on_cookie_does_not_widen_who_may_claim(void **state)
{
	(void)state;
	struct hold_world *hw =
	    hold_world_with(FIELDS("cookie", "alice"), false, &hold_world_ample, NULL);
	struct world_leg *down;
	struct exchange *push = hold_world_promise(hw, "/a", FIELDS("cookie", "bob"), NULL);
	hold_world_head(
	    hw, push, 200, FIELDS("cache-control", "max-age=60", "vary", "cookie"), true);
	hold_world_pass(hw);
	assert_false(hold_world_get(hw, "/a", FIELDS("cookie", "bob"), &down));
	assert_string_equal(hw->notes, "missed cookie");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void other_methods_and_bodies_go_to_the_origin(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	assert_false(hold_world_ask(hw, &hw->store, "POST", "/a", NULL, &down));
	assert_false(hold_world_ask(hw, &hw->store, "OPTIONS", "/a", NULL, &down));
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	x->upload.source_ended = false;
	assert_false(hold_claim(&hw->hold, x));
	assert_string_equal(hw->notes, "missed method; missed method; missed method");
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	/* With a body or trailers that have come already. */
	for (int with_trailers = 0; with_trailers < 2; with_trailers++) {
		hw->notes[0] = 0;
		x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
		x->upload.source_ended = false;
		if (with_trailers)
			exchange_on_upload_trailers(x, world_trailers(hw->w));
		else
			world_upload(hw->w, x, "body", true);
		assert_false(hold_claim(&hw->hold, x));
		assert_string_equal(hw->notes, "missed method");
	}
	hold_world_free(hw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_users_on_one_connection_never_get_each_others),
	    cmocka_unit_test(request_with_another_cookie_waits_for_the_head_and_gets_nothing_before),
	    cmocka_unit_test(another_users_authorization_is_refused_before_any_byte_came),
	    cmocka_unit_test(of_two_whose_heads_have_not_come_the_newer_is_waited_for),
	    cmocka_unit_test(what_surely_fits_is_preferred_to_what_may),
	    cmocka_unit_test(another_connection_gets_nothing_private),
	    cmocka_unit_test(nothing_private_is_held_where_clients_are_shared),
	    cmocka_unit_test(nothing_private_is_held_for_a_request_that_came_through_a_proxy),
	    cmocka_unit_test(request_that_came_through_a_proxy_claims_nothing_private),
	    cmocka_unit_test(what_an_origin_said_to_one_route_is_not_for_another),
	    cmocka_unit_test(request_of_another_route_waits_for_the_head_and_gets_nothing_before),
	    cmocka_unit_test(request_that_goes_another_way_finds_nothing),
	    cmocka_unit_test(what_a_shared_cache_may_store_serves_every_client_until_it_is_stale),
	    cmocka_unit_test(what_a_shared_cache_may_not_store_is_not_shared),
	    cmocka_unit_test(
		parents_authorization_keeps_a_response_from_being_shared_unless_it_says_public),
	    cmocka_unit_test(
		routes_authorization_keeps_a_response_from_being_shared_unless_it_says_public),
	    cmocka_unit_test(
		on_a_shared_listener_a_push_waits_unseen_for_a_head_that_allows_sharing),
	    cmocka_unit_test(least_recently_asked_for_leaves_the_workers_store),
	    cmocka_unit_test(what_may_not_be_stored_is_withdrawn),
	    cmocka_unit_test(partial_and_conditional_responses_are_withdrawn),
	    cmocka_unit_test(second_look_of_the_policy_withdraws_what_is_held),
	    cmocka_unit_test(without_freshness_nothing_stays_when_the_promised_stream_is_over),
	    cmocka_unit_test(stale_response_is_not_claimed),
	    cmocka_unit_test(without_explicit_freshness_a_validator_is_good_for_a_while),
	    cmocka_unit_test(shared_lifetime_alone_counts),
	    cmocka_unit_test(what_nobody_could_claim_is_given_up_when_its_head_comes),
	    cmocka_unit_test(what_was_given_up_is_remembered_in_bounds),
	    cmocka_unit_test(what_grew_old_while_it_answered_is_missed_by_nobody),
	    cmocka_unit_test(only_a_request_that_it_could_answer_misses_what_was_given_up),
	    cmocka_unit_test(without_memory_it_is_not_remembered),
	    cmocka_unit_test(misses_are_named_in_both_exchanges),
	    cmocka_unit_test(push_that_is_claimed_after_a_miss_is_no_miss),
	    cmocka_unit_test(request_that_wants_the_origin_goes_there),
	    cmocka_unit_test(condition_that_matches_is_answered_304),
	    cmocka_unit_test(every_field_that_vary_names_must_be_equal),
	    cmocka_unit_test(fields_that_a_route_changes_vary_as_the_origin_got_them),
	    cmocka_unit_test(vary_on_cookie_does_not_widen_who_may_claim),
	    cmocka_unit_test(other_methods_and_bodies_go_to_the_origin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
