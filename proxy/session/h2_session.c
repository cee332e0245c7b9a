/* SPDX-License-Identifier: MIT */
/*
 * HTTP/2 as a session: the engine (h2/h2.h) behind struct session_ops. Beside passing calls on, this
 * file does two things: it turns the engine's events into the session's, and it fills a send with
 * the engine's control frames and DATA frames, whose payload comes straight from the owner's bodies.
 */
#include "proxy/session/h2_options.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"

struct h2_session {
	struct session session;
	struct h2_conn *conn;
	const struct session_env *env;
	size_t first_fault;
};

static struct h2_session *of(struct session *s)
{
	return (struct h2_session *)s;
}

/* The engine alone: most calls need nothing else. */
static struct h2_conn *conn_of(const struct session *s)
{
	return ((const struct h2_session *)s)->conn;
}

static struct h2_stream *engine_stream(const struct session_stream *stream)
{
	return (struct h2_stream *)(uintptr_t)stream;
}

static struct session_stream *owner_stream(struct h2_stream *stream)
{
	return (struct session_stream *)stream;
}

/* ---- faults ---- */

static struct session_fault fault_from(const struct h2_session *s, const struct h2_fault *fault)
{
	return (struct session_fault){
	    .name = fault->name,
	    .text = fault->text,
	    .code = fault->code,
	    .index = s->first_fault + h2_fault_index(fault),
	    .is_flood = fault->scope == H2_SCOPE_CONNECTION && fault->code == H2_ENHANCE_YOUR_CALM,
	};
}

static void on_fault(void *context, const struct h2_fault *fault)
{
	const struct h2_session *s = context;
	const struct session_fault told = fault_from(s, fault);
	s->env->fault(s->env->context, &told);
}

const char *session_code_name(uint32_t code)
{
	return h2_code_name(code);
}

/* ---- input ---- */

static void free_session(struct session *s)
{
	h2_free(conn_of(s));
	free(of(s));
}

static size_t receive(
    struct session *s, struct chunk *chunk, size_t offset, size_t length, usec now)
{
	return h2_receive(conn_of(s), chunk, offset, length, now);
}

static const uint8_t kinds[] = {
    [H2_EVENT_SETTINGS] = SESSION_EVENT_READY,
    [H2_EVENT_HEAD] = SESSION_EVENT_HEAD,
    [H2_EVENT_DATA] = SESSION_EVENT_DATA,
    [H2_EVENT_TRAILERS] = SESSION_EVENT_TRAILERS,
    [H2_EVENT_PROMISE] = SESSION_EVENT_PROMISE,
    [H2_EVENT_RESET] = SESSION_EVENT_RESET,
    [H2_EVENT_CLOSED] = SESSION_EVENT_CLOSED,
    [H2_EVENT_GOAWAY] = SESSION_EVENT_GOAWAY,
    [H2_EVENT_PONG] = SESSION_EVENT_PONG,
    [H2_EVENT_FAILED] = SESSION_EVENT_FAILED,
};

/* The members that only some events have, all but a DATA event's. */
static void fill_event(struct session_event *event, const struct h2_event *e)
{
	event->promised = owner_stream(e->promised);
	event->head = e->head;
	event->reason = e->reason;
	event->code = e->code;
	event->refusal = SESSION_REFUSAL_NONE;
	event->oversize = e->oversize;
	event->unprocessed = e->unprocessed;
	event->fault = NULL;
}

static RARE void add_fault(
    const struct h2_session *s, struct session_event *event, const struct h2_fault *fault)
{
	event->fault_copy = fault_from(s, fault);
	event->fault = &event->fault_copy;
}

static bool next_event(struct session *s, struct session_event *event)
{
	const struct h2_event *e = h2_take_event(conn_of(s));
	if (!e)
		return false;
	event->kind = (enum session_event_kind)kinds[e->kind];
	event->stream = owner_stream(e->stream);
	event->user = e->user;
	event->end = e->end;
	if (e->kind == H2_EVENT_DATA) {
		event->piece = e->piece;
	} else if (e->kind != H2_EVENT_CLOSED) {
		fill_event(event, e);
		if (e->fault)
			add_fault(of(s), event, e->fault);
	}
	return true;
}

/* ---- output ---- */

/* A larger frame would delay a more urgent one at the peer. */
#define FRAME_BYTES_MAX 16384u
/* A send with less room grows by a frame of this size: tiny frames cost more. */
#define FRAME_BYTES_LEAST 4096u

