/* SPDX-License-Identifier: MIT */
/* Requests that become tunnels, and those that do not: both roles of the codec alone. */
#include "tests/unit/h1/bench.h"

#define HEAD "GET / HTTP/1.1\r\nHost: a\r\n"
#define WEBSOCKET "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: " KEY "\r\n"
#define UPGRADE HEAD WEBSOCKET "\r\n"
#define CONNECT "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"
#define SWITCH "HTTP/1.1 101 Switching Protocols\r\n"
#define ACCEPTED "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: " ACCEPT "\r\n"
#define OPENED SWITCH ACCEPTED "\r\n"

/* The answer that opens a tunnel, with fields that are not for the next hop. */
static bool open_with(struct bench *b, const char *protocol, bool end)
{
	struct http_head *head = http_head_new(b->heads);
	head->kind = HTTP_RESPONSE;
	head->status = 200;
	head->opens_tunnel = true;
	head->protocol = slice_of_string(protocol);
	http_head_add(head, SLICE("x"), SLICE("1"));
	http_head_add(head, SLICE("content-length"), SLICE("7"));
	http_head_add(head, SLICE("sec-websocket-accept"), SLICE("of-another-hop"));
	bool done = session_respond(b->conn, NULL, head, end);
	http_head_free(head);
	return done;
}

static bool ask_for(struct bench *b, const char *protocol, bool end)
{
	struct http_head *head = request_of(b, "CONNECT");
	head->protocol = slice_of_string(protocol);
	http_head_add(head, SLICE("accept"), SLICE("1"));
	http_head_add(head, SLICE("te"), SLICE("trailers"));
	http_head_add(head, SLICE("sec-websocket-key"), SLICE("of-another-hop"));
	bool done = session_request(b->conn, head, end, b);
	http_head_free(head);
	return done;
}

static void serve(struct bench *b)
{
	begin(b, H1_SERVER);
	say(b, UPGRADE);
	assert_true(open_with(b, "websocket", false));
	send(b);
	b->told[0] = '\0';
}

static void reach(struct bench *b)
{
	begin(b, H1_CLIENT);
	assert_true(ask_for(b, "websocket", false));
	send(b);
	say(b, OPENED);
	b->told[0] = '\0';
}

/* ---- what a client's request offers ---- */

static void which_requests_offer_an_upgrade(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *request, *fields;
		bool goes_on; /* the connection, behind an ordinary answer */
	} rows[] = {
	    {UPGRADE, "host=a;[websocket]", false},
	    {HEAD WEBSOCKET "Content-Length: 0\r\n\r\n", "host=a;content-length=0;[websocket]", false},
	    {HEAD "connection: close, UPGRADE\r\nupgrade: echo/1\r\n\r\n", "host=a;[echo/1]", false},
	    {HEAD "Connection: Upgrade\r\nUpgrade: echo\r\nUpgrade: h2c, b\r\n\r\n",
		"host=a;[echo, h2c, b]", false},
	    {HEAD WEBSOCKET "Upgrade: echo\r\n\r\n", "host=a;[websocket, echo]", false},
	    /* Without Connection, or for HTTP/2, which we do not change to: as if it were not there. */
	    {HEAD "Upgrade: websocket\r\n\r\n", "host=a;", true},
	    {HEAD "Connection: upgrade\r\n\r\n", "host=a;", true},
	    {HEAD "Connection: upgrade\r\nUpgrade:\r\n\r\n", "host=a;", true},
	    {HEAD "Connection: upgrade, http2-settings\r\nUpgrade: H2C\r\nHTTP2-Settings: A\r\n\r\n", "host=a;",
		true},
	    /* Not ours to carry, but the client may send what follows as another protocol. */
	    {HEAD WEBSOCKET "Content-Length: 1\r\n\r\nx", "host=a;sec-websocket-key=" KEY ";content-length=1;",
		false},
	    {"HEAD / HTTP/1.1\r\nHost: a\r\n" WEBSOCKET "\r\n", "host=a;sec-websocket-key=" KEY ";", false},
	    {"GET / HTTP/1.0\r\nHost: a\r\n" WEBSOCKET "\r\n", "host=a;sec-websocket-key=" KEY ";", false},
	    {HEAD "Connection: upgrade\r\nUpgrade: a\r\nUpgrade: b\r\nUpgrade: c\r\nUpgrade: d\r\nUpgrade: e\r\n\r\n",
		"host=a;", false},
	    {HEAD "Connection: upgrade\r\nUpgrade: h2c\r\nUpgrade: h2c\r\nUpgrade: h2c\r\nUpgrade: h2c\r\nUpgrade: e\r\n\r\n",
		"host=a;", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(b, H1_SERVER);
		say(b, rows[i].request);
		assert_string_equal(strchr(b->fields, ';') + 1, rows[i].fields);
		assert_true(respond(b, 200, "0", true));
		put_bytes(b, GET, strlen(GET));
		send(b);
		assert_int_equal(strstr(b->sent, "connection: close\r\n") == NULL, rows[i].goes_on);
		assert_int_equal(session_is_done(b->conn), !rows[i].goes_on);
		assert_int_equal(strstr(b->told, "CH") != NULL, rows[i].goes_on);
	}
}

