/* SPDX-License-Identifier: MIT */
/*
 * Scenes, and all that is counted and logged of them: each counter that moved and each field of each line stands here, so
 * that none of them can be wrong without being noticed. access_record_test.c has each kind of end by itself.
 */
#include "tests/support/accounts.h"

#include <stdio.h>
#include <string.h>

/* covers: R65 R66 R67 */

struct scene {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_stream *page, *at; /* at the client, at the origin */
};

static const struct gate_peer_options refuses = {.no_push = true};

static struct scene world(const char *origin, const char *more, const struct gate_peer_options *client)
{
	static const struct gate_peer_options tunnels = {.takes_tunnels = true};
	struct scene s = {.w = gate_world_new(NULL, NULL, origin, more)};
	s.w->sites[0].options = tunnels;
	accounts_begin(s.w);
	s.client = gate_client(s.w, client);
	return s;
}

static struct scene page(const char *origin, const char *more, const struct gate_peer_options *client)
{
	struct scene s = world(origin, more, client);
	s.page = gate_get(s.client, "/page");
	UNTIL(s.w, gate_find(s.w, "/page"));
	s.at = gate_find(s.w, "/page");
	return s;
}

static void page_ends(struct scene *s)
{
	gate_answer(s->at, 200, 100, true);
	UNTIL(s->w, s->page->is_over);
}

static struct gate_stream *promise(struct scene *s, const char *path)
{
	struct gate_stream *promise = gate_promise(s->at, "http", "example.com", path);
	assert_non_null(promise);
	return promise;
}

static void is(struct scene *s, const char *counters, const char *lines)
{
	accounts_are(s->w, counters, lines);
	gate_world_free(s->w);
}

/* ---- requests ---- */

static void a_request_and_its_answer(void **state)
{
	(void)state;
	struct scene s = world(NULL, NULL, NULL);
	s.page = gate_request(s.client, "POST", "example.com", "/form?a=b", false, "user-agent", "tester", "referer",
	    "http://before/", NULL);
	gate_more(s.page, 7, true);
	UNTIL(s.w, gate_find(s.w, "/form?a=b"));
	s.at = gate_find(s.w, "/form?a=b");
	UNTIL(s.w, s.at->received == 7);
	gate_answer(s.at, 103, 0, false);
	page_ends(&s);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_1xx 1\nresponses_2xx 1\n"
	    "down_in_bytes 7\ndown_out_bytes 100\nup_out_bytes 7\nconnections_open 1\n"
	    "upstream_connections_open 1\nsessions_client_h2 1\nsessions_origin_h2 1\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 method=POST path=/form?a=b "
	    "user_agent=tester referer=http://before/ status=200 request_bytes=7 response_bytes=100 origin_request_bytes=7 "
	    "origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n");
}

static void a_request_that_is_answered_here(void **state)
{
	(void)state;
	struct scene s = world(NULL, "[route r]\nhost = example.com\npath = /moved\nredirect = 301 /here\n"
				     "[route t]\nhost = example.com\npath = /text\nanswer = 410\n", NULL);
	static const char *const paths[] = {"/moved", "/text", "/none"};
	for (size_t i = 0; i < 3; i++) {
		struct gate_stream *own = gate_get(s.client, paths[i]);
		UNTIL(s.w, own->is_over);
	}
	struct gate_stream *elsewhere = gate_request(s.client, "GET", "b.test", "/", true, NULL);
	UNTIL(s.w, elsewhere->is_over);
	is(&s,
	    "connections 1\nrequests 4\nresponses_3xx 1\nresponses_4xx 3\nresponses_own 4\n"
	    "down_out_bytes 95\nconnections_open 1\nsessions_client_h2 1\ncause misdirected 1\n"
	    "cause no-route 1\ncause route-redirect 1\ncause fixed-answer 1\n",
	    "1: route=r path=/moved status=301 response_bytes=0 outcome=refused detail=the route redirects\n"
	    "2: route=t path=/text status=410 response_bytes=9 outcome=refused detail=the route answers\n"
	    "3: path=/none status=404 response_bytes=38 outcome=refused detail=no route for this path\n"
	    "4: authority=b.test path=/ status=421 response_bytes=48 outcome=refused detail=no route for this host\n");
}

