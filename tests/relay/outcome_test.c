/* SPDX-License-Identifier: MIT */
/* Every cell of the outcome table: what ends one side, and what the other side sees of it. */
#include "tests/support/relay_world.h"

#include "proxy/limits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

/* covers: R13 R49 R52 R53 R69 R70 R72 R74 R76 */

struct cell {
	const struct relay_cause *cause;
	uint32_t code; /* that came with it */
	const char *
	    fresh_down; /* said to the client when nothing had been sent to it; after a retry failed too */
	const char *begun_down; /* said to the client when the response had begun */
	const char *push_down;  /* said to the client on a pushed stream */
	bool retries;
};

/* What the origin's side brings about. */
static const struct cell origin_cells[] = {
    {&relay_cause_UP_UNPROCESSED, 7, "head 503", "reset 2", "reset 7", true},
    {&relay_cause_UP_UNREACHABLE, 0, "head 503", "reset 2", "reset 7", true},
    {&relay_cause_UP_UNROUTABLE, 0, "head 503", "reset 2", "reset 7", true},
    {&relay_cause_UP_NAME, 0, "head 503", "reset 2", "reset 7", false},
    {&relay_cause_UP_PROXY_REFUSED, 0, "head 502", "reset 2", "reset 7", false},
    {&relay_cause_UP_PROXY_USER, 0, "head 502", "reset 2", "reset 7", false},
    {&relay_cause_UP_PROXY_ANSWER, 0, "head 502", "reset 2", "reset 7", false},
    {&relay_cause_UP_TLS, 0, "head 503", "reset 2", "reset 7", false},
    {&relay_cause_UP_CERTIFICATE, 0, "head 503", "reset 2", "reset 7", false},
    {&relay_cause_UP_ALERT, 0, "head 503", "reset 2", "reset 7", false},
    {&relay_cause_UP_NOT_HTTP2, 0, "head 502", "reset 2", "reset 7", false},
    {&relay_cause_UP_NO_ALPN, 0, "head 503", "reset 2", "reset 7", false},
    {&relay_cause_UP_RESET, 8, "head 502", "reset 8", "reset 8", false},
    {&relay_cause_UP_RESET, 7, "head 502", "reset 2", "reset 7", false},
    {&relay_cause_UP_RESET, 0, "head 502", "reset 2", "reset 2", false},
    {&relay_cause_UP_RESET, 1, "head 502", "reset 2", "reset 2", false},
    {&relay_cause_UP_RESET, 99, "head 502", "reset 2", "reset 2", false},
    {&relay_cause_UP_LOST, 0, "head 502", "reset 2", "reset 2", false},
    {&relay_cause_UP_FAULT, 1, "head 502", "reset 2", "reset 2", false},
    {&relay_cause_UP_MALFORMED, 1, "head 502", "reset 1", "reset 1", false},
    {&relay_cause_UP_FIELDS_LARGE, 11, "head 502", "reset 2", "reset 2", false},
    {&relay_cause_CONNECT_LATE, 0, "head 504", "reset 2", "reset 7", false},
    {&relay_cause_QUEUE_LATE, 0, "head 504", "reset 2", "reset 7", false},
    {&relay_cause_QUEUE_FULL, 0, "head 503", "reset 2", "reset 7", false},
    {&relay_cause_HEAD_LATE, 0, "head 504", "reset 8", "reset 8", false},
    {&relay_cause_BODY_LATE, 0, "head 504", "reset 2", "reset 2", false},
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void origin_fails_before_anything_was_sent(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(origin_cells); i++) {
		const struct cell *c = &origin_cells[i];
		struct world *w = world_new();
		struct world_leg *down, *up;
		struct exchange *x = world_connected(w, "GET", true, &down, &up);
		exchange_on_up_failed(x, c->cause, c->code, NULL);
		assert_int_equal(w->dispatch_count, c->retries ? 2 : 1);
		if (c->retries)
			exchange_on_up_failed(x, c->cause, c->code, NULL);
		assert_int_equal(w->dispatch_count, c->retries ? 2 : 1);
		world_take(down);
		assert_true(strncmp(down->said, c->fresh_down, strlen(c->fresh_down)) == 0);
		assert_true(down->byte_count > 0);
		assert_true(exchange_is_over(x));
		assert_ptr_equal(x->ending.cause, c->cause);
		world_free(w);
	}
}

