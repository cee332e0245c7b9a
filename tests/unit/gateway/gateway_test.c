/* SPDX-License-Identifier: MIT */
/* Plain proxying: our own answers, forwarded messages, and the ends of client connections. */
#include "tests/support/gateway_world.h"
#include "tests/support/head_names.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* covers: R45 R62 R65 R66 R67 R68 R69 R70 R74 */

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 5, true);
}

static void expect(struct gate_world *w, struct gate_stream *s, unsigned status)
{
	UNTIL(w, s->is_over);
	if (s->status != status)
		fail_msg("%s %s: %u instead of %u", s->method, s->path, s->status, status);
}

/* ---- answered here ---- */

static void request_without_a_route_is_refused(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(
	    NULL, NULL, NULL, "[route a]\nhost = example.com\npath = /a\norigin = a\n");
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_request(c, "GET", "example.org", "/a", true, NULL);
	expect(w, s, 421);
	assert_non_null(strstr(s->status_error, "destination_not_found"));
	expect(w, gate_request(c, "GET", "example.com", "/b", true, NULL), 404);
	/* Who answers as the final recipient answers for what there is. */
	expect(w, gate_request(c, "OPTIONS", "example.org", "/a", true, "max-forwards", "0", NULL),
	    421);
	expect(w, gate_request(c, "CONNECT", "example.com:443", "", true, NULL), 501);
	expect(w, gate_request(c, "GET", "example.com", "/a", true, NULL), 200);
	gate_world_free(w);
}

static void max_forwards_is_counted_down_and_ends_here_at_zero(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s =
	    gate_request(c, "OPTIONS", "example.com", "*", true, "max-forwards", "0", NULL);
	expect(w, s, 204);
	assert_true(s->ended);
	assert_non_null(strstr(s->status_error, "proxy_internal_response"));
	expect(
	    w, gate_request(c, "TRACE", "example.com", "/t", true, "max-forwards", "0", NULL), 501);
	expect(
	    w, gate_request(c, "OPTIONS", "example.com", "*", true, "max-forwards", "1", NULL), 200);
	expect(w, gate_request(c, "GET", "example.com", "/a", true, "max-forwards", "0", NULL), 200);
	assert_int_equal(gate_seen(&w->sites[0], "*"), 1);
	gate_world_free(w);
}

static void too_many_fields_are_answered_431(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "max-header-list = 4k", NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	char value[5000];
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	expect(w, gate_request(c, "GET", "example.com", "/a", true, "x-large", value, NULL), 431);
	/* Its table is still in step. */
	expect(w, gate_request(c, "GET", "example.com", "/b", true, "x-small", "1", NULL), 200);
	assert_int_equal(gate_seen(&w->sites[0], "/a"), 0);
	gate_world_free(w);
}

static void too_large_a_body_is_answered_413(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "max-request-body = 1000", NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_request(c, "POST", "example.com", "/a", false, NULL);
	gate_more(s, 2000, false);
	expect(w, s, 413);
	s = gate_request(c, "POST", "example.com", "/b", false, NULL);
	gate_more(s, 2000, true);
	expect(w, s, 413);
	s = gate_request(c, "POST", "example.com", "/c", false, "content-length", "1001", NULL);
	expect(w, s, 413);
	assert_int_equal(gate_seen(&w->sites[0], "/c"), 0);
	struct gate_stream *at = gate_find(w, "/a");
	if (at) {
		UNTIL(w, at->is_over);
		assert_true(at->was_reset);
	}
	s = gate_request(c, "POST", "example.com", "/d", false, NULL);
	gate_more(s, 1000, true);
	w->sites[0].serve = ok;
	expect(w, s, 200);
	gate_world_free(w);
}

/* ---- loops ---- */

static void a_gateway_that_is_its_own_origin_ends_the_loop(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	/* The origin's address is the gateway's own listener. */
	gate_set_servers(w, 0, (const struct net_address *[]){&w->at}, 1);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s[10];
	for (unsigned i = 0; i < 10; i++)
		s[i] = gate_get(c, "/a");
	for (unsigned i = 0; i < 10; i++)
		expect(w, s[i], 508);
	assert_int_equal(w->counters.requests, 20);
	gate_world_free(w);
}

