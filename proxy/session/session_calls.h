/* SPDX-License-Identifier: MIT */
/* The calls of a session: one inline function for each member of struct session_ops. Part of session.h,
 * which includes it at its end. */
#ifndef PUSHGATE_SESSION_SESSION_CALLS_H
#define PUSHGATE_SESSION_SESSION_CALLS_H

#include "proxy/session/session.h"

static inline void session_free(struct session *s) /* NULL is fine */
{
	if (s)
		s->ops->free(s);
}

/* The protocol, as ALPN names it. */
static inline const char *session_name(const struct session *s)
{
	return s->ops->name;
}

static inline bool session_can(const struct session *s, enum session_capability what)
{
	return (s->ops->capabilities & what) != 0;
}

/* Returns how many bytes were consumed: all, or up to the first that caused an event. */
static inline size_t session_receive(
    struct session *s, struct chunk *chunk, size_t offset, size_t length, usec now)
{
	return s->ops->receive(s, chunk, offset, length, now);
}

static inline bool session_next_event(struct session *s, struct session_event *event)
{
	return s->ops->next_event(s, event);
}

/* Ask after each session_next_event that returned false: pause or resume the transport's reading. */
static inline bool session_is_full(const struct session *s)
{
	return s->ops->is_full && s->ops->is_full(s);
}

static inline void session_ended(struct session *s, bool is_clean)
{
	if (s->ops->ended)
		s->ops->ended(s, is_clean);
}

static inline bool session_has_finished(const struct session *s)
{
	return s->ops->has_finished && s->ops->has_finished(s);
}

/* The next bytes to send, at most `most` of them a body's. Those that it returns must be sent. False:
 * nothing can be sent now. */
static inline bool session_next_output(
    struct session *s, uint32_t most, struct session_output *output)
{
	return s->ops->next_output(s, most, output);
}

static inline bool session_wants_write(const struct session *s)
{
	return s->ops->wants_write(s);
}

/* The owner has `bytes` of body to send on the stream; end: nothing follows them. Replaces the
 * previous offer. */
static inline void session_offer(
    struct session *s, struct session_stream *stream, size_t bytes, bool end)
{
	s->ops->offer(s, stream, bytes, end);
}

static inline uint32_t session_request_room(const struct session *s)
{
	return s->ops->request_room(s);
}

static inline enum session_fit session_request_fits(
    const struct session *s, const struct http_head *head, bool end)
{
	return s->ops->request_fits(s, head, end);
}

/* NULL: there is no room, or a budget refuses. */
static inline struct session_stream *session_request(
    struct session *s, const struct http_head *head, bool end, void *user)
{
	return s->ops->request(s, head, end, user);
}

/* Tells the origin that pushes are no longer wanted. */
static inline void session_refuse_pushes(struct session *s, usec now)
{
	if (s->ops->refuse_pushes)
		s->ops->refuse_pushes(s, now);
}

static inline void session_widen(struct session *s, struct session_stream *stream, uint32_t window)
{
	s->ops->widen(s, stream, window);
}

/* Sends a PING; SESSION_EVENT_PONG follows. False: another one has not been answered yet. */
static inline bool session_ping(struct session *s, usec now)
{
	return s->ops->ping && s->ops->ping(s, now);
}

/* An interim or final response head. False: nothing was sent. */
static inline bool session_respond(
    struct session *s, struct session_stream *stream, const struct http_head *head, bool end)
{
	return s->ops->respond(s, stream, head, end);
}

/* NULL: not possible now. */
static inline struct session_stream *session_promise(
    struct session *s, struct session_stream *parent, const struct http_head *request, void *user)
{
	return s->ops->promise ? s->ops->promise(s, parent, request, user) : NULL;
}

/* How many pushed responses may begin now. */
static inline uint32_t session_push_room(const struct session *s)
{
	return s->ops->push_room ? s->ops->push_room(s) : 0;
}

static inline void session_set_priority(
    struct session *s, struct session_stream *stream, struct http_priority priority)
{
	s->ops->set_priority(s, stream, priority);
}

