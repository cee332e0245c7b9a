/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1 as a session: the codec (h1/h1.h) behind struct session_ops. A connection has one stream at
 * a time, so that the handle of every stream is the same. HTTP/1 has no codes: what they would tell the
 * peer is told by an answer, or by the end of the connection.
 */
#include "proxy/session/http1_options.h"
#include "proxy/session/websocket.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

struct session_stream {
	char handle; /* only its address counts */
};

struct http1_session {
	struct session session;
	struct h1_conn *conn;
	const struct session_env *env;
	size_t first_fault;
	struct session_stream stream;
	struct http_priority priority;
};

static struct http1_session *of(struct session *s)
{
	return (struct http1_session *)s;
}

static struct h1_conn *conn_of(const struct session *s)
{
	return ((const struct http1_session *)s)->conn;
}

/* ---- faults ---- */

#define PROTOCOL_ERROR 0x1u

static struct session_fault fault_from(const struct http1_session *s, const struct h1_fault *fault)
{
	return (struct session_fault){
	    .name = fault->name,
	    .text = fault->text,
	    .code = PROTOCOL_ERROR,
	    .index = s->first_fault + h1_fault_index(fault),
	};
}

static void on_fault(void *context, const struct h1_fault *fault)
{
	const struct http1_session *s = context;
	const struct session_fault told = fault_from(s, fault);
	s->env->fault(s->env->context, &told);
}

static enum session_refusal refusal_of(const struct h1_fault *fault)
{
	switch (fault->status) {
	case 408:
		return SESSION_REFUSAL_LATE;
	case 414:
		return SESSION_REFUSAL_TARGET;
	case 431:
		return SESSION_REFUSAL_FIELDS;
	case 501:
		return SESSION_REFUSAL_CODING;
	case 505:
		return SESSION_REFUSAL_VERSION;
	default:
		return SESSION_REFUSAL_MALFORMED;
	}
}

/* ---- input ---- */

static void free_session(struct session *s)
{
	h1_free(conn_of(s));
	free(of(s));
}

static size_t receive(
    struct session *s, struct chunk *chunk, size_t offset, size_t length, usec now)
{
	h1_receive(conn_of(s), chunk, offset, length, now);
	return length;
}

static const uint8_t kinds[] = {
    [H1_EVENT_READY] = SESSION_EVENT_READY,
    [H1_EVENT_HEAD] = SESSION_EVENT_HEAD,
    [H1_EVENT_DATA] = SESSION_EVENT_DATA,
    [H1_EVENT_TRAILERS] = SESSION_EVENT_TRAILERS,
    [H1_EVENT_REFUSED] = SESSION_EVENT_REFUSED,
    [H1_EVENT_RESET] = SESSION_EVENT_RESET,
    [H1_EVENT_CLOSED] = SESSION_EVENT_CLOSED,
    [H1_EVENT_FAILED] = SESSION_EVENT_FAILED,
};

static void fill_event(
    struct http1_session *s, struct session_event *event, const struct h1_event *e)
{
	event->promised = NULL;
	event->head = e->head;
	event->reason = e->reason;
	event->code = e->fault ? PROTOCOL_ERROR : SESSION_NO_ERROR;
	event->refusal = SESSION_REFUSAL_NONE;
	event->oversize = e->oversize;
	event->unprocessed = false;
	event->fault = NULL;
	if (!e->fault)
		return;
	event->fault_copy = fault_from(s, e->fault);
	event->fault = &event->fault_copy;
	if (e->kind == H1_EVENT_HEAD || e->kind == H1_EVENT_REFUSED)
		event->refusal = refusal_of(e->fault);
}

static bool next_event(struct session *session, struct session_event *event)
{
	struct http1_session *s = of(session);
	struct h1_event e;
	if (!h1_next_event(s->conn, &e))
		return false;
	event->kind = (enum session_event_kind)kinds[e.kind];
	event->stream = &s->stream;
	event->user = e.user;
	event->end = e.end;
	if (e.kind == H1_EVENT_DATA)
		event->piece = e.piece;
	else if (e.kind != H1_EVENT_CLOSED)
		fill_event(s, event, &e);
	if (e.kind == H1_EVENT_HEAD)
		s->priority = HTTP_PRIORITY_DEFAULT;
	return true;
}

static bool is_full(const struct session *s)
{
	return h1_is_full(conn_of(s));
}

