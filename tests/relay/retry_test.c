/* SPDX-License-Identifier: MIT */
/* Which requests are sent again, after which failures, and what is asked of the owner before. */
#include "tests/support/relay_world.h"

#include "proxy/relay/relay_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

/* covers: R72 R158 */

/* ---- the owner: what it was asked, and what it says ---- */

static char asked[1024];
static unsigned agrees; /* so often */

static struct relay_failure last; /* what the owner was told last, but its detail */
static char last_detail[64];

static bool on_retries(void *context, struct exchange *x, const struct relay_failure *failure)
{
	static const char *const names[RELAY_RETRY_COUNT] = {
	    [RELAY_AGAIN] = "again",
	    [RELAY_IF_LOST] = "lost",
	    [RELAY_IF_LATE] = "late",
	    [RELAY_IF_STATUS] = "status",
	};
	(void)context, (void)x;
	last = *failure;
	snprintf(last_detail, sizeof(last_detail), "%s", failure->detail ? failure->detail : "");
	size_t n = strlen(asked);
	snprintf(asked + n, sizeof(asked) - n, "%s%s", n > 0 ? " " : "", names[failure->why]);
	if (failure->status > 0)
		snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), " %u", failure->status);
	if (agrees == 0)
		return false;
	agrees--;
	return true;
}

static struct relay_ops ops;

static struct world *owner_that_agrees(unsigned times)
{
	struct world *w = world_new();
	ops = *w->relay.ops;
	ops.retries = on_retries;
	w->relay.ops = &ops;
	asked[0] = '\0';
	agrees = times;
	return w;
}

/* Sends a request, of whose upstream leg the owner knows nothing any more. */
static struct exchange *sent(struct world *w, const char *method, struct world_leg **down)
{
	struct world_leg *up;
	return world_connected(w, method, true, down, &up);
}

/* ---- failures ---- */

static const struct {
	const struct relay_cause *cause;
	uint32_t code;
	const char *of_get, *of_post, *of_queued; /* what the owner is asked; "" = nothing */
} failures[] = {
    {&relay_cause_UP_UNPROCESSED, 7, "again", "again", "again"},
    {&relay_cause_UP_UNREACHABLE, 0, "again", "again", "again"},
    {&relay_cause_UP_UNROUTABLE, 0, "again", "again", "again"},
    {&relay_cause_UP_PROXY_REFUSED, 0, "", "", ""},
    {&relay_cause_UP_PROXY_USER, 0, "", "", ""},
    {&relay_cause_UP_PROXY_ANSWER, 0, "", "", ""},
    {&relay_cause_UP_TLS, 0, "", "", ""},
    {&relay_cause_UP_CERTIFICATE, 0, "", "", ""},
    {&relay_cause_UP_ALERT, 0, "", "", ""},
    {&relay_cause_UP_NOT_HTTP2, 0, "", "", ""},
    {&relay_cause_UP_NO_ALPN, 0, "", "", ""},
    {&relay_cause_CONNECT_LATE, 0, "", "", ""},
    {&relay_cause_UP_LOST, 0, "lost", "", "lost"},
    {&relay_cause_UP_RESET, 8, "lost", "", "lost"},
    {&relay_cause_UP_RESET, 2, "lost", "", "lost"},
    {&relay_cause_UP_RESET, 0, "", "", ""},
    {&relay_cause_UP_FAULT, 1, "", "", ""},
    {&relay_cause_UP_MALFORMED, 1, "", "", ""},
    {&relay_cause_UP_FIELDS_LARGE, 11, "", "", ""},
    {&relay_cause_QUEUE_LATE, 0, "", "", ""},
    {&relay_cause_QUEUE_FULL, 0, "", "", ""},
    {&relay_cause_BODY_LATE, 0, "", "", ""},
    {&relay_cause_NO_MEMORY, 0, "", "", ""},
};

