/* SPDX-License-Identifier: MIT */
/* Live joins: a request for a held response that is still in flight. */
#include "tests/support/hold_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

#define FRESH FIELDS("cache-control", "max-age=60")
#define NO_CACHE FIELDS("cache-control", "no-cache")

/* A push in flight, and a request that has joined it. */
struct joined {
	struct hold_world *hw;
	struct exchange *push, *x;
	struct world_leg *up, *down;
};

static struct joined join(bool with_head, hold_fields fields)
{
	struct joined j = {.hw = hold_world_new()};
	j.push = hold_world_promise(j.hw, "/a", NULL, &j.up);
	if (with_head)
		hold_world_head(j.hw, j.push, 200, fields, false);
	hold_world_pass(j.hw);
	j.x = hold_world_request(j.hw, &j.hw->store, "GET", "/a", NULL, &j.down);
	assert_true(hold_claim(&j.hw->hold, j.x));
	hold_world_pass(j.hw);
	return j;
}

/* covers: P-hold-claim P-hold-status */
static void response_in_flight_is_joined_as_it_comes(void **state)
{
	(void)state;
	struct joined j = join(true, FRESH);
	assert_string_equal(j.down->said, "head 200");
	assert_string_equal(hold_world_field(j.hw, j.x->id, "cache-status"),
	    "pushgate; fwd=miss; collapsed; detail=held");
	assert_string_equal(
	    hold_world_field(j.hw, j.x->id, "age"), "0"); /* it was here before the request */
	world_download(j.hw->w, j.push, "one ", false);
	hold_world_pass(j.hw);
	hold_world_take(j.hw, j.down);
	assert_string_equal(j.down->bytes, "one ");
	world_download(j.hw->w, j.push, "two", true);
	hold_world_pass(j.hw);
	hold_world_take(j.hw, j.down);
	assert_string_equal(j.down->bytes, "one two");
	assert_string_equal(j.down->said, "head 200; end; detach");
	assert_string_equal(j.hw->notes, "claimed live");
	assert_string_equal(j.hw->pushes, "/a claimed claimed");
	hold_world_free(j.hw);
}

/* covers: P-hold-claim P-hold-status */
static void joined_before_the_head_gets_the_head_when_it_comes(void **state)
{
	(void)state;
	struct joined j = join(false, NULL);
	assert_string_equal(j.down->said, "");
	exchange_on_response(j.push, world_response(j.hw->w, 103), false);
	hold_world_pass(j.hw);
	hold_world_head(j.hw, j.push, 200, FRESH, false);
	world_download(j.hw->w, j.push, "abc", true);
	hold_world_pass(j.hw);
	hold_world_take(j.hw, j.down);
	assert_string_equal(j.down->said, "head 103; head 200; end; detach");
	assert_string_equal(hold_world_field(j.hw, j.x->id, "age"), ""); /* nothing was stored */
	assert_string_equal(j.down->bytes, "abc");
	hold_world_free(j.hw);
}

/* covers: P-hold-no-store */
static void no_cache_is_given_while_the_promised_stream_is_open(void **state)
{
	(void)state;
	struct joined j = join(true, NO_CACHE);
	world_download(j.hw->w, j.push, "abc", true);
	hold_world_pass(j.hw);
	hold_world_take(j.hw, j.down);
	assert_string_equal(j.down->bytes, "abc");
	hold_world_free(j.hw);

	/* And when head and end come at once to one who waited for them. */
	j = join(false, NULL);
	hold_world_head(j.hw, j.push, 204, NO_CACHE, true);
	hold_world_pass(j.hw);
	assert_string_equal(j.down->said, "head 204 end; detach");
	hold_world_free(j.hw);
}

/* Nobody knows how long it is good for: it is for those that have asked by the time that its head comes, and while one
 * of them gets it, others may join.
 * covers: P-hold-fresh P-hold-join */