static void a_client_above_its_limit(void **state)
{
	(void)state;
	struct scene s = world(NULL, "[route a]\nhost = example.com\norigin = a\nlimit-requests = 1/h burst 1\n"
				     "[route b]\norigin = a\nlimit-requests = 1/h burst 1 shadow\n", NULL);
	for (size_t i = 0; i < 4; i++) {
		struct gate_stream *at = NULL;
		char path[8];
		snprintf(path, sizeof(path), "/%zu", i);
		struct gate_stream *asked =
		    gate_request(s.client, "GET", i < 2 ? "example.com" : "b.test", path, true, NULL);
		UNTIL(s.w, asked->is_over || (at = gate_find(s.w, path)) != NULL);
		if (at)
			gate_answer(at, 204, 0, true);
		UNTIL(s.w, asked->is_over);
	}
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 4\nresponses_2xx 3\nresponses_4xx 1\n"
	    "responses_own 1\nrequests_limited 1\nrequests_limited_shadow 1\ndown_out_bytes 36\n"
	    "connections_open 1\nupstream_connections_open 1\nsessions_client_h2 1\nsessions_origin_h2 1\n"
	    "cause request-rate 1\nlimited 0 1\nlimited in shadow 1 1\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/0 status=204 "
	    "response_bytes=0 origin_first_byte_us=* origin_duration_us=* outcome=complete\n"
	    "2: route=a origin=a path=/1 status=429 response_bytes=36 outcome=refused detail=request-rate\n"
	    "3: route=b origin=a origin_address=* origin_connection=1 origin_protocol=h2 authority=b.test path=/2 "
	    "status=204 response_bytes=0 origin_first_byte_us=* origin_duration_us=* outcome=complete\n"
	    "4: route=b origin=a origin_address=* origin_connection=1 origin_protocol=h2 authority=b.test path=/3 "
	    "status=204 response_bytes=0 origin_first_byte_us=* origin_duration_us=* outcome=complete\n");
}

static void an_origin_that_cannot_be_connected_to(void **state)
{
	(void)state;
	struct scene s = world(NULL, NULL, NULL);
	gate_site_close(&s.w->sites[0]);
	s.page = gate_get(s.client, "/page");
	UNTIL(s.w, s.page->is_over);
	is(&s,
	    "connections 1\nupstream_connections 2\nupstream_failed 2\nrequests 1\nresponses_5xx 1\n"
	    "responses_own 1\nrequests_retried 1\nretries_unprocessed 1\ndown_out_bytes 44\n"
	    "connections_open 1\nsessions_client_h2 1\ncause origin-unreachable 1\n",
	    "1: route=a origin=a path=/page status=503 response_bytes=44 outcome=origin-lost detail=*: connect: Connection "
	    "refused retried=true retries=1\n");
}

static void an_origin_that_is_late(void **state)
{
	(void)state;
	struct scene s = page("response-timeout = 200ms", NULL, NULL);
	UNTIL(s.w, s.page->is_over);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_5xx 1\nresponses_own 1\n"
	    "down_out_bytes 35\nconnections_open 1\nupstream_connections_open 1\nsessions_client_h2 1\n"
	    "sessions_origin_h2 1\ncause response-late 1\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=504 "
	    "response_bytes=35 outcome=timeout detail=response-late\n");
}

static void an_origin_that_goes_away_in_its_response(void **state)
{
	(void)state;
	struct scene s = page(NULL, NULL, NULL);
	gate_answer(s.at, 200, 30, false);
	UNTIL(s.w, s.page->received == 30);
	gate_peer_abort(s.at->peer);
	UNTIL(s.w, s.page->is_over);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\nrequests_aborted 1\n"
	    "down_out_bytes 30\nconnections_open 1\nsessions_client_h2 1\ncause origin-lost 1\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=30 origin_response_bytes=30 origin_first_byte_us=* outcome=origin-lost detail=*: closed by the "
	    "peer\n");
}

static void a_request_that_is_refused_and_sent_again(void **state)
{
	(void)state;
	struct scene s = page(NULL, NULL, NULL);
	gate_reset_stream(s.at, SESSION_REFUSED_STREAM);
	UNTIL(s.w, gate_seen(&s.w->sites[0], "/page") == 2);
	s.at = gate_find(s.w, "/page");
	page_ends(&s);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\nrequests_retried 1\n"
	    "retries_unprocessed 1\ndown_out_bytes 100\nconnections_open 1\nupstream_connections_open 1\n"
	    "sessions_client_h2 1\nsessions_origin_h2 1\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "retried=true retries=1\n");
}

/* ---- tunnels ---- */

