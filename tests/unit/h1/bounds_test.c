/* SPDX-License-Identifier: MIT */
/* What is bounded: heads, lists, trailers, extensions, interim responses, a body without credit, time. */
#include "tests/unit/h1/bench.h"

#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"
#define LATE (10 * USEC_PER_SEC)

/* ---- heads ---- */

/* The largest that is read has exactly so many bytes, the empty line included. */
static void a_head_may_have_as_many_bytes_as_the_limit_says(void **state)
{
	struct bench *b = *state;
	const uint32_t length = (uint32_t)strlen(GET);
	for (uint32_t limit = length - 1; limit <= length; limit++) {
		for (size_t cut = 0; cut < length; cut++) {
			b->limits.head_bytes = limit;
			begin(b, H1_SERVER);
			say_bytes(b, GET, cut);
			say_bytes(b, GET + cut, length - cut);
			assert_string_equal(b->told, "H.");
			assert_int_equal(b->faults, limit < length);
			if (b->faults)
				assert_string_equal(b->fault, "head-too-large");
		}
	}
}

/* RFC 9113 6.5.2: what GET and a response's first line count with the pseudo-fields that they become. */
#define LIST_OF_GET (7 + 3 + 32 + 7 + 4 + 32 + 5 + 1 + 32 + 4 + 1 + 32) /* method, scheme, path, Host: a */
#define LIST_OF_STATUS (7 + 3 + 32)

/* The answer is 414: nothing but the target is too large. */
static void a_target_counts_and_may_be_too_large_by_itself(void **state)
{
	struct bench *b = *state;
	const char *const lines[] = {
	    "GET /aaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n",
	    "GET http://a/aaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n",
	    "CONNECT aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:80 HTTP/1.1\r\nHost: a\r\n\r\n",
	};
	b->limits.list_bytes = 7 + 3 + 32 + 7 + 4 + 32 + 5 + 16 + 32; /* a path of 16 bytes */
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		begin(b, H1_SERVER);
		say(b, lines[i]);
		assert_string_equal(b->fault, "request-target-long");
	}
	b->limits.list_bytes += 4 + 1 + 32;
	begin(b, H1_SERVER);
	say(b, "GET /aaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_string_equal(b->told, "H.");
}

static void fields_over_the_list_size_are_told_and_nothing_behind_them_is_read(void **state)
{
	struct bench *b = *state;
	struct session_event e;
	b->limits.list_bytes = LIST_OF_GET;
	begin(b, H1_SERVER);
	say(b, GET);
	assert_string_equal(b->told, "H.");
	begin(b, H1_SERVER);
	put_bytes(b, POST "Content-Length: 3\r\n\r\nabc" GET, 70);
	assert_true(session_next_event(b->conn, &e));
	assert_true(e.kind == SESSION_EVENT_HEAD && e.oversize && e.end && !e.fault);
	http_head_free(e.head);
	assert_false(session_next_event(b->conn, &e));
	assert_int_equal(b->faults, 0);
	assert_true(respond(b, 431, "0", true));
	send(b);
	assert_string_equal(b->sent,
	    "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
	assert_true(session_is_done(b->conn));
	/* An origin's. */
	b->limits.list_bytes = LIST_OF_STATUS + 1 + 6 + 32 - 1;
	begin(b, H1_CLIENT);
	assert_true(ask(b, "GET", NULL, true));
	send(b);
	put_bytes(b, "HTTP/1.1 200 OK\r\nX: 123456\r\n\r\n", 31);
	assert_true(session_next_event(b->conn, &e));
	assert_true(e.kind == SESSION_EVENT_RESET && e.oversize);
	drain(b);
	assert_string_equal(b->told, "RF");
	assert_string_equal(b->fault, "head-too-large");
}

static void lines_that_come_in_pieces_are_kept_until_the_head_is_complete(void **state)
{
	struct bench *b = *state;
	char value[600];
	memset(value, 'v', sizeof(value));
	begin(b, H1_SERVER);
	say(b, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
	assert_int_equal(b->budget.used_bytes, 512);
	say_bytes(b, value, sizeof(value));
	assert_int_equal(b->budget.used_bytes, 1024);
	say(b, "\r\n\r\n");
	assert_string_equal(b->told, "H.");
	assert_true(respond(b, 200, "0", true));
	send(b);
	say(b, GET);
	assert_string_equal(b->told, "H.CH.");
	assert_int_equal(b->budget.used_bytes, 0);
}

/* ---- trailers and chunks ---- */

static void what_trailers_may_not_have(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *bytes, *fault;
	} rows[] = {
	    {"X: 1\r\n\r\n", NULL},
	    {"Connection: x\r\n\r\n", "message-malformed"},
	    {"Connection:\r\nX: 1\r\n\r\n", NULL}, /* says nothing */
	    {"Transfer-Encoding:\r\n\r\n", "message-malformed"},
	    {"Content-Length: 1\r\n\r\n", "message-malformed"},
	    {"Host: a\r\n\r\n", "message-malformed"},
	    {"X\r\n\r\n", "field-line-bad"},
	    {" X: 1\r\n\r\n", "line-folding"},
	    {"X: 1\n\r\n", "line-end-bare"},
	    {"A:1\r\nB:1\r\nC:1\r\nD:1\r\n\r\n", NULL},
	    {"A:1\r\nB:1\r\nC:1\r\nD:1\r\nE:1\r\n\r\n", "trailers-too-large"}, /* by the list's size */
	    {"X: 1234567890123456789012345678901234567890\r\n\r\n", "trailers-too-large"},
	};
	b->limits.trailer_bytes = 40;
	b->limits.list_bytes = LIST_OF_GET + 1; /* of the POST */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(b, H1_SERVER);
		say(b, POST CHUNKED "0\r\n");
		assert_string_equal(b->told, "H");
		b->told[0] = '\0';
		say(b, rows[i].bytes);
		assert_string_equal(b->told, rows[i].fault ? "X" : "T.");
		if (rows[i].fault)
			assert_string_equal(b->fault, rows[i].fault);
		assert_true(respond(b, 400, NULL, true));
		send(b);
		assert_int_equal(session_is_done(b->conn), rows[i].fault != NULL);
	}
}