static void request_with_our_via_pseudonym_is_refused_and_with_another_is_not(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new("pseudonym = me", NULL, NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	expect(
	    w, gate_request(c, "GET", "example.com", "/a", true, "via", "2 other, 2 me", NULL), 508);
	expect(w, gate_request(c, "GET", "example.com", "/a", true, "via", "2 other, 2 some", NULL),
	    200);
	assert_non_null(strstr(gate_find(w, "/a")->via, "2 me"));
	gate_world_free(w);
}

/* ---- passes through ---- */

static void head_204_and_304_have_no_body(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_request(c, "HEAD", "example.com", "/head", true, NULL);
	UNTIL(w, gate_find(w, "/head"));
	gate_answer_fields(gate_find(w, "/head"), 200, true, "content-length", "1000", NULL);
	expect(w, s, 200);
	assert_int_equal(s->received, 0);
	static const unsigned statuses[] = {204, 304};
	for (unsigned i = 0; i < 2; i++) {
		char path[8];
		snprintf(path, sizeof(path), "/%u", statuses[i]);
		s = gate_get(c, path);
		UNTIL(w, gate_find(w, path));
		gate_answer(gate_find(w, path), statuses[i], 0, i == 0);
		if (i == 1) /* the end comes in an empty DATA frame */
			gate_more(gate_find(w, path), 0, true);
		expect(w, s, statuses[i]);
		assert_true(s->ended);
	}
	/* Our own answers too. */
	gate_site_close(&w->sites[0]);
	gate_peer_abort(w->sites[0].peers[0]);
	gate_passes(w);
	s = gate_request(c, "HEAD", "example.com", "/head", true, NULL);
	expect(w, s, 503);
	assert_int_equal(s->received, 0);
	gate_world_free(w);
}

static void trailers_and_interim_responses_pass_both_ways(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s =
	    gate_request(c, "POST", "example.com", "/a", false, "expect", "100-continue", NULL);
	UNTIL(w, gate_find(w, "/a"));
	struct gate_stream *at = gate_find(w, "/a");
	gate_answer(at, 100, 0, false);
	UNTIL(w, s->interims == 1);
	assert_non_null(http_head_find_name(s->head, SLICE("via"))); /* RFC 9110 7.6.3 */
	gate_answer(at, 103, 0, false);
	gate_more(s, 30000, false);
	UNTIL(w, at->received == 30000);
	gate_trailers(s);
	UNTIL(w, at->ended);
	assert_int_equal(at->trailers, 1);
	gate_answer(at, 200, 40000, false);
	UNTIL(w, s->received == 40000);
	assert_non_null(http_head_find_name(s->head, SLICE("via")));
	gate_trailers(at);
	expect(w, s, 200);
	assert_int_equal(s->trailers, 1);
	assert_int_equal(s->interims, 2);
	gate_world_free(w);
}

static void a_response_cut_short_is_never_a_normal_end(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *cut = gate_get(c, "/cut"), *reset = gate_get(c, "/reset");
	UNTIL(w, gate_find(w, "/cut") && gate_find(w, "/reset"));
	gate_answer(gate_find(w, "/cut"), 200, 10, false);
	gate_answer(gate_find(w, "/reset"), 200, 10, false);
	UNTIL(w, cut->received == 10 && reset->received == 10);
	gate_reset_stream(gate_find(w, "/reset"), SESSION_PROTOCOL_ERROR);
	UNTIL(w, reset->is_over);
	assert_false(reset->ended);
	assert_int_equal(reset->code, SESSION_INTERNAL_ERROR);
	gate_peer_abort(gate_find(w, "/cut")->peer);
	UNTIL(w, cut->is_over);
	assert_false(cut->ended);
	assert_true(cut->was_reset);
	gate_world_free(w);
}

static void a_cancelled_request_is_cancelled_at_the_origin(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *a = gate_get(c, "/a");
	struct gate_stream *b = gate_request(c, "POST", "example.com", "/b", false, NULL);
	gate_more(b, 100, false);
	UNTIL(w, gate_find(w, "/a") && gate_find(w, "/b") && gate_find(w, "/b")->received == 100);
	gate_reset_stream(a, SESSION_CANCEL);
	gate_reset_stream(b, SESSION_CANCEL);
	UNTIL(w, gate_find(w, "/a")->is_over && gate_find(w, "/b")->is_over);
	assert_int_equal(gate_find(w, "/a")->code, SESSION_CANCEL);
	assert_int_equal(gate_find(w, "/b")->code, SESSION_CANCEL);
	assert_false(gate_find(w, "/b")->ended);
	gate_world_free(w);
}

static void an_early_answer_may_take_longer_than_the_upload_may_pause(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "body-timeout = 60ms", NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_request(c, "POST", "example.com", "/a", false, NULL);
	gate_more(s, 100, false);
	UNTIL(w, gate_find(w, "/a") && gate_find(w, "/a")->received == 100);
	struct gate_stream *at = gate_find(w, "/a");
	/* It has answered whole and wants no more of the request, and the client reads slowly. */
	c->options.keeps_credit = true;
	gate_answer(at, 200, 100000, true);
	UNTIL(w, s->received == 65535 && at->out == 0);
	gate_reset_stream(at, SESSION_NO_ERROR);
	usec since = net_now(w->loop);
	UNTIL(w, net_now(w->loop) > since + 150 * USEC_PER_MSEC);
	assert_false(s->is_over);
	c->options.keeps_credit = false;
	session_credit(c->h2, s->handle, 65535);
	net_conn_dirty(c->net);
	UNTIL(w, s->is_over);
	assert_int_equal(s->received, 100000);
	assert_true(s->ended);
	assert_int_equal(s->code, SESSION_NO_ERROR);
	gate_world_free(w);
}

static void a_slow_client_stalls_no_other_client_of_a_shared_connection(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
	const struct gate_peer_options shut = {.keeps_credit = true, .window = 1};
	struct gate_peer *slow = gate_client(w, &shut), *quick = gate_client(w, NULL);
	struct gate_stream *stuck[60];
	for (unsigned i = 0; i < 60; i++)
		stuck[i] = gate_get(slow, "/slow");
	UNTIL(w, gate_seen(&w->sites[0], "/slow") == 60);
	struct gate_peer *o = w->sites[0].peers[0];
	for (size_t i = 0; i < o->stream_count; i++)
		gate_answer(o->streams[i], 200, 1000000, true);
	gate_passes(w);
	struct gate_stream *s = gate_get(quick, "/quick");
	UNTIL(w, gate_find(w, "/quick"));
	gate_answer(gate_find(w, "/quick"), 200, 1000000, true);
	expect(w, s, 200);
	assert_int_equal(s->received, 1000000);
	/* What the slow one does not take is bounded by the windows. */
	for (unsigned i = 0; i < 60; i++)
		assert_true(1000000 - gate_find(w, "/slow")->out <= 262144);
	assert_false(stuck[0]->is_over);
	gate_world_free(w);
}

static void a_large_body_passes_through_growing_windows(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	const struct gate_peer_options wide = {.window = 1 << 20};
	struct gate_peer *c = gate_client(w, &wide);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, gate_find(w, "/a"));
	gate_answer(gate_find(w, "/a"), 200, 20000000, true);
	expect(w, s, 200);
	assert_int_equal(s->received, 20000000);
	struct gate_stream *up = gate_request(c, "POST", "example.com", "/up", false, NULL);
	gate_more(up, 5000000, true);
	UNTIL(w, gate_find(w, "/up") && gate_find(w, "/up")->ended);
	assert_int_equal(gate_find(w, "/up")->received, 5000000);
	gate_answer(gate_find(w, "/up"), 201, 0, true);
	expect(w, up, 201);
	assert_int_equal(w->gateway->env.budget.used_bytes > 0, 1);
	gate_world_free(w);
}

