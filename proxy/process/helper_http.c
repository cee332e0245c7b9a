/* SPDX-License-Identifier: MIT */
/* See helper_http.h. The connection is closed as soon as all of the response is there that the owner wants. */
#include "proxy/process/helper_http.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/http/date.h"
#include "proxy/limits.h"
#include <stdio.h>

#define HEADS_KEPT 4u
/* A part of the body that is sent at once. */
#define PART_BYTES 65536u
/* For the connection's fields and for what waits to be sent. */
#define CALL_MEMORY (1u << 20)

/* The session's limits for the server, which is an origin like any other. */
static const struct conf_origin server = {
    .protocols = CONF_HTTP1,
    .limits = {.field_block_bytes = 65536, .interim_responses = 8},
    .max_header_list_bytes = 65536,
    .stream_window_bytes = 65536,
};

static void expired(void *context);

void helper_http_init(struct helper_http *c)
{
	c->heads = http_head_pool_new(HEADS_KEPT);
	c->plans = protocols_plans_for_origin(protocols_all, &server, false);
	c->env = (struct session_env){.heads = c->heads, .seed = hash_random_seed()};
	budget_init(&c->budget, NULL, CALL_MEMORY);
	net_timer_init(&c->timer, c->loop, expired, c);
}

void helper_http_fini(struct helper_http *c)
{
	helper_http_abort(c);
	net_timer_fini(&c->timer);
	budget_fini(&c->budget);
	protocols_plans_free(c->plans);
	http_head_pool_free(c->heads);
}

/* ---- the end ---- */

static void cut(struct helper_http *c, void (*end)(struct net_conn *c))
{
	net_timer_set(&c->timer, USEC_NEVER);
	if (c->net)
		end(c->net);
	session_free(c->session);
	c->net = NULL;
	c->session = NULL;
}

void helper_http_abort(struct helper_http *c)
{
	cut(c, net_conn_abort);
	http_head_free(c->head);
	c->head = NULL;
	free(c->body);
	c->body = NULL;
}

/* Its result is known: see conclude. */
static void finish(struct helper_http *c, unsigned status, const char *why)
{
	if (c->is_done)
		return;
	c->is_done = true;
	c->result.was_sent = c->is_sent;
	c->result.status = status;
	c->result.why = why;
}

/* Out of all calls of the session, which is freed. The connection is closed, or NULL. */
static void conclude(struct helper_http *c)
{
	if (!c->is_done)
		return;
	struct helper_http_result result = c->result;
	struct http_head *head = c->head;
	char *body = c->body;
	result.head = head;
	result.body = slice_of(body, c->body_length);
	c->head = NULL;
	c->body = NULL;
	cut(c, result.status > 0 ? net_conn_close : net_conn_abort);
	c->is_done = false;
	c->done(c->context, &result);
	http_head_free(head);
	free(body);
}

static void expired(void *context)
{
	struct helper_http *c = context;
	snprintf(c->why, sizeof(c->why), "it took longer than %u s",
	    (unsigned)(c->limit / USEC_PER_SEC));
	finish(c, 0, c->why);
	conclude(c);
}

/* ---- the request ---- */

static enum http_method method_of(const char *method)
{
	if (strcmp(method, "POST") == 0)
		return HTTP_METHOD_POST;
	return strcmp(method, "HEAD") == 0 ? HTTP_METHOD_HEAD : HTTP_METHOD_GET;
}

static void send_request(struct helper_http *c)
{
	const struct helper_http_request *r = &c->request;
	struct http_head *head = http_head_new(c->heads);
	bool has_body = r->content_type != NULL;
	head->kind = HTTP_REQUEST;
	head->method = slice_of_string(r->method);
	head->method_token = (uint16_t)method_of(r->method);
	head->scheme = r->tls ? SLICE("https") : SLICE("http");
	head->authority = slice_of_string(r->authority);
	head->path = slice_of_string(r->path);
	http_head_add_token(head, HTTP_TOKEN_USER_AGENT, SLICE("pushgate/" PUSHGATE_VERSION));
	if (has_body) {
		head->content_length = r->body.len;
		http_head_add_token(
		    head, HTTP_TOKEN_CONTENT_TYPE, slice_of_string(r->content_type));
		http_head_add_token(head, HTTP_TOKEN_CONTENT_LENGTH,
		    arena_printf(&head->arena, "%zu", r->body.len));
	}
	struct session_stream *stream = session_request(c->session, head, !has_body, c);
	http_head_free(head);
	ensure(stream != NULL);
	if (has_body)
		session_offer(c->session, stream, r->body.len, true);
	net_conn_dirty(c->net);
}

/* ---- events ---- */

/* In seconds from now; 0: the response does not say. */
static uint32_t read_retry_after(const struct http_head *head)
{
	uint64_t seconds, now = clock_wall() / USEC_PER_SEC;
	const struct http_field *after = http_head_find(head, HTTP_TOKEN_RETRY_AFTER);
	if (!after)
		return 0;
	if (slice_to_number(after->value, UINT32_MAX, &seconds))
		return (uint32_t)seconds;
	if (!http_date_parse(after->value, now, &seconds) || seconds <= now)
		return 0;
	return seconds - now < UINT32_MAX ? (uint32_t)(seconds - now) : UINT32_MAX;
}

