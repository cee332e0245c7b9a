/* SPDX-License-Identifier: MIT */
/*
 * The responses and promises of the demo origin. A promise leaves before the response that refers
 * to it (RFC 9113 8.4).
 */
#include "proxy/tool/demo_stream.h"

#include "proxy/base/memory.h"
#include "proxy/tool/demo.h"

#define BIG_BYTES (10u << 20)
#define SLOW_STEP_USEC (300 * USEC_PER_MSEC)

/* ---- streams ---- */

static void on_timer(void *context)
{
	struct demo_stream *s = context;
	if (s->conn->is_over) /* it is freed in this same loop pass */
		return;
	s->due(s);
	link_wake(&s->conn->wire);
}

/* Calls `due` after a time. The request is kept until then. */
static void later(struct demo_stream *s, const struct http_head *request, usec span,
    void (*due)(struct demo_stream *s))
{
	if (!s->request)
		s->request = http_head_copy(request);
	s->due = due;
	net_timer_set(&s->timer, net_now(s->conn->wire.loop) + span);
}

struct demo_stream *demo_stream_new(struct demo_conn *c, struct session_stream *stream)
{
	struct demo_stream *s = memory_new(struct demo_stream);
	s->conn = c;
	s->stream = stream;
	net_timer_init(&s->timer, c->wire.loop, on_timer, s);
	list_append(&c->streams, &s->link);
	if (stream)
		session_set_user(stream, s);
	return s;
}

void demo_stream_free(struct demo_stream *s)
{
	list_remove(&s->link);
	net_timer_fini(&s->timer);
	demo_body_fini(&s->body);
	http_head_free(s->request);
	free(s);
}

void demo_stream_offer(struct demo_stream *s)
{
	session_offer(
	    s->conn->wire.session, s->stream, (size_t)demo_body_ready(&s->body), s->is_complete);
}

/* ---- responses ---- */

static struct http_head *new_response(struct demo_conn *c, uint16_t status)
{
	struct http_head *head = http_head_new(c->heads);
	head->kind = HTTP_RESPONSE;
	head->status = status;
	http_head_add_token(head, HTTP_TOKEN_SERVER, SLICE("pushgate-demo"));
	return head;
}

/* Sends the head (takes it) and tells the session how much of the body (takes it) is ready. */
static void respond(
    struct demo_stream *s, struct http_head *head, struct demo_body body, bool is_complete)
{
	s->body = body;
	s->is_complete = is_complete;
	bool has_no_body = s->is_head || (s->is_complete && demo_body_ready(&s->body) == 0);
	bool is_sent = session_respond(s->conn->wire.session, s->stream, head, has_no_body);
	http_head_free(head);
	if (is_sent && !has_no_body)
		demo_stream_offer(s);
}

static void add_length(struct http_head *head, uint64_t length)
{
	head->content_length = length;
	struct slice text = arena_printf(&head->arena, "%llu", (unsigned long long)length);
	http_head_add_token(head, HTTP_TOKEN_CONTENT_LENGTH, text);
}

static void answer_text(
    struct demo_stream *s, uint16_t status, struct slice text, struct slice allow)
{
	struct http_head *head = new_response(s->conn, status);
	http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, SLICE("text/plain"));
	add_length(head, text.len);
	if (allow.len > 0)
		http_head_add_token(head, HTTP_TOKEN_ALLOW, allow);
	respond(s, head, demo_body_text(text), true);
}

static void answer_asset(struct demo_stream *s, const struct demo_asset *a)
{
	struct http_head *head = new_response(s->conn, 200);
	http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, a->type);
	http_head_add_token(head, HTTP_TOKEN_CACHE_CONTROL, SLICE("max-age=60"));
	http_head_add_token(head, HTTP_TOKEN_ETAG, a->etag);
	add_length(head, a->body.len);
	respond(s, head, demo_body_text(a->body), true);
}

static void answer_not_modified(struct demo_stream *s, const struct demo_asset *a)
{
	struct http_head *head = new_response(s->conn, 304);
	http_head_add_token(head, HTTP_TOKEN_CACHE_CONTROL, SLICE("max-age=60"));
	http_head_add_token(head, HTTP_TOKEN_ETAG, a->etag);
	respond(s, head, demo_body_text(SLICE("")), true);
}

static void answer_big(struct demo_stream *s)
{
	struct http_head *head = new_response(s->conn, 200);
	http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, SLICE("application/octet-stream"));
	add_length(head, BIG_BYTES);
	respond(s, head, demo_body_pattern(BIG_BYTES), true);
}

static void answer_echo(struct demo_stream *s, const struct http_head *request, bool end)
{
	struct http_head *head = new_response(s->conn, 200);
	const struct http_field *type = http_head_find(request, HTTP_TOKEN_CONTENT_TYPE);
	http_head_add_token(
	    head, HTTP_TOKEN_CONTENT_TYPE, type ? type->value : SLICE("application/octet-stream"));
	http_head_add_token(head, HTTP_TOKEN_CACHE_CONTROL, SLICE("no-store"));
	respond(s, head, (struct demo_body){.is_echo = true}, end);
}

/* ---- pushes ---- */

