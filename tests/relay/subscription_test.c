/* SPDX-License-Identifier: MIT */
/* Subscriptions: when the origin of one is held back, and that it always goes on; and the caps of all other parents. */
#include "tests/support/hold_world.h"

#include "proxy/relay/deadline.h"
#include "proxy/relay/relay_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* covers: P-sub-caps P-sub-held-back P-sub-no-deadlock */

struct push {
	struct exchange *x;
	struct world_leg *up, *down;
};

struct scene {
	struct world *w;
	struct exchange *x;
	struct world_leg *down, *up;
	unsigned promised;
};

static struct scene scene_new(bool is_subscription)
{
	struct scene s = {.w = world_new()};
	s.x = world_connected(s.w, "GET", true, &s.down, &s.up);
	s.x->pushes.is_subscription = is_subscription;
	return s;
}

static struct push promise(struct scene *s)
{
	struct push p;
	char path[16];
	snprintf(path, sizeof(path), "/%u", s->promised++);
	p.x = world_promise(s->w, s->x, path, &p.up, &p.down);
	return p;
}

/* A push that is answered with a body; must_wait: the client has no room for it. */
static struct push answered(struct scene *s, bool must_wait, const char *body, bool end)
{
	struct push p = promise(s);
	assert_non_null(p.x);
	p.down->must_wait = must_wait;
	exchange_on_response(p.x, world_response(s->w, 200), false);
	if (body)
		world_download(s->w, p.x, body, end);
	return p;
}

static void take(struct push *p)
{
	if (p->down->must_wait) {
		p->down->must_wait = false;
		exchange_on_start(p->x);
	}
	world_take(p->down);
}

/* ---- caps ---- */

static void parent_cap_counts_open_pushes(void **state)
{
	(void)state;
	struct scene s = scene_new(false);
	s.w->rules.caps.per_parent = 2;
	struct push first = answered(&s, false, "a", true);
	assert_non_null(promise(&s).x);
	assert_null(promise(&s).x);
	take(&first);
	assert_non_null(promise(&s).x);
	assert_null(promise(&s).x);
	assert_string_equal(s.w->refused, "parent-cap; parent-cap");
	world_end(s.w);
}

static void life_cap_counts_all_pushes(void **state)
{
	(void)state;
	struct scene s = scene_new(false);
	s.w->rules.caps.per_parent_life = 3;
	for (unsigned i = 0; i < 3; i++) {
		struct push p = answered(&s, false, "a", true);
		take(&p);
	}
	struct push p = promise(&s);
	assert_null(p.x);
	assert_string_equal(p.up->said, "reset 7");
	assert_string_equal(s.w->refused, "parent-life-cap");
	world_end(s.w);
}

static void caps_do_not_count_for_a_subscription(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.per_parent = s.w->rules.caps.per_parent_life = 2;
	for (unsigned i = 0; i < 10; i++)
		assert_non_null(promise(&s).x);
	assert_string_equal(s.w->refused, "");
	assert_string_equal(s.up->said, "");
	world_end(s.w);
}

static void a_subscription_takes_the_same_resource_again(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	struct world_leg *up, *down;
	assert_non_null(world_promise(s.w, s.x, "/state", &up, &down));
	assert_non_null(world_promise(s.w, s.x, "/state", &up, &down));
	world_end(s.w);
}

/* A subscription waits for what its origin promises, not for what pushgate adds. */
static void offer_of_our_own_is_not_what_a_subscription_waits_for(void **state)
{
	(void)state;
	static const struct http_resource css = {
	    .target = {SLICE_INIT("https"), SLICE_INIT("example.com"), SLICE_INIT("/a.css")},
	    .as = SLICE_INIT("style"),
	};
	struct scene s = scene_new(true);
	struct exchange *push = exchange_offer(s.x, POLICY_CONFIG, &css, RELAY_OFFER_PLAIN);
	assert_non_null(push);
	assert_false(push->pushed.is_expected);
	assert_null(exchange_offer(s.x, POLICY_CONFIG, &css, RELAY_OFFER_PLAIN));
	assert_string_equal(s.w->refused, "duplicate");
	struct push promised = promise(&s);
	assert_true(promised.x->pushed.is_expected);
	world_end(s.w);
}