static void what_is_never_fresh_is_fetched_for_requests_that_have_joined(void **state)
{
	(void)state;
	static const char *const nothing[] = {"x-none", "nothing said", NULL};
	struct world_leg *second;
	struct joined j = join(false, NULL);
	hold_world_head(j.hw, j.push, 200, nothing, false);
	hold_world_pass(j.hw);
	assert_false(exchange_is_over(j.push));
	world_download(j.hw->w, j.push, "abc", false);
	assert_true(hold_world_get(j.hw, "/a", NULL, &second));
	world_download(j.hw->w, j.push, "def", true);
	hold_world_pass(j.hw);
	hold_world_take(j.hw, j.down);
	hold_world_take(j.hw, second);
	assert_string_equal(j.down->bytes, "abcdef");
	assert_string_equal(second->bytes, "abcdef");
	hold_world_free(j.hw);

	/* One that waited, and cannot be answered with it, is none. */
	static const char *const cookie[] = {"cookie", "user=b", NULL};
	struct hold_world *hw = hold_world_new();
	struct world_leg *up;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, &up);
	assert_true(hold_world_get(hw, "/a", cookie, &second));
	hold_world_head(hw, push, 200, nothing, false);
	hold_world_pass(hw);
	assert_true(exchange_is_over(push));
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(hw->notes, "missed cookie; expired hold-not-fresh 0");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void several_requests_join_one_response(void **state)
{
	(void)state;
	struct joined j = join(true, FRESH);
	struct world_leg *second, *third;
	world_download(j.hw->w, j.push, "one ", false);
	assert_true(hold_world_get(j.hw, "/a", NULL, &second));
	world_download(j.hw->w, j.push, "two", false);
	hold_world_pass(j.hw);
	assert_true(hold_world_get(j.hw, "/a", NULL, &third));
	world_download(j.hw->w, j.push, "", true);
	hold_world_pass(j.hw);
	hold_world_take(j.hw, third);
	hold_world_take(j.hw, j.down);
	hold_world_take(j.hw, second);
	assert_string_equal(j.down->bytes, "one two");
	assert_string_equal(second->bytes, "one two");
	assert_string_equal(third->bytes, "one two");
	assert_string_equal(j.hw->notes, "claimed live; claimed live; claimed live");
	assert_int_equal(j.hw->store.count, 0);
	hold_world_free(j.hw);
}

/* covers: P-hold-claim */
static void trailers_of_a_joined_response_pass(void **state)
{
	(void)state;
	struct joined j = join(true, FRESH);
	world_download(j.hw->w, j.push, "abc", false);
	exchange_on_download_trailers(j.push, world_trailers(j.hw->w));
	hold_world_pass(j.hw);
	hold_world_take(j.hw, j.down);
	assert_string_equal(j.down->said, "head 200; trailers 1; detach");
	hold_world_free(j.hw);
}

struct failure {
	const struct relay_cause *cause;
	uint32_t code;
	const char *said;
};

/* covers: P-hold-claim R52 */
static void join_that_fails_half_way_is_reset_as_the_outcome_table_says(void **state)
{
	(void)state;
	const struct failure failures[] = {
	    {&relay_cause_UP_RESET, 8, "head 200; reset 8"},
	    {&relay_cause_UP_RESET, 7, "head 200; reset 2"},
	    {&relay_cause_UP_RESET, 0, "head 200; reset 2"},
	    {&relay_cause_UP_RESET, 11, "head 200; reset 2"},
	    {&relay_cause_UP_LOST, 0, "head 200; reset 2"},
	    {&relay_cause_UP_MALFORMED, 1, "head 200; reset 1"},
	    {&relay_cause_UP_UNPROCESSED, 7, "head 200; reset 2"},
	};
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		struct joined j = join(true, FRESH);
		unsigned dispatched = j.hw->w->dispatch_count;
		world_download(j.hw->w, j.push, "half", false);
		exchange_on_up_failed(j.push, failures[i].cause, failures[i].code, NULL);
		hold_world_pass(j.hw);
		if (failures[i].cause == &relay_cause_UP_RESET && failures[i].code == 0)
			hold_world_take(j.hw, j.down); /* what came goes out first */
		assert_string_equal(j.down->said, failures[i].said);
		assert_int_equal(j.hw->w->dispatch_count, dispatched);
		assert_ptr_equal(j.x->ending.cause, failures[i].cause);
		assert_int_equal(j.push->pushed.state, PUSH_CANCELLED);
		assert_int_equal(j.hw->store.count, 0);
		hold_world_free(j.hw);
	}
}

