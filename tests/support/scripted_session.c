/* SPDX-License-Identifier: MIT */
/* See scripted_session.h. Written against session.h alone. */
#include "tests/support/scripted_inside.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static struct scripted *of(struct session *s)
{
	return (struct scripted *)s;
}

static const struct scripted *of_const(const struct session *s)
{
	return (const struct scripted *)s;
}

static void free_session(struct session *session)
{
	struct scripted *s = of(session);
	scripted_forget_events(s, NULL);
	list_for_each(&s->streams, stream, struct scripted_stream, link) scripted_stream_free(s, stream);
	free(s->out);
	free(s->lent);
	free(s);
}

static void offer(struct session *session, struct session_stream *handle, size_t bytes, bool end)
{
	struct scripted_stream *stream = (struct scripted_stream *)handle;
	(void)session;
	stream->offered = bytes;
	stream->offered_end = end;
}

/* ---- heads ---- */

static void say_fields(struct scripted *s, const struct http_head *head)
{
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->name.ptr[0] != ':')
			scripted_say(s, "|%.*s: %.*s", SLICE_ARG(f->name), SLICE_ARG(f->value));
	}
	scripted_say(s, "\n");
}

static void say_request(struct scripted *s, const struct http_head *head)
{
	scripted_say(s, "%.*s %.*s %.*s %.*s", SLICE_ARG(head->method), SLICE_ARG(head->scheme),
	    SLICE_ARG(head->authority), SLICE_ARG(head->path));
	say_fields(s, head);
}

/* ---- to an origin ---- */

static uint32_t request_room(const struct session *session)
{
	const struct scripted *s = of_const(session);
	uint32_t open = scripted_open_streams(s, true);
	uint32_t most = session_can(session, SESSION_MULTIPLEXES) ? s->peer_streams : 1;
	if (!s->is_ready || s->has_failed || s->going_away || s->goaway_came || open >= most)
		return 0;
	return most - open;
}

static enum session_fit request_fits(const struct session *session, const struct http_head *head, bool end)
{
	(void)session;
	(void)end;
	return http_head_list_bytes(head) < LINE_MOST / 2 ? SESSION_FITS : SESSION_HEAD_LARGE;
}

static struct session_stream *request(
    struct session *session, const struct http_head *head, bool end, void *user)
{
	struct scripted *s = of(session);
	struct scripted_stream *stream =
	    request_room(session) > 0 ? scripted_stream_new(s, s->next_id) : NULL;
	if (!stream)
		return NULL;
	s->next_id += 2;
	stream->base.user = user;
	stream->local_ended = end;
	scripted_say(s, "head %u%s ", stream->id, end ? "." : "");
	say_request(s, head);
	return &stream->base;
}

static void refuse_pushes(struct session *session, usec now)
{
	(void)now;
	scripted_say(of(session), "nopush\n");
}

static void widen(struct session *session, struct session_stream *handle, uint32_t window)
{
	struct scripted_stream *stream = (struct scripted_stream *)handle;
	if (window <= stream->widest)
		return;
	scripted_say(of(session), "credit %u %u\n", stream->id, window - stream->widest);
	stream->receive_window += window - stream->widest;
	stream->widest = window;
}

static bool ping(struct session *session, usec now)
{
	struct scripted *s = of(session);
	(void)now;
	if (s->is_pinging)
		return false;
	scripted_say(s, "ping\n");
	return s->is_pinging = true;
}

/* ---- to a client ---- */

static bool respond(
    struct session *session, struct session_stream *handle, const struct http_head *head, bool end)
{
	struct scripted_stream *stream = (struct scripted_stream *)handle;
	struct scripted *s = of(session);
	ensure(head->status >= 200 || session_can(session, SESSION_INTERIM) || head->status == 100);
	if (s->has_failed)
		return false;
	stream->has_begun = true;
	scripted_say(s, "head %u%s %u", stream->id, end ? "." : "", (unsigned)head->status);
	say_fields(s, head);
	if (end) {
		stream->local_ended = true;
		scripted_check_closed(s, stream);
	}
	return true;
}