static void put_payload(
    const struct h2_session *s, struct net_out *out, const struct h2_data_frame *frame)
{
	uint32_t left = frame->length;
	do {
		struct piece p = s->env->front(frame->user, left);
		ensure(p.length > 0 || left == 0);
		if (p.length > 0)
			net_out_piece(out, p);
		left -= p.length;
		s->env->taken(frame->user, p.length, left == 0 && frame->end);
	} while (left > 0);
}

static bool fill(struct session *session, struct net_out *out)
{
	struct h2_session *s = of(session);
	bool any = false;
	size_t room;
	while ((room = net_out_room(out)) > 0) {
		struct slice control = h2_control(s->conn);
		if (control.len > 0) {
			net_out_copy(out, control.ptr, control.len);
			h2_control_taken(s->conn, control.len);
			any = true;
			continue;
		}
		uint32_t most = room < FRAME_BYTES_MAX ? (uint32_t)room : FRAME_BYTES_MAX;
		if (most < FRAME_BYTES_LEAST)
			most = FRAME_BYTES_LEAST;
		struct h2_data_frame frame;
		if (!h2_next_data(s->conn, most, &frame))
			break;
		net_out_copy(out, frame.header, sizeof(frame.header));
		put_payload(s, out, &frame);
		any = true;
	}
	return any;
}

static bool wants_write(const struct session *s)
{
	return h2_wants_write(conn_of(s));
}

static void offer(struct session *s, struct session_stream *stream, size_t bytes, bool end)
{
	h2_offer(conn_of(s), engine_stream(stream), bytes, end);
}

/* ---- to an origin ---- */

static uint32_t request_room(const struct session *s)
{
	return h2_request_room(conn_of(s));
}

static bool takes_tunnels(const struct h2_conn *conn)
{
	return h2_peer_settings(conn)->enable_connect_protocol != 0;
}

/* RFC 9113 10.5.1: an origin may close the whole connection because of a larger field section. */
static enum session_fit request_fits(
    const struct session *s, const struct http_head *head, bool end)
{
	(void)end;
	if (head->protocol.len > 0 && !takes_tunnels(conn_of(s)))
		return SESSION_NO_TUNNEL;
	bool fits = h2_options_list_fits(head, h2_list_bytes_most(conn_of(s)));
	return fits ? SESSION_FITS : SESSION_HEAD_LARGE;
}

static struct session_stream *request(
    struct session *s, const struct http_head *head, bool end, void *user)
{
	return owner_stream(h2_request(conn_of(s), head, end, user));
}

static void refuse_pushes(struct session *s, usec now)
{
	struct h2_settings settings = *h2_local_settings(conn_of(s));
	settings.enable_push = 0;
	h2_update_settings(conn_of(s), &settings, now);
}

static void widen(struct session *s, struct session_stream *stream, uint32_t window)
{
	h2_set_window(conn_of(s), engine_stream(stream), window);
}

static bool ping(struct session *s, usec now)
{
	return h2_ping(conn_of(s), now);
}

/* ---- to a client ---- */

static bool respond(
    struct session *s, struct session_stream *stream, const struct http_head *head, bool end)
{
	return h2_respond(conn_of(s), engine_stream(stream), head, end);
}

static struct session_stream *promise(
    struct session *s, struct session_stream *parent, const struct http_head *head, void *user)
{
	return owner_stream(h2_promise(conn_of(s), engine_stream(parent), head, user));
}

static uint32_t push_room(const struct session *s)
{
	return h2_push_room(conn_of(s));
}

static void set_priority(
    struct session *s, struct session_stream *stream, struct http_priority priority)
{
	h2_set_priority(conn_of(s), engine_stream(stream), priority);
}

static struct http_priority priority(const struct session *s, const struct session_stream *stream)
{
	(void)s;
	return h2_stream_priority(engine_stream(stream));
}

/* ---- both ---- */

static void trailers(struct session *s, struct session_stream *stream, const struct http_head *head)
{
	h2_trailers(conn_of(s), engine_stream(stream), head);
}

static void reset(struct session *s, struct session_stream *stream, uint32_t code)
{
	h2_reset(conn_of(s), engine_stream(stream), code);
}

static void credit(struct session *s, struct session_stream *stream, size_t bytes)
{
	h2_credit(conn_of(s), engine_stream(stream), bytes);
}