/* ---- promises that can no longer be made ---- */

static void subscription_ends_when_its_client_takes_no_more_promises(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->client_goes_away = true;
	struct push p = promise(&s);
	assert_null(p.x);
	assert_string_equal(p.up->said, "reset 8");
	assert_string_equal(s.w->refused, "client-going-away");
	assert_string_equal(s.up->said, "reset 8");
	world_take(s.down);
	assert_string_equal(s.down->said, "head 503; end; detach");
	assert_string_equal(s.w->ended, "x1 push-off 503");
	assert_string_equal(s.x->ending.detail, "client-going-away");
	world_end(s.w);
}

static void refused_promise_ends_no_other_parent_and_for_no_other_reason(void **state)
{
	(void)state;
	for (int is_subscription = 0; is_subscription < 2; is_subscription++) {
		struct scene s = scene_new(is_subscription);
		s.w->client_goes_away = !is_subscription;
		s.w->rate_exceeded = is_subscription;
		assert_null(promise(&s).x);
		assert_string_equal(s.w->refused, is_subscription ? "promise-rate" : "client-going-away");
		assert_string_equal(s.up->said, "");
		assert_string_equal(s.down->said, "");
		assert_int_equal(s.x->phase, EXCHANGE_SENT);
		world_end(s.w);
	}
}

/* ---- holding back ---- */

static void too_many_responses_that_wait_hold_the_origin_back(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.per_parent = 4;
	struct push p[4];
	for (unsigned i = 0; i < 3; i++)
		p[i] = answered(&s, i > 0, "a", true);
	assert_string_equal(s.up->said, "");
	p[3] = answered(&s, true, "a", true);
	assert_string_equal(s.up->said, "hold back");
	assert_true(exchange_is_held_back(s.x));
	assert_true(exchange_is_held_back(p[3].x));
	take(&p[0]);
	assert_string_equal(s.up->said, "hold back");
	take(&p[1]);
	assert_string_equal(s.up->said, "hold back; go on");
	assert_false(exchange_is_held_back(s.x));
	world_end(s.w);
}

static void too_many_bytes_that_wait_hold_the_origin_back(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.bytes_in_flight = 10;
	struct push a = answered(&s, false, "12345", false);
	struct push b = answered(&s, true, "12345", true);
	assert_string_equal(s.up->said, "hold back");
	take(&b);
	assert_string_equal(s.up->said, "hold back; go on");
	take(&a);
	assert_int_equal(s.x->backlog.bytes, 0);
	assert_int_equal(s.x->backlog.answered, 1);
	world_end(s.w);
}

static void a_client_that_waits_for_the_origin_gets_it(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.per_parent = 2;
	/* The only push that the client has room for is not complete. */
	struct push a = answered(&s, false, "1", false);
	struct push b = answered(&s, true, "b", true);
	assert_string_equal(s.up->said, "hold back");
	take(&a);
	assert_string_equal(s.up->said, "hold back; go on");
	struct push c = answered(&s, true, "c", true);
	assert_string_equal(s.up->said, "hold back; go on");
	/* Now there is something for it again. */
	world_download(s.w, a.x, "2", true);
	assert_string_equal(s.up->said, "hold back; go on; hold back");
	take(&a);
	take(&b);
	take(&c);
	assert_string_equal(s.up->said, "hold back; go on; hold back; go on");
	assert_int_equal(s.x->backlog.answered, 0);
	assert_int_equal(s.x->backlog.begun, 0);
	assert_int_equal(s.x->backlog.starved, 0);
	world_end(s.w);
}