static void ended(struct session *s, bool is_clean)
{
	h1_receive_end(conn_of(s), is_clean);
}

/* ---- output ---- */

/* The bytes of one chunk. */
#define CHUNK_BYTES_MOST 65536u
/* A send with less room grows by so many: tiny chunks cost more. */
#define CHUNK_BYTES_LEAST 4096u

static void put_body(
    const struct http1_session *s, struct net_out *out, const struct h1_output *output)
{
	uint32_t left = output->length;
	do {
		struct piece p = s->env->front(output->user, left);
		ensure(p.length > 0 || left == 0);
		if (p.length > 0)
			net_out_piece(out, p);
		left -= p.length;
		s->env->taken(output->user, p.length, left == 0 && output->end);
	} while (left > 0);
}

static bool fill(struct session *session, struct net_out *out)
{
	struct http1_session *s = of(session);
	struct h1_output output;
	bool any = false;
	size_t room;
	while ((room = net_out_room(out)) > 0) {
		uint32_t most = room < CHUNK_BYTES_MOST ? (uint32_t)room : CHUNK_BYTES_MOST;
		if (most < CHUNK_BYTES_LEAST)
			most = CHUNK_BYTES_LEAST;
		if (!h1_next_output(s->conn, most, &output))
			break;
		if (output.before.len > 0)
			net_out_copy(out, output.before.ptr, output.before.len);
		if (output.user && (output.length > 0 || output.end))
			put_body(s, out, &output);
		if (output.after.len > 0)
			net_out_copy(out, output.after.ptr, output.after.len);
		/* The end of a body that the connection's end delimits has no bytes. */
		any |= output.before.len + output.length + output.after.len > 0;
	}
	return any;
}

static bool wants_write(const struct session *s)
{
	return h1_wants_write(conn_of(s));
}

static void offer(struct session *s, struct session_stream *stream, size_t bytes, bool end)
{
	(void)stream;
	h1_offer(conn_of(s), bytes, end);
}

/* ---- to an origin ---- */

static uint32_t request_room(const struct session *s)
{
	return h1_request_room(conn_of(s));
}

static enum session_fit request_fits(
    const struct session *s, const struct http_head *head, bool end)
{
	bool is_tunnel = head->method_token == HTTP_METHOD_CONNECT; /* its bytes are no body */
	bool has_length = end || is_tunnel || head->content_length != HTTP_LENGTH_UNKNOWN;
	return has_length || !h1_peer_is_old(conn_of(s)) ? SESSION_FITS : SESSION_NEEDS_LENGTH;
}

static struct session_stream *request(
    struct session *s, const struct http_head *head, bool end, void *user)
{
	return h1_request(conn_of(s), head, end, user) ? &of(s)->stream : NULL;
}

static void widen(struct session *s, struct session_stream *stream, uint32_t window)
{
	(void)stream;
	h1_widen(conn_of(s), window);
}

/* ---- to a client ---- */

static bool respond(
    struct session *s, struct session_stream *stream, const struct http_head *head, bool end)
{
	(void)stream;
	return h1_respond(conn_of(s), head, end);
}

static void set_priority(
    struct session *s, struct session_stream *stream, struct http_priority priority)
{
	(void)stream;
	of(s)->priority = priority;
}

static struct http_priority priority(const struct session *s, const struct session_stream *stream)
{
	(void)stream;
	return ((const struct http1_session *)s)->priority;
}

/* ---- both ---- */

static void trailers(struct session *s, struct session_stream *stream, const struct http_head *head)
{
	(void)stream;
	h1_trailers(conn_of(s), head);
}

static void reset(struct session *s, struct session_stream *stream, uint32_t code)
{
	(void)stream;
	(void)code;
	h1_reset(conn_of(s));
}

static void credit(struct session *s, struct session_stream *stream, size_t bytes)
{
	(void)stream;
	h1_credit(conn_of(s), bytes);
}

static void set_user(struct session *s, struct session_stream *stream, void *user)
{
	(void)stream;
	h1_set_user(conn_of(s), user);
}

static void shutdown_session(struct session *s, usec now)
{
	(void)now;
	h1_shutdown(conn_of(s));
}

static void half_close(struct session *s, usec now)
{
	(void)now;
	h1_half_close(conn_of(s));
}

