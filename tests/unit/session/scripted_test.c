/* SPDX-License-Identifier: MIT */
/*
 * The data plane on a protocol that is not HTTP/2 (scripted_session.h): whatever it does for requests and pushes it
 * does by session.h alone, and it makes nothing that a session cannot carry.
 */
#include "tests/support/script_peer.h"

#include <stdio.h>

static const struct session_protocol *const alone[] = {&session_scripted, NULL};

#define ALL "[route a]\norigin = a\n"
#define DO(action) ALL "[push it]\naction = " action "\n"
#define READY "ready 100 65535 1"
#define PAGE "GET http example.com /page"
#define STYLE "GET http example.com /a.css"

/* A scripted client has asked a scripted origin for /page, and the origin has the request. */
struct scene {
	struct gate_world *w;
	struct script_peer *client, *origin;
};

static struct gate_world *serve(const char *server, const char *listen, const char *origin, const char *more)
{
	struct gate_world *w = gate_world_with(alone, server, listen, origin, more);
	script_site(&w->sites[0]);
	script_site(&w->sites[1]);
	return w;
}

static struct gate_world *world(const char *listen, const char *origin, const char *more)
{
	return serve(NULL, listen, origin, more);
}

static struct scene ask(struct gate_world *w)
{
	struct scene s = {.w = w, .client = script_client(w)};
	script_say(s.client, "head 1. " PAGE "|sec-fetch-mode: navigate");
	s.origin = script_origin(&w->sites[0], 0);
	script_say(s.origin, READY);
	SCRIPT_SEES(s.origin, "head 1. " PAGE);
	return s;
}

static struct scene scene(const char *more)
{
	return ask(world(NULL, NULL, more));
}

static void answer(struct scene *s)
{
	script_say(s->origin, "head 1 200|content-type: text/html");
	script_say(s->origin, "data 1. 4 page");
	SCRIPT_SEES(s->client, "data 1. 4 page");
	UNTIL(s->w, s->w->counters.requests_open == s->w->counters.pushes_open);
}

static uint64_t dropped(const struct gate_world *w, const struct policy_reason *reason)
{
	return w->counters.push[POLICY_RELAYED][POLICY_DROP][policy_reason_position(reason)];
}

static int restore(void **state)
{
	(void)state;
	scripted_can(SCRIPTED_EVERYTHING, SCRIPTED_EVERYTHING);
	return 0;
}

/* ---- messages ---- */

static void bodies_and_trailers_pass_both_ways(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL);
	struct script_peer *client = script_client(w);
	script_say(client, "head 1 POST http example.com /up|x-a: 1");
	script_say(client, "data 1 5 hello");
	struct script_peer *origin = script_origin(&w->sites[0], 0);
	assert_false(script_saw(origin, "head 1"));
	script_say(origin, READY);
	SCRIPT_SEES(origin, "script/1\nready ");
	SCRIPT_SEES(origin, "head 1 POST http example.com /up|x-a: 1");
	SCRIPT_SEES(origin, "data 1 5 hello\n");
	script_say(client, "trailers 1|x-sum: 1");
	SCRIPT_SEES(origin, "trailers 1|x-sum: 1\n");
	script_say(origin, "head 1 200|content-type: text/plain");
	script_say(origin, "data 1 3 abc");
	SCRIPT_SEES(client, "head 1 200|content-type: text/plain");
	SCRIPT_SEES(client, "data 1 3 abc\n");
	script_say(origin, "trailers 1|x-end: 2");
	SCRIPT_SEES(client, "trailers 1|x-end: 2\n");
	UNTIL(w, w->counters.requests_open == 0);
	script_say(client, "head 3. GET http example.com /next");
	SCRIPT_SEES(origin, "head 3. GET http example.com /next");
	assert_int_equal(script_origins(&w->sites[0]), 1);
	gate_world_free(w);
}

static void a_body_ends_without_bytes(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "head 1 200");
	SCRIPT_SEES(s.client, "head 1 200");
	script_say(s.origin, "data 1. 0 ");
	SCRIPT_SEES(s.client, "data 1. 0 \n");
	UNTIL(s.w, s.w->counters.requests_open == 0);
	gate_world_free(s.w);
}

