/* SPDX-License-Identifier: MIT */
/* Stores of held responses: what is held already, who makes room, what is shared, and what failed before its store
 * could look at it. */
#include "tests/support/hold_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define FRESH FIELDS("cache-control", "max-age=60")
#define SHAREABLE FIELDS("cache-control", "public, max-age=60")

/* Another page of the same client, whose origin promises too. */
static void another_page(struct hold_world *hw, hold_fields fields)
{
	struct world_leg *down;
	hw->parent = hold_world_request(hw, &hw->store, "GET", "/other", fields, &down);
	exchange_dispatch(hw->parent);
}

/* ---- what is held already ---- */

/* covers: P-hold-claim */
static void promise_is_a_duplicate_while_the_first_is_in_flight(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	another_page(hw, NULL);
	assert_null(hold_world_promise(hw, "/a", NULL, NULL)); /* nothing is known of it yet */
	hold_world_head(hw, push, 200, FIELDS("cache-control", "no-cache"), false);
	hold_world_pass(hw);
	assert_null(hold_world_promise(hw, "/a", NULL, NULL)); /* open, so as good as fresh */
	assert_string_equal(hw->w->refused, "duplicate; duplicate");
	hold_world_free(hw);
}

/* covers: P-hold-claim P-hold-private */
static void same_uri_for_another_user_or_another_variant_is_no_duplicate(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(FIELDS("cookie", "a"), false, &hold_world_ample, NULL);
	struct exchange *push = hold_world_promise(hw, "/a", FIELDS("accept-language", "en"), NULL);
	hold_world_head(hw, push, 200, FIELDS("cache-control", "private, max-age=60", "vary", "accept-language"), true);
	hold_world_pass(hw);
	another_page(hw, FIELDS("cookie", "a"));
	assert_null(hold_world_promise(hw, "/a", FIELDS("accept-language", "en"), NULL));
	assert_non_null(hold_world_promise(hw, "/a", FIELDS("accept-language", "fr"), NULL));
	another_page(hw, FIELDS("cookie", "b"));
	assert_non_null(hold_world_promise(hw, "/a", FIELDS("accept-language", "en"), NULL));
	another_page(hw, FIELDS("cookie", "a", "authorization", "x"));
	assert_non_null(hold_world_promise(hw, "/a", FIELDS("accept-language", "en"), NULL));
	assert_int_equal(hw->store.count, 4);
	hold_world_free(hw);
}

/* covers: P-hold-claim P-hold-private */
static void what_is_the_same_for_all_is_held_once_whatever_the_cookies(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(FIELDS("cookie", "a"), false, &hold_world_ample, NULL);
	hold_world_push(hw, "/a", FRESH, "abc");
	another_page(hw, FIELDS("cookie", "b"));
	assert_null(hold_world_promise(hw, "/a", NULL, NULL));
	assert_string_equal(hw->w->refused, "duplicate");
	hold_world_free(hw);
}

/* covers: P-hold-claim P-hold-private */
static void same_uri_from_another_origin_or_for_another_route_is_no_duplicate(void **state)
{
	(void)state;
	static const char another_origin;
	struct hold_world *hw = hold_world_new();
	struct hold_ops ops = *hw->hold.ops;
	ops.same_changes = hold_world_same_route;
	hw->hold.ops = &ops;
	hw->parent->place.route = hold_world_route(0);
	hold_world_push(hw, "/a", FRESH, "abc");
	another_page(hw, NULL);
	hw->parent->place.route = hold_world_route(0);
	assert_null(hold_world_promise(hw, "/a", NULL, NULL));
	another_page(hw, NULL);
	hw->parent->place.route = hold_world_route(1);
	assert_non_null(hold_world_promise(hw, "/a", NULL, NULL));
	another_page(hw, NULL);
	hw->parent->place.route = hold_world_route(0);
	hw->parent->place.origin = (const struct conf_origin *)(const void *)&another_origin;
	assert_non_null(hold_world_promise(hw, "/a", NULL, NULL));
	assert_string_equal(hw->w->refused, "duplicate");
	hold_world_free(hw);
}