static void terminate(struct session *s, uint32_t code, struct slice why)
{
	(void)code;
	(void)why;
	h1_terminate(conn_of(s));
}

static usec deadline(const struct session *s)
{
	return h1_deadline(conn_of(s));
}

static void tick(struct session *s, usec now)
{
	h1_tick(conn_of(s), now);
}

/* ---- questions ---- */

static struct session_peer peer(const struct session *s)
{
	const struct h1_conn *conn = conn_of(s);
	return (struct session_peer){
	    .takes_streams = true,
	    .takes_interim = h1_takes_interim(conn),
	    .takes_tunnels = true,
	    .answers_expect = !h1_peer_is_old(conn),
	    .is_going_away = h1_is_going_away(conn),
	    .unsent_bytes = h1_unsent_bytes(conn),
	    .keepalive = h1_peer_keepalive(conn),
	};
}

static bool is_done(const struct session *s)
{
	return h1_is_done(conn_of(s));
}

static bool has_finished(const struct session *s)
{
	return h1_has_finished(conn_of(s));
}

static bool must_abort(const struct session *s)
{
	return h1_must_abort(conn_of(s));
}

static bool has_failed(const struct session *s)
{
	return h1_has_failed(conn_of(s));
}

static void trace(struct session *s, void *traced)
{
	h1_set_trace(conn_of(s), traced ? of(s)->env->trace : NULL, traced);
}

static size_t describe(const struct session *s, char *buffer, size_t size)
{
	return h1_describe(conn_of(s), buffer, size);
}

static void check(const struct session *s)
{
	h1_check(conn_of(s));
}

#define CAPABILITIES (SESSION_TRAILERS | SESSION_INTERIM | SESSION_TUNNELS)

static const struct session_ops http1_ops = {
    .name = "http/1.1",
    .capabilities = CAPABILITIES,
    .free = free_session,
    .receive = receive,
    .next_event = next_event,
    .is_full = is_full,
    .ended = ended,
    .fill = fill,
    .wants_write = wants_write,
    .offer = offer,
    .request_room = request_room,
    .request_fits = request_fits,
    .request = request,
    .widen = widen,
    .respond = respond,
    .set_priority = set_priority,
    .priority = priority,
    .trailers = trailers,
    .reset = reset,
    .credit = credit,
    .set_user = set_user,
    .shutdown = shutdown_session,
    .half_close = half_close,
    .terminate = terminate,
    .deadline = deadline,
    .tick = tick,
    .peer = peer,
    .is_done = is_done,
    .has_finished = has_finished,
    .must_abort = must_abort,
    .has_failed = has_failed,
    .trace = trace,
    .describe = describe,
    .check = check,
};

/* ---- beginning ---- */

static struct session *begin(const struct session_plan *plan, const struct session_env *env,
    const struct session_conn *conn, usec now)
{
	const struct session_config *config = plan->config;
	struct http1_session *s = memory_new(struct http1_session);
	s->session.ops = &http1_ops;
	s->env = env;
	s->first_fault = plan->first_fault;
	s->priority = HTTP_PRIORITY_DEFAULT;
	const struct h1_env codec = {
	    .websocket = &session_websocket,
	    .heads = env->heads,
	    .budget = conn->budget,
	    .is_tls = conn->is_tls,
	    .is_proxy = config->is_proxy,
	    .fault = on_fault,
	    .fault_context = s,
	    .trace = conn->traced ? env->trace : NULL,
	    .trace_context = conn->traced,
	};
	s->conn = h1_new(config->role, &config->limits, &codec, now);
	return &s->session;
}

/* Whatever does not begin as HTTP/2 does: a request that cannot be read gets an answer that says why. */
static enum session_match match(const uint8_t *bytes, size_t n)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	size_t compared = n < sizeof(preface) - 1 ? n : sizeof(preface) - 1;
	if (memcmp(bytes, preface, compared) != 0)
		return SESSION_MATCH_YES;
	return n < sizeof(preface) - 1 ? SESSION_MATCH_MORE : SESSION_MATCH_YES;
}

const struct session_protocol session_http1 = {
    .alpn = "http/1.1",
    .alpn_old = "http/1.0",
    .name = "HTTP/1.1",
    .origin_capabilities = CAPABILITIES,
    .fault_name = h1_fault_name,
    .match = match,
    .for_clients = http1_options_for_clients,
    .for_origin = http1_options_for_origin,
    .begin = begin,
};