static void interim_responses_pass(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "head 1 103|x-early: 1");
	SCRIPT_SEES(s.client, "head 1 103|x-early: 1");
	answer(&s);
	assert_int_equal(s.w->counters.responses_1xx, 1);
	gate_world_free(s.w);
}

static void a_reset_passes_from_the_client(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.client, "reset 1 8");
	SCRIPT_SEES(s.origin, "reset 1 8");
	UNTIL(s.w, s.w->counters.requests_open == 0);
	gate_world_free(s.w);
}

static void a_reset_from_the_origin_is_a_502_or_a_reset(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "reset 1 2");
	SCRIPT_SEES(s.client, "head 1 502");
	script_say(s.client, "head 3. " PAGE);
	SCRIPT_SEES(s.origin, "head 3. " PAGE);
	script_say(s.origin, "head 3 200");
	script_say(s.origin, "data 3 2 ab");
	SCRIPT_SEES(s.client, "data 3 2 ab");
	script_say(s.origin, "reset 3 2");
	SCRIPT_SEES(s.client, "reset 3 ");
	UNTIL(s.w, s.w->counters.requests_open == 0);
	gate_world_free(s.w);
}

static void a_request_that_the_origin_refuses_unprocessed_is_sent_again(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "reset 1 7");
	SCRIPT_SEES(s.origin, "head 3. " PAGE);
	script_say(s.origin, "head 3. 204");
	SCRIPT_SEES(s.client, "head 1. 204");
	gate_world_free(s.w);
}

/* ---- windows ---- */

static void the_clients_window_holds_the_response_back(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL);
	struct script_peer *client = script_client_mute(w, NULL, NULL);
	script_say(client, "script/1");
	script_say(client, "ready 100 4 1");
	script_say(client, "head 1. " PAGE);
	struct script_peer *origin = script_origin(&w->sites[0], 0);
	script_say(origin, READY);
	SCRIPT_SEES(origin, "head 1. ");
	script_say(origin, "head 1 200");
	script_say(origin, "data 1 10 0123456789");
	SCRIPT_SEES(client, "data 1 4 0123\n");
	SCRIPT_SEES(origin, "credit 1 4\n");
	gate_passes(w);
	assert_int_equal(script_body(client, 1), 4);
	assert_int_equal(script_times(origin, "credit 1 "), 1);
	script_say(client, "credit 1 6");
	SCRIPT_SEES(client, "data 1 6 456789\n");
	SCRIPT_SEES(origin, "credit 1 6\n");
	script_say(origin, "data 1. 2 xy");
	gate_passes(w);
	assert_int_equal(script_body(client, 1), 10);
	script_say(client, "credit 1 2");
	SCRIPT_SEES(client, "data 1. 2 xy\n");
	UNTIL(w, w->counters.requests_open == 0);
	gate_world_free(w);
}

static void the_origins_window_holds_the_upload_back(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL);
	struct script_peer *client = script_client(w);
	script_say(client, "head 1 POST http example.com /up");
	script_say(client, "data 1. 10 0123456789");
	struct script_peer *origin = script_origin(&w->sites[0], 0);
	script_say(origin, "ready 100 3 0");
	SCRIPT_SEES(origin, "data 1 3 012\n");
	gate_passes(w);
	assert_int_equal(script_body(origin, 1), 3);
	script_say(origin, "credit 1 100");
	SCRIPT_SEES(origin, "data 1. 7 3456789\n");
	gate_world_free(w);
}

static void a_long_body_arrives_whole(void **state)
{
	(void)state;
	static char block[1000];
	memset(block, 'x', sizeof(block));
	struct scene s = scene(NULL);
	script_say(s.origin, "head 1 200");
	for (unsigned i = 0; i < 60; i++) {
		script_put(s.origin, i < 59 ? "data 1 1000 " : "data 1. 1000 ", i < 59 ? 12 : 13);
		script_put(s.origin, block, sizeof(block));
		script_put(s.origin, "\n", 1);
	}
	UNTIL(s.w, s.w->counters.requests_open == 0);
	UNTIL(s.w, script_body(s.client, 1) == 60000);
	gate_world_free(s.w);
}

/* ---- pushes ---- */

