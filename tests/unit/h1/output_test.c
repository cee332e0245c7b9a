/* SPDX-License-Identifier: MIT */
/* What leaves: first lines, framing, cookies, chunks, trailers, and what the trace says of each head. */
#include "tests/unit/h1/bench.h"

/* ---- requests ---- */

static void which_requests_say_that_they_have_no_body(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *method, *length;
		bool end;
		const char *framing;
	} rows[] = {
	    {"GET", NULL, true, ""},
	    {"DELETE", NULL, true, ""},
	    {"POST", NULL, true, "content-length: 0\r\n"},
	    {"PUT", NULL, true, "content-length: 0\r\n"},
	    {"PATCH", NULL, true, "content-length: 0\r\n"},
	    {"POST", "0", true, "content-length: 0\r\n"},
	    {"GET", "5", false, "content-length: 5\r\n"},
	    {"GET", NULL, false, "transfer-encoding: chunked\r\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[200];
		begin(b, H1_CLIENT);
		assert_true(ask(b, rows[i].method, rows[i].length, rows[i].end));
		send(b);
		snprintf(text, sizeof(text), "%s / HTTP/1.1\r\nhost: a\r\n%s\r\n", rows[i].method,
		    rows[i].framing);
		assert_string_equal(b->sent, text);
	}
}

static void the_crumbs_of_a_cookie_are_joined(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *crumbs[3], *field;
	} rows[] = {
	    {{"a=1"}, "cookie: a=1\r\n"},
	    {{"a=1", "b=2", "c=3"}, "cookie: a=1; b=2; c=3\r\n"},
	    {{"a=1", ""}, "cookie: a=1\r\n"},
	    {{"", "b=2"}, "cookie: b=2\r\n"},
	    {{"a=1", "", "c=3"}, "cookie: a=1; c=3\r\n"},
	    {{""}, "cookie: \r\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_head *head = request_of(b, "GET");
		char text[200];
		for (size_t n = 0; n < 3 && rows[i].crumbs[n]; n++) {
			http_head_add_token(head, HTTP_TOKEN_COOKIE, slice_of_string(rows[i].crumbs[n]));
			if (n == 0)
				http_head_add(head, SLICE("x"), SLICE(""));
		}
		begin(b, H1_CLIENT);
		assert_true(session_request(b->conn, head, true, b));
		http_head_free(head);
		send(b);
		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nhost: a\r\n%sx: \r\n\r\n", rows[i].field);
		assert_string_equal(b->sent, text);
	}
}

/* In a response it is a field as any other. */
static void a_cookie_of_a_response_stays_as_it_is(void **state)
{
	struct bench *b = *state;
	struct http_head *head = http_head_new(b->heads);
	head->kind = HTTP_RESPONSE;
	head->status = 204;
	http_head_add_token(head, HTTP_TOKEN_COOKIE, SLICE("a"));
	http_head_add_token(head, HTTP_TOKEN_COOKIE, SLICE("b"));
	begin(b, H1_SERVER);
	say(b, GET);
	assert_true(session_respond(b->conn, NULL, head, true));
	http_head_free(head);
	send(b);
	assert_string_equal(b->sent, "HTTP/1.1 204 No Content\r\ncookie: a\r\ncookie: b\r\n\r\n");
}

static void te_is_an_option_of_this_hop(void **state)
{
	struct bench *b = *state;
	struct http_head *head = request_of(b, "GET");
	http_head_add_token(head, HTTP_TOKEN_TE, SLICE("trailers"));
	begin(b, H1_CLIENT);
	assert_true(session_request(b->conn, head, true, b));
	http_head_free(head);
	send(b);
	assert_string_equal(
	    b->sent, "GET / HTTP/1.1\r\nhost: a\r\nte: trailers\r\nconnection: te\r\n\r\n");
}

/* ---- responses ---- */