static void origin_fails_after_the_response_began(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(origin_cells); i++) {
		const struct cell *c = &origin_cells[i];
		struct world *w = world_new();
		struct world_leg *down, *up;
		struct exchange *x = world_connected(w, "GET", true, &down, &up);
		exchange_on_response(x, world_response(w, 200), false);
		world_download(w, x, "half", false);
		exchange_on_up_failed(x, c->cause, c->code, NULL);
		world_take(down); /* after NO_ERROR what came goes out first */
		char expected[64];
		snprintf(expected, sizeof(expected), "head 200; %s", c->begun_down);
		assert_string_equal(down->said, expected);
		assert_int_equal(w->dispatch_count, 1);
		assert_true(exchange_is_over(x));
		world_free(w);
	}
}

static void interim_responses_do_not_count_as_begun(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	exchange_on_response(x, world_response(w, 103), false);
	exchange_on_up_failed(x, &relay_cause_UP_LOST, 0, NULL);
	world_take(down);
	assert_string_equal(down->said, "head 103; head 502; end; detach");
	world_free(w);
}

/* More of them than a byte counts, with the retry. */
static void interim_responses_are_bounded_over_a_retry(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		for (unsigned i = 0; i < LIMIT_INTERIM_RESPONSES; i++)
			exchange_on_response(x, world_response(w, 103), false);
		if (attempt == 0)
			exchange_on_up_failed(x, &relay_cause_UP_UNPROCESSED, 0, NULL);
	}
	assert_int_equal(w->dispatch_count, 2);
	unsigned passed = 0;
	for (const char *at = down->said; (at = strstr(at, "head 103")); at++)
		passed++;
	assert_int_equal(passed, LIMIT_INTERIM_RESPONSES);
	assert_int_equal(x->response.interims, 2 * LIMIT_INTERIM_RESPONSES);
	world_end(w);
}

static void origin_fails_a_push(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(origin_cells); i++) {
		const struct cell *c = &origin_cells[i];
		struct world *w = world_new();
		struct world_leg *down, *up, *push_up, *push_down;
		struct exchange *x = world_connected(w, "GET", true, &down, &up);
		struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
		assert_non_null(push);
		exchange_on_up_failed(push, c->cause, c->code, NULL);
		assert_string_equal(push_down->said, c->push_down);
		assert_true(exchange_is_over(push));
		assert_ptr_equal(push->pushed.end_reason, c->cause->push_reason);
		/* The parent goes on. */
		exchange_on_response(x, world_response(w, 200), true);
		assert_string_equal(down->said, "promise /a.css; head 200 end; detach");
		assert_true(exchange_is_over(x));
		assert_null(x->ending.cause);
		world_free(w);
	}
}

/* With the code of one that has not begun: the client has sent no request that REFUSED_STREAM could have it send again. */
static void origin_fails_a_push_that_has_begun(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(origin_cells); i++) {
		const struct cell *c = &origin_cells[i];
		struct world *w = world_new();
		struct world_leg *down, *up, *push_up, *push_down;
		struct exchange *x = world_connected(w, "GET", true, &down, &up);
		struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
		exchange_on_response(push, world_response(w, 200), false);
		world_download(w, push, "half", false);
		exchange_on_up_failed(push, c->cause, c->code, NULL);
		world_take(push_down); /* after NO_ERROR what came goes out first */
		char expected[64];
		snprintf(expected, sizeof(expected), "head 200; %s", c->push_down);
		assert_string_equal(push_down->said, expected);
		assert_true(exchange_is_over(push));
		world_end(w);
	}
}

static void client_reset_cancels_upstream(void **state)
{
	(void)state;
	static const bool begun[] = {false, true};
	for (size_t i = 0; i < COUNT(begun); i++) {
		struct world *w = world_new();
		struct world_leg *down, *up;
		struct exchange *x = world_connected(w, "GET", true, &down, &up);
		if (begun[i])
			exchange_on_response(x, world_response(w, 200), false);
		exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 5, NULL);
		assert_string_equal(up->said, "reset 8");
		assert_true(exchange_is_over(x));
		world_free(w);
	}
}