static void a_promise_is_relayed(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "promise 1 2 " STYLE);
	SCRIPT_SEES(s.client, "promise 1 2 " STYLE);
	answer(&s);
	script_say(s.origin, "head 2 200|content-type: text/css");
	script_say(s.origin, "data 2. 3 css");
	SCRIPT_SEES(s.client, "head 2 200|content-type: text/css");
	SCRIPT_SEES(s.client, "data 2. 3 css\n");
	UNTIL(s.w, s.w->counters.pushes_completed == 1);
	gate_world_free(s.w);
}

static void a_pushed_response_waits_for_the_clients_stream_limit(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL);
	struct scene s = {.w = w, .client = script_client_mute(w, NULL, NULL)};
	script_say(s.client, "script/1");
	script_say(s.client, "ready 1 65535 1");
	script_say(s.client, "head 1. " PAGE);
	s.origin = script_origin(&w->sites[0], 0);
	script_say(s.origin, READY);
	SCRIPT_SEES(s.origin, "head 1. ");
	script_say(s.origin, "promise 1 2 " STYLE);
	script_say(s.origin, "promise 1 4 GET http example.com /b.css");
	script_say(s.origin, "head 2 200");
	script_say(s.origin, "head 4 200");
	SCRIPT_SEES(s.client, "head 2 200");
	gate_passes(w);
	assert_false(script_saw(s.client, "head 4 200"));
	script_say(s.origin, "data 4. 1 b");
	script_say(s.origin, "data 2. 1 a");
	SCRIPT_SEES(s.client, "head 4 200");
	SCRIPT_SEES(s.client, "data 4. 1 b\n");
	gate_world_free(w);
}

static void the_client_cancels_a_push(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "promise 1 2 " STYLE);
	SCRIPT_SEES(s.client, "promise 1 2 ");
	script_say(s.client, "reset 2 8");
	SCRIPT_SEES(s.origin, "reset 2 8");
	answer(&s);
	gate_world_free(s.w);
}

static void the_policy_drops_a_promise(void **state)
{
	(void)state;
	struct scene s = ask(world(NULL, "push = accept", DO("drop")));
	script_say(s.origin, "promise 1 2 " STYLE);
	SCRIPT_SEES(s.origin, "reset 2 8");
	answer(&s);
	assert_false(script_saw(s.client, "promise"));
	assert_int_equal(dropped(s.w, &policy_reason_RULE), 1);
	gate_world_free(s.w);
}

static void a_promise_is_held_and_claimed(void **state)
{
	(void)state;
	struct scene s = scene(DO("hold"));
	script_say(s.origin, "promise 1 2 " STYLE);
	script_say(s.origin, "head 2 200|cache-control: max-age=600");
	script_say(s.origin, "data 2. 3 css");
	answer(&s);
	UNTIL(s.w, s.w->counters.pushes_held == 1);
	script_say(s.client, "head 3. " STYLE);
	SCRIPT_SEES(s.client, "head 3 200|");
	SCRIPT_SEES(s.client, "data 3. 3 css\n");
	assert_int_equal(s.w->counters.holds_claimed, 1);
	assert_false(script_saw(s.origin, "GET http example.com /a.css"));
	gate_world_free(s.w);
}

static void a_promise_becomes_a_hint(void **state)
{
	(void)state;
	struct scene s = scene(DO("hint"));
	script_say(s.origin, "promise 1 2 " STYLE);
	SCRIPT_SEES(s.client, "head 1 103|link: ");
	SCRIPT_SEES(s.origin, "reset 2 8");
	answer(&s);
	assert_int_equal(s.w->counters.pushes_hinted, 1);
	gate_world_free(s.w);
}

static void an_offer_of_our_own_is_pushed(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, DO("forward") "[preload p]\nadd = /own.css as=style\n");
	struct script_peer *client = script_client(w);
	script_say(client, "head 1. " PAGE);
	/* What is asked for without pushes goes out first. */
	struct script_peer *own = script_origin(&w->sites[0], 0);
	struct script_peer *origin = script_origin(&w->sites[0], 1);
	SCRIPT_SEES(own, " 0\n");
	SCRIPT_SEES(origin, " 1\n");
	script_say(own, READY);
	script_say(origin, READY);
	SCRIPT_SEES(client, "promise 1 2 GET http example.com /own.css");
	SCRIPT_SEES(own, "head 1. GET http example.com /own.css");
	SCRIPT_SEES(origin, "head 1. " PAGE);
	script_say(own, "head 1. 204");
	SCRIPT_SEES(client, "head 2. 204");
	script_say(origin, "head 1. 204");
	SCRIPT_SEES(client, "head 1. 204");
	gate_world_free(w);
}