/* Sizes in both cases, with zeros before them, and a fault in the digits behind them. */
static void a_size_is_hexadecimal(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, POST CHUNKED "a\r\n0123456789\r\n0B\r\n0123456789a\r\n0\r\n\r\n");
	assert_string_equal(b->told, "H01234567890123456789a.");
	begin(b, H1_SERVER);
	say(b, POST CHUNKED "g\r\n");
	assert_string_equal(b->told, "HX");
	begin(b, H1_SERVER);
	say(b, POST CHUNKED "7fffffffffffffff\r\n"); /* would fit into 63 bits, and is nobody's */
	assert_string_equal(b->told, "HX");
	assert_string_equal(b->fault, "chunk-size-bad");
}

static void extensions_are_counted_over_the_whole_message(void **state)
{
	struct bench *b = *state;
	b->limits.extension_bytes = 6;
	for (int is_over = 0; is_over < 2; is_over++) {
		begin(b, H1_SERVER);
		say(b, POST CHUNKED "1;a\r\nx\r\n1;b\r\nx\r\n"); /* with the CR, ";" is not counted */
		assert_string_equal(b->told, "Hxx");
		say(b, is_over ? "1;abcdef\r\n" : "0\r\n\r\n");
		assert_string_equal(b->told, is_over ? "HxxX" : "Hxx.");
		assert_true(respond(b, 200, "0", true));
		send(b);
		if (is_over)
			continue;
		say(b, POST CHUNKED "1;a\r\nx\r\n1;b\r\nx\r\n0\r\n\r\n"); /* the next one has its own */
		assert_string_equal(b->told, "Hxx.CHxx.");
	}
}

/* ---- a body without credit ---- */

/* Pieces wait where they came in; memory for them grows, is moved, and is given back. */
static void what_waits_comes_in_order(void **state)
{
	struct bench *b = *state;
	char text[3], all[64] = "H";
	b->limits.window_bytes = 1;
	b->keeps_credit = true;
	begin(b, H1_SERVER);
	say(b, POST "Content-Length: 26\r\n\r\n");
	for (char c = 'a'; c <= 'z'; c++) {
		snprintf(text, sizeof(text), "%c", c);
		say(b, text);
		if (c % 2 == 0) {
			session_credit(b->conn, NULL, 1);
			drain(b);
		}
		if (c == 'm') {
			assert_true(b->budget.used_bytes >= 6 * CHUNK_BYTES);
			assert_int_equal(b->budget.used_bytes % CHUNK_BYTES, 0);
		}
	}
	while (strchr(b->told, '.') == NULL) {
		assert_true(session_is_full(b->conn));
		session_credit(b->conn, NULL, 1);
		drain(b);
	}
	for (char c = 'a'; c <= 'z'; c++)
		all[1 + c - 'a'] = c;
	strcat(all, ".");
	assert_string_equal(b->told, all);
	assert_false(session_is_full(b->conn));
	assert_int_equal(b->budget.used_bytes, 0);
	/* What the peer sends in vain is dropped with all that waits. */
	begin(b, H1_SERVER);
	say(b, POST "Content-Length: 26\r\n\r\n");
	for (unsigned i = 0; i < 6; i++)
		say(b, "x");
	session_credit(b->conn, NULL, 100); /* more than is owed */
	session_reset(b->conn, NULL, SESSION_CANCEL);
	drain(b);
	assert_int_equal(b->budget.used_bytes, 0);
	assert_true(session_is_done(b->conn));
}

/* The owner may be told of more bytes before it has looked at all events. */
static void bytes_may_come_between_two_events(void **state)
{
	struct bench *b = *state;
	struct session_event e;
	for (unsigned waiting = 0; waiting < 2; waiting++) {
		begin(b, H1_SERVER);
		put_bytes(b, POST "Content-Length: 3\r\n\r\n", strlen(POST) + 21);
		if (waiting)
			put_bytes(b, "a", 1);
		assert_true(session_next_event(b->conn, &e));
		http_head_free(e.head); /* the first piece is read, and its chunk still held */
		put_bytes(b, waiting ? "bc" : "abc", waiting ? 2 : 3);
		drain(b);
		assert_string_equal(b->told, "abc.");
		assert_int_equal(b->budget.used_bytes, 0);
	}
}

