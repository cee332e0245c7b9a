/* SPDX-License-Identifier: MIT */
/* The codec as a session: the functions that its owner may call, its beginning and its end. */
#include "proxy/h1/h1_conn.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdio.h>

/* ---- input ---- */

/* Takes all bytes, and keeps a reference to the chunk while some of them have not been read. */
static size_t receive(
    struct session *session, struct chunk *chunk, size_t offset, size_t length, usec now)
{
	struct h1_conn *c = h1_of(session);
	c->now = now;
	c->now_is_old = false;
	if (c->reading != H1_READ_NOTHING)
		h1_input_add(c, chunk, offset, length);
	return length;
}

static void receive_end(struct session *session, bool is_clean)
{
	struct h1_conn *c = h1_of(session);
	c->input.was_cut |= !is_clean;
	if ((c->reading == H1_READ_TO_END || c->reading == H1_READ_TUNNEL) && !is_clean)
		return; /* it never ends then, and the owner finds that it is lost */
	c->input.has_ended = true;
}

/* To be asked when h1_next_event has returned false: bytes that are left then wait for credit, or for the
 * end of the present exchange. */
static bool is_full(const struct session *session)
{
	const struct h1_conn *c = h1_of(session);
	return c->reading != H1_READ_NOTHING && h1_input_bytes(c) > 0;
}

/* ---- the stream ---- */

static enum session_fit request_fits(
    const struct session *session, const struct http_head *head, bool end)
{
	bool is_tunnel = head->method_token == HTTP_METHOD_CONNECT; /* its bytes are no body */
	bool has_length = end || is_tunnel || head->content_length != HTTP_LENGTH_UNKNOWN;
	return has_length || !h1_of(session)->peer_is_old ? SESSION_FITS : SESSION_NEEDS_LENGTH;
}

/* A clean end of the transport would complete a response that only it can end, or a direction of a tunnel.
 * An origin should stop at once. */
static bool is_cut_off(const struct h1_conn *c)
{
	bool has_two_ends = c->role == H1_CLIENT || c->writing == H1_WRITE_TUNNEL;
	bool is_complete = c->stream.was_written && (!has_two_ends || c->stream.was_read);
	return c->stream.is_open && !is_complete && (has_two_ends || c->writing == H1_WRITE_TO_END);
}

/* The client was told that the connection goes on: skips the rest of a request whose response is
 * complete. False: the rest has not come. */
static bool skip_request(struct h1_conn *c)
{
	if (c->role == H1_CLIENT || !c->keeps || !c->stream.was_written || !h1_request_is_here(c))
		return false;
	if (c->reading == H1_READ_LENGTH)
		h1_input_skip(c, (size_t)c->body_left);
	c->reading = H1_READ_START;
	c->now_is_old = true;
	return true;
}

/* An incomplete message ends the connection; see must_abort. */
static void reset(struct session *session, struct session_stream *stream, uint32_t code)
{
	struct h1_conn *c = h1_of(session);
	(void)stream;
	(void)code;
	if (!c->stream.is_open)
		return;
	c->must_abort = c->must_abort || is_cut_off(c);
	bool goes_on = skip_request(c);
	h1_end_stream(c);
	if (!goes_on)
		h1_read_no_more(c);
}

static void credit(struct session *session, struct session_stream *stream, size_t bytes)
{
	struct h1_conn *c = h1_of(session);
	(void)stream;
	c->owed -= bytes < c->owed ? bytes : c->owed;
}

static void widen(struct session *session, struct session_stream *stream, uint32_t window)
{
	struct h1_conn *c = h1_of(session);
	(void)stream;
	if (window > c->window)
		c->window = window;
}

static void set_priority(
    struct session *session, struct session_stream *stream, struct http_priority priority)
{
	(void)stream;
	h1_of(session)->stream.priority = priority;
}

static struct http_priority priority_of(
    const struct session *session, const struct session_stream *stream)
{
	(void)stream;
	return h1_of(session)->stream.priority;
}

static bool has_finished(const struct session *session)
{
	const struct h1_conn *c = h1_of(session);
	return c->writing == H1_WRITE_TUNNEL && c->stream.was_written && h1_unsent_bytes(c) == 0;
}

/* ---- the end ---- */

static void shut_down(struct session *session, usec now)
{
	(void)now;
	h1_of(session)->is_going = true;
}

static void half_close(struct session *session, usec now)
{
	struct h1_conn *c = h1_of(session);
	(void)now;
	c->is_going = c->input.has_ended = true;
}

static void terminate(struct session *session, uint32_t code, struct slice why)
{
	struct h1_conn *c = h1_of(session);
	(void)code;
	(void)why;
	c->must_abort = c->must_abort || is_cut_off(c);
	c->has_failed = true;
	c->failure_is_due = false;
	h1_end_stream(c);
	h1_read_no_more(c);
}

static struct session_peer peer(const struct session *session)
{
	const struct h1_conn *c = h1_of(session);
	return (struct session_peer){
	    .takes_streams = true,
	    .takes_interim = h1_takes_interim(c),
	    .takes_tunnels = true,
	    .answers_expect = !c->peer_is_old,
	    .is_going_away = c->is_going || !c->keeps,
	    .unsent_bytes = h1_unsent_bytes(c),
	    .keepalive = c->peer_keepalive,
	};
}

static bool is_done(const struct session *session)
{
	const struct h1_conn *c = h1_of(session);
	if (c->has_failed)
		return true;
	if (c->stream.is_open || h1_input_bytes(c) > 0)
		return false;
	bool is_between = c->reading == H1_READ_START && c->is_going;
	return c->reading == H1_READ_NOTHING || is_between || c->input.has_ended;
}

