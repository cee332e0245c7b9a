/* SPDX-License-Identifier: MIT */
/* What nobody wants any more, and what there is no memory for. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/support/relay_world.h"

/* covers: R63 R74 */

static void nobody_is_told_of_a_promise_that_could_not_be_made(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	w->cannot_promise = true;
	assert_null(world_promise(w, x, "/a.css", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 7");
	assert_string_equal(w->refused, policy_reason_BUDGET.code);
	assert_string_equal(w->ended, "");
	/* Neither the parent nor the next promise is harmed. */
	w->cannot_promise = false;
	assert_non_null(world_promise(w, x, "/a.css", &push_up, &push_down));
	exchange_on_response(x, world_response(w, 200), true);
	assert_string_equal(w->ended, "x1 complete 200");
	exchange_on_down_ended(push_down->leg->exchange, &relay_cause_DOWN_LOST, 0, NULL);
	world_free(w);
}

static void every_refusal_of_memory_for_a_promise_is_clean(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	budget_fail_nth(&w->budget, 1);
	assert_null(world_promise(w, x, "/a.css", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 7");
	assert_string_equal(w->refused, policy_reason_BUDGET.code);
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	/* A request that is refused leaves nothing either. */
	budget_fail_nth(&w->budget, 1);
	assert_null(world_exchange(w, "GET", true, &down));
	world_free(w);
}

static void what_nobody_wants_of_an_upload_is_credited(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "0123456789", false);
	assert_int_equal(down->credit, 0);
	exchange_on_response(x, world_response(w, 403), false);
	world_download(w, x, "no", true);
	/* It wants no more of the request; what waits is let go, and so is what still comes. */
	exchange_on_up_failed(x, &relay_cause_UP_RESET, 0, NULL);
	assert_false(exchange_is_over(x));
	assert_int_equal(down->credit, 10);
	world_upload(w, x, "abc", false);
	assert_int_equal(down->credit, 13);
	assert_int_equal(x->upload.body.bytes, 0);
	world_take(down);
	assert_string_equal(down->said, "head 403; end");
	world_upload(w, x, "more", false);
	assert_int_equal(down->credit, 17);
	world_pass(w, 2 * USEC_PER_SEC);
	assert_string_equal(down->said, "head 403; end; reset 0");
	assert_null(x->ending.cause);
	world_free(w);
}

static void an_upload_that_nobody_wants_is_not_late(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_BODY_UP] = USEC_PER_SEC;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	exchange_on_response(x, world_response(w, 403), false);
	world_download(w, x, "no", true);
	exchange_on_up_failed(x, &relay_cause_UP_RESET, 0, NULL);
	world_pass(w, 5 * USEC_PER_SEC);
	assert_false(exchange_is_over(x));
	/* The client ends it in good order. */
	world_take(down);
	world_upload(w, x, "", true);
	assert_true(exchange_is_over(x));
	assert_null(x->ending.cause);
	world_free(w);
}

static void the_end_of_an_upload_that_is_too_large_is_noticed(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	x->terms.upload_limit_bytes = 3;
	world_upload(w, x, "0123456789", true);
	assert_string_equal(up->said, "reset 8");
	world_take(down);
	assert_string_equal(down->said, "head 413; end; detach");
	world_free(w);
}

static void an_own_answer_that_nobody_takes_is_given_up(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	w->limits[RELAY_TIMEOUT_TAKE_DOWN] = USEC_PER_SEC;
	struct exchange *x = world_exchange(w, "GET", true, &down);
	exchange_refuse(x, &relay_cause_NO_ROUTE, NULL);
	world_pass(w, 3 * USEC_PER_SEC);
	assert_true(exchange_is_over(x));
	assert_string_equal(down->said, "head 404; reset 8");
	world_free(w);
}

/* Fields of one hop alone, or those that the owner takes out. */
static void trailers_of_which_nothing_is_left_are_none(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	struct http_head *trailers = world_trailers(w);
	trailers->count = 0;
	exchange_on_upload_trailers(x, trailers);
	world_take(up);
	assert_string_equal(up->said, "end");
	trailers = world_trailers(w);
	trailers->count = 0;
	exchange_on_response(x, world_response(w, 200), false);
	exchange_on_download_trailers(x, trailers);
	world_take(down);
	assert_non_null(strstr(down->said, "end"));
	assert_null(strstr(down->said, "trailers"));
	assert_string_equal(w->ended, "x1 complete 200");
	world_free(w);
}

static void trailers_that_were_sent_make_a_request_unrepeatable(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	exchange_on_upload_trailers(x, world_trailers(w));
	assert_string_equal(up->said, "trailers 1");
	exchange_on_up_failed(x, &relay_cause_UP_UNPROCESSED, 7, NULL);
	assert_int_equal(w->dispatch_count, 1);
	world_take(down);
	assert_string_equal(down->said, "head 503; end; detach");
	world_free(w);
}

static void an_interim_response_takes_the_place_of_a_push(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	push_down->must_wait = true;
	exchange_on_response(push, world_response(w, 103), false);
	assert_int_equal(push->pushed.state, PUSH_PROMISED);
	push_down->must_wait = false;
	exchange_on_response(push, world_response(w, 103), false);
	assert_int_equal(push->pushed.state, PUSH_ANSWERING);
	world_end(w);
}

/* ---- memory ---- */

/* Sends until the exchange is over; returns the bytes. */
static size_t flood(struct world *w, struct exchange *x, bool upwards)
{
	static char text[8193];
	size_t n = 0;
	memset(text, 'x', sizeof(text) - 1);
	for (; !exchange_is_over(x) && !exchange_is_own_answer(x) && n < (4u << 20); n += sizeof(text) - 1)
		(upwards ? world_upload : world_download)(w, x, text, false);
	return n;
}

static void a_slow_response_ends_when_memory_is_used_up(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->budget.limit_bytes = 1 << 20;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	exchange_on_response(x, world_response(w, 200), false);
	flood(w, x, false);
	assert_true(exchange_is_over(x));
	assert_string_equal(down->said, "head 200; reset 2");
	assert_string_equal(up->said, "reset 8");
	assert_true(w->budget.peak_bytes < (1 << 20) + 65536);
	world_free(w);
}

static void a_slow_upload_ends_when_memory_is_used_up(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->budget.limit_bytes = 1 << 20;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	flood(w, x, true);
	assert_string_equal(up->said, "reset 8");
	world_take(down);
	assert_string_equal(down->said, "head 503; end; reset 0");
	world_free(w);
}

static void a_push_goes_first_and_a_quick_response_stays(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	exchange_on_response(x, world_response(w, 200), false);
	exchange_on_response(push, world_response(w, 200), false);
	w->budget.limit_bytes = 1;
	world_download(w, x, "some", false);
	assert_false(exchange_is_over(x));
	world_download(w, push, "some", false);
	assert_true(exchange_is_over(push));
	assert_string_equal(push_up->said, "reset 7");
	assert_ptr_equal(push->pushed.end_reason, &policy_reason_BUDGET);
	world_download(w, x, "more", true);
	world_take(down);
	assert_true(exchange_is_over(x));
	assert_null(x->ending.cause);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nobody_is_told_of_a_promise_that_could_not_be_made),
	    cmocka_unit_test(every_refusal_of_memory_for_a_promise_is_clean),
	    cmocka_unit_test(what_nobody_wants_of_an_upload_is_credited),
	    cmocka_unit_test(an_upload_that_nobody_wants_is_not_late),
	    cmocka_unit_test(the_end_of_an_upload_that_is_too_large_is_noticed),
	    cmocka_unit_test(an_own_answer_that_nobody_takes_is_given_up),
	    cmocka_unit_test(trailers_of_which_nothing_is_left_are_none),
	    cmocka_unit_test(trailers_that_were_sent_make_a_request_unrepeatable),
	    cmocka_unit_test(an_interim_response_takes_the_place_of_a_push),
	    cmocka_unit_test(a_slow_response_ends_when_memory_is_used_up),
	    cmocka_unit_test(a_slow_upload_ends_when_memory_is_used_up),
	    cmocka_unit_test(a_push_goes_first_and_a_quick_response_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