static void each_kind_of_body_waits_for_credit(void **state)
{
	struct bench *b = *state;
	static const char *const responses[] = {
	    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef",
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n",
	    "HTTP/1.1 200 OK\r\n\r\nabcdef",
	};
	b->limits.window_bytes = 2;
	b->keeps_credit = true;
	for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
		begin(b, H1_CLIENT);
		assert_true(ask(b, "GET", NULL, true));
		send(b);
		say(b, responses[i]);
		assert_string_equal(b->told, "RHab");
		drain(b);
		session_ended(b->conn, true); /* the end waits with it */
		drain(b);
		assert_string_equal(b->told, "RHab");
		for (unsigned n = 0; n < 4; n++) {
			session_credit(b->conn, NULL, 2);
			drain(b);
		}
		assert_string_equal(b->told, "RHabcdef.C");
		assert_true(session_is_done(b->conn));
	}
}

/* ---- interim responses ---- */

static void interim_responses_are_counted_for_each_request(void **state)
{
	struct bench *b = *state;
	b->limits.interim_responses = 2;
	begin(b, H1_CLIENT);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(ask(b, "GET", NULL, true));
		send(b);
		say(b, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\r\n\r\nHTTP/1.1 204\r\n\r\n");
	}
	assert_string_equal(b->told, "RHHH.CHHH.C");
	assert_true(ask(b, "GET", NULL, true));
	send(b);
	say(b, "HTTP/1.1 102\r\n\r\nHTTP/1.1 102\r\n\r\nHTTP/1.1 102\r\n\r\n");
	assert_string_equal(b->told, "RHHH.CHHH.CHH!F");
	assert_string_equal(b->fault, "interim-responses-many");
}

/* ---- time ---- */

static void a_head_has_a_deadline_and_a_connection_without_one_has_none(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	assert_int_equal(session_deadline(b->conn), b->now + LATE);
	say(b, POST "Content-Length: 1\r\n\r\n");
	assert_true(session_deadline(b->conn) == USEC_NEVER); /* a body's time is the owner's */
	say(b, "x");
	assert_true(respond(b, 200, "0", true));
	send(b);
	assert_true(session_deadline(b->conn) == USEC_NEVER); /* so is an idle connection's */
	session_tick(b->conn, b->now + 100 * LATE);
	drain(b);
	assert_string_equal(b->told, "Hx.C");
	b->now += 50 * LATE;
	say(b, "GET");
	assert_int_equal(session_deadline(b->conn), b->now + LATE);
	b->now += LATE - 1;
	say(b, " ");
	session_tick(b->conn, b->now);
	drain(b);
	assert_string_equal(b->told, "Hx.C");
	session_tick(b->conn, b->now + 1);
	assert_true(session_deadline(b->conn) == USEC_NEVER); /* the answer comes first */
	drain(b);
	assert_string_equal(b->told, "Hx.CH.");
	assert_string_equal(b->fault, "head-late");
	b->limits.head_timeout = 0;
	begin(b, H1_SERVER);
	assert_true(session_deadline(b->conn) == USEC_NEVER);
	begin(b, H1_CLIENT);
	assert_true(session_deadline(b->conn) == USEC_NEVER);
}

/* The second request's first bytes came long before its turn: its time begins with its turn. */
static void a_pipelined_head_has_its_time_from_its_turn(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	say(b, GET "GET / H");
	assert_true(session_deadline(b->conn) == USEC_NEVER);
	b->now += 100 * LATE;
	assert_true(respond(b, 200, "0", true));
	send(b);
	assert_true(session_deadline(b->conn) <= b->now); /* at once: the codec does not know the time */
	session_tick(b->conn, b->now);
	drain(b);
	assert_int_equal(session_deadline(b->conn), b->now + LATE);
	say(b, "TTP/1.1\r\nHost: a\r\n\r\n");
	assert_string_equal(b->told, "H.CH.");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_head_may_have_as_many_bytes_as_the_limit_says),
	    TEST(fields_over_the_list_size_are_told_and_nothing_behind_them_is_read),
	    TEST(lines_that_come_in_pieces_are_kept_until_the_head_is_complete),
	    TEST(a_target_counts_and_may_be_too_large_by_itself),
	    TEST(what_trailers_may_not_have),
	    TEST(a_size_is_hexadecimal),
	    TEST(extensions_are_counted_over_the_whole_message),
	    TEST(what_waits_comes_in_order),
	    TEST(bytes_may_come_between_two_events),
	    TEST(each_kind_of_body_waits_for_credit),
	    TEST(interim_responses_are_counted_for_each_request),
	    TEST(a_head_has_a_deadline_and_a_connection_without_one_has_none),
	    TEST(a_pipelined_head_has_its_time_from_its_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