static inline struct http_priority session_priority(
    const struct session *s, const struct session_stream *stream)
{
	return s->ops->priority(s, stream);
}

/* After the whole body has left; ends our side of the stream, without the trailers when the session
 * does not have SESSION_TRAILERS. False: it has ended already, and nothing was sent. */
static inline bool session_trailers(
    struct session *s, struct session_stream *stream, const struct http_head *head)
{
	return s->ops->trailers(s, stream, session_can(s, SESSION_TRAILERS) ? head : NULL);
}

/* The handle is dead after it, and no event follows. */
static inline void session_reset(struct session *s, struct session_stream *stream, uint32_t code)
{
	s->ops->reset(s, stream, code);
}

/* The owner has dealt with these bytes of DATA events. */
static inline void session_credit(struct session *s, struct session_stream *stream, size_t bytes)
{
	s->ops->credit(s, stream, bytes);
}

static inline void session_set_user(struct session_stream *stream, void *user)
{
	stream->user = user;
}

/* Graceful: no new streams; those that are open go on. Idempotent. */
static inline void session_shutdown(struct session *s, usec now)
{
	s->ops->shutdown(s, now);
}

/* The client has ended its sending side in good order, and still reads: nothing of it is waited for.
 * Streams whose requests are whole go on; the owner resets the others. */
static inline void session_half_close(struct session *s, usec now)
{
	s->ops->half_close(s, now);
}

/* Ends the connection with this code; no event follows. The owner ends its exchanges itself. */
static inline void session_terminate(struct session *s, uint32_t code, struct slice why)
{
	s->ops->terminate(s, code, why);
}

static inline usec session_deadline(const struct session *s) /* USEC_NEVER: none */
{
	return s->ops->deadline ? s->ops->deadline(s) : USEC_NEVER;
}

static inline void session_tick(struct session *s, usec now)
{
	if (s->ops->tick)
		s->ops->tick(s, now);
}

static inline struct session_peer session_peer(const struct session *s)
{
	return s->ops->peer(s);
}

/* Leaves both as they are if the protocol has none. */
static inline void session_settings(
    const struct session *s, struct hop_settings *ours, struct hop_settings *theirs)
{
	if (s->ops->settings)
		s->ops->settings(s, ours, theirs);
}

/* Body bytes that flow control allows to send on the stream now. */
static inline uint32_t session_stream_window(
    const struct session *s, const struct session_stream *stream)
{
	return s->ops->stream_window ? s->ops->stream_window(s, stream) : UINT32_MAX;
}

static inline bool session_stream_is_shut(
    const struct session *s, const struct session_stream *stream)
{
	return s->ops->stream_is_shut && s->ops->stream_is_shut(s, stream);
}

/* No stream is left and none will come: the transport may be closed after the output has left. */
static inline bool session_is_done(const struct session *s)
{
	return s->ops->is_done(s);
}

static inline bool session_must_abort(const struct session *s)
{
	return s->ops->must_abort && s->ops->must_abort(s);
}

static inline bool session_has_failed(const struct session *s)
{
	return s->ops->has_failed(s);
}

/* From now on `traced` is for env->trace, see struct session_conn; NULL: it is not called. */
static inline void session_trace(struct session *s, void *traced)
{
	s->traced = traced;
}

/* One line for the connection and each stream. Returns the length. */
static inline size_t session_describe(const struct session *s, char *buffer, size_t size)
{
	return s->ops->describe(s, buffer, size);
}

/* Ensures every invariant of the session, for tests and fuzzing. */
static inline void session_check(const struct session *s)
{
	s->ops->check(s);
}

/* ---- for protocols ---- */

/* Begins the session's head. */
static inline void session_init(struct session *s, const struct session_ops *ops,
    const struct session_env *env, const struct session_conn *conn)
{
	*s = (struct session){.ops = ops, .env = env, .traced = conn->traced};
}

/* row: the fault's, in the protocol's own table. */
static inline void session_count_fault(
    const struct session *s, const struct session_fault *fault, size_t row)
{
	if (s->env->fault)
		s->env->fault(s->env->context, fault, s->first_fault + row);
}

#endif
