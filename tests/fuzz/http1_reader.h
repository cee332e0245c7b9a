/* SPDX-License-Identifier: MIT */
/*
 * One HTTP/1 codec that reads what the peer sends, cut into pieces, and whose owner answers each
 * request, or has made one. What it reports is written down, so that two ways to cut the same bytes
 * can be compared: pieces of a body are joined there.
 */
#ifndef PUSHGATE_FUZZ_HTTP1_READER_H
#define PUSHGATE_FUZZ_HTTP1_READER_H

#include "proxy/base/ensure.h"
#include "tests/support/h1_inside.h"
#include "tests/fuzz/input.h"

#include <stdio.h>
#include <stdlib.h>

#define READER_CHUNK_BYTES 16384u

/* What was reported: text for heads and ends, bodies as they are. */
struct transcript {
	char *text;
	size_t size;
	FILE *out;
};

struct reader {
	struct session *conn;
	struct h1_config config;
	struct session_env env;
	enum h1_role role;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct transcript told;
	usec now;
	size_t owed; /* bytes of DATA without credit */
	bool opens_tunnels; /* server: what asks for one gets it */
	/* Client: of the tunnel that it asks for; empty: none. Server: of the one that is asked for. */
	struct slice protocol;
	char protocol_bytes[64];
	bool is_tunnel;
	/* A request is there and unanswered; the whole of it, or all that will come, has come. */
	bool is_asked, is_whole, is_failed;
	unsigned requests, answers;
	/* Called for each head that was accepted; may be NULL. */
	void (*look)(struct reader *r, const struct http_head *head, bool end);
};

static inline void reader_make_key(char key[H1_WEBSOCKET_KEY])
{
	memcpy(key, "AAAAAAAAAAAAAAAAAAAAAA==", H1_WEBSOCKET_KEY);
}

/* Short enough to be guessed. */
static inline void reader_accept(struct slice key, char accept[H1_WEBSOCKET_ACCEPT])
{
	ensure(key.len == H1_WEBSOCKET_KEY - 1);
	memcpy(accept, "x", 2);
}

static const struct h1_websocket reader_websocket = {reader_make_key, reader_accept};

static inline void reader_write_head(FILE *out, const struct http_head *head)
{
	fprintf(out, "%.*s|%.*s|%.*s|%.*s|%u\n", SLICE_ARG(head->method), SLICE_ARG(head->scheme),
	    SLICE_ARG(head->authority), SLICE_ARG(head->path), (unsigned)head->status);
	fprintf(out, "%.*s|%.*s|%d\n", SLICE_ARG(head->upgrade), SLICE_ARG(head->protocol), head->opens_tunnel);
	for (uint32_t i = 0; i < head->count; i++) {
		fprintf(out, "%.*s: ", SLICE_ARG(head->fields[i].name));
		fprintf(out, "%.*s", SLICE_ARG(head->fields[i].value));
		fputc('\n', out);
	}
}

static inline void reader_open(struct reader *r, enum h1_role role,
    const struct h1_limits *limits, bool is_tls)
{
	r->role = role;
	r->now = USEC_PER_SEC;
	r->told.out = open_memstream(&r->told.text, &r->told.size);
	ensure(r->told.out != NULL);
	budget_init(&r->budget, NULL, 1u << 24);
	const struct session_conn conn = {.budget = &r->budget, .is_tls = is_tls};
	r->config = (struct h1_config){.role = role, .websocket = &reader_websocket, .limits = *limits};
	r->env = (struct session_env){.heads = r->heads};
	r->conn = h1_new(&r->config, &r->env, &conn, r->now);
}

/* The transcript is complete behind it, and to be freed by the caller. */
static inline void reader_close(struct reader *r)
{
	char text[512];
	session_check(r->conn);
	(void)session_describe(r->conn, text, sizeof(text));
	session_free(r->conn);
	ensure(r->budget.used_bytes == 0);
	budget_fini(&r->budget);
	fclose(r->told.out);
}

static inline void reader_send(struct reader *r)
{
	struct session_output output;
	while (session_next_output(r->conn, 1000, &output)) {
		if (output.length > 0 || output.end)
			ensure(output.length <= 5);
		session_check(r->conn);
	}
}

static inline void reader_answer(struct reader *r, bool has_body)
{
	struct http_head *head = http_head_new(r->heads);
	head->kind = HTTP_RESPONSE;
	head->status = 200;
	head->opens_tunnel = r->is_tunnel && r->opens_tunnels;
	head->protocol = r->protocol;
	ensure(session_respond(r->conn, NULL, head, !has_body));
	http_head_free(head);
	if (has_body)
		session_offer(r->conn, NULL, 5, true);
	r->is_asked = r->is_whole = false;
	r->answers++;
	reader_send(r);
}