static void a_tunnel_and_one_that_is_refused(void **state)
{
	(void)state;
	struct scene s = world(NULL, "[route r]\norigin = a\nupgrade = echo\n", NULL);
	UNTIL(s.w, s.client->settings_came > 0);
	for (unsigned i = 0; i < 2; i++) {
		const char *path = i ? "/refused" : "/taken";
		s.page = gate_tunnel(s.client, "echo", path);
		UNTIL(s.w, gate_find(s.w, path));
		s.at = gate_find(s.w, path);
		gate_answer(s.at, i ? 403 : 200, 30, i == 1);
		if (i == 0) {
			gate_more(s.page, 20, true);
			UNTIL(s.w, s.page->received == 30 && s.at->ended);
			gate_more(s.at, 0, true);
		}
		UNTIL(s.w, s.page->is_over || s.page->ended);
	}
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 2\nresponses_2xx 1\nresponses_4xx 1\n"
	    "down_in_bytes 20\ndown_out_bytes 60\nup_out_bytes 20\ntunnels 1\ntunnels_refused 1\n"
	    "tunnel_up_bytes 20\ntunnel_down_bytes 30\nconnections_open 1\nupstream_connections_open 1\n"
	    "sessions_client_h2 1\nsessions_origin_h2 1\n",
	    "1: route=r origin=a origin_address=* origin_connection=1 origin_protocol=h2 method=CONNECT path=/taken "
	    "status=200 request_bytes=20 response_bytes=30 origin_request_bytes=20 origin_response_bytes=30 "
	    "origin_first_byte_us=* origin_duration_us=* outcome=complete tunnel=echo tunnel_ended=client\n"
	    "2: route=r origin=a origin_address=* origin_connection=1 origin_protocol=h2 method=CONNECT path=/refused "
	    "status=403 response_bytes=30 origin_response_bytes=30 origin_first_byte_us=* origin_duration_us=* "
	    "outcome=complete\n");
}

/* ---- pushes ---- */

static void pushes_that_are_completed_and_reset(void **state)
{
	(void)state;
	struct scene s = page(NULL, NULL, NULL);
	struct gate_stream *a = promise(&s, "/a.css"), *b = promise(&s, "/b.css"), *c = promise(&s, "/c.css");
	UNTIL(s.w, gate_find_at(s.client, "/c.css"));
	struct gate_stream *came = gate_find_at(s.client, "/b.css");
	gate_answer(a, 200, 50, true);
	UNTIL(s.w, gate_find_at(s.client, "/a.css")->is_over);
	gate_answer(b, 200, 60, false);
	UNTIL(s.w, came->received == 60);
	gate_reset_stream(came, SESSION_CANCEL);
	UNTIL(s.w, b->is_over);
	gate_reset_stream(c, SESSION_INTERNAL_ERROR);
	UNTIL(s.w, gate_find_at(s.client, "/c.css")->is_over);
	page_ends(&s);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 3\nrequests_aborted 2\n"
	    "down_out_bytes 210\npushes_offered 3\npushes_forwarded 3\npushes_completed 1\npushes_reset 1\n"
	    "pushes_failed 1\npush_out_bytes 110\npush_reset_bytes 60\nconnections_open 1\n"
	    "upstream_connections_open 1\nsessions_client_h2 1\nsessions_origin_h2 1\n"
	    "offer relayed forward default 3\ncause origin-reset 1\ncause client-reset 1\n",
	    "2: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/a.css status=200 "
	    "response_bytes=50 origin_response_bytes=50 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "push=true parent=1 source=relayed verdict=forward reason=default\n"
	    "3: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/b.css status=200 "
	    "response_bytes=60 origin_response_bytes=60 origin_first_byte_us=* outcome=client-reset code=8 "
	    "code_name=CANCEL detail=client-reset push=true parent=1 source=relayed verdict=forward reason=default "
	    "end_reason=client-reset\n"
	    "4: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/c.css status=0 "
	    "response_bytes=0 outcome=origin-reset code=2 code_name=INTERNAL_ERROR detail=origin-reset push=true parent=1 "
	    "source=relayed verdict=forward reason=default end_reason=origin-reset\n"
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n");
}

#define RULES                                                                                                          \
	"[route a]\norigin = a\n[push no]\npromised-path = /drop*\naction = drop\n"                                    \
	"[push hint]\npromised-path = /hint*\naction = hint\n"                                                         \
	"[push small]\npromised-path = /small*\nmax-bytes = 10\naction = forward\n"                                     \
	"[push hold]\npromised-path = /hold*\naction = hold\n"                                                         \
	"[push both]\npromised-path = /both*\naction = hint+hold\n"