/* Takes the head. */
static void take_head(struct helper_http *c, struct http_head *head, bool is_end)
{
	if (http_head_is_interim(head) || c->head) {
		http_head_free(head);
		return;
	}
	c->head = head;
	c->result.retry_after = read_retry_after(head);
	if (is_end || c->body_most == 0)
		finish(c, head->status, NULL);
}

static void take_piece(struct helper_http *c, const struct session_event *e)
{
	/* The end of a message may come without bytes, and then without a chunk. */
	const struct slice bytes = e->piece.length > 0 ? piece_slice(e->piece) : SLICE("");
	session_credit(c->session, e->stream, e->piece.length);
	if (c->is_done)
		return;
	if (c->body_length + bytes.len > c->body_most) {
		finish(c, 0, "the response is too long");
		return;
	}
	if (bytes.len > 0) {
		c->body = memory_resize(c->body, c->body_length + bytes.len, 1);
		memcpy(c->body + c->body_length, bytes.ptr, bytes.len);
	}
	c->body_length += bytes.len;
	if (e->end)
		finish(c, c->head->status, NULL);
}

static void on_event(struct helper_http *c, struct session_event *e)
{
	switch (e->kind) {
	case SESSION_EVENT_READY:
		if (!c->is_sent)
			send_request(c);
		c->is_sent = true;
		break;
	case SESSION_EVENT_HEAD:
		take_head(c, e->head, e->end);
		break;
	case SESSION_EVENT_DATA:
		take_piece(c, e);
		break;
	case SESSION_EVENT_TRAILERS:
		http_head_free(e->head);
		if (c->head)
			finish(c, c->head->status, NULL);
		break;
	case SESSION_EVENT_PROMISE: /* not in HTTP/1.1 */
		http_head_free(e->head);
		break;
	case SESSION_EVENT_RESET:
	case SESSION_EVENT_FAILED:
		finish(c, 0, e->fault ? e->fault->name : "the connection ended without a response");
		break;
	case SESSION_EVENT_REFUSED:
	case SESSION_EVENT_CLOSED:
	case SESSION_EVENT_GOAWAY:
	case SESSION_EVENT_PONG:
		break;
	}
}

static void handle_events(struct helper_http *c)
{
	struct session_event e;
	while (session_next_event(c->session, &e))
		on_event(c, &e);
}

/* ---- the connection ---- */

static void opened(void *owner)
{
	struct helper_http *c = owner;
	const struct session_conn conn = {.budget = &c->budget, .is_tls = c->request.tls != NULL};
	c->session = protocols_begin(c->plans, &c->env, &conn, net_now(c->loop));
	handle_events(c);
	conclude(c);
}

static void received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct helper_http *c = owner;
	while (length > 0 && !c->is_done) {
		size_t n = session_receive(c->session, chunk, offset, length, net_now(c->loop));
		offset += n;
		length -= n;
		handle_events(c);
	}
	if (!c->is_done)
		net_conn_dirty(c->net);
	conclude(c);
}

static void fill(void *owner, struct net_out *out)
{
	struct helper_http *c = owner;
	struct session_output part;
	while (c->session && net_out_room(out) > 0 &&
	       session_next_output(c->session, PART_BYTES, &part)) {
		net_out_copy(out, part.before.ptr, part.before.len);
		if (part.stream)
			net_out_copy(out, c->request.body.ptr, part.length);
		if (part.stream)
			slice_skip(&c->request.body, part.length);
		net_out_copy(out, part.after.ptr, part.after.len);
	}
	if (c->session)
		handle_events(c);
	conclude(c);
}

static const char *why_of(struct helper_http *c, enum net_end end, const char *text)
{
	if (net_end_is_connect(end))
		return "no connection to it";
	if (!net_end_is_tls(end) || !text)
		return "the connection ended without a response";
	snprintf(c->why, sizeof(c->why), "%s", text);
	return c->why;
}

static void ended(void *owner, enum net_end end, const char *text)
{
	struct helper_http *c = owner;
	if (c->session) {
		session_ended(c->session, end == NET_END_EOF);
		handle_events(c);
	}
	finish(c, 0, why_of(c, end, text));
	conclude(c);
}

static const struct net_conn_ops ops = {
    .opened = opened, .received = received, .fill = fill, .ended = ended};

void helper_http_begin(
    struct helper_http *c, const struct net_address *to, const struct helper_http_request *r)
{
	ensure(!c->net && !c->session);
	c->request = *r;
	c->result = (struct helper_http_result){0};
	c->body_length = 0;
	c->is_sent = c->is_done = false;
	net_timer_set(&c->timer, net_now(c->loop) + c->limit);
	c->net = net_connect(c->loop, to, r->tls, r->tls_name, &ops, c);
}