/* ---- client connections ---- */

static size_t raw_read(struct gate_world *w, int fd, char *to, size_t size)
{
	size_t n = 0;
	for (unsigned i = 0; i < 8000 && n < size - 1; i++) {
		net_run_once(w->loop, USEC_PER_MSEC);
		ssize_t r = recv(fd, to + n, size - 1 - n, MSG_DONTWAIT);
		if (r == 0 || (r < 0 && errno != EAGAIN))
			break;
		n += r > 0 ? (size_t)r : 0;
	}
	to[n] = '\0';
	return n;
}

static void something_other_than_http2_is_answered_505(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "protocols = h2", NULL, NULL);
	int fd = gate_raw(w);
	char text[512];
	assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
	raw_read(w, fd, text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 505 "));
	assert_non_null(strstr(text, "This endpoint speaks HTTP/2.\n"));
	assert_int_equal(w->counters.not_http2, 1);
	close(fd);
	UNTIL(w, w->counters.connections_open == 0);
	gate_world_free(w);
}

static void a_preface_in_pieces_is_understood(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	int fd = gate_raw(w);
	char text[512];
	for (size_t i = 0; i < H2_PREFACE_LEN; i++) {
		assert_int_equal(send(fd, &H2_PREFACE[i], 1, 0), 1);
		gate_passes(w);
	}
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(send(fd, &"\0\0\0\4\0\0\0\0\0"[i], 1, 0), 1);
		gate_passes(w);
	}
	ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
	assert_true(n > 9);
	assert_int_equal(text[3], 4); /* SETTINGS */
	assert_int_equal(w->counters.connections_open, 1);
	/* The client is gone in the middle of everything. */
	close(fd);
	UNTIL(w, w->counters.connections_open == 0);
	gate_world_free(w);
}

