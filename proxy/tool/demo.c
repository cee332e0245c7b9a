/* SPDX-License-Identifier: MIT */
/*
 * The demo origin: a small HTTP/2 server in the worker's own loop, behind socketpairs, so that
 * pushgate can show what it does without any other server. It promises a page's assets before the
 * page (RFC 9113 8.4), keeps to the client's windows and limits, and serves constants: a
 * demonstration, not a web server.
 */
#include "proxy/tool/demo.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/tool/demo_body.h"
#include "proxy/tool/link.h"
#include "proxy/tool/tool.h"
#include <unistd.h>

#define HEADS_KEPT 32
#define CONNECTION_MEMORY_BYTES (16u << 20)
#define BIG_BYTES (10u << 20)
#define SLOW_STEP_USEC (300 * USEC_PER_MSEC)

struct demo_origin {
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	uint64_t seed;
	struct list conns;
	struct net_timer reaper; /* of connections that ended in a callback of theirs */
};

struct demo_conn {
	struct demo_origin *origin;
	struct list link;
	struct list streams;
	struct link wire;
	struct budget budget;
	bool is_over;
};

struct demo_stream {
	struct demo_conn *conn;
	struct h2_stream *h2;
	struct list link;
	const struct demo_asset *asset; /* of a push that waits for room; else NULL */
	struct demo_body body;
	struct http_head *request; /* of /slow, owned: its late push needs it */
	uint32_t slow_parts;       /* of /slow, still to come */
	bool is_head;              /* answers HEAD */
	bool is_complete;          /* nothing will be added to the body */
	struct net_timer timer;    /* /slow */
};

/* ---- streams ---- */

static void slow_step(void *context);

static struct demo_stream *stream_new(struct demo_conn *c, struct h2_stream *h2)
{
	struct demo_stream *s = memory_new(struct demo_stream);
	s->conn = c;
	s->h2 = h2;
	net_timer_init(&s->timer, c->origin->loop, slow_step, s);
	list_append(&c->streams, &s->link);
	if (h2)
		h2_stream_set_user(h2, s);
	return s;
}

static void stream_free(struct demo_stream *s)
{
	list_remove(&s->link);
	net_timer_fini(&s->timer);
	demo_body_fini(&s->body);
	http_head_free(s->request);
	free(s);
}

static void offer(struct demo_stream *s)
{
	h2_offer(s->conn->wire.h2, s->h2, (size_t)demo_body_ready(&s->body), s->is_complete);
}

/* ---- answers ---- */

static struct http_head *new_response(struct demo_conn *c, uint16_t status)
{
	struct http_head *head = http_head_new(c->origin->heads);
	head->kind = HTTP_RESPONSE;
	head->status = status;
	http_head_add_token(head, HTTP_TOKEN_SERVER, SLICE("pushgate-demo"));
	return head;
}

/* Sends the head (takes it) and offers the body. */
static void respond(struct demo_stream *s, struct http_head *head)
{
	bool has_no_body = s->is_head || (s->is_complete && demo_body_ready(&s->body) == 0);
	bool is_sent = h2_respond(s->conn->wire.h2, s->h2, head, has_no_body);
	http_head_free(head);
	if (is_sent && !has_no_body)
		offer(s);
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
	s->body = (struct demo_body){.kind = DEMO_BODY_TEXT, .text = text};
	s->is_complete = true;
	respond(s, head);
}

static void answer_asset(struct demo_stream *s, const struct demo_asset *a)
{
	struct http_head *head = new_response(s->conn, 200);
	http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, a->type);
	http_head_add_token(head, HTTP_TOKEN_CACHE_CONTROL, SLICE("max-age=60"));
	http_head_add_token(head, HTTP_TOKEN_ETAG, a->etag);
	add_length(head, a->body.len);
	s->body = (struct demo_body){.kind = DEMO_BODY_TEXT, .text = a->body};
	s->is_complete = true;
	respond(s, head);
}

static void answer_not_modified(struct demo_stream *s, const struct demo_asset *a)
{
	struct http_head *head = new_response(s->conn, 304);
	http_head_add_token(head, HTTP_TOKEN_CACHE_CONTROL, SLICE("max-age=60"));
	http_head_add_token(head, HTTP_TOKEN_ETAG, a->etag);
	s->is_complete = true;
	respond(s, head);
}