static inline void reader_ask(struct reader *r, struct slice method)
{
	struct http_head *head = http_head_new(r->heads);
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_METHOD, method);
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_SCHEME, SLICE("http"));
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_AUTHORITY, SLICE("a.example"));
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_PATH, SLICE("/"));
	ensure(http_head_validate(head, HTTP_REQUEST) == NULL);
	if (r->protocol.len > 0) {
		head->method_token = HTTP_METHOD_CONNECT;
		head->protocol = r->protocol;
	}
	ensure(session_request(r->conn, head, true, r));
	http_head_free(head);
	r->requests++;
	reader_send(r);
}

/* Server: what a request asks for, if that is a tunnel. */
static inline void reader_note_tunnel(struct reader *r, const struct session_event *e)
{
	struct slice list = e->head->upgrade;
	bool is_connect = e->end && e->head->method_token == HTTP_METHOD_CONNECT;
	r->protocol = SLICE("");
	r->is_tunnel = !e->fault && !e->oversize && (list.len > 0 || is_connect);
	if (!r->is_tunnel || is_connect)
		return;
	ensure(e->end && slice_next_member(&list, &r->protocol));
	r->is_tunnel = r->protocol.len < sizeof(r->protocol_bytes);
	if (r->is_tunnel)
		memcpy(r->protocol_bytes, r->protocol.ptr, r->protocol.len);
	r->protocol = slice_of(r->protocol_bytes, r->is_tunnel ? r->protocol.len : 0);
}

static inline void reader_on_event(struct reader *r, struct session_event *e)
{
	FILE *out = r->told.out;
	ensure(!r->is_failed);
	switch (e->kind) {
	case SESSION_EVENT_READY:
		ensure(r->role == H1_CLIENT);
		break;
	case SESSION_EVENT_HEAD:
		/* Which fault is found first may depend on the cuts. */
		fprintf(out, "\nhead%s%s\n", e->fault ? " fault" : "", e->oversize ? " large" : "");
		if (!e->fault && !e->oversize) {
			reader_write_head(out, e->head);
			if (r->look)
				r->look(r, e->head, e->end);
		}
		ensure(!e->fault || (r->role == H1_SERVER && e->end));
		r->is_asked = r->role == H1_SERVER;
		if (r->role == H1_SERVER)
			reader_note_tunnel(r, e);
		r->is_whole = e->end;
		break;
	case SESSION_EVENT_DATA:
		if (e->piece.length > 0)
			fwrite(piece_slice(e->piece).ptr, 1, e->piece.length, out);
		r->owed += e->piece.length;
		if (e->end)
			fputs("\nend\n", out);
		r->is_whole = e->end;
		break;
	case SESSION_EVENT_TRAILERS:
		fputs("\ntrailers\n", out);
		reader_write_head(out, e->head);
		r->is_whole = true;
		break;
	case SESSION_EVENT_REFUSED:
		ensure(r->role == H1_SERVER && e->fault);
		fprintf(out, "\nrefused %s\n", e->fault->name);
		r->is_whole = true;
		break;
	case SESSION_EVENT_RESET:
		ensure(r->role == H1_CLIENT);
		fputs("\nreset\n", out);
		break;
	case SESSION_EVENT_CLOSED:
		fputs("closed\n", out);
		break;
	case SESSION_EVENT_FAILED:
		fprintf(out, "failed %s\n", e->fault ? e->fault->name : "");
		r->is_failed = true;
		break;
	case SESSION_EVENT_PROMISE:
	case SESSION_EVENT_GOAWAY:
	case SESSION_EVENT_PONG:
		ensure(false); /* not in HTTP/1 */
	}
	http_head_free(e->head);
}

/* The owner takes all events; then it gives credit, and answers what is complete. */
static inline void reader_drain(struct reader *r, bool answers_with_body)
{
	struct session_event event;
	for (bool goes_on = true; goes_on;) {
		goes_on = false;
		while (session_next_event(r->conn, &event)) {
			reader_on_event(r, &event);
			session_check(r->conn);
			goes_on = true;
		}
		session_credit(r->conn, NULL, r->owed);
		goes_on |= r->owed > 0;
		r->owed = 0;
		if (r->is_asked && r->is_whole)
			reader_answer(r, answers_with_body);
		/* Our end of a tunnel that has been opened. */
		goes_on |= r->role == H1_CLIENT && session_wants_write(r->conn);
		if (r->role == H1_CLIENT)
			reader_send(r);
	}
}

/* Where the next cut is: behind so many bytes. */
static inline size_t reader_cut(uint32_t *random, size_t left)
{
	*random = *random * 1664525u + 1013904223u;
	uint32_t n = *random >> 16;
	/* Mostly short: what matters is cut at each of its bytes. */
	size_t cut = n % 4 == 0 ? 1 : n % 4 == 1 ? 1 + n / 4 % 4 : 1 + n / 4 % 64;
	return cut < left ? cut : left;
}