static void missing_preface_ends_the_connection(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "preface-timeout = 50ms", NULL, NULL);
	int fd[3] = {gate_raw(w), gate_raw(w), gate_raw(w)};
	UNTIL(w, w->counters.connections_open == 3);
	assert_int_equal(send(fd[1], H2_PREFACE, 10, 0), 10);
	assert_int_equal(send(fd[2], H2_PREFACE, H2_PREFACE_LEN, 0), H2_PREFACE_LEN);
	UNTIL(w, w->counters.connections_open == 0);
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
	gate_world_free(w);
}

static void an_idle_client_receives_goaway_and_is_then_closed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "idle-timeout = 60ms", NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	expect(w, gate_get(c, "/a"), 200);
	UNTIL(w, c->ended);
	assert_true(c->goaway_came);
	assert_int_equal(c->goaway_code, SESSION_NO_ERROR);
	/* One that never asks anything is idle as well. */
	c = gate_client(w, NULL);
	UNTIL(w, c->ended);
	assert_true(c->goaway_came);
	UNTIL(w, w->counters.connections_open == 0);
	gate_world_free(w);
}

static void a_busy_client_is_not_idle(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "idle-timeout = 30ms", NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, gate_find(w, "/a"));
	usec since = net_now(w->loop);
	UNTIL(w, net_now(w->loop) > since + 120 * USEC_PER_MSEC);
	assert_false(c->goaway_came);
	ok(gate_find(w, "/a"));
	expect(w, s, 200);
	gate_world_free(w);
}

static void a_client_whose_window_stays_closed_is_reset(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "write-timeout = 60ms", NULL, NULL);
	const struct gate_peer_options shut = {.window = UINT32_MAX};
	struct gate_peer *c = gate_client(w, &shut);
	w->sites[0].serve = ok;
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	assert_true(s->was_reset);
	assert_int_equal(s->code, SESSION_CANCEL);
	/* An answer of our own is no exception. */
	s = gate_request(c, "CONNECT", "example.com:443", "", true, NULL);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 501);
	assert_true(s->was_reset);
	gate_world_free(w);
}

