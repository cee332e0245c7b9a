/* SPDX-License-Identifier: MIT */
/* Clients that speak HTTP/1: one request after the other on a connection, how much of them waits, what cannot be read,
 * and how the connection ends. */
#include "tests/unit/client/http1_client.h"

/* A response whose length is known; the origin writes '\0's, which are shown as '0'. */
static void answer_length(struct gate_world *w, const char *path, const char *length, size_t body, bool end)
{
	UNTIL(w, gate_find(w, path));
	gate_answer_fields(gate_find(w, path), 200, false, "content-length", length, NULL);
	gate_more(gate_find(w, path), body, end);
}

static size_t fault_count(const struct gate_world *w, const char *name)
{
	for (size_t i = 0; protocols_fault_name(i); i++)
		if (strcmp(protocols_fault_name(i), name) == 0)
			return w->counters.faults[OBSERVE_CLIENT][i];
	fail_msg("no fault %s", name);
	return 0;
}

/* ---- one request after the other ---- */

static void connection_is_kept_for_the_next_request(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct script_peer *c = http1_client(w, GET("/1"));
	answer_length(w, "/1", "5", 5, true);
	SCRIPT_SEES(c, "\r\n\r\n00000");
	assert_false(script_saw(c, "connection:"));
	put(c, GET("/2"));
	answer(w, "/2", 204, 0);
	SCRIPT_SEES(c, "HTTP/1.1 204 ");
	put(c, "GET /3 HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n");
	answer(w, "/3", 200, 5);
	UNTIL(w, c->ended);
	assert_int_equal(c->end, NET_END_EOF);
	assert_true(script_saw(c, "connection: close\r\n"));
	assert_int_equal(w->counters.connections, 1);
	assert_int_equal(w->counters.requests, 3);
	gate_world_free(w);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct script_peer *c = http1_client(w, GET("/1") "POST /2 HTTP/1.1\r\nHost: example.com\r\n"
							  "Content-Length: 5\r\n\r\nhello" GET("/3"));
	UNTIL(w, gate_find(w, "/1"));
	gate_passes(w);
	assert_null(gate_find(w, "/2")); /* its turn comes when the first is answered */
	answer_length(w, "/1", "1", 1, true);
	answer_length(w, "/2", "2", 2, true);
	assert_memory_equal(gate_find(w, "/2")->text, "hello", 5);
	answer_length(w, "/3", "3", 3, true);
	SCRIPT_SEES(c, "content-length: 3\r\n");
	const char *first = strstr(c->in, "content-length: 1\r\n"), *second = strstr(c->in, "content-length: 2\r\n"),
		   *third = strstr(c->in, "content-length: 3\r\n");
	assert_true(first && second && third && first < second && second < third);
	assert_false(c->ended);
	gate_world_free(w);
}

static void pipelined_request_that_cannot_be_read_ends_the_rest(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct script_peer *c =
	    http1_client(w, GET("/1") "GET /2 HTTP/1.1\r\nHost : example.com\r\n\r\n" GET("/3"));
	answer_length(w, "/1", "5", 5, true);
	UNTIL(w, c->ended);
	assert_int_equal(c->end, NET_END_EOF); /* and not a reset, which could destroy the answer */
	assert_true(strstr(c->in, "HTTP/1.1 200 ") < strstr(c->in, "HTTP/1.1 400 "));
	assert_int_equal(script_times(c, "HTTP/1.1 "), 2);
	assert_int_equal(script_times(c, "connection: close"), 1);
	assert_null(gate_find(w, "/2"));
	assert_null(gate_find(w, "/3"));
	assert_int_equal(w->counters.peer_faults_down, 1);
	assert_int_equal(w->counters.responses_4xx, 1);
	gate_world_free(w);
}

static void client_that_resets_costs_its_present_request_alone(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct script_peer *c = http1_client(w, GET("/1"));
	UNTIL(w, gate_find(w, "/1"));
	gate_answer(gate_find(w, "/1"), 200, 1000, false);
	UNTIL(w, c->in_bytes > 1000);
	put(c, GET("/2")); /* waits */
	UNTIL(w, c->out_bytes == 0);
	gate_passes(w);
	net_conn_reset(c->net);
	c->net = NULL;
	/* Nothing is read from it, so that the loop does not say that it is gone. */
	UNTIL(w, gate_find(w, "/1")->was_reset);
	assert_int_equal(gate_find(w, "/1")->code, SESSION_CANCEL);
	assert_null(gate_find(w, "/2"));
	UNTIL(w, clients_are_gone(&w->gateway->clients));
	assert_int_equal(w->counters.requests, 1);
	gate_world_free(w);
}

