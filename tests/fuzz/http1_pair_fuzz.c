/* SPDX-License-Identifier: MIT */
/*
 * Two codecs of ours, a client and a server, whose owners do what the input says: requests one after
 * another, interim responses, bodies of known and unknown length, trailers, tunnels that are opened and
 * refused, credit late, bytes cut anywhere. Nothing that one says is a fault to the other, each byte arrives at its position, and all
 * that was begun ends.
 *
 * Input: steps of two bytes, the action and its argument.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/h1/h1.h"

#include <stdlib.h>

#define CHUNK_BYTES 4096u
#define PIPE_BYTES 262144u
#define PASSES_MOST 10000u

/* One message on its way: from the owner that sends it to the owner that receives it. */
struct message {
	bool has_begun, is_head_told, has_ended, has_trailers, trailers_sent, trailers_told;
	size_t length, offered, sent, told;
	unsigned interims_sent, interims_told;
};

struct side {
	struct session *conn;
	struct h1_config config;
	struct session_env env;
	struct budget budget;
	struct message *out, *in;
	uint8_t pipe[PIPE_BYTES]; /* to the other side */
	size_t head, tail;
	size_t owed;
	bool is_open; /* a stream is there */
	bool has_ended; /* its sending side has */
};

struct world {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct side client, server;
	struct message request, response;
	enum http_method method;
	bool is_tunnel; /* the last request asked for one: the connection is not used again */
	unsigned exchanges;
	usec now;
};

/* The byte at this position of any body. */
static uint8_t byte_at(size_t position)
{
	return (uint8_t)(position * 7 + position / 251);
}

static void on_fault(void *context, const struct session_fault *fault, size_t index)
{
	(void)index;
	(void)context;
	ensure(fault == NULL);
}

/* ---- what is received ---- */

static void on_data(struct message *m, const struct session_event *e)
{
	for (uint32_t i = 0; i < e->piece.length; i++)
		ensure(e->piece.chunk->data[e->piece.offset + i] == byte_at(m->told + i));
	m->told += e->piece.length;
	ensure(m->told <= m->sent);
}

static void on_event(struct world *w, struct side *s, struct session_event *e)
{
	struct message *m = s->in;
	switch (e->kind) {
	case SESSION_EVENT_READY:
		break;
	case SESSION_EVENT_HEAD:
		ensure(!e->oversize);
		if (http_head_is_interim(e->head)) {
			m->interims_told++;
			break;
		}
		ensure(!m->is_head_told && m->has_begun);
		m->is_head_told = s->is_open = true;
		m->has_ended = e->end;
		break;
	case SESSION_EVENT_DATA:
		on_data(m, e);
		s->owed += e->piece.length;
		m->has_ended = e->end;
		break;
	case SESSION_EVENT_TRAILERS:
		m->trailers_told = m->has_ended = true;
		break;
	case SESSION_EVENT_CLOSED:
		ensure(s->is_open || s == &w->client);
		s->is_open = false;
		break;
	case SESSION_EVENT_REFUSED:
	case SESSION_EVENT_RESET:
	case SESSION_EVENT_FAILED:
	case SESSION_EVENT_PROMISE:
	case SESSION_EVENT_GOAWAY:
	case SESSION_EVENT_PONG:
		ensure(false); /* not in HTTP/1 */
	}
	http_head_free(e->head);
}

static void drain(struct world *w, struct side *s)
{
	struct session_event e;
	while (session_next_event(s->conn, &e)) {
		on_event(w, s, &e);
		session_check(s->conn);
	}
}

static void credit(struct world *w, struct side *s, size_t most)
{
	size_t n = s->owed < most ? s->owed : most;
	session_credit(s->conn, NULL, n);
	s->owed -= n;
	drain(w, s);
}

/* Moves bytes from one side's pipe to the other side. */
static bool carry(struct world *w, struct side *from, struct side *to, size_t most)
{
	size_t n = from->tail - from->head;
	if (n == 0 || session_is_full(to->conn))
		return false;
	if (n > most)
		n = most;
	if (n > CHUNK_BYTES)
		n = CHUNK_BYTES;
	struct chunk *chunk = chunk_acquire(w->chunks);
	memcpy(chunk->data, from->pipe + from->head, n);
	from->head += n;
	if (from->head == from->tail)
		from->head = from->tail = 0;
	session_receive(to->conn, chunk, 0, n, w->now);
	chunk_release(chunk);
	drain(w, to);
	return true;
}

/* ---- what is sent ---- */

static void put(struct side *s, const void *bytes, size_t n)
{
	ensure(s->tail + n <= PIPE_BYTES);
	if (n > 0)
		memcpy(s->pipe + s->tail, bytes, n);
	s->tail += n;
}