static void too_many_refused_promises_turn_push_off(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_with(
	    alone, "promise-refusals = 2", NULL, "push = accept", DO("drop"));
	script_site(&w->sites[0]);
	struct scene s = ask(w);
	for (unsigned i = 1; i <= 3; i++)
		script_say(s.origin, "promise 1 %u GET http example.com /%u.css", 2 * i, i);
	SCRIPT_SEES(s.origin, "nopush\n");
	answer(&s);
	gate_world_free(s.w);
}

/* ---- ends ---- */

static void a_drain_lets_the_request_end(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	gate_world_drain(s.w, 10 * USEC_PER_SEC);
	SCRIPT_SEES(s.client, "goaway 0 1\n");
	script_say(s.client, "head 3. " PAGE);
	SCRIPT_SEES(s.client, "reset 3 7\n");
	answer(&s);
	UNTIL(s.w, s.w->drained == 1);
	SCRIPT_SEES(s.origin, "goaway 0 ");
	UNTIL(s.w, s.client->ended);
	gate_world_free(s.w);
}

static void what_an_origin_that_goes_away_did_not_look_at_is_sent_elsewhere(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "goaway 0 0");
	struct script_peer *second = script_origin(&s.w->sites[0], 1);
	script_say(second, READY);
	SCRIPT_SEES(second, "head 1. " PAGE);
	script_say(second, "head 1. 204");
	SCRIPT_SEES(s.client, "head 1. 204");
	UNTIL(s.w, s.origin->ended);
	gate_world_free(s.w);
}

static void a_client_that_is_lost_cancels_its_requests(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_abort(s.client);
	SCRIPT_SEES(s.origin, "reset 1 8");
	UNTIL(s.w, s.w->counters.connections_open == 0 && s.w->counters.requests_open == 0);
	gate_world_free(s.w);
}

static void an_origin_that_is_lost_in_the_middle_cuts_the_response_short(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "promise 1 2 " STYLE);
	script_say(s.origin, "head 1 200");
	script_say(s.origin, "data 1 2 ab");
	SCRIPT_SEES(s.client, "data 1 2 ab");
	script_abort(s.origin);
	SCRIPT_SEES(s.client, "reset 1 ");
	SCRIPT_SEES(s.client, "reset 2 ");
	assert_false(s.client->ended);
	UNTIL(s.w, s.w->counters.requests_open == 0);
	gate_world_free(s.w);
}

static void an_idle_connection_is_told_to_go(void **state)
{
	(void)state;
	struct scene s = ask(world("idle-timeout = 100ms", "idle-timeout = 100ms", NULL));
	answer(&s);
	SCRIPT_SEES(s.client, "goaway 0 1\n");
	SCRIPT_SEES(s.origin, "goaway 0 ");
	UNTIL(s.w, s.client->ended && s.origin->ended);
	gate_world_free(s.w);
}

/* ---- faults ---- */

static void a_clients_fault_ends_its_connection(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.client, "nonsense");
	SCRIPT_SEES(s.client, "goaway 1 1\n");
	SCRIPT_SEES(s.origin, "reset 1 8");
	UNTIL(s.w, s.client->ended);
	assert_int_equal(s.w->counters.peer_faults_down, 1);
	assert_int_equal(s.w->counters.faults[OBSERVE_CLIENT][0], 1);
	gate_world_free(s.w);
}

static void a_malformed_request_is_reset_alone(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.client, "head 3. GET http example.com nowhere");
	SCRIPT_SEES(s.client, "reset 3 1\n");
	assert_int_equal(s.w->counters.peer_faults_down, 1);
	assert_int_equal(s.w->counters.faults[OBSERVE_CLIENT][2], 1);
	answer(&s);
	gate_world_free(s.w);
}