static void client_reset_of_a_push_carries_its_code_upstream(void **state)
{
	(void)state;
	static const uint32_t codes[] = {8, 7, 0, 2, 77};
	for (size_t i = 0; i < COUNT(codes); i++) {
		struct world *w = world_new();
		struct world_leg *down, *up, *push_up, *push_down;
		struct exchange *x = world_connected(w, "GET", true, &down, &up);
		struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
		exchange_on_down_ended(push, &relay_cause_DOWN_RESET, codes[i], NULL);
		char expected[32];
		snprintf(expected, sizeof(expected), "reset %u", codes[i]);
		assert_string_equal(push_up->said, expected);
		assert_string_equal(up->said, "");
		assert_false(exchange_is_over(x));
		exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
		world_free(w);
	}
}

static void client_lost_cancels_the_request_and_its_pushes(void **state)
{
	(void)state; /* covers: R40 */
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	exchange_on_down_ended(push, &relay_cause_DOWN_LOST, 0, NULL);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(push_up->said, "reset 8");
	world_free(w);
}

static void malformed_request_body_never_completes_upstream(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "abc", false);
	world_take(up);
	exchange_on_down_ended(x, &relay_cause_DOWN_MALFORMED, 1, NULL);
	assert_string_equal(up->said, "reset 8");
	world_free(w);
}

static void stalled_request_body_is_answered_408(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_BODY_UP] = 2 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "abc", false);
	world_take(up);
	world_pass(w, USEC_PER_SEC);
	assert_string_equal(up->said, "");
	world_pass(w, 3 * USEC_PER_SEC);
	assert_string_equal(up->said, "reset 8");
	world_take(down);
	assert_string_equal(down->said, "head 408; end; reset 0");
	world_free(w);
}

static void too_large_a_request_body_is_answered_413(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	x->terms.upload_limit_bytes = 4;
	world_upload(w, x, "abcd", false);
	assert_string_equal(up->said, "");
	world_upload(w, x, "e", false);
	assert_string_equal(up->said, "reset 8");
	world_take(down);
	world_pass(w, 2 * USEC_PER_SEC);
	assert_string_equal(down->said, "head 413; end; reset 0");
	world_free(w);
}

static void retry_is_over_once_a_body_byte_has_left(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "abc", false);
	world_take(up);
	exchange_on_up_failed(x, &relay_cause_UP_UNPROCESSED, 7, NULL);
	assert_int_equal(w->dispatch_count, 1);
	world_take(down);
	world_pass(w, 2 * USEC_PER_SEC);
	assert_string_equal(down->said, "head 503; end; reset 0");
	world_free(w);
}

static void retry_sends_the_body_that_has_not_left(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "abc", true);
	up->leg = NULL; /* its owner has cut it */
	exchange_on_up_failed(x, &relay_cause_UP_UNPROCESSED, 7, NULL);
	assert_int_equal(w->dispatch_count, 2);
	struct world_leg *again = world_leg_of(w, &x->up);
	assert_ptr_not_equal(again, up);
	world_take(again);
	assert_memory_equal(again->bytes, "abc", 3);
	assert_string_equal(again->said, "end");
	exchange_on_response(x, world_response(w, 204), true);
	assert_string_equal(w->ended, "x1 complete 204");
	world_free(w);
}

static void early_response_and_no_error_reach_the_client_whole(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "abc", false);
	exchange_on_response(x, world_response(w, 200), false);
	world_download(w, x, "whole", true);
	exchange_on_up_failed(x, &relay_cause_UP_RESET, 0, NULL);
	assert_false(exchange_is_over(x));
	world_take(down);
	assert_memory_equal(down->bytes, "whole", 5);
	world_pass(w, 2 * USEC_PER_SEC);
	assert_string_equal(down->said, "head 200; end; reset 0");
	assert_string_equal(w->ended, "x1 complete 200");
	world_free(w);
}

static void no_error_in_the_middle_lets_what_came_out_first(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	exchange_on_response(x, world_response(w, 200), false);
	world_download(w, x, "what came", false);
	exchange_on_up_failed(x, &relay_cause_UP_RESET, 0, NULL);
	assert_string_equal(down->said, "head 200");
	world_take(down);
	assert_memory_equal(down->bytes, "what came", 9);
	assert_string_equal(down->said, "head 200; reset 2");
	assert_string_equal(w->ended, "x1 origin-reset 200");
	world_free(w);
}