/* covers: P-hold-claim R52 */
static void bytes_before_a_reset_with_no_error_are_given_and_a_whole_response_ends_well(
    void **state)
{
	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		struct joined j = join(true, FRESH);
		j.push->response.length = whole ? 4 : HTTP_LENGTH_UNKNOWN;
		world_download(j.hw->w, j.push, "half", false); /* not taken yet */
		exchange_on_up_failed(j.push, &relay_cause_UP_RESET, 0, NULL);
		hold_world_pass(j.hw);
		hold_world_take(j.hw, j.down);
		assert_string_equal(j.down->bytes, "half");
		assert_string_equal(
		    j.down->said, whole ? "head 200; end; detach" : "head 200; reset 2");
		assert_string_equal(j.hw->notes, whole ? "claimed live" : "failed origin-reset 4");
		hold_world_free(j.hw);
	}
}

/* covers: P-hold-claim R52 */
static void join_that_fails_before_the_head_goes_to_the_origin(void **state)
{
	(void)state;
	struct joined j = join(false, NULL);
	unsigned dispatched = j.hw->w->dispatch_count;
	exchange_on_up_failed(j.push, &relay_cause_UP_RESET, 8, NULL);
	hold_world_pass(j.hw);
	assert_int_equal(j.hw->w->dispatch_count, dispatched + 1);
	assert_ptr_equal(j.hw->w->dispatched[dispatched], j.x);
	assert_false(exchange_was_retried(j.x)); /* it has been nowhere else */
	assert_null(http_head_find(j.x->request, HTTP_TOKEN_VIA)); /* it stays as it came */
	hold_world_head(j.hw, j.x, 200, NULL, true);
	assert_string_equal(j.down->said, "head 200 end; detach");
	assert_string_equal(j.hw->notes, "failed origin-reset 0; missed lost");
	hold_world_free(j.hw);
}

/* ---- how long a join waits ---- */

static struct joined slow_join(const char *method)
{
	struct joined j = {.hw = hold_world_new()};
	j.hw->w->limits[RELAY_TIMEOUT_PUSH_START] = 10 * USEC_PER_SEC;
	j.hw->w->limits[RELAY_TIMEOUT_RESPONSE] = 15 * USEC_PER_SEC;
	exchange_on_response(j.hw->parent, world_response(j.hw->w, 200), false);
	j.push = hold_world_promise(j.hw, "/a", NULL, &j.up);
	hold_world_wait(j.hw, 2 * USEC_PER_SEC);
	j.x = hold_world_request(j.hw, &j.hw->store, method, "/a", NULL, &j.down);
	assert_true(hold_claim(&j.hw->hold, j.x));
	return j;
}

/* covers: P-hold-join */
static void joined_push_may_begin_later_than_push_start_timeout(void **state)
{
	(void)state;
	struct joined j = slow_join("GET");
	unsigned dispatched = j.hw->w->dispatch_count;
	hold_world_wait(j.hw, 11 * USEC_PER_SEC);
	assert_string_equal(j.up->said, "");
	hold_world_head(j.hw, j.push, 200, FRESH, true);
	hold_world_wait(j.hw, 30 * USEC_PER_SEC);
	hold_world_take(j.hw, j.down);
	assert_string_equal(j.down->said, "head 200 end; detach");
	assert_int_equal(j.hw->w->dispatch_count, dispatched);
	hold_world_free(j.hw);
}

/* covers: P-hold-join */
static void join_waits_as_long_as_any_request_and_then_the_push_ends_too(void **state)
{
	(void)state;
	struct joined j = slow_join("GET");
	unsigned dispatched = j.hw->w->dispatch_count;
	hold_world_wait(j.hw, 14 * USEC_PER_SEC);
	assert_string_equal(j.down->said, "");
	hold_world_wait(j.hw, 2 * USEC_PER_SEC);
	assert_string_equal(j.down->said, "head 504");
	assert_ptr_equal(j.x->ending.cause, &relay_cause_HEAD_LATE);
	assert_string_equal(j.up->said, "reset 8");
	assert_int_equal(j.hw->w->dispatch_count, dispatched);
	hold_world_free(j.hw);
}

