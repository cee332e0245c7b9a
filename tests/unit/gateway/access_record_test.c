/* SPDX-License-Identifier: MIT */
/* What is logged and counted of an exchange, by how it ended. */
/* covers: R65 R66 */
#include "tests/support/gateway_world.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct scene {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_stream *s, *at; /* the request, here and at its origin */
	char log[8192];
};

/* Ends the scene's world; s->log has the lines of all exchanges. */
static void ends(struct scene *s)
{
	struct gate_world *w = s->w;
	int file = w->observe.access_fd;
	UNTIL(w, w->counters.requests_open == 0);
	observe_flush(&w->observe);
	ssize_t n = pread(file, s->log, sizeof(s->log) - 1, 0);
	assert_true(n > 0);
	s->log[n] = '\0';
	w->observe.access_fd = -1;
	close(file);
}

static struct scene scene(const char *origin, const char *more)
{
	const struct gate_peer_options tunnels = {.takes_tunnels = true};
	struct scene s = {.w = gate_world_new(NULL, NULL, origin, more)};
	s.w->sites[0].options = tunnels;
	s.w->observe.access_fd = memfd_create("access", 0);
	assert_true(s.w->observe.access_fd >= 0);
	s.client = gate_client(s.w, NULL);
	return s;
}

static void posts(struct scene *s)
{
	s->s = gate_request(s->client, "POST", "example.com", "/a", false, "user-agent", "tester", "referer",
	    "http://before/", NULL);
	UNTIL(s->w, gate_find(s->w, "/a"));
	s->at = gate_find(s->w, "/a");
	gate_more(s->s, 5, false);
	UNTIL(s->w, s->at->received == 5);
}

static void has(const struct scene *s, const char *text)
{
	if (!strstr(s->log, text))
		fail_msg("%s is not in %s", text, s->log);
}

static void has_no(const struct scene *s, const char *text)
{
	if (strstr(s->log, text))
		fail_msg("%s is in %s", text, s->log);
}

/* ---- how a request ends ---- */

static void is_complete(struct scene *s)
{
	gate_more(s->s, 0, true);
	gate_answer(s->at, 201, 40, true);
	UNTIL(s->w, s->s->is_over);
}

static void is_reset_by_client(struct scene *s)
{
	gate_answer(s->at, 200, 40, false);
	UNTIL(s->w, s->s->received == 40);
	gate_reset_stream(s->s, SESSION_CANCEL);
}

static void loses_client(struct scene *s)
{
	gate_peer_abort(s->client);
}

static void is_reset_by_origin(struct scene *s)
{
	gate_reset_stream(s->at, SESSION_INTERNAL_ERROR);
	UNTIL(s->w, s->s->is_over || s->s->status == 502);
	gate_more(s->s, 0, true);
}

static void loses_origin(struct scene *s)
{
	gate_peer_abort(s->at->peer);
	UNTIL(s->w, s->s->status == 502);
	gate_more(s->s, 0, true);
}

static void is_late(struct scene *s)
{
	gate_more(s->s, 0, true);
	UNTIL(s->w, s->s->status == 504);
}

static const struct {
	void (*end)(struct scene *s);
	const char *outcome, *status, *more; /* in the line */
	bool is_own, is_aborted;
} ends_of_requests[] = {
    {is_complete, "\"outcome\":\"complete\"", "\"status\":201", "\"response_bytes\":40", false, false},
    {is_reset_by_client, "\"outcome\":\"client-reset\",\"code\":8,\"code_name\":\"CANCEL\"", "\"status\":200",
	"\"response_bytes\":40", false, true},
    {loses_client, "\"outcome\":\"client-lost\"", "\"status\":0", "\"response_bytes\":0", false, true},
    {is_reset_by_origin, "\"outcome\":\"origin-reset\",\"code\":2,\"code_name\":\"INTERNAL_ERROR\"", "\"status\":502",
	"\"detail\":\"origin-reset\"", true, false},
    {loses_origin, "\"outcome\":\"origin-lost\"", "\"status\":502", "\"detail\":", true, false},
    {is_late, "\"outcome\":\"timeout\"", "\"status\":504", "\"detail\":\"response-late\"", true, false},
};