static void no_error_after_all_announced_bytes_is_a_normal_end(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct http_head *head = http_head_new(w->heads);
	http_head_add(head, SLICE(":status"), SLICE("200"));
	http_head_add(head, SLICE("content-length"), SLICE("5"));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	exchange_on_response(x, head, false);
	world_download(w, x, "whole", false);
	exchange_on_up_failed(x, &relay_cause_UP_RESET, 0, NULL);
	world_take(down);
	assert_string_equal(down->said, "head 200; end; detach");
	assert_string_equal(w->ended, "x1 complete 200");
	world_free(w);
}

static void upload_goes_on_after_the_response_within_its_linger(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_LINGER] = 5 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	exchange_on_response(x, world_response(w, 200), true);
	assert_false(exchange_is_over(x));
	world_upload(w, x, "late", true);
	world_take(up);
	assert_memory_equal(up->bytes, "late", 4);
	assert_true(exchange_is_over(x));
	assert_null(x->ending.cause);
	world_free(w);
}

static void upload_that_outlasts_its_linger_is_stopped(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_LINGER] = 2 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	exchange_on_response(x, world_response(w, 200), true);
	world_pass(w, 4 * USEC_PER_SEC);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(down->said, "head 200 end; reset 0");
	assert_true(exchange_is_over(x));
	world_free(w);
}

/* Nobody wants the rest of the request: it is read and dropped, and however it ends, the exchange ends well. */
static void unwanted_upload_is_read_for_its_linger_and_ends_well(void **state)
{
	(void)state;
	for (unsigned end = 0; end < 3; end++) {
		struct world *w = world_new();
		struct world_leg *down, *up;
		w->limits[RELAY_TIMEOUT_LINGER] = 5 * USEC_PER_SEC;
		struct exchange *x = world_connected(w, "POST", false, &down, &up);
		exchange_on_response(x, world_response(w, 401), true);
		exchange_on_up_failed(x, &relay_cause_UP_LOST, 0, NULL);
		world_pass(w, 2 * USEC_PER_SEC);
		world_upload(w, x, "more", false);
		assert_int_equal(down->credit, 4);
		assert_string_equal(down->said, "head 401 end");
		if (end == 0)
			world_upload(w, x, "", true);
		else if (end == 1)
			exchange_on_down_ended(x, &relay_cause_DOWN_RESET, RELAY_CANCEL, NULL);
		else
			world_pass(w, 4 * USEC_PER_SEC);
		assert_int_equal(strstr(down->said, "reset 0") != NULL, end == 2);
		assert_string_equal(w->ended, "x1 complete 401");
		world_free(w);
	}
}

/* Reading on would help nobody: the reset follows the answer at once. */
static void upload_is_not_read_on_where_that_is_of_no_use(void **state)
{
	(void)state;
	const struct relay_cause *causes[] = {&relay_cause_UPLOAD_LATE, &relay_cause_DOWN_MALFORMED,
	    &relay_cause_MEMORY_SHORT, &relay_cause_NO_MEMORY, &relay_cause_MEMORY_STALLED, &relay_cause_HEAD_LATE};
	for (unsigned i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		struct world *w = world_new();
		struct world_leg *down, *up;
		struct exchange *x = world_connected(w, "POST", false, &down, &up);
		x->terms.is_streaming = causes[i] == &relay_cause_HEAD_LATE; /* of a stream of messages */
		exchange_abort(x, causes[i], NULL);
		world_take(down);
		assert_non_null(strstr(down->said, "end; reset 0"));
		assert_true(exchange_is_over(x));
		world_free(w);
	}
}

static void late_origins_are_answered_504_or_reset(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_RESPONSE] = 2 * USEC_PER_SEC;
	w->limits[RELAY_TIMEOUT_BODY_DOWN] = 3 * USEC_PER_SEC;
	world_connected(w, "GET", true, &down, &up);
	world_pass(w, 4 * USEC_PER_SEC);
	world_take(down);
	assert_string_equal(down->said, "head 504; end; detach");
	assert_string_equal(up->said, "reset 8");

	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct http_head *head = world_response(w, 200);
	head->content_length = 1000;
	exchange_on_response(x, head, false);
	world_pass(w, 2 * USEC_PER_SEC);
	assert_string_equal(up->said, "");
	world_pass(w, 3 * USEC_PER_SEC);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(down->said, "head 200; reset 2");
	world_free(w);
}