static struct session_stream *promise(
    struct session *session, struct session_stream *handle, const struct http_head *head, void *user)
{
	struct scripted_stream *parent = (struct scripted_stream *)handle;
	struct scripted *s = of(session);
	ensure(session_can(session, SESSION_SENDS_PUSHES));
	struct scripted_stream *stream = s->has_failed ? NULL : scripted_stream_new(s, s->next_promise);
	if (!stream)
		return NULL;
	s->next_promise += 2;
	stream->base.user = user;
	stream->is_push = stream->remote_ended = true;
	scripted_say(s, "promise %u %u ", parent->id, stream->id);
	say_request(s, head);
	return &stream->base;
}

static uint32_t push_room(const struct session *session)
{
	const struct scripted *s = of_const(session);
	uint32_t open = scripted_open_streams(s, false);
	return s->has_failed || open >= s->peer_streams ? 0 : s->peer_streams - open;
}

static void set_priority(
    struct session *session, struct session_stream *handle, struct http_priority priority)
{
	struct scripted_stream *stream = (struct scripted_stream *)handle;
	(void)session;
	stream->priority = priority;
}

static struct http_priority priority(const struct session *session, const struct session_stream *handle)
{
	const struct scripted_stream *stream = (const struct scripted_stream *)handle;
	(void)session;
	return stream->priority;
}

/* ---- both ---- */

static bool trailers(struct session *session, struct session_stream *handle, const struct http_head *head)
{
	struct scripted_stream *stream = (struct scripted_stream *)handle;
	struct scripted *s = of(session);
	ensure(!head == !session_can(session, SESSION_TRAILERS));
	if (s->has_failed)
		return false;
	if (head) {
		scripted_say(s, "trailers %u", stream->id);
		say_fields(s, head);
	} else {
		scripted_say(s, "data %u. 0 \n", stream->id);
	}
	stream->local_ended = true;
	scripted_check_closed(s, stream);
	return true;
}

static void reset(struct session *session, struct session_stream *handle, uint32_t code)
{
	struct scripted_stream *stream = (struct scripted_stream *)handle;
	struct scripted *s = of(session);
	if (s->has_failed)
		return;
	scripted_say(s, "reset %u %u\n", stream->id, code);
	scripted_forget_events(s, stream);
	scripted_stream_free(s, stream);
}

static void credit(struct session *session, struct session_stream *handle, size_t bytes)
{
	struct scripted_stream *stream = (struct scripted_stream *)handle;
	struct scripted *s = of(session);
	if (s->has_failed || bytes == 0 || stream->remote_ended)
		return;
	stream->receive_window += (uint32_t)bytes;
	scripted_say(s, "credit %u %zu\n", stream->id, bytes);
}

static void shutdown_session(struct session *session, usec now)
{
	struct scripted *s = of(session);
	(void)now;
	if (s->going_away || s->has_failed)
		return;
	s->going_away = true;
	scripted_say(s, "goaway 0 %u\n", s->last_id);
}

static void terminate(struct session *session, uint32_t code, struct slice why)
{
	struct scripted *s = of(session);
	(void)why;
	if (s->has_failed)
		return;
	s->has_failed = true;
	scripted_forget_events(s, NULL);
	scripted_say(s, "goaway %u %u\n", code, s->last_id);
}

/* ---- time and questions ---- */

static usec deadline(const struct session *session)
{
	const struct scripted *s = of_const(session);
	if (s->is_ready || s->has_failed)
		return USEC_NEVER;
	return clock_after(s->begun, s->config->ready_timeout);
}

static void tick(struct session *session, usec now)
{
	if (deadline(session) <= now)
		scripted_fail(of(session), NOT_READY);
}

static struct session_peer peer(const struct session *session)
{
	const struct scripted *s = of_const(session);
	return (struct session_peer){
	    .takes_pushes = s->peer_takes_pushes,
	    .takes_streams = s->peer_streams > 0,
	    .takes_interim = true,
	    .answers_expect = true,
	    .is_going_away = s->going_away || s->goaway_came,
	    .goaway_came = s->goaway_came,
	    .unsent_bytes = s->out_bytes,
	};
}

static uint32_t stream_window(const struct session *session, const struct session_stream *handle)
{
	const struct scripted_stream *stream = (const struct scripted_stream *)handle;
	(void)session;
	return (uint32_t)stream->send_window;
}

static bool stream_is_shut(const struct session *session, const struct session_stream *handle)
{
	const struct scripted_stream *stream = (const struct scripted_stream *)handle;
	(void)session;
	return stream->send_window == 0;
}

static bool is_done(const struct session *session)
{
	const struct scripted *s = of_const(session);
	return s->has_failed || (list_is_empty(&s->streams) && (s->going_away || s->goaway_came));
}