static void set_user(struct session *s, struct session_stream *stream, void *user)
{
	(void)s;
	h2_stream_set_user(engine_stream(stream), user);
}

static void shutdown_session(struct session *s, usec now)
{
	h2_shutdown(conn_of(s), now);
}

static void half_close(struct session *s, usec now)
{
	h2_half_close(conn_of(s), now);
}

static void terminate(struct session *s, uint32_t code, struct slice why)
{
	h2_terminate(conn_of(s), (enum h2_code)code, why);
}

static usec deadline(const struct session *s)
{
	return h2_deadline(conn_of(s));
}

static void tick(struct session *s, usec now)
{
	h2_tick(conn_of(s), now);
}

static struct session_peer peer(const struct session *s)
{
	const struct h2_conn *conn = conn_of(s);
	const struct h2_settings *settings = h2_peer_settings(conn);
	return (struct session_peer){
	    .takes_pushes = settings->enable_push != 0,
	    .takes_streams = settings->max_concurrent_streams != 0,
	    .takes_interim = true,
	    .takes_tunnels = takes_tunnels(conn),
	    .answers_expect = true,
	    .is_going_away = h2_is_going_away(conn),
	    .unsent_bytes = h2_control(conn).len,
	};
}

static uint32_t stream_window(const struct session *s, const struct session_stream *stream)
{
	return h2_stream_window(conn_of(s), engine_stream(stream));
}

static bool stream_is_shut(const struct session *s, const struct session_stream *stream)
{
	(void)s;
	return h2_stream_is_shut(engine_stream(stream));
}

static bool is_done(const struct session *s)
{
	return h2_is_done(conn_of(s));
}

static bool has_failed(const struct session *s)
{
	return h2_has_failed(conn_of(s));
}

static void trace(struct session *s, void *traced)
{
	h2_set_trace(conn_of(s), traced ? of(s)->env->trace : NULL, traced);
}

static size_t describe(const struct session *s, char *buffer, size_t size)
{
	return h2_describe(conn_of(s), buffer, size);
}

static void check(const struct session *s)
{
	h2_check(conn_of(s));
}

#define CAPABILITIES                                                                               \
	(SESSION_MULTIPLEXES | SESSION_SENDS_PUSHES | SESSION_TAKES_PUSHES | SESSION_TRAILERS |    \
	    SESSION_INTERIM | SESSION_PINGS | SESSION_HINTS | SESSION_TUNNELS | SESSION_CALLS)

static const struct session_ops h2_ops = {
    .name = "h2",
    .capabilities = CAPABILITIES,
    .free = free_session,
    .receive = receive,
    .next_event = next_event,
    .fill = fill,
    .wants_write = wants_write,
    .offer = offer,
    .request_room = request_room,
    .request_fits = request_fits,
    .request = request,
    .refuse_pushes = refuse_pushes,
    .widen = widen,
    .ping = ping,
    .respond = respond,
    .promise = promise,
    .push_room = push_room,
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
    .stream_window = stream_window,
    .stream_is_shut = stream_is_shut,
    .is_done = is_done,
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
	struct h2_session *s = memory_new(struct h2_session);
	s->session.ops = &h2_ops;
	s->env = env;
	s->first_fault = plan->first_fault;
	const struct h2_env engine = {
	    .heads = env->heads,
	    .budget = conn->budget,
	    .seed = env->seed,
	    .fault = on_fault,
	    .fault_context = s,
	    .trace = conn->traced ? env->trace : NULL,
	    .trace_context = conn->traced,
	};
	s->conn = h2_new(config->role, &config->settings, &config->limits, &engine, now);
	return &s->session;
}

/* RFC 9113 3.4. */
static enum session_match match(const uint8_t *bytes, size_t n)
{
	size_t compared = n < H2_PREFACE_LEN ? n : H2_PREFACE_LEN;
	if (memcmp(bytes, H2_PREFACE, compared) != 0)
		return SESSION_MATCH_NO;
	return n < H2_PREFACE_LEN ? SESSION_MATCH_MORE : SESSION_MATCH_YES;
}

const struct session_protocol session_h2 = {
    .alpn = "h2",
    .name = "HTTP/2",
    .origin_capabilities = CAPABILITIES,
    .fault_name = h2_fault_name,
    .match = match,
    .for_clients = h2_options_for_clients,
    .for_origin = h2_options_for_origin,
    .begin = begin,
};
