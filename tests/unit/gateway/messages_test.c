/* SPDX-License-Identifier: MIT */
/* What the error log says while requests are served: each message as a whole, and when it is said. */
#include "tests/support/accounts.h"

#include "tests/support/net_faults.h"
#include "tests/support/net_sys.h"
#include "tests/support/script_peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gate_world *world(const char *server, const char *listen, const char *origin, const char *more)
{
	struct gate_world *w = gate_world_new(server, listen, origin, more);
	accounts_begin(w);
	return w;
}

static void said(struct gate_world *w, const char *messages)
{
	gate_passes(w);
	accounts_said(w, messages);
	gate_world_free(w);
}

static struct gate_stream *is_over(struct gate_world *w, struct gate_stream *s)
{
	UNTIL(w, s->is_over);
	return s;
}

static struct gate_stream *at_origin(struct gate_world *w, struct gate_peer *c, const char *path)
{
	gate_get(c, path);
	UNTIL(w, gate_find(w, path));
	return gate_find(w, path);
}

/* ---- clients ---- */

static void a_scheme_that_the_connection_does_not_have(void **state)
{
	(void)state;
	static const struct gate_peer_options https = {.scheme = "https"};
	struct gate_world *w = world(NULL, NULL, NULL, NULL);
	assert_int_equal(is_over(w, gate_get(gate_client(w, &https), "/"))->status, 421);
	said(w,
	    "warn l: peer 127.0.0.1: https in cleartext, answered 421; if TLS ends there, add trusted = 127.0.0.1 to "
	    "[listen l]\n");
}

static void a_websocket_where_the_route_has_none(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL, NULL);
	static const char *const requests[] = {
	    "GET /chat?key=1 HTTP/1.1\r\nHost: example.com\r\nConnection: upgrade\r\nUpgrade: h2c, WebSocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
	    "GET /h2 HTTP/1.1\r\nHost: example.com\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
	    "GET /other HTTP/1.1\r\nHost: example.com\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n"};
	static const char *const paths[] = {"/chat?key=1", "/h2", "/other"};
	for (size_t i = 0; i < 3; i++) {
		const char *path = paths[i];
		struct script_peer *c = script_client_mute(w, NULL, NULL);
		script_put(c, requests[i], strlen(requests[i]));
		UNTIL(w, gate_find(w, path));
		gate_answer(gate_find(w, path), 200, 1, true);
		UNTIL(w, w->counters.requests_open == 0);
	}
	said(w,
	    "info l: client 127.0.0.1 asks for a WebSocket at /chat; if it is to get one, add upgrade = websocket to [route "
	    "a]\n");
}

static void a_limit_of_requests_and_one_in_shadow(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL,
	    "[route a]\nhost = example.com\norigin = a\nlimit-requests = 1/h burst 1\n"
	    "[route b]\norigin = a\nlimit-requests = 1/h burst 1 shadow\n");
	struct gate_peer *c = gate_client(w, NULL);
	for (size_t i = 0; i < 4; i++) {
		struct gate_stream *at = NULL;
		char path[8];
		snprintf(path, sizeof(path), "/%zu", i);
		struct gate_stream *asked = gate_request(c, "GET", i < 2 ? "example.com" : "b.test", path, true, NULL);
		UNTIL(w, asked->is_over || (at = gate_find(w, path)) != NULL);
		if (at)
			gate_answer(at, 204, 0, true);
		is_over(w, asked);
	}
	said(w,
	    "info l: client 127.0.0.1: route a: over limit-requests = 1/h burst 1, answered 429\n"
	    "info l: client 127.0.0.1: route b: over limit-requests = 1/h burst 1 shadow, which is in shadow: passes\n");
}

static void too_many_wrong_passwords(void **state)
{
	(void)state;
	struct gate_world *w = world("user-failures = 1", "access = home", NULL,
	    "[access home]\nusers = users\nask = path=/*\nallow = path=/*\n[route r]\norigin = a\n");
	struct gate_peer *c = gate_client(w, NULL);
	static const char *const credentials[] = {"Basic Ym9iOjI=", "Basic Ym9iOjM=", "Basic Ym9iOjQ="};
	for (size_t i = 0; i < 3; i++) {
		struct gate_stream *s =
		    gate_request(c, "GET", "example.com", "/", true, "authorization", credentials[i], NULL);
		UNTIL(w, s->is_over || w->question_count > i);
		if (!s->is_over)
			assert_true(gateway_password_answer(w->gateway, w->questions[i].id, false));
		is_over(w, s);
	}
	said(w,
	    "warn l: client 127.0.0.1: too many wrong passwords (user-failures), answered 429\n"
	    "warn l: client 127.0.0.1: too many wrong passwords (user-failures), answered 429\n");
}