static void a_flood_is_counted_as_one(void **state)
{
	(void)state;
	static char line[9000];
	memset(line, 'x', sizeof(line));
	struct scene s = scene(NULL);
	script_put(s.client, line, sizeof(line));
	SCRIPT_SEES(s.client, "goaway 11 1\n");
	assert_int_equal(s.w->counters.guard_down, 1);
	gate_world_free(s.w);
}

static void a_client_that_does_not_get_ready_is_late(void **state)
{
	(void)state;
	struct gate_world *w = world("preface-timeout = 100ms", NULL, NULL);
	struct script_peer *client = script_client_mute(w, NULL, NULL);
	script_say(client, "script/1");
	SCRIPT_SEES(client, "goaway 4 0\n");
	UNTIL(w, client->ended && w->counters.connections_open == 0);
	assert_int_equal(w->counters.preface_late, 0);
	gate_world_free(w);
}

static void an_origins_fault_is_a_502(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "data 9 1 x");
	SCRIPT_SEES(s.origin, "goaway 1 ");
	SCRIPT_SEES(s.client, "head 1 502");
	UNTIL(s.w, s.origin->ended);
	assert_int_equal(s.w->counters.peer_faults_up, 1);
	assert_int_equal(s.w->counters.faults[OBSERVE_ORIGIN][1], 1);
	gate_world_free(s.w);
}

static void a_malformed_response_is_a_502(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "head 1 none");
	SCRIPT_SEES(s.origin, "reset 1 1");
	SCRIPT_SEES(s.client, "head 1 502");
	gate_world_free(s.w);
}

static void a_malformed_promise_is_refused_and_counted(void **state)
{
	(void)state;
	struct scene s = scene(NULL);
	script_say(s.origin, "promise 1 2 POST http example.com /a.css");
	SCRIPT_SEES(s.origin, "reset 2 1");
	answer(&s);
	assert_int_equal(dropped(s.w, &policy_reason_MALFORMED), 1);
	gate_world_free(s.w);
}

/* ---- what a session cannot do ---- */

static void without_multiplexing_each_connection_has_one_request(void **state)
{
	(void)state;
	scripted_can(SCRIPTED_EVERYTHING, SCRIPTED_EVERYTHING & ~(unsigned)SESSION_MULTIPLEXES);
	struct scene s = ask(world(NULL, "max-http1-connections = 3", NULL));
	gate_passes(s.w);
	assert_int_equal(script_origins(&s.w->sites[0]), 1); /* none ahead of need */
	for (unsigned i = 1; i <= 3; i++)
		script_say(s.client, "head %u. GET http example.com /%u", 2 * i + 1, i);
	/* Both at once: none waits for another to be ready. */
	struct script_peer *second = script_origin(&s.w->sites[0], 1);
	struct script_peer *third = script_origin(&s.w->sites[0], 2);
	script_say(second, READY);
	SCRIPT_SEES(second, "head 1. GET http example.com /1");
	script_say(third, READY);
	SCRIPT_SEES(third, "head 1. GET http example.com /2");
	gate_passes(s.w);
	assert_int_equal(script_origins(&s.w->sites[0]), 3);
	assert_false(script_saw(s.origin, "head 3."));
	script_say(s.origin, "head 1. 204");
	SCRIPT_SEES(s.origin, "head 3. GET http example.com /3");
	script_say(s.origin, "head 3. 204");
	SCRIPT_SEES(s.client, "head 7. 204");
	gate_world_free(s.w);
}

static void without_interim_responses_a_client_gets_the_final_one_alone(void **state)
{
	(void)state;
	scripted_can(SCRIPTED_EVERYTHING & ~(unsigned)SESSION_INTERIM, SCRIPTED_EVERYTHING);
	struct scene s = scene(NULL);
	script_say(s.origin, "head 1 103|x-early: 1");
	answer(&s);
	assert_false(script_saw(s.client, "head 1 103"));
	assert_int_equal(s.w->counters.responses_1xx, 0);
	gate_world_free(s.w);
}

