/* SPDX-License-Identifier: MIT */
/* Who pays for what an exchange keeps, and what follows when an allowance is used up. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/http/head.h"
#include "proxy/limits.h"
#include "tests/support/relay_world.h"

#include <string.h>

/* Bytes that pin no chunk: they are copied into small ones. */
#define SMALL LIMIT_COPY_BELOW_BYTES

static size_t own_bytes(const struct exchange *x)
{
	return sizeof(*x) + http_head_bytes(x->request);
}

/* covers: R63 */
static void the_response_is_charged_to_the_clients_side(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x));
	exchange_on_response(x, world_response(w, 200), false);
	world_download(w, x, "some", false);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x) + SMALL);
	assert_int_equal(w->up_budget.used_bytes, 0);
	world_take(down);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x));
	world_end(w);
}

/* Pushgate's own cookie is for nobody else. */
static void a_cookie_that_is_cut_out_of_the_request_is_not_paid_for(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = world_exchange(w, "GET", true, &down);
	assert_null(exchange_cut_cookie(x, SLICE("server")).ptr);
	http_head_add(world_request_of(x), SLICE("cookie"), SLICE("user=a; server=7; theme=dark"));
	assert_null(exchange_cut_cookie(x, SLICE("serve")).ptr);
	assert_true(slice_equal(exchange_cut_cookie(x, SLICE("server")), SLICE("7")));
	const struct http_field *left = http_head_find(x->request, HTTP_TOKEN_COOKIE);
	assert_non_null(left);
	assert_true(slice_equal(left->value, SLICE("user=a; theme=dark")));
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x));
	exchange_dispatch(x);
	world_end(w);
}

/* Such as that of a failure, or of an address that was refused, as often as another server is asked. */
static void the_texts_that_are_kept_of_an_attempt_are_charged(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	char text[5000];
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	struct exchange *x = world_exchange(w, "GET", true, &down);
	size_t before = w->down_budget.used_bytes;
	assert_string_equal(exchange_keep_text(x, text), text);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x));
	assert_true(w->down_budget.used_bytes >= before + sizeof(text));
	assert_string_equal(exchange_keep_text(x, text), text);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x));
	assert_true(w->down_budget.used_bytes >= before + 2 * sizeof(text));
	assert_null(exchange_keep_text(x, NULL));
	exchange_dispatch(x);
	world_end(w);
}

/* covers: R63 */
static void the_request_body_is_charged_where_it_waits(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	w->connects = false;
	struct exchange *x = world_exchange(w, "POST", false, &down);
	exchange_dispatch(x);
	world_upload(w, x, "some", false);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x) + SMALL);
	struct world_leg up = {0};
	const struct leg leg = {.ops = x->down.ops, .carrier = &up, .budget = &w->up_budget};
	exchange_on_connected(x, &leg);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x));
	assert_int_equal(w->up_budget.used_bytes, SMALL);
	/* Nothing of it has left: it waits for the next try. */
	exchange_on_up_failed(x, &relay_cause_UP_UNPROCESSED, 0, NULL);
	assert_int_equal(w->up_budget.used_bytes, 0);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x) + SMALL);
	world_end(w);
}

/* covers: R63 */
static void heads_that_wait_are_charged(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_down, *push_up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	size_t used = w->down_budget.used_bytes;
	assert_int_equal(used, own_bytes(x) + own_bytes(push));
	push_down->must_wait = true;
	struct http_head *head = world_response(w, 200);
	size_t head_bytes = http_head_bytes(head);
	exchange_on_response(push, head, false);
	assert_int_equal(w->down_budget.used_bytes, used + head_bytes);
	push_down->must_wait = false;
	exchange_on_start(push);
	assert_int_equal(w->down_budget.used_bytes, used);
	world_download(w, push, "some", false);
	exchange_on_download_trailers(push, world_trailers(w));
	assert_true(w->down_budget.used_bytes >= used + SMALL + head_bytes);
	world_take(push_down);
	relay_reap(&w->relay);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x));
	world_end(w);
}

/* The client's connection is gone when the upload is over at last.
 * covers: R63 */
static void trailers_that_wait_are_charged(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	exchange_on_response(x, world_response(w, 200), false);
	world_upload(w, x, "some", false);
	world_download(w, x, "some", false);
	struct http_head *of_request = world_trailers(w), *of_response = world_trailers(w);
	size_t request_bytes = http_head_bytes(of_request), response_bytes = http_head_bytes(of_response);
	exchange_on_upload_trailers(x, of_request);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x) + SMALL + request_bytes);
	exchange_on_download_trailers(x, of_response);
	assert_int_equal(w->down_budget.used_bytes, own_bytes(x) + SMALL + request_bytes + response_bytes);
	world_end(w);
}

static void what_outlives_its_connection_is_the_workers(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	w->limits[RELAY_TIMEOUT_LINGER] = 10 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	exchange_on_response(x, world_response(w, 200), true);
	world_upload(w, x, "rest", true);
	exchange_on_leg_closed(&x->down);
	assert_int_equal(w->down_budget.used_bytes, 0);
	assert_int_equal(w->up_budget.used_bytes, SMALL);
	assert_int_equal(w->budget.used_bytes, SMALL + own_bytes(x));
	world_take(up);
	assert_true(exchange_is_over(x));
	world_end(w);
}