static bool has_failed(const struct session *session)
{
	return h1_of(session)->has_failed;
}

static bool must_abort(const struct session *session)
{
	return h1_of(session)->must_abort;
}

/* ---- time ---- */

static bool waits_for_head(const struct h1_conn *c)
{
	return c->role == H1_SERVER && !c->is_late &&
	       (c->reading == H1_READ_START || c->reading == H1_READ_HEAD);
}

static usec deadline(const struct session *session)
{
	const struct h1_conn *c = h1_of(session);
	if (!waits_for_head(c) || c->head_since == USEC_NEVER ||
	    c->config->limits.head_timeout == 0)
		return USEC_NEVER;
	return c->head_since == 0 ? 1 : clock_after(c->head_since, c->config->limits.head_timeout);
}

static void tick(struct session *session, usec now)
{
	struct h1_conn *c = h1_of(session);
	c->now = now;
	c->now_is_old = false;
	if (deadline(session) > now)
		return;
	if (c->head_since == 0) {
		c->head_since = now;
	} else if (c->reading == H1_READ_HEAD) {
		c->is_late = true; /* it gets an answer: the next event says so */
	} else {
		h1_count_fault(c, h1_fault(HEAD_LATE));
		h1_fail(c, h1_fault(HEAD_LATE));
	}
}

/* ---- for people ---- */

static size_t describe(const struct session *session, char *buffer, size_t size)
{
	const struct h1_conn *c = h1_of(session);
	static const char *const readings[] = {
	    "start", "head", "length", "chunks", "trailers", "to-end", "tunnel", "done", "nothing"};
	int n =
	    snprintf(buffer, size, "http/1 %s reading=%s input=%zu owed=%zu unsent=%zu%s%s%s%s%s\n",
		c->role == H1_SERVER ? "server" : "client", readings[c->reading], h1_input_bytes(c),
		c->owed, h1_unsent_bytes(c), c->stream.is_open ? " stream" : "",
		c->stream.was_read ? " read" : "", c->stream.was_written ? " written" : "",
		c->keeps ? "" : " last", c->has_failed ? " failed" : "");
	size_t length = (size_t)n;
	if (length < size)
		return length;
	return size > 0 ? size - 1 : 0;
}

static void check(const struct session *session)
{
	const struct h1_conn *c = h1_of(session);
	const struct h1_input *in = &c->input;
	ensure(in->first + in->count <= in->capacity || in->capacity == 0);
	ensure(in->count == 0 || in->at.chunk);
	ensure(!c->body_follows || (c->stream.is_open && !c->stream.was_written));
	ensure(c->stream.is_open || (!c->stream.was_read && !c->stream.was_written));
	ensure(!c->failure_is_due || c->has_failed);
	ensure(!c->has_failed || c->reading == H1_READ_NOTHING);
	ensure(c->reading != H1_READ_NOTHING || !c->keeps);
	ensure(c->reading != H1_READ_START || c->stream.is_open || c->keeps);
	ensure(
	    c->role == H1_CLIENT || !c->has_failed || !c->stream.is_open || c->stream.has_answer);
	ensure(c->output.length <= c->output.capacity);
	ensure(in->head.length <= c->config->limits.head_bytes ||
	       in->head.length <= c->config->limits.trailer_bytes);
	ensure(c->reading != H1_READ_TO_END || c->role == H1_CLIENT);
	ensure(c->reading != H1_READ_TUNNEL || (c->stream.has_answer && !c->keeps));
	ensure(c->reading != H1_READ_TUNNEL || c->writing == H1_WRITE_TUNNEL);
	ensure(c->writing != H1_WRITE_HELD || c->role == H1_CLIENT);
}

/* ---- life ---- */

static void free_conn(struct session *session)
{
	struct h1_conn *c = h1_of(session);
	h1_input_fini(c);
	h1_buffer_free(&c->output);
	h1_buffer_free(&c->nominated);
	h1_buffer_free(&c->asked_protocol);
	budget_adjust(c->budget, &c->charged, 0);
	free(c);
}

static const struct session_ops ops = {
    .name = "http/1.1",
    .capabilities = H1_CAPABILITIES,
    .free = free_conn,
    .receive = receive,
    .next_event = h1_next_event,
    .is_full = is_full,
    .ended = receive_end,
    .next_output = h1_next_output,
    .wants_write = h1_wants_write,
    .offer = h1_offer,
    .request_room = h1_request_room,
    .request_fits = request_fits,
    .request = h1_request,
    .widen = widen,
    .respond = h1_respond,
    .set_priority = set_priority,
    .priority = priority_of,
    .trailers = h1_trailers,
    .reset = reset,
    .credit = credit,
    .shutdown = shut_down,
    .half_close = half_close,
    .terminate = terminate,
    .deadline = deadline,
    .tick = tick,
    .peer = peer,
    .is_done = is_done,
    .has_finished = has_finished,
    .must_abort = must_abort,
    .has_failed = has_failed,
    .describe = describe,
    .check = check,
};

struct session *h1_new(
    const void *config, const struct session_env *env, const struct session_conn *conn, usec now)
{
	struct h1_conn *c = memory_new(struct h1_conn);
	session_init(&c->session, &ops, env, conn);
	c->config = config;
	c->role = c->config->role;
	c->budget = conn->budget;
	c->is_tls = conn->is_tls;
	c->now = now;
	c->keeps = true;
	c->window = c->config->limits.window_bytes;
	c->head_since = c->role == H1_SERVER ? now : USEC_NEVER;
	return &c->session;
}
