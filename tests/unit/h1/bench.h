/* SPDX-License-Identifier: MIT */
/* One connection of the codec and its owner: what the peer says goes in, and what the owner hears of it,
 * and what leaves, is text. */
#ifndef PUSHGATE_TESTS_UNIT_H1_BENCH_H
#define PUSHGATE_TESTS_UNIT_H1_BENCH_H

#include "proxy/base/memory.h"
#include "tests/support/h1_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CHUNK_BYTES 16384u
#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"

struct bench {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct session *conn;
	struct h1_limits limits;
	struct h1_config config; /* of conn, as the next */
	struct session_env env;
	usec now;
	bool is_tls, is_proxy;
	bool is_traced; /* lines go to `told` too */
	char told[2048]; /* one letter or text for each event, bodies as they are */
	/* Of the last head that came, NAME=VALUE; each, behind the pseudo-fields; then [UPGRADE], or <PROTOCOL>
	 * of one that opens a tunnel. */
	char fields[1024];
	char sent[4096];
	const char *fault;	/* the name of the last one */
	unsigned faults;
	size_t owed;
	bool keeps_credit;
	bool has_no_websocket;
};

static inline int set_up(void **state)
{
	struct bench *b = memory_new(struct bench);
	b->chunks = chunk_pool_new(CHUNK_BYTES, 4);
	b->heads = http_head_pool_new(4);
	b->limits = h1_limits_default;
	b->now = USEC_PER_SEC;
	budget_init(&b->budget, NULL, 1u << 20);
	*state = b;
	return 0;
}

static inline void end_conn(struct bench *b)
{
	session_free(b->conn);
	b->conn = NULL;
	b->told[0] = b->sent[0] = b->fields[0] = '\0';
	b->owed = b->faults = 0;
	b->fault = NULL;
	assert_int_equal(b->budget.used_bytes, 0);
}

static inline int tear_down(void **state)
{
	struct bench *b = *state;
	end_conn(b);
	budget_fini(&b->budget);
	http_head_pool_free(b->heads);
	chunk_pool_free(b->chunks);
	free(b);
	return 0;
}

static inline void tell(struct bench *b, const char *text, size_t length)
{
	size_t used = strlen(b->told);
	assert_true(used + length < sizeof(b->told));
	memcpy(b->told + used, text, length);
	b->told[used + length] = '\0';
}

static inline void bench_traced(void *context, const char *line)
{
	struct bench *b = context;
	if (!b->is_traced)
		return;
	tell(b, line, strlen(line));
	tell(b, "\n", 1);
}

static inline void bench_fault(void *context, const struct session_fault *fault, size_t index)
{
	(void)index;
	struct bench *b = context;
	b->fault = fault->name;
	b->faults++;
}

/* The key and the answer of RFC 6455 1.3; another key has another answer. */
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

static inline void bench_key(char key[H1_WEBSOCKET_KEY])
{
	memcpy(key, KEY, H1_WEBSOCKET_KEY);
}

static inline void bench_accept(struct slice key, char accept[H1_WEBSOCKET_ACCEPT])
{
	memcpy(accept, ACCEPT, H1_WEBSOCKET_ACCEPT);
	if (!slice_equal(key, SLICE(KEY)))
		memcpy(accept, key.ptr, key.len);
}

static const struct h1_websocket bench_websocket = {bench_key, bench_accept};

static inline void keep_fields(struct bench *b, const struct http_head *head)
{
	size_t used = 0;
	b->fields[0] = '\0';
	if (head->status > 0)
		used = (size_t)snprintf(b->fields, sizeof(b->fields), "%u;", (unsigned)head->status);
	else if (head->method.len > 0)
		used = (size_t)snprintf(b->fields, sizeof(b->fields), "%.*s %.*s %.*s %.*s;",
		    SLICE_ARG(head->method), SLICE_ARG(head->scheme), SLICE_ARG(head->authority),
		    SLICE_ARG(head->path));
	for (uint32_t i = 0; i < head->count && used < sizeof(b->fields); i++)
		used += (size_t)snprintf(b->fields + used, sizeof(b->fields) - used, "%.*s=%.*s;",
		    SLICE_ARG(head->fields[i].name), SLICE_ARG(head->fields[i].value));
	if (head->upgrade.len > 0)
		snprintf(b->fields + used, sizeof(b->fields) - used, "[%.*s]", SLICE_ARG(head->upgrade));
	if (head->opens_tunnel)
		snprintf(b->fields + used, sizeof(b->fields) - used, "<%.*s>", SLICE_ARG(head->protocol));
}

