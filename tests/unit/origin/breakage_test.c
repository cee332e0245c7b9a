/* SPDX-License-Identifier: MIT */
/* An origin ends its connection with an error: the request that it is for is answered, and the others are asked again. */
#include "tests/support/gateway_world.h"

#include "proxy/net/net_conn.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two servers, and two requests with these paths at the first one. */
struct scene {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_peer *origin;          /* the connection that both are on */
	struct gate_stream *first, *last;  /* at the client */
	struct gate_stream *last_at_origin;
};

/* An answer of the second server. */
static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 2, true);
}

static void end_with_error(struct gate_stream *s)
{
	gate_terminate(s->peer, SESSION_PROTOCOL_ERROR);
}

static struct scene scene(void (*second)(struct gate_stream *s))
{
	struct scene s = {.w = gate_world_new(NULL, NULL, NULL,
	    "[origin f]\nserver = %A\nserver = %B\nbalance = round-robin\nretry-budget = 100%\n"
	    "[route r]\norigin = f\nretry-on = lost\nretries = 5\n")};
	s.client = gate_client(s.w, NULL);
	s.w->sites[1].serve = ok;
	for (unsigned i = 0; i < 4; i++) {
		char path[8];
		snprintf(path, sizeof(path), "/%u", i);
		struct gate_stream *x = gate_get(s.client, path);
		UNTIL(s.w, gate_find(s.w, path));
		if (gate_seen(&s.w->sites[0], path) == 0)
			continue;
		*(s.first ? &s.last : &s.first) = x;
		s.last_at_origin = gate_find(s.w, path);
		s.origin = s.last_at_origin->peer;
	}
	assert_non_null(s.last);
	s.w->sites[1].serve = second;
	return s;
}

static void over(struct scene *s, struct gate_stream *x, unsigned status)
{
	UNTIL(s->w, x->is_over);
	assert_int_equal(x->status, status);
	bool is_blamed = strstr(x->status_error, "connection_terminated") != NULL;
	assert_int_equal(is_blamed, status == 502);
}

static void the_last_unanswered_request_is_answered_and_the_others_asked_again(void **state)
{
	(void)state;
	static const enum session_code codes[] = {SESSION_PROTOCOL_ERROR, SESSION_INTERNAL_ERROR, SESSION_FLOW_CONTROL_ERROR,
	    SESSION_STREAM_CLOSED, SESSION_FRAME_SIZE_ERROR, SESSION_COMPRESSION_ERROR};
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct scene s = scene(ok);
		gate_terminate(s.origin, codes[i]);
		over(&s, s.last, 502);
		over(&s, s.first, 200);
		gate_world_free(s.w);
	}
}

static void an_error_of_the_connection_is_no_requests_fault(void **state)
{
	(void)state;
	static const enum session_code codes[] = {SESSION_SETTINGS_TIMEOUT, SESSION_ENHANCE_YOUR_CALM,
	    SESSION_INADEQUATE_SECURITY, SESSION_CANCEL};
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct scene s = scene(ok);
		gate_terminate(s.origin, codes[i]);
		over(&s, s.last, 200);
		over(&s, s.first, 200);
		gate_world_free(s.w);
	}
}

/* It cannot be what the origin could not take. */
static void the_request_before_is_the_reason_when_the_last_is_answered(void **state)
{
	(void)state;
	struct scene s = scene(ok);
	gate_answer(s.last_at_origin, 200, 2, false);
	UNTIL(s.w, s.last->received == 2);
	gate_terminate(s.origin, SESSION_PROTOCOL_ERROR);
	over(&s, s.first, 502);
	UNTIL(s.w, s.last->is_over);
	assert_true(s.last->was_reset);
	gate_world_free(s.w);
}

/* The ids in the GOAWAY of some servers are wrong. */
static void a_request_is_answered_when_a_second_connection_ends_so(void **state)
{
	(void)state;
	struct scene s = scene(end_with_error);
	size_t seen = s.w->sites[1].peer_count;
	gate_terminate(s.origin, SESSION_PROTOCOL_ERROR);
	over(&s, s.last, 502);
	over(&s, s.first, 502);
	assert_true(s.w->sites[1].peer_count <= seen + 1);
	gate_world_free(s.w);
}

/* What the gateway writes into its log while it sees to it that the origin's reset has come. */
static void loses_connection(struct gate_world *w, char *log, size_t size)
{
	int file = memfd_create("log", 0);
	assert_true(file >= 0);
	w->observe.error_fd = file;
	const struct linger now = {.l_onoff = 1};
	assert_int_equal(setsockopt(w->sites[0].peers[0]->net->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	gate_peer_abort(w->sites[0].peers[0]);
	UNTIL(w, gate_first_conn(w) == NULL);
	ssize_t n = pread(file, log, size - 1, 0);
	log[n > 0 ? n : 0] = '\0';
	w->observe.error_fd = -1;
	close(file);
}

/* Origins reset connections that are idle as they like. */
static void a_lost_connection_is_logged_when_a_request_was_on_it(void **state)
{
	(void)state;
	for (unsigned is_open = 0; is_open < 2; is_open++) {
		char log[1024];
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		struct gate_stream *s = gate_get(gate_client(w, NULL), "/a");
		UNTIL(w, gate_find(w, "/a"));
		if (!is_open) {
			gate_answer(gate_find(w, "/a"), 200, 0, true);
			UNTIL(w, s->is_over);
		}
		loses_connection(w, log, sizeof(log));
		assert_int_equal(strstr(log, "connection lost") != NULL, is_open);
		gate_world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_last_unanswered_request_is_answered_and_the_others_asked_again),
	    cmocka_unit_test(an_error_of_the_connection_is_no_requests_fault),
	    cmocka_unit_test(the_request_before_is_the_reason_when_the_last_is_answered),
	    cmocka_unit_test(a_request_is_answered_when_a_second_connection_ends_so),
	    cmocka_unit_test(a_lost_connection_is_logged_when_a_request_was_on_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