static void hold(struct scene *s, const char *path, size_t body)
{
	struct gate_stream *held = promise(s, path);
	gate_answer_fields(held, 200, false, "cache-control", "max-age=60", "vary", "x-kind", NULL);
	gate_more(held, body, true);
	UNTIL(s->w, held->is_over);
}

static void pushes_of_each_verdict(void **state)
{
	(void)state;
	struct scene s = page(NULL, RULES, NULL);
	struct gate_stream *dropped = promise(&s, "/drop.css");
	UNTIL(s.w, dropped->is_over);
	struct gate_stream *hinted = promise(&s, "/hint.css");
	UNTIL(s.w, hinted->is_over);
	hold(&s, "/hold.css", 40);
	hold(&s, "/both.css", 44);
	page_ends(&s);
	gate_peer_abort(s.client);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\ndown_out_bytes 100\n"
	    "pushes_offered 4\npushes_held 2\nholds_expired 2\nhold_wasted_bytes 84\npushes_dropped 2\n"
	    "upstream_connections_open 1\nsessions_origin_h2 1\noffer relayed drop rule 1\n"
	    "offer relayed drop hint-client 1\noffer relayed hold rule 2\nrule 0 offered 1\n"
	    "rule 1 offered 1\nrule 3 offered 1\nrule 3 held 1\nrule 3 expired 1\nrule 3 wasted_bytes 40\n"
	    "rule 4 offered 1\nrule 4 held 1\nrule 4 expired 1\nrule 4 wasted_bytes 44\n",
	    "0: route=a origin=a path=/drop.css status=0 response_bytes=0 outcome=refused push=true parent=1 "
	    "source=relayed verdict=drop rule=no reason=rule\n"
	    "0: route=a origin=a path=/hint.css status=0 response_bytes=0 outcome=refused push=true parent=1 "
	    "source=relayed verdict=drop rule=hint reason=hint-client\n"
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n"
	    "2: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/hold.css status=200 "
	    "response_bytes=0 origin_response_bytes=40 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "push=true parent=1 source=relayed verdict=hold rule=hold reason=rule end_reason=expired wasted_bytes=40\n"
	    "3: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/both.css status=200 "
	    "response_bytes=0 origin_response_bytes=44 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "push=true parent=1 source=relayed verdict=hold rule=both reason=rule end_reason=expired wasted_bytes=44\n");
}

/* A page that is left out of the log takes the lines of its pushes with it: those of a push, and of one that was dropped. */
static void a_sampled_log_leaves_out_a_page_with_all_of_its_offers(void **state)
{
	(void)state;
	struct scene s = world(NULL, "[route a]\norigin = a\n[push none]\npromised-path = /dropped\naction = drop\n", NULL);
	s.w->observe.sample = 1000000;
	s.page = gate_get(s.client, "/page");
	UNTIL(s.w, gate_find(s.w, "/page"));
	s.at = gate_find(s.w, "/page");
	struct gate_stream *dropped = promise(&s, "/dropped"), *pushed = promise(&s, "/pushed");
	gate_answer(pushed, 200, 10, true);
	UNTIL(s.w, dropped->is_over && pushed->is_over);
	page_ends(&s);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 2\ndown_out_bytes 110\n"
	    "pushes_offered 2\npushes_forwarded 1\npushes_dropped 1\npushes_completed 1\npush_out_bytes 10\n"
	    "log_sampled_out 3\nconnections_open 1\nupstream_connections_open 1\nsessions_client_h2 1\n"
	    "sessions_origin_h2 1\noffer relayed forward default 1\noffer relayed drop rule 1\n"
	    "rule 0 offered 1\n",
	    "");
}

static void a_push_that_is_given_up_for_its_length(void **state)
{
	(void)state;
	struct scene s = page(NULL, RULES, NULL);
	struct gate_stream *large = promise(&s, "/small.css");
	UNTIL(s.w, gate_find_at(s.client, "/small.css"));
	gate_answer_fields(large, 200, false, "content-length", "11", NULL);
	UNTIL(s.w, large->is_over);
	page_ends(&s);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\nrequests_aborted 1\n"
	    "down_out_bytes 100\npushes_offered 1\npushes_forwarded 1\npushes_failed 1\npushes_withdrawn 1\n"
	    "connections_open 1\nupstream_connections_open 1\nsessions_client_h2 1\nsessions_origin_h2 1\n"
	    "offer relayed forward rule 1\nrule 2 offered 1\nrule 2 forwarded 1\ncause policy 1\n",
	    "2: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/small.css status=200 "
	    "response_bytes=0 origin_first_byte_us=* outcome=refused detail=policy push=true parent=1 source=relayed "
	    "verdict=drop rule=small reason=too-large end_reason=too-large\n"
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n");
}