/* ---- promises ---- */

static void promises_above_a_cap(void **state)
{
	(void)state;
	struct gate_world *w = world("max-pushes-per-parent = 1", NULL, NULL, NULL);
	struct gate_stream *at = at_origin(w, gate_client(w, NULL), "/page");
	gate_promise(at, "http", "example.com", "/a.css");
	for (unsigned i = 0; i < 2; i++) {
		struct gate_stream *refused = gate_promise(at, "http", "example.com", i ? "/c.css" : "/b.css");
		is_over(w, refused);
	}
	said(w,
	    "warn origin a (h2c://*): promises are refused: parent-cap: The parent request has reached its maximum of open "
	    "pushes. Raise max-pushes-per-parent (or max-per-parent of the rule), or promise less. 1 refused on this "
	    "connection so far\n");
}

static void promise_much(struct gate_stream *at, const volatile uint64_t *until)
{
	struct gate_world *w = at->peer->world;
	for (unsigned i = 0; i < 40 && *until == 0; i++) {
		if (!gate_promise(at, "http", "b.example", "/no"))
			break;
		gate_passes(w);
	}
	assert_int_equal(*until, 1);
}

static void push_goes_off_for_a_route(void **state)
{
	(void)state;
	struct gate_world *w = world("reset-rate = 5\npromise-refusals = 1000", NULL, NULL, NULL);
	struct gate_stream *at = at_origin(w, gate_client(w, NULL), "/page");
	promise_much(at, &w->counters.push_off_routes);
	assert_in_range(w->counters.push_off_until[0], w->gateway->relay.now + 50 * USEC_PER_SEC,
	    w->gateway->relay.now + 60 * USEC_PER_SEC);
	said(w,
	    "warn origin a (h2c://*): push is off for route a for 60 s: reset-budget: one connection had more refusals than "
	    "reset-rate = 5 a second or promise-refusals = 1000 a minute (0 by limits so far, the last one: dropped by "
	    "policy)\n");
}

static void push_goes_off_on_a_connection(void **state)
{
	(void)state;
	struct gate_world *w = world("reset-rate = 100000\npromise-refusals = 10", NULL, NULL, NULL);
	struct gate_stream *at = at_origin(w, gate_client(w, NULL), "/page");
	promise_much(at, &w->counters.push_off_connections);
	assert_int_equal(w->counters.push_off_connections_open[0], 1);
	gate_peer_abort(at->peer);
	UNTIL(w, w->counters.push_off_connections_open[0] == 0);
	said(w,
	    "warn origin a (h2c://*): push is off for route a for 60 s: reset-budget: one connection had more refusals than "
	    "reset-rate = 100000 a second or promise-refusals = 10 a minute (0 by limits so far, the last one: dropped by "
	    "policy)\n"
	    "warn origin a (h2c://*): push is off on this connection until it ends: more than promise-refusals = 10 promises "
	    "a minute were refused (the last one: dropped by policy)\n"
	    "warn origin a (h2c://*): closed the connection before a response was complete\n");
}

/* ---- rules ---- */

/* The client's next request for what was held misses it, because the request has another x-kind. */
static void a_rule_of_which_little_is_used_pauses(void **state)
{
	(void)state;
	static const struct gate_peer_options refuses = {.no_push = true};
	struct gate_world *w = world(NULL, NULL, NULL,
	    "[route a]\norigin = a\n[push held]\naction = hold\nmin-used = 50%\nmin-sample = 2\n");
	struct gate_peer *c = gate_client(w, &refuses);
	for (unsigned i = 0; i < 2; i++) {
		const char *path = i ? "/b.css" : "/a.css";
		struct gate_stream *at = at_origin(w, c, i ? "/b" : "/a");
		struct gate_stream *held = gate_promise(at, "http", "example.com", path);
		gate_answer_fields(held, 200, false, "cache-control", "max-age=60", "vary", "x-kind", NULL);
		gate_more(held, 5, true);
		is_over(w, held);
		gate_answer(at, 200, 1, true);
		UNTIL(w, w->counters.responses_2xx == 2 * i + 1);
		struct gate_stream *miss = gate_request(c, "GET", "example.com", path, true, "x-kind", "b", NULL);
		UNTIL(w, !gate_find(w, path)->parent);
		gate_answer(gate_find(w, path), 200, 1, true);
		is_over(w, miss);
	}
	gate_peer_abort(c);
	UNTIL(w, w->counters.requests_open == 0);
	said(w,
	    "warn push held: too little of what it pushed was of use (0.00 % of all so far): it pauses for 60 s; mostly for "
	    "this cause: vary (2 of 2): Promise with the fields that clients send, or make the origin's Vary shorter.\n");
}

