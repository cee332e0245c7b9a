/* SPDX-License-Identifier: MIT */
/*
 * A client that ends its sending side and goes on reading: what it has asked for whole is answered, nothing new is begun
 * for it, and it is given up when it does not take its answers.
 */
#include "tests/support/gateway_world.h"

#include <stdlib.h>
#include <unistd.h>

/* covers: R203 */

/* The gateway has read the end. */
#define IS_HALF_CLOSED(w) client_conn_is_half_closed(client_of(w))

static struct client_conn *client_of(struct gate_world *w)
{
	return list_first(&w->gateway->clients.conns, struct client_conn, link);
}

/* A client that has asked for /0 … and then ended its sending side. */
static struct gate_peer *asked(struct gate_world *w, unsigned requests, struct gate_stream **streams)
{
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < requests; i++) {
		char path[16];
		snprintf(path, sizeof(path), "/%u", i);
		streams[i] = gate_get(c, path);
	}
	UNTIL(w, c->settings_came > 0);
	gate_passes(w);
	net_conn_finish(c->net);
	UNTIL(w, IS_HALF_CLOSED(w));
	return c;
}

static void all_whole_requests_are_answered_and_then_the_connection_ends(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_stream *s[8];
	struct gate_peer *c = asked(w, 8, s);
	UNTIL(w, gate_find(w, "/7"));
	assert_int_equal(w->counters.requests_open, 8);
	for (unsigned i = 0; i < 8; i++)
		gate_answer(gate_find(w, s[i]->path), 200, 5000, true);
	UNTIL(w, c->ended);
	for (unsigned i = 0; i < 8; i++) {
		assert_true(s[i]->ended);
		assert_int_equal(s[i]->received, 5000);
	}
	assert_true(c->goaway_came);
	assert_int_equal(c->goaway_code, SESSION_NO_ERROR);
	UNTIL(w, clients_are_gone(&w->gateway->clients));
	gate_world_free(w);
}

static void request_that_is_not_whole_is_aborted_and_no_other(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *part = gate_request(c, "POST", "example.com", "/part", false, NULL);
	gate_more(part, 100, false);
	struct gate_stream *whole = gate_request(c, "POST", "example.com", "/whole", false, NULL);
	gate_more(whole, 100, true);
	UNTIL(w, gate_find(w, "/part") && gate_find(w, "/whole") && gate_find(w, "/whole")->ended);
	net_conn_finish(c->net);
	UNTIL(w, gate_find(w, "/part")->was_reset && part->was_reset);
	assert_int_equal(gate_find(w, "/part")->code, SESSION_CANCEL);
	gate_answer(gate_find(w, "/whole"), 200, 10, true);
	UNTIL(w, whole->ended && c->ended);
	assert_int_equal(whole->received, 10);
	gate_world_free(w);
}

static void nothing_is_promised_or_hinted_to_it(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[route r]\norigin = a\n[push h]\npromised-path = /hinted\naction = hint\nhint-clients = all\n");
	struct gate_stream *s;
	struct gate_peer *c = asked(w, 1, &s);
	UNTIL(w, gate_find(w, "/0"));
	struct gate_stream *at = gate_find(w, "/0");
	struct gate_stream *promise = gate_promise(at, "http", "example.com", "/a.css");
	UNTIL(w, promise->was_reset);
	assert_int_equal(promise->code, SESSION_CANCEL);
	struct gate_stream *hinted = gate_promise(at, "http", "example.com", "/hinted");
	UNTIL(w, hinted->was_reset);
	gate_answer_fields(at, 103, false, "link", "</a.css>; rel=preload; as=style", NULL);
	gate_answer(at, 200, 10, true);
	UNTIL(w, c->ended);
	assert_true(s->ended);
	assert_int_equal(s->interims, 0);
	assert_int_equal(c->stream_count, 1);
	assert_int_equal(w->counters.pushes_forwarded + w->counters.pushes_hinted, 0);
	gate_world_free(w);
}

static void push_that_was_promised_before_is_completed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/");
	UNTIL(w, gate_find(w, "/"));
	struct gate_stream *promise = gate_promise(gate_find(w, "/"), "http", "example.com", "/a.css");
	UNTIL(w, gate_find_at(c, "/a.css"));
	net_conn_finish(c->net);
	UNTIL(w, IS_HALF_CLOSED(w));
	gate_answer(gate_find(w, "/"), 200, 10, true);
	UNTIL(w, s->is_over);
	gate_answer(promise, 200, 20, true);
	UNTIL(w, c->ended);
	assert_true(gate_find_at(c, "/a.css")->ended);
	assert_int_equal(gate_find_at(c, "/a.css")->received, 20);
	gate_world_free(w);
}

static void response_ends_when_its_window_is_used_up(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_stream *s[2];
	struct gate_peer *c = asked(w, 2, s);
	UNTIL(w, gate_find(w, "/1"));
	gate_answer(gate_find(w, "/0"), 200, 65535, true);
	gate_answer(gate_find(w, "/1"), 200, 65536, true);
	UNTIL(w, c->ended);
	assert_true(s[0]->ended);
	assert_int_equal(s[0]->received, 65535);
	assert_true(s[1]->was_reset);
	assert_int_equal(s[1]->received, 65535);
	assert_int_equal(s[1]->code, SESSION_CANCEL);
	gate_world_free(w);
}

