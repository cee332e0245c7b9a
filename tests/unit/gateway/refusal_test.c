/* SPDX-License-Identifier: MIT */
/*
 * Refused memory. A scenario is played once to count its charges to a budget, and then once for each charge with that
 * one refused: nothing hangs, crashes or leaks, delivered messages are complete, other clients are served, and all
 * memory is freed.
 */
#include "tests/support/gateway_world.h"

#define BODY 40000u
#define OTHER 30000u
#define PATIENCE 8000u /* passes; a millisecond each where nothing happens */

/* The budget whose charges are counted and refused. */
enum whose { WORKER, CLIENTS, ORIGINS, WHOSE_COUNT };

struct scenario {
	const char *name, *origin, *rules;
	const char *path; /* of the request */
	const char *method;
	size_t upload;
	bool has_trailers, is_navigation;
	size_t field_bytes;    /* of a request field so long that it needs CONTINUATION */
	const char *pushes[3]; /* what the origin promises */
	const char *again;     /* asked for when the page is over */
	size_t times;          /* at once */
	size_t counter;        /* what shows that it took place */
};

#define ALL "[route a]\norigin = a\n"
#define DO(action) ALL "[push it]\naction = " action "\nhint-clients = all\n"
#define COUNTER(name) .counter = offsetof(struct observe_counters, name)
#define HOLD_FIELDS "cache-control", "max-age=600"

static const struct scenario scenarios[] = {
    {.name = "both bodies and trailers", .path = "/page", .method = "POST", .upload = BODY, .has_trailers = true, .rules = ALL, .times = 1, COUNTER(up_out_bytes)},
    {.name = "forward", .path = "/page", .method = "GET", .pushes = {"/a", "/b"}, .rules = DO("forward"), .times = 1, COUNTER(pushes_completed)},
    {.name = "hold and claim", .path = "/page", .method = "GET", .pushes = {"/a", "/b"}, .again = "/a", .rules = DO("hold"), .times = 1, COUNTER(holds_claimed)},
    {.name = "hint", .path = "/page", .method = "GET", .pushes = {"/a", "/b"}, .is_navigation = true, .rules = DO("hint"), .times = 1, COUNTER(pushes_hinted)},
    {.name = "own push", .path = "/page", .method = "GET", .rules = DO("forward") "[preload p]\nadd = /own.css as=style\n", .times = 1, COUNTER(pushes_completed)},
    {.name = "queue", .path = "/page", .method = "POST", .upload = BODY, .origin = "max-connections = 1", .rules = ALL, .times = 4, COUNTER(up_out_bytes)},
    {.name = "continuation", .path = "/page", .method = "GET", .field_bytes = 20000, .rules = ALL, .times = 1, COUNTER(requests)},
};

static void answer(struct gate_stream *s, size_t body, bool end)
{
	gate_answer_fields(s, 200, false, HOLD_FIELDS, NULL);
	gate_more(s, body, end);
}

static const struct scenario *playing;

static void serve(struct gate_stream *s)
{
	bool is_page = strcmp(s->path, playing->path) == 0;
	if (strcmp(s->path, "/other") == 0) {
		answer(s, OTHER, true);
		return;
	}
	for (size_t i = 0; is_page && i < 3 && playing->pushes[i]; i++) {
		struct gate_stream *push = gate_promise(s, "http", "example.com", playing->pushes[i]);
		if (push)
			answer(push, BODY, true);
	}
	answer(s, BODY, !(is_page && playing->has_trailers));
}

static struct gate_stream *asks(struct gate_peer *c, const struct scenario *p)
{
	char field[32768] = "";
	memset(field, 'v', p->field_bytes);
	struct gate_stream *s = gate_request(c, p->method, "example.com", p->path, p->upload == 0,
	    "sec-fetch-mode", p->is_navigation ? "navigate" : "cors", "x-long", field, NULL);
	if (p->upload > 0)
		gate_more(s, p->upload, !p->has_trailers);
	return s;
}

static bool is_over(const struct gate_stream *s)
{
	return s->is_over || s->peer->ended || s->peer->failed;
}

/* Sends the trailers of each message whose body is complete. */
static void end_bodies(struct gate_world *w, struct gate_stream *s)
{
	struct gate_stream *at = gate_find(w, s->path);
	if (!playing->has_trailers)
		return;
	if (s->out == 0 && s->handle && !s->out_end) {
		s->out_end = true;
		gate_trailers(s);
	}
	if (at && at->out == 0 && at->handle && at->ended && !at->out_end) {
		at->out_end = true;
		gate_trailers(at);
	}
}

