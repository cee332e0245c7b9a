/* SPDX-License-Identifier: MIT */
/* The life of an exchange at its edges: structs that are used again, queues that it leaves, events behind its end, and
 * how it describes itself. */
#include "tests/support/relay_world.h"

#include "proxy/limits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void assert_described(const struct exchange *x, const char *expected)
{
	char text[256];
	assert_int_equal(exchange_describe(x, text, sizeof(text)), strlen(expected));
	assert_string_equal(text, expected);
}

/* A leg that says nothing; the worker's budget pays for it. */
static struct exchange *silent(struct world *w)
{
	const struct leg nobody = {0};
	return exchange_new(&w->relay, &nobody, world_request(w, "GET", "/"), true);
}

static void nothing_that_comes_behind_the_end_is_heard(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 8, NULL);
	world_upload(w, x, "late", true);
	exchange_on_upload_trailers(x, world_trailers(w));
	exchange_on_response(x, world_response(w, 200), false);
	world_download(w, x, "late", true);
	exchange_on_download_trailers(x, world_trailers(w));
	exchange_on_start(x);
	exchange_refuse(x, &relay_cause_NO_ROUTE, NULL);
	exchange_on_up_failed(x, &relay_cause_UP_LOST, 0, NULL);
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	exchange_abort(x, &relay_cause_DRAINED, NULL);
	assert_false(exchange_may_hint(x));
	assert_null(world_promise(w, x, "/late", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 8");
	assert_string_equal(w->refused, "parent-gone");
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(down->said, "");
	assert_string_equal(w->ended, "x1 client-reset 0");
	assert_int_equal(w->relay.live_count, 0);
	world_free(w);
}

static void structs_are_used_again_and_only_so_many_are_kept(void **state)
{
	(void)state;
	enum { KEPT = 1024 };
	struct world *w = world_new();
	for (unsigned i = 0; i <= KEPT; i++) {
		w->ended[0] = 0;
		exchange_on_down_ended(silent(w), &relay_cause_DOWN_LOST, 0, NULL);
	}
	relay_reap(&w->relay);
	assert_int_equal(w->relay.spares.count, KEPT);
	assert_int_equal(w->budget.used_bytes, 0);
	void *again = w->relay.spares.first;
	struct exchange *x = silent(w);
	assert_ptr_equal(x, again);
	assert_int_equal(w->relay.spares.count, KEPT - 1);
	assert_int_equal(x->id, KEPT + 2);
	assert_false(exchange_is_over(x));
	assert_null(x->ending.cause);
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	world_free(w);
}

static void leg_without_a_budget_is_paid_for_by_the_worker(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct exchange *x = silent(w);
	assert_ptr_equal(x->payer.budget, &w->budget);
	assert_int_equal(w->budget.used_bytes, sizeof(*x) + http_head_bytes(x->request));
	assert_int_equal(w->down_budget.used_bytes, 0);
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	world_free(w);
}

static void request_that_ends_in_a_queue_leaves_it(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct list queue;
	list_init(&queue);
	w->connects = false;
	struct exchange *x = world_exchange(w, "POST", false, &down);
	exchange_dispatch(x);
	list_append(&queue, &x->waiting);
	world_upload(w, x, "waits", false);
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 8, NULL);
	assert_true(list_is_empty(&queue));
	assert_int_equal(w->down_budget.used_bytes, 0); /* its body is paid for by nobody */
	world_free(w);
}

static void push_that_ends_while_it_waits_for_its_start_leaves_the_queue(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct list queue;
	list_init(&queue);
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	list_append(&queue, &push->waiting);
	exchange_on_down_ended(push, &relay_cause_DOWN_RESET, 8, NULL);
	assert_true(list_is_empty(&queue));
	world_end(w);
}

static void bytes_that_wait_for_the_client_are_counted_until_they_are_gone(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	uint64_t waiting = 100; /* others' */
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	x->payer.buffered = &waiting;
	exchange_on_response(x, world_response(w, 200), false);
	world_download(w, x, "0123456789", false);
	assert_int_equal(waiting, 110);
	exchange_on_taken(&x->down, 4, false);
	assert_int_equal(waiting, 106);
	world_upload(w, x, "upward", false);
	exchange_on_taken(&x->up, 6, false);
	assert_int_equal(waiting, 106);
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	assert_int_equal(waiting, 100);
	world_free(w);
}