static void each_end_of_a_request_has_its_line_and_its_counters(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ends_of_requests) / sizeof(ends_of_requests[0]); i++) {
		struct scene s = scene("response-timeout = 300ms", NULL);
		const struct observe_counters *c = &s.w->counters;
		posts(&s);
		ends_of_requests[i].end(&s);
		ends(&s);
		has(&s, ends_of_requests[i].outcome);
		has(&s, ends_of_requests[i].status);
		has(&s, ends_of_requests[i].more);
		has(&s, "\"origin\":\"a\"");
		has(&s, "\"method\":\"POST\",\"scheme\":\"http\",\"authority\":\"example.com\",\"path\":\"/a\"");
		has(&s, "\"user_agent\":\"tester\",\"referer\":\"http://before/\"");
		has(&s, "\"request_bytes\":5");
		has(&s, "\"origin_request_bytes\":5");
		has_no(&s, "\"tunnel");
		has_no(&s, "\"push\"");
		assert_int_equal(c->requests, 1);
		assert_int_equal(c->down_in_bytes, 5);
		assert_int_equal(c->up_out_bytes, 5);
		assert_int_equal(c->responses_own, ends_of_requests[i].is_own);
		assert_int_equal(c->requests_aborted, ends_of_requests[i].is_aborted);
		assert_int_equal(c->tunnels_refused, 0);
		gate_world_free(s.w);
	}
}

/* ---- tunnels ---- */

static void a_tunnel_has_its_bytes_and_says_who_ended_it(void **state)
{
	(void)state;
	for (unsigned by_client = 0; by_client < 2; by_client++) {
		struct scene s = scene(NULL, "[route r]\norigin = a\nupgrade = echo\n");
		UNTIL(s.w, s.client->settings_came > 0);
		s.s = gate_tunnel(s.client, "echo", "/t");
		UNTIL(s.w, gate_find(s.w, "/t"));
		s.at = gate_find(s.w, "/t");
		gate_answer(s.at, 200, 30, false);
		gate_more(s.s, 20, false);
		UNTIL(s.w, s.s->received == 30 && s.at->received == 20);
		assert_int_equal(s.w->counters.tunnels_open, 1);
		gate_more(by_client ? s.s : s.at, 0, true);
		UNTIL(s.w, by_client ? s.at->ended : s.s->ended);
		gate_more(by_client ? s.at : s.s, 0, true);
		ends(&s);
		has(&s, by_client ? "\"tunnel\":\"echo\",\"tunnel_ended\":\"client\"" : "\"tunnel\":\"echo\",\"tunnel_ended\":\"origin\"");
		has(&s, "\"status\":200,\"request_bytes\":20,\"response_bytes\":30");
		assert_int_equal(s.w->counters.tunnels_open, 0);
		assert_int_equal(s.w->counters.tunnel_up_bytes, 20);
		assert_int_equal(s.w->counters.tunnel_down_bytes, 30);
		assert_int_equal(s.w->counters.requests_aborted, 0);
		gate_world_free(s.w);
	}
}

/* ---- pushes ---- */