/* It is not stored for long: whoever is being given it may have it, and a promise is as good as new. */
static void stale_response_that_is_being_given_is_no_duplicate(void **state)
{
	(void)state; /* covers: P-hold-claim */
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_head(hw, push, 200, FIELDS("cache-control", "max-age=0"), false);
	world_download(hw->w, push, "abc", true);
	exchange_on_leg_closed(&push->up);
	hold_world_pass(hw);
	assert_int_equal(hw->store.count, 1); /* the client has not taken it */
	another_page(hw, NULL);
	assert_non_null(hold_world_promise(hw, "/a", NULL, NULL));
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "abc");
	hold_world_free(hw);
}

/* ---- URIs ---- */

/* covers: P-hold-claim */
static void host_is_the_same_however_it_is_written(void **state)
{
	(void)state;
	static const struct {
		const char *scheme, *authority;
		bool is_same;
	} cases[] = {
	    {"https", "example.com", true},
	    {"HTTPS", "EXAMPLE.com", true},
	    {"https", "example.com.", true},
	    {"https", "example.com:443", true},
	    {"https", "example.com:", true},
	    {"https", "example.com:8443", false},
	    {"https", "example.org", false},
	    /* the same host and port, and another resource all the same */
	    {"http", "example.com:443", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down;
		hold_world_push(hw, "/a", FRESH, "abc");
		struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
		world_request_of(x)->scheme = slice_of_string(cases[i].scheme);
		world_request_of(x)->authority = slice_of_string(cases[i].authority);
		assert_int_equal(hold_claim(&hw->hold, x), cases[i].is_same);
		assert_string_equal(hw->notes, "");
		hold_world_free(hw);
	}
}

/* covers: P-hold-claim P-hold-private */
static void schemes_on_one_port_are_two_resources(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	assert_non_null(hold_world_promise_at(hw, "https", "example.com:8443"));
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	world_request_of(x)->authority = SLICE("example.com:8443");
	world_request_of(x)->scheme = SLICE("http");
	assert_false(hold_claim(&hw->hold, x));
	world_request_of(x)->scheme = SLICE("https");
	assert_true(hold_claim(&hw->hold, x));
	assert_non_null(hold_world_promise_at(hw, "http", "example.com:8443"));
	hold_world_free(hw);
}

/* What the map's key leaves out is compared: no two long names are taken for one. */
static void long_hosts_differ_to_their_last_byte(void **state)
{
	(void)state; /* covers: P-hold-claim P-hold-private */
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	char long_name[301], other_name[301];
	memset(long_name, 'a', 300);
	long_name[300] = 0;
	memcpy(other_name, long_name, 301);
	other_name[299] = 'b';
	assert_non_null(hold_world_promise_at(hw, "https", long_name));
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	world_request_of(x)->authority = slice_of_string(other_name);
	assert_false(hold_claim(&hw->hold, x));
	world_request_of(x)->authority = slice_of_string(long_name);
	assert_true(hold_claim(&hw->hold, x));
	/* Nor are two of them one promise. */
	assert_non_null(hold_world_promise_at(hw, "https", other_name));
	hold_world_free(hw);
}

/* ---- room ---- */

/* covers: P-hold-bounds */
static void used_up_allowance_of_the_store_evicts_the_oldest_and_then_the_newcomer(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct budget mine;
	budget_init(&mine, &hw->w->budget, 1 << 20);
	hw->store.budget = &mine;
	hold_world_push(hw, "/1", FRESH, "one");
	struct exchange *push = hold_world_promise(hw, "/2", NULL, NULL);
	hold_world_head(hw, push, 200, FRESH, false);
	hold_world_pass(hw);
	mine.limit_bytes = mine.used_bytes; /* nothing more */
	world_download(hw->w, push, "two", false);
	hold_world_pass(hw);
	assert_string_equal(hw->notes, "evicted budget 3");
	assert_int_equal(hw->store.count, 1);
	mine.limit_bytes = mine.used_bytes;
	world_download(hw->w, push, "more", false);
	hold_world_pass(hw);
	assert_string_equal(hw->notes, "evicted budget 3; evicted budget 7");
	assert_int_equal(hw->store.count, 0);
	relay_reap(&hw->w->relay);
	assert_int_equal(mine.used_bytes, 0);
	hw->store.budget = &hw->w->budget;
	budget_fini(&mine);
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void shedding_takes_the_oldest_that_nobody_is_being_given(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	assert_false(hold_shed(&hw->hold));
	hold_world_push(hw, "/1", FRESH, "one");
	hold_world_push(hw, "/2", FRESH, "two");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/1", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	assert_true(hold_shed(&hw->hold));
	assert_string_equal(hw->pushes, "/2 expired hold-shed");
	assert_false(hold_shed(&hw->hold));
	hold_world_pass(hw);
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "one");
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void store_says_beforehand_what_it_cannot_hold(void **state)
{
	(void)state;
	const struct hold_limits none = {.count = 0, .bytes = 1000};
	struct hold_world *hw = hold_world_with(NULL, false, &none, NULL);
	assert_ptr_equal(hold_refusal(hw->parent, NULL), &policy_reason_HOLD_COUNT);
	hw->store.limits.count = 1;
	assert_null(hold_refusal(hw->parent, NULL)); /* whatever will be promised */
	struct http_head *head = world_request(hw->w, "POST", "/a");
	assert_ptr_equal(hold_refusal(hw->parent, head), &policy_reason_METHOD);
	http_head_free(head);
	head = world_request(hw->w, "GET", "/a");
	assert_null(hold_refusal(hw->parent, head));
	http_head_free(head);
	hold_world_free(hw);
}

static void stores_are_described_a_line_each(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(NULL, false, &hold_world_ample, &hold_world_ample);
	char text[100];
	hold_world_push(hw, "/a", FIELDS("cache-control", "private, max-age=60"), "abc");
	hold_world_push(hw, "/b", SHAREABLE, "abcd");
	text[hold_describe(&hw->hold, text, sizeof(text))] = 0;
	assert_string_equal(text, "held 1/64 3/4194304 bytes\nheld 1/64 4/4194304 bytes shared\n");
	text[hold_describe(&hw->hold, text, 40)] = 0; /* whole lines only */
	assert_string_equal(text, "held 1/64 3/4194304 bytes\n");
	hold_world_free(hw);
}

static void misses_have_names(void **state)
{
	(void)state;
	assert_string_equal(hold_miss_name(HOLD_FITS), "fits");
	assert_string_equal(hold_miss_name(HOLD_MISS_BUDGET), "budget");
	assert_string_equal(hold_miss_name(HOLD_MISS_COUNT), "?");
	for (unsigned miss = 0; miss < HOLD_MISS_COUNT; miss++)
		assert_true(strlen(hold_miss_advice(miss)) > 10);
	assert_string_equal(hold_miss_advice(HOLD_MISS_COUNT), "?");
}

/* The reasons of RFC 9211 2.2. */
static void misses_have_a_cache_status(void **state)
{
	(void)state;
	static const char *const rows[HOLD_MISS_COUNT] = {
	    [HOLD_MISS_METHOD] = "pushgate; fwd=method; detail=method",
	    [HOLD_MISS_VARY] = "pushgate; fwd=vary-miss; detail=vary",
	    [HOLD_MISS_COOKIE] = "pushgate; fwd=miss; detail=cookie",
	    [HOLD_MISS_AUTHORIZATION] = "pushgate; fwd=miss; detail=authorization",
	    [HOLD_MISS_ROUTE] = "pushgate; fwd=miss; detail=route",
	    [HOLD_MISS_NOT_FRESH] = "pushgate; fwd=stale; detail=not-fresh",
	    [HOLD_MISS_RANGE] = "pushgate; fwd=request; detail=range",
	    [HOLD_MISS_REVALIDATION] = "pushgate; fwd=request; detail=revalidation",
	    [HOLD_MISS_OUTSIDE] = "pushgate; fwd=bypass; detail=outside",
	    [HOLD_MISS_LOST] = "pushgate; fwd=uri-miss; detail=lost",
	    [HOLD_MISS_BUDGET] = "pushgate; fwd=miss; detail=budget",
	};
	for (unsigned miss = HOLD_FITS + 1; miss < HOLD_MISS_COUNT; miss++)
		assert_true(slice_equal(hold_miss_status(miss), slice_of_string(rows[miss])));
}

/* ---- shared ---- */

/* covers: P-hold-shared */
static void what_the_worker_holds_is_not_held_again(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(NULL, false, &hold_world_ample, &hold_world_ample);
	hold_world_push(hw, "/a", SHAREABLE, "abc");
	another_page(hw, NULL);
	assert_null(hold_world_promise(hw, "/a", NULL, NULL));
	assert_string_equal(hw->w->refused, "duplicate");
	hold_world_free(hw);
}

/* covers: P-hold-shared */
static void second_of_two_in_flight_stays_with_its_client(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(NULL, false, &hold_world_ample, &hold_world_ample);
	struct hold_store other;
	hold_store_init(&other, &hw->hold, &hw->w->budget, &hold_world_ample, true);
	struct exchange *first = hold_world_promise(hw, "/a", NULL, NULL);
	another_page(hw, NULL);
	hold_part(hw->parent)->store = &other;
	struct exchange *second = hold_world_promise(hw, "/a", NULL, NULL);
	assert_non_null(second);
	hold_world_head(hw, first, 200, SHAREABLE, false);
	hold_world_head(hw, second, 200, SHAREABLE, false);
	hold_world_pass(hw);
	assert_int_equal(hw->hold.shared.count, 1);
	assert_int_equal(hw->store.count, 0);
	assert_int_equal(other.count, 1);
	hold_world_lose(hw);
	hold_store_fini(&other);
	hold_world_free(hw);
}

/* covers: P-hold-shared P-hold-bounds */
static void without_room_in_the_workers_store_it_stays_with_its_client(void **state)
{
	(void)state;
	const struct hold_limits one = {.count = 1, .bytes = 1000, .age = 0};
	struct hold_world *hw = hold_world_with(NULL, false, &hold_world_ample, &one);
	struct world_leg *down;
	hold_world_push(hw, "/1", SHAREABLE, "one");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/1", NULL, &down);
	assert_true(hold_claim(&hw->hold, x)); /* so it may not go */
	hold_world_push(hw, "/2", SHAREABLE, "two");
	assert_int_equal(hw->hold.shared.count, 1);
	assert_int_equal(hw->store.count, 1);
	hold_world_pass(hw);
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "one");
	assert_true(hold_world_get(hw, "/2", NULL, &down));
	hold_world_free(hw);
}

/* covers: P-hold-shared */
static void secluded_client_gives_nothing_and_gets_nothing(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(NULL, false, &hold_world_ample, &hold_world_ample);
	struct hold_store other;
	struct world_leg *down;
	hold_store_init(&other, &hw->hold, &hw->w->budget, &hold_world_ample, true);
	other.is_secluded = true;
	hold_world_push(hw, "/shared", SHAREABLE, "abc");
	assert_int_equal(hw->hold.shared.count, 1);
	assert_false(hold_world_ask(hw, &other, "GET", "/shared", NULL, &down));
	/* What the worker holds is no reason not to hold it for this client. */
	another_page(hw, NULL);
	hold_part(hw->parent)->store = &other;
	assert_null(hold_refusal(hw->parent, NULL));
	hold_world_push(hw, "/shared", SHAREABLE, "abc");
	hold_world_push(hw, "/own", SHAREABLE, "abc");
	assert_int_equal(hw->hold.shared.count, 1);
	assert_int_equal(other.count, 2);
	assert_false(hold_world_get(hw, "/own", NULL, &down));
	assert_true(hold_world_ask(hw, &other, "GET", "/own", NULL, &down));
	/* Without a store of its own a connection of many users has none then. */
	hw->parent->facts.came_through = true;
	assert_ptr_equal(hold_refusal(hw->parent, NULL), &policy_reason_HOLD_FORWARDED);
	other.is_secluded = false;
	assert_null(hold_refusal(hw->parent, NULL));
	hold_world_lose(hw);
	hold_store_fini(&other);
	hold_world_free(hw);
}

/* RFC 9111 3.5.
 * covers: P-hold-shared */
static void must_revalidate_allows_sharing_what_was_asked_for_with_authorization(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_with(
	    FIELDS("authorization", "Basic YTpi"), false, &hold_world_ample, &hold_world_ample);
	hold_world_push(hw, "/a", FIELDS("cache-control", "must-revalidate, max-age=60"), "abc");
	assert_int_equal(hw->hold.shared.count, 1);
	hold_world_free(hw);
}

/* ---- what may not be held after all ---- */

/* covers: P-hold-no-store */
static void of_hint_and_hold_the_hint_is_left(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	hw->w->rules.fallback = POLICY_HINT_HOLD;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	hold_world_head(hw, push, 200, FIELDS("cache-control", "no-store"), false);
	hold_world_pass(hw);
	assert_true(exchange_is_over(push));
	assert_int_equal(push->pushed.verdict.action, POLICY_HINT);
	assert_ptr_equal(push->pushed.verdict.reason, &policy_reason_DEFAULT);
	assert_ptr_equal(push->pushed.verdict.lost_half, &policy_reason_NOT_STORABLE);
	assert_string_equal(hw->notes, "withdrawn not-storable 0");
	hold_world_free(hw);
}

/* covers: P-hold-no-store */
static void answer_to_a_conditional_promise_is_withdrawn(void **state)
{
	(void)state;
	const char *const *promises[] = {
	    FIELDS("if-modified-since", "Tue, 15 Nov 1994 12:00:00 GMT"),
	    FIELDS("if-none-match", "\"1\""),
	    FIELDS("range", "bytes=0-9"),
	};
	for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
		struct hold_world *hw = hold_world_new();
		struct exchange *push = hold_world_promise(hw, "/a", promises[i], NULL);
		assert_non_null(push);
		hold_world_head(hw, push, 200, FRESH, false);
		hold_world_pass(hw);
		assert_string_equal(hw->notes, "withdrawn not-storable 0");
		hold_world_free(hw);
	}
}