static void slow_client_is_not_held_against_the_origin(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_BODY_DOWN] = 2 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct http_head *head = world_response(w, 200);
	head->content_length = 1000;
	exchange_on_response(x, head, false);
	world_download(w, x, "waits for the client", false);
	world_pass(w, 30 * USEC_PER_SEC);
	assert_false(exchange_is_over(x));
	world_end(w);
}

static void client_that_takes_nothing_is_reset(void **state)
{
	(void)state; /* covers: R65 */
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_TAKE_DOWN] = 2 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	exchange_on_response(x, world_response(w, 200), false);
	world_pass(w, 10 * USEC_PER_SEC);
	world_download(w, x, "first", false);
	world_pass(w, USEC_PER_SEC);
	world_take(down);
	world_download(w, x, "second", false);
	world_pass(w, USEC_PER_SEC);
	assert_false(exchange_is_over(x));
	world_pass(w, 3 * USEC_PER_SEC);
	assert_true(exchange_is_over(x));
	assert_string_equal(down->said, "head 200; reset 8");
	assert_string_equal(up->said, "reset 8");
	world_free(w);
}

/* The origin has sent the whole response and does not want the rest of the request, or is gone. */
static void client_that_takes_nothing_is_reset_also_when_its_origin_is_gone(void **state)
{
	(void)state; /* covers: R65 */
	const struct relay_cause *causes[] = {&relay_cause_UP_RESET, &relay_cause_UP_LOST};
	for (unsigned i = 0; i < 2; i++) {
		struct world *w = world_new();
		struct world_leg *down, *up;
		w->limits[RELAY_TIMEOUT_TAKE_DOWN] = 2 * USEC_PER_SEC;
		struct exchange *x = world_connected(w, "POST", false, &down, &up);
		world_upload(w, x, "some", false);
		exchange_on_response(x, world_response(w, 200), false);
		world_pass(w, 30 * USEC_PER_SEC);
		world_download(w, x, "whole", true);
		exchange_on_up_failed(x, causes[i], RELAY_NO_ERROR, NULL);
		world_pass(w, USEC_PER_SEC);
		assert_string_equal(down->said, "head 200");
		world_pass(w, 3 * USEC_PER_SEC);
		assert_string_equal(down->said, "head 200; reset 8");
		assert_true(exchange_is_over(x));
		world_free(w);
	}
}

static void origin_that_takes_nothing_of_an_upload_is_given_up(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_TAKE_UP] = 2 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "abc", false);
	world_pass(w, 4 * USEC_PER_SEC);
	assert_string_equal(up->said, "reset 8");
	world_take(down);
	world_pass(w, 2 * USEC_PER_SEC);
	assert_string_equal(down->said, "head 504; end; reset 0");
	world_free(w);
}

static void request_that_waits_too_long_for_a_stream_is_answered_504(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	w->limits[RELAY_TIMEOUT_QUEUE] = USEC_PER_SEC;
	w->connects = false;
	struct exchange *x = world_exchange(w, "GET", true, &down);
	exchange_dispatch(x);
	world_pass(w, 3 * USEC_PER_SEC);
	world_take(down);
	assert_string_equal(down->said, "head 504; end; detach");
	world_free(w);
}

static void push_that_never_starts_is_cancelled_on_both_sides(void **state)
{
	(void)state; /* covers: R34 */
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	w->limits[RELAY_TIMEOUT_PUSH_START] = 2 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	world_pass(w, 4 * USEC_PER_SEC);
	assert_true(exchange_is_over(push));
	assert_string_equal(push_up->said, "reset 8");
	assert_string_equal(push_down->said, "reset 8");
	assert_ptr_equal(push->pushed.end_reason, &policy_reason_START_TIMEOUT);
	world_end(w);
}

static void refusal_of_ours_needs_no_origin(void **state)
{
	(void)state;
	for (size_t i = 0; i < RELAY_CAUSE_COUNT; i++) {
		const struct relay_cause *cause = relay_cause_table[i];
		struct world *w = world_new();
		struct world_leg *down;
		if (cause->status != 0) {
			struct exchange *x = world_exchange(w, "GET", true, &down);
			exchange_refuse(x, cause, "because");
			char expected[64];
			bool has_text = cause->status / 100 != 3 && cause->status != 204;
			snprintf(expected, sizeof(expected), "head %u%s end; detach", cause->status,
			    has_text ? ";" : "");
			world_take(down);
			assert_string_equal(down->said, expected);
			assert_int_equal(w->dispatch_count, 0);
			x = world_exchange(w, "HEAD", true, &down);
			exchange_refuse(x, cause, NULL);
			snprintf(expected, sizeof(expected), "head %u end; detach", cause->status);
			assert_string_equal(down->said, expected);
		}
		world_free(w);
	}
}

