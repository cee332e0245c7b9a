/* SPDX-License-Identifier: MIT */
/*
 * A connection without HTTP: bytes in both directions, for a CONNECT to where its authority says (RFC 9110
 * 9.3.6). A session with an origin alone, for one tunnel. The transport is connected when it begins, and
 * nothing is asked of the peer: the request's answer, 200, is made here, and follows it at once.
 *
 * A connection for which no request waits when it is ready is done: its peer waits for a first byte, and would
 * end it soon. Until then it is not read from, since the first bytes of its peer are for the tunnel.
 */
#include "proxy/protocols/protocols.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdio.h>

struct raw_stream {
	struct session_stream base;
	uint32_t window; /* bytes that were not credited; then the session is full */
	size_t owed;     /* bytes of DATA events without credit */
	size_t offered;  /* of our direction */
	bool offered_end;
	bool was_answered; /* its HEAD event was given out */
	bool was_read;     /* the peer's direction has ended, and so has its last event */
	bool was_written;  /* ours has */
};

/*
 *   NEW ── READY ── FREE ── request ── BUSY ── both directions have ended, reset ── OVER
 *    └───────────────┴─────────── shutdown, terminate, the peer's end ───────────────┘
 */
enum raw_phase { RAW_NEW, RAW_FREE, RAW_BUSY, RAW_OVER };

struct raw_session {
	struct session session;
	uint32_t window; /* of a stream */
	enum raw_phase phase;
	bool must_abort, has_failed;
	bool has_ended;     /* the peer's direction has, in good order; was_read follows */
	struct piece piece; /* that came last, while no event has it: lent by receive's caller */
	struct raw_stream stream;
};

static struct raw_session *of(struct session *s)
{
	return (struct raw_session *)s;
}

static const struct raw_session *of_const(const struct session *s)
{
	return (const struct raw_session *)s;
}

static void free_session(struct session *s)
{
	free(of(s));
}

/* ---- input ---- */

static size_t receive(
    struct session *session, struct chunk *chunk, size_t offset, size_t length, usec now)
{
	struct raw_session *s = of(session);
	(void)now;
	if (s->phase == RAW_BUSY)
		s->piece = (struct piece){chunk, (uint32_t)offset, (uint32_t)length};
	return length;
}

static bool ready_event(struct raw_session *s, struct session_event *event)
{
	s->phase = RAW_FREE;
	*event = (struct session_event){.kind = SESSION_EVENT_READY};
	return true;
}

static bool head_event(struct raw_session *s, struct session_event *event)
{
	struct http_head *head = http_head_new(s->session.env->heads);
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_STATUS, SLICE("200"));
	const char *fault = http_head_validate(head, HTTP_RESPONSE);
	ensure(fault == NULL);
	head->opens_tunnel = true;
	s->stream.was_answered = true;
	*event = (struct session_event){.kind = SESSION_EVENT_HEAD,
	    .stream = &s->stream.base,
	    .user = s->stream.base.user,
	    .head = head};
	return true;
}

static bool data_event(struct raw_session *s, struct session_event *event)
{
	*event = (struct session_event){
	    .kind = SESSION_EVENT_DATA,
	    .stream = &s->stream.base,
	    .user = s->stream.base.user,
	    .piece = s->piece,
	    .end = s->piece.length == 0,
	};
	s->stream.owed += s->piece.length;
	s->stream.was_read = event->end;
	s->piece.length = 0;
	return true;
}

static bool closed_event(struct raw_session *s, struct session_event *event)
{
	*event = (struct session_event){
	    .kind = SESSION_EVENT_CLOSED, .stream = &s->stream.base, .user = s->stream.base.user};
	s->phase = RAW_OVER;
	return true;
}