static void failure(size_t i, const char *method, bool is_queued, const char *expected)
{
	struct world *w = owner_that_agrees(1);
	struct world_leg *down;
	w->connects = !is_queued;
	struct exchange *x = world_exchange(w, method, true, &down);
	exchange_dispatch(x);
	exchange_on_up_failed(x, failures[i].cause, failures[i].code, NULL);
	if (strcmp(asked, expected) != 0)
		fail_msg("%s of a %s: asked '%s', not '%s'", failures[i].cause->name, method, asked,
		    expected);
	bool is_retried = *expected != '\0';
	assert_int_equal(w->dispatch_count, is_retried ? 2 : 1);
	assert_int_equal(x->attempts, is_retried ? 2 : 1);
	if (is_retried)
		assert_string_equal(down->said, "");
	world_end(w);
}

static void the_cause_says_whether_the_owner_is_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		failure(i, "GET", false, failures[i].of_get);
		failure(i, "PUT", false, failures[i].of_get);
		failure(i, "POST", false, failures[i].of_post);
		failure(i, "GET", true, failures[i].of_queued);
	}
}

static void a_request_that_the_owner_does_not_retry_is_answered(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(0);
	struct world_leg *down;
	struct exchange *x = sent(w, "GET", &down);
	exchange_on_up_failed(x, &relay_cause_UP_LOST, 0, NULL);
	world_take(down);
	assert_string_equal(asked, "lost");
	assert_string_equal(down->said, "head 502; end; detach");
	world_end(w);
}

static void a_request_is_given_to_a_bounded_number_of_servers(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(100);
	struct world_leg *down;
	struct exchange *x = sent(w, "GET", &down);
	for (unsigned i = 0; i < 2 * EXCHANGE_SERVERS_MOST; i++)
		exchange_on_up_failed(x, &relay_cause_UP_UNREACHABLE, 0, NULL);
	assert_int_equal(w->dispatch_count, EXCHANGE_SERVERS_MOST);
	world_take(down);
	assert_string_equal(down->said, "head 503; end; detach");
	world_end(w);
}

/* The owner keeps it: if no other server can be reached, the client is told this failure. */
static void the_owner_is_told_what_failed(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(1);
	struct world_leg *down;
	struct exchange *x = sent(w, "GET", &down);
	exchange_on_up_failed(x, &relay_cause_UP_LOST, 3, "read: connection reset");
	assert_ptr_equal(last.cause, &relay_cause_UP_LOST);
	assert_int_equal(last.code, 3);
	assert_string_equal(last_detail, "read: connection reset");
	world_end(w);
}

/* ---- what is not sent again ---- */

enum kind { CALL, TUNNEL, SUBSCRIPTION, BODY_HAS_LEFT, KINDS };

static struct exchange *request_of(struct world *w, enum kind kind, struct world_leg **down)
{
	struct world_leg *up;
	struct exchange *x = world_exchange(w, "PUT", kind != BODY_HAS_LEFT, down);
	if (kind == TUNNEL)
		exchange_ask_for_tunnel(x, SLICE("websocket"));
	x->terms.is_call = kind == CALL;
	x->pushes.is_subscription = kind == SUBSCRIPTION;
	exchange_dispatch(x);
	up = world_leg_of(w, &x->up);
	if (kind == BODY_HAS_LEFT) {
		world_upload(w, x, "abc", false);
		world_take(up);
	}
	return x;
}

static void what_a_server_may_have_processed_is_sent_again_only_if_that_is_harmless(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct world *w = owner_that_agrees(9);
		struct world_leg *down;
		struct exchange *x = request_of(w, (enum kind)kind, &down);
		exchange_on_up_failed(x, &relay_cause_UP_LOST, 0, NULL);
		x = request_of(w, (enum kind)kind, &down);
		exchange_on_response(x, world_response(w, 503), true);
		w->limits[RELAY_TIMEOUT_RESPONSE] = USEC_PER_SEC;
		request_of(w, (enum kind)kind, &down);
		world_pass(w, 3 * USEC_PER_SEC);
		assert_string_equal(asked, "");
		assert_int_equal(w->dispatch_count, 3);
		world_end(w);
	}
}

