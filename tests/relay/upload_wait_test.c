/* SPDX-License-Identifier: MIT */
/* Requests that are queued until more of their body has come (upload_wait): when their owner hears of it. */
#include "tests/support/relay_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static unsigned grew;
static struct world_leg up;

/* The owner sends the request when all of its body is there. */
static void on_upload_grew(void *context, struct exchange *x)
{
	struct world *w = context;
	grew++;
	if (!x->upload.source_ended)
		return;
	x->upload_wait = UPLOAD_WAITS_NOT;
	up.leg = &x->up;
	const struct leg leg = {.ops = x->down.ops, .carrier = &up, .budget = &w->up_budget};
	exchange_on_connected(x, &leg);
}

static struct relay_ops ops;

static struct exchange *queued(struct world *w, enum upload_wait wait, struct world_leg **down)
{
	ops = *w->relay.ops;
	ops.upload_grew = on_upload_grew;
	w->relay.ops = &ops;
	w->connects = false;
	grew = 0;
	memset(&up, 0, sizeof(up));
	struct exchange *x = world_exchange(w, "POST", false, down);
	x->upload_wait = (uint8_t)wait;
	exchange_dispatch(x);
	return x;
}

static void owner_hears_of_each_part_until_it_sends_the_request(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = queued(w, UPLOAD_GATHERS, &down);
	world_upload(w, x, "abc", false);
	world_upload(w, x, "de", false);
	assert_int_equal(grew, 2);
	assert_true(exchange_is_queued(x));
	world_upload(w, x, "f", true);
	assert_int_equal(grew, 3);
	assert_false(exchange_is_queued(x));
	world_take(&up);
	assert_string_equal(up.bytes, "abcdef");
	assert_string_equal(up.said, "end");
	exchange_on_response(x, world_response(w, 204), true);
	assert_string_equal(w->ended, "x1 complete 204");
	world_free(w);
}

static void trailers_are_an_end_too(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = queued(w, UPLOAD_GATHERS, &down);
	exchange_on_upload_trailers(x, world_trailers(w));
	assert_int_equal(grew, 1);
	assert_string_equal(up.said, "trailers 1");
	world_end(w);
}

static void owner_of_a_request_that_waits_for_something_else_hears_nothing(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = queued(w, UPLOAD_WAITS_NOT, &down);
	world_upload(w, x, "abc", true);
	assert_int_equal(grew, 0);
	world_end(w);
}

/* What still comes of it is dropped. */
static void owner_hears_nothing_of_a_request_that_was_answered(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = queued(w, UPLOAD_GATHERS, &down);
	exchange_abort(x, &relay_cause_QUEUE_LATE, NULL);
	world_upload(w, x, "abc", false);
	assert_int_equal(grew, 0);
	assert_int_equal(down->credit, 3);
	world_take(down);
	assert_non_null(strstr(down->said, "head 504"));
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(owner_hears_of_each_part_until_it_sends_the_request),
	    cmocka_unit_test(trailers_are_an_end_too),
	    cmocka_unit_test(owner_of_a_request_that_waits_for_something_else_hears_nothing),
	    cmocka_unit_test(owner_hears_nothing_of_a_request_that_was_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