/* RFC 6455 4.2.1: sixteen bytes in base64, once. Without such a key there is nothing to answer. */
static void a_websocket_needs_one_key(void **state)
{
	struct bench *b = *state;
	static const char *const keys[] = {
	    "",
	    "Sec-WebSocket-Key:\r\n",
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n",
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n",
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ===\r\n",
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZUE=\r\n",
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ_==\r\n",
	    "Sec-WebSocket-Key: " KEY "\r\nSec-WebSocket-Key: " KEY "\r\n",
	    "Sec-WebSocket-Key: " KEY "\r\nConnection: sec-websocket-key\r\n",
	};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char text[400];
		begin(b, H1_SERVER);
		snprintf(text, sizeof(text), HEAD "Connection: upgrade\r\nUpgrade: echo, websocket\r\n%s\r\n", keys[i]);
		say(b, text);
		assert_string_equal(b->told, "H.");
		assert_null(strchr(b->fields, '['));
		assert_false(open_with(b, "websocket", false));
	}
	begin(b, H1_SERVER);
	say(b, HEAD "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ++ample//azAZ09nonceZg==\r\n\r\n");
	assert_string_equal(strchr(b->fields, '['), "[websocket]");
	b->has_no_websocket = true;
	begin(b, H1_SERVER);
	say(b, UPGRADE);
	assert_null(strchr(b->fields, '['));
}

/* ---- a server's answer ---- */

static void the_answer_to_an_upgrade_is_a_101(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, UPGRADE);
	assert_string_equal(b->told, "H.");
	assert_true(respond(b, 103, NULL, false));
	assert_false(open_with(b, "", false));
	assert_true(open_with(b, "WebSocket", false));
	assert_false(respond(b, 200, NULL, true));
	send(b);
	assert_string_equal(b->sent,
	    "HTTP/1.1 103 Early Hints\r\n\r\n" SWITCH
	    "x: 1\r\nconnection: upgrade\r\nupgrade: WebSocket\r\nsec-websocket-accept: " ACCEPT "\r\n\r\n");
	begin(b, H1_SERVER);
	say(b, HEAD "Connection: upgrade\r\nUpgrade: echo\r\n\r\n");
	assert_false(open_with(b, "websocket", false)); /* it has sent no key */
	assert_true(open_with(b, "echo", false));
	send(b);
	assert_string_equal(b->sent, SWITCH "x: 1\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
}

static void the_answer_to_a_connect_is_a_200_without_framing(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, CONNECT "early");
	assert_true(open_with(b, "", false));
	session_offer(b->conn, NULL, 3, true);
	send(b);
	assert_string_equal(b->sent, "HTTP/1.1 200 OK\r\nx: 1\r\n\r\nxxx");
	assert_string_equal(b->told, "H.early");
}