static void how_a_response_says_where_it_ends(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *request;
		uint16_t status;
		const char *length;
		bool end;
		const char *sent;
	} rows[] = {
	    {GET, 200, NULL, true, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"},
	    {GET, 200, "0", true, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"},
	    {GET, 304, NULL, true, "HTTP/1.1 304 Not Modified\r\n\r\n"},
	    {GET, 304, "7", true, "HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n"},
	    {"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 200, "7", false,
		"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n"},
	    {"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 200, NULL, true, "HTTP/1.1 200 OK\r\n\r\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(b, H1_SERVER);
		say(b, rows[i].request);
		assert_true(respond(b, rows[i].status, rows[i].length, rows[i].end));
		send(b);
		assert_string_equal(b->sent, rows[i].sent);
		if (!rows[i].end) { /* no body: its end is an event of the owner's alone */
			assert_string_equal(b->told, "H.");
			assert_false(session_wants_write(b->conn));
			session_offer(b->conn, NULL, 0, true);
			assert_true(session_wants_write(b->conn));
			send(b);
			assert_string_equal(b->sent, "");
		}
		assert_string_equal(b->told, "H.C");
	}
}

static void a_response_that_has_no_body_gets_none(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_true(respond(b, 200, "7", false));
	session_offer(b->conn, NULL, 7, true);
	send(b);
	assert_true(session_has_failed(b->conn) && session_must_abort(b->conn));
	assert_false(session_wants_write(b->conn));
	/* Nothing makes that better or worse. */
	session_trailers(b->conn, NULL, NULL);
	assert_false(respond(b, 200, NULL, true));
	session_reset(b->conn, NULL, SESSION_CANCEL);
	assert_true(session_must_abort(b->conn));
	session_terminate(b->conn, SESSION_NO_ERROR, SLICE(""));
	assert_true(session_must_abort(b->conn) && session_is_done(b->conn));
	send(b);
	assert_string_equal(b->told, "H.F");
}

static void chunks_have_the_size_of_what_is_taken(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, GET);
	session_offer(b->conn, NULL, 1, true); /* before the head: there is no body yet */
	assert_false(session_wants_write(b->conn));
	assert_true(respond(b, 200, NULL, false));
	assert_true(session_wants_write(b->conn));
	send(b);
	assert_false(session_wants_write(b->conn));
	session_offer(b->conn, NULL, 10, true);
	send(b);
	assert_string_equal(b->sent, "8\r\nxxxxxxxx\r\n2\r\nxx\r\n0\r\n\r\n");
	assert_string_equal(b->told, "H.C");
	/* The end alone, which the owner knows later. */
	say(b, GET);
	assert_true(respond(b, 200, NULL, false));
	session_offer(b->conn, NULL, 2, false);
	send(b);
	session_offer(b->conn, NULL, 0, true);
	send(b);
	assert_string_equal(b->sent, "0\r\n\r\n");
	assert_string_equal(b->told, "H.CH.C");
}

static void trailers_go_where_chunks_are(void **state)
{
	struct bench *b = *state;
	struct http_head *trailers = http_head_new(b->heads);
	trailers->kind = HTTP_TRAILERS;
	http_head_add(trailers, SLICE("x"), SLICE("1"));
	begin(b, H1_SERVER);
	session_trailers(b->conn, NULL, trailers); /* no stream */
	say(b, GET);
	session_trailers(b->conn, NULL, trailers); /* no head yet */
	assert_true(respond(b, 200, NULL, false));
	session_offer(b->conn, NULL, 1, false);
	send(b);
	session_trailers(b->conn, NULL, trailers);
	send(b);
	assert_string_equal(b->sent, "0\r\nx: 1\r\n\r\n");
	session_trailers(b->conn, NULL, trailers); /* twice */
	say(b, GET);
	assert_true(respond(b, 200, "1", false));
	session_offer(b->conn, NULL, 1, false);
	send(b);
	session_trailers(b->conn, NULL, trailers); /* a content-length leaves no place for them */
	send(b);
	assert_string_equal(b->sent, "");
	assert_string_equal(b->told, "H.CH.C");
	http_head_free(trailers);
}

/* ---- heads that wait ---- */

static void heads_leave_in_order_and_large_ones_leave_no_memory(void **state)
{
	struct bench *b = *state;
	struct http_head *hints = http_head_new(b->heads);
	struct session_output o;
	char value[3000];
	memset(value, 'v', sizeof(value));
	hints->kind = HTTP_RESPONSE;
	hints->status = 103;
	http_head_add(hints, SLICE("x"), slice_of(value, sizeof(value)));
	begin(b, H1_SERVER);
	say(b, GET);
	assert_int_equal(b->budget.used_bytes, 0);
	assert_true(session_respond(b->conn, NULL, hints, false));
	assert_true(session_peer(b->conn).unsent_bytes > sizeof(value));
	drain(b);
	assert_true(b->budget.used_bytes > sizeof(value));
	/* Another head while the first one is lent. */
	assert_true(session_next_output(b->conn, 8, &o));
	assert_true(o.before.len > sizeof(value) && !o.end);
	assert_int_equal(session_peer(b->conn).unsent_bytes, 0);
	assert_true(respond(b, 204, NULL, true));
	assert_true(session_peer(b->conn).unsent_bytes < 100);
	send(b);
	assert_string_equal(b->sent, "HTTP/1.1 204 No Content\r\n\r\n");
	assert_int_equal(b->budget.used_bytes, 0);
	http_head_free(hints);
}

static void interim_responses_that_nobody_takes_are_left_out(void **state)
{
	struct bench *b = *state;
	struct http_head *hints = http_head_new(b->heads);
	char value[3000];
	unsigned sent = 0;
	memset(value, 'v', sizeof(value));
	hints->kind = HTTP_RESPONSE;
	hints->status = 103;
	http_head_add(hints, SLICE("x"), slice_of(value, sizeof(value)));
	begin(b, H1_SERVER);
	assert_false(session_peer(b->conn).takes_interim);
	assert_false(session_respond(b->conn, NULL, hints, false));
	say(b, GET);
	while (session_respond(b->conn, NULL, hints, false))
		sent++;
	assert_in_range(session_peer(b->conn).unsent_bytes, 65536, 65536 + 4096);
	assert_int_equal(sent, session_peer(b->conn).unsent_bytes / sizeof(value));
	/* The final one is not left out. */
	assert_true(respond(b, 200, "0", true));
	session_terminate(b->conn, SESSION_NO_ERROR, SLICE(""));
	http_head_free(hints);
}

/* ---- for people ---- */

static void the_trace_has_a_line_for_each_head(void **state)
{
	struct bench *b = *state;
	b->is_traced = true;
	begin(b, H1_SERVER);
	say(b, POST "Transfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n\r\n");
	assert_true(respond(b, 103, NULL, false));
	assert_true(respond(b, 200, NULL, false));
	session_trailers(b->conn, NULL, NULL);
	send(b);
	assert_string_equal(b->told, "<- request len=54\nH<- trailers len=6\nT.-> response 103 len=28\n"
				     "-> response 200 len=47\n-> trailers len=5\nC");
	begin(b, H1_CLIENT);
	session_trace(b->conn, NULL);
	assert_true(ask(b, "GET", NULL, true));
	send(b);
	session_trace(b->conn, b);
	say(b, "HTTP/1.1 204 No Content\r\n\r\n");
	assert_string_equal(b->told, "R<- response 204 len=25\nH.C");
	assert_true(ask(b, "GET", NULL, true));
	assert_non_null(strstr(b->told, "-> request len=27\n"));
	/* One that is too large to be read is a request all the same. */
	b->limits.list_bytes = 130; /* of the target alone: 123 */
	begin(b, H1_SERVER);
	say(b, GET);
	assert_string_equal(b->told, "<- request len=25\nH.");
}

static void a_description_fits_where_it_is_written(void **state)
{
	struct bench *b = *state;
	char all[300], text[300];
	begin(b, H1_SERVER);
	say(b, GET GET);
	assert_true(respond(b, 200, "9", true));
	size_t length = session_describe(b->conn, all, sizeof(all));
	assert_string_equal(all,
	    "http/1 server reading=done input=27 owed=0 unsent=38 stream read written\n");
	assert_int_equal(length, strlen(all));
	for (size_t size = 1; size <= length; size++) {
		assert_int_equal(session_describe(b->conn, text, size), size - 1);
		assert_int_equal(strlen(text), size - 1);
		assert_memory_equal(text, all, size - 1);
	}
	assert_int_equal(session_describe(b->conn, text, 0), 0);
	begin(b, H1_CLIENT);
	session_terminate(b->conn, SESSION_NO_ERROR, SLICE(""));
	session_describe(b->conn, text, sizeof(text));
	assert_string_equal(
	    text, "http/1 client reading=nothing input=0 owed=0 unsent=0 last failed\n");
}

static void is_reading(struct bench *b, const char *bytes, const char *what)
{
	char text[300], wanted[32];
	say(b, bytes);
	session_describe(b->conn, text, sizeof(text));
	snprintf(wanted, sizeof(wanted), "reading=%s ", what);
	if (!strstr(text, wanted))
		fail_msg("not %s: %s", what, text);
}

static void a_description_says_what_is_read(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	is_reading(b, "", "start");
	is_reading(b, POST, "head");
	is_reading(b, "Content-Length: 5\r\n\r\nab", "length");
	is_reading(b, "cde", "done");
	begin(b, H1_SERVER);
	is_reading(b, POST "Transfer-Encoding: chunked\r\n\r\n5\r\nab", "chunks");
	is_reading(b, "cde\r\n0\r\nx: 1\r\n", "trailers");
	is_reading(b, "\r\n", "done");
	begin(b, H1_CLIENT);
	assert_true(ask(b, "GET", NULL, true));
	send(b);
	is_reading(b, "HTTP/1.1 200 OK\r\n\r\nab", "to-end");
	begin(b, H1_CLIENT);
	struct http_head *head = request_of(b, "CONNECT");
	head->protocol = SLICE("websocket");
	assert_true(session_request(b->conn, head, false, b));
	http_head_free(head);
	send(b);
	is_reading(b, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		      "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n", "tunnel");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(which_requests_say_that_they_have_no_body),
	    TEST(the_crumbs_of_a_cookie_are_joined),
	    TEST(a_cookie_of_a_response_stays_as_it_is),
	    TEST(te_is_an_option_of_this_hop),
	    TEST(how_a_response_says_where_it_ends),
	    TEST(a_response_that_has_no_body_gets_none),
	    TEST(chunks_have_the_size_of_what_is_taken),
	    TEST(trailers_go_where_chunks_are),
	    TEST(heads_leave_in_order_and_large_ones_leave_no_memory),
	    TEST(interim_responses_that_nobody_takes_are_left_out),
	    TEST(the_trace_has_a_line_for_each_head),
	    TEST(a_description_fits_where_it_is_written),
	    TEST(a_description_says_what_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
