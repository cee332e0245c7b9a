/* SPDX-License-Identifier: MIT */
/* What comes of pushes for a client that speaks HTTP/1: they are dropped, held for its own request, or hinted at. What
 * its connection remembers, costs and shows in traces. */
#include "tests/unit/client/http1_client.h"

#include "proxy/h1/h1_conn.h"
#include "proxy/h2/h2_conn.h"

#define ROUTE "[route r]\norigin = a\n"
#define HOLD ROUTE "[push h]\naction = hold\n"
#define HINT ROUTE "[push h]\naction = hint\nhint-clients = all\n"

static struct gate_stream *promise(struct gate_world *w, const char *page, const char *path)
{
	UNTIL(w, gate_find(w, page));
	struct gate_stream *p = gate_promise(gate_find(w, page), "http", "example.com", path);
	assert_non_null(p);
	return p;
}

static void without_a_rule_nothing_is_asked_for_or_made(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct script_peer *c = http1_client(w, GET("/page"));
	UNTIL(w, gate_find(w, "/page"));
	assert_int_equal(gate_find(w, "/page")->peer->enable_push, 0);
	answer(w, "/page", 200, 5);
	SCRIPT_SEES(c, "00000");
	assert_false(script_saw(c, "HTTP/1.1 103"));
	assert_int_equal(w->counters.pushes_offered, 0);
	gate_world_free(w);
}

/* A page whose origin has pushed /a.css, which is held. */
static struct script_peer *held(struct gate_world *w)
{
	struct script_peer *c = http1_client(w, GET("/page"));
	struct gate_stream *p = promise(w, "/page", "/a.css");
	gate_answer_fields(p, 200, false, "cache-control", "max-age=60", "content-length", "7", NULL);
	gate_more(p, 7, true);
	gate_answer_fields(gate_find(w, "/page"), 200, false, "content-length", "5", NULL);
	gate_more(gate_find(w, "/page"), 5, true);
	SCRIPT_SEES(c, "\r\n\r\n00000");
	UNTIL(w, p->is_over && w->counters.pushes_held == 1);
	return c;
}

static void held_push_answers_the_next_request_of_the_connection(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, HOLD);
	struct script_peer *c = held(w);
	assert_int_equal(gate_find(w, "/page")->peer->enable_push, 1);
	put(c, GET("/a.css"));
	SCRIPT_SEES(c, "\r\n\r\n0000000");
	assert_true(script_saw(c, "; hit; detail=held\r\n"));
	assert_int_equal(w->counters.holds_claimed, 1);
	assert_int_equal(gate_seen(&w->sites[0], "/a.css"), 0);
	gate_world_free(w);
}

/* The browser's other connections do not get it, unless holds are shared. */
static void only_shared_holds_answer_another_connection(void **state)
{
	(void)state;
	for (unsigned shares = 0; shares < 2; shares++) {
		struct gate_world *w =
		    gate_world_new(shares ? "hold-shared = yes" : NULL, NULL, NULL, HOLD);
		held(w);
		struct script_peer *other = http1_client(w, GET("/a.css"));
		UNTIL(w, shares ? script_saw(other, "\r\n\r\n0000000")
				: gate_seen(&w->sites[0], "/a.css") == 1);
		assert_int_equal(w->counters.holds_claimed, shares);
		gate_world_free(w);
	}
}

static void pipelined_request_joins_the_push_of_the_one_before_it(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, HOLD);
	struct script_peer *c = http1_client(w, GET("/page") GET("/a.css"));
	struct gate_stream *p = promise(w, "/page", "/a.css");
	gate_answer_fields(p, 200, false, "cache-control", "max-age=60", NULL);
	answer(w, "/page", 204, 0);
	SCRIPT_SEES(c, "; fwd=miss; collapsed");
	gate_more(p, 7, true);
	SCRIPT_SEES(c, "7\r\n0000000\r\n");
	assert_int_equal(gate_seen(&w->sites[0], "/a.css"), 0);
	gate_world_free(w);
}

static void what_the_connection_has_is_not_held_again(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, HOLD);
	struct script_peer *c = held(w);
	put(c, GET("/a.css"));
	SCRIPT_SEES(c, "\r\n\r\n0000000");
	assert_true(client_of(w)->diary.resources.count >= 1);
	put(c, GET("/other"));
	struct gate_stream *again = promise(w, "/other", "/a.css");
	UNTIL(w, again->was_reset);
	assert_int_equal(again->code, SESSION_CANCEL);
	assert_int_equal(w->counters.pushes_held, 1);
	gate_world_free(w);
}