static void only_a_request_for_a_tunnel_gets_one(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, GET);
	assert_false(open_with(b, "websocket", false));
	assert_false(open_with(b, "", false));
	assert_true(respond(b, 501, "0", true));
}

/* RFC 9110 9.3.6: what would be content to one proxy would be the tunnel's first bytes to another. */
static void a_connect_has_no_content(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *fields;
		bool is_refused;
	} rows[] = {
	    {"Content-Length: 0\r\n", false}, /* some clients say so */
	    {"Content-Length: 0\r\nContent-Length: 0\r\n", false},
	    {"Content-Length: 5\r\n", true},
	    {"Transfer-Encoding: chunked\r\n", true},
	    {"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", true},
	    {"Transfer-Encoding: gzip, chunked\r\n", true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[200];
		begin(b, H1_SERVER);
		snprintf(text, sizeof(text), "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n%s\r\n0\r\n\r\n" GET, rows[i].fields);
		say(b, text);
		assert_string_equal(b->told, "H.");
		assert_int_equal(b->fault != NULL, rows[i].is_refused);
		if (rows[i].is_refused) {
			assert_false(open_with(b, "", false));
			continue;
		}
		assert_null(strstr(b->fields, "content-length"));
		assert_true(open_with(b, "", false));
		send(b);
		assert_string_equal(b->told, "H.0\r\n\r\n" GET);
	}
}

/* None of it can be taken for a request, however the answer is framed. */
static void what_follows_a_refused_tunnel_is_no_request(void **state)
{
	struct bench *b = *state;
	static const char *const requests[] = {UPGRADE, CONNECT};
	for (size_t i = 0; i < 6; i++) {
		begin(b, H1_SERVER);
		say(b, requests[i % 2]);
		say(b, GET);
		assert_string_equal(b->told, "H.");
		assert_true(session_is_full(b->conn));
		assert_true(respond(b, i < 2 ? 200 : i < 4 ? 501 : 204, NULL, i > 0));
		say(b, GET);
		session_offer(b->conn, NULL, 2, true);
		send(b);
		assert_non_null(strstr(b->sent, "connection: close\r\n"));
		say(b, GET);
		assert_string_equal(b->told, "H.C");
		assert_true(session_is_done(b->conn));
	}
}

/* ---- the two directions ---- */

static void bytes_before_the_answer_wait_and_are_the_tunnels(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, UPGRADE GET);
	say(b, "more");
	assert_string_equal(b->told, "H.");
	assert_true(session_is_full(b->conn));
	assert_true(open_with(b, "websocket", false));
	send(b);
	assert_string_equal(b->told, "H." GET "more");
	assert_false(session_is_full(b->conn));
	begin(b, H1_CLIENT);
	assert_true(ask_for(b, "websocket", false));
	send(b);
	say(b, OPENED "more");
	assert_string_equal(b->told, "RHmore");
}

static void a_tunnel_is_read_within_its_window(void **state)
{
	struct bench *b = *state;
	for (int role = 0; role < 2; role++) {
		b->limits.window_bytes = 3;
		b->keeps_credit = true;
		if (role == 0)
			serve(b);
		else
			reach(b);
		say(b, "abcdef");
		session_ended(b->conn, true);
		drain(b);
		assert_string_equal(b->told, "abc");
		assert_true(session_is_full(b->conn));
		session_credit(b->conn, NULL, 1);
		session_widen(b->conn, NULL, 4);
		drain(b);
		assert_string_equal(b->told, "abcde");
		session_credit(b->conn, NULL, 5);
		drain(b);
		assert_string_equal(b->told, "abcdef.");
		assert_false(session_is_full(b->conn));
	}
}