/* ---- what waits ---- */

static void pipelined_requests_wait_in_the_socket(void **state)
{
	(void)state;
	enum { REQUESTS = 4000 };
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct script_peer *c = http1_client(w, GET("/first"));
	for (unsigned i = 0; i < REQUESTS; i++)
		put(c, "HEAD /next HTTP/1.1\r\nHost: example.com\r\nX-Long: "
		       "0123456789012345678901234567890123456789012345678901234567890123456789\r\n\r\n");
	UNTIL(w, gate_find(w, "/first") && client_of(w)->is_unread);
	gate_passes(w);
	assert_true(net_conn_is_paused(client_of(w)->net));
	/* All of it was read in one pass, and each chunk is charged for. */
	assert_true(client_of(w)->budget.used_bytes <= LIMIT_READ_PER_PASS_BYTES + 2 * LIMIT_CHUNK_BYTES);
	assert_true(client_of(w)->budget.used_bytes >= LIMIT_CHUNK_BYTES);
	assert_int_equal(w->counters.requests, 1);
	gate_answer(gate_find(w, "/first"), 404, 0, true);
	script_abort(c);
	UNTIL(w, clients_are_gone(&w->gateway->clients));
	gate_world_free(w);
}

static void answer_204(struct gate_stream *s)
{
	gate_answer(s, 204, 0, true);
}

static void reading_goes_on_when_the_waiting_request_has_its_turn(void **state)
{
	(void)state;
	enum { REQUESTS = 300 };
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = answer_204;
	struct script_peer *c = http1_client(w, "");
	for (unsigned i = 0; i < REQUESTS; i++)
		put(c, GET("/next"));
	UNTIL(w, script_times(c, "HTTP/1.1 204 ") == REQUESTS);
	assert_false(client_of(w)->is_unread);
	assert_int_equal(w->counters.responses_2xx, REQUESTS);
	gate_world_free(w);
}

/* A POST of this many bytes to /up, whose origin gives no credit. */
static struct script_peer *uploading(struct gate_world *w, size_t bytes)
{
	char head[256];
	w->sites[0].options.keeps_credit = true;
	snprintf(head, sizeof(head), "POST /up HTTP/1.1\r\nHost: example.com\r\nContent-Length: %zu\r\n\r\n", bytes);
	struct script_peer *c = http1_client(w, head);
	char *body = calloc(1, bytes);
	assert_non_null(body);
	script_put(c, body, bytes);
	free(body);
	UNTIL(w, gate_find(w, "/up"));
	return c;
}

static void upload_is_read_as_fast_as_the_origin_takes_it(void **state)
{
	(void)state;
	enum { BYTES = 4000000, WINDOW = 65535 };
	struct gate_world *w = gate_world_new(NULL, "stream-window = 64k", NULL, NULL);
	struct script_peer *c = uploading(w, BYTES);
	struct gate_stream *up = gate_find(w, "/up");
	UNTIL(w, up->received == WINDOW && client_of(w)->is_unread);
	gate_passes(w);
	/* A window waits in the exchange, and what was read with it. */
	assert_true(client_of(w)->budget.used_bytes <= 65536 + LIMIT_READ_PER_PASS_BYTES + 4 * LIMIT_CHUNK_BYTES);
	while (!up->ended) {
		size_t before = up->received;
		gate_credit(up);
		UNTIL(w, up->received > before || up->ended);
	}
	assert_int_equal(up->received, BYTES);
	gate_answer(up, 204, 0, true);
	SCRIPT_SEES(c, "HTTP/1.1 204 ");
	assert_false(client_of(w)->is_unread);
	gate_world_free(w);
}