static inline void drain(struct bench *b)
{
	/* HEAD and DATA that end their message are told with a full stop behind them. */
	static const char *const names[] = {[SESSION_EVENT_READY] = "R",
	    [SESSION_EVENT_HEAD] = "H",
	    [SESSION_EVENT_DATA] = "",
	    [SESSION_EVENT_TRAILERS] = "T",
	    [SESSION_EVENT_REFUSED] = "X",
	    [SESSION_EVENT_RESET] = "!",
	    [SESSION_EVENT_CLOSED] = "C",
	    [SESSION_EVENT_FAILED] = "F"};
	struct session_event e;
	while (session_next_event(b->conn, &e)) {
		session_check(b->conn);
		tell(b, names[e.kind], strlen(names[e.kind]));
		if (e.kind == SESSION_EVENT_DATA && e.piece.length > 0)
			tell(b, piece_slice(e.piece).ptr, e.piece.length);
		if (e.end)
			tell(b, ".", 1);
		if (b->keeps_credit)
			b->owed += e.piece.length;
		else if (e.kind == SESSION_EVENT_DATA)
			session_credit(b->conn, NULL, e.piece.length);
		if (e.head)
			keep_fields(b, e.head);
		http_head_free(e.head);
	}
}

static inline void begin(struct bench *b, enum h1_role role)
{
	const struct session_conn conn = {.budget = &b->budget, .traced = b, .is_tls = b->is_tls};
	end_conn(b);
	b->config = (struct h1_config){
	    .role = role,
	    .is_proxy = b->is_proxy,
	    .websocket = b->has_no_websocket ? NULL : &bench_websocket,
	    .limits = b->limits,
	};
	b->env = (struct session_env){
	    .heads = b->heads, .fault = bench_fault, .context = b, .trace = bench_traced};
	b->conn = h1_new(&b->config, &b->env, &conn, b->now);
	drain(b);
}

/* The owner does not look at it yet. */
static inline void put_bytes(struct bench *b, const char *bytes, size_t length)
{
	struct chunk *chunk = chunk_acquire(b->chunks);
	memcpy(chunk->data, bytes, length);
	session_receive(b->conn, chunk, 0, length, b->now);
	chunk_release(chunk);
	session_check(b->conn);
}

static inline void say_bytes(struct bench *b, const char *bytes, size_t length)
{
	put_bytes(b, bytes, length);
	drain(b);
}

static inline void say(struct bench *b, const char *bytes)
{
	say_bytes(b, bytes, strlen(bytes));
}

/* Takes all output; bodies are 'x'. */
static inline void send(struct bench *b)
{
	struct session_output o;
	b->sent[0] = '\0';
	while (session_next_output(b->conn, 8, &o)) {
		size_t used = strlen(b->sent);
		snprintf(b->sent + used, sizeof(b->sent) - used, "%.*s%.*s%.*s",
		    SLICE_ARG(o.before), (int)o.length, "xxxxxxxx", SLICE_ARG(o.after));
		session_check(b->conn);
	}
	drain(b);
}

static inline bool respond(struct bench *b, uint16_t status, const char *length, bool end)
{
	struct http_head *head = http_head_new(b->heads);
	head->kind = HTTP_RESPONSE;
	head->status = status;
	if (length) {
		http_head_add_token(head, HTTP_TOKEN_CONTENT_LENGTH, slice_of_string(length));
		head->content_length = strtoull(length, NULL, 10);
	}
	bool done = session_respond(b->conn, NULL, head, end);
	http_head_free(head);
	return done;
}

static inline struct http_head *request_of(struct bench *b, const char *method)
{
	struct http_head *head = http_head_new(b->heads);
	head->kind = HTTP_REQUEST;
	head->method = slice_of_string(method);
	head->method_token = (uint16_t)http_method_find(head->method);
	head->authority = SLICE("a");
	head->path = SLICE("/");
	return head;
}

static inline bool ask(struct bench *b, const char *method, const char *length, bool end)
{
	struct http_head *head = request_of(b, method);
	if (length) {
		http_head_add_token(head, HTTP_TOKEN_CONTENT_LENGTH, slice_of_string(length));
		head->content_length = strtoull(length, NULL, 10);
	}
	bool done = session_request(b->conn, head, end, b);
	http_head_free(head);
	return done;
}

#endif
