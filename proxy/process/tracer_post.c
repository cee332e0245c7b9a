/* SPDX-License-Identifier: MIT */
/*
 * One request to the collector: a connection of its own, which carries a POST. Of the response the status and Retry-After
 * count; its body says nothing that would change what is done, so the connection is closed as soon as the head is there.
 */
#include "proxy/process/tracer.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/limits.h"

#define HEADS_KEPT 4u
/* A part of the body that is sent at once. */
#define PART_BYTES 65536u
/* For the connection's fields and for what waits to be sent. */
#define POST_MEMORY (1u << 20)

/* The session's limits for the collector, which is an origin like any other. */
static const struct conf_origin collector = {
    .protocols = CONF_HTTP1,
    .limits = {.field_block_bytes = 65536, .interim_responses = 8},
    .max_header_list_bytes = 65536,
    .stream_window_bytes = 65536,
};

static void expired(void *context);

void tracer_post_init(struct tracer_post *p)
{
	p->heads = http_head_pool_new(HEADS_KEPT);
	p->plans = protocols_plans_for_origin(protocols_all, &collector, false);
	p->env = (struct session_env){.heads = p->heads, .seed = hash_random_seed()};
	budget_init(&p->budget, NULL, POST_MEMORY);
	net_timer_init(&p->timer, p->loop, expired, p);
}

void tracer_post_fini(struct tracer_post *p)
{
	tracer_post_abort(p);
	net_timer_fini(&p->timer);
	budget_fini(&p->budget);
	protocols_plans_free(p->plans);
	http_head_pool_free(p->heads);
}

/* ---- the end ---- */

static void cut(struct tracer_post *p, void (*end)(struct net_conn *c))
{
	net_timer_set(&p->timer, USEC_NEVER);
	if (p->net)
		end(p->net);
	session_free(p->session);
	p->net = NULL;
	p->session = NULL;
}

void tracer_post_abort(struct tracer_post *p)
{
	cut(p, net_conn_abort);
}

/* Its result is known: see conclude. */
static void finish(struct tracer_post *p, unsigned status, const char *why)
{
	if (p->is_done)
		return;
	p->is_done = true;
	p->result.status = status;
	p->result.why = why;
}

/* Out of all calls of the session, which is freed. The connection is closed, or NULL. */
static void conclude(struct tracer_post *p)
{
	if (!p->is_done)
		return;
	const struct tracer_result result = p->result;
	cut(p, result.status > 0 ? net_conn_close : net_conn_abort);
	p->is_done = false;
	p->done(p->context, &result);
}

static void expired(void *context)
{
	struct tracer_post *p = context;
	finish(p, 0, "it took longer than 10 s");
	conclude(p);
}

/* ---- the request ---- */

static void send_request(struct tracer_post *p)
{
	struct http_head *head = http_head_new(p->heads);
	head->kind = HTTP_REQUEST;
	head->method = SLICE("POST");
	head->method_token = HTTP_METHOD_POST;
	head->scheme = SLICE("http");
	head->authority = slice_of_string(p->conf->collector->text);
	head->path = slice_of_string(p->conf->path);
	head->content_length = p->body.len;
	http_head_add_token(head, HTTP_TOKEN_USER_AGENT, SLICE("pushgate/" PUSHGATE_VERSION));
	http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, SLICE("application/json"));
	http_head_add_token(
	    head, HTTP_TOKEN_CONTENT_LENGTH, arena_printf(&head->arena, "%zu", p->body.len));
	struct session_stream *stream = session_request(p->session, head, false, p);
	http_head_free(head);
	ensure(stream != NULL);
	session_offer(p->session, stream, p->body.len, true);
	net_conn_dirty(p->net);
}

/* ---- events ---- */

static void take_head(struct tracer_post *p, const struct session_event *e)
{
	uint64_t seconds;
	const struct http_field *after = http_head_find(e->head, HTTP_TOKEN_RETRY_AFTER);
	if (http_head_is_interim(e->head))
		return;
	if (after && slice_to_number(after->value, UINT32_MAX, &seconds))
		p->result.retry_after = (uint32_t)seconds;
	finish(p, e->head->status, NULL);
}

static void on_event(struct tracer_post *p, struct session_event *e)
{
	switch (e->kind) {
	case SESSION_EVENT_READY:
		if (!p->is_sent)
			send_request(p);
		p->is_sent = true;
		break;
	case SESSION_EVENT_HEAD:
		take_head(p, e);
		http_head_free(e->head);
		break;
	case SESSION_EVENT_DATA:
		session_credit(p->session, e->stream, e->piece.length);
		break;
	case SESSION_EVENT_TRAILERS:
	case SESSION_EVENT_PROMISE: /* not in HTTP/1.1 */
		http_head_free(e->head);
		break;
	case SESSION_EVENT_RESET:
	case SESSION_EVENT_FAILED:
		finish(p, 0, e->fault ? e->fault->name : "the connection ended without a response");
		break;
	case SESSION_EVENT_REFUSED:
	case SESSION_EVENT_CLOSED:
	case SESSION_EVENT_GOAWAY:
	case SESSION_EVENT_PONG:
		break;
	}
}

static void handle_events(struct tracer_post *p)
{
	struct session_event e;
	while (session_next_event(p->session, &e))
		on_event(p, &e);
}

/* ---- the connection ---- */

static void opened(void *owner)
{
	struct tracer_post *p = owner;
	const struct session_conn conn = {.budget = &p->budget};
	p->session = protocols_begin(p->plans, &p->env, &conn, net_now(p->loop));
	handle_events(p);
	conclude(p);
}

static void received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct tracer_post *p = owner;
	while (length > 0 && !p->is_done) {
		size_t n = session_receive(p->session, chunk, offset, length, net_now(p->loop));
		offset += n;
		length -= n;
		handle_events(p);
	}
	if (!p->is_done)
		net_conn_dirty(p->net);
	conclude(p);
}

static void fill(void *owner, struct net_out *out)
{
	struct tracer_post *p = owner;
	struct session_output part;
	while (p->session && net_out_room(out) > 0 &&
	       session_next_output(p->session, PART_BYTES, &part)) {
		net_out_copy(out, part.before.ptr, part.before.len);
		if (part.stream)
			net_out_copy(out, p->body.ptr, part.length);
		if (part.stream)
			p->body = slice_from(p->body, part.length);
		net_out_copy(out, part.after.ptr, part.after.len);
	}
	if (p->session)
		handle_events(p);
	conclude(p);
}

static void ended(void *owner, enum net_end end, const char *text)
{
	struct tracer_post *p = owner;
	(void)text;
	if (p->session) {
		session_ended(p->session, end == NET_END_EOF);
		handle_events(p);
	}
	finish(p, 0,
	    net_end_is_connect(end) ? "no connection to it"
				    : "the connection ended without a response");
	conclude(p);
}

static const struct net_conn_ops ops = {
    .opened = opened, .received = received, .fill = fill, .ended = ended};

void tracer_post_begin(struct tracer_post *p, const struct net_address *to, struct slice body)
{
	ensure(!p->net && !p->session);
	p->body = body;
	p->result = (struct tracer_result){0};
	p->is_sent = p->is_done = false;
	net_timer_set(&p->timer, net_now(p->loop) + TRACER_POST_USEC);
	p->net = net_connect(p->loop, to, NULL, NULL, &ops, p);
}