static bool send(struct world *w, struct side *s, uint32_t most)
{
	struct session_output o;
	if (s->tail > PIPE_BYTES / 2 || !session_next_output(s->conn, most, &o))
		return false;
	put(s, o.before.ptr, o.before.len);
	for (uint32_t i = 0; i < o.length; i++) {
		uint8_t byte = byte_at(s->out->sent + i);
		put(s, &byte, 1);
	}
	s->out->sent += o.length;
	put(s, o.after.ptr, o.after.len);
	session_check(s->conn);
	drain(w, s);
	return true;
}

static void add_length(struct http_head *head, size_t length)
{
	http_head_add_token(
	    head, HTTP_TOKEN_CONTENT_LENGTH, arena_printf(&head->arena, "%zu", length));
	head->content_length = length;
}

static bool is_idle(const struct world *w)
{
	return !w->client.is_open && !w->server.is_open &&
	       w->client.tail == w->client.head && w->server.tail == w->server.head;
}

static void open_side(struct world *w, struct side *s, enum h1_role role);
static void close_side(struct side *s);

/* A connection is for one request for a tunnel. */
static void begin_anew(struct world *w)
{
	close_side(&w->client);
	close_side(&w->server);
	open_side(w, &w->client, H1_CLIENT);
	open_side(w, &w->server, H1_SERVER);
	w->is_tunnel = false;
}

/* Hands on the end of one side's direction of a tunnel, or of its connection, once all before it has arrived. */
static void hand_end_on(struct world *w, struct side *from, struct side *to)
{
	bool has_finished = session_has_finished(from->conn) || (w->is_tunnel && session_is_done(from->conn));
	if (from->has_ended || !has_finished || from->tail > from->head || session_wants_write(from->conn))
		return;
	from->has_ended = true;
	session_ended(to->conn, true);
	drain(w, to);
}

static void ask(struct world *w, uint8_t argument)
{
	static const struct {
		struct slice name;
		enum http_method method;
	} methods[] = {{SLICE_INIT("GET"), HTTP_METHOD_GET}, {SLICE_INIT("HEAD"), HTTP_METHOD_HEAD},
	    {SLICE_INIT("POST"), HTTP_METHOD_POST}, {SLICE_INIT("PUT"), HTTP_METHOD_PUT}};
	if (is_idle(w) && w->is_tunnel)
		begin_anew(w);
	if (!is_idle(w) || session_request_room(w->client.conn) == 0)
		return;
	w->is_tunnel = (argument & 0x61) == 0x60;
	struct http_head *head = http_head_new(w->heads);
	head->kind = HTTP_REQUEST;
	head->method = methods[argument & 3].name;
	head->method_token = (uint16_t)methods[argument & 3].method;
	head->scheme = SLICE("http");
	head->authority = SLICE("a.example");
	head->path = SLICE("/x");
	w->method = methods[argument & 3].method;
	w->request = w->response = (struct message){0};
	w->request.length = argument & 4 ? (size_t)argument * 19 : 0;
	w->request.has_trailers = (argument & 24) == 24 && w->request.length > 0 && !w->is_tunnel;
	if (w->is_tunnel) {
		w->method = HTTP_METHOD_GET;
		head->method_token = HTTP_METHOD_CONNECT;
		head->protocol = SLICE("echo");
	}
	if (argument & 8 && !w->request.has_trailers)
		add_length(head, w->request.length);
	w->request.has_begun = w->client.is_open = true;
	ensure(session_request(w->client.conn, head, w->request.length == 0, w));
	http_head_free(head);
	w->exchanges++;
}

static void respond(struct world *w, uint8_t argument, bool is_interim)
{
	struct message *m = &w->response;
	if (!w->server.is_open || m->has_begun || (is_interim && m->interims_sent == 30))
		return;
	struct http_head *head = http_head_new(w->heads);
	head->kind = HTTP_RESPONSE;
	if (is_interim) {
		head->status = 103;
		m->interims_sent += session_respond(w->server.conn, NULL, head, false);
		http_head_free(head);
		return;
	}
	/* A failure or a redirect would let the codec give up the rest of the request. */
	head->status = argument & 1 ? 200 : argument & 2 || !w->request.has_ended ? 204 : 304;
	bool is_bodyless = w->method == HTTP_METHOD_HEAD || head->status != 200;
	m->length = is_bodyless ? 0 : argument & 4 ? (size_t)argument * 19 : 0;
	head->opens_tunnel = w->is_tunnel && (argument & 3) == 1;
	if (head->opens_tunnel)
		head->protocol = SLICE("Echo");
	else if (w->is_tunnel)
		w->request.length = 0; /* what waits for the tunnel is dropped */
	m->has_trailers = (argument & 24) == 24 && m->length > 0 && !head->opens_tunnel;
	if (argument & 8 && !m->has_trailers && head->status == 200)
		add_length(head, m->length);
	m->has_begun = true;
	ensure(session_respond(w->server.conn, NULL, head, m->length == 0));
	http_head_free(head);
}