/* ---- failed, and not looked at yet ---- */

static void push_that_failed_is_gone_with_its_store(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	exchange_on_up_failed(push, &relay_cause_UP_RESET, 8, NULL);
	assert_string_equal(hw->notes, "failed origin-reset 0");
	assert_int_equal(hw->store.count, 1);
	hold_store_fini(&hw->store); /* the client is lost in the same loop pass */
	assert_int_equal(hw->store.count, 0);
	assert_string_equal(hw->notes, "failed origin-reset 0");
	hold_store_init(&hw->store, &hw->hold, &hw->w->budget, &hold_world_ample, true);
	hold_world_free(hw);
}

static void push_that_failed_does_not_expire_as_well(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	exchange_on_up_failed(push, &relay_cause_UP_RESET, 8, NULL);
	world_pass(hw->w, 2 * hold_world_ample.age);
	assert_string_equal(hw->notes, "failed origin-reset 0");
	hold_world_pass(hw);
	assert_string_equal(hw->notes, "failed origin-reset 0");
	assert_int_equal(hw->store.count, 0);
	hold_world_free(hw);
}

static void nobody_need_listen_to_what_becomes_of_it(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	const struct hold_ops silent = {.epoch_sec = hw->hold.ops->epoch_sec};
	struct world_leg *down;
	hw->hold.ops = &silent;
	hold_world_push(hw, "/a", FRESH, "abc");
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(hw->notes, "");
	assert_string_equal(hw->pushes, "/a claimed claimed");
	hold_world_free(hw);
}