static bool next_event(struct session *session, struct session_event *event)
{
	struct raw_session *s = of(session);
	const struct raw_stream *stream = &s->stream;
	if (s->phase == RAW_NEW)
		return ready_event(s, event);
	if (s->phase != RAW_BUSY)
		return false;
	if (!stream->was_answered)
		return head_event(s, event);
	if (s->piece.length > 0 || (s->has_ended && !stream->was_read))
		return data_event(s, event);
	return stream->was_read && stream->was_written && closed_event(s, event);
}

static bool is_full(const struct session *session)
{
	const struct raw_session *s = of_const(session);
	return s->phase == RAW_FREE || (s->phase == RAW_BUSY && s->stream.owed >= s->stream.window);
}

/* An end that is not clean ends no direction: the owner finds that the tunnel is lost. */
static void ended(struct session *session, bool is_clean)
{
	struct raw_session *s = of(session);
	s->has_ended = s->has_ended || is_clean;
	if (s->phase != RAW_BUSY)
		s->phase = RAW_OVER;
}

/* ---- output ---- */

static bool wants_write(const struct session *session)
{
	const struct raw_session *s = of_const(session);
	const struct raw_stream *stream = &s->stream;
	return s->phase == RAW_BUSY &&
	       (stream->offered > 0 || (stream->offered_end && !stream->was_written));
}

static bool next_output(struct session *session, uint32_t most, struct session_output *output)
{
	struct raw_session *s = of(session);
	struct raw_stream *stream = &s->stream;
	if (!wants_write(session))
		return false;
	uint32_t length = stream->offered < most ? (uint32_t)stream->offered : most;
	stream->offered -= length;
	stream->was_written = stream->offered == 0 && stream->offered_end;
	*output = (struct session_output){
	    .stream = &stream->base, .length = length, .end = stream->was_written};
	return true;
}

static void offer(struct session *session, struct session_stream *handle, size_t bytes, bool end)
{
	struct raw_session *s = of(session);
	(void)handle;
	if (s->phase != RAW_BUSY || s->stream.was_written)
		return;
	s->stream.offered = bytes;
	s->stream.offered_end = end;
}

/* ---- the tunnel ---- */

static uint32_t request_room(const struct session *s)
{
	return of_const(s)->phase == RAW_FREE;
}

static enum session_fit request_fits(
    const struct session *s, const struct http_head *head, bool end)
{
	(void)s;
	(void)end;
	bool is_raw = head->method_token == HTTP_METHOD_CONNECT && head->protocol.len == 0;
	return is_raw ? SESSION_FITS : SESSION_NO_TUNNEL;
}

/* The end of the client's direction is offered, as its bytes are, when the tunnel is open. */
static struct session_stream *request(
    struct session *session, const struct http_head *head, bool end, void *user)
{
	struct raw_session *s = of(session);
	if (request_room(session) == 0 || request_fits(session, head, end) != SESSION_FITS)
		return NULL;
	s->phase = RAW_BUSY;
	s->stream = (struct raw_stream){.base.user = user, .window = s->window, .offered_end = end};
	return &s->stream.base;
}

static void widen(struct session *s, struct session_stream *stream, uint32_t window)
{
	(void)stream;
	if (window > of(s)->stream.window)
		of(s)->stream.window = window;
}

/* Behind all bytes of our direction. */
static bool trailers(struct session *s, struct session_stream *stream, const struct http_head *head)
{
	const struct raw_session *raw = of(s);
	(void)head;
	if (raw->phase != RAW_BUSY || raw->stream.was_written)
		return false;
	offer(s, stream, raw->stream.offered, true);
	return true;
}

/* One direction or both have not ended: a clean end of the transport would say that they have. */
static void end_stream(struct raw_session *s)
{
	if (s->phase == RAW_BUSY && !(s->stream.was_read && s->stream.was_written))
		s->must_abort = true;
	s->phase = RAW_OVER;
	s->piece.length = 0;
}

static void reset(struct session *s, struct session_stream *stream, uint32_t code)
{
	(void)stream;
	(void)code;
	end_stream(of(s));
}