static void each_end_of_a_push_has_its_line_and_its_counters(void **state)
{
	(void)state;
	static const struct {
		const char *outcome;
		unsigned completed, reset, failed;
	} rows[] = {
	    {"\"outcome\":\"complete\"", 1, 0, 0},
	    {"\"outcome\":\"client-reset\"", 0, 1, 0},
	    {"\"outcome\":\"origin-reset\"", 0, 0, 1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = scene(NULL, NULL);
		const struct observe_counters *c = &s.w->counters;
		s.s = gate_get(s.client, "/a");
		UNTIL(s.w, gate_find(s.w, "/a"));
		s.at = gate_find(s.w, "/a");
		struct gate_stream *pushed_at = gate_promise(s.at, "http", "example.com", "/p.css");
		gate_answer(s.at, 200, 10, true);
		gate_answer(pushed_at, 200, 60, false);
		UNTIL(s.w, gate_find_at(s.client, "/p.css") && gate_find_at(s.client, "/p.css")->received == 60);
		struct gate_stream *pushed = gate_find_at(s.client, "/p.css");
		if (i == 0)
			gate_more(pushed_at, 0, true);
		else
			gate_reset_stream(i == 1 ? pushed : pushed_at, i == 1 ? SESSION_CANCEL : SESSION_INTERNAL_ERROR);
		ends(&s);
		has(&s, rows[i].outcome);
		has(&s, "\"response_bytes\":60");
		has(&s, "\"push\":true,\"parent\":");
		assert_int_equal(c->pushes_open, 0);
		assert_int_equal(c->pushes_completed, rows[i].completed);
		assert_int_equal(c->pushes_reset, rows[i].reset);
		assert_int_equal(c->pushes_failed, rows[i].failed);
		assert_int_equal(c->push_out_bytes, 60);
		assert_int_equal(c->push_reset_bytes, rows[i].reset ? 60 : 0);
		assert_int_equal(c->pushes_withdrawn, 0);
		assert_int_equal(c->down_out_bytes, 70);
		gate_world_free(s.w);
	}
}

/* ---- causes ---- */

static void each_cause_is_counted_and_those_of_memory_twice(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *client = gate_client(w, NULL);
	const struct observe_counters *c = &w->counters;
	for (size_t i = 0; i < RELAY_CAUSE_COUNT; i++) {
		const struct relay_cause *cause = relay_cause_table[i];
		if (cause->status > 0 && cause->status < 400) /* an answer of a route */
			continue;
		gate_get(client, "/a");
		UNTIL(w, c->requests_open == 1);
		const struct observe_counters before = *c;
		exchange_abort(list_first(&w->gateway->relay.live, struct exchange, link), cause, NULL);
		UNTIL(w, c->requests_open == 0);
		for (size_t k = 0; k < RELAY_CAUSE_COUNT; k++)
			assert_int_equal(c->causes[k] - before.causes[k], k == i);
		assert_int_equal(c->shed_offers - before.shed_offers, cause == &relay_cause_SHED);
		assert_int_equal(c->shed_streams - before.shed_streams,
		    cause == &relay_cause_MEMORY_STALLED || cause == &relay_cause_MEMORY_SHORT);
	}
	gate_world_free(w);
}

/* ---- held responses ---- */

static void each_outcome_of_a_held_response_has_its_counter(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	const struct observe_counters *c = &w->counters;
	const struct {
		struct hold_note note;
		const uint64_t *counters[2]; /* of which each goes up by one, and no other */
	} rows[] = {
	    {{.outcome = HOLD_CLAIMED}, {&c->holds_claimed}},
	    {{.outcome = HOLD_CLAIMED, .is_live = true}, {&c->holds_claimed, &c->holds_joined}},
	    {{.outcome = HOLD_MISSED, .is_live = true, .miss = HOLD_MISS_LOST}, {&c->holds_missed, &c->misses[HOLD_MISS_LOST]}},
	    {{.outcome = HOLD_EXPIRED}, {&c->holds_expired}},
	    {{.outcome = HOLD_EVICTED}, {&c->holds_evicted}},
	    {{.outcome = HOLD_EVICTED, .reason = &policy_reason_HOLD_SHED}, {&c->holds_evicted, &c->shed_holds}},
	    {{.outcome = HOLD_INVALIDATED}, {&c->holds_invalidated}},
	    {{.outcome = HOLD_FAILED}, {&c->holds_failed}},
	    {{.outcome = HOLD_WITHDRAWN}, {NULL}},
	};
	const uint64_t *const all[] = {&c->holds_claimed, &c->holds_joined, &c->holds_missed, &c->misses[HOLD_MISS_LOST],
	    &c->holds_expired, &c->holds_evicted, &c->shed_holds, &c->holds_invalidated, &c->holds_failed};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		w->counters = (struct observe_counters){0};
		access_record_held(w->gateway, &rows[i].note);
		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			if (*all[k] != (all[k] == rows[i].counters[0] || all[k] == rows[i].counters[1]))
				fail_msg("row %zu: counter %zu is %llu", i, k, (unsigned long long)*all[k]);
	}
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_end_of_a_request_has_its_line_and_its_counters),
	    cmocka_unit_test(a_tunnel_has_its_bytes_and_says_who_ended_it),
	    cmocka_unit_test(each_end_of_a_push_has_its_line_and_its_counters),
	    cmocka_unit_test(each_cause_is_counted_and_those_of_memory_twice),
	    cmocka_unit_test(each_outcome_of_a_held_response_has_its_counter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
