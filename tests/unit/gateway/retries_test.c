/* SPDX-License-Identifier: MIT */
/* A request that one server fails is answered by another one: each reason has a counter of its own, and no other moves. */
#include "tests/support/gateway_world.h"

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 2, true);
}

static void refuse(struct gate_stream *s)
{
	gate_reset_stream(s, SESSION_REFUSED_STREAM);
}

static void lose(struct gate_stream *s)
{
	gate_peer_abort(s->peer);
}

static void say_nothing(struct gate_stream *s)
{
	(void)s;
}

static void fail_503(struct gate_stream *s)
{
	gate_answer(s, 503, 2, true);
}

/* What the server that fails does, what the route has for it, and the reason that is counted. */
static const struct {
	void (*serve)(struct gate_stream *s);
	const char *route;
	bool unprocessed, lost, late, status;
} rows[] = {
    {refuse, "", .unprocessed = true},
    {lose, "retry-on = lost\n", .lost = true},
    {say_nothing, "retry-on = late\n", .late = true},
    {fail_503, "retry-on = 503\n", .status = true},
};

static struct gate_world *fleet(const char *budget, const char *route)
{
	char more[512];
	snprintf(more, sizeof(more),
	    "[origin f]\nserver = %%A\nserver = %%B\nbalance = round-robin\nresponse-timeout = 2s\n"
	    "retry-budget = %s\n[route r]\norigin = f\n%s", budget, route);
	return gate_world_new(NULL, NULL, NULL, more);
}

/* One request for each server in turn: one of them fails. */
static void each_retry_counts_for_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gate_world *w = fleet("100%", rows[i].route);
		w->sites[0].serve = ok;
		w->sites[1].serve = rows[i].serve;
		struct gate_peer *c = gate_client(w, NULL);
		for (unsigned n = 0; n < 2; n++) {
			struct gate_stream *s = gate_get(c, "/");
			UNTIL(w, s->is_over);
			assert_int_equal(s->status, 200);
		}
		size_t failed = gate_seen(&w->sites[1], "/");
		assert_true(failed > 0);
		assert_int_equal(w->counters.retries_unprocessed, rows[i].unprocessed ? failed : 0);
		assert_int_equal(w->counters.retries_lost, rows[i].lost ? failed : 0);
		assert_int_equal(w->counters.retries_late, rows[i].late ? failed : 0);
		assert_int_equal(w->counters.retries_status, rows[i].status ? failed : 0);
		assert_int_equal(w->counters.retries_over_budget, 0);
		gate_world_free(w);
	}
}

/* No retry is one that the budget does not allow, and none that the route does not ask for. */
static void what_is_not_sent_again_counts_for_no_reason(void **state)
{
	(void)state;
	for (unsigned is_asked = 0; is_asked < 2; is_asked++) {
		struct gate_world *w = fleet("0%", is_asked ? "retry-on = 503\n" : "retry-on = lost\n");
		w->sites[0].serve = w->sites[1].serve = fail_503;
		struct gate_peer *c = gate_client(w, NULL);
		struct gate_stream *s = gate_get(c, "/");
		UNTIL(w, s->is_over);
		assert_int_equal(s->status, 503);
		assert_int_equal(w->counters.retries_over_budget, is_asked);
		assert_int_equal(w->counters.retries_status, 0);
		gate_world_free(w);
	}
}

/* ---- an origin with one server ---- */

static unsigned refusals_left;

static void refuse_some(struct gate_stream *s)
{
	if (refusals_left == 0) {
		ok(s);
		return;
	}
	refusals_left--;
	refuse(s);
}

/* What the one server has refused, and its budget for more than one retry. */
static const struct {
	unsigned refusals;
	const char *budget;
	unsigned status, seen, over_budget;
} lone_rows[] = {
    {1, "0%", 200, 2, 0},
    {2, "0%", 503, 2, 1},
    {2, "100%", 200, 3, 0},
    {3, "100%", 503, 3, 0},
};

/* Two connections may end at the same time, and a request that met both was processed by neither (RFC 9113 8.7). */
static void what_a_lone_server_has_not_processed_is_sent_three_times_at_most(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lone_rows) / sizeof(lone_rows[0]); i++) {
		char more[256];
		snprintf(more, sizeof(more),
		    "[origin f]\nserver = %%A\nretry-budget = %s\n[route r]\norigin = f\n", lone_rows[i].budget);
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, more);
		refusals_left = lone_rows[i].refusals;
		w->sites[0].serve = refuse_some;
		struct gate_peer *c = gate_client(w, NULL);
		struct gate_stream *s = gate_get(c, "/");
		UNTIL(w, s->is_over);
		assert_int_equal(s->status, lone_rows[i].status);
		assert_int_equal(gate_seen(&w->sites[0], "/"), lone_rows[i].seen);
		assert_int_equal(w->counters.retries_unprocessed, lone_rows[i].seen - 1);
		assert_int_equal(w->counters.retries_over_budget, lone_rows[i].over_budget);
		gate_world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_retry_counts_for_its_reason),
	    cmocka_unit_test(what_is_not_sent_again_counts_for_no_reason),
	    cmocka_unit_test(what_a_lone_server_has_not_processed_is_sent_three_times_at_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