/* Its answers are complete here; the socket has not accepted all of them. */
static void what_was_answered_before_still_leaves(void **state)
{
	(void)state;
	enum { FIELD = 30000 };
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	UNTIL(w, c->settings_came > 0);
	net_conn_pause_reading(c->net, NET_PAUSE_PEER);
	char *field = malloc(FIELD + 1);
	memset(field, 'x', FIELD);
	field[FIELD] = '\0';
	while (!net_conn_is_blocked(client_of(w)->net)) {
		char path[16];
		snprintf(path, sizeof(path), "/%zu", c->stream_count);
		gate_get(c, path);
		UNTIL(w, gate_find(w, path));
		gate_answer_fields(gate_find(w, path), 200, true, "x-large", field, NULL);
		gate_passes(w);
	}
	free(field);
	UNTIL(w, w->counters.requests_open == 0);
	net_conn_finish(c->net);
	UNTIL(w, clients_are_gone(&w->gateway->clients) || IS_HALF_CLOSED(w));
	net_conn_resume_reading(c->net, NET_PAUSE_PEER);
	UNTIL(w, c->ended);
	for (size_t i = 0; i < c->stream_count; i++)
		assert_true(c->streams[i]->ended);
	assert_true(c->goaway_came);
	UNTIL(w, clients_are_gone(&w->gateway->clients));
	gate_world_free(w);
}

static void window_that_was_used_up_before_ends_the_response_at_once(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_stream *s;
	asked(w, 1, &s);
	UNTIL(w, gate_find(w, "/0"));
	gate_answer(gate_find(w, "/0"), 200, 65535, false);
	UNTIL(w, s->received == 65535);
	gate_more(gate_find(w, "/0"), 1, false);
	gate_passes(w);
	assert_true(s->was_reset);
	gate_world_free(w);
}

static void client_that_is_gone_is_noticed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	gate_get(c, "/slow");
	UNTIL(w, gate_find(w, "/slow"));
	gate_passes(w); /* the gateway's acknowledgement is read, so that the end is no reset */
	gate_peer_abort(c);
	UNTIL(w, gate_find(w, "/slow")->was_reset);
	assert_int_equal(gate_find(w, "/slow")->code, SESSION_CANCEL);
	assert_true(clients_are_gone(&w->gateway->clients));
	gate_world_free(w);
}

/* It goes after its end has been read and after our GOAWAY. */
static void client_that_goes_later_is_noticed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_stream *s;
	struct gate_peer *c = asked(w, 1, &s);
	UNTIL(w, gate_find(w, "/0") && c->goaway_came);
	gate_answer(gate_find(w, "/0"), 200, 10, false);
	UNTIL(w, s->received == 10);
	/* Bytes that nobody has read make the kernel reset the connection. */
	net_conn_pause_reading(c->net, NET_PAUSE_PEER);
	gate_more(gate_find(w, "/0"), 10, false);
	UNTIL(w, list_first(&w->gateway->relay.live, struct exchange, link)->download.forwarded == 20);
	gate_passes(w);
	gate_peer_abort(c);
	UNTIL(w, gate_find(w, "/0")->was_reset);
	gate_world_free(w);
}

static void client_for_which_nothing_moves_is_given_up(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "write-timeout = 200ms", NULL, NULL);
	struct gate_stream *s;
	struct gate_peer *c = asked(w, 1, &s);
	UNTIL(w, gate_find(w, "/0"));
	usec since = client_of(w)->half_closed;
	UNTIL(w, gate_find(w, "/0")->was_reset);
	assert_true(net_now(w->loop) >= since + 200 * USEC_PER_MSEC);
	assert_int_equal(w->counters.write_late_down, 1);
	UNTIL(w, c->ended);
	gate_world_free(w);
}

/* It cannot acknowledge SETTINGS any more, nor answer a PING. */
static void client_that_never_acknowledged_is_answered(void **state)
{
	(void)state;
	static const char opening[] = H2_PREFACE "\0\0\0\4\0\0\0\0\0"
						 "\0\0\x13\1\5\0\0\0\1"
						 "\x82\x86\x41\xb"
						 "example.com"
						 "\4\2/a"
						 "\0\0\x20\1\0\0\0\0\3\x82"; /* and the beginning of a field block */
	struct gate_world *w =
	    gate_world_new(NULL, "settings-timeout = 20ms\nheader-timeout = 20ms", NULL, NULL);
	int fd = gate_raw(w);
	assert_int_equal(send(fd, opening, sizeof(opening) - 1, 0), sizeof(opening) - 1);
	shutdown(fd, SHUT_WR);
	UNTIL(w, gate_find(w, "/a") && IS_HALF_CLOSED(w));
	usec since = net_now(w->loop);
	UNTIL(w, net_now(w->loop) > since + 60 * USEC_PER_MSEC);
	assert_false(gate_find(w, "/a")->is_over);
	gate_answer(gate_find(w, "/a"), 200, 3, true);
	UNTIL(w, clients_are_gone(&w->gateway->clients));
	char all[4096];
	ssize_t n = recv(fd, all, sizeof(all), MSG_DONTWAIT);
	assert_true(n > 12);
	assert_memory_equal(all + n - 12, "\0\0\3\0\1\0\0\0\1\0\0\0", 12);
	assert_int_equal(recv(fd, all, sizeof(all), 0), 0);
	close(fd);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_whole_requests_are_answered_and_then_the_connection_ends),
	    cmocka_unit_test(request_that_is_not_whole_is_aborted_and_no_other),
	    cmocka_unit_test(nothing_is_promised_or_hinted_to_it),
	    cmocka_unit_test(push_that_was_promised_before_is_completed),
	    cmocka_unit_test(response_ends_when_its_window_is_used_up),
	    cmocka_unit_test(what_was_answered_before_still_leaves),
	    cmocka_unit_test(window_that_was_used_up_before_ends_the_response_at_once),
	    cmocka_unit_test(client_that_is_gone_is_noticed),
	    cmocka_unit_test(client_that_goes_later_is_noticed),
	    cmocka_unit_test(client_for_which_nothing_moves_is_given_up),
	    cmocka_unit_test(client_that_never_acknowledged_is_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