static void credit(struct session *s, struct session_stream *stream, size_t bytes)
{
	size_t *owed = &of(s)->stream.owed;
	(void)stream;
	*owed -= bytes < *owed ? bytes : *owed;
}

/* ---- the end ---- */

static void shutdown_session(struct session *session, usec now)
{
	struct raw_session *s = of(session);
	(void)now;
	if (s->phase != RAW_BUSY)
		s->phase = RAW_OVER;
}

static void terminate(struct session *session, uint32_t code, struct slice why)
{
	struct raw_session *s = of(session);
	(void)code;
	(void)why;
	end_stream(s);
	s->has_failed = true;
}

static bool is_done(const struct session *s)
{
	return of_const(s)->phase == RAW_OVER || of_const(s)->phase == RAW_FREE;
}

static bool has_finished(const struct session *session)
{
	const struct raw_session *s = of_const(session);
	return s->phase == RAW_BUSY && s->stream.was_written;
}

static bool must_abort(const struct session *s)
{
	return of_const(s)->must_abort;
}

static bool has_failed(const struct session *s)
{
	return of_const(s)->has_failed;
}

/* ---- questions ---- */

static struct session_peer peer(const struct session *s)
{
	return (struct session_peer){
	    .takes_streams = true,
	    .takes_tunnels = true,
	    .answers_expect = true,
	    .is_going_away = of_const(s)->phase == RAW_BUSY || of_const(s)->phase == RAW_OVER,
	};
}

static size_t describe(const struct session *session, char *buffer, size_t size)
{
	static const char *const phases[] = {"new", "free", "busy", "over"};
	const struct raw_session *s = of_const(session);
	int n = snprintf(buffer, size, "raw %s owed=%zu offered=%zu%s%s%s\n", phases[s->phase],
	    s->stream.owed, s->stream.offered, s->stream.was_read ? " read" : "",
	    s->stream.was_written ? " written" : "", s->has_failed ? " failed" : "");
	return (size_t)n < size ? (size_t)n : size ? size - 1 : 0;
}

static void check(const struct session *session)
{
	const struct raw_session *s = of_const(session);
	ensure(s->piece.length == 0 || s->phase == RAW_BUSY);
	ensure(!s->has_failed || s->phase == RAW_OVER);
	ensure(!s->stream.was_read || s->has_ended);
	ensure(!s->stream.was_written || (s->stream.offered == 0 && s->stream.offered_end));
}

static const struct session_ops raw_ops = {
    .name = "tcp",
    .capabilities = SESSION_TUNNELS,
    .free = free_session,
    .receive = receive,
    .next_event = next_event,
    .is_full = is_full,
    .ended = ended,
    .next_output = next_output,
    .wants_write = wants_write,
    .offer = offer,
    .request_room = request_room,
    .request_fits = request_fits,
    .request = request,
    .widen = widen,
    .trailers = trailers,
    .reset = reset,
    .credit = credit,
    .shutdown = shutdown_session,
    .terminate = terminate,
    .peer = peer,
    .is_done = is_done,
    .has_finished = has_finished,
    .must_abort = must_abort,
    .has_failed = has_failed,
    .describe = describe,
    .check = check,
};

/* ---- beginning ---- */

static struct session *begin(
    const void *config, const struct session_env *env, const struct session_conn *conn, usec now)
{
	const uint32_t *window = config;
	struct raw_session *s = memory_new(struct raw_session);
	(void)now;
	session_init(&s->session, &raw_ops, env, conn);
	s->window = *window;
	return &s->session;
}

static void *for_origin(const struct conf_origin *conf, bool push)
{
	uint32_t *window = memory_new(uint32_t);
	(void)push;
	*window = conf->stream_window_bytes;
	return window;
}

const struct session_protocol protocols_raw = {
    .alpn = "",
    .name = "TCP",
    .origin_capabilities = SESSION_TUNNELS,
    .for_origin = for_origin,
    .begin = begin,
};