static void without_interim_responses_nothing_is_hinted(void **state)
{
	(void)state;
	scripted_can(SCRIPTED_EVERYTHING & ~(unsigned)SESSION_INTERIM, SCRIPTED_EVERYTHING);
	struct scene s = ask(world(NULL, "push = accept", DO("hint") "hint-clients = all\n"));
	script_say(s.origin, "promise 1 2 " STYLE);
	SCRIPT_SEES(s.origin, "reset 2 8");
	answer(&s);
	assert_false(script_saw(s.client, "head 1 103"));
	assert_int_equal(dropped(s.w, &policy_reason_HINT_VERSION), 1);
	assert_int_equal(s.w->counters.pushes_hinted, 0);
	gate_world_free(s.w);
}

/* The client navigates; the default action, and a rule that does not name all clients, would hint. */
static void a_client_that_expects_no_hints_gets_one_by_a_rule_for_all_alone(void **state)
{
	(void)state;
	static const struct {
		const char *server, *rules;
		bool is_hinted;
	} rows[] = {
	    {"default-action = hint", ALL "[preload p]\nadd = /own.css as=style\n", false},
	    {NULL, DO("hint") "[preload p]\nadd = /own.css as=style\n", false},
	    {NULL, DO("hint") "hint-clients = all\n[preload p]\nadd = /own.css as=style\n", true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		scripted_can(SCRIPTED_EVERYTHING & ~(unsigned)SESSION_HINTS, SCRIPTED_EVERYTHING);
		struct scene s = ask(serve(rows[i].server, NULL, NULL, rows[i].rules));
		answer(&s);
		assert_int_equal(script_saw(s.client, "head 1 103"), rows[i].is_hinted);
		assert_int_equal(s.w->counters.pushes_hinted, rows[i].is_hinted);
		gate_world_free(s.w);
	}
}

/* RFC 9110 15.2: what is passed on does not depend on whether the client expects it. */
static void a_client_that_expects_no_hints_gets_the_origins_103_unless_a_rule_keeps_it_back(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *links;
	} rows[] = {
	    {NULL, "</a.css>; rel=preload; as=style, </b.js>; rel=preload; as=script"},
	    {DO("hint"), "</a.css>; rel=preload; as=style, </b.js>; rel=preload; as=script"},
	    {"[preload p]\nlink = yes\n" DO("drop") "type = style\n", "</b.js>; rel=preload; as=script"},
	    {DO("hint") "interim = no\n", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		scripted_can(SCRIPTED_EVERYTHING & ~(unsigned)SESSION_HINTS, SCRIPTED_EVERYTHING);
		struct scene s = ask(world(NULL, NULL, rows[i].rules));
		script_say(s.origin, "head 1 103|link: </a.css>; rel=preload; as=style, </b.js>; rel=preload; as=script");
		answer(&s);
		assert_int_equal(script_saw(s.client, "head 1 103"), rows[i].links != NULL);
		char line[128];
		snprintf(line, sizeof line, "head 1 103|link: %s", rows[i].links ? rows[i].links : "");
		assert_int_equal(script_saw(s.client, line), rows[i].links != NULL);
		gate_world_free(s.w);
	}
}

static void without_pushes_a_client_is_promised_nothing(void **state)
{
	(void)state;
	scripted_can(SCRIPTED_EVERYTHING & ~(unsigned)SESSION_SENDS_PUSHES, SCRIPTED_EVERYTHING);
	struct scene s =
	    ask(world(NULL, "push = accept", DO("forward") "[preload p]\nadd = /own.css as=style\n"));
	script_say(s.origin, "promise 1 2 " STYLE);
	SCRIPT_SEES(s.origin, "reset 2 8");
	answer(&s);
	assert_false(script_saw(s.client, "promise"));
	size_t reason = policy_reason_position(&policy_reason_PUSH_DISABLED);
	assert_int_equal(dropped(s.w, &policy_reason_PUSH_DISABLED), 1);
	assert_int_equal(s.w->counters.push[POLICY_CONFIG][POLICY_DROP][reason], 1);
	gate_world_free(s.w);
}

static void an_origin_that_cannot_push_is_at_fault_when_it_promises(void **state)
{
	(void)state;
	scripted_can(SCRIPTED_EVERYTHING, SCRIPTED_EVERYTHING & ~(unsigned)SESSION_TAKES_PUSHES);
	struct scene s = scene(NULL);
	script_say(s.origin, "promise 1 2 " STYLE);
	SCRIPT_SEES(s.client, "head 1 502");
	assert_int_equal(s.w->counters.peer_faults_up, 1);
	gate_world_free(s.w);
}

static void without_trailers_a_body_ends_all_the_same(void **state)
{
	(void)state;
	const unsigned without = SCRIPTED_EVERYTHING & ~(unsigned)SESSION_TRAILERS;
	scripted_can(without, without);
	struct gate_world *w = world(NULL, NULL, NULL);
	struct script_peer *client = script_client(w);
	script_say(client, "head 1 POST http example.com /up");
	script_say(client, "data 1 1 u");
	script_say(client, "trailers 1|x-sum: 1");
	struct script_peer *origin = script_origin(&w->sites[0], 0);
	script_say(origin, READY);
	SCRIPT_SEES(origin, "data 1. 0 \n");
	script_say(origin, "head 1 200");
	script_say(origin, "data 1 1 d");
	script_say(origin, "trailers 1|x-sum: 1");
	SCRIPT_SEES(client, "data 1. 0 \n");
	assert_false(script_saw(origin, "trailers") || script_saw(client, "trailers"));
	UNTIL(w, w->counters.requests_open == 0);
	gate_world_free(w);
}

static void connections_and_streams_are_described(void **state)
{
	(void)state;
	char text[4096];
	struct scene s = scene(NULL);
	size_t n = gateway_describe(s.w->gateway, text, sizeof(text) - 1);
	text[n] = '\0';
	assert_non_null(strstr(text, "script/1 ready"));
	assert_non_null(strstr(text, "stream 1 window"));
	gate_world_free(s.w);
}

#define TEST(name) cmocka_unit_test_teardown(name, restore)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(bodies_and_trailers_pass_both_ways),
	    TEST(a_body_ends_without_bytes),
	    TEST(interim_responses_pass),
	    TEST(a_reset_passes_from_the_client),
	    TEST(a_reset_from_the_origin_is_a_502_or_a_reset),
	    TEST(a_request_that_the_origin_refuses_unprocessed_is_sent_again),
	    TEST(the_clients_window_holds_the_response_back),
	    TEST(the_origins_window_holds_the_upload_back),
	    TEST(a_long_body_arrives_whole),
	    TEST(a_promise_is_relayed),
	    TEST(a_pushed_response_waits_for_the_clients_stream_limit),
	    TEST(the_client_cancels_a_push),
	    TEST(the_policy_drops_a_promise),
	    TEST(a_promise_is_held_and_claimed),
	    TEST(a_promise_becomes_a_hint),
	    TEST(an_offer_of_our_own_is_pushed),
	    TEST(too_many_refused_promises_turn_push_off),
	    TEST(a_drain_lets_the_request_end),
	    TEST(what_an_origin_that_goes_away_did_not_look_at_is_sent_elsewhere),
	    TEST(a_client_that_is_lost_cancels_its_requests),
	    TEST(an_origin_that_is_lost_in_the_middle_cuts_the_response_short),
	    TEST(an_idle_connection_is_told_to_go),
	    TEST(a_clients_fault_ends_its_connection),
	    TEST(a_malformed_request_is_reset_alone),
	    TEST(a_flood_is_counted_as_one),
	    TEST(a_client_that_does_not_get_ready_is_late),
	    TEST(an_origins_fault_is_a_502),
	    TEST(a_malformed_response_is_a_502),
	    TEST(a_malformed_promise_is_refused_and_counted),
	    TEST(without_multiplexing_each_connection_has_one_request),
	    TEST(without_interim_responses_a_client_gets_the_final_one_alone),
	    TEST(without_interim_responses_nothing_is_hinted),
	    TEST(a_client_that_expects_no_hints_gets_one_by_a_rule_for_all_alone),
	    TEST(a_client_that_expects_no_hints_gets_the_origins_103_unless_a_rule_keeps_it_back),
	    TEST(without_pushes_a_client_is_promised_nothing),
	    TEST(an_origin_that_cannot_push_is_at_fault_when_it_promises),
	    TEST(without_trailers_a_body_ends_all_the_same),
	    TEST(connections_and_streams_are_described),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