/* A client may write all of its request before it reads any of the response. */
static void upload_goes_on_while_the_response_is_not_read(void **state)
{
	(void)state;
	enum { BYTES = 4000000 };
	struct gate_world *w = gate_world_new(NULL, "stream-window = 64k", NULL, NULL);
	struct script_peer *c = uploading(w, BYTES);
	struct gate_stream *up = gate_find(w, "/up");
	net_conn_pause_reading(c->net, NET_PAUSE_PEER);
	gate_answer(up, 200, 30000000, false);
	UNTIL(w, net_conn_is_blocked(client_of(w)->net) && client_of(w)->is_unread);
	usec since = clock_monotonic();
	while (!up->ended) {
		size_t before = up->received;
		gate_credit(up);
		UNTIL(w, up->received > before || up->ended);
	}
	assert_int_equal(up->received, BYTES);
	assert_true(net_conn_is_blocked(client_of(w)->net));
	/* Sixty windows, each as soon as there is credit: not when the timer of blocked connections expires. */
	assert_true(clock_monotonic() - since < 20 * BLOCKED_CHECK_USEC);
	gate_world_free(w);
}

/* ---- what cannot be read ---- */

static void refused_request_is_answered_logged_and_counted(void **state)
{
	(void)state;
	static const struct {
		const char *request, *status, *fault;
	} cases[] = {
	    {"GET / HTTP/1.1\r\n\r\n", "400 ", "host-missing"},
	    {"GET / HTTP/1.1\nHost: a\r\n\r\n", "400 ", "line-end-bare"},
	    {"GET / HTTP/2.7\r\nHost: a\r\n\r\n", "505 ", "http-version-unknown"},
	    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501 ", "coding-unknown"},
	};
	for (unsigned i = 0; i < 4; i++) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		struct script_peer *c = http1_client(w, cases[i].request);
		char line[32];
		snprintf(line, sizeof(line), "HTTP/1.1 %s", cases[i].status);
		UNTIL(w, c->ended);
		assert_int_equal(c->end, NET_END_EOF);
		assert_true(script_saw(c, line));
		assert_true(script_saw(c, "connection: close\r\n"));
		assert_true(script_saw(c, "proxy-status: "));
		assert_int_equal(w->counters.peer_faults_down, 1);
		assert_int_equal(fault_count(w, cases[i].fault), 1);
		assert_int_equal(w->counters.requests, 1);
		assert_int_equal(w->counters.requests_open, 0);
		gate_world_free(w);
	}
}

static void body_that_cannot_be_read_on_is_answered_unless_an_answer_has_begun(void **state)
{
	(void)state;
	for (unsigned has_begun = 0; has_begun < 2; has_begun++) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		struct script_peer *c = http1_client(
		    w, "POST /up HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
		UNTIL(w, gate_find(w, "/up") && gate_find(w, "/up")->received == 5);
		if (has_begun) {
			gate_answer(gate_find(w, "/up"), 200, 5, false);
			SCRIPT_SEES(c, "00000");
		}
		put(c, "zz\r\n");
		UNTIL(w, c->ended && gate_find(w, "/up")->was_reset);
		assert_int_equal(script_times(c, "HTTP/1.1 400 "), !has_begun);
		assert_false(script_saw(c, "\r\n0\r\n\r\n")); /* the response is not complete */
		assert_false(gate_find(w, "/up")->ended);
		assert_int_equal(fault_count(w, "chunk-size-bad"), 1);
		gate_world_free(w);
	}
}

/* ---- time ---- */

static void head_that_is_never_finished_is_answered_408(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "header-timeout = 50ms", NULL, NULL);
	struct script_peer *c = http1_client(w, "GET / HTTP/1.1\r\nHost: exam");
	UNTIL(w, c->ended);
	assert_true(script_saw(c, "HTTP/1.1 408 "));
	assert_true(script_saw(c, "connection: close\r\n"));
	assert_int_equal(fault_count(w, "head-late"), 1);
	assert_int_equal(w->counters.responses_4xx, 1);
	/* Between two requests too, from the first byte on. */
	w->sites[0].serve = answer_204;
	c = http1_client(w, GET("/1"));
	SCRIPT_SEES(c, "HTTP/1.1 204 ");
	put(c, "GET ");
	UNTIL(w, c->ended);
	assert_true(script_saw(c, "HTTP/1.1 408 "));
	assert_int_equal(fault_count(w, "head-late"), 2);
	gate_world_free(w);
}

static void body_that_stops_is_answered_408(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "body-timeout = 50ms", NULL, NULL);
	struct script_peer *c =
	    http1_client(w, "POST /up HTTP/1.1\r\nHost: example.com\r\nContent-Length: 10\r\n\r\nhello");
	UNTIL(w, c->ended);
	assert_true(script_saw(c, "HTTP/1.1 408 "));
	assert_true(gate_find(w, "/up")->was_reset);
	gate_world_free(w);
}

