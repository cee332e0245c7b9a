/* SPDX-License-Identifier: MIT */
/* How a gateway ends: gracefully, past the deadline, at once, and when memory is short. */
#include "tests/support/gateway_world.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* covers: R40 R63 R65 */

#define LONG (60 * USEC_PER_SEC)

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 5, true);
}

static void an_idle_gateway_is_drained_at_once(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	gate_world_drain(w, LONG);
	UNTIL(w, w->drained == 1);
	gate_world_free(w);
}

static void idle_clients_receive_goaway(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over);
	gate_world_drain(w, LONG);
	UNTIL(w, w->drained == 1);
	UNTIL(w, c->ended);
	assert_true(c->goaway_came);
	assert_int_equal(c->goaway_code, SESSION_NO_ERROR);
	gate_passes(w);
	assert_int_equal(w->drained, 1);
	gate_world_free(w);
}

static void open_exchanges_are_finished(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *page = gate_get(c, "/page");
	UNTIL(w, gate_find(w, "/page"));
	struct gate_stream *at = gate_find(w, "/page");
	struct gate_stream *push = gate_promise(at, "http", "example.com", "/a.css");
	UNTIL(w, gate_find_at(c, "/a.css"));
	gate_world_drain(w, LONG);
	gate_passes(w);
	assert_int_equal(w->drained, 0);
	assert_true(c->goaway_came);
	/* No promise after the first GOAWAY. */
	struct gate_stream *late = gate_promise(at, "http", "example.com", "/b.css");
	UNTIL(w, late->is_over);
	gate_answer(at, 200, 50000, true);
	UNTIL(w, page->is_over);
	assert_int_equal(page->received, 50000);
	assert_int_equal(w->drained, 0);
	gate_answer(push, 200, 6, true);
	UNTIL(w, w->drained == 1);
	UNTIL(w, gate_find_at(c, "/a.css")->is_over);
	assert_int_equal(gate_find_at(c, "/a.css")->received, 6);
	gate_world_free(w);
}

static void requests_in_the_queue_are_finished_too(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
	w->sites[0].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *first = gate_get(c, "/first"), *second = gate_get(c, "/second");
	UNTIL(w, gate_find(w, "/first"));
	gate_world_drain(w, LONG);
	gate_passes(w);
	w->sites[0].serve = ok;
	ok(gate_find(w, "/first"));
	UNTIL(w, w->drained == 1);
	UNTIL(w, first->is_over && second->is_over);
	assert_int_equal(first->status, 200);
	assert_int_equal(second->status, 200);
	gate_world_free(w);
}

static void a_late_drain_answers_503_or_resets(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
	w->sites[0].options.max_streams = 2;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *begun = gate_get(c, "/begun"), *asked = gate_get(c, "/asked"),
			  *queued = gate_get(c, "/queued");
	UNTIL(w, gate_find(w, "/begun") && gate_find(w, "/asked"));
	gate_answer(gate_find(w, "/begun"), 200, 5, false);
	struct gate_stream *push =
	    gate_promise(gate_find(w, "/begun"), "http", "example.com", "/a.css");
	UNTIL(w, begun->received == 5 && gate_find_at(c, "/a.css"));
	gate_world_drain(w, 50 * USEC_PER_MSEC);
	UNTIL(w, w->drained == 1);
	UNTIL(w, begun->is_over && asked->is_over && queued->is_over && push->is_over);
	assert_true(begun->was_reset);
	assert_int_equal(begun->code, SESSION_CANCEL);
	assert_int_equal(asked->status, 503);
	assert_int_equal(queued->status, 503);
	assert_true(gate_find_at(c, "/a.css")->was_reset);
	gate_world_free(w);
}

static void connections_before_their_preface_do_not_delay_the_drain(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	int fd = gate_raw(w);
	UNTIL(w, w->counters.connections_open == 1);
	gate_world_drain(w, LONG);
	UNTIL(w, w->drained == 1);
	close(fd);
	gate_world_free(w);
}

/* The end of the process would answer what the client still sends with a reset, which destroys what it has not read. */
static void the_drain_waits_for_a_client_that_has_not_closed_yet(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	int fd = gate_raw(w);
	char byte;
	UNTIL(w, w->counters.connections_open == 1);
	gate_world_drain(w, LONG);
	UNTIL(w, recv(fd, &byte, 1, MSG_DONTWAIT) == 0);
	gate_passes(w);
	assert_int_equal(w->drained, 0);
	close(fd);
	UNTIL(w, w->drained == 1);
	gate_world_free(w);
}

static void a_client_that_never_reads_does_not_delay_the_drain(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	const struct gate_peer_options shut = {.window = UINT32_MAX};
	struct gate_peer *c = gate_client(w, &shut);
	w->sites[0].serve = ok;
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->status == 200);
	gate_world_drain(w, 50 * USEC_PER_MSEC);
	UNTIL(w, w->drained == 1);
	gate_world_free(w);
}

/* ---- gateway_free in any state ---- */