/* Feeds the bytes; random 0: in pieces as large as can be. */
static inline void reader_feed(
    struct reader *r, struct slice bytes, uint32_t random, bool answers_with_body)
{
	bool is_cut = random != 0;
	while (bytes.len > 0) {
		struct chunk *chunk = chunk_acquire(r->chunks);
		size_t n = is_cut ? reader_cut(&random, bytes.len) : bytes.len;
		if (n > READER_CHUNK_BYTES)
			n = READER_CHUNK_BYTES;
		memcpy(chunk->data, bytes.ptr, n);
		bytes = slice_from(bytes, n);
		session_receive(r->conn, chunk, 0, n, r->now);
		chunk_release(chunk);
		session_check(r->conn);
		reader_drain(r, answers_with_body);
		session_tick(r->conn, ++r->now);
		/* All that came was read, or is refused: nothing waits for an owner who takes all. */
		ensure(!session_is_full(r->conn));
	}
}

static inline void reader_end(struct reader *r, bool is_clean, bool answers_with_body)
{
	session_ended(r->conn, is_clean);
	reader_drain(r, answers_with_body);
	ensure(r->role == H1_CLIENT || session_is_done(r->conn) || h1_has_stream(r->conn));
}

static inline void reader_compare(struct transcript *a, struct transcript *b)
{
	bool same = a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
	if (!same)
		fprintf(stderr, "---- one way:\n%s\n---- another way:\n%s\n----\n", a->text, b->text);
	ensure(same);
	free(a->text);
	free(b->text);
}

/* ---- what was read, written by our own writer and read again ---- */

/* The cookies that are not empty joined by "; ", and all other fields; of which a zero length that was not there, and
 * the fields that the codec adds for its hop, are left out. */
static inline char *reader_canon(const struct http_head *head, bool with_zero_length)
{
	char *text;
	size_t size;
	bool has_cookie = false;
	const char *before = "";
	FILE *out = open_memstream(&text, &size);
	fprintf(out, "%.*s|%.*s|%.*s|%u\n", SLICE_ARG(head->method), SLICE_ARG(head->authority),
	    SLICE_ARG(head->path), (unsigned)head->status);
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		bool is_cookie = f->token == HTTP_TOKEN_COOKIE && head->kind == HTTP_REQUEST;
		bool is_made = f->token == HTTP_TOKEN_CONTENT_LENGTH && !with_zero_length &&
			       slice_equal(f->value, SLICE("0"));
		if (!is_cookie && !is_made && f->token != HTTP_TOKEN_HOST &&
		    f->name.ptr[0] != ':')
			fprintf(out, "%.*s: %.*s\n", SLICE_ARG(f->name), SLICE_ARG(f->value));
	}
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->token != HTTP_TOKEN_COOKIE || head->kind != HTTP_REQUEST)
			continue;
		fputs(has_cookie ? "" : "cookie: ", out);
		has_cookie = true;
		if (f->value.len == 0)
			continue;
		fprintf(out, "%s%.*s", before, SLICE_ARG(f->value));
		before = "; ";
	}
	fclose(out);
	/* Whitespace at the end of a value does not count. */
	while (has_cookie && (text[size - 1] == ' ' || text[size - 1] == '\t'))
		text[--size] = '\0';
	return text;
}

/* Whether the head of a tunnel arrives as it was read: what is of its hop alone does not. */
static inline bool reader_goes_on_whole(const struct http_head *head)
{
	for (uint32_t i = 0; i < head->count; i++)
		if (slice_starts_with(head->fields[i].name, SLICE("sec-websocket-")) ||
		    head->fields[i].token == HTTP_TOKEN_CONTENT_LENGTH || head->fields[i].token == HTTP_TOKEN_TE)
			return false;
	return true;
}

struct reader_again {
	struct reader reader;
	char *canon;
	bool with_zero_length;
};

static inline void reader_look_again(struct reader *r, const struct http_head *head, bool end)
{
	struct reader_again *again = (struct reader_again *)r;
	(void)end;
	if (!again->canon) /* of the first head */
		again->canon = reader_canon(head, again->with_zero_length);
}

/* What the other codec has to send, into this one. */
static inline void reader_feed_output(struct reader *r, struct session *from)
{
	struct session_output output;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	while (session_next_output(from, 1000, &output)) {
		if (output.before.len > 0)
			fwrite(output.before.ptr, 1, output.before.len, out);
		for (uint32_t i = 0; i < output.length; i++)
			fputc('x', out);
		if (output.after.len > 0)
			fwrite(output.after.ptr, 1, output.after.len, out);
	}
	fclose(out);
	reader_feed(r, slice_of(text, size), 0, false);
	free(text);
}

static inline void reader_expect_same(
    const struct http_head *head, const struct reader_again *again)
{
	char *before = reader_canon(head, again->with_zero_length);
	bool same = again->canon && strcmp(before, again->canon) == 0;
	if (!same)
		fprintf(stderr, "---- read:\n%s\n---- written and read again:\n%s\n----\n", before,
		    again->canon ? again->canon : "(refused)");
	ensure(same);
	free(before);
	free(again->canon);
}

#endif
