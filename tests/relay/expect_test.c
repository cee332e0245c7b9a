/* SPDX-License-Identifier: MIT */
/* Expect: 100-continue (RFC 9110 10.1.1): passed on, or answered here for an origin that does not know it. */
#include "tests/support/relay_world.h"

#include "proxy/limits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* A POST whose body has not come, with this Expect (NULL: none); sent to its origin. */
static struct exchange *asked(struct world *w, const char *expect, struct world_leg **down)
{
	struct exchange *x = world_exchange(w, "POST", false, down);
	if (expect)
		http_head_add_token(world_request_of(x), HTTP_TOKEN_EXPECT, slice_of_string(expect));
	return x;
}

static void answered_once_for_an_origin_that_does_not(void **state)
{
	(void)state;
	static const struct {
		const char *expect;
		bool waits;
	} rows[] = {
	    {"100-continue", true}, {"100-Continue", true}, {"x, 100-continue", true},
	    {NULL, false}, {"", false}, {"100-continued", false}, {"x=100-continue", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_new();
		struct world_leg *down;
		struct exchange *x = asked(w, rows[i].expect, &down);
		exchange_continue(x);
		assert_string_equal(down->said, ""); /* it has no origin yet */
		exchange_dispatch(x);
		exchange_continue(x);
		exchange_continue(x);
		assert_string_equal(down->said, rows[i].waits ? "head 100" : "");
		assert_int_equal(x->response.interims, rows[i].waits ? 1 : 0);
		world_upload(w, x, "body", true);
		exchange_on_response(x, world_response(w, 204), true);
		world_take(world_leg_of(w, &x->up));
		assert_string_equal(down->said, rows[i].waits ? "head 100; head 204 end; detach" : "head 204 end; detach");
		world_free(w);
	}
}

/* The owner knows before it has a connection that none will be asked: what it waits for is the body. */
static void answered_while_it_is_queued(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	w->connects = false;
	struct exchange *x = asked(w, "100-continue", &down);
	exchange_dispatch(x);
	exchange_continue(x);
	exchange_continue(x);
	assert_string_equal(down->said, "head 100");
	world_end(w);
}

static void origins_own_100_behind_ours_is_left_out(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = asked(w, "100-continue", &down);
	exchange_dispatch(x);
	exchange_continue(x);
	exchange_on_response(x, world_response(w, 100), false);
	exchange_on_response(x, world_response(w, 103), false);
	assert_string_equal(down->said, "head 100; head 103");
	assert_int_equal(x->response.interims, 3);
	world_end(w);
}

static void origins_100_alone_is_passed_on(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = asked(w, "100-continue", &down);
	exchange_dispatch(x);
	exchange_on_response(x, world_response(w, 100), false);
	exchange_continue(x); /* the client has one */
	assert_string_equal(down->said, "head 100");
	world_end(w);
}

/* After a retry on another connection the client is not told twice. */
static void retry_says_it_once(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = asked(w, "100-continue", &down);
	exchange_dispatch(x);
	exchange_continue(x);
	exchange_on_up_failed(x, &relay_cause_UP_UNPROCESSED, 0, NULL);
	assert_int_equal(w->dispatch_count, 2);
	exchange_continue(x);
	assert_string_equal(down->said, "head 100");
	world_end(w);
}

static void body_that_comes_or_has_come_waits_for_nothing(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = asked(w, "100-continue", &down);
	exchange_dispatch(x);
	world_upload(w, x, "b", false);
	exchange_continue(x);
	assert_string_equal(down->said, "");

	x = asked(w, "100-continue", &down);
	world_upload(w, x, "", true);
	exchange_dispatch(x);
	exchange_continue(x);
	assert_string_equal(down->said, "");
	world_end(w);
}

static void answered_exchange_gets_none(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = asked(w, "100-continue", &down);
	exchange_dispatch(x);
	exchange_on_response(x, world_response(w, 401), false);
	exchange_continue(x);
	assert_string_equal(down->said, "head 401");
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 0, NULL);
	exchange_continue(x);
	assert_string_equal(down->said, "head 401");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answered_once_for_an_origin_that_does_not),
	    cmocka_unit_test(answered_while_it_is_queued),
	    cmocka_unit_test(origins_own_100_behind_ours_is_left_out),
	    cmocka_unit_test(origins_100_alone_is_passed_on),
	    cmocka_unit_test(retry_says_it_once),
	    cmocka_unit_test(body_that_comes_or_has_come_waits_for_nothing),
	    cmocka_unit_test(answered_exchange_gets_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