/* covers: P-hold-join */
static void push_start_timeout_counts_again_when_nobody_waits_any_more(void **state)
{
	(void)state;
	struct joined j = slow_join("HEAD");
	hold_world_wait(j.hw, 5 * USEC_PER_SEC);
	exchange_on_down_ended(j.x, &relay_cause_DOWN_RESET, 8, NULL);
	hold_world_wait(j.hw, 2 * USEC_PER_SEC);
	assert_string_equal(j.up->said, "");
	hold_world_wait(j.hw, 2 * USEC_PER_SEC); /* 11 s after the promise */
	assert_string_equal(j.up->said, "reset 8");
	assert_string_equal(j.hw->notes, "failed start-timeout 0");
	hold_world_free(j.hw);

	j = slow_join("HEAD"); /* and its time may be over already */
	hold_world_wait(j.hw, 12 * USEC_PER_SEC);
	assert_string_equal(j.up->said, "");
	exchange_on_down_ended(j.x, &relay_cause_DOWN_RESET, 8, NULL);
	hold_world_wait(j.hw, USEC_PER_SEC);
	assert_string_equal(j.up->said, "reset 8");
	hold_world_free(j.hw);
}

/* covers: P-hold-no-store */
static void join_of_what_turns_out_not_to_be_storable_goes_to_the_origin(void **state)
{
	(void)state;
	struct joined j = join(false, NULL);
	unsigned dispatched = j.hw->w->dispatch_count;
	hold_world_head(j.hw, j.push, 200, FIELDS("cache-control", "no-store"), false);
	world_download(j.hw->w, j.push, "secret", false);
	hold_world_pass(j.hw);
	assert_string_equal(j.up->said, "reset 8");
	assert_int_equal(j.hw->w->dispatch_count, dispatched + 1);
	assert_string_equal(j.down->said, "");
	assert_string_equal(j.hw->notes, "missed lost; withdrawn not-storable 6");
	assert_ptr_equal(j.push->pushed.verdict.reason, &policy_reason_NOT_STORABLE);
	hold_world_free(j.hw);
}

/* covers: P-hold-claim */
static void join_whose_vary_differs_goes_to_the_origin_when_that_is_seen(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct exchange *push = hold_world_promise(hw, "/a", FIELDS("accept-language", "de"), NULL);
	struct exchange *x =
	    hold_world_request(hw, &hw->store, "GET", "/a", FIELDS("accept-language", "en"), &down);
	assert_true(hold_claim(&hw->hold, x));
	unsigned dispatched = hw->w->dispatch_count;
	hold_world_head(
	    hw, push, 200, FIELDS("cache-control", "max-age=9", "vary", "accept-language"), false);
	hold_world_pass(hw);
	assert_int_equal(hw->w->dispatch_count, dispatched + 1);
	assert_string_equal(hw->notes, "missed vary:accept-language");
	assert_false(exchange_is_over(push)); /* somebody else may still want it */
	hold_world_free(hw);
}

/* covers: P-hold-claim P-make-client-reset */
static void reset_by_the_only_claimer_cancels_the_push(void **state)
{
	(void)state;
	struct joined j = join(true, FRESH);
	world_download(j.hw->w, j.push, "half", false);
	hold_world_pass(j.hw);
	exchange_on_down_ended(j.x, &relay_cause_DOWN_RESET, 8, NULL);
	hold_world_pass(j.hw);
	assert_string_equal(j.up->said, "reset 8");
	assert_string_equal(j.hw->pushes, "/a expired client-reset");
	assert_string_equal(j.hw->notes, "expired client-reset 4");
	hold_world_free(j.hw);
}