static void drained_exchange_is_answered_or_reset(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	exchange_abort(x, &relay_cause_DRAINED, NULL);
	world_take(down);
	assert_string_equal(down->said, "head 503; end; detach");
	assert_string_equal(up->said, "reset 8");
	x = world_connected(w, "GET", true, &down, &up);
	exchange_on_response(x, world_response(w, 200), false);
	exchange_abort(x, &relay_cause_DRAINED, NULL);
	assert_string_equal(down->said, "head 200; reset 8");
	assert_string_equal(up->said, "reset 8");
	world_free(w);
}

static void cause_without_a_status_resets_what_has_not_been_answered(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	exchange_abort(x, &relay_cause_POLICY, NULL);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(down->said, "reset 8");
	assert_true(exchange_is_over(x));
	world_free(w);
}

static void answer_that_has_no_memory_for_its_sentence_is_a_reset(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	chunk_pool_fail_nth(w->small, 1);
	exchange_abort(x, &relay_cause_UPLOAD_LARGE, NULL);
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(down->said, "reset 8");
	assert_string_equal(w->ended, "x1 request-too-large 0");

	x = world_exchange(w, "GET", true, &down);
	chunk_pool_fail_nth(w->small, 1);
	exchange_refuse(x, &relay_cause_NO_ROUTE, NULL);
	assert_string_equal(down->said, "reset 7");
	world_free(w);
}

static struct slice noon(void *context)
{
	(void)context;
	return SLICE("Tue, 15 Nov 1994 12:00:00 GMT");
}

static char date_sent[64];
static bool note_date(struct leg *leg, const struct http_head *head, bool end)
{
	(void)leg, (void)end;
	const struct http_field *f = http_head_find(head, HTTP_TOKEN_DATE);
	snprintf(
	    date_sent, sizeof(date_sent), "%.*s", f ? (int)f->value.len : 0, f ? f->value.ptr : "");
	return true;
}

/* RFC 9110 6.6.1: who has a clock says when. */
static void answers_of_our_own_have_the_owners_date(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct relay_ops ops = *w->relay.ops;
	for (int dated = 0; dated < 2; dated++) {
		ops.date = dated ? noon : NULL;
		w->relay.ops = &ops;
		struct exchange *x = world_exchange(w, "GET", true, &down);
		struct leg_ops leg = *x->down.ops;
		leg.send_head = note_date;
		x->down.ops = &leg;
		exchange_refuse(x, &relay_cause_NO_ROUTE, NULL);
		assert_string_equal(date_sent, dated ? "Tue, 15 Nov 1994 12:00:00 GMT" : "");
		world_take(down);
		assert_true(exchange_is_over(x));
	}
	world_free(w);
}

static void no_error_when_all_that_came_has_gone_out_resets_at_once(void **state)
{
	(void)state; /* covers: R52 */
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	exchange_on_response(x, world_response(w, 200), false);
	world_download(w, x, "half", false);
	world_take(down);
	exchange_on_up_failed(x, &relay_cause_UP_RESET, 0, NULL);
	assert_string_equal(down->said, "head 200; reset 2");
	assert_true(exchange_is_over(x));
	assert_ptr_equal(x->ending.cause, &relay_cause_UP_RESET);
	world_free(w);
}

/* A push with no room at the client, whose origin ends it with NO_ERROR after a part of its body or all of it. */
static struct exchange *push_that_waits_and_is_ended_with_no_error(
    struct world *w, const char *body, struct world_leg **push_down)
{
	struct world_leg *down, *up, *push_up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, push_down);
	(*push_down)->must_wait = true;
	struct http_head *head = world_response(w, 200);
	head->content_length = 5;
	exchange_on_response(push, head, false);
	world_download(w, push, body, false);
	assert_int_equal(push->phase, EXCHANGE_READY);
	exchange_on_up_failed(push, &relay_cause_UP_RESET, RELAY_NO_ERROR, NULL);
	return push;
}

