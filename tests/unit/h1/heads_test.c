/* SPDX-License-Identifier: MIT */
/* Heads as the rest of the program gets them: targets, versions, field lines, the fields of this hop. */
#include "tests/unit/h1/bench.h"

#define HOST "Host: a\r\n"
#define GET_PSEUDO "GET http a /;"

struct row {
	const char *bytes;
	const char *fault;  /* NULL: it is read */
	const char *fields; /* NULL: not looked at */
};

static void play(struct bench *b, const struct row *rows, size_t count, enum h1_role role)
{
	for (size_t i = 0; i < count; i++) {
		begin(b, role);
		if (role == H1_CLIENT) {
			assert_true(ask(b, "GET", NULL, true));
			send(b);
		}
		say(b, rows[i].bytes);
		if ((b->fault != NULL) != (rows[i].fault != NULL) ||
		    (b->fault && strcmp(b->fault, rows[i].fault) != 0))
			fail_msg("%s: %s", rows[i].bytes, b->fault ? b->fault : "no fault");
		if (rows[i].fields)
			assert_string_equal(b->fields, rows[i].fields);
	}
}
#define PLAY(b, rows, role) play(b, rows, sizeof(rows) / sizeof((rows)[0]), role)

/* ---- first lines ---- */

static void a_request_line_has_three_parts_and_a_version_that_is_spoken(void **state)
{
	struct bench *b = *state;
	static const struct row rows[] = {
	    {"GET / HTTP/1.1\r\n" HOST "\r\n", NULL, GET_PSEUDO "host=a;"},
	    {"GET / HTTP/1.0\r\n" HOST "\r\n", NULL, GET_PSEUDO "host=a;"},
	    {"GET\r\n", "request-line-bad", NULL},
	    {"\nGET / HTTP/1.1\r\n" HOST "\r\n", "line-end-bare", NULL},
	    {" / HTTP/1.1\r\n", "request-line-bad", NULL},
	    {"GET / XTTP/1.1\r\n", "request-line-bad", NULL},
	    {"GET / HTTP/x.1\r\n", "request-line-bad", NULL},
	    {"GET / HTTP/1:1\r\n", "request-line-bad", NULL},
	    {"GET / HTTP/1.x\r\n", "request-line-bad", NULL},
	    {"GET / HTTP/11\r\n", "request-line-bad", NULL},
	    {"GET / HTTP/1.10\r\n", "request-line-bad", NULL},
	    {"GET / HTTP/0.9\r\n", "http-version-unknown", NULL},
	    {"GET / HTTP/1.2\r\n", "http-version-unknown", NULL},
	};
	PLAY(b, rows, H1_SERVER);
}