static void a_client_that_has_something_left_to_take_does_not_wait_for_the_origin(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.per_parent = 2;
	struct push a = answered(&s, false, "1", false);
	take(&a);
	struct push b = answered(&s, false, "b", true);
	assert_int_equal(s.x->backlog.begun, 2);
	assert_int_equal(s.x->backlog.starved, 1);
	assert_string_equal(s.up->said, "hold back");
	take(&b); /* now it has nothing but what is not complete */
	assert_string_equal(s.up->said, "hold back; go on");
	world_end(s.w);
}

static void a_client_that_has_only_an_end_to_take_does_not_wait_for_the_origin(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.per_parent = 1;
	struct push a = answered(&s, false, "1", false);
	assert_string_equal(s.up->said, "hold back");
	take(&a);
	assert_string_equal(s.up->said, "hold back; go on");
	assert_int_equal(s.x->backlog.starved, 1);
	world_download(s.w, a.x, "", true);
	assert_int_equal(s.x->backlog.starved, 0);
	assert_string_equal(s.up->said, "hold back; go on; hold back");
	take(&a);
	assert_string_equal(s.up->said, "hold back; go on; hold back; go on");
	assert_int_equal(s.x->backlog.answered, 0);
	world_end(s.w);
}

/* What is held waits for no client; the hold store has limits of its own. */
static void held_responses_do_not_hold_the_origin_back(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	hw->parent->pushes.is_subscription = true;
	hw->w->rules.caps.per_parent = 1;
	hw->w->rules.caps.bytes_in_flight = 2;
	const char *const paths[] = {"/a", "/b"};
	for (unsigned i = 0; i < 2; i++) {
		struct exchange *push = hold_world_promise(hw, paths[i], NULL, NULL);
		assert_non_null(push);
		assert_true(push->pushed.is_expected);
		hold_world_head(hw, push, 200, FIELDS("cache-control", "max-age=60"), false);
		world_download(hw->w, push, "abc", false);
		assert_int_equal(push->pushed.state, PUSH_HELD);
	}
	assert_int_equal(hw->parent->backlog.answered, 0);
	assert_int_equal(hw->parent->backlog.bytes, 0);
	assert_false(exchange_is_held_back(hw->parent));
	assert_string_equal(hw->parent_up->said, "");
	hold_world_free(hw);
}

static void a_reset_push_waits_for_the_client_no_more(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.per_parent = 2;
	struct push a = answered(&s, true, "a", true);
	struct push b = answered(&s, true, "b", false);
	assert_string_equal(s.up->said, "hold back");
	exchange_on_down_ended(b.x, &relay_cause_DOWN_RESET, RELAY_CANCEL, NULL);
	assert_string_equal(s.up->said, "hold back; go on");
	exchange_on_down_ended(a.x, &relay_cause_DOWN_RESET, RELAY_CANCEL, NULL);
	assert_int_equal(s.x->backlog.answered, 0);
	assert_int_equal(s.x->pushes.open, 0);
	world_end(s.w);
}

static void held_back_origin_goes_on_when_the_parent_has_no_leg_to_it(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.per_parent = 1;
	struct push a = answered(&s, true, "a", true);
	assert_string_equal(s.up->said, "hold back");
	exchange_on_leg_closed(&s.x->up);
	assert_false(exchange_is_held_back(a.x));
	take(&a);
	assert_string_equal(a.down->bytes, "a");
	world_end(s.w);
}

static void pushes_outlive_their_subscription(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.per_parent = 1;
	struct push a = answered(&s, true, "a", true);
	struct push b = promise(&s);
	exchange_on_down_ended(s.x, &relay_cause_DOWN_RESET, RELAY_CANCEL, NULL);
	assert_false(exchange_is_held_back(a.x));
	take(&a);
	assert_string_equal(a.down->bytes, "a");
	/* What has not begun has the time from the end of its subscription on. */
	s.w->limits[RELAY_TIMEOUT_PUSH_START] = 10 * USEC_PER_SEC;
	exchange_arm(b.x);
	world_pass(s.w, 9 * USEC_PER_SEC);
	assert_false(exchange_is_over(b.x));
	world_pass(s.w, 2 * USEC_PER_SEC);
	assert_string_equal(s.w->ended, "x1 client-reset 0; x2 complete 200; x3 response-late 0");
	world_free(s.w);
}

