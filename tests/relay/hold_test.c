/* SPDX-License-Identifier: MIT */
/* Held responses: how they come to be, answer, make room, grow old, and are accounted for. */
#include "tests/support/hold_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

#define FRESH FIELDS("cache-control", "max-age=60")

/* covers: P-hold-claim */
static void held_push_is_not_promised_and_answers_the_clients_own_request(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *up;
	struct exchange *push = hold_world_promise(hw, "/a.css", NULL, &up);
	assert_non_null(push);
	assert_int_equal(push->pushed.state, PUSH_HELD);
	assert_string_equal(hw->parent_down->said, "");
	hold_world_head(hw, push, 200, FRESH, false);
	world_download(hw->w, push, "body { }", true);
	hold_world_pass(hw);
	unsigned dispatched = hw->w->dispatch_count;
	assert_true(hold_world_get(hw, "/a.css", NULL, &down));
	assert_int_equal(hw->w->dispatch_count, dispatched);
	assert_string_equal(down->said, "head 200; end; detach");
	assert_string_equal(down->bytes, "body { }");
	assert_string_equal(hw->notes, "claimed");
	assert_string_equal(hw->pushes, "/a.css claimed claimed");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void private_response_is_claimed_once(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	assert_false(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(hw->notes, "claimed");
	assert_int_equal(hw->store.count, 0);
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void requests_for_other_uris_are_dispatched_and_nothing_is_missed(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	assert_false(hold_world_get(hw, "/a?x", NULL, &down));
	assert_false(hold_world_get(hw, "/A", NULL, &down));
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	world_request_of(x)->authority = SLICE("other.example");
	assert_false(hold_claim(&hw->hold, x));
	world_request_of(x)->authority = SLICE("example.com");
	world_request_of(x)->scheme = SLICE("http");
	assert_false(hold_claim(&hw->hold, x));
	world_request_of(x)->scheme = SLICE("https");
	world_request_of(x)->authority = SLICE("EXAMPLE.com:443"); /* another way to write the same */
	assert_true(hold_claim(&hw->hold, x));
	assert_string_equal(hw->notes, "");
	hold_world_pass(hw);
	hold_world_free(hw);
}

/* covers: P-hold-claim R496 */
static void requests_for_another_origin_are_dispatched(void **state)
{
	(void)state;
	static const char another;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	const struct conf_origin *own = x->place.origin;
	x->place.origin = (const void *)&another;
	assert_false(hold_claim(&hw->hold, x));
	x->place.origin = own;
	assert_true(hold_claim(&hw->hold, x));
	hold_world_pass(hw);
	hold_world_free(hw);
}

/* covers: P-hold-status */
static void answer_says_hit_and_its_age(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a",
	    FIELDS("cache-control", "max-age=60", "age", "5", "cache-status", "other; hit"), "abc");
	hold_world_wait(hw, 3 * USEC_PER_SEC);
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	assert_in_range(hw->held_for, 3 * USEC_PER_SEC, 4 * USEC_PER_SEC - 1);
	assert_string_equal(hold_world_field(hw, 3, "age"), "8");
	const char *text = strstr(hw->heads[3], "cache-status: other; hit\n");
	assert_non_null(text); /* what it passed before comes first */
	assert_non_null(strstr(text, "cache-status: pushgate; hit; detail=held\n"));
	hold_world_free(hw);
}

/* covers: P-hold-status */
static void answer_of_the_origin_says_why_no_held_response_was_given(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FIELDS("cache-control", "max-age=60"), "abc");
	struct exchange *x = hold_world_request(hw, &hw->store, "POST", "/a", NULL, &down);
	assert_false(hold_claim(&hw->hold, x));
	exchange_dispatch(x);
	hold_world_head(hw, x, 200, NULL, true);
	assert_string_equal(
	    hold_world_field(hw, x->id, "cache-status"), "pushgate; fwd=method; detail=method");
	assert_int_equal(hw->held_for, USEC_NEVER);
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void head_is_answered_from_a_held_get_which_stays(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(
	    hw, "/a", FIELDS("cache-control", "max-age=60", "content-length", "3"), "abc");
	assert_true(hold_world_ask(hw, &hw->store, "HEAD", "/a", NULL, &down));
	assert_string_equal(down->said, "head 200 end; detach");
	assert_string_equal(hold_world_field(hw, 3, "content-length"), "3");
	assert_string_equal(hw->notes, "claimed");
	assert_int_equal(hw->store.count, 1); /* and the response stays */
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(down->bytes, "abc");
	assert_string_equal(hw->notes, "claimed; claimed");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void claim_by_a_head_request_alone_is_no_waste(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	assert_true(hold_world_ask(hw, &hw->store, "HEAD", "/a", NULL, &down));
	hold_world_wait(hw, 31 * USEC_PER_SEC);
	assert_string_equal(hw->notes, "claimed");
	assert_string_equal(hw->pushes, "/a claimed claimed");
	assert_int_equal(hw->wasted_bytes, 0);
	hold_world_free(hw);
}

static unsigned changed[2]; /* trailers of responses, of requests */

static void change_trailers(void *context, const struct exchange *x, struct http_head *head, bool is_request)
{
	(void)context, (void)x;
	changed[is_request]++;
	http_head_add(head, SLICE("x-changed"), SLICE("1"));
}

/* What is held stays as it came: each client that claims it gets it changed by its own rules, once. */
static void trailers_are_changed_for_the_client_that_claims_them(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	changed[0] = changed[1] = 0;
	hw->ops.trailers = change_trailers;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	hold_world_head(hw, push, 200, FRESH, false);
	world_download(hw->w, push, "abc", false);
	exchange_on_download_trailers(push, world_trailers(hw->w));
	hold_world_pass(hw);
	assert_int_equal(changed[0], 0);
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(down->said, "head 200; trailers 2; detach");
	assert_int_equal(changed[0], 1);
	hold_world_free(hw);
}

static void trailers_of_a_request_are_changed_for_its_origin(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *up;
	changed[0] = changed[1] = 0;
	hw->ops.trailers = change_trailers;
	struct exchange *x = world_connected(hw->w, "POST", false, &down, &up);
	exchange_on_upload_trailers(x, world_trailers(hw->w));
	assert_int_equal(changed[1], 1);
	assert_string_equal(up->said, "trailers 2");
	assert_int_equal(changed[0], 0);
	hold_world_free(hw);
}

/* covers: P-hold-private */
static void set_cookie_in_trailers_goes_to_nobody(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
	struct http_head *trailers = world_trailers(hw->w);
	http_head_add_token(trailers, HTTP_TOKEN_SET_COOKIE, SLICE("id=1"));
	hold_world_head(hw, push, 200, FRESH, false);
	world_download(hw->w, push, "abc", false);
	exchange_on_download_trailers(push, trailers);
	hold_world_pass(hw);
	assert_true(hold_world_get(hw, "/a", FIELDS("cookie", "id=2"), &down));
	assert_string_equal(down->said, "head 200; trailers 1; detach");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void response_without_a_body_and_one_with_trailers_are_answered_whole(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	struct exchange *push = hold_world_promise(hw, "/empty", NULL, NULL);
	hold_world_head(hw, push, 204, FRESH, true);
	hold_world_pass(hw);
	assert_true(hold_world_get(hw, "/empty", NULL, &down));
	assert_string_equal(down->said, "head 204 end; detach");

	push = hold_world_promise(hw, "/trailers", NULL, NULL);
	hold_world_head(hw, push, 200, FRESH, false);
	world_download(hw->w, push, "abc", false);
	exchange_on_download_trailers(push, world_trailers(hw->w));
	hold_world_pass(hw);
	assert_false(exchange_is_over(push));
	assert_true(hold_world_get(hw, "/trailers", NULL, &down));
	assert_string_equal(down->said, "head 200; trailers 1; detach");
	assert_string_equal(down->bytes, "abc");
	assert_string_equal(hw->pushes, "/empty claimed claimed; /trailers claimed claimed");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void large_response_is_answered_in_windows(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *up;
	static char block[16001];
	memset(block, 'x', sizeof(block) - 1);
	struct exchange *push = hold_world_promise(hw, "/big", NULL, &up);
	hold_world_head(hw, push, 200, FRESH, false);
	for (int i = 0; i < 60; i++)
		world_download(hw->w, push, block, false), hold_world_pass(hw);
	assert_int_equal(up->credit, 60 * 16000); /* the origin never waits */
	world_download(hw->w, push, "end", true);
	hold_world_pass(hw);
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/big", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_pass(hw);
	assert_in_range(x->download.body.bytes, 200000, 262144);
	hold_world_take(hw, down);
	assert_int_equal(hw->taken, 60 * 16000 + 3);
	assert_string_equal(down->said, "head 200; end; detach");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void claim_that_the_client_resets_leaves_a_whole_response_claimable(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/a", FRESH, "abc");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_pass(hw);
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 8, NULL);
	hold_world_pass(hw);
	assert_string_equal(hw->notes, "");
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	assert_string_equal(down->bytes, "abc");
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void oldest_goes_when_there_are_too_many(void **state)
{
	(void)state;
	const struct hold_limits two = {.count = 2, .bytes = 1000, .age = USEC_PER_SEC};
	struct hold_world *hw = hold_world_with(NULL, false, &two, NULL);
	struct world_leg *down, *up;
	hold_world_push(hw, "/1", FRESH, "one");
	assert_non_null(hold_world_promise(hw, "/2", NULL, &up)); /* in flight */
	hold_world_push(hw, "/3", FRESH, "three");
	assert_string_equal(hw->notes, "evicted hold-count 3");
	hold_world_push(hw, "/4", FRESH, "four");
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(hw->notes, "evicted hold-count 3; evicted hold-count 0");
	assert_int_equal(hw->store.count, 2);
	assert_int_equal(hw->wasted_bytes, 3);
	assert_false(hold_world_get(hw, "/1", NULL, &down));
	assert_true(hold_world_get(hw, "/3", NULL, &down));
	assert_true(hold_world_get(hw, "/4", NULL, &down));
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void those_that_are_being_answered_do_not_make_room(void **state)
{
	(void)state;
	const struct hold_limits one = {.count = 1, .bytes = 1000, .age = USEC_PER_SEC};
	struct hold_world *hw = hold_world_with(NULL, false, &one, NULL);
	struct world_leg *down, *up;
	hold_world_push(hw, "/1", FRESH, "one");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/1", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_pass(hw);
	assert_null(hold_world_promise(hw, "/2", NULL, &up));
	assert_string_equal(hw->w->refused, "hold-count");
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "one");
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void bytes_are_bounded_and_the_oldest_make_room(void **state)
{
	(void)state;
	const struct hold_limits ten = {.count = 9, .bytes = 10, .age = USEC_PER_SEC};
	struct hold_world *hw = hold_world_with(NULL, false, &ten, NULL);
	struct world_leg *down, *up;
	hold_world_push(hw, "/1", FRESH, "12345678");
	hold_world_push(hw, "/2", FRESH, "1234");
	assert_string_equal(hw->notes, "evicted hold-bytes 8");
	struct exchange *push = hold_world_promise(hw, "/3", NULL, &up);
	hold_world_head(hw, push, 200, FRESH, false);
	world_download(hw->w, push, "12345678901", false);
	hold_world_pass(hw);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(hw->notes, "evicted hold-bytes 8; evicted hold-bytes 11");
	assert_string_equal(hw->pushes, "/1 expired hold-bytes; /3 expired hold-bytes");
	assert_true(hold_world_get(hw, "/2", NULL, &down));
	assert_int_equal(hw->store.bytes, 0);
	hold_world_free(hw);
}

/* What is being answered lives on when its time is over, and is looked at no more than before. */
static void one_that_is_too_old_rests_until_its_request_is_answered(void **state)
{
	(void)state;
	const struct hold_limits one = {.count = 1, .bytes = 1000, .age = USEC_PER_SEC};
	struct hold_world *hw = hold_world_with(NULL, false, &one, NULL);
	struct world_leg *down;
	hold_world_push(hw, "/1", FRESH, "one");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/1", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_pass(hw);
	hold_world_wait(hw, 2 * USEC_PER_SEC);
	relay_advance(&hw->w->relay, hw->w->relay.now + USEC_PER_MSEC);
	assert_true(list_is_empty(&hw->hold.dirty));
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "one");
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void what_nobody_asks_for_expires_by_age(void **state)
{
	(void)state;
	const struct hold_limits limits = {.count = 9, .bytes = 1000, .age = 2 * USEC_PER_SEC};
	struct hold_world *hw = hold_world_with(NULL, false, &limits, NULL);
	struct world_leg *down, *up;
	hold_world_push(hw, "/whole", FRESH, "12345");
	struct exchange *push = hold_world_promise(hw, "/flying", NULL, &up);
	hold_world_head(hw, push, 200, FRESH, false);
	world_download(hw->w, push, "123", false);
	hold_world_wait(hw, 3 * USEC_PER_SEC);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(hw->pushes, "/whole expired expired; /flying expired expired");
	assert_string_equal(hw->notes, "expired expired 5; expired expired 3");
	assert_int_equal(hw->wasted_bytes, 8);
	assert_false(hold_world_get(hw, "/whole", NULL, &down));
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void answer_under_way_outlives_the_age(void **state)
{
	(void)state;
	const struct hold_limits limits = {.count = 9, .bytes = 1000, .age = 2 * USEC_PER_SEC};
	struct hold_world *hw = hold_world_with(NULL, false, &limits, NULL);
	struct world_leg *down, *late;
	hold_world_push(hw, "/a", FRESH, "12345");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_world_wait(hw, 3 * USEC_PER_SEC);
	assert_false(hold_world_get(hw, "/a", NULL, &late));
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "12345");
	assert_string_equal(hw->pushes, "/a claimed claimed");
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void end_of_the_connection_drops_what_is_held_for_it(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *up;
	hold_world_push(hw, "/whole", FRESH, "12345");
	hold_world_promise(hw, "/flying", NULL, &up);
	hold_store_fini(&hw->store);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(hw->notes, "expired expired 5; expired expired 0");
	hold_store_init(&hw->store, &hw->hold, &hw->w->budget, &hold_world_ample, true);
	hold_world_free(hw);
}

/* covers: P-hold-bounds */
static void drain_drops_what_nobody_is_being_given(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down;
	hold_world_push(hw, "/idle", FRESH, "12345");
	hold_world_push(hw, "/used", FRESH, "abc");
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/used", NULL, &down);
	assert_true(hold_claim(&hw->hold, x));
	hold_drain(&hw->hold);
	hold_world_pass(hw);
	assert_string_equal(hw->notes, "expired drain 5");
	hold_world_take(hw, down);
	assert_string_equal(down->bytes, "abc");
	assert_int_equal(hw->store.count, 0);
	hold_world_free(hw);
}

/* Every take of the way is refused once: nothing leaks, and the request goes to the origin.
 * covers: P-hold-bounds */
static void refused_memory_costs_the_held_response_and_nothing_else(void **state)
{
	(void)state;
	enum { PUSH_EXCHANGE = 1, PUSH_HELD_LEG, CLAIM, NONE };
	for (int refused = PUSH_EXCHANGE; refused <= NONE; refused++) {
		struct hold_world *hw = hold_world_new();
		struct world_leg *down;
		if (refused < CLAIM)
			budget_fail_nth(&hw->w->budget, (size_t)refused);
		struct exchange *push = hold_world_promise(hw, "/a", NULL, NULL);
		assert_int_equal(push != NULL, refused >= CLAIM);
		if (push) {
			hold_world_head(hw, push, 200, FRESH, false);
			world_download(hw->w, push, "abc", true);
			hold_world_pass(hw);
		} else {
			assert_string_equal(hw->w->refused, "budget");
			assert_string_equal(hw->pushes, "");
		}
		struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", NULL, &down);
		budget_fail_nth(&hw->w->budget, refused == CLAIM);
		assert_int_equal(hold_claim(&hw->hold, x), refused == NONE);
		assert_string_equal(hw->notes, refused == CLAIM ? "missed budget" : "");
		assert_int_equal(hold_part(x)->miss, refused == CLAIM ? HOLD_MISS_BUDGET : HOLD_FITS);
		if (refused != NONE)
			exchange_dispatch(x);
		hold_world_pass(hw);
		hold_world_free(hw); /* ensures that all is given back */
	}
}

/* covers: P-hold-bounds */
static void used_up_memory_drops_unclaimed_responses_first(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *up;
	hold_world_push(hw, "/1", FRESH, "one");
	struct exchange *push = hold_world_promise(hw, "/2", NULL, &up);
	hold_world_head(hw, push, 200, FRESH, false);
	hold_world_pass(hw);
	hw->w->budget.limit_bytes = hw->w->budget.used_bytes + 1; /* one chunk more is too much */
	world_download(hw->w, push, "two", false);
	hold_world_pass(hw);
	assert_string_equal(up->said, "reset 7");
	assert_string_equal(hw->notes, "failed budget 3");
	hw->w->budget.limit_bytes = hw->w->budget.used_bytes; /* and nothing at all */
	assert_null(hold_world_promise(hw, "/3", NULL, &up));
	assert_string_equal(up->said, "reset 7");
	assert_string_equal(hw->w->refused, "budget");
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void same_resource_is_not_held_twice(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct world_leg *down, *up, *other_down;
	hold_world_push(hw, "/a", FRESH, "abc");
	/* Another page promises it as well. */
	struct exchange *other =
	    hold_world_request(hw, &hw->store, "GET", "/other", NULL, &other_down);
	exchange_dispatch(other);
	struct exchange *parent = hw->parent;
	hw->parent = other;
	assert_null(hold_world_promise(hw, "/a", NULL, &up));
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(hw->w->refused, "duplicate");
	assert_true(hold_world_get(hw, "/a", NULL, &down));
	assert_non_null(hold_world_promise(hw, "/a", NULL, &up)); /* it has been claimed */
	hw->parent = parent;
	hold_world_free(hw);
}

/* covers: P-hold-claim */
static void promised_head_is_not_held(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct http_head *head = world_request(hw->w, "HEAD", "/a");
	assert_ptr_equal(hold_refusal(hw->parent, head), &policy_reason_HEAD);
	http_head_free(head);
	hold_part(hw->parent)->store = NULL;
	struct world_leg *up;
	assert_null(hold_world_promise(hw, "/b", NULL, &up));
	assert_string_equal(hw->w->refused, "no-hold");
	hold_world_free(hw);
}

static void store_describes_itself(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	char text[100];
	hold_world_push(hw, "/a", FRESH, "abc");
	text[hold_describe(&hw->hold, text, sizeof(text))] = 0;
	assert_string_equal(text, "held 1/64 3/4194304 bytes\n");
	assert_int_equal(hold_describe(&hw->hold, text, 10), 0);
	hold_world_free(hw);
}

/* ---- the hash of credentials ---- */

static void sip_round(uint64_t v[4])
{
#define TURN(x, n) ((x) << (n) | (x) >> (64 - (n)))
	v[0] += v[1], v[1] = TURN(v[1], 13) ^ v[0], v[0] = TURN(v[0], 32);
	v[2] += v[3], v[3] = TURN(v[3], 16) ^ v[2];
	v[0] += v[3], v[3] = TURN(v[3], 21) ^ v[0];
	v[2] += v[1], v[1] = TURN(v[1], 17) ^ v[2], v[2] = TURN(v[2], 32);
#undef TURN
}

/* SipHash-2-4 as its paper has it, over bytes that lie in one piece. */
static uint64_t siphash(const struct credentials_key *key, const char *bytes, size_t n)
{
	uint64_t v[4] = {key->k[0] ^ UINT64_C(0x736f6d6570736575), key->k[1] ^ UINT64_C(0x646f72616e646f6d),
	    key->k[0] ^ UINT64_C(0x6c7967656e657261), key->k[1] ^ UINT64_C(0x7465646279746573)};
	for (size_t at = 0; at <= n; at += 8) {
		uint64_t word = at + 8 > n ? (uint64_t)n << 56 : 0;
		for (size_t i = at; i < n && i < at + 8; i++)
			word |= (uint64_t)(unsigned char)bytes[i] << (i - at) * 8;
		v[3] ^= word;
		sip_round(v);
		sip_round(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void credentials_are_hashed_with_siphash(void **state)
{
	(void)state;
	struct credentials_key key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
	char bytes[15];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	assert_true(siphash(&key, bytes, sizeof(bytes)) == UINT64_C(0xa129ca6149be45e5)); /* published */

	struct hold_world *hw = hold_world_with(
	    FIELDS("cookie", "a=1", "cookie", "b=2", "authorization", "Basic eDp5"), false, &hold_world_ample, NULL);
	static const char cookie[] = "\0a=1; b=2\n", authorization[] = "\0Basic eDp5\n";
	struct credentials c = credentials_of(&key, hw->parent->request);
	assert_true(c.cookie == siphash(&key, cookie, sizeof(cookie) - 1));
	assert_true(c.authorization == siphash(&key, authorization, sizeof(authorization) - 1));
	hold_world_free(hw);
	hw = hold_world_new();
	c = credentials_of(&key, hw->parent->request);
	assert_true(c.cookie == siphash(&key, "\n", 1) && c.authorization == c.cookie);
	hold_world_free(hw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(held_push_is_not_promised_and_answers_the_clients_own_request),
	    cmocka_unit_test(private_response_is_claimed_once),
	    cmocka_unit_test(requests_for_other_uris_are_dispatched_and_nothing_is_missed),
	    cmocka_unit_test(requests_for_another_origin_are_dispatched),
	    cmocka_unit_test(answer_says_hit_and_its_age),
	    cmocka_unit_test(answer_of_the_origin_says_why_no_held_response_was_given),
	    cmocka_unit_test(head_is_answered_from_a_held_get_which_stays),
	    cmocka_unit_test(claim_by_a_head_request_alone_is_no_waste),
	    cmocka_unit_test(trailers_are_changed_for_the_client_that_claims_them),
	    cmocka_unit_test(trailers_of_a_request_are_changed_for_its_origin),
	    cmocka_unit_test(set_cookie_in_trailers_goes_to_nobody),
	    cmocka_unit_test(response_without_a_body_and_one_with_trailers_are_answered_whole),
	    cmocka_unit_test(large_response_is_answered_in_windows),
	    cmocka_unit_test(claim_that_the_client_resets_leaves_a_whole_response_claimable),
	    cmocka_unit_test(oldest_goes_when_there_are_too_many),
	    cmocka_unit_test(those_that_are_being_answered_do_not_make_room),
	    cmocka_unit_test(one_that_is_too_old_rests_until_its_request_is_answered),
	    cmocka_unit_test(bytes_are_bounded_and_the_oldest_make_room),
	    cmocka_unit_test(what_nobody_asks_for_expires_by_age),
	    cmocka_unit_test(answer_under_way_outlives_the_age),
	    cmocka_unit_test(end_of_the_connection_drops_what_is_held_for_it),
	    cmocka_unit_test(drain_drops_what_nobody_is_being_given),
	    cmocka_unit_test(refused_memory_costs_the_held_response_and_nothing_else),
	    cmocka_unit_test(used_up_memory_drops_unclaimed_responses_first),
	    cmocka_unit_test(same_resource_is_not_held_twice),
	    cmocka_unit_test(promised_head_is_not_held),
	    cmocka_unit_test(store_describes_itself),
	    cmocka_unit_test(credentials_are_hashed_with_siphash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