static void until_over(struct gate_world *w, struct gate_stream *s)
{
	for (unsigned passes = 0; !is_over(s); passes++) {
		if (passes > PATIENCE)
			fail_msg("%s: %s hangs", playing->name, s->path);
		net_run_once(w->loop, USEC_PER_MSEC);
		end_bodies(w, s);
	}
}

/* The response is complete, or its failure was reported. */
static void assert_complete_or_failed(const struct gate_stream *s, size_t whole)
{
	if (s->was_reset || !s->is_over) {
		assert_true(s->received <= whole);
		return;
	}
	if (s->status == 200)
		assert_int_equal(s->received, whole);
	else
		assert_true(s->status == 502 || s->status == 503);
}

/* The budget whose charges are counted; a connection's exists since the first request. */
static struct budget *budget_of(struct gate_world *w, enum whose whose)
{
	if (whose == WORKER)
		return &w->gateway->env.budget;
	if (whose == CLIENTS && !list_is_empty(&w->gateway->clients.conns))
		return &list_first(&w->gateway->clients.conns, struct client_conn, link)->budget;
	struct origin_conn *c = whose == ORIGINS ? gate_first_conn(w) : NULL;
	return c ? &c->budget : NULL;
}

/* The n-th charge was refused; that may also have ended the connection to which the budget belongs. */
static bool was_refused(struct gate_world *w, enum whose whose, const struct budget *budget)
{
	return budget_of(w, whose) != budget || budget->fail_in == 0;
}

/* Plays the clients; `other` uses its own connection. */
static void exchange(struct gate_world *w, struct gate_peer *c, struct gate_peer *innocent, bool spares_others)
{
	const struct scenario *p = playing;
	struct gate_stream *streams[4];
	for (size_t i = 0; i < p->times; i++)
		streams[i] = asks(c, p);
	struct gate_stream *other = gate_get(innocent, "/other");
	for (size_t i = 0; i < p->times; i++)
		until_over(w, streams[i]);
	if (p->again && !c->ended && !c->goaway_came && !c->failed)
		until_over(w, gate_get(c, p->again));
	until_over(w, other);
	for (size_t i = 1; i < c->stream_count; i++)
		assert_complete_or_failed(c->streams[i], BODY);
	assert_complete_or_failed(other, OTHER);
	if (spares_others)
		assert_int_equal(other->received, OTHER);
}

/* Returns whether there was an n-th charge, which was refused. */
static bool play(const struct scenario *p, enum whose whose, size_t n)
{
	struct gate_world *w = gate_world_new(NULL, NULL, p->origin, p->rules);
	playing = p;
	w->sites[0].serve = serve;
	w->sites[0].options.max_streams = p->times > 1 ? 1 : 0;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/other");
	until_over(w, s);
	assert_int_equal(s->received, OTHER);
	struct budget *budget = budget_of(w, whose);
	assert_non_null(budget);
	budget_fail_nth(budget, n);
	exchange(w, c, gate_client(w, NULL), whose == CLIENTS);
	bool refused = was_refused(w, whose, budget);
	/* Afterwards it works as ever. */
	if (!refused)
		budget_fail_nth(budget, 0);
	s = gate_get(gate_client(w, NULL), "/other");
	until_over(w, s);
	assert_int_equal(s->received, OTHER);
	if (!refused)
		assert_true(*(const uint64_t *)((const char *)&w->counters + p->counter) > 0);
	gate_world_free(w); /* ensures that everything is given back */
	return refused;
}

static void every_refused_charge_is_survived(void **state)
{
	const struct scenario *p = *state;
	for (enum whose whose = WORKER; whose < WHOSE_COUNT; whose++) {
		size_t n = 1;
		while (play(p, whose, n))
			assert_true(++n < 100);
		assert_true(n > 1);
	}
}

/* covers: R63 */
int main(void)
{
	enum { COUNT = sizeof(scenarios) / sizeof(scenarios[0]) };
	struct CMUnitTest tests[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){.name = scenarios[i].name,
		    .test_func = every_refused_charge_is_survived,
		    .initial_state = (void *)(uintptr_t)&scenarios[i]};
	return cmocka_run_group_tests_name("any take may be refused", tests, NULL, NULL);
}