/* covers: R63 */
static void a_used_up_allowance_refuses_its_own_and_nobody_elses(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct budget other;
	struct world_leg leg = {0};
	budget_init(&other, &w->budget, 1 << 20);
	w->down_budget.limit_bytes = 1;
	const struct leg poor = {.carrier = &leg, .budget = &w->down_budget};
	assert_null(exchange_new(&w->relay, &poor, world_request(w, "GET", "/"), true));
	const struct leg rich = {.carrier = &leg, .budget = &other};
	struct exchange *x = exchange_new(&w->relay, &rich, world_request(w, "GET", "/"), true);
	assert_non_null(x);
	assert_int_equal(other.used_bytes, own_bytes(x));
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	relay_reap(&w->relay);
	budget_fini(&other);
	world_end(w);
}

/* covers: R63 */
static void a_source_gets_no_credit_while_the_allowance_is_used_up(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	exchange_on_response(x, world_response(w, 200), false);
	w->down_budget.limit_bytes = w->down_budget.used_bytes + 1;
	world_download(w, x, "0123456789", false);
	exchange_on_taken(&x->down, 4, false);
	assert_int_equal(up->credit, 0);
	exchange_on_taken(&x->down, 6, false); /* all that it sent: else nothing would ever come */
	assert_int_equal(up->credit, 10);
	world_download(w, x, "0123456789", false);
	exchange_on_taken(&x->down, 4, false);
	assert_int_equal(up->credit, 10);
	w->down_budget.limit_bytes = 1 << 20;
	exchange_on_taken(&x->down, 1, false);
	assert_int_equal(up->credit, 15);
	world_download(w, x, "", true);
	world_take(down);
	assert_true(exchange_is_over(x));
	assert_null(x->ending.cause);
	world_end(w);
}

/* covers: R63 */
static void credit_kept_back_is_given_when_nobody_wants_the_upload(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	w->up_budget.limit_bytes = 1;
	world_upload(w, x, "0123456789", false);
	exchange_on_taken(&x->up, 4, false);
	assert_int_equal(down->credit, 0);
	exchange_refuse(x, &relay_cause_UPLOAD_LARGE, NULL);
	assert_int_equal(down->credit, 10);
	world_end(w);
}

static void download(struct world *w, struct exchange *x, size_t bytes)
{
	static char text[4097];
	memset(text, 'x', sizeof(text) - 1);
	for (size_t n = 0; n < bytes && !exchange_is_over(x); n += sizeof(text) - 1)
		world_download(w, x, text, false);
}

/* What the windows had let in already is borne; what goes on regardless is not.
 * covers: R63 */
static void an_overdrawn_allowance_costs_the_stream_that_overdraws_it(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down[2], *up[2];
	struct exchange *x[2];
	for (int i = 0; i < 2; i++) {
		x[i] = world_connected(w, "GET", true, &down[i], &up[i]);
		exchange_on_response(x[i], world_response(w, 200), false);
	}
	w->down_budget.limit_bytes = 512 << 10;
	world_download(w, x[1], "some", false);
	download(w, x[0], 200 << 10);
	assert_false(exchange_is_over(x[0]));
	download(w, x[0], 200 << 10);
	assert_true(exchange_is_over(x[0]));
	assert_ptr_equal(x[0]->ending.cause, &relay_cause_MEMORY_SHORT);
	assert_false(exchange_is_over(x[1]));
	world_download(w, x[1], "", true);
	world_take(down[1]);
	assert_null(x[1]->ending.cause);
	world_end(w);
}

/* Little as it is: so many have so little. What comes from origins is held back by its connections.
 * covers: R63 */
static void far_above_the_limit_nothing_more_of_a_request_is_kept(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *down2, *up2;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	struct exchange *y = world_connected(w, "GET", true, &down2, &up2);
	exchange_on_response(y, world_response(w, 200), false);
	size_t limit = w->budget.limit_bytes;
	world_upload(w, x, "0123456789", false);
	w->budget.limit_bytes = w->budget.used_bytes / 16 * 15;
	world_upload(w, x, "0123456789", false);
	assert_false(exchange_is_over(x) || exchange_is_own_answer(x));
	w->budget.limit_bytes = w->budget.used_bytes / 16 * 14;
	world_download(w, y, "0123456789", false);
	assert_false(exchange_is_over(y));
	world_upload(w, x, "0123456789", false);
	assert_true(exchange_is_own_answer(x));
	assert_ptr_equal(x->ending.cause, &relay_cause_MEMORY_SHORT);
	w->budget.limit_bytes = limit;
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_response_is_charged_to_the_clients_side),
	    cmocka_unit_test(a_cookie_that_is_cut_out_of_the_request_is_not_paid_for),
	    cmocka_unit_test(the_texts_that_are_kept_of_an_attempt_are_charged),
	    cmocka_unit_test(the_request_body_is_charged_where_it_waits),
	    cmocka_unit_test(heads_that_wait_are_charged),
	    cmocka_unit_test(trailers_that_wait_are_charged),
	    cmocka_unit_test(what_outlives_its_connection_is_the_workers),
	    cmocka_unit_test(a_used_up_allowance_refuses_its_own_and_nobody_elses),
	    cmocka_unit_test(a_source_gets_no_credit_while_the_allowance_is_used_up),
	    cmocka_unit_test(credit_kept_back_is_given_when_nobody_wants_the_upload),
	    cmocka_unit_test(far_above_the_limit_nothing_more_of_a_request_is_kept),
	    cmocka_unit_test(an_overdrawn_allowance_costs_the_stream_that_overdraws_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