static void no_error_of_a_whole_push_that_waits_for_room_lets_it_wait(void **state)
{
	(void)state; /* covers: R52 */
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *push = push_that_waits_and_is_ended_with_no_error(w, "whole", &down);
	assert_int_equal(push->phase, EXCHANGE_READY);
	assert_string_equal(down->said, "waits");
	assert_false(down->is_ready); /* its body goes after its head */
	down->must_wait = false;
	exchange_on_start(push);
	world_take(down);
	assert_string_equal(down->said, "waits; head 200; end; detach");
	assert_string_equal(down->bytes, "whole");
	assert_string_equal(w->ended, "x2 complete 200");
	world_end(w);
}

/* The client has seen nothing of it, so it is not shown a part. */
static void no_error_in_the_middle_of_a_push_that_waits_for_room_resets_it(void **state)
{
	(void)state; /* covers: R52 */
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *push = push_that_waits_and_is_ended_with_no_error(w, "half", &down);
	assert_true(exchange_is_over(push));
	assert_string_equal(down->said, "waits; reset 2");
	assert_int_equal(push->pushed.state, PUSH_CANCELLED);
	assert_ptr_equal(push->ending.cause, &relay_cause_UP_RESET);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(origin_fails_before_anything_was_sent),
	    cmocka_unit_test(origin_fails_after_the_response_began),
	    cmocka_unit_test(interim_responses_do_not_count_as_begun),
	    cmocka_unit_test(interim_responses_are_bounded_over_a_retry),
	    cmocka_unit_test(origin_fails_a_push),
	    cmocka_unit_test(origin_fails_a_push_that_has_begun),
	    cmocka_unit_test(client_reset_cancels_upstream),
	    cmocka_unit_test(client_reset_of_a_push_carries_its_code_upstream),
	    cmocka_unit_test(client_lost_cancels_the_request_and_its_pushes),
	    cmocka_unit_test(malformed_request_body_never_completes_upstream),
	    cmocka_unit_test(stalled_request_body_is_answered_408),
	    cmocka_unit_test(too_large_a_request_body_is_answered_413),
	    cmocka_unit_test(retry_is_over_once_a_body_byte_has_left),
	    cmocka_unit_test(retry_sends_the_body_that_has_not_left),
	    cmocka_unit_test(early_response_and_no_error_reach_the_client_whole),
	    cmocka_unit_test(no_error_in_the_middle_lets_what_came_out_first),
	    cmocka_unit_test(no_error_after_all_announced_bytes_is_a_normal_end),
	    cmocka_unit_test(upload_goes_on_after_the_response_within_its_linger),
	    cmocka_unit_test(upload_that_outlasts_its_linger_is_stopped),
	    cmocka_unit_test(unwanted_upload_is_read_for_its_linger_and_ends_well),
	    cmocka_unit_test(upload_is_not_read_on_where_that_is_of_no_use),
	    cmocka_unit_test(late_origins_are_answered_504_or_reset),
	    cmocka_unit_test(slow_client_is_not_held_against_the_origin),
	    cmocka_unit_test(client_that_takes_nothing_is_reset),
	    cmocka_unit_test(client_that_takes_nothing_is_reset_also_when_its_origin_is_gone),
	    cmocka_unit_test(origin_that_takes_nothing_of_an_upload_is_given_up),
	    cmocka_unit_test(request_that_waits_too_long_for_a_stream_is_answered_504),
	    cmocka_unit_test(push_that_never_starts_is_cancelled_on_both_sides),
	    cmocka_unit_test(refusal_of_ours_needs_no_origin),
	    cmocka_unit_test(drained_exchange_is_answered_or_reset),
	    cmocka_unit_test(cause_without_a_status_resets_what_has_not_been_answered),
	    cmocka_unit_test(answer_that_has_no_memory_for_its_sentence_is_a_reset),
	    cmocka_unit_test(answers_of_our_own_have_the_owners_date),
	    cmocka_unit_test(no_error_when_all_that_came_has_gone_out_resets_at_once),
	    cmocka_unit_test(no_error_of_a_whole_push_that_waits_for_room_lets_it_wait),
	    cmocka_unit_test(no_error_in_the_middle_of_a_push_that_waits_for_room_resets_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