static void promise(
    struct demo_stream *parent, const struct http_head *request, const struct demo_asset *a)
{
	struct demo_conn *c = parent->conn;
	struct http_head *head = http_head_new(c->heads);
	head->kind = HTTP_PROMISE;
	head->method = SLICE("GET");
	head->method_token = HTTP_METHOD_GET;
	head->scheme = request->scheme;
	head->authority = request->authority;
	head->path = a->path;
	http_head_add_token(head, HTTP_TOKEN_ACCEPT, SLICE("*/*"));
	struct demo_stream *s = demo_stream_new(c, NULL);
	s->asset = a;
	s->stream = session_promise(c->wire.session, parent->stream, head, s);
	http_head_free(head);
	if (!s->stream)
		demo_stream_free(s);
}

void demo_start_pushes(struct demo_conn *c)
{
	list_for_each(&c->streams, s, struct demo_stream, link)
	{
		if (!s->asset)
			continue;
		if (session_push_room(c->wire.session) == 0)
			return;
		const struct demo_asset *a = s->asset;
		s->asset = NULL;
		answer_asset(s, a);
	}
}

static void finish_page(struct demo_stream *s)
{
	answer_asset(s, &demo_assets[DEMO_PAGE]);
}

/* Pushes at once, as an application would that knows what its page needs before it has made it. */
static void answer_page(struct demo_stream *s, const struct http_head *request)
{
	for (size_t i = DEMO_FIRST_PUSHED; i < DEMO_LATE && !s->is_head; i++)
		promise(s, request, &demo_assets[i]);
	if (s->conn->think > 0)
		later(s, request, s->conn->think, finish_page);
	else
		finish_page(s);
	demo_start_pushes(s->conn);
}

/* ---- /slow: one part now, then a promise, then the other part ---- */

static void slow_part(struct demo_stream *s)
{
	s->body = demo_body_text(demo_slow_parts[DEMO_SLOW_PARTS - s->slow_parts]);
	s->is_complete = --s->slow_parts == 0;
}

static void slow_step(struct demo_stream *s)
{
	/* Part of the body may still wait for the client's window: then try again later. */
	if (demo_body_ready(&s->body) == 0) {
		promise(s, s->request, &demo_assets[DEMO_LATE]);
		slow_part(s);
		demo_stream_offer(s);
		demo_start_pushes(s->conn);
	}
	if (s->slow_parts > 0)
		later(s, s->request, SLOW_STEP_USEC, slow_step);
}

static void answer_slow(struct demo_stream *s, const struct http_head *request)
{
	struct http_head *head = new_response(s->conn, 200);
	http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, SLICE("text/html; charset=utf-8"));
	http_head_add_token(head, HTTP_TOKEN_CACHE_CONTROL, SLICE("no-store"));
	s->slow_parts = DEMO_SLOW_PARTS;
	slow_part(s);
	later(s, request, SLOW_STEP_USEC, slow_step);
	respond(s, head, s->body, s->is_complete);
}

/* ---- requests ---- */

static struct slice path_of(const struct http_head *request)
{
	return slice_sub(request->path, 0, slice_find(request->path, '?'));
}

static const struct demo_asset *find_asset(struct slice path)
{
	if (slice_equal(path, SLICE("/index.html")))
		return &demo_assets[DEMO_PAGE];
	for (size_t i = 0; i < DEMO_ASSETS; i++)
		if (slice_equal(path, demo_assets[i].path))
			return &demo_assets[i];
	return NULL;
}

static void answer_get(struct demo_stream *s, const struct http_head *request)
{
	struct slice path = path_of(request);
	const struct demo_asset *a = find_asset(path);
	const struct http_field *known = http_head_find(request, HTTP_TOKEN_IF_NONE_MATCH);
	if (a && known && slice_equal(known->value, a->etag))
		answer_not_modified(s, a);
	else if (a == &demo_assets[DEMO_PAGE])
		answer_page(s, request);
	else if (a)
		answer_asset(s, a);
	else if (slice_equal(path, SLICE("/big")))
		answer_big(s);
	else if (slice_equal(path, SLICE("/slow")) && !s->is_head)
		answer_slow(s, request);
	else
		answer_text(s, 404, SLICE("There is nothing here.\n"), SLICE(""));
}

static void answer_kept(struct demo_stream *s)
{
	answer_get(s, s->request);
}

/* The round trip is put before the answer as a whole. */
static void arrive(struct demo_stream *s, const struct http_head *request)
{
	if (s->conn->rtt > 0)
		later(s, request, s->conn->rtt, answer_kept);
	else
		answer_get(s, request);
}

void demo_stream_answer(struct demo_stream *s, const struct session_event *e)
{
	const struct http_head *request = e->head;
	if (e->oversize) {
		answer_text(s, 431, SLICE("The request's fields are too large.\n"), SLICE(""));
		return;
	}
	s->is_head = request->method_token == HTTP_METHOD_HEAD;
	if (slice_equal(path_of(request), SLICE("/echo")) && !s->is_head)
		answer_echo(s, request, e->end);
	else if (request->method_token == HTTP_METHOD_GET || s->is_head)
		arrive(s, request);
	else
		answer_text(s, 405, SLICE("Only /echo accepts this method.\n"), SLICE("GET, HEAD"));
}