static void each_direction_ends_by_itself(void **state)
{
	struct bench *b = *state;
	for (int i = 0; i < 4; i++) {
		bool is_client = i % 2 == 1, ours_is_first = i < 2;
		if (is_client)
			reach(b);
		else
			serve(b);
		assert_false(session_has_finished(b->conn));
		if (!ours_is_first) {
			session_ended(b->conn, true);
			drain(b);
			assert_string_equal(b->told, ".");
		}
		session_offer(b->conn, NULL, 3, false);
		send(b);
		assert_string_equal(b->sent, "xxx");
		assert_false(session_has_finished(b->conn));
		session_offer(b->conn, NULL, 0, true);
		assert_true(session_wants_write(b->conn));
		if (ours_is_first) {
			send(b);
			assert_string_equal(b->sent, "");
			assert_true(session_has_finished(b->conn) && !session_is_done(b->conn));
			say(b, "still");
			session_ended(b->conn, true);
			drain(b);
			assert_string_equal(b->told, "still.C");
		} else {
			send(b);
			assert_string_equal(b->told, ".C");
		}
		assert_true(session_is_done(b->conn) && !session_must_abort(b->conn));
		assert_int_equal(session_request_room(b->conn), 0);
	}
}

/* The end can be said alone, as where a version has trailers. */
static void the_end_alone_is_the_end(void **state)
{
	struct bench *b = *state;
	serve(b);
	session_trailers(b->conn, NULL, NULL);
	assert_true(session_has_finished(b->conn));
	begin(b, H1_CLIENT);
	assert_true(ask_for(b, "websocket", false));
	session_trailers(b->conn, NULL, NULL);
	send(b);
	say(b, OPENED);
	send(b);
	assert_true(session_has_finished(b->conn));
	begin(b, H1_SERVER);
	say(b, UPGRADE);
	assert_true(open_with(b, "websocket", true));
	assert_false(session_has_finished(b->conn)); /* the head has not left */
	send(b);
	assert_true(session_has_finished(b->conn) && !session_is_done(b->conn));
}

static void only_a_clean_end_ends_a_direction(void **state)
{
	struct bench *b = *state;
	for (int i = 0; i < 4; i++) {
		bool is_early = i >= 2;
		begin(b, i % 2 ? H1_CLIENT : H1_SERVER);
		if (i % 2 == 0) {
			say(b, UPGRADE);
			if (is_early)
				session_ended(b->conn, false);
			assert_true(open_with(b, "websocket", false));
			send(b);
		} else {
			assert_true(ask_for(b, "websocket", false));
			send(b);
			put_bytes(b, OPENED, strlen(OPENED));
			if (is_early)
				session_ended(b->conn, false);
			drain(b);
		}
		b->told[0] = '\0';
		if (!is_early)
			session_ended(b->conn, false);
		drain(b);
		assert_string_equal(b->told, "");
		assert_true(h1_has_stream(b->conn) && !session_is_done(b->conn));
	}
}

static void a_client_that_has_ended_its_direction_keeps_its_tunnel(void **state)
{
	struct bench *b = *state;
	for (int i = 0; i < 2; i++) {
		begin(b, H1_SERVER);
		say(b, UPGRADE "last");
		if (i == 0)
			session_half_close(b->conn, 0);
		assert_true(open_with(b, "websocket", false));
		if (i == 1)
			session_half_close(b->conn, 0);
		send(b);
		assert_non_null(strstr(b->sent, SWITCH));
		assert_string_equal(b->told, "H.last.");
		session_offer(b->conn, NULL, 5, true);
		send(b);
		assert_string_equal(b->sent, "xxxxx");
		assert_string_equal(b->told, "H.last.C");
		assert_true(session_is_done(b->conn) && !session_must_abort(b->conn));
	}
}