/* covers: P-hold-claim */
static void reset_by_one_of_two_claimers_leaves_the_push_to_the_other(void **state)
{
	(void)state;
	struct joined j = join(true, FRESH);
	struct world_leg *second;
	assert_true(hold_world_get(j.hw, "/a", NULL, &second));
	exchange_on_down_ended(j.x, &relay_cause_DOWN_RESET, 8, NULL);
	hold_world_pass(j.hw);
	assert_string_equal(j.up->said, "");
	world_download(j.hw->w, j.push, "abc", true);
	hold_world_pass(j.hw);
	hold_world_take(j.hw, second);
	assert_string_equal(second->bytes, "abc");
	hold_world_free(j.hw);
}

/* covers: P-hold-claim */
static void reset_and_a_new_claim_in_one_turn_keep_the_push(void **state)
{
	(void)state;
	const char *const methods[] = {"GET", "HEAD"};
	for (int i = 0; i < 2; i++) {
		struct joined j = join(true, FRESH);
		struct world_leg *second;
		exchange_on_down_ended(j.x, &relay_cause_DOWN_RESET, 8, NULL);
		assert_true(hold_world_ask(j.hw, &j.hw->store, methods[i], "/a", NULL, &second));
		assert_string_equal(j.up->said, "");
		hold_world_free(j.hw);
	}
}

static void fill(char *block, size_t n, size_t from)
{
	for (size_t i = 0; i < n; i++)
		block[i] = (char)('a' + (from + i) % 23);
	block[n] = 0;
}