static void a_less_urgent_response_may_wait_longer_than_write_timeout(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "write-timeout = 100ms", NULL, NULL);
	/* The client's connection window is all that it gives: the urgent one has all of it. */
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *urgent =
	    gate_request(c, "GET", "example.com", "/urgent", true, "priority", "u=0", NULL);
	UNTIL(w, gate_find(w, "/urgent"));
	gate_answer(gate_find(w, "/urgent"), 200, 10, false);
	struct gate_stream *late =
	    gate_request(c, "GET", "example.com", "/late", true, "priority", "u=7", NULL);
	UNTIL(w, gate_find(w, "/late"));
	usec since = net_now(w->loop);
	gate_answer(gate_find(w, "/late"), 200, 200000, true);
	/* More of the urgent one is always there. */
	UNTIL(w, ({
		if (gate_find(w, "/urgent")->out < 1000000)
			gate_more(gate_find(w, "/urgent"), 2000000, false);
		net_now(w->loop) > since + 250 * USEC_PER_MSEC;
	}));
	assert_false(late->was_reset);
	gate_reset_stream(urgent, SESSION_CANCEL);
	expect(w, late, 200);
	assert_int_equal(late->received, 200000);
	gate_world_free(w);
}

static void a_client_that_reads_nothing_is_disconnected(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "write-timeout = 60ms", NULL, NULL);
	const struct gate_peer_options wide = {.window = 1 << 30};
	struct gate_peer *c = gate_client(w, &wide);
	w->sites[0].serve = NULL;
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, gate_find(w, "/a"));
	/* Wide windows, and a socket that fills up. */
	session_ping(c->h2, net_now(w->loop));
	net_conn_dirty(c->net);
	gate_passes(w);
	net_conn_pause_reading(c->net, NET_PAUSE_PEER);
	gate_answer(gate_find(w, "/a"), 200, 60000000, true);
	UNTIL(w, w->counters.connections_open == 0);
	assert_false(s->ended);
	UNTIL(w, gate_find(w, "/a")->is_over);
	gate_world_free(w);
}

static void more_connections_than_allowed_are_closed_at_once(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "max-connections = 2", NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *a = gate_client(w, NULL), *b = gate_client(w, NULL);
	UNTIL(w, w->counters.connections_open == 2);
	struct gate_peer *c = gate_client(w, NULL);
	UNTIL(w, c->ended);
	assert_int_equal(w->counters.connections_refused, 1);
	gate_peer_abort(a);
	UNTIL(w, w->counters.connections_open == 1);
	c = gate_client(w, NULL);
	expect(w, gate_get(c, "/a"), 200);
	expect(w, gate_get(b, "/a"), 200);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request_without_a_route_is_refused),
	    cmocka_unit_test(max_forwards_is_counted_down_and_ends_here_at_zero),
	    cmocka_unit_test(too_many_fields_are_answered_431),
	    cmocka_unit_test(too_large_a_body_is_answered_413),
	    cmocka_unit_test(a_gateway_that_is_its_own_origin_ends_the_loop),
	    cmocka_unit_test(request_with_our_via_pseudonym_is_refused_and_with_another_is_not),
	    cmocka_unit_test(head_204_and_304_have_no_body),
	    cmocka_unit_test(trailers_and_interim_responses_pass_both_ways),
	    cmocka_unit_test(a_response_cut_short_is_never_a_normal_end),
	    cmocka_unit_test(a_cancelled_request_is_cancelled_at_the_origin),
	    cmocka_unit_test(an_early_answer_may_take_longer_than_the_upload_may_pause),
	    cmocka_unit_test(a_slow_client_stalls_no_other_client_of_a_shared_connection),
	    cmocka_unit_test(a_large_body_passes_through_growing_windows),
	    cmocka_unit_test(something_other_than_http2_is_answered_505),
	    cmocka_unit_test(a_preface_in_pieces_is_understood),
	    cmocka_unit_test(missing_preface_ends_the_connection),
	    cmocka_unit_test(an_idle_client_receives_goaway_and_is_then_closed),
	    cmocka_unit_test(a_busy_client_is_not_idle),
	    cmocka_unit_test(a_client_whose_window_stays_closed_is_reset),
	    cmocka_unit_test(a_less_urgent_response_may_wait_longer_than_write_timeout),
	    cmocka_unit_test(a_client_that_reads_nothing_is_disconnected),
	    cmocka_unit_test(more_connections_than_allowed_are_closed_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