/* Otherwise the peer would take what it has for all that there is. */
static void an_open_tunnel_is_given_up_with_an_abort(void **state)
{
	struct bench *b = *state;
	for (int i = 0; i < 8; i++) {
		if (i % 2 == 0)
			serve(b);
		else
			reach(b);
		if (i >= 4) { /* either direction has ended */
			if (i >= 6)
				session_ended(b->conn, true);
			else
				session_offer(b->conn, NULL, 0, true);
			send(b);
		}
		if (i / 2 % 2)
			session_terminate(b->conn, SESSION_NO_ERROR, SLICE(""));
		else
			session_reset(b->conn, NULL, SESSION_CANCEL);
		session_check(b->conn);
		assert_true(session_must_abort(b->conn) && session_is_done(b->conn));
		assert_false(session_has_finished(b->conn));
	}
}

/* ---- asking an origin ---- */

static void a_request_for_a_tunnel_is_an_upgrade(void **state)
{
	struct bench *b = *state;
	begin(b, H1_CLIENT);
	assert_true(ask_for(b, "websocket", false));
	session_offer(b->conn, NULL, 5, false);
	send(b);
	assert_string_equal(b->sent,
	    "GET / HTTP/1.1\r\nhost: a\r\naccept: 1\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
	    "sec-websocket-key: " KEY "\r\n\r\n");
	assert_false(session_wants_write(b->conn));
	assert_false(ask(b, "GET", NULL, true));
	say(b, "HTTP/1.1 103 X\r\n\r\n");
	assert_false(session_wants_write(b->conn));
	say(b, SWITCH ACCEPTED "Sec-WebSocket-Protocol: chat\r\nContent-Length: 5\r\n\r\n");
	assert_string_equal(b->told, "RHH");
	assert_string_equal(b->fields, "200;sec-websocket-protocol=chat;<websocket>");
	send(b);
	assert_string_equal(b->sent, "xxxxx");
	begin(b, H1_CLIENT);
	assert_true(ask_for(b, "echo/1", true));
	send(b);
	assert_string_equal(b->sent,
	    "GET / HTTP/1.1\r\nhost: a\r\naccept: 1\r\nconnection: upgrade\r\nupgrade: echo/1\r\n\r\n");
	say(b, SWITCH "Connection: upgrade\r\nUpgrade: Echo/1\r\n\r\n");
	assert_string_equal(b->fields, "200;<echo/1>");
	assert_false(session_has_finished(b->conn));
	send(b);
	assert_true(session_has_finished(b->conn));
	b->has_no_websocket = true;
	begin(b, H1_CLIENT);
	assert_false(ask_for(b, "WebSocket", false));
	assert_int_equal(session_request_room(b->conn), 1);
}