static void exchange_says_how_far_it_is(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	w->connects = false;
	struct exchange *x = world_exchange(w, "POST", false, &down);
	assert_described(x, "x1 POST https://example.com/ new status=0 up=head/0(no leg) down=head/0\n");
	exchange_dispatch(x);
	assert_described(x, "x1 POST https://example.com/ queued status=0 up=head/0(no leg) down=head/0\n");
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	assert_described(x, "x1 POST https://example.com/ over status=0 up=head/0(no leg) down=head/0(no leg)\n");

	x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "abc", false);
	exchange_on_response(x, world_response(w, 200), false);
	world_download(w, x, "four", false);
	assert_described(x, "x2 POST https://example.com/ answering status=200 up=body/3 down=body/4\n");
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	assert_described(push, "x3 push GET https://example.com/a.css sent status=0 up=done/0 down=head/0\n");
	exchange_on_down_ended(push, &relay_cause_DOWN_LOST, 0, NULL);
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);

	x = world_connected(w, "POST", false, &down, &up);
	exchange_abort(x, &relay_cause_UPLOAD_LARGE, NULL);
	char text[256];
	exchange_describe(x, text, sizeof(text));
	assert_non_null(strstr(text, " refused status=413 up=aborted/0(no leg) down=body/"));
	world_end(w);
}

static char when_trailers_were_sent[256];
static void describe_it(struct leg *leg, const struct http_head *trailers)
{
	(void)trailers;
	exchange_describe(leg->exchange, when_trailers_were_sent, sizeof(when_trailers_were_sent));
}

static void trailers_on_their_way_are_a_state_of_their_own(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct leg_ops ops = *x->down.ops;
	ops.send_trailers = describe_it;
	x->down.ops = &ops;
	exchange_on_response(x, world_response(w, 200), false);
	exchange_on_download_trailers(x, world_trailers(w));
	assert_string_equal(
	    when_trailers_were_sent, "x1 GET https://example.com/ answering status=200 up=done/0 down=trailers/0\n");
	assert_true(exchange_is_over(x));
	world_free(w);
}

static void description_is_cut_where_there_is_no_room(void **state)
{
	(void)state;
	struct world *w = world_new();
	char text[8] = "........";
	struct exchange *x = silent(w);
	assert_int_equal(exchange_describe(x, text, 6), 5);
	assert_string_equal(text, "x1 GE");
	assert_int_equal(exchange_describe(x, text, 0), 0);
	assert_string_equal(text, "x1 GE");
	exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
	world_free(w);
}

static void causes_know_their_place_in_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < RELAY_CAUSE_COUNT; i++)
		assert_int_equal(relay_cause_index(relay_cause_table[i]), i);
	assert_int_equal(relay_cause_index(&relay_cause_LOOP), RELAY_CAUSE_INDEX_LOOP);
}

static void interim_responses_are_bounded_and_end_with_the_response(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	for (unsigned i = 0; i < LIMIT_INTERIM_RESPONSES; i++) {
		down->said[0] = 0;
		exchange_on_response(x, world_response(w, 102), false);
		assert_string_equal(down->said, "head 102");
	}
	down->said[0] = 0;
	exchange_on_response(x, world_response(w, 102), false);
	assert_string_equal(down->said, "");
	exchange_on_response(x, world_response(w, 200), true);
	assert_string_equal(down->said, "head 200 end; detach");

	x = world_connected(w, "GET", true, &down, &up);
	exchange_on_response(x, world_response(w, 200), false);
	exchange_on_response(x, world_response(w, 103), false);
	assert_string_equal(down->said, "head 200");
	world_end(w);
}

static void response_may_be_whole_before_the_request_is(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "rest", true); /* came whole, and waits for the origin */
	exchange_on_response(x, world_response(w, 200), true);
	assert_false(exchange_is_over(x));
	world_take(up);
	assert_string_equal(up->said, "end; detach");
	assert_true(exchange_is_over(x));
	assert_null(x->ending.cause);
	world_free(w);
}

static void upload_that_nobody_wants_is_given_up_with_the_origin(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	exchange_on_response(x, world_response(w, 200), true);
	assert_false(exchange_is_over(x));
	exchange_on_up_failed(x, &relay_cause_UP_RESET, 0, NULL);
	assert_string_equal(down->said, "head 200 end");
	world_pass(w, 2 * USEC_PER_SEC);
	assert_string_equal(down->said, "head 200 end; reset 0");
	assert_true(exchange_is_over(x));

	/* The same when the client's side has been closed meanwhile: there is nobody to tell. */
	x = world_connected(w, "POST", false, &down, &up);
	exchange_on_response(x, world_response(w, 200), true);
	world_upload(w, x, "rest", true);
	exchange_on_leg_closed(&x->down);
	exchange_on_up_failed(x, &relay_cause_UP_RESET, 0, NULL);
	assert_string_equal(down->said, "head 200 end");
	assert_int_equal(down->credit, 0);
	assert_true(exchange_is_over(x));
	world_free(w);
}