static void idle_connection_is_closed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "idle-timeout = 100ms\nheader-timeout = 0", NULL, NULL);
	w->sites[0].serve = answer_204;
	struct script_peer *c = http1_client(w, GET("/1"));
	SCRIPT_SEES(c, "HTTP/1.1 204 ");
	UNTIL(w, c->ended);
	assert_int_equal(c->end, NET_END_EOF);
	assert_int_equal(w->counters.idle_closed, 1);
	gate_world_free(w);
}

static void client_that_does_not_read_is_given_up_and_sees_no_end(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "write-timeout = 200ms", NULL, NULL);
	struct script_peer *c = http1_client(w, "GET /1 HTTP/1.0\r\nHost: example.com\r\n\r\n");
	UNTIL(w, gate_find(w, "/1"));
	net_conn_pause_reading(c->net, NET_PAUSE_PEER);
	gate_answer(gate_find(w, "/1"), 200, 30000000, true);
	UNTIL(w, w->counters.write_late_down == 1);
	UNTIL(w, clients_are_gone(&w->gateway->clients));
	c->in_bytes = 0;
	script_abort(c);
	gate_world_free(w);
}

/* ---- the end ---- */

static void draining_closes_idle_connections_and_answers_the_others(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct script_peer *busy = http1_client(w, GET("/1")), *idle = http1_client(w, GET("/2"));
	answer(w, "/2", 204, 0);
	SCRIPT_SEES(idle, "HTTP/1.1 204 ");
	UNTIL(w, gate_find(w, "/1"));
	clients_shutdown(&w->gateway->clients);
	UNTIL(w, idle->ended);
	assert_int_equal(idle->end, NET_END_EOF);
	assert_false(busy->ended);
	answer_length(w, "/1", "5", 5, true);
	UNTIL(w, busy->ended);
	assert_int_equal(busy->end, NET_END_EOF);
	assert_true(script_saw(busy, "connection: close\r\n"));
	assert_true(script_saw(busy, "\r\n\r\n00000"));
	gate_world_free(w);
}

static void idle_connection_is_closed_when_memory_is_short(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = answer_204;
	struct script_peer *c = http1_client(w, GET("/1"));
	SCRIPT_SEES(c, "HTTP/1.1 204 ");
	gate_passes(w);
	assert_true(clients_shed_idle(&w->gateway->clients, net_now(w->loop)));
	UNTIL(w, c->ended);
	assert_int_equal(c->end, NET_END_EOF);
	assert_int_equal(w->counters.shed_connections, 1);
	gate_world_free(w);
}

static void half_closed_client_gets_the_answers_to_whole_requests(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "write-timeout = 10s", NULL, NULL);
	struct script_peer *c = http1_client(w, GET("/1") GET("/2"));
	UNTIL(w, gate_find(w, "/1") && c->out_bytes == 0);
	net_conn_finish(c->net);
	gate_passes(w);
	c->forgets = true;
	answer_length(w, "/1", "5", 5, true);
	answer_length(w, "/2", "2000000", 2000000, true);
	UNTIL(w, c->ended);
	assert_int_equal(c->end, NET_END_EOF);
	assert_true(c->came > 2000000);
	gate_world_free(w);
}

static void half_closed_client_loses_a_request_that_is_not_whole(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct script_peer *c =
	    http1_client(w, "POST /up HTTP/1.1\r\nHost: example.com\r\nContent-Length: 10\r\n\r\nhello");
	UNTIL(w, gate_find(w, "/up") && gate_find(w, "/up")->received == 5);
	net_conn_finish(c->net);
	UNTIL(w, gate_find(w, "/up")->was_reset && c->ended);
	assert_int_equal(gate_find(w, "/up")->code, SESSION_CANCEL);
	assert_int_equal(c->in_bytes, 0);
	/* A head that is not whole is no request. */
	c = http1_client(w, "GET / HTTP/1.1\r\nHost: exam");
	UNTIL(w, net_conn_is_open(c->net) && c->out_bytes == 0);
	gate_passes(w);
	net_conn_finish(c->net);
	UNTIL(w, c->ended);
	assert_int_equal(c->in_bytes, 0);
	assert_int_equal(w->counters.requests, 1);
	gate_world_free(w);
}