static void gateway_free_ends_every_exchange_at_once(void **state)
{
	(void)state;
	/* A little more happens each time. */
	for (unsigned passes = 0; passes < 40; passes++) {
		struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
		w->sites[0].options.max_streams = 3;
		const struct gate_peer_options one = {.max_streams = 1};
		struct gate_peer *c = gate_client(w, &one);
		for (unsigned i = 0; i < 5; i++)
			gate_get(c, "/page");
		struct gate_stream *up = gate_request(c, "POST", "example.com", "/up", false, NULL);
		gate_more(up, 100000, false);
		bool has_answered = false;
		for (unsigned i = 0; i < passes; i++) {
			net_run_once(w->loop, 0);
			struct gate_stream *at = gate_find(w, "/page");
			if (!at || has_answered)
				continue;
			has_answered = true;
			for (unsigned j = 0; j < 3; j++) {
				struct gate_stream *push =
				    gate_promise(at, "http", "example.com", j ? "/a" : "/b");
				if (push)
					gate_answer(push, 200, 100000, j == 0);
			}
			gate_answer(at, 200, 300000, false);
		}
		if (passes & 1)
			gate_world_drain(w, LONG);
		gate_world_free(w);
	}
}

/* ---- memory ---- */

/* One request with an upload with trailers, interim responses, waiting pushes and response trailers. */
static void a_busy_exchange(struct gate_world *w)
{
	const struct gate_peer_options one = {.max_streams = 1};
	struct gate_peer *c = gate_client(w, &one);
	struct gate_stream *page = gate_request(c, "POST", "example.com", "/page", false, NULL);
	gate_more(page, 5000, false);
	bool has_promised = false, has_ended = false;
	for (unsigned passes = 0; passes < 4000 && !page->is_over && !c->ended; passes++) {
		net_run_once(w->loop, USEC_PER_MSEC);
		struct gate_stream *at = gate_find(w, "/page");
		if (at && at->handle && !has_promised) {
			has_promised = true;
			gate_answer(at, 103, 0, false);
			for (unsigned j = 0; j < 3; j++) {
				static const char *const paths[] = {"/a", "/b", "/c"};
				struct gate_stream *push =
				    gate_promise(at, "http", "example.com", paths[j]);
				if (push)
					gate_answer(push, 200, 20000, true);
			}
			gate_answer(at, 200, 50000, false);
		}
		if (page->out == 0 && page->handle && !page->out_end && has_promised &&
		    !has_ended) {
			has_ended = true;
			gate_trailers(page);
		}
		if (has_ended && at && at->ended && at->out == 0 && at->handle && at->status == 0) {
			at->status = 1;
			gate_trailers(at);
		}
	}
	assert_true(page->is_over || c->ended);
	/* The client is dealt with in good order, and never for a fault. */
	if (page->is_over && page->was_reset && page->unprocessed)
		assert_int_equal(page->code, SESSION_REFUSED_STREAM);
	gate_passes(w);
}

static void every_refusal_of_memory_is_survived(void **state)
{
	(void)state;
	size_t n = 0;
	bool was_refused = true;
	while (was_refused) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		budget_fail_nth(&w->gateway->env.budget, ++n);
		a_busy_exchange(w);
		was_refused = w->gateway->env.budget.refused > 0;
		/* Afterwards it works as ever. */
		budget_fail_nth(&w->gateway->env.budget, 0);
		w->sites[0].serve = ok;
		struct gate_peer *c = gate_client(w, NULL);
		struct gate_stream *s = gate_get(c, "/after");
		UNTIL(w, s->is_over);
		assert_int_equal(s->status, 200);
		gate_world_free(w);
		assert_true(n < 500);
	}
	assert_true(n > 5);
}

static void slow_exchanges_end_when_memory_is_short(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new("memory = 16M", NULL, NULL, NULL);
	const struct gate_peer_options stuck = {.keeps_credit = true, .window = 1};
	struct gate_peer *slow[2] = {gate_client(w, &stuck), gate_client(w, &stuck)};
	for (unsigned i = 0; i < 100; i++) {
		gate_get(slow[0], "/slow");
		gate_get(slow[1], "/slow");
	}
	UNTIL(w, gate_seen(&w->sites[0], "/slow") == 200);
	for (size_t i = 0; i < w->sites[0].peer_count; i++)
		for (size_t j = 0; j < w->sites[0].peers[i]->stream_count; j++)
			gate_answer(w->sites[0].peers[i]->streams[j], 200, 1000000, true);
	/* 200 windows of 256 KiB would be 50 MiB. */
	for (unsigned i = 0; i < 40; i++)
		gate_passes(w);
	assert_true(w->gateway->env.budget.peak_bytes < 40u << 20);
	/* Somebody who reads is served all the while. */
	w->sites[0].serve = ok;
	UNTIL(w, budget_room(&w->gateway->env.budget) > 0);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_idle_gateway_is_drained_at_once),
	    cmocka_unit_test(idle_clients_receive_goaway),
	    cmocka_unit_test(open_exchanges_are_finished),
	    cmocka_unit_test(requests_in_the_queue_are_finished_too),
	    cmocka_unit_test(a_late_drain_answers_503_or_resets),
	    cmocka_unit_test(connections_before_their_preface_do_not_delay_the_drain),
	    cmocka_unit_test(the_drain_waits_for_a_client_that_has_not_closed_yet),
	    cmocka_unit_test(a_client_that_never_reads_does_not_delay_the_drain),
	    cmocka_unit_test(gateway_free_ends_every_exchange_at_once),
	    cmocka_unit_test(every_refusal_of_memory_is_survived),
	    cmocka_unit_test(slow_exchanges_end_when_memory_is_short),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