static bool has_failed(const struct session *session)
{
	return of_const(session)->has_failed;
}

static size_t describe(const struct session *session, char *buffer, size_t size)
{
	const struct scripted *s = of_const(session);
	size_t n = (size_t)snprintf(buffer, size, "script/1 %s%s%s\n", s->is_ready ? "ready" : "new",
	    s->going_away ? " going" : "", s->has_failed ? " failed" : "");
	list_for_each(&s->streams, stream, struct scripted_stream, link) if (n < size) n +=
	    (size_t)snprintf(buffer + n, size - n, "  stream %u window %lld offered %zu\n",
		stream->id, (long long)stream->send_window, stream->offered);
	return n < size ? n : size;
}

static void check(const struct session *session)
{
	const struct scripted *s = of_const(session);
	list_for_each(&s->streams, stream, struct scripted_stream, link)
	{
		ensure(stream->id > 0 && stream->send_window >= 0);
		ensure(!stream->is_push || stream->id % 2 == 0);
	}
}

static const struct session_ops scripted_ops = {
    .name = "script/1",
    .free = free_session,
    .receive = scripted_receive,
    .next_event = scripted_next_event,
    .next_output = scripted_next_output,
    .wants_write = scripted_wants_write,
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
    .shutdown = shutdown_session,
    .half_close = shutdown_session,
    .terminate = terminate,
    .deadline = deadline,
    .tick = tick,
    .peer = peer,
    .stream_window = stream_window,
    .stream_is_shut = stream_is_shut,
    .is_done = is_done,
    .has_failed = has_failed,
    .describe = describe,
    .check = check,
};

/* ---- beginning ---- */

static unsigned capabilities_to_clients = SCRIPTED_EVERYTHING;
static unsigned capabilities_to_origins = SCRIPTED_EVERYTHING;

void scripted_can(unsigned to_clients, unsigned to_origins)
{
	capabilities_to_clients = to_clients;
	capabilities_to_origins = to_origins;
}

static void *for_clients(const struct conf_listen *conf)
{
	struct scripted_config *config = memory_new(struct scripted_config);
	*config = (struct scripted_config){
	    .ops = scripted_ops,
	    .is_server = true,
	    .streams = conf->max_concurrent_streams,
	    .window = conf->stream_window_bytes,
	    .ready_timeout = conf->preface_timeout,
	};
	config->ops.capabilities = capabilities_to_clients;
	return config;
}

static void *for_origin(const struct conf_origin *conf, bool push)
{
	struct scripted_config *config = memory_new(struct scripted_config);
	*config = (struct scripted_config){
	    .ops = scripted_ops,
	    .wants_pushes = push,
	    .streams = conf->max_concurrent_pushes,
	    .window = conf->stream_window_bytes,
	    .ready_timeout = USEC_PER_SEC * 60, /* settings-timeout is the data plane's */
	};
	config->ops.capabilities = capabilities_to_origins;
	return config;
}

static struct session *begin(const void *config, const struct session_env *env,
    const struct session_conn *conn, usec now)
{
	struct scripted *s = memory_new(struct scripted);
	s->config = config;
	session_init(&s->session, &s->config->ops, env, conn);
	s->conn = *conn;
	s->next_id = 1;
	s->next_promise = 2;
	s->begun = now;
	list_init(&s->streams);
	list_init(&s->events);
	if (!s->config->is_server)
		scripted_say(s, SCRIPTED_FIRST_LINE);
	scripted_say(s, "ready %u %u %u\n", s->config->streams, s->config->window, s->config->wants_pushes);
	return &s->session;
}

static enum protocols_match match(const uint8_t *bytes, size_t n)
{
	size_t most = strlen(SCRIPTED_FIRST_LINE), compared = n < most ? n : most;
	if (memcmp(bytes, SCRIPTED_FIRST_LINE, compared) != 0)
		return PROTOCOLS_MATCH_NO;
	return n < most ? PROTOCOLS_MATCH_MORE : PROTOCOLS_MATCH_YES;
}

const struct session_protocol session_scripted = {
    .alpn = "script/1",
    .name = "script/1",
    .origin_capabilities = SCRIPTED_EVERYTHING,
    .fault_name = scripted_fault_name,
    .match = match,
    .for_clients = for_clients,
    .for_origin = for_origin,
    .begin = begin,
};