/* ---- conditions ---- */

/* RFC 9110 13.1: they are about what a 200 would bring, and about what it has.
 * covers: P-hold-claim */
static void condition_on_what_cannot_be_compared_goes_to_the_origin(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	assert_false(
	    hold_world_get(hw, "/a", FIELDS("if-modified-since", "Sat, 21 Nov 2026 04:00:00 GMT"), &down));
	struct exchange *push = hold_world_promise(hw, "/gone", NULL, NULL);
	hold_world_head(hw, push, 404, FIELDS("cache-control", "max-age=60", "etag", "\"1\""), true);
	hold_world_pass(hw);
	assert_false(hold_world_get(hw, "/gone", FIELDS("if-none-match", "\"1\""), &down));
	assert_string_equal(hw->notes, "missed revalidation; missed revalidation");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void condition_of_a_head_request_that_matches_uses_the_push_up(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FIELDS("cache-control", "max-age=60", "etag", "\"1\""), "abc");
	assert_true(hold_world_ask(
	    hw, &hw->store, "HEAD", "/a", FIELDS("if-none-match", "\"1\""), &down));
	assert_string_equal(down->said, "head 304 end; detach");
	assert_string_equal(hw->pushes, "/a claimed claimed"); /* the client has it */
	hold_world_free(hw);
}

