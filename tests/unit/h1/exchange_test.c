/* SPDX-License-Identifier: MIT */
/* Messages, connections that go on and that end, and what each side may do when: the codec alone. */
#include "tests/unit/h1/bench.h"

/* ---- what is read, cut anywhere ---- */

static void each_message_is_the_same_wherever_it_is_cut(void **state)
{
	struct bench *b = *state;
	static const struct {
		enum h1_role role;
		const char *method, *bytes, *told;
	} rows[] = {
	    {H1_SERVER, NULL, GET, "H."},
	    {H1_SERVER, NULL, "\r\n" GET, "H."},
	    {H1_SERVER, NULL, POST "Content-Length: 5\r\n\r\nhello", "Hhello."},
	    {H1_SERVER, NULL, POST "Content-Length: 0\r\n\r\n", "H."},
	    {H1_SERVER, NULL, POST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n2;a=\"b\\\"\"\r\n!!\r\n0\r\n\r\n",
		"Hhello!!."},
	    {H1_SERVER, NULL, POST "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n00;b\r\nX: 1\r\n\r\n", "HaT."},
	    {H1_SERVER, NULL, "GET / HTTP/1.0\r\nHost: a\r\n\r\n", "H."},
	    {H1_SERVER, NULL, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "H."},
	    {H1_SERVER, NULL, "GET http://a/?b HTTP/1.1\r\nHost: a\r\n\r\n", "H."},
	    {H1_CLIENT, "GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "RHhello.C"},
	    {H1_CLIENT, "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: 1\r\n\r\n",
		"RHhelloT.C"},
	    {H1_CLIENT, "GET", "HTTP/1.1 103\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No\r\n\r\n", "RHH.C"},
	    {H1_CLIENT, "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "RH.C"},
	    {H1_CLIENT, "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "RH.C"},
	    {H1_CLIENT, "GET", "HTTP/1.0 200 OK\r\n\r\nhello", "RHhello"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t length = strlen(rows[i].bytes);
		for (size_t cut = 0; cut <= length; cut++) {
			begin(b, rows[i].role);
			if (rows[i].method)
				assert_true(ask(b, rows[i].method, NULL, true));
			send(b);
			say_bytes(b, rows[i].bytes, cut);
			say_bytes(b, rows[i].bytes + cut, length - cut);
			/* The end of a chunked body may be seen later than its last byte. */
			assert_string_equal(b->told, rows[i].told);
			assert_false(session_is_full(b->conn));
		}
	}
}

/* ---- servers ---- */

static void pipelined_requests_are_answered_in_order_one_at_a_time(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, GET POST "Content-Length: 2\r\n\r\nab" GET);
	assert_string_equal(b->told, "H.");
	assert_true(session_is_full(b->conn));
	assert_true(respond(b, 200, "3", false));
	assert_false(respond(b, 200, NULL, true));
	session_offer(b->conn, NULL, 3, true);
	send(b);
	assert_string_equal(b->sent, "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nxxx");
	assert_string_equal(b->told, "H.CHab.");
	assert_true(respond(b, 404, NULL, true));
	send(b);
	assert_string_equal(b->sent, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
	assert_string_equal(b->told, "H.CHab.CH.");
	assert_false(session_is_full(b->conn));
	assert_true(respond(b, 204, NULL, true));
	send(b);
	assert_string_equal(b->sent, "HTTP/1.1 204 No Content\r\n\r\n");
	assert_false(session_is_done(b->conn));
}

static void a_body_of_unknown_length_is_chunked_but_not_for_http_1_0(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, GET);
	assert_true(session_peer(b->conn).takes_interim);
	assert_true(respond(b, 103, NULL, false));
	assert_true(respond(b, 200, NULL, false));
	assert_false(session_peer(b->conn).takes_interim);
	session_offer(b->conn, NULL, 9, false);
	send(b);
	assert_string_equal(b->sent,
	    "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
	    "8\r\nxxxxxxxx\r\n1\r\nx\r\n");
	session_trailers(b->conn, NULL, NULL);
	send(b);
	assert_string_equal(b->sent, "0\r\n\r\n");
	assert_string_equal(b->told, "H.C");
	begin(b, H1_SERVER);
	say(b, "GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
	assert_false(session_peer(b->conn).takes_interim);
	assert_false(respond(b, 103, NULL, false));
	assert_true(respond(b, 200, NULL, false));
	session_offer(b->conn, NULL, 2, true);
	send(b);
	assert_string_equal(b->sent, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nxx");
	assert_true(session_is_done(b->conn) && !session_must_abort(b->conn));
}

static void what_ends_the_connection_behind_an_answer(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *request;
		uint16_t status;
		bool shuts_down, ends;
	} rows[] = {
	    {GET, 200, false, false},
	    {GET, 404, false, false},
	    {GET, 200, true, true},
	    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", 200, false, true},
	    {"GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", 200, false, true},
	    {"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 501, false, true},
	    /* The client need not send the rest, and it need not be read. */
	    {POST "Content-Length: 9\r\n\r\n", 413, false, true},
	    {POST "Transfer-Encoding: chunked\r\n\r\n", 413, false, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(b, H1_SERVER);
		say(b, rows[i].request);
		if (rows[i].shuts_down)
			session_shutdown(b->conn, 0);
		assert_true(respond(b, rows[i].status, NULL, true));
		send(b);
		assert_int_equal(strstr(b->sent, "connection: close\r\n") != NULL, rows[i].ends);
		assert_int_equal(session_peer(b->conn).is_going_away, rows[i].ends);
		session_reset(b->conn, NULL, SESSION_CANCEL);
		assert_false(session_must_abort(b->conn));
	}
}

/* The relay gives up a request that it has answered: a redirect, to a form that it does not read. */
static void an_answered_request_is_skipped_where_its_rest_is_here(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *rest;
		uint16_t status;
		bool goes_on;
	} rows[] = {
	    {"Content-Length: 5\r\n\r\nhello" GET, 308, true},
	    {"Content-Length: 5\r\n\r\nhello" GET, 404, true},
	    {"Content-Length: 5\r\n\r\nhell", 308, false},
	    {"Content-Length: 5\r\n\r\n", 308, false},
	    {"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" GET, 308, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct session_event e;
		begin(b, H1_SERVER);
		struct chunk *chunk = chunk_acquire(b->chunks);
		int n = snprintf((char *)chunk->data, CHUNK_BYTES, POST "%s", rows[i].rest);
		/* In two pieces: the second begins within the body. */
		size_t first = sizeof(POST) + sizeof("Content-Length: 5\r\n\r\n");
		first = first < (size_t)n ? first : (size_t)n;
		session_receive(b->conn, chunk, 0, first, USEC_PER_SEC);
		session_receive(b->conn, chunk, first, (size_t)n - first, USEC_PER_SEC);
		chunk_release(chunk);
		assert_true(session_next_event(b->conn, &e));
		http_head_free(e.head);
		assert_true(respond(b, rows[i].status, NULL, true));
		session_reset(b->conn, NULL, SESSION_CANCEL);
		session_check(b->conn);
		assert_int_equal(session_peer(b->conn).is_going_away, !rows[i].goes_on);
		send(b);
		assert_int_equal(strstr(b->sent, "connection: close\r\n") == NULL, rows[i].goes_on);
		assert_string_equal(b->told, rows[i].goes_on ? "H." : "");
		assert_int_equal(session_is_done(b->conn), !rows[i].goes_on);
		assert_false(session_must_abort(b->conn));
	}
}

/* The client reads none of its answers: they must not pile up. */
static void requests_wait_while_many_heads_have_not_left(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	struct chunk *chunk = chunk_acquire(b->chunks);
	size_t one = sizeof(GET) - 1, all = CHUNK_BYTES / one;
	for (size_t i = 0; i < all; i++)
		memcpy(chunk->data + i * one, GET, one);
	size_t answered = 0;
	for (unsigned i = 0; i < 20; i++) {
		struct session_event e;
		session_receive(b->conn, chunk, 0, all * one, USEC_PER_SEC);
		while (session_next_event(b->conn, &e)) {
			http_head_free(e.head);
			answered += e.kind == SESSION_EVENT_HEAD && respond(b, 204, NULL, true);
		}
	}
	chunk_release(chunk);
	assert_true(session_is_full(b->conn) && answered > 0 && answered < 20 * all);
	assert_true(session_peer(b->conn).unsent_bytes < 70000);
	struct session_output o;
	while (session_next_output(b->conn, 8, &o))
		;
	drain(b);
	assert_string_equal(b->told, "H.");
}

static void a_client_that_has_ended_its_side_gets_its_answers(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, GET GET);
	session_half_close(b->conn, 0);
	session_ended(b->conn, true);
	assert_true(respond(b, 200, NULL, true));
	send(b);
	assert_non_null(strstr(b->sent, "connection: close"));
	assert_true(session_is_done(b->conn));
	begin(b, H1_SERVER);
	say(b, "GET / HTT");
	session_ended(b->conn, true);
	drain(b);
	assert_string_equal(b->told, "");
	assert_true(session_is_done(b->conn));
}

static void a_response_that_is_cut_off_does_not_look_complete(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, "GET / HTTP/1.0\r\nHost: a\r\n\r\n");
	assert_true(respond(b, 200, NULL, false));
	send(b);
	session_reset(b->conn, NULL, SESSION_CANCEL);
	assert_true(session_must_abort(b->conn) && session_is_done(b->conn));
	/* More or less of it than was said. */
	for (size_t bytes = 2; bytes <= 4; bytes += 2) {
		begin(b, H1_SERVER);
		say(b, GET);
		assert_true(respond(b, 200, "3", false));
		session_offer(b->conn, NULL, bytes, true);
		send(b);
		assert_true(session_must_abort(b->conn) && session_has_failed(b->conn));
		assert_string_equal(b->told, "H.F");
	}
}

static void a_body_waits_for_credit(void **state)
{
	struct bench *b = *state;
	b->limits.window_bytes = 3;
	b->keeps_credit = true;
	begin(b, H1_SERVER);
	say(b, POST "Content-Length: 9\r\n\r\nabcdefghi");
	assert_string_equal(b->told, "Habc");
	assert_true(session_is_full(b->conn));
	assert_true(b->budget.used_bytes >= CHUNK_BYTES);
	session_credit(b->conn, NULL, 2);
	drain(b);
	assert_string_equal(b->told, "Habcde");
	session_widen(b->conn, NULL, 2);
	drain(b);
	assert_string_equal(b->told, "Habcde");
	session_widen(b->conn, NULL, 100);
	drain(b);
	assert_string_equal(b->told, "Habcdefghi.");
	assert_false(session_is_full(b->conn));
	assert_int_equal(b->budget.used_bytes, 0);
}

/* ---- clients ---- */

static void a_request_at_a_time(void **state)
{
	struct bench *b = *state;
	begin(b, H1_CLIENT);
	assert_int_equal(session_request_room(b->conn), 1);
	assert_true(ask(b, "POST", NULL, true));
	assert_int_equal(session_request_room(b->conn), 0);
	assert_false(ask(b, "GET", NULL, true));
	send(b);
	assert_string_equal(b->sent, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n");
	say(b, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: max=3, timeout=7\r\n\r\n");
	assert_string_equal(b->told, "RH.C");
	assert_int_equal(session_peer(b->conn).keepalive, 7 * USEC_PER_SEC);
	assert_int_equal(session_request_room(b->conn), 1);
	assert_true(ask(b, "PUT", NULL, false));
	session_offer(b->conn, NULL, 3, true);
	send(b);
	assert_string_equal(
	    b->sent, "PUT / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nxxx\r\n0\r\n\r\n");
	say(b, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(session_request_room(b->conn), 0);
	assert_true(session_is_done(b->conn));
}

static void nothing_that_comes_before_a_request_has_left_is_its_response(void **state)
{
	struct bench *b = *state;
	begin(b, H1_CLIENT);
	assert_true(ask(b, "GET", NULL, true));
	send(b);
	say(b, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	assert_string_equal(b->told, "RH.C");
	assert_true(ask(b, "GET", NULL, true));
	say(b, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
	assert_string_equal(b->told, "RH.CF");
	assert_true(session_has_failed(b->conn) && h1_has_stream(b->conn));
}

static void an_answer_may_come_before_the_request_has_ended(void **state)
{
	struct bench *b = *state;
	begin(b, H1_CLIENT);
	assert_true(ask(b, "PUT", "9", false));
	session_offer(b->conn, NULL, 4, false);
	send(b);
	say(b, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
	assert_string_equal(b->told, "RH.");
	assert_int_equal(session_request_room(b->conn), 0);
	session_reset(b->conn, NULL, SESSION_CANCEL);
	assert_true(session_must_abort(b->conn) && session_is_done(b->conn));
}

static void only_a_clean_end_ends_a_response(void **state)
{
	struct bench *b = *state;
	for (int is_clean = 0; is_clean < 2; is_clean++) {
		begin(b, H1_CLIENT);
		assert_true(ask(b, "GET", NULL, true));
		send(b);
		say(b, "HTTP/1.0 200 OK\r\n\r\nhello");
		assert_true(!session_peer(b->conn).answers_expect);
		session_ended(b->conn, is_clean);
		drain(b);
		assert_string_equal(b->told, is_clean ? "RHhello.C" : "RHhello");
		assert_int_equal(h1_has_stream(b->conn), !is_clean);
	}
}

static enum session_fit fit_of(struct bench *b, const char *method, const char *length, bool end)
{
	struct http_head *head = request_of(b, method);
	if (length)
		head->content_length = strtoull(length, NULL, 10);
	enum session_fit fit = session_request_fits(b->conn, head, end);
	http_head_free(head);
	return fit;
}

/* An origin that has answered in HTTP/1.0 takes no chunks. */
static void a_body_of_unknown_length_fits_no_origin_of_http_1_0(void **state)
{
	struct bench *b = *state;
	for (int is_old = 0; is_old < 2; is_old++) {
		begin(b, H1_CLIENT);
		assert_int_equal(fit_of(b, "POST", NULL, false), SESSION_FITS);
		assert_true(ask(b, "GET", NULL, true));
		send(b);
		say(b, is_old ? "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"
			      : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		assert_string_equal(b->told, "RH.C");
		assert_int_equal(fit_of(b, "POST", NULL, false), is_old ? SESSION_NEEDS_LENGTH : SESSION_FITS);
		assert_int_equal(fit_of(b, "POST", NULL, true), SESSION_FITS);
		assert_int_equal(fit_of(b, "POST", "5", false), SESSION_FITS);
		assert_int_equal(fit_of(b, "CONNECT", NULL, false), SESSION_FITS);
	}
}

static void the_end_can_be_ordered_at_any_time(void **state)
{
	struct bench *b = *state;
	static const char *const said[] = {"", "GET / H", GET, POST "Content-Length: 3\r\n\r\na",
	    POST "Transfer-Encoding: chunked\r\n\r\n1\r", "FROB\r\n"};
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		char text[300];
		begin(b, H1_SERVER);
		say(b, said[i]);
		session_terminate(b->conn, SESSION_NO_ERROR, SLICE(""));
		session_check(b->conn);
		b->told[0] = '\0';
		say(b, GET);
		send(b);
		assert_string_equal(b->told, "");
		assert_string_equal(b->sent, "");
		assert_true(session_is_done(b->conn) && session_has_failed(b->conn));
		assert_true(session_deadline(b->conn) == USEC_NEVER && !session_is_full(b->conn));
		assert_true(session_describe(b->conn, text, sizeof(text)) > 0);
		assert_true(session_describe(b->conn, text, 8) <= 8);
	}
}

/* Some pieces have been read before the one in which the body begins. */
static void a_request_is_skipped_over_any_number_of_pieces(void **state)
{
	struct bench *b = *state;
	static const char all[] = GET POST "Content-Length: 9\r\n\r\nskip this" GET;
	for (size_t size = 1; size <= sizeof(all); size++) {
		begin(b, H1_SERVER);
		for (size_t at = 0; at < sizeof(all) - 1; at += size)
			put_bytes(b, all + at, sizeof(all) - 1 - at < size ? sizeof(all) - 1 - at : size);
		for (unsigned i = 0; i < 2; i++) {
			struct session_event e;
			struct session_output o;
			while (session_next_event(b->conn, &e) && e.kind != SESSION_EVENT_HEAD)
				assert_int_equal(e.kind, SESSION_EVENT_CLOSED);
			http_head_free(e.head);
			assert_true(respond(b, 204, NULL, true));
			while (session_next_output(b->conn, 8, &o)) {}
		}
		session_reset(b->conn, NULL, SESSION_CANCEL);
		drain(b);
		assert_string_equal(b->told, "H.");
		assert_memory_equal(b->fields, "GET http a /;", 13);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_request_is_skipped_over_any_number_of_pieces),
	    TEST(each_message_is_the_same_wherever_it_is_cut),
	    TEST(pipelined_requests_are_answered_in_order_one_at_a_time),
	    TEST(a_body_of_unknown_length_is_chunked_but_not_for_http_1_0),
	    TEST(what_ends_the_connection_behind_an_answer),
	    TEST(an_answered_request_is_skipped_where_its_rest_is_here),
	    TEST(requests_wait_while_many_heads_have_not_left),
	    TEST(a_client_that_has_ended_its_side_gets_its_answers),
	    TEST(a_response_that_is_cut_off_does_not_look_complete),
	    TEST(a_body_waits_for_credit),
	    TEST(a_request_at_a_time),
	    TEST(nothing_that_comes_before_a_request_has_left_is_its_response),
	    TEST(an_answer_may_come_before_the_request_has_ended),
	    TEST(only_a_clean_end_ends_a_response),
	    TEST(a_body_of_unknown_length_fits_no_origin_of_http_1_0),
	    TEST(the_end_can_be_ordered_at_any_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