static void a_client_that_takes_no_pushes(void **state)
{
	(void)state;
	struct scene s = page(NULL, RULES, &refuses);
	struct gate_stream *plain = promise(&s, "/plain.css");
	UNTIL(s.w, plain->is_over);
	page_ends(&s);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\ndown_out_bytes 100\n"
	    "pushes_offered 1\npushes_dropped 1\nconnections_open 1\nupstream_connections_open 1\n"
	    "sessions_client_h2 1\nsessions_origin_h2 1\noffer relayed drop push-disabled 1\n",
	    "0: route=a origin=a path=/plain.css status=0 response_bytes=0 outcome=refused push=true parent=1 "
	    "source=relayed verdict=drop reason=push-disabled\n"
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n");
}

/* ---- held responses ---- */

static void a_held_response_is_claimed_and_another_missed(void **state)
{
	(void)state;
	struct scene s = page(NULL, RULES, &refuses);
	hold(&s, "/hold1.css", 40);
	hold(&s, "/hold2.css", 50);
	page_ends(&s);
	struct gate_stream *claim = gate_get(s.client, "/hold1.css");
	UNTIL(s.w, claim->is_over);
	struct gate_stream *miss = gate_request(s.client, "GET", "example.com", "/hold2.css", true, "x-kind", "b", NULL);
	UNTIL(s.w, gate_find(s.w, "/hold2.css")->parent == NULL);
	struct gate_stream *at = gate_find(s.w, "/hold2.css");
	gate_answer(at, 200, 9, true);
	UNTIL(s.w, miss->is_over);
	gate_peer_abort(s.client);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 3\nresponses_2xx 3\ndown_out_bytes 149\n"
	    "pushes_offered 2\npushes_held 2\nholds_claimed 1\nholds_missed 1\nholds_expired 1\n"
	    "hold_wasted_bytes 50\nupstream_connections_open 1\nsessions_origin_h2 1\n"
	    "offer relayed hold rule 2\nrule 3 offered 2\nrule 3 held 2\nrule 3 claimed 1\nrule 3 expired 1\n"
	    "rule 3 used_bytes 40\nrule 3 wasted_bytes 50\nmiss vary 1\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n"
	    "4: route=a origin=a path=/hold1.css status=200 response_bytes=40 outcome=complete held=2\n"
	    "2: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/hold1.css status=200 "
	    "response_bytes=0 origin_response_bytes=40 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "push=true parent=1 source=relayed verdict=hold rule=hold reason=rule end_reason=claimed\n"
	    "5: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/hold2.css status=200 "
	    "response_bytes=9 origin_response_bytes=9 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "missed=vary x-kind\n"
	    "3: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/hold2.css status=200 "
	    "response_bytes=0 origin_response_bytes=50 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "missed=vary x-kind push=true parent=1 source=relayed verdict=hold rule=hold reason=rule end_reason=missed "
	    "wasted_bytes=50\n");
}

static void a_response_is_joined_while_it_arrives(void **state)
{
	(void)state;
	struct scene s = page(NULL, RULES, &refuses);
	struct gate_stream *held = promise(&s, "/hold.css");
	gate_answer_fields(held, 200, false, "cache-control", "max-age=60", NULL);
	gate_more(held, 5, false);
	UNTIL(s.w, s.w->counters.pushes_held == 1);
	gate_passes(s.w);
	struct gate_stream *claim = gate_get(s.client, "/hold.css");
	UNTIL(s.w, claim->received == 5);
	gate_more(held, 6, true);
	UNTIL(s.w, claim->is_over);
	page_ends(&s);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 2\nresponses_2xx 2\ndown_out_bytes 111\n"
	    "pushes_offered 1\npushes_held 1\nholds_claimed 1\nholds_joined 1\nconnections_open 1\n"
	    "upstream_connections_open 1\nsessions_client_h2 1\nsessions_origin_h2 1\n"
	    "offer relayed hold rule 1\nrule 3 offered 1\nrule 3 held 1\nrule 3 claimed 1\n"
	    "rule 3 used_bytes 11\n",
	    "3: route=a origin=a path=/hold.css status=200 response_bytes=11 outcome=complete held=2 joined=true\n"
	    "2: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/hold.css status=200 "
	    "response_bytes=0 origin_response_bytes=11 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "push=true parent=1 source=relayed verdict=hold rule=hold reason=rule end_reason=claimed\n"
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n");
}