static void hint_goes_to_http_1_1_and_not_to_1_0(void **state)
{
	(void)state;
	static const char *const requests[] = {
	    GET("/page"), "GET /page HTTP/1.0\r\nHost: example.com\r\n\r\n"};
	for (unsigned i = 0; i < 2; i++) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, HINT);
		struct script_peer *c = http1_client(w, requests[i]);
		UNTIL(w, gate_find(w, "/page"));
		if (gate_find(w, "/page")->peer->enable_push) {
			struct gate_stream *p = promise(w, "/page", "/a.css");
			UNTIL(w, p->was_reset);
		}
		answer(w, "/page", 200, 5);
		SCRIPT_SEES(c, "00000");
		assert_int_equal(script_times(c, "HTTP/1.1 103 "), i == 0);
		assert_int_equal(script_times(c, "link: </a.css>"), i == 0);
		assert_int_equal(w->counters.pushes_hinted, i == 0);
		gate_world_free(w);
	}
}

static void interim_responses_of_the_origin_go_to_http_1_1_alone(void **state)
{
	(void)state;
	static const char *const requests[] = {
	    GET("/page"), "GET /page HTTP/1.0\r\nHost: example.com\r\n\r\n"};
	for (unsigned i = 0; i < 2; i++) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		struct script_peer *c = http1_client(w, requests[i]);
		UNTIL(w, gate_find(w, "/page"));
		gate_answer_fields(gate_find(w, "/page"), 103, false, "link", "</a.css>; rel=preload", NULL);
		answer(w, "/page", 200, 5);
		SCRIPT_SEES(c, "00000");
		assert_int_equal(script_times(c, "HTTP/1.1 103 "), i == 0);
		assert_int_equal(script_times(c, "HTTP/1.1 200 "), 1);
		gate_world_free(w);
	}
}

/* ---- traces ---- */

static void each_head_is_a_line_without_any_value(void **state)
{
	(void)state;
	static char text[1 << 16];
	int pair[2];
	struct cidr all;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	assert_null(cidr_parse(SLICE("127.0.0.0/8"), &all));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	assert_true(gateway_trace(w->gateway, &all, net_now(w->loop) + 3600 * USEC_PER_SEC, pair[1]));
	struct script_peer *c = http1_client(w, "GET /path-of-mine HTTP/1.1\r\nHost: example.com\r\n"
						"Cookie: secret=crumb\r\n\r\n");
	answer(w, "/path-of-mine", 204, 0);
	SCRIPT_SEES(c, "HTTP/1.1 204 ");
	ssize_t n = read(pair[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	const char *in = strstr(text, ": <- request len="), *out = strstr(text, ": -> response 204 len=");
	assert_true(in && out && in < out);
	assert_null(strstr(text, "path-of-mine"));
	assert_null(strstr(text, "secret"));
	gate_world_free(w);
	close(pair[0]);
}

/* ---- memory ---- */

/* What connection_bytes charges for covers both. */
static void idle_connection_needs_no_more_memory_than_one_of_http2(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct script_peer *c = http1_client(w, GET("/1"));
	answer(w, "/1", 204, 0);
	SCRIPT_SEES(c, "HTTP/1.1 204 ");
	gate_passes(w);
	assert_int_equal(client_of(w)->budget.used_bytes, 0);
	/* With the buffer that is kept for the next head. */
	assert_true(sizeof(struct session) + 1024 < CONNECTION_BYTES);
	assert_true(sizeof(struct session) <= sizeof(struct session));
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_a_rule_nothing_is_asked_for_or_made),
	    cmocka_unit_test(held_push_answers_the_next_request_of_the_connection),
	    cmocka_unit_test(only_shared_holds_answer_another_connection),
	    cmocka_unit_test(pipelined_request_joins_the_push_of_the_one_before_it),
	    cmocka_unit_test(what_the_connection_has_is_not_held_again),
	    cmocka_unit_test(hint_goes_to_http_1_1_and_not_to_1_0),
	    cmocka_unit_test(interim_responses_of_the_origin_go_to_http_1_1_alone),
	    cmocka_unit_test(each_head_is_a_line_without_any_value),
	    cmocka_unit_test(idle_connection_needs_no_more_memory_than_one_of_http2),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