/* ---- a response that breaks off ---- */

/* The framings of a response, and whether a client can tell by them that it is not complete. */
struct framing {
	const char *request, *length;
	bool tells;
};

static const struct framing framings[] = {
    {"GET /1 HTTP/1.1\r\nHost: test1.invalid\r\n\r\n", "1000", true},
    {"GET /1 HTTP/1.1\r\nHost: test1.invalid\r\n\r\n", NULL, true},
    {"GET /1 HTTP/1.0\r\nHost: test1.invalid\r\n\r\n", NULL, false},
};

static void breaks_off(struct gate_world *w, struct script_peer *c, const struct framing *f, bool by_gateway)
{
	put(c, f->request);
	UNTIL(w, gate_find(w, "/1"));
	struct gate_stream *up = gate_find(w, "/1");
	if (f->length)
		gate_answer_fields(up, 200, false, "content-length", f->length, NULL);
	else
		gate_answer_fields(up, 200, false, NULL);
	gate_more(up, 5, false);
	SCRIPT_SEES(c, "00000");
	if (by_gateway)
		clients_abort(&w->gateway->clients);
	else
		gate_reset_stream(up, SESSION_INTERNAL_ERROR);
	UNTIL(w, c->ended);
	assert_false(script_saw(c, "0\r\n\r\n"));
	if (!f->tells)
		assert_int_not_equal(c->end, NET_END_EOF);
}

static void response_that_breaks_off_does_not_look_complete(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		breaks_off(w, http1_client(w, ""), &framings[i % 3], i >= 3);
		gate_world_free(w);
		struct tls_world t;
		tls_world(&t, "http/1.1", NULL);
		breaks_off(t.w, tls_client(&t), &framings[i % 3], i >= 3);
		tls_world_free(&t);
	}
}

static void response_that_the_connection_ends_has_a_clean_end_when_it_is_complete(void **state)
{
	(void)state;
	struct tls_world t;
	tls_world(&t, NULL, NULL);
	struct script_peer *plain = NULL, *tls = tls_client(&t);
	put(tls, framings[2].request);
	answer(t.w, "/1", 200, 5);
	UNTIL(t.w, tls->ended);
	assert_int_equal(tls->end, NET_END_EOF); /* close_notify */
	assert_true(script_saw(tls, "\r\n\r\n00000"));
	tls_world_free(&t);
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	plain = http1_client(w, framings[2].request);
	answer(w, "/1", 200, 5);
	UNTIL(w, plain->ended);
	assert_int_equal(plain->end, NET_END_EOF);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(connection_is_kept_for_the_next_request),
	    cmocka_unit_test(pipelined_requests_are_answered_in_order),
	    cmocka_unit_test(pipelined_request_that_cannot_be_read_ends_the_rest),
	    cmocka_unit_test(client_that_resets_costs_its_present_request_alone),
	    cmocka_unit_test(pipelined_requests_wait_in_the_socket),
	    cmocka_unit_test(reading_goes_on_when_the_waiting_request_has_its_turn),
	    cmocka_unit_test(upload_is_read_as_fast_as_the_origin_takes_it),
	    cmocka_unit_test(upload_goes_on_while_the_response_is_not_read),
	    cmocka_unit_test(refused_request_is_answered_logged_and_counted),
	    cmocka_unit_test(body_that_cannot_be_read_on_is_answered_unless_an_answer_has_begun),
	    cmocka_unit_test(head_that_is_never_finished_is_answered_408),
	    cmocka_unit_test(body_that_stops_is_answered_408),
	    cmocka_unit_test(idle_connection_is_closed),
	    cmocka_unit_test(client_that_does_not_read_is_given_up_and_sees_no_end),
	    cmocka_unit_test(draining_closes_idle_connections_and_answers_the_others),
	    cmocka_unit_test(idle_connection_is_closed_when_memory_is_short),
	    cmocka_unit_test(half_closed_client_gets_the_answers_to_whole_requests),
	    cmocka_unit_test(half_closed_client_loses_a_request_that_is_not_whole),
	    cmocka_unit_test(response_that_breaks_off_does_not_look_complete),
	    cmocka_unit_test(response_that_the_connection_ends_has_a_clean_end_when_it_is_complete),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