static void what_no_server_has_processed_is_sent_again_whatever_it_is(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < BODY_HAS_LEFT; kind++) {
		struct world *w = owner_that_agrees(9);
		struct world_leg *down;
		struct exchange *x = request_of(w, (enum kind)kind, &down);
		exchange_on_up_failed(x, &relay_cause_UP_UNPROCESSED, 7, NULL);
		assert_string_equal(asked, "again");
		assert_int_equal(w->dispatch_count, 2);
		world_end(w);
	}
}

static void a_push_is_never_sent_again(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(9);
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	exchange_on_up_failed(push, &relay_cause_UP_UNPROCESSED, 7, NULL);
	push = world_promise(w, x, "/b.css", &push_up, &push_down);
	exchange_on_response(push, world_response(w, 503), true);
	assert_string_equal(asked, "");
	assert_int_equal(w->dispatch_count, 1);
	world_end(w);
}

static void nothing_is_sent_again_behind_a_final_head(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(9);
	struct world_leg *down;
	struct exchange *x = sent(w, "GET", &down);
	exchange_on_response(x, world_response(w, 200), false);
	exchange_on_up_failed(x, &relay_cause_UP_LOST, 0, NULL);
	assert_string_equal(asked, "");
	assert_string_equal(down->said, "head 200; reset 2");
	world_end(w);
}

/* The client may be told twice what to fetch early: it is none the worse for it. */
static void interim_responses_come_again(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(9);
	struct world_leg *down;
	struct exchange *x = sent(w, "GET", &down);
	exchange_on_response(x, world_response(w, 103), false);
	exchange_on_up_failed(x, &relay_cause_UP_LOST, 0, NULL);
	exchange_on_response(x, world_response(w, 103), false);
	exchange_on_response(x, world_response(w, 200), true);
	assert_string_equal(down->said, "head 103; head 103; head 200 end; detach");
	world_end(w);
}

/* ---- statuses ---- */

static void a_response_with_such_a_status_goes_nowhere(void **state)
{
	(void)state;
	static const bool ends[] = {false, true};
	for (unsigned i = 0; i < 2; i++) {
		struct world *w = owner_that_agrees(1);
		struct world_leg *down, *up;
		struct exchange *x = world_connected(w, "GET", true, &down, &up);
		exchange_on_response(x, world_response(w, 503), ends[i]);
		assert_string_equal(asked, "status 503");
		assert_string_equal(up->said, ends[i] ? "discard end" : "discard");
		assert_string_equal(down->said, "");
		assert_int_equal(w->dispatch_count, 2);
		exchange_on_response(x, world_response(w, 200), false);
		world_download(w, x, "whole", true);
		world_take(down);
		assert_string_equal(down->said, "head 200; end; detach");
		assert_string_equal(down->bytes, "whole");
		assert_string_equal(w->ended, "x1 complete 200");
		world_free(w);
	}
}

static void a_response_that_is_not_retried_goes_on_as_it_came(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(1);
	struct world_leg *down;
	struct exchange *x = sent(w, "GET", &down);
	exchange_on_response(x, world_response(w, 503), true);
	exchange_on_response(x, world_response(w, 502), false);
	world_download(w, x, "sorry", true);
	world_take(down);
	assert_string_equal(asked, "status 503 status 502");
	assert_string_equal(down->said, "head 502; end; detach");
	assert_string_equal(down->bytes, "sorry");
	world_free(w);
}

static void the_owner_is_not_asked_about_other_statuses(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(9);
	struct world_leg *down;
	struct exchange *x = sent(w, "GET", &down);
	exchange_on_response(x, world_response(w, 404), true);
	assert_string_equal(asked, "");
	assert_string_equal(down->said, "head 404 end; detach");
	world_free(w);
}