static void answer_big(struct demo_stream *s)
{
	struct http_head *head = new_response(s->conn, 200);
	http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, SLICE("application/octet-stream"));
	add_length(head, BIG_BYTES);
	s->body = (struct demo_body){.kind = DEMO_BODY_PATTERN, .length = BIG_BYTES};
	s->is_complete = true;
	respond(s, head);
}

static void answer_echo(struct demo_stream *s, const struct http_head *request, bool end)
{
	struct http_head *head = new_response(s->conn, 200);
	const struct http_field *type = http_head_find(request, HTTP_TOKEN_CONTENT_TYPE);
	http_head_add_token(
	    head, HTTP_TOKEN_CONTENT_TYPE, type ? type->value : SLICE("application/octet-stream"));
	http_head_add_token(head, HTTP_TOKEN_CACHE_CONTROL, SLICE("no-store"));
	s->body = (struct demo_body){.kind = DEMO_BODY_ECHO};
	s->is_complete = end;
	respond(s, head);
}

/* ---- pushes ---- */

static void promise(
    struct demo_stream *parent, const struct http_head *request, const struct demo_asset *a)
{
	struct demo_conn *c = parent->conn;
	struct h2_conn *h2 = c->wire.h2;
	if (h2_may_promise(h2, parent->h2) != H2_PROMISE_POSSIBLE)
		return;
	struct http_head *head = http_head_new(c->origin->heads);
	head->kind = HTTP_PROMISE;
	head->method = SLICE("GET");
	head->method_token = HTTP_METHOD_GET;
	head->scheme = request->scheme;
	head->authority = request->authority;
	head->path = a->path;
	http_head_add_token(head, HTTP_TOKEN_ACCEPT, SLICE("*/*"));
	struct demo_stream *s = stream_new(c, NULL);
	s->asset = a;
	s->h2 = h2_promise(h2, parent->h2, head, s);
	http_head_free(head);
	if (!s->h2)
		stream_free(s);
}

/* Begins pushed responses as far as the client's MAX_CONCURRENT_STREAMS allows. */
static void start_pushes(struct demo_conn *c)
{
	list_for_each(&c->streams, s, struct demo_stream, link)
	{
		if (!s->asset)
			continue;
		if (h2_push_room(c->wire.h2) == 0)
			return;
		const struct demo_asset *a = s->asset;
		s->asset = NULL;
		answer_asset(s, a);
	}
}

static void answer_page(struct demo_stream *s, const struct http_head *request)
{
	for (size_t i = DEMO_FIRST_PUSHED; i < DEMO_LATE && !s->is_head; i++)
		promise(s, request, &demo_assets[i]);
	answer_asset(s, &demo_assets[DEMO_PAGE]);
	start_pushes(s->conn);
}

/* ---- /slow: one part now, one later, and a promise in between ---- */

static void slow_part(struct demo_stream *s)
{
	s->body.text = demo_slow_parts[DEMO_SLOW_PARTS - s->slow_parts];
	s->is_complete = --s->slow_parts == 0;
	if (s->slow_parts > 0)
		net_timer_set(&s->timer, net_now(s->conn->origin->loop) + SLOW_STEP_USEC);
}

static void slow_step(void *context)
{
	struct demo_stream *s = context;
	/* The client has not taken the first part yet: wait for it. */
	if (demo_body_ready(&s->body) > 0) {
		net_timer_set(&s->timer, net_now(s->conn->origin->loop) + SLOW_STEP_USEC);
		return;
	}
	promise(s, s->request, &demo_assets[DEMO_LATE]);
	slow_part(s);
	offer(s);
	start_pushes(s->conn);
	link_wake(&s->conn->wire);
}

static void answer_slow(struct demo_stream *s, const struct http_head *request)
{
	struct http_head *head = new_response(s->conn, 200);
	http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, SLICE("text/html; charset=utf-8"));
	http_head_add_token(head, HTTP_TOKEN_CACHE_CONTROL, SLICE("no-store"));
	s->body.kind = DEMO_BODY_TEXT;
	s->slow_parts = DEMO_SLOW_PARTS;
	s->request = http_head_copy(request);
	slow_part(s);
	respond(s, head);
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

static void answer(struct demo_stream *s, const struct h2_event *e)
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
		answer_get(s, request);
	else
		answer_text(s, 405, SLICE("Only /echo takes that method.\n"), SLICE("GET, HEAD"));
}

/* ---- events ---- */