static void a_client_leaves_what_is_held_for_it(void **state)
{
	(void)state;
	struct scene s = page(NULL, RULES, &refuses);
	hold(&s, "/hold1.css", 40);
	page_ends(&s);
	gate_peer_abort(s.client);
	UNTIL(s.w, s.w->counters.connections_open == 0);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\ndown_out_bytes 100\n"
	    "pushes_offered 1\npushes_held 1\nholds_expired 1\nhold_wasted_bytes 40\n"
	    "upstream_connections_open 1\nsessions_origin_h2 1\noffer relayed hold rule 1\nrule 3 offered 1\n"
	    "rule 3 held 1\nrule 3 expired 1\nrule 3 wasted_bytes 40\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n"
	    "2: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/hold1.css status=200 "
	    "response_bytes=0 origin_response_bytes=40 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "push=true parent=1 source=relayed verdict=hold rule=hold reason=rule end_reason=expired wasted_bytes=40\n");
}

/* ---- origins ---- */

static void an_origin_that_refuses_and_one_that_shuts_down(void **state)
{
	(void)state;
	struct scene s = page(NULL, NULL, NULL);
	gate_reset_stream(s.at, SESSION_INTERNAL_ERROR);
	UNTIL(s.w, s.page->is_over);
	s.page = gate_get(s.client, "/next");
	UNTIL(s.w, gate_find(s.w, "/next"));
	s.at = gate_find(s.w, "/next");
	gate_terminate(s.at->peer, SESSION_ENHANCE_YOUR_CALM);
	UNTIL(s.w, s.page->is_over);
	is(&s,
	    "connections 1\nupstream_connections 1\nupstream_failed 1\nrequests 2\nresponses_5xx 2\n"
	    "responses_own 2\ndown_out_bytes 59\nconnections_open 1\nsessions_client_h2 1\n"
	    "cause origin-reset 1\ncause origin-lost 1\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=502 "
	    "response_bytes=30 outcome=origin-reset code=2 code_name=INTERNAL_ERROR detail=origin-reset\n"
	    "2: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/next status=502 "
	    "response_bytes=29 outcome=origin-lost code=11 code_name=ENHANCE_YOUR_CALM detail=ENHANCE_YOUR_CALM\n");
}

static void a_subscription_and_what_is_pushed_to_it(void **state)
{
	(void)state;
	struct scene s = page(NULL, "[route feed]\norigin = a\nsubscription = yes\n", NULL);
	struct gate_stream *message = promise(&s, "/message");
	gate_answer(message, 200, 25, true);
	UNTIL(s.w, gate_find_at(s.client, "/message") && gate_find_at(s.client, "/message")->is_over);
	assert_int_equal(s.w->counters.subscriptions_open, 1);
	gate_reset_stream(s.page, SESSION_CANCEL);
	UNTIL(s.w, s.at->is_over);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\nrequests_aborted 1\n"
	    "down_out_bytes 25\nsubscriptions 1\npushes_offered 1\npushes_forwarded 1\npushes_completed 1\n"
	    "push_out_bytes 25\nconnections_open 1\nsessions_client_h2 1\noffer relayed forward default 1\n"
	    "cause client-reset 1\n",
	    "2: route=feed origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/message status=200 "
	    "response_bytes=25 origin_response_bytes=25 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "push=true parent=1 source=relayed verdict=forward reason=default\n"
	    "1: route=feed origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=0 "
	    "response_bytes=0 outcome=client-reset code=8 code_name=CANCEL detail=client-reset\n");
}

/* ---- pushes of pushgate's own ---- */