/* A held response that it claims has no other server. */
static void a_leg_that_cannot_discard_is_not_left(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(9);
	struct world_leg *down;
	struct exchange *x = sent(w, "GET", &down);
	struct leg_ops held = *x->up.ops;
	held.discard = NULL;
	x->up.ops = &held;
	exchange_on_response(x, world_response(w, 503), true);
	assert_string_equal(asked, "");
	assert_string_equal(down->said, "head 503 end; detach");
	world_free(w);
}

/* Nothing of it has left: the origin has answered before it took any. */
static void a_body_that_waits_is_sent_with_the_retry(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(1);
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "PUT", false, &down, &up);
	world_upload(w, x, "abc", false);
	exchange_on_response(x, world_response(w, 503), false);
	assert_string_equal(up->said, "discard");
	struct world_leg *again = world_leg_of(w, &x->up);
	assert_ptr_not_equal(again, up);
	world_upload(w, x, "def", true);
	world_take(again);
	assert_string_equal(again->bytes, "abcdef");
	assert_string_equal(again->said, "end");
	exchange_on_response(x, world_response(w, 204), true);
	assert_string_equal(w->ended, "x1 complete 204");
	world_free(w);
}

/* ---- responses that are late ---- */

static void a_late_response_is_asked_of_another_server(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(1);
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_RESPONSE] = 2 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	world_pass(w, 3 * USEC_PER_SEC);
	assert_string_equal(asked, "late");
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(down->said, "");
	up = world_leg_of(w, &x->up);
	world_pass(w, 3 * USEC_PER_SEC); /* it has as long again */
	world_take(down);
	assert_string_equal(asked, "late late");
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(down->said, "head 504; end; detach");
	world_free(w);
}

static void the_deadline_of_the_whole_request_ends_retries_too(void **state)
{
	(void)state;
	struct world *w = owner_that_agrees(9);
	struct world_leg *down;
	w->limits[RELAY_TIMEOUT_RESPONSE] = 2 * USEC_PER_SEC;
	w->limits[RELAY_TIMEOUT_REQUEST] = 5 * USEC_PER_SEC;
	struct exchange *x = sent(w, "GET", &down);
	x->terms.request_timeout = w->limits[RELAY_TIMEOUT_REQUEST];
	world_pass(w, 4500 * USEC_PER_MSEC);
	assert_string_equal(down->said, "");
	world_pass(w, USEC_PER_SEC);
	world_take(down);
	assert_string_equal(asked, "late late");
	assert_string_equal(down->said, "head 504; end; detach");
	assert_string_equal(w->ended, "x1 request-deadline 504");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_cause_says_whether_the_owner_is_asked),
	    cmocka_unit_test(a_request_that_the_owner_does_not_retry_is_answered),
	    cmocka_unit_test(a_request_is_given_to_a_bounded_number_of_servers),
	    cmocka_unit_test(the_owner_is_told_what_failed),
	    cmocka_unit_test(what_a_server_may_have_processed_is_sent_again_only_if_that_is_harmless),
	    cmocka_unit_test(what_no_server_has_processed_is_sent_again_whatever_it_is),
	    cmocka_unit_test(a_push_is_never_sent_again),
	    cmocka_unit_test(nothing_is_sent_again_behind_a_final_head),
	    cmocka_unit_test(interim_responses_come_again),
	    cmocka_unit_test(a_response_with_such_a_status_goes_nowhere),
	    cmocka_unit_test(a_response_that_is_not_retried_goes_on_as_it_came),
	    cmocka_unit_test(the_owner_is_not_asked_about_other_statuses),
	    cmocka_unit_test(a_leg_that_cannot_discard_is_not_left),
	    cmocka_unit_test(a_body_that_waits_is_sent_with_the_retry),
	    cmocka_unit_test(a_late_response_is_asked_of_another_server),
	    cmocka_unit_test(the_deadline_of_the_whole_request_ends_retries_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
