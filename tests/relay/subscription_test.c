/* SPDX-License-Identifier: MIT */
/* Subscriptions: when the origin of one is held back, and that it always goes on; and the caps of all other parents. */
#include "tests/support/relay_world.h"

#include "proxy/relay/deadline.h"
#include "proxy/relay/private.h"

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
	    cmocka_unit_test(too_many_responses_that_wait_hold_the_origin_back),
	    cmocka_unit_test(too_many_bytes_that_wait_hold_the_origin_back),
	    cmocka_unit_test(a_client_that_waits_for_the_origin_gets_it),
	    cmocka_unit_test(a_reset_push_waits_for_the_client_no_more),
	    cmocka_unit_test(held_back_origin_goes_on_when_the_parent_has_no_leg_to_it),
	    cmocka_unit_test(pushes_outlive_their_subscription),
	    cmocka_unit_test(the_time_of_a_push_begins_anew_when_the_origin_is_read_again),
	    cmocka_unit_test(each_promise_begins_the_response_time_of_a_subscription_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