/* ---- origins ---- */

static void an_origin_that_cannot_be_connected_to(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL, NULL);
	gate_site_close(&w->sites[0]);
	is_over(w, gate_get(gate_client(w, NULL), "/"));
	said(w,
	    "warn origin a (h2c://*): cannot connect: *: connect: Connection refused\n"
	    "warn origin a (h2c://*): cannot connect: *: connect: Connection refused\n");
}

static void an_origin_that_ends_its_connection_with_an_error(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL, NULL);
	struct gate_stream *at = at_origin(w, gate_client(w, NULL), "/");
	gate_terminate(at->peer, SESSION_ENHANCE_YOUR_CALM);
	UNTIL(w, w->counters.requests_open == 0);
	said(w,
	    "warn origin a (h2c://*): sent GOAWAY: ENHANCE_YOUR_CALM\n"
	    "warn origin a (h2c://*): connection ended with an error: ENHANCE_YOUR_CALM\n");
}

/* What an origin in cleartext says first, in place of HTTP/2 or after its SETTINGS. */
static void what_an_origin_says_that_is_no_http2(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t length;
		const char *details, *messages;
	} rows[] = {
#define BYTES(text) text, sizeof(text) - 1
#define SETTINGS "\0\0\0\4\0\0\0\0\0"
	    {BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"), "details=\"origin-not-http2\"",
		"warn origin a (h2c://*): cannot speak HTTP/2: *: it answered with HTTP/1 (\"HTTP/1.1 400 Bad Request\"); it must "
		"speak h2c with prior knowledge\n"},
	    {BYTES("220 mail.example ESMTP\r\n"), "details=\"first-frame-not-settings\"",
		"warn origin a (h2c://*): first-frame-not-settings: The first frame is not SETTINGS.\n"},
	    {BYTES(SETTINGS "\0\0\1\6\0\0\0\0\0\0"), "details=\"frame-length-wrong\"",
		"warn origin a (h2c://*): frame-length-wrong: A frame is too short or too long for its fields.\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gate_world *w = world(NULL, NULL, NULL, NULL);
		script_site(&w->sites[0]);
		struct gate_stream *asked = gate_get(gate_client(w, NULL), "/");
		UNTIL(w, script_origins(&w->sites[0]) == 1);
		script_put(script_origin(&w->sites[0], 0), rows[i].bytes, rows[i].length);
		is_over(w, asked);
		assert_int_equal(asked->status, 502);
		assert_non_null(strstr(asked->status_error, rows[i].details));
		assert_int_equal(w->counters.peer_faults_up, 1);
		assert_int_equal(w->counters.upstream_failed, 1);
		said(w, rows[i].messages);
	}
}

static void fail_503(struct gate_stream *s)
{
	gate_answer(s, 503, 2, true);
}

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 2, true);
}

static void a_server_is_ejected_and_used_again(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL,
	    "[origin f]\nserver = %A\nserver = %B\nbalance = round-robin\neject-failures = 2\neject-time = 1s\n"
	    "[route r]\norigin = f\n");
	w->sites[0].serve = ok;
	w->sites[1].serve = fail_503;
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 20 && w->counters.server_ejections == 0; i++)
		is_over(w, gate_get(c, "/"));
	struct destination *d = &w->gateway->upstream.destinations[2];
	assert_int_equal(d->ejected_count, 1);
	UNTIL(w, d->ejected_count == 0);
	said(w,
	    "warn origin f: server * is ejected for 1 s: 2 failures in a row\n"
	    "info origin f: server * is used again\n");
}