static void a_request_without_protocol_is_a_connect(void **state)
{
	struct bench *b = *state;
	begin(b, H1_CLIENT);
	assert_true(ask_for(b, "", false));
	send(b);
	assert_string_equal(b->sent, "CONNECT a HTTP/1.1\r\nhost: a\r\naccept: 1\r\n\r\n");
	say(b, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
	assert_string_equal(b->told, "RHhello");
	assert_string_equal(b->fields, "200;<>");
	begin(b, H1_CLIENT);
	assert_true(ask_for(b, "", false));
	send(b);
	say(b, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
	assert_string_equal(b->told, "RHno.C");
	begin(b, H1_CLIENT);
	assert_true(ask_for(b, "", false));
	send(b);
	say(b, SWITCH "Connection: upgrade\r\nUpgrade: echo\r\n\r\n");
	assert_string_equal(b->fault, "upgrade-unasked");
}

static void a_101_is_what_was_asked_for(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *protocol, *answer, *fault;
	} rows[] = {
	    {NULL, OPENED, "upgrade-unasked"},
	    {NULL, SWITCH "\r\n", "upgrade-unasked"},
	    {"echo", SWITCH "Connection: upgrade\r\nUpgrade: echo\r\n\r\n", NULL},
	    {"echo", SWITCH "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n", "upgrade-wrong"},
	    {"echo", SWITCH "Connection: upgrade\r\nUpgrade: echo, x\r\n\r\n", "upgrade-wrong"},
	    {"echo", SWITCH "Connection: upgrade\r\nUpgrade: echo\r\nUpgrade: echo\r\n\r\n", "upgrade-wrong"},
	    {"echo", SWITCH "Connection: upgrade\r\n\r\n", "upgrade-wrong"},
	    {"echo", SWITCH "Upgrade: echo\r\n\r\n", "upgrade-wrong"},
	    {"echo", "HTTP/1.0 101 X\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n", "upgrade-wrong"},
	    {"echo", SWITCH "Connection: upgrade\r\nUpgrade: echo\r\nTransfer-Encoding: chunked\r\n\r\n",
		"coding-without-body"},
	    {"echo", SWITCH "Connection: upgrade\r\nUpgrade: echo\r\nContent-Length: x\r\n\r\n",
		"message-malformed"},
	    {"websocket", OPENED, NULL},
	    {"websocket", SWITCH "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n", "websocket-accept-bad"},
	    {"websocket", SWITCH "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: " KEY "\r\n\r\n",
		"websocket-accept-bad"},
	    {"websocket", SWITCH ACCEPTED "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n", "websocket-accept-bad"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(b, H1_CLIENT);
		assert_true(rows[i].protocol ? ask_for(b, rows[i].protocol, false) : ask(b, "GET", NULL, true));
		send(b);
		say(b, rows[i].answer);
		if (!rows[i].fault) {
			assert_string_equal(b->told, "RH");
			continue;
		}
		assert_string_equal(b->fault, rows[i].fault);
		assert_string_equal(b->told, "R!F");
	}
}

/* Its answer is one as any other, and what waits for the tunnel is not sent. */
static void a_refused_upgrade_keeps_the_origins_connection(void **state)
{
	struct bench *b = *state;
	static const char *const answers[] = {
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
	    "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
	};
	for (size_t i = 0; i < 2; i++) {
		begin(b, H1_CLIENT);
		assert_true(ask_for(b, "websocket", false));
		session_offer(b->conn, NULL, 5, i == 1);
		send(b);
		say(b, answers[i]);
		assert_string_equal(b->told, "RHno.C");
		assert_null(strchr(b->fields, '<'));
		assert_false(session_wants_write(b->conn) || session_has_finished(b->conn));
		assert_int_equal(session_request_room(b->conn), 1);
		assert_true(ask(b, "GET", NULL, true));
		send(b);
		assert_string_equal(b->sent, "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
		say(b, OPENED);
		assert_string_equal(b->fault, "upgrade-unasked");
	}
}

static void a_trace_shows_the_101(void **state)
{
	struct bench *b = *state;
	b->is_traced = true;
	begin(b, H1_CLIENT);
	assert_true(ask_for(b, "echo", false));
	send(b);
	say(b, SWITCH "Connection: upgrade\r\nUpgrade: echo\r\n\r\n");
	assert_string_equal(b->told, "R-> request len=74\n<- response 101 len=70\nH");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(which_requests_offer_an_upgrade),
	    TEST(a_websocket_needs_one_key),
	    TEST(the_answer_to_an_upgrade_is_a_101),
	    TEST(the_answer_to_a_connect_is_a_200_without_framing),
	    TEST(only_a_request_for_a_tunnel_gets_one),
	    TEST(a_connect_has_no_content),
	    TEST(what_follows_a_refused_tunnel_is_no_request),
	    TEST(bytes_before_the_answer_wait_and_are_the_tunnels),
	    TEST(a_tunnel_is_read_within_its_window),
	    TEST(each_direction_ends_by_itself),
	    TEST(the_end_alone_is_the_end),
	    TEST(only_a_clean_end_ends_a_direction),
	    TEST(a_client_that_has_ended_its_direction_keeps_its_tunnel),
	    TEST(an_open_tunnel_is_given_up_with_an_abort),
	    TEST(a_request_for_a_tunnel_is_an_upgrade),
	    TEST(a_request_without_protocol_is_a_connect),
	    TEST(a_101_is_what_was_asked_for),
	    TEST(a_refused_upgrade_keeps_the_origins_connection),
	    TEST(a_trace_shows_the_101),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