/* The owner has more of its body, or trailers. */
static void offer(struct world *w, struct side *s, size_t more)
{
	struct message *m = s->out;
	if (!s->is_open || !m->has_begun || m->length == 0 || m->trailers_sent)
		return;
	m->offered = m->length - m->offered < more ? m->length : m->offered + more;
	bool all = m->offered == m->length;
	if (m->has_trailers && m->sent == m->length) {
		struct http_head *head = http_head_new(w->heads);
		head->kind = HTTP_TRAILERS;
		http_head_add(head, SLICE("x-sum"), SLICE("1"));
		session_trailers(s->conn, NULL, head);
		http_head_free(head);
		m->trailers_sent = true;
		return;
	}
	if (m->sent < m->length)
		session_offer(s->conn, NULL, m->offered - m->sent, all && !m->has_trailers);
}

/* ---- runs ---- */

enum { ASK, RESPOND, INTERIM, OFFER, SEND, CARRY, CREDIT, TIME, ACTIONS };

static void step(struct world *w, struct input *in)
{
	uint8_t action = input_byte(in), argument = input_byte(in);
	struct side *s = action & 0x80 ? &w->client : &w->server;
	struct side *other = s == &w->client ? &w->server : &w->client;
	switch (action % ACTIONS) {
	case ASK:
		ask(w, argument);
		break;
	case RESPOND:
	case INTERIM:
		respond(w, argument, action % ACTIONS == INTERIM);
		break;
	case OFFER:
		offer(w, s, (size_t)argument * 20);
		break;
	case SEND:
		(void)send(w, s, 1 + (uint32_t)argument * 8);
		break;
	case CARRY:
		(void)carry(w, s, other, 1 + argument);
		break;
	case CREDIT:
		credit(w, s, (size_t)argument * 10);
		break;
	case TIME:
		session_tick(w->server.conn, w->now += argument);
		break;
	}
	hand_end_on(w, s, other);
	drain(w, &w->client);
	drain(w, &w->server);
}

/* Whatever was begun goes to its end. */
static void finish(struct world *w)
{
	for (unsigned n = 0; !is_idle(w) || session_wants_write(w->client.conn); n++) {
		ensure(n < PASSES_MOST);
		respond(w, 5, false);
		offer(w, &w->client, SIZE_MAX / 2);
		offer(w, &w->server, SIZE_MAX / 2);
		(void)send(w, &w->client, CHUNK_BYTES);
		(void)send(w, &w->server, CHUNK_BYTES);
		credit(w, &w->client, SIZE_MAX);
		credit(w, &w->server, SIZE_MAX);
		(void)carry(w, &w->client, &w->server, SIZE_MAX);
		(void)carry(w, &w->server, &w->client, SIZE_MAX);
		hand_end_on(w, &w->client, &w->server);
		hand_end_on(w, &w->server, &w->client);
		drain(w, &w->client);
		drain(w, &w->server);
	}
	const struct message *messages[] = {&w->request, &w->response};
	for (size_t i = 0; w->exchanges > 0 && i < 2; i++) {
		ensure(messages[i]->is_head_told && messages[i]->has_ended);
		ensure(messages[i]->told == messages[i]->length);
		ensure(messages[i]->interims_told == messages[i]->interims_sent);
		ensure(messages[i]->trailers_told == messages[i]->has_trailers);
	}
	ensure(w->is_tunnel || session_request_room(w->client.conn) == 1);
	ensure(!w->is_tunnel || (session_is_done(w->client.conn) && session_is_done(w->server.conn)));
	ensure(!session_must_abort(w->client.conn) && !session_must_abort(w->server.conn));
}

static void open_side(struct world *w, struct side *s, enum h1_role role)
{
	struct h1_limits limits = h1_limits_default;
	limits.window_bytes = 300;
	limits.head_timeout = 0;
	budget_init(&s->budget, NULL, 1u << 24);
	s->config = (struct h1_config){.role = role, .limits = limits};
	s->env = (struct session_env){.heads = w->heads, .fault = on_fault};
	const struct session_conn conn = {.budget = &s->budget};
	s->conn = h1_new(&s->config, &s->env, &conn, w->now);
	s->has_ended = s->is_open = false;
	s->owed = s->head = s->tail = 0;
	drain(w, s);
}

static void close_side(struct side *s)
{
	session_free(s->conn);
	ensure(s->budget.used_bytes == 0);
	budget_fini(&s->budget);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct world *w = memory_new(struct world);
	w->chunks = chunk_pool_new(CHUNK_BYTES, 4);
	w->heads = http_head_pool_new(4);
	w->now = USEC_PER_SEC;
	w->client.out = w->server.in = &w->request;
	w->client.in = w->server.out = &w->response;
	open_side(w, &w->client, H1_CLIENT);
	open_side(w, &w->server, H1_SERVER);
	while (in.left > 0)
		step(w, &in);
	finish(w);
	close_side(&w->client);
	close_side(&w->server);
	http_head_pool_free(w->heads);
	chunk_pool_free(w->chunks);
	free(w);
	return 0;
}