static void on_data(struct demo_conn *c, const struct h2_event *e)
{
	struct demo_stream *s = e->user;
	if (!s || s->body.kind != DEMO_BODY_ECHO) {
		h2_credit(c->wire.h2, e->stream, e->piece.length);
		return;
	}
	/* Credit comes when the octets have gone back out: the client's window bounds the ring. */
	if (e->piece.length > 0)
		demo_body_append(&s->body, piece_slice(e->piece));
	s->is_complete = e->end;
	offer(s);
}

static void on_trailers(const struct h2_event *e)
{
	struct demo_stream *s = e->user;
	if (!s || s->body.kind != DEMO_BODY_ECHO)
		return;
	s->is_complete = true;
	offer(s);
}

static void conn_over(struct demo_conn *c)
{
	if (c->is_over)
		return;
	c->is_over = true;
	link_close(&c->wire);
	net_timer_set(&c->origin->reaper, net_now(c->origin->loop));
}

static void on_event(void *owner, struct h2_event *e)
{
	struct demo_conn *c = owner;
	switch (e->kind) {
	case H2_EVENT_HEAD:
		answer(stream_new(c, e->stream), e);
		break;
	case H2_EVENT_DATA:
		on_data(c, e);
		break;
	case H2_EVENT_TRAILERS:
		on_trailers(e);
		break;
	case H2_EVENT_RESET:
	case H2_EVENT_CLOSED:
		if (e->user)
			stream_free(e->user);
		start_pushes(c);
		break;
	case H2_EVENT_SETTINGS:
		start_pushes(c);
		break;
	case H2_EVENT_GOAWAY:
		h2_shutdown(c->wire.h2, net_now(c->origin->loop));
		break;
	case H2_EVENT_PROMISE:
	case H2_EVENT_PONG:
	case H2_EVENT_FAILED:
		break;
	}
	http_head_free(e->head);
}

static void on_payload(void *owner, struct net_out *out, const struct h2_turn *turn)
{
	struct demo_conn *c = owner;
	struct demo_stream *s = turn->user;
	demo_body_take(&s->body, out, turn->length);
	if (s->body.kind == DEMO_BODY_ECHO && !turn->end)
		h2_credit(c->wire.h2, turn->stream, turn->length);
}

static void on_finished(void *owner)
{
	conn_over(owner);
}

static void on_ended(void *owner, enum net_end end, const char *text)
{
	(void)end, (void)text;
	conn_over(owner);
}

static const struct link_ops conn_link_ops = {on_event, on_payload, on_finished, on_ended};

/* ---- life ---- */

static const struct net_conn_ops conn_net_ops = {
    .received = link_received,
    .fill = link_fill,
    .ended = link_ended,
};

static void conn_free(struct demo_conn *c)
{
	list_for_each(&c->streams, s, struct demo_stream, link) stream_free(s);
	link_fini(&c->wire);
	budget_fini(&c->budget);
	list_remove(&c->link);
	free(c);
}

static void reap(void *context)
{
	struct demo_origin *d = context;
	list_for_each(&d->conns, c, struct demo_conn, link) if (c->is_over) conn_free(c);
}

struct demo_origin *demo_origin_new(struct net_loop *l, struct chunk_pool *chunks, uint64_t seed)
{
	struct demo_origin *d = memory_new(struct demo_origin);
	d->loop = l;
	d->chunks = chunks;
	d->seed = seed;
	d->heads = http_head_pool_new(HEADS_KEPT);
	list_init(&d->conns);
	net_timer_init(&d->reaper, l, reap, d);
	return d;
}

int demo_origin_connect(void *demo)
{
	struct demo_origin *d = demo;
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
		return -1;
	struct demo_conn *c = memory_new(struct demo_conn);
	c->origin = d;
	list_init(&c->streams);
	list_append(&d->conns, &c->link);
	budget_init(&c->budget, NULL, CONNECTION_MEMORY_BYTES);
	link_init(&c->wire, d->loop, &conn_link_ops, c);
	c->wire.net = net_conn_new(d->loop, fds[1], NULL, &conn_net_ops, &c->wire);
	struct h2_settings settings = h2_settings_initial;
	settings.max_concurrent_streams = 100;
	const struct h2_env env = {
	    .chunks = d->chunks, .heads = d->heads, .budget = &c->budget, .seed = d->seed};
	link_speak(&c->wire, H2_SERVER, &settings, &h2_limits_default, &env);
	return fds[0];
}

void demo_origin_free(struct demo_origin *d)
{
	if (!d)
		return;
	list_for_each(&d->conns, c, struct demo_conn, link) conn_free(c);
	net_timer_fini(&d->reaper);
	http_head_pool_free(d->heads);
	free(d);
}
