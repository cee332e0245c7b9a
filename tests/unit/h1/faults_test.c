/* SPDX-License-Identifier: MIT */
/*
 * Each fault of the table has a case here: the bytes that commit it, whole and one by one, and what the
 * owner hears of it. A row without a case fails.
 */
#include "proxy/base/memory.h"
#include "proxy/h1/h1_fault.h"
#include "proxy/h1/h1_conn.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CHUNK_BYTES 16384u
#define HOST "Host: a\r\n"
#define CHUNKED "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
#define OK "HTTP/1.1 200 OK\r\n"

struct fault_case {
	enum h1_fault_number fault;
	/* Of the event that tells it: HEAD and REFUSED of a server, RESET and FAILED of a client. */
	enum session_event_kind kind;
	const char *bytes;
};

/* The limits are those of limits() below. */
static const struct fault_case cases[] = {
    {H1_FAULT_LINE_END, SESSION_EVENT_HEAD, "GET / HTTP/1.1\n" HOST "\r\n"},
    {H1_FAULT_LINE_END, SESSION_EVENT_HEAD, "GET / HTTP/1.1\r\n" HOST "\n"},
    {H1_FAULT_LINE_END, SESSION_EVENT_REFUSED, CHUNKED "5\rX"},
    {H1_FAULT_LINE_END, SESSION_EVENT_RESET, "HTTP/1.1 200 OK\n\n"},
    {H1_FAULT_REQUEST_LINE, SESSION_EVENT_HEAD, "GET /\r\n" HOST "\r\n"},
    {H1_FAULT_REQUEST_LINE, SESSION_EVENT_HEAD, "G(T / HTTP/1.1\r\n" HOST "\r\n"},
    {H1_FAULT_REQUEST_LINE, SESSION_EVENT_HEAD, "GET  / HTTP/1.1\r\n" HOST "\r\n"},
    {H1_FAULT_REQUEST_LINE, SESSION_EVENT_HEAD, "GET / HTTP/1.1 \r\n" HOST "\r\n"},
    {H1_FAULT_REQUEST_LINE, SESSION_EVENT_HEAD, "\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n"},
    {H1_FAULT_TARGET, SESSION_EVENT_HEAD, "GET x HTTP/1.1\r\n" HOST "\r\n"},
    {H1_FAULT_TARGET, SESSION_EVENT_HEAD, "GET http:/x HTTP/1.1\r\n" HOST "\r\n"},
    {H1_FAULT_TARGET_LONG, SESSION_EVENT_HEAD,
	"GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	"aaaaaaaaaaaaaaa"},
    {H1_FAULT_VERSION, SESSION_EVENT_HEAD, "GET / HTTP/2.0\r\n" HOST "\r\n"},
    {H1_FAULT_VERSION, SESSION_EVENT_HEAD, "GET / HTTP/1.2\r\n" HOST "\r\n"},
    {H1_FAULT_STATUS_LINE, SESSION_EVENT_RESET, "\x15\x03\x01"}, /* an alert of TLS */
    {H1_FAULT_STATUS_LINE, SESSION_EVENT_RESET, "\r\n" OK "\r\n"},
    {H1_FAULT_STATUS_LINE, SESSION_EVENT_RESET, "HTTP/1.1 20 OK\r\n\r\n"},
    {H1_FAULT_STATUS_LINE, SESSION_EVENT_RESET, "HTTP/2.0 200 OK\r\n\r\n"},
    {H1_FAULT_STATUS_LINE, SESSION_EVENT_RESET, "HTTP/1.1 200OK\r\n\r\n"},
    {H1_FAULT_STATUS_LINE, SESSION_EVENT_RESET, "HTTP/1.1 200 O\x01K\r\n\r\n"},
    {H1_FAULT_HEAD_LARGE, SESSION_EVENT_HEAD,
	"GET / HTTP/1.1\r\n" HOST
	"A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"
	"B: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n\r\n"},
    {H1_FAULT_HEAD_LARGE, SESSION_EVENT_RESET, OK "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: 6\r\n\r\n"},
    {H1_FAULT_HEAD_LATE, SESSION_EVENT_HEAD, "GET / HT"},
    {H1_FAULT_HEAD_LATE, SESSION_EVENT_FAILED, ""},
    {H1_FAULT_FIELD_LINE, SESSION_EVENT_HEAD, "GET / HTTP/1.1\r\n" HOST "X\r\n\r\n"},
    {H1_FAULT_FIELD_LINE, SESSION_EVENT_RESET, OK ": x\r\n\r\n"},
    {H1_FAULT_FOLD, SESSION_EVENT_HEAD, "GET / HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n"},
    {H1_FAULT_FOLD, SESSION_EVENT_RESET, OK "X: a\r\n\tb\r\n\r\n"},
    {H1_FAULT_HOP_VALUE, SESSION_EVENT_HEAD, "GET / HTTP/1.1\r\n" HOST "Connection: a\x01\r\n\r\n"},
    {H1_FAULT_HOP_VALUE, SESSION_EVENT_HEAD, "GET / HTTP/1.1\r\n" HOST "TE: a\x01\r\n\r\n"},
    {H1_FAULT_MALFORMED, SESSION_EVENT_HEAD, "GET / HTTP/1.1\r\n" HOST HOST "\r\n"},
    {H1_FAULT_MALFORMED, SESSION_EVENT_HEAD, "GET / HTTP/1.1\r\n" HOST "X : 1\r\n\r\n"},
    {H1_FAULT_MALFORMED, SESSION_EVENT_HEAD, "GET http://b/ HTTP/1.1\r\n" HOST "\r\n"},
    {H1_FAULT_MALFORMED, SESSION_EVENT_HEAD, "POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n"},
    {H1_FAULT_MALFORMED, SESSION_EVENT_REFUSED, CHUNKED "0\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {H1_FAULT_MALFORMED, SESSION_EVENT_RESET, OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"},
    {H1_FAULT_HOST_MISSING, SESSION_EVENT_HEAD, "GET / HTTP/1.1\r\n\r\n"},
    {H1_FAULT_NOMINATED, SESSION_EVENT_HEAD, "GET / HTTP/1.1\r\n" HOST "Connection: host\r\n\r\n"},
    {H1_FAULT_NOMINATED, SESSION_EVENT_RESET, OK "Connection: Content-Length\r\n\r\n"},
    {H1_FAULT_OPTIONS_MANY, SESSION_EVENT_HEAD,
	"GET / HTTP/1.1\r\n" HOST "Connection: a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,"
	"a\r\n\r\n"},
    {H1_FAULT_CODING_AND_LENGTH, SESSION_EVENT_HEAD,
	"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"},
    {H1_FAULT_CODING_AND_LENGTH, SESSION_EVENT_RESET,
	OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {H1_FAULT_CODING_OLD, SESSION_EVENT_HEAD, "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"},
    {H1_FAULT_CODING_OLD, SESSION_EVENT_RESET, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {H1_FAULT_CODING_BAD, SESSION_EVENT_HEAD,
	"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, gzip\r\n\r\n"},
    {H1_FAULT_CODING_BAD, SESSION_EVENT_HEAD,
	"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {H1_FAULT_CODING_BAD, SESSION_EVENT_HEAD, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n"},
    {H1_FAULT_CODING_BAD, SESSION_EVENT_RESET, OK "Transfer-Encoding: gzip\r\n\r\n"},
    {H1_FAULT_CODING_UNKNOWN, SESSION_EVENT_HEAD,
	"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"},
    {H1_FAULT_CODING_CONNECT, SESSION_EVENT_HEAD,
	"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {H1_FAULT_CODING_FORBIDDEN, SESSION_EVENT_RESET,
	"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {H1_FAULT_CODING_FORBIDDEN, SESSION_EVENT_RESET,
	"HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {H1_FAULT_CHUNK_SIZE, SESSION_EVENT_REFUSED, CHUNKED "x\r\n"},
    {H1_FAULT_CHUNK_SIZE, SESSION_EVENT_REFUSED, CHUNKED "5x\r\n"},
    {H1_FAULT_CHUNK_SIZE, SESSION_EVENT_REFUSED, CHUNKED "0000000000000001\r\n"},
    {H1_FAULT_CHUNK_SIZE, SESSION_EVENT_RESET, OK "Transfer-Encoding: chunked\r\n\r\n-1\r\n"},
    {H1_FAULT_CHUNK_EXTENSION, SESSION_EVENT_REFUSED, CHUNKED "5;a=\x01\r\n"},
    {H1_FAULT_CHUNK_EXTENSION, SESSION_EVENT_REFUSED, CHUNKED "5;a=\"\r\n"},
    {H1_FAULT_EXTENSIONS_LARGE, SESSION_EVENT_REFUSED,
	CHUNKED "1;a=bcdefghij\r\nx\r\n1;a=bcdefghij\r\n"},
    {H1_FAULT_CHUNK_END, SESSION_EVENT_REFUSED, CHUNKED "1\r\nxy"},
    {H1_FAULT_CHUNK_END, SESSION_EVENT_RESET, OK "Transfer-Encoding: chunked\r\n\r\n1\r\nx\rx"},
    {H1_FAULT_TRAILERS_LARGE, SESSION_EVENT_REFUSED,
	CHUNKED "0\r\nX: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n\r\n"},
    {H1_FAULT_UNASKED, SESSION_EVENT_FAILED, OK "Content-Length: 1\r\n\r\nxHTTP"},
    {H1_FAULT_UPGRADE_UNASKED, SESSION_EVENT_RESET,
	"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"},
    {H1_FAULT_UPGRADE_WRONG, SESSION_EVENT_RESET,
	"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"},
    {H1_FAULT_WEBSOCKET_ACCEPT, SESSION_EVENT_RESET,
	"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"},
    {H1_FAULT_INTERIM_MANY, SESSION_EVENT_RESET,
	"HTTP/1.1 103 X\r\n\r\nHTTP/1.1 103 X\r\n\r\nHTTP/1.1 103 X\r\n\r\n"},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static struct h1_limits limits(void)
{
	return (struct h1_limits){
	    .head_bytes = 190,
	    .list_bytes = 230,
	    .trailer_bytes = 60,
	    .extension_bytes = 20,
	    .window_bytes = 65536,
	    .interim_responses = 2,
	    .head_timeout = 10 * USEC_PER_SEC,
	};
}

/* ---- one run ---- */

struct bench {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct session *conn;
	bool is_server;
	const struct session_fault *counted;
	unsigned count;
	/* Of the event that told it. */
	const struct session_fault *told;
	enum session_event_kind kind;
	unsigned behind_failed;
	bool has_failed;
};

static void on_fault(void *context, const struct session_fault *fault, size_t index)
{
	assert_ptr_equal(&h1_faults[index], fault);
	struct bench *b = context;
	b->counted = fault;
	b->count++;
}

static void drain(struct bench *b)
{
	struct session_event e;
	while (session_next_event(b->conn, &e)) {
		session_check(b->conn);
		b->behind_failed += b->has_failed;
		b->has_failed |= e.kind == SESSION_EVENT_FAILED;
		if (e.fault) {
			assert_null(b->told);
			b->told = e.fault;
			b->kind = e.kind;
		}
		if (e.kind == SESSION_EVENT_DATA)
			session_credit(b->conn, NULL, e.piece.length);
		http_head_free(e.head);
	}
}

static void say(struct bench *b, const char *bytes, size_t length, usec now)
{
	struct chunk *chunk = chunk_acquire(b->chunks);
	memcpy(chunk->data, bytes, length);
	session_receive(b->conn, chunk, 0, length, now);
	chunk_release(chunk);
	drain(b);
}

/* The protocol of the tunnel that the client asks for; NULL: its request is a GET. */
static const char *protocol_asked(enum h1_fault_number fault)
{
	if (fault == H1_FAULT_UPGRADE_WRONG)
		return "echo";
	return fault == H1_FAULT_WEBSOCKET_ACCEPT ? "websocket" : NULL;
}

static void ask(struct bench *b, enum h1_fault_number fault)
{
	const char *protocol = protocol_asked(fault);
	struct http_head *head = http_head_new(b->heads);
	struct session_output output;
	head->kind = HTTP_REQUEST;
	head->method = SLICE("GET");
	head->method_token = HTTP_METHOD_GET;
	head->authority = SLICE("a");
	head->path = SLICE("/");
	if (protocol) {
		head->method_token = HTTP_METHOD_CONNECT;
		head->protocol = slice_of_string(protocol);
	}
	assert_true(session_request(b->conn, head, true, NULL));
	http_head_free(head);
	assert_true(session_next_output(b->conn, 100, &output));
	assert_false(session_next_output(b->conn, 100, &output));
}

static void make_key(char key[H1_WEBSOCKET_KEY])
{
	memset(key, 0, H1_WEBSOCKET_KEY);
}

static void accept_key(struct slice key, char accept[H1_WEBSOCKET_ACCEPT])
{
	(void)key;
	memset(accept, 0, H1_WEBSOCKET_ACCEPT);
	accept[0] = 'x';
}

/* What a refusal is answered with. */
static const uint16_t statuses[] = {
    [SESSION_REFUSAL_MALFORMED] = 400,
    [SESSION_REFUSAL_LATE] = 408,
    [SESSION_REFUSAL_TARGET] = 414,
    [SESSION_REFUSAL_FIELDS] = 431,
    [SESSION_REFUSAL_CODING] = 501,
    [SESSION_REFUSAL_VERSION] = 505,
};

/* An answer is possible to all that a server refuses, and ends the connection. */
static void answer(struct bench *b, const struct session_fault *fault)
{
	struct http_head *head = http_head_new(b->heads);
	struct session_output output;
	head->kind = HTTP_RESPONSE;
	head->status = statuses[fault->refusal];
	assert_true(session_respond(b->conn, NULL, head, true));
	http_head_free(head);
	assert_true(session_next_output(b->conn, 100, &output));
	assert_true(slice_starts_with(output.before, SLICE("HTTP/1.1 ")));
	bool closes = false;
	for (size_t i = 0; i < output.before.len; i++)
		closes |= slice_starts_with(
		    slice_from(output.before, i), SLICE("\r\nconnection: close\r\n"));
	assert_true(closes);
	drain(b);
	assert_true(session_is_done(b->conn));
}

static void play(const struct fault_case *c, size_t piece)
{
	struct bench b = {.chunks = chunk_pool_new(CHUNK_BYTES, 4), .heads = http_head_pool_new(4)};
	const struct h1_limits l = limits();
	const struct session_fault *fault = &h1_faults[c->fault];
	budget_init(&b.budget, NULL, 1u << 20);
	const struct h1_websocket websocket = {make_key, accept_key};
	const struct session_env env = {.heads = b.heads, .fault = on_fault, .context = &b};
	const struct session_conn conn = {.budget = &b.budget};
	b.is_server = c->kind == SESSION_EVENT_HEAD || c->kind == SESSION_EVENT_REFUSED ||
		      c->fault == H1_FAULT_HEAD_LATE;
	const struct h1_config config = {
	    .role = b.is_server ? H1_SERVER : H1_CLIENT, .websocket = &websocket, .limits = l};
	b.conn = h1_new(&config, &env, &conn, USEC_PER_SEC);
	drain(&b);
	if (!b.is_server)
		ask(&b, c->fault);
	size_t length = strlen(c->bytes);
	for (size_t at = 0; at < length && !b.told; at += piece)
		say(&b, c->bytes + at, length - at < piece ? length - at : piece, USEC_PER_SEC);
	if (c->fault == H1_FAULT_HEAD_LATE) {
		assert_null(b.told);
		session_tick(b.conn, session_deadline(b.conn) - 1);
		drain(&b);
		assert_null(b.told);
		session_tick(b.conn, session_deadline(b.conn));
		drain(&b);
	}
	assert_non_null(b.told);
	if (b.told != fault || b.kind != c->kind || b.counted != fault || b.count != 1)
		fail_msg("%s in pieces of %zu: %s, event %u, counted %u", fault->name, piece,
		    b.told->name, (unsigned)b.kind, b.count);
	assert_int_equal(b.behind_failed, 0);
	if (c->kind == SESSION_EVENT_HEAD || c->kind == SESSION_EVENT_REFUSED)
		answer(&b, fault);
	assert_true(session_is_done(b.conn));
	session_free(b.conn);
	assert_int_equal(b.budget.used_bytes, 0);
	budget_fini(&b.budget);
	http_head_pool_free(b.heads);
	chunk_pool_free(b.chunks);
}

static void each_fault_is_told_once_however_its_bytes_come(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		play(&cases[i], SIZE_MAX / 2);
		for (size_t piece = 1; piece <= 3; piece++)
			play(&cases[i], piece);
	}
}

static void each_row_has_a_case_a_name_and_a_status(void **state)
{
	(void)state;
	for (size_t row = 0; row < H1_FAULT_COUNT; row++) {
		size_t found = 0;
		for (size_t i = 0; i < CASES; i++)
			found += cases[i].fault == row;
		if (found == 0)
			fail_msg("no case for %s", h1_faults[row].name);
		assert_true(h1_faults[row].refusal < sizeof(statuses) / sizeof(statuses[0]));
		assert_int_not_equal(statuses[h1_faults[row].refusal], 0);
		assert_string_equal(h1_fault_name(row), h1_faults[row].name);
		for (size_t other = 0; other < row; other++)
			assert_string_not_equal(h1_faults[row].name, h1_faults[other].name);
	}
	assert_null(h1_fault_name(H1_FAULT_COUNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_fault_is_told_once_however_its_bytes_come),
	    cmocka_unit_test(each_row_has_a_case_a_name_and_a_status),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