static void upload_after_an_answer_of_our_own_is_credited_and_forgotten(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = world_exchange(w, "POST", false, &down);
	exchange_refuse(x, &relay_cause_NO_ROUTE, NULL);
	world_upload(w, x, "0123456789", false);
	world_upload(w, x, "", false);
	assert_int_equal(down->credit, 10);
	assert_int_equal(x->upload.body.bytes, 0);
	world_upload(w, x, "more", true);
	assert_int_equal(down->credit, 10); /* nothing follows that would need it */
	assert_false(exchange_is_over(x));
	world_take(down);
	assert_string_equal(down->said, "head 404; end; detach");
	assert_true(exchange_is_over(x));

	/* Trailers end it as well, and go nowhere. */
	x = world_exchange(w, "POST", false, &down);
	exchange_refuse(x, &relay_cause_NO_ROUTE, NULL);
	exchange_on_upload_trailers(x, world_trailers(w));
	world_take(down);
	assert_string_equal(down->said, "head 404; end; detach");
	assert_null(x->upload.trailers);
	assert_true(exchange_is_over(x));
	world_free(w);
}

static void request_with_trailers_alone_has_its_end_behind_the_head(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	w->connects = false;
	struct exchange *x = world_exchange(w, "GET", false, &down);
	exchange_dispatch(x);
	exchange_on_upload_trailers(x, world_trailers(w));
	assert_non_null(x->upload.trailers); /* until there is somebody to send them to */
	w->connects = true;
	exchange_dispatch(x);
	assert_string_equal(world_leg_of(w, &x->up)->said, "trailers 1");
	assert_int_equal(x->upload.state, FLOW_DONE);
	exchange_on_response(x, world_response(w, 200), true);
	assert_true(exchange_is_over(x));
	world_free(w);
}

/* A tunnel is a stream of its own, whatever else routing says of the request. */
static void routing_is_taken_over_by_kind_of_request(void **state)
{
	(void)state;
	static const struct {
		struct request_routing routing;
		bool ended, is_asked, is_streaming, is_call;
	} rows[] = {
	    {{.is_call = true, .call_timeout = 7, .tunnel_bytes = 5}, false, false, false, false},
	    {{.is_streaming = true}, false, false, true, false},
	    {{.is_streaming = true}, true, false, false, false},
	    {{.is_streaming = true, .is_call = true, .call_timeout = 7}, false, false, true, true},
	    {{.is_tunnel = true, .upgrade = SLICE_INIT("websocket"), .tunnel_bytes = 5, .is_streaming = true}, false, true, true, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_new();
		struct world_leg *down;
		struct exchange *x = world_exchange(w, rows[i].routing.is_tunnel ? "GET" : "POST", rows[i].ended, &down);
		exchange_set_routing(x, &rows[i].routing);
		assert_int_equal(x->tunnel.is_asked, rows[i].is_asked);
		assert_int_equal(x->tunnel.bytes_most, rows[i].is_asked ? 5 : 0);
		assert_int_equal(x->terms.is_streaming, rows[i].is_streaming);
		assert_int_equal(x->terms.is_call, rows[i].is_call);
		assert_int_equal(x->terms.call_timeout, rows[i].is_call ? 7 : 0);
		exchange_dispatch(x);
		world_end(w);
	}
}

static void effort_is_spent_within_a_loop_pass(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = world_exchange(w, "GET", true, &down);
	assert_int_equal(exchange_effort_spent(x), 0);
	assert_true(effort_spend(exchange_effort(x), 100));
	assert_int_equal(exchange_effort_spent(x), 100);
	w->relay.now++;
	assert_int_equal(exchange_effort_spent(x), 0);
	assert_int_equal(exchange_effort(x)->left, LIMIT_EFFORT_OF_REQUEST);
	exchange_dispatch(x);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_that_comes_behind_the_end_is_heard),
	    cmocka_unit_test(structs_are_used_again_and_only_so_many_are_kept),
	    cmocka_unit_test(leg_without_a_budget_is_paid_for_by_the_worker),
	    cmocka_unit_test(request_that_ends_in_a_queue_leaves_it),
	    cmocka_unit_test(push_that_ends_while_it_waits_for_its_start_leaves_the_queue),
	    cmocka_unit_test(bytes_that_wait_for_the_client_are_counted_until_they_are_gone),
	    cmocka_unit_test(exchange_says_how_far_it_is),
	    cmocka_unit_test(trailers_on_their_way_are_a_state_of_their_own),
	    cmocka_unit_test(description_is_cut_where_there_is_no_room),
	    cmocka_unit_test(causes_know_their_place_in_the_table),
	    cmocka_unit_test(interim_responses_are_bounded_and_end_with_the_response),
	    cmocka_unit_test(response_may_be_whole_before_the_request_is),
	    cmocka_unit_test(upload_that_nobody_wants_is_given_up_with_the_origin),
	    cmocka_unit_test(upload_after_an_answer_of_our_own_is_credited_and_forgotten),
	    cmocka_unit_test(request_with_trailers_alone_has_its_end_behind_the_head),
	    cmocka_unit_test(routing_is_taken_over_by_kind_of_request),
	    cmocka_unit_test(effort_is_spent_within_a_loop_pass),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