/* ---- time ---- */

static void each_promise_begins_the_response_time_of_a_subscription_anew(void **state)
{
	(void)state;
	for (unsigned is_subscription = 0; is_subscription < 2; is_subscription++) {
		struct scene s = scene_new(is_subscription);
		s.w->limits[RELAY_TIMEOUT_RESPONSE] = 10 * USEC_PER_SEC;
		exchange_arm(s.x);
		for (unsigned i = 0; i < 3; i++) {
			world_pass(s.w, 6 * USEC_PER_SEC);
			if (!exchange_is_over(s.x) && s.down->leg) {
				struct push p = answered(&s, false, "a", true);
				take(&p);
			}
		}
		if (is_subscription) {
			assert_int_equal(s.x->phase, EXCHANGE_SENT);
			world_pass(s.w, 11 * USEC_PER_SEC);
		}
		assert_int_equal(s.x->response.status, 504);
		world_end(s.w);
	}
}

/* While bytes wait, the origin's clock stands still: what was before its new beginning is not excused twice. */
static void the_time_of_a_push_begins_anew_when_the_origin_is_read_again(void **state)
{
	(void)state;
	struct scene s = scene_new(true);
	s.w->rules.caps.per_parent = 4;
	struct push p[4];
	for (unsigned i = 0; i < 4; i++)
		p[i] = answered(&s, i > 0, "a", false);
	p[0].x->response.length = 1000;
	assert_true(exchange_is_held_back(p[0].x));
	world_pass(s.w, 100 * USEC_PER_SEC);
	for (unsigned i = 1; i < 3; i++)
		exchange_on_down_ended(p[i].x, &relay_cause_DOWN_RESET, RELAY_CANCEL, NULL);
	assert_false(exchange_is_held_back(p[0].x));
	s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = 10 * USEC_PER_SEC;
	take(&p[0]);
	assert_int_equal(exchange_deadline(p[0].x).at, s.w->relay.now + 10 * USEC_PER_SEC);
	world_end(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parent_cap_counts_open_pushes),
	    cmocka_unit_test(life_cap_counts_all_pushes),
	    cmocka_unit_test(caps_do_not_count_for_a_subscription),
	    cmocka_unit_test(a_subscription_takes_the_same_resource_again),
	    cmocka_unit_test(offer_of_our_own_is_not_what_a_subscription_waits_for),
	    cmocka_unit_test(subscription_ends_when_its_client_takes_no_more_promises),
	    cmocka_unit_test(refused_promise_ends_no_other_parent_and_for_no_other_reason),
	    cmocka_unit_test(too_many_responses_that_wait_hold_the_origin_back),
	    cmocka_unit_test(too_many_bytes_that_wait_hold_the_origin_back),
	    cmocka_unit_test(a_client_that_waits_for_the_origin_gets_it),
	    cmocka_unit_test(a_client_that_has_something_left_to_take_does_not_wait_for_the_origin),
	    cmocka_unit_test(a_client_that_has_only_an_end_to_take_does_not_wait_for_the_origin),
	    cmocka_unit_test(held_responses_do_not_hold_the_origin_back),
	    cmocka_unit_test(a_reset_push_waits_for_the_client_no_more),
	    cmocka_unit_test(held_back_origin_goes_on_when_the_parent_has_no_leg_to_it),
	    cmocka_unit_test(pushes_outlive_their_subscription),
	    cmocka_unit_test(the_time_of_a_push_begins_anew_when_the_origin_is_read_again),
	    cmocka_unit_test(each_promise_begins_the_response_time_of_a_subscription_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