static void request_without_an_authority_finds_nothing(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	world_request_of(x)->authority = SLICE("");
	assert_false(hold_claim(&hw->hold, x));
	assert_string_equal(hw->notes, "");
	hold_world_free(hw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(promise_is_a_duplicate_while_the_first_is_in_flight),
	    cmocka_unit_test(same_uri_for_another_user_or_another_variant_is_no_duplicate),
	    cmocka_unit_test(same_uri_from_another_origin_or_for_another_route_is_no_duplicate),
	    cmocka_unit_test(what_is_the_same_for_all_is_held_once_whatever_the_cookies),
	    cmocka_unit_test(stale_response_that_is_being_given_is_no_duplicate),
	    cmocka_unit_test(host_is_the_same_however_it_is_written),
	    cmocka_unit_test(schemes_on_one_port_are_two_resources),
	    cmocka_unit_test(long_hosts_differ_to_their_last_byte),
	    cmocka_unit_test(used_up_allowance_of_the_store_evicts_the_oldest_and_then_the_newcomer),
	    cmocka_unit_test(shedding_takes_the_oldest_that_nobody_is_being_given),
	    cmocka_unit_test(store_says_beforehand_what_it_cannot_hold),
	    cmocka_unit_test(stores_are_described_a_line_each),
	    cmocka_unit_test(misses_have_names),
	    cmocka_unit_test(misses_have_a_cache_status),
	    cmocka_unit_test(what_the_worker_holds_is_not_held_again),
	    cmocka_unit_test(second_of_two_in_flight_stays_with_its_client),
	    cmocka_unit_test(without_room_in_the_workers_store_it_stays_with_its_client),
	    cmocka_unit_test(secluded_client_gives_nothing_and_gets_nothing),
	    cmocka_unit_test(must_revalidate_allows_sharing_what_was_asked_for_with_authorization),
	    cmocka_unit_test(of_hint_and_hold_the_hint_is_left),
	    cmocka_unit_test(answer_to_a_conditional_promise_is_withdrawn),
	    cmocka_unit_test(push_that_failed_is_gone_with_its_store),
	    cmocka_unit_test(push_that_failed_does_not_expire_as_well),
	    cmocka_unit_test(nobody_need_listen_to_what_becomes_of_it),
	    cmocka_unit_test(condition_on_what_cannot_be_compared_goes_to_the_origin),
	    cmocka_unit_test(condition_of_a_head_request_that_matches_uses_the_push_up),
	    cmocka_unit_test(request_without_an_authority_finds_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