static void a_target_has_one_of_four_forms(void **state)
{
	struct bench *b = *state;
	static const struct row rows[] = {
	    {"GET http://a HTTP/1.1\r\n" HOST "\r\n", NULL,
		"GET http a /;host=a;"},
	    {"GET http://a?b HTTP/1.1\r\n" HOST "\r\n", NULL,
		"GET http a /?b;host=a;"},
	    {"GET HTTPS://a/b?c HTTP/1.1\r\n" HOST "\r\n", NULL,
		"GET https a /b?c;host=a;"},
	    {"OPTIONS http://a HTTP/1.1\r\n" HOST "\r\n", NULL,
		"OPTIONS http a *;host=a;"},
	    {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", NULL, "OPTIONS http a *;host=a;"},
	    {"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", NULL, "CONNECT  a:1 ;host=a:1;"},
	    {"GET ://a/ HTTP/1.1\r\n" HOST "\r\n", "request-target-bad", NULL},
	    {"GET http//a/ HTTP/1.1\r\n" HOST "\r\n", "request-target-bad", NULL},
	    {"GET * HTTP/1.1\r\n" HOST "\r\n", "message-malformed", NULL},
	    {"GET http:///b HTTP/1.1\r\n" HOST "\r\n", "message-malformed", NULL},
	};
	PLAY(b, rows, H1_SERVER);
}

static void the_scheme_is_that_of_the_connection(void **state)
{
	struct bench *b = *state;
	static const struct row rows[] = {
	    {GET, NULL, "GET https a /;host=a;"},
	    {"GET http://a/ HTTP/1.1\r\n" HOST "\r\n", NULL,
		"GET http a /;host=a;"},
	};
	b->is_tls = true;
	PLAY(b, rows, H1_SERVER);
}

/* RFC 9112 3.2.2. A CONNECT names its target alone, and of two Hosts neither counts. */
static void a_proxy_ignores_the_host_beside_a_whole_uri(void **state)
{
	struct bench *b = *state;
	static const struct row rows[] = {
	    {"GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", NULL, "GET http a /;"},
	    {"GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n", NULL, "GET http a /;"},
	    {"GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "message-malformed", NULL},
	    {"GET / HTTP/1.1\r\nHost: b\r\n\r\n", NULL, "GET http b /;host=b;"},
	    {"CONNECT a:443 HTTP/1.1\r\nHost: b:443\r\n\r\n", "message-malformed", NULL},
	};
	b->is_proxy = true;
	PLAY(b, rows, H1_SERVER);
}

static void a_host_is_missing_in_http_1_1_alone(void **state)
{
	struct bench *b = *state;
	static const struct row rows[] = {
	    {"GET / HTTP/1.1\r\n\r\n", "host-missing", NULL},
	    {"GET http://a/ HTTP/1.1\r\n\r\n", "host-missing", NULL},
	    {"GET http://a/ HTTP/1.0\r\n\r\n", NULL, "GET http a /;"},
	};
	PLAY(b, rows, H1_SERVER);
}

static void a_status_line_has_a_version_and_three_digits(void **state)
{
	struct bench *b = *state;
	static const struct row rows[] = {
	    {"HTTP/1.1 200\r\n\r\n", NULL, "200;"},
	    {"HTTP/1.1 200 \r\n\r\n", NULL, "200;"},
	    {"HTTP/1.0 404 Not\xe4 Found\r\n\r\n", NULL, "404;"},
	    {"HTTP/1.1\r\n\r\n", "status-line-bad", NULL},
	    {"HTTP/1.1 20\r\n\r\n", "status-line-bad", NULL},
	    {"HTTP/1.1\t200 OK\r\n\r\n", "status-line-bad", NULL},
	    {"HTTP/1.1 2x0 OK\r\n\r\n", "status-line-bad", NULL},
	    {"HTTP/1.1 2000 OK\r\n\r\n", "status-line-bad", NULL},
	    {"HTTP/1.1 101 Switching Protocols\r\n\r\n", "upgrade-unasked", NULL},
	    {"\r\n", "status-line-bad", NULL},
	};
	PLAY(b, rows, H1_CLIENT);
}

/* Told at the first byte, without waiting for a line that may never end. */
static void an_origin_that_speaks_something_else_is_told_by_its_first_byte(void **state)
{
	struct bench *b = *state;
	static const struct {
		char first;
		const char *reason;
	} rows[] = {
	    {'\0', "the origin answers in HTTP/2"},
	    {'\x15', "the origin answers in TLS"},
	    {'\x16', "the origin answers in TLS"},
	    {'S', NULL},
	    {'\r', NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct session_event e;
		begin(b, H1_CLIENT);
		assert_true(ask(b, "GET", NULL, true));
		send(b);
		put_bytes(b, &rows[i].first, 1);
		assert_true(session_next_event(b->conn, &e));
		assert_int_equal(e.kind, SESSION_EVENT_RESET);
		assert_string_equal(e.fault->name, "status-line-bad");
		if (rows[i].reason)
			assert_string_equal(e.reason, rows[i].reason);
		else
			assert_null(e.reason);
		drain(b);
		assert_true(session_is_done(b->conn));
	}
}

/* ---- field lines ---- */

static void values_lose_the_space_around_them(void **state)
{
	struct bench *b = *state;
	static const struct row rows[] = {
	    {"GET / HTTP/1.1\r\n" HOST "X:1\r\nY:  2\r\nZ: 3\t\r\nW:\t4 5 \r\n\r\n", NULL,
		GET_PSEUDO "host=a;x=1;y=2;z=3;w=4 5;"},
	    {"GET / HTTP/1.1\r\n" HOST "X:\r\nY: \r\nZ: 1\r\nW:  \r\n\r\n", NULL,
		GET_PSEUDO "host=a;x=;y=;z=1;w=;"},
	    {"GET / HTTP/1.1\r\n" HOST "\tX: 1\r\n\r\n", "line-folding", NULL},
	    {"GET / HTTP/1.1\r\n: 1\r\n\r\n", "field-line-bad", NULL},
	    {"GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n", "message-malformed", NULL},
	};
	PLAY(b, rows, H1_SERVER);
}

static void te_says_no_more_than_trailers(void **state)
{
	struct bench *b = *state;
	static const struct row rows[] = {
	    {"GET / HTTP/1.1\r\n" HOST "TE: gzip, Trailers;q=1, trailers\r\n\r\n", NULL,
		GET_PSEUDO "host=a;te=trailers;"},
	    {"GET / HTTP/1.1\r\n" HOST "TE: trailers\r\nTE: trailers\r\n\r\n", NULL,
		GET_PSEUDO "host=a;te=trailers;"},
	    {"GET / HTTP/1.1\r\n" HOST "TE: gzip\r\nTE:\r\n\r\n", NULL, GET_PSEUDO "host=a;"},
	};
	PLAY(b, rows, H1_SERVER);
}

static void fields_of_the_hop_go_no_further(void **state)
{
	struct bench *b = *state;
	static const struct row rows[] = {
	    {"GET / HTTP/1.1\r\n" HOST "Connection: TE, upgrade, HTTP2-Settings, X-One\r\nX-One: 1\r\n"
	     "Upgrade: h2c\r\nHTTP2-Settings: AAAA\r\nKeep-Alive: 1\r\nProxy-Connection: x\r\n"
	     "TE: trailers\r\nX-Two: 2\r\nx-one: 3\r\n\r\n",
		NULL, GET_PSEUDO "host=a;te=trailers;x-two=2;"},
	    {"GET / HTTP/1.1\r\n" HOST "Connection: , x ,\r\n\r\n", NULL, GET_PSEUDO "host=a;"},
	    {"GET / HTTP/1.1\r\n" HOST "Connection: :path\r\n\r\n", "connection-nominates", NULL},
	    {"GET / HTTP/1.1\r\n" HOST "Connection: Transfer-Encoding\r\n\r\n", "connection-nominates", NULL},
	    {"GET / HTTP/1.1\r\n" HOST "Connection: x, via\r\n\r\n", "connection-nominates", NULL},
	    {"GET / HTTP/1.1\r\n" HOST "Connection: Max-Forwards\r\n\r\n", "connection-nominates", NULL},
	    {"GET / HTTP/1.1\r\n" HOST "Connection: Forwarded\r\n\r\n", "connection-nominates", NULL},
	    {"GET / HTTP/1.1\r\n" HOST "Connection: expect\r\n\r\n", "connection-nominates", NULL},
	    {"GET / HTTP/1.1\r\n" HOST "Connection: Trailer\r\n\r\n", "connection-nominates", NULL},
	    {"GET / HTTP/1.1\r\n" HOST "Keep-Alive: a\x7f\r\n\r\n", "hop-field-bad", NULL},
	};
	PLAY(b, rows, H1_SERVER);
}

static void the_number_of_fields_is_bounded(void **state)
{
	struct bench *b = *state;
	/* With three pseudo-fields and Host there is room for 996. */
	for (unsigned fields = 996; fields <= 997; fields++) {
		begin(b, H1_SERVER);
		say(b, "GET / HTTP/1.1\r\n" HOST);
		for (unsigned i = 0; i < fields; i++)
			say(b, "a:\r\n");
		say(b, "\r\n");
		assert_int_equal(b->faults, fields == 997);
		if (fields == 997)
			assert_string_equal(b->fault, "head-too-large");
	}
}

/* ---- what the origin says about the connection ---- */

static void how_long_an_origin_keeps_a_connection(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *fields;
		usec keepalive;
		uint32_t room;
	} rows[] = {
	    {"", 0, 1},
	    {"Keep-Alive: timeout=0\r\n", 1, 1},
	    {"Keep-Alive: max, timeout = 3 \r\n", 3 * USEC_PER_SEC, 1},
	    {"Keep-Alive: timeout=-1, max=timeout\r\n", 0, 1},
	    {"Keep-Alive: timeout=1000001\r\n", 0, 1},
	    {"Connection: keep-alive, close\r\n", 0, 0},
	    {"Connection: Keep-Alive\r\n", 0, 1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[200];
		begin(b, H1_CLIENT);
		assert_true(ask(b, "GET", NULL, true));
		send(b);
		snprintf(text, sizeof(text), "HTTP/1.1 200\r\nContent-Length: 0\r\n%s\r\n", rows[i].fields);
		say(b, text);
		assert_string_equal(b->told, "RH.C");
		assert_int_equal(session_peer(b->conn).keepalive, rows[i].keepalive);
		assert_int_equal(session_request_room(b->conn), rows[i].room);
	}
}

static void an_origin_of_http_1_0_keeps_a_connection_if_it_says_so(void **state)
{
	struct bench *b = *state;
	for (int keeps = 0; keeps < 2; keeps++) {
		begin(b, H1_CLIENT);
		assert_true(ask(b, "GET", NULL, true));
		send(b);
		say(b, keeps ? "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"
			     : "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
		assert_string_equal(b->told, "RH.C");
		assert_int_equal(session_request_room(b->conn), keeps);
		assert_int_equal(session_is_done(b->conn), !keeps);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_request_line_has_three_parts_and_a_version_that_is_spoken),
	    TEST(a_target_has_one_of_four_forms),
	    TEST(the_scheme_is_that_of_the_connection),
	    TEST(a_proxy_ignores_the_host_beside_a_whole_uri),
	    TEST(a_host_is_missing_in_http_1_1_alone),
	    TEST(a_status_line_has_a_version_and_three_digits),
	    TEST(an_origin_that_speaks_something_else_is_told_by_its_first_byte),
	    TEST(values_lose_the_space_around_them),
	    TEST(te_says_no_more_than_trailers),
	    TEST(fields_of_the_hop_go_no_further),
	    TEST(the_number_of_fields_is_bounded),
	    TEST(how_long_an_origin_keeps_a_connection),
	    TEST(an_origin_of_http_1_0_keeps_a_connection_if_it_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