/* covers: P-hold-bounds P-hold-claim */
static void response_that_outgrows_the_store_flows_at_its_claimers_pace(void **state)
{
	(void)state;
	const struct hold_limits small = {.count = 4, .bytes = 20000, .age = USEC_PER_SEC};
	struct hold_world *hw = hold_world_with(NULL, false, &small, NULL);
	struct world_leg *down, *up, *late;
	char block[10001];
	struct exchange *push = hold_world_promise(hw, "/big", NULL, &up);
	hold_world_head(hw, push, 200, FRESH, false);
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/big", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	for (size_t i = 0; i < 60; i++) {
		fill(block, 10000, i * 10000);
		world_download(hw->w, push, block, i == 59);
		hold_world_pass(hw);
	}
	/* The client has sent nothing: its window is full, a little is kept, and the rest waits for credit. */
	assert_int_equal(x->download.body.bytes, 262144);
	assert_in_range(up->credit, 262144, 262144 + 80000);
	assert_false(hold_world_get(hw, "/big", NULL, &late)); /* its beginning is gone */
	size_t seen = 0;
	while (down->leg) {
		const struct flow *f = &x->download;
		struct piece p = body_front(&f->body, 5000);
		for (uint32_t i = 0; i < p.length; i++)
			assert_int_equal(piece_slice(p).ptr[i], 'a' + (char)((seen + i) % 23));
		seen += p.length;
		exchange_on_taken(&x->down, p.length, p.length == f->body.bytes && flow_may_end(f));
		hold_world_pass(hw);
		assert_true(hw->store.bytes <= 80000);
	}
	assert_int_equal(seen, 600000);
	assert_string_equal(hw->pushes, "/big claimed claimed");
	assert_string_equal(hw->notes, "claimed live");
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void outgrown_response_waits_for_the_slower_of_two_claimers(void **state)
{
	(void)state;
	const struct hold_limits small = {.count = 4, .bytes = 1000, .age = USEC_PER_SEC};
	struct hold_world *hw = hold_world_with(NULL, false, &small, NULL);
	struct world_leg *fast, *slow, *up;
	char block[10001];
	struct exchange *push = hold_world_promise(hw, "/big", NULL, &up);
	hold_world_head(hw, push, 200, FRESH, false);
	hold_world_pass(hw);
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/big", NULL, &slow);
	assert_true(hold_claim(&hw->hold, x));
	assert_true(hold_world_get(hw, "/big", NULL, &fast));
	for (size_t i = 0; i < 50; i++) {
		fill(block, 10000, i * 10000);
		world_download(hw->w, push, block, i == 49);
		hold_world_pass(hw);
		hold_world_take(hw, fast);
	}
	assert_in_range(hw->taken, 262144, 262144 + 80000);
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 8, NULL); /* the slow one gives up */
	hold_world_pass(hw);
	hold_world_take(hw, fast);
	assert_int_equal(hw->taken, 500000);
	assert_string_equal(fast->said, "head 200; end; detach");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void head_request_joins_and_does_not_end_the_push(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *up, *get;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, &up);
	struct exchange *x = hold_world_request(hw, &hw->store, "HEAD", "/a", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_head(hw, push, 200, FRESH, false);
	hold_world_pass(hw);
	assert_string_equal(down->said, "head 200 end; detach");
	assert_string_equal(up->said, "");
	world_download(hw->w, push, "abc", true);
	assert_true(hold_world_get(hw, "/a", NULL, &get));
	assert_string_equal(get->bytes, "abc");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void conditional_request_that_joined_is_answered_304_and_ends_the_push(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *up;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, &up);
	struct exchange *x = hold_world_request(
	    hw, &hw->store, "GET", "/a", FIELDS("if-none-match", "\"1\""), &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_head(
	    hw, push, 200, FIELDS("cache-control", "max-age=9", "etag", "\"1\""), false);
	world_download(hw->w, push, "abc", false);
	hold_world_pass(hw);
	assert_string_equal(down->said, "head 304 end; detach");
	assert_string_equal(up->said, "reset 8"); /* the client has the rest */
	assert_string_equal(hw->pushes, "/a claimed claimed");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void interim_responses_pass_to_who_waits_in_their_order_and_are_kept_for_nobody(void **state)
{
	(void)state;
	struct joined j = join(false, NULL);
	exchange_on_response(j.push, world_response(j.hw->w, 102), false);
	exchange_on_response(j.push, world_response(j.hw->w, 103), false);
	hold_world_pass(j.hw);
	assert_string_equal(j.down->said, "head 102; head 103");
	hold_world_free(j.hw);

	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	exchange_on_response(push, world_response(hw->w, 103), false); /* in the turn of the request, and before it */
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	hold_world_head(hw, push, 200, FRESH, true);
	hold_world_pass(hw);
	hold_world_take(hw, down);
	assert_string_equal(down->said, "head 200 end; detach");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void trailers_behind_no_bytes_pass(void **state)
{
	(void)state;
	struct joined j = join(true, FRESH);
	exchange_on_download_trailers(j.push, world_trailers(j.hw->w));
	hold_world_pass(j.hw);
	hold_world_take(j.hw, j.down);
	assert_string_equal(j.down->said, "head 200; trailers 1; detach");
	hold_world_free(j.hw);

	struct hold_world *hw = hold_world_new(); /* the same from memory */
	struct world_leg *down;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	hold_world_head(hw, push, 200, FRESH, false);
	exchange_on_download_trailers(push, world_trailers(hw->w));
	hold_world_pass(hw);
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(down->said, "head 200; trailers 1; detach");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void reset_of_a_head_request_leaves_the_push(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *up;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, &up);
	struct exchange *x = hold_world_request(hw, &hw->store, "HEAD", "/a", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_pass(hw);
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 8, NULL);
	hold_world_pass(hw);
	assert_string_equal(up->said, "");
	assert_false(exchange_is_over(push));
	assert_int_equal(hw->store.count, 1);
	hold_world_free(hw);
}

/* A reset with NO_ERROR whose bytes and head nobody has looked at: what comes in one loop pass.
 * covers: P-hold-claim R52 */
static void join_of_what_is_reset_before_it_was_looked_at_goes_to_the_origin(void **state)
{
	(void)state;
	struct joined j = join(false, NULL);
	unsigned dispatched = j.hw->w->dispatch_count;
	hold_world_head(j.hw, j.push, 200, FRESH, false);
	world_download(j.hw->w, j.push, "half", false);
	exchange_on_up_failed(j.push, &relay_cause_UP_RESET, 0, NULL);
	hold_world_pass(j.hw);
	assert_int_equal(j.hw->w->dispatch_count, dispatched + 1);
	assert_ptr_equal(j.hw->w->dispatched[dispatched], j.x);
	assert_string_equal(j.down->said, "");
	assert_string_equal(j.hw->notes, "failed origin-reset 4; missed lost");
	hold_world_free(j.hw);
}

/* covers: P-hold-claim */
static void failure_after_it_has_answered_somebody_is_not_noted_again(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *conditional, *down;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	struct exchange *x =
	    hold_world_request(hw, &hw->store, "GET", "/a", FIELDS("if-none-match", "\"1\""), &conditional);
	assert_true(hold_claim(&hw->hold, x));
	struct exchange *y = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	assert_true(hold_claim(&hw->hold, y));
	hold_world_head(hw, push, 200, FIELDS("cache-control", "max-age=9", "etag", "\"1\""), false);
	world_download(hw->w, push, "abc", false);
	hold_world_pass(hw);
	assert_string_equal(conditional->said, "head 304 end; detach");
	exchange_on_up_failed(push, &relay_cause_UP_RESET, 8, NULL);
	hold_world_pass(hw);
	assert_string_equal(down->said, "head 200; reset 8");
	assert_string_equal(hw->notes, "claimed live");
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void claimer_whose_allowance_is_overdrawn_is_reset_and_no_other(void **state)
{
	(void)state;
	struct joined j = join(true, FRESH);
	char block[4096];
	fill(block, sizeof(block) - 1, 0);
	for (int i = 0; i < 24; i++) /* less than one claim's window, more than is borne when memory is short */
		world_download(j.hw->w, j.push, block, false);
	j.hw->w->down_budget.limit_bytes = 1;
	hold_world_pass(j.hw);
	assert_string_equal(j.down->said, "head 200; reset 2");
	assert_true(exchange_is_over(j.x));
	assert_ptr_equal(j.x->ending.cause, &relay_cause_MEMORY_SHORT);
	hold_world_free(j.hw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(response_in_flight_is_joined_as_it_comes),
	    cmocka_unit_test(joined_before_the_head_gets_the_head_when_it_comes),
	    cmocka_unit_test(no_cache_is_given_while_the_promised_stream_is_open),
	    cmocka_unit_test(what_is_never_fresh_is_fetched_for_requests_that_have_joined),
	    cmocka_unit_test(several_requests_join_one_response),
	    cmocka_unit_test(trailers_of_a_joined_response_pass),
	    cmocka_unit_test(join_that_fails_half_way_is_reset_as_the_outcome_table_says),
	    cmocka_unit_test(
		bytes_before_a_reset_with_no_error_are_given_and_a_whole_response_ends_well),
	    cmocka_unit_test(join_that_fails_before_the_head_goes_to_the_origin),
	    cmocka_unit_test(joined_push_may_begin_later_than_push_start_timeout),
	    cmocka_unit_test(join_waits_as_long_as_any_request_and_then_the_push_ends_too),
	    cmocka_unit_test(push_start_timeout_counts_again_when_nobody_waits_any_more),
	    cmocka_unit_test(join_of_what_turns_out_not_to_be_storable_goes_to_the_origin),
	    cmocka_unit_test(join_whose_vary_differs_goes_to_the_origin_when_that_is_seen),
	    cmocka_unit_test(reset_by_the_only_claimer_cancels_the_push),
	    cmocka_unit_test(reset_by_one_of_two_claimers_leaves_the_push_to_the_other),
	    cmocka_unit_test(reset_and_a_new_claim_in_one_turn_keep_the_push),
	    cmocka_unit_test(response_that_outgrows_the_store_flows_at_its_claimers_pace),
	    cmocka_unit_test(outgrown_response_waits_for_the_slower_of_two_claimers),
	    cmocka_unit_test(head_request_joins_and_does_not_end_the_push),
	    cmocka_unit_test(conditional_request_that_joined_is_answered_304_and_ends_the_push),
	    cmocka_unit_test(interim_responses_pass_to_who_waits_in_their_order_and_are_kept_for_nobody),
	    cmocka_unit_test(trailers_behind_no_bytes_pass),
	    cmocka_unit_test(reset_of_a_head_request_leaves_the_push),
	    cmocka_unit_test(join_of_what_is_reset_before_it_was_looked_at_goes_to_the_origin),
	    cmocka_unit_test(failure_after_it_has_answered_somebody_is_not_noted_again),
	    cmocka_unit_test(claimer_whose_allowance_is_overdrawn_is_reset_and_no_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