static void links_of_a_page_become_pushes(void **state)
{
	(void)state;
	struct scene s = page(NULL, RULES "[preload l]\nlink = yes\n", NULL);
	gate_answer_fields(s.at, 200, false, "link", "</own.css>; rel=preload; as=style, </drop.css>; rel=preload; as=style", NULL);
	UNTIL(s.w, gate_find(s.w, "/own.css"));
	gate_answer(gate_find(s.w, "/own.css"), 200, 15, true);
	UNTIL(s.w, gate_find_at(s.client, "/own.css") && gate_find_at(s.client, "/own.css")->is_over);
	gate_more(s.at, 100, true);
	UNTIL(s.w, s.page->is_over);
	is(&s,
	    "connections 1\nupstream_connections 2\nrequests 1\nresponses_2xx 2\ndown_out_bytes 115\n"
	    "pushes_offered 2\npushes_forwarded 1\npushes_dropped 1\npushes_completed 1\npush_out_bytes 15\n"
	    "connections_open 1\nupstream_connections_open 2\nsessions_client_h2 1\nsessions_origin_h2 2\n"
	    "offer link forward default 1\noffer link drop rule 1\nrule 0 offered 1\n",
	    "0: route=a origin=a path=/drop.css status=0 response_bytes=0 outcome=refused push=true parent=1 source=link "
	    "verdict=drop rule=no reason=rule\n"
	    "2: route=a origin=a origin_address=* origin_connection=2 origin_protocol=h2 path=/own.css status=200 "
	    "response_bytes=15 origin_response_bytes=15 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "push=true parent=1 source=link verdict=forward reason=default\n"
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n");
}

/* Whether a rule's push is of use depends on who asked for it: only those of pushgate's own count when they are withdrawn. */
static void each_rule_has_its_events_and_its_bytes(void **state)
{
	(void)state;
	struct scene s = page(NULL, "[route a]\norigin = a\n[push watch]\nshadow = yes\naction = drop\n"
				    "[push small]\npromised-path = /own*\nmax-bytes = 10\naction = forward\n"
				    "[push all]\naction = forward\n[preload l]\nlink = yes\n", NULL);
	usec promised = net_now(s.w->loop);
	struct gate_stream *a = promise(&s, "/a.css"), *b = promise(&s, "/b.css");
	UNTIL(s.w, gate_find_at(s.client, "/b.css"));
	gate_answer(a, 200, 50, true);
	UNTIL(s.w, gate_find_at(s.client, "/a.css")->is_over);
	gate_answer(b, 200, 60, false);
	UNTIL(s.w, gate_find_at(s.client, "/b.css")->received == 60);
	gate_reset_stream(gate_find_at(s.client, "/b.css"), SESSION_CANCEL);
	UNTIL(s.w, b->is_over);
	assert_in_range(s.w->counters.rules[2].reset_usec, 1, net_now(s.w->loop) - promised);
	gate_answer_fields(s.at, 200, false, "link", "</own.css>; rel=preload; as=style", NULL);
	UNTIL(s.w, gate_find(s.w, "/own.css"));
	struct gate_stream *own = gate_find(s.w, "/own.css");
	gate_answer_fields(own, 200, false, "content-length", "11", NULL);
	UNTIL(s.w, own->is_over);
	gate_more(s.at, 100, true);
	UNTIL(s.w, s.page->is_over);
	is(&s,
	    "connections 1\nupstream_connections 2\nrequests 1\nresponses_2xx 3\nrequests_aborted 2\n"
	    "down_out_bytes 210\npushes_offered 3\npushes_forwarded 3\npushes_completed 1\npushes_reset 1\n"
	    "pushes_failed 1\npushes_withdrawn 1\npush_out_bytes 110\npush_reset_bytes 60\n"
	    "connections_open 1\nupstream_connections_open 2\nsessions_client_h2 1\nsessions_origin_h2 2\n"
	    "offer relayed forward rule 2\noffer link forward rule 1\nrule 0 offered 3\nrule 0 shadowed 3\n"
	    "rule 1 offered 1\nrule 1 forwarded 1\nrule 1 withdrawn 1\nrule 2 offered 2\nrule 2 forwarded 2\n"
	    "rule 2 used 1\nrule 2 reset 1\nrule 2 used_bytes 50\nrule 2 wasted_bytes 60\n"
	    "rule 2 has reset_usec 1\ncause client-reset 1\ncause policy 1\n",
	    "2: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/a.css status=200 "
	    "response_bytes=50 origin_response_bytes=50 origin_first_byte_us=* origin_duration_us=* outcome=complete "
	    "push=true parent=1 source=relayed verdict=forward rule=all reason=rule\n"
	    "3: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/b.css status=200 "
	    "response_bytes=60 origin_response_bytes=60 origin_first_byte_us=* outcome=client-reset code=8 "
	    "code_name=CANCEL detail=client-reset push=true parent=1 source=relayed verdict=forward rule=all reason=rule "
	    "end_reason=client-reset\n"
	    "4: route=a origin=a origin_address=* origin_connection=2 origin_protocol=h2 path=/own.css status=200 "
	    "response_bytes=0 origin_first_byte_us=* outcome=refused detail=policy push=true parent=1 source=link "
	    "verdict=drop rule=small reason=too-large end_reason=too-large\n"
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=100 origin_response_bytes=100 origin_first_byte_us=* origin_duration_us=* outcome=complete\n");
}

/* ---- who may ask ---- */

static void a_request_that_access_denies(void **state)
{
	(void)state;
	struct scene s = {.w = gate_world_new(NULL, "access = rules", NULL,
			      "[access rules]\ndeny = path=/secret\nallow = client=any\n[route a]\norigin = a\n")};
	accounts_begin(s.w);
	s.client = gate_client(s.w, NULL);
	s.page = gate_get(s.client, "/secret");
	UNTIL(s.w, s.page->is_over);
	is(&s,
	    "connections 1\nrequests 1\nresponses_4xx 1\nresponses_own 1\ndown_out_bytes 20\n"
	    "connections_open 1\nsessions_client_h2 1\ncause access-denied 1\ndenial 1\n",
	    "1: path=/secret status=403 response_bytes=20 outcome=refused detail=rule\n");
}

/* ---- clients ---- */

static void a_client_that_leaves_in_the_middle(void **state)
{
	(void)state;
	struct scene s = page(NULL, NULL, NULL);
	gate_answer(s.at, 200, 30, false);
	UNTIL(s.w, s.page->received == 30);
	gate_peer_abort(s.client);
	UNTIL(s.w, s.w->counters.connections_open == 0);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\nrequests_aborted 1\n"
	    "down_out_bytes 30\nupstream_connections_open 1\nsessions_origin_h2 1\ncause client-lost 1\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=200 "
	    "response_bytes=30 origin_response_bytes=30 origin_first_byte_us=* outcome=client-lost code=8 code_name=CANCEL "
	    "detail=client-lost\n");
}

static void a_client_that_breaks_a_rule(void **state)
{
	(void)state;
	struct scene s = page(NULL, NULL, NULL);
	gate_terminate(s.client, SESSION_PROTOCOL_ERROR);
	UNTIL(s.w, s.w->counters.connections_open == 0);
	is(&s,
	    "connections 1\nupstream_connections 1\nrequests 1\nrequests_aborted 1\n"
	    "upstream_connections_open 1\nsessions_origin_h2 1\ncause client-lost 1\n",
	    "1: route=a origin=a origin_address=* origin_connection=1 origin_protocol=h2 path=/page status=0 "
	    "response_bytes=0 outcome=client-lost code=1 code_name=PROTOCOL_ERROR detail=client-lost\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_request_and_its_answer),
	    cmocka_unit_test(a_request_that_is_answered_here),
	    cmocka_unit_test(a_client_above_its_limit),
	    cmocka_unit_test(an_origin_that_cannot_be_connected_to),
	    cmocka_unit_test(an_origin_that_is_late),
	    cmocka_unit_test(an_origin_that_goes_away_in_its_response),
	    cmocka_unit_test(a_request_that_is_refused_and_sent_again),
	    cmocka_unit_test(a_tunnel_and_one_that_is_refused),
	    cmocka_unit_test(pushes_that_are_completed_and_reset),
	    cmocka_unit_test(pushes_of_each_verdict),
	    cmocka_unit_test(a_sampled_log_leaves_out_a_page_with_all_of_its_offers),
	    cmocka_unit_test(a_push_that_is_given_up_for_its_length),
	    cmocka_unit_test(a_client_that_takes_no_pushes),
	    cmocka_unit_test(a_held_response_is_claimed_and_another_missed),
	    cmocka_unit_test(a_response_is_joined_while_it_arrives),
	    cmocka_unit_test(a_client_leaves_what_is_held_for_it),
	    cmocka_unit_test(an_origin_that_refuses_and_one_that_shuts_down),
	    cmocka_unit_test(a_subscription_and_what_is_pushed_to_it),
	    cmocka_unit_test(links_of_a_page_become_pushes),
	    cmocka_unit_test(each_rule_has_its_events_and_its_bytes),
	    cmocka_unit_test(a_request_that_access_denies),
	    cmocka_unit_test(a_client_that_leaves_in_the_middle),
	    cmocka_unit_test(a_client_that_breaks_a_rule),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