static void a_server_fails_its_checks_and_passes_them_again(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL,
	    "[origin f]\nserver = %A\nserver = %B\nhealth-check = /health\nhealth-interval = 100ms\n"
	    "health-fall = 2\nhealth-rise = 2\n"
	    "[route r]\norigin = f\n");
	struct server *first = list_first(&w->gateway->upstream.destinations[2].servers, struct server, link);
	struct server *second = container_of(first->link.next, struct server, link);
	w->sites[0].serve = ok;
	w->sites[1].serve = fail_503;
	UNTIL(w, health_state(second) == SERVER_FAILING);
	w->sites[1].serve = ok;
	UNTIL(w, health_state(second) == SERVER_UP);
	said(w,
	    "warn origin f: server * fails its checks: status 503, 2 in a row\n"
	    "info origin f: server * passes its checks: status 200, 2 in a row\n");
}

static void a_server_that_the_health_table_has_no_room_for(void **state)
{
	(void)state;
	void *memory = calloc(1, health_table_bytes(2, 0));
	struct health_table *table = health_table_new(memory, 2, 0);
	table->capacity = 1;
	gate_share_health(table);
	struct gate_world *w = world(NULL, NULL, NULL,
	    "[origin f]\nserver = %A\nserver = %B\nbalance = round-robin\neject-failures = 2\n[route r]\norigin = f\n");
	gate_share_health(NULL);
	w->sites[0].serve = ok;
	w->sites[1].serve = fail_503;
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 20 && w->counters.server_ejections == 0; i++)
		is_over(w, gate_get(c, "/"));
	said(w,
	    "warn origin f: server * is ejected for 10 s: 2 failures in a row\n"
	    "warn origin f: server * is one too many for status\n");
	free(table);
	free(memory);
}

/* Accepting goes on when a descriptor is free again. */
static void no_descriptor_for_a_client(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL, NULL);
	net_faults_begin();
	net_faults_plan((struct net_fault){NET_CALL_ACCEPT, NET_SIDE_ANY, EMFILE, 1, 1});
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	is_over(w, gate_get(c, "/"));
	net_sys_reset();
	assert_int_equal(w->counters.accept_paused, 1);
	assert_int_equal(w->counters.connections, 1);
	said(w,
	    "warn l: accepting pauses: Too many open files\n");
}

static void a_name_that_no_resolver_knows(void **state)
{
	(void)state;
	struct gate_world *w = world("resolver = 127.0.0.1:1", NULL, NULL,
	    "[origin f]\nserver = h2c://f.invalid:80\n[route r]\norigin = f\n");
	gateway_set_hosts(w->gateway, SLICE("127.0.0.9 other\n"));
	is_over(w, gate_get(gate_client(w, NULL), "/"));
	said(w,
	    "warn origin f: the name f.invalid cannot be looked up: there is no resolver at its address; it has no address\n");
}

/* ---- the worker ---- */

static void memory_is_short(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, NULL, NULL, NULL);
	w->gateway->env.memory_high_bytes = 1;
	at_origin(w, gate_client(w, NULL), "/");
	gate_passes(w);
	said(w,
	    "warn memory is short: 2560 of 268435456 bytes are in use; shedding what costs least\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_scheme_that_the_connection_does_not_have),
	    cmocka_unit_test(a_websocket_where_the_route_has_none),
	    cmocka_unit_test(a_limit_of_requests_and_one_in_shadow),
	    cmocka_unit_test(too_many_wrong_passwords),
	    cmocka_unit_test(promises_above_a_cap),
	    cmocka_unit_test(push_goes_off_for_a_route),
	    cmocka_unit_test(push_goes_off_on_a_connection),
	    cmocka_unit_test(a_rule_of_which_little_is_used_pauses),
	    cmocka_unit_test(an_origin_that_cannot_be_connected_to),
	    cmocka_unit_test(an_origin_that_ends_its_connection_with_an_error),
	    cmocka_unit_test(what_an_origin_says_that_is_no_http2),
	    cmocka_unit_test(a_server_is_ejected_and_used_again),
	    cmocka_unit_test(a_server_fails_its_checks_and_passes_them_again),
	    cmocka_unit_test(a_server_that_the_health_table_has_no_room_for),
	    cmocka_unit_test(no_descriptor_for_a_client),
	    cmocka_unit_test(a_name_that_no_resolver_knows),
	    cmocka_unit_test(memory_is_short),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
