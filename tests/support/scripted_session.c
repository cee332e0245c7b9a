/* SPDX-License-Identifier: MIT */
/* See scripted_session.h. Written against session.h alone. */
#include "tests/support/scripted_session.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_MOST 8192u
#define FRAME_MOST 1024u
#define PARTS_MOST 8u

struct session_config {
	struct session_ops ops; /* with the capabilities */
	bool is_server, wants_pushes;
	uint32_t streams, window;
	usec ready_timeout;
};

struct session_stream {
	struct list link; /* in streams */
	void *user;
	uint32_t id, receive_window, widest;
	int64_t send_window;
	size_t offered;
	struct http_priority priority;
	bool offered_end, local_ended, remote_ended;
	bool is_push, has_begun; /* has_begun: its first head was sent, or came */
	bool is_over;            /* its last event waits */
};

struct waiting_event {
	struct list link;
	struct session_event event;
};

struct scripted {
	struct session session;
	const struct session_config *config;
	const struct session_env *env;
	struct session_conn conn;
	size_t first_fault;
	struct list streams, events;
	struct session_stream *buried_next; /* its last event has been handed out */
	/* input */
	char line[LINE_MOST];
	size_t line_bytes, spaces;
	bool in_payload, payload_ends;
	size_t payload_left;
	struct session_stream *payload_stream; /* NULL: forgotten */
	/* output */
	char *out;
	size_t out_bytes, out_room;
	/* the peer */
	bool is_ready, peer_takes_pushes, going_away, goaway_came, has_failed, is_pinging;
	uint32_t peer_streams, peer_window, last_id, next_id, next_promise;
	usec begun;
};

static struct scripted *of(struct session *s)
{
	return (struct scripted *)s;
}

static const struct scripted *of_const(const struct session *s)
{
	return (const struct scripted *)s;
}

/* ---- faults ---- */

enum row { UNKNOWN_FRAME, UNKNOWN_STREAM, MALFORMED_HEAD, WINDOW_EXCEEDED, NOT_READY, TOO_LONG, ONE_AT_A_TIME };

static const struct session_fault rows[] = {
    [UNKNOWN_FRAME] = {"script-unknown-frame", "The line is no frame.", 1, 0, false},
    [UNKNOWN_STREAM] = {"script-unknown-stream", "The stream was never opened.", 1, 0, false},
    [MALFORMED_HEAD] = {"script-malformed-head", "The head is malformed.", 1, 0, false},
    [WINDOW_EXCEEDED] = {"script-window-exceeded", "More bytes came than the window lets in.", 3, 0, false},
    [NOT_READY] = {"script-not-ready", "The ready line did not come in time.", 4, 0, false},
    [TOO_LONG] = {"script-line-too-long", "The line is too long.", 11, 0, true},
    [ONE_AT_A_TIME] = {"script-one-at-a-time", "A second request came before the first was over.", 1, 0, false},
};

static const char *fault_name(size_t row)
{
	return row < sizeof(rows) / sizeof(rows[0]) ? rows[row].name : NULL;
}

static struct session_fault fault_of(const struct scripted *s, enum row row)
{
	struct session_fault f = rows[row];
	f.index = s->first_fault + row;
	return f;
}

/* ---- output ---- */

static void append(struct scripted *s, const char *text, size_t n)
{
	if (s->out_bytes + n > s->out_room) {
		s->out_room = (s->out_bytes + n) * 2;
		s->out = realloc(s->out, s->out_room);
		ensure(s->out);
	}
	memcpy(s->out + s->out_bytes, text, n);
	s->out_bytes += n;
}

__attribute__((format(printf, 2, 3))) static void say(struct scripted *s, const char *format, ...)
{
	char text[LINE_MOST];
	va_list list;
	va_start(list, format);
	int n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	ensure(n > 0 && (size_t)n < sizeof(text));
	append(s, text, (size_t)n);
	if (s->conn.traced)
		s->env->trace(s->conn.traced, text);
}

static void say_fields(struct scripted *s, const struct http_head *head)
{
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->name.ptr[0] != ':')
			say(s, "|%.*s: %.*s", SLICE_ARG(f->name), SLICE_ARG(f->value));
	}
	append(s, "\n", 1);
}

static void say_request(struct scripted *s, const struct http_head *head)
{
	say(s, "%.*s %.*s %.*s %.*s", SLICE_ARG(head->method), SLICE_ARG(head->scheme),
	    SLICE_ARG(head->authority), SLICE_ARG(head->path));
	say_fields(s, head);
}

/* ---- events ---- */

static struct session_event *event_new(
    struct scripted *s, enum session_event_kind kind, struct session_stream *stream)
{
	struct waiting_event *w = memory_new(struct waiting_event);
	w->event.kind = kind;
	w->event.stream = stream;
	list_append(&s->events, &w->link);
	return &w->event;
}

static void event_free(struct waiting_event *w)
{
	http_head_free(w->event.head);
	list_remove(&w->link);
	free(w);
}

static void forget_events(struct scripted *s, const struct session_stream *stream)
{
	list_for_each(&s->events, w, struct waiting_event, link)
	{
		if (!stream || w->event.stream == stream || w->event.promised == stream)
			event_free(w);
	}
}

/* ---- streams ---- */

static struct session_stream *stream_new(struct scripted *s, uint32_t id)
{
	if (!budget_take(s->conn.budget, sizeof(struct session_stream)))
		return NULL;
	struct session_stream *stream = memory_new(struct session_stream);
	stream->id = id;
	stream->send_window = s->peer_window;
	stream->receive_window = stream->widest = s->config->window;
	stream->priority = HTTP_PRIORITY_DEFAULT;
	list_append(&s->streams, &stream->link);
	return stream;
}

static void stream_free(struct scripted *s, struct session_stream *stream)
{
	if (s->payload_stream == stream)
		s->payload_stream = NULL;
	list_remove(&stream->link);
	budget_give(s->conn.budget, sizeof(*stream));
	free(stream);
}

static struct session_stream *find(struct scripted *s, uint32_t id)
{
	list_for_each(&s->streams, stream, struct session_stream, link)
	{
		if (stream->id == id && !stream->is_over)
			return stream;
	}
	return NULL;
}

/* Streams that this side (odd: the client's) has opened, and that count. */
static uint32_t open_streams(const struct scripted *s, bool odd)
{
	uint32_t n = 0;
	list_for_each(&s->streams, stream, struct session_stream, link) n +=
	    !stream->is_over && (stream->id % 2 == 1) == odd && (!stream->is_push || stream->has_begun);
	return n;
}

static void bury(struct scripted *s)
{
	if (s->buried_next)
		stream_free(s, s->buried_next);
	s->buried_next = NULL;
}

static void check_closed(struct scripted *s, struct session_stream *stream)
{
	if (stream->is_over || !stream->local_ended || !stream->remote_ended)
		return;
	stream->is_over = true;
	event_new(s, SESSION_EVENT_CLOSED, stream);
}

static void stream_reset(struct scripted *s, struct session_stream *stream, uint32_t code, bool unprocessed)
{
	stream->is_over = true;
	struct session_event *e = event_new(s, SESSION_EVENT_RESET, stream);
	e->code = code;
	e->unprocessed = unprocessed;
}

/* ---- what a peer does wrong ---- */

static void fail(struct scripted *s, enum row row)
{
	if (s->has_failed)
		return;
	const struct session_fault fault = fault_of(s, row);
	s->has_failed = true;
	s->env->fault(s->env->context, &fault);
	say(s, "goaway %u %u\n", fault.code, s->last_id);
	struct session_event *e = event_new(s, SESSION_EVENT_FAILED, NULL);
	e->code = fault.code;
	e->fault_room = fault;
	e->fault = &e->fault_room;
}

static void stream_fault(struct scripted *s, struct session_stream *stream, enum row row, const char *reason)
{
	const struct session_fault fault = fault_of(s, row);
	s->env->fault(s->env->context, &fault);
	say(s, "reset %u %u\n", stream->id, fault.code);
	stream_reset(s, stream, fault.code, false);
	struct session_event *e = &container_of(s->events.prev, struct waiting_event, link)->event;
	e->fault_room = fault;
	e->fault = &e->fault_room;
	e->reason = reason;
}

/* ---- frames ---- */

struct frame {
	char *parts[PARTS_MOST];
	size_t count;
	char *fields; /* behind the first bar; NULL: none */
	uint32_t id;
	bool ends;
};

static uint32_t number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

static void split(char *line, struct frame *f)
{
	char *save;
	f->fields = strchr(line, '|');
	if (f->fields)
		*f->fields++ = '\0';
	for (char *p = strtok_r(line, " ", &save); p && f->count < PARTS_MOST; p = strtok_r(NULL, " ", &save))
		f->parts[f->count++] = p;
	if (f->count < 2)
		return;
	f->id = number(f->parts[1]);
	f->ends = strchr(f->parts[1], '.') != NULL;
}

static void add_fields(struct http_head *head, char *fields)
{
	char *save;
	for (char *p = fields ? strtok_r(fields, "|", &save) : NULL; p; p = strtok_r(NULL, "|", &save)) {
		char *colon = strchr(p, ':');
		if (!colon)
			continue;
		*colon = '\0';
		http_head_add(head, slice_of_string(p), slice_trim(slice_of_string(colon + 1)));
	}
}

/* From the part `first` on; NULL with *wrong: it is malformed. */
static struct http_head *head_of(
    struct scripted *s, struct frame *f, size_t first, enum http_head_kind kind, const char **wrong)
{
	static const char *const request[] = {":method", ":scheme", ":authority", ":path"};
	struct http_head *head = http_head_new(s->env->heads);
	bool is_response = kind == HTTP_RESPONSE;
	for (size_t i = first; i < f->count && i - first < 4 && kind != HTTP_TRAILERS; i++)
		http_head_add(head, slice_of_string(is_response ? ":status" : request[i - first]),
		    slice_of_string(f->parts[i]));
	add_fields(head, f->fields);
	*wrong = http_head_validate(head, kind);
	if (!*wrong)
		return head;
	http_head_free(head);
	return NULL;
}

static bool was_opened(const struct scripted *s, uint32_t id)
{
	bool is_own = (id % 2 == 0) == s->config->is_server;
	if (!is_own)
		return id > 0 && id <= s->last_id;
	return id < (id % 2 ? s->next_id : s->next_promise);
}

static void ready_frame(struct scripted *s, struct frame *f)
{
	if (f->count < 4 || s->is_ready) {
		fail(s, UNKNOWN_FRAME);
		return;
	}
	s->is_ready = true;
	s->peer_streams = f->id;
	s->peer_window = number(f->parts[2]);
	s->peer_takes_pushes = number(f->parts[3]) != 0;
	event_new(s, SESSION_EVENT_READY, NULL);
}

static void request_frame(struct scripted *s, struct frame *f)
{
	const char *wrong;
	bool is_single = !(s->session.ops->capabilities & SESSION_MULTIPLEXES);
	if (f->id <= s->last_id || f->id % 2 == 0) {
		fail(s, UNKNOWN_STREAM);
		return;
	}
	if (is_single && open_streams(s, true) > 0) {
		fail(s, ONE_AT_A_TIME);
		return;
	}
	struct session_stream *stream = s->going_away ? NULL : stream_new(s, f->id);
	if (!stream) {
		say(s, "reset %u %u\n", f->id, SESSION_REFUSED_STREAM);
		return;
	}
	s->last_id = f->id;
	struct http_head *head = head_of(s, f, 2, HTTP_REQUEST, &wrong);
	if (!head) {
		stream_fault(s, stream, MALFORMED_HEAD, wrong);
		return;
	}
	stream->remote_ended = f->ends;
	struct session_event *e = event_new(s, SESSION_EVENT_HEAD, stream);
	e->head = head;
	e->end = f->ends;
}

static void response_frame(struct scripted *s, struct frame *f, struct session_stream *stream)
{
	const char *wrong;
	struct http_head *head = head_of(s, f, 2, HTTP_RESPONSE, &wrong);
	if (!head) {
		stream_fault(s, stream, MALFORMED_HEAD, wrong);
		return;
	}
	stream->has_begun = true;
	stream->remote_ended = f->ends;
	struct session_event *e = event_new(s, SESSION_EVENT_HEAD, stream);
	e->head = head;
	e->end = f->ends;
	check_closed(s, stream);
}

/* The frame's stream; NULL: it is over, or the connection is. */
static struct session_stream *stream_of(struct scripted *s, const struct frame *f)
{
	struct session_stream *stream = find(s, f->id);
	if (!stream && !was_opened(s, f->id))
		fail(s, UNKNOWN_STREAM);
	return stream;
}

static void head_frame(struct scripted *s, struct frame *f)
{
	if (s->config->is_server) {
		request_frame(s, f);
		return;
	}
	struct session_stream *stream = stream_of(s, f);
	if (stream)
		response_frame(s, f, stream);
}

static void trailers_frame(struct scripted *s, struct frame *f)
{
	const char *wrong;
	struct session_stream *stream = stream_of(s, f);
	if (!stream)
		return;
	struct http_head *head = head_of(s, f, 2, HTTP_TRAILERS, &wrong);
	if (!head) {
		stream_fault(s, stream, MALFORMED_HEAD, wrong);
		return;
	}
	stream->remote_ended = true;
	event_new(s, SESSION_EVENT_TRAILERS, stream)->head = head;
	check_closed(s, stream);
}

static void promise_frame(struct scripted *s, struct frame *f)
{
	const char *wrong;
	bool may = (s->session.ops->capabilities & SESSION_TAKES_PUSHES) && !s->config->is_server;
	uint32_t id = f->count > 2 ? number(f->parts[2]) : 0;
	if (!may || id % 2 == 1 || id <= s->last_id) {
		fail(s, UNKNOWN_FRAME);
		return;
	}
	struct session_stream *parent = stream_of(s, f), *promised;
	s->last_id = id;
	if (s->has_failed)
		return;
	promised = parent && s->config->wants_pushes ? stream_new(s, id) : NULL;
	if (!promised) {
		say(s, "reset %u %u\n", id, SESSION_CANCEL);
		return;
	}
	struct http_head *head = head_of(s, f, 3, HTTP_PROMISE, &wrong);
	struct session_event *e = event_new(s, SESSION_EVENT_PROMISE, parent);
	if (!head) {
		e->fault_room = fault_of(s, MALFORMED_HEAD);
		e->fault = &e->fault_room;
		e->reason = wrong;
		s->env->fault(s->env->context, e->fault);
		say(s, "reset %u %u\n", id, e->fault->code);
		stream_free(s, promised);
		return;
	}
	promised->is_push = promised->local_ended = true;
	e->promised = promised;
	e->head = head;
}

static void reset_frame(struct scripted *s, struct frame *f)
{
	struct session_stream *stream = stream_of(s, f);
	uint32_t code = f->count > 2 ? number(f->parts[2]) : 0;
	if (stream)
		stream_reset(s, stream, code, code == SESSION_REFUSED_STREAM);
}

static void credit_frame(struct scripted *s, struct frame *f)
{
	struct session_stream *stream = stream_of(s, f);
	if (stream && f->count > 2)
		stream->send_window += number(f->parts[2]);
}

static void ping_frame(struct scripted *s, struct frame *f)
{
	(void)f;
	say(s, "pong\n");
}

static void pong_frame(struct scripted *s, struct frame *f)
{
	(void)f;
	s->is_pinging = false;
	event_new(s, SESSION_EVENT_PONG, NULL);
}

static void nopush_frame(struct scripted *s, struct frame *f)
{
	(void)f;
	s->peer_takes_pushes = false;
}

static void goaway_frame(struct scripted *s, struct frame *f)
{
	uint32_t last = f->count > 2 ? number(f->parts[2]) : 0;
	s->goaway_came = true;
	event_new(s, SESSION_EVENT_GOAWAY, NULL)->code = f->id;
	list_for_each(&s->streams, stream, struct session_stream, link)
	{
		bool is_own = (stream->id % 2 == 0) == s->config->is_server;
		if (is_own && stream->id > last && !stream->is_over)
			stream_reset(s, stream, SESSION_REFUSED_STREAM, true);
	}
}

static const struct {
	const char *verb;
	void (*take)(struct scripted *s, struct frame *f);
} frames[] = {
    {"ready", ready_frame},
    {"head", head_frame},
    {"trailers", trailers_frame},
    {"promise", promise_frame},
    {"reset", reset_frame},
    {"credit", credit_frame},
    {"ping", ping_frame},
    {"pong", pong_frame},
    {"nopush", nopush_frame},
    {"goaway", goaway_frame},
};

static void take_line(struct scripted *s)
{
	struct frame f = {.count = 0};
	s->line[s->line_bytes] = '\0';
	if (s->conn.traced)
		s->env->trace(s->conn.traced, s->line);
	s->line_bytes = s->spaces = 0;
	if (s->config->is_server && strcmp(s->line, "script/1") == 0)
		return;
	split(s->line, &f);
	for (size_t i = 0; f.count > 0 && i < sizeof(frames) / sizeof(frames[0]); i++)
		if (strcmp(f.parts[0], frames[i].verb) == 0) {
			frames[i].take(s, &f);
			return;
		}
	fail(s, UNKNOWN_FRAME);
}

/* ---- input ---- */

/* "data 1. 5 " has come. */
static void begin_payload(struct scripted *s)
{
	struct frame f = {.count = 0};
	s->line[s->line_bytes] = '\0';
	s->line_bytes = s->spaces = 0;
	split(s->line, &f);
	struct session_stream *stream = stream_of(s, &f);
	s->payload_left = number(f.parts[2]);
	s->payload_ends = f.ends;
	s->payload_stream = stream;
	s->in_payload = true;
	if (!stream)
		return;
	if (s->payload_left > stream->receive_window) {
		fail(s, WINDOW_EXCEEDED);
		return;
	}
	stream->receive_window -= (uint32_t)s->payload_left;
	if (s->payload_left == 0 && f.ends) {
		stream->remote_ended = true;
		event_new(s, SESSION_EVENT_DATA, stream)->end = true;
		check_closed(s, stream);
	}
}

static size_t take_payload(struct scripted *s, struct chunk *chunk, size_t offset, size_t length)
{
	size_t n = length < s->payload_left ? length : s->payload_left;
	struct session_stream *stream = s->payload_stream;
	s->payload_left -= n;
	if (!stream || stream->is_over)
		return n;
	struct session_event *e = event_new(s, SESSION_EVENT_DATA, stream);
	e->piece = (struct piece){chunk, (uint32_t)offset, (uint32_t)n};
	e->end = s->payload_left == 0 && s->payload_ends;
	stream->remote_ended = e->end;
	check_closed(s, stream);
	return n;
}

static void take_byte(struct scripted *s, char byte)
{
	if (s->in_payload) { /* the newline behind it */
		s->in_payload = false;
		if (byte != '\n')
			fail(s, UNKNOWN_FRAME);
		return;
	}
	if (byte == '\n') {
		take_line(s);
		return;
	}
	if (s->line_bytes + 1 >= LINE_MOST) {
		fail(s, TOO_LONG);
		return;
	}
	s->line[s->line_bytes++] = byte;
	s->spaces += byte == ' ';
	if (s->spaces == 3 && byte == ' ' && strncmp(s->line, "data ", 5) == 0)
		begin_payload(s);
}

static size_t receive(
    struct session *session, struct chunk *chunk, size_t offset, size_t length, usec now)
{
	struct scripted *s = of(session);
	size_t used = 0;
	(void)now;
	bury(s);
	while (used < length && list_is_empty(&s->events) && !s->has_failed) {
		if (s->in_payload && s->payload_left > 0)
			used += take_payload(s, chunk, offset + used, length - used);
		else
			take_byte(s, (char)chunk->data[offset + used++]);
	}
	return s->has_failed ? length : used;
}

static bool next_event(struct session *session, struct session_event *event)
{
	struct scripted *s = of(session);
	bury(s);
	struct waiting_event *w = list_first(&s->events, struct waiting_event, link);
	if (!w)
		return false;
	*event = w->event;
	w->event.head = NULL;
	event_free(w);
	if (event->fault)
		event->fault = &event->fault_room;
	if (event->stream)
		event->user = event->stream->user;
	if (event->kind == SESSION_EVENT_RESET || event->kind == SESSION_EVENT_CLOSED)
		s->buried_next = event->stream;
	return true;
}

static void free_session(struct session *session)
{
	struct scripted *s = of(session);
	forget_events(s, NULL);
	list_for_each(&s->streams, stream, struct session_stream, link) stream_free(s, stream);
	free(s->out);
	free(s);
}

/* ---- filling a send ---- */

static struct session_stream *sendable(const struct scripted *s)
{
	list_for_each(&s->streams, stream, struct session_stream, link)
	{
		if (s->has_failed || stream->is_over || stream->local_ended || !stream->user)
			continue;
		if ((stream->offered > 0 && stream->send_window > 0) ||
		    (stream->offered == 0 && stream->offered_end))
			return stream;
	}
	return NULL;
}

/* The stream may be gone after its owner has been told. */
static void put_data(struct scripted *s, struct session_stream *stream, struct net_out *out)
{
	char header[64];
	void *user = stream->user;
	size_t n = stream->offered < FRAME_MOST ? stream->offered : FRAME_MOST;
	if ((int64_t)n > stream->send_window && n > 0)
		n = (size_t)stream->send_window;
	stream->offered -= n;
	stream->send_window -= (int64_t)n;
	bool end = stream->offered == 0 && stream->offered_end;
	int size = snprintf(header, sizeof(header), "data %u%s %zu ", stream->id, end ? "." : "", n);
	net_out_copy(out, header, (size_t)size);
	if (end) {
		stream->local_ended = true;
		check_closed(s, stream);
	}
	size_t left = n;
	do {
		struct piece p = {NULL, 0, 0};
		if (left > 0)
			p = s->env->front(user, left);
		if (p.length > 0)
			net_out_piece(out, p);
		left -= p.length;
		s->env->taken(user, p.length, left == 0 && end);
	} while (left > 0);
	net_out_copy(out, "\n", 1);
}

static bool fill(struct session *session, struct net_out *out)
{
	struct scripted *s = of(session);
	bool any = false;
	bury(s);
	while (net_out_room(out) > 0) {
		struct session_stream *stream = sendable(s);
		if (s->out_bytes > 0) {
			net_out_copy(out, s->out, s->out_bytes);
			s->out_bytes = 0;
		} else if (stream) {
			put_data(s, stream, out);
		} else {
			break;
		}
		any = true;
	}
	return any;
}

static bool wants_write(const struct session *session)
{
	return of_const(session)->out_bytes > 0 || sendable(of_const(session));
}

static void offer(struct session *session, struct session_stream *stream, size_t bytes, bool end)
{
	(void)session;
	stream->offered = bytes;
	stream->offered_end = end;
}

/* ---- to an origin ---- */

static uint32_t request_room(const struct session *session)
{
	const struct scripted *s = of_const(session);
	uint32_t open = open_streams(s, true);
	uint32_t most = session_can(session, SESSION_MULTIPLEXES) ? s->peer_streams : 1;
	if (!s->is_ready || s->has_failed || s->going_away || s->goaway_came || open >= most)
		return 0;
	return most - open;
}

static bool request_fits(const struct session *session, const struct http_head *head)
{
	(void)session;
	return http_head_list_bytes(head) < LINE_MOST / 2;
}

static struct session_stream *request(
    struct session *session, const struct http_head *head, bool end, void *user)
{
	struct scripted *s = of(session);
	struct session_stream *stream =
	    request_room(session) > 0 ? stream_new(s, s->next_id) : NULL;
	if (!stream)
		return NULL;
	s->next_id += 2;
	stream->user = user;
	stream->local_ended = end;
	say(s, "head %u%s ", stream->id, end ? "." : "");
	say_request(s, head);
	return stream;
}

static void refuse_pushes(struct session *session, usec now)
{
	(void)now;
	say(of(session), "nopush\n");
}

static void widen(struct session *session, struct session_stream *stream, uint32_t window)
{
	if (window <= stream->widest)
		return;
	say(of(session), "credit %u %u\n", stream->id, window - stream->widest);
	stream->receive_window += window - stream->widest;
	stream->widest = window;
}

static bool ping(struct session *session, usec now)
{
	struct scripted *s = of(session);
	(void)now;
	if (s->is_pinging)
		return false;
	say(s, "ping\n");
	return s->is_pinging = true;
}

/* ---- to a client ---- */

static bool respond(
    struct session *session, struct session_stream *stream, const struct http_head *head, bool end)
{
	struct scripted *s = of(session);
	ensure(head->status >= 200 || session_can(session, SESSION_INTERIM) || head->status == 100);
	if (s->has_failed)
		return false;
	stream->has_begun = true;
	say(s, "head %u%s %u", stream->id, end ? "." : "", (unsigned)head->status);
	say_fields(s, head);
	if (end) {
		stream->local_ended = true;
		check_closed(s, stream);
	}
	return true;
}

static struct session_stream *promise(
    struct session *session, struct session_stream *parent, const struct http_head *head, void *user)
{
	struct scripted *s = of(session);
	ensure(session_can(session, SESSION_SENDS_PUSHES));
	struct session_stream *stream = s->has_failed ? NULL : stream_new(s, s->next_promise);
	if (!stream)
		return NULL;
	s->next_promise += 2;
	stream->user = user;
	stream->is_push = stream->remote_ended = true;
	say(s, "promise %u %u ", parent->id, stream->id);
	say_request(s, head);
	return stream;
}

static uint32_t push_room(const struct session *session)
{
	const struct scripted *s = of_const(session);
	uint32_t open = open_streams(s, false);
	return s->has_failed || open >= s->peer_streams ? 0 : s->peer_streams - open;
}

static void set_priority(
    struct session *session, struct session_stream *stream, struct http_priority priority)
{
	(void)session;
	stream->priority = priority;
}

static struct http_priority priority(const struct session *session, const struct session_stream *stream)
{
	(void)session;
	return stream->priority;
}

/* ---- both ---- */

static void trailers(struct session *session, struct session_stream *stream, const struct http_head *head)
{
	struct scripted *s = of(session);
	ensure(!head == !session_can(session, SESSION_TRAILERS));
	if (s->has_failed)
		return;
	if (head) {
		say(s, "trailers %u", stream->id);
		say_fields(s, head);
	} else {
		say(s, "data %u. 0 \n", stream->id);
	}
	stream->local_ended = true;
	check_closed(s, stream);
}

static void reset(struct session *session, struct session_stream *stream, uint32_t code)
{
	struct scripted *s = of(session);
	if (s->has_failed)
		return;
	say(s, "reset %u %u\n", stream->id, code);
	forget_events(s, stream);
	stream_free(s, stream);
}

static void credit(struct session *session, struct session_stream *stream, size_t bytes)
{
	struct scripted *s = of(session);
	if (s->has_failed || bytes == 0 || stream->remote_ended)
		return;
	stream->receive_window += (uint32_t)bytes;
	say(s, "credit %u %zu\n", stream->id, bytes);
}

static void set_user(struct session *session, struct session_stream *stream, void *user)
{
	(void)session;
	stream->user = user;
}

static void shutdown_session(struct session *session, usec now)
{
	struct scripted *s = of(session);
	(void)now;
	if (s->going_away || s->has_failed)
		return;
	s->going_away = true;
	say(s, "goaway 0 %u\n", s->last_id);
}

static void terminate(struct session *session, uint32_t code, struct slice why)
{
	struct scripted *s = of(session);
	(void)why;
	if (s->has_failed)
		return;
	s->has_failed = true;
	forget_events(s, NULL);
	say(s, "goaway %u %u\n", code, s->last_id);
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
		fail(of(session), NOT_READY);
}

static struct session_peer peer(const struct session *session)
{
	const struct scripted *s = of_const(session);
	return (struct session_peer){
	    .takes_pushes = s->peer_takes_pushes,
	    .takes_streams = s->peer_streams > 0,
	    .is_going_away = s->going_away || s->goaway_came,
	    .unsent_bytes = s->out_bytes,
	};
}

static uint32_t stream_window(const struct session *session, const struct session_stream *stream)
{
	(void)session;
	return (uint32_t)stream->send_window;
}

static bool stream_is_shut(const struct session *session, const struct session_stream *stream)
{
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
	list_for_each(&s->streams, stream, struct session_stream, link) if (n < size) n +=
	    (size_t)snprintf(buffer + n, size - n, "  stream %u window %lld offered %zu\n",
		stream->id, (long long)stream->send_window, stream->offered);
	return n < size ? n : size;
}

static void check(const struct session *session)
{
	const struct scripted *s = of_const(session);
	list_for_each(&s->streams, stream, struct session_stream, link)
	{
		ensure(stream->id > 0 && stream->send_window >= 0);
		ensure(!stream->is_push || stream->id % 2 == 0);
	}
}

static const struct session_ops scripted_ops = {
    .name = "script/1",
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

static struct session_config *for_clients(const struct conf_listen *conf)
{
	struct session_config *config = memory_new(struct session_config);
	*config = (struct session_config){
	    .ops = scripted_ops,
	    .is_server = true,
	    .streams = conf->max_concurrent_streams,
	    .window = conf->stream_window_bytes,
	    .ready_timeout = conf->preface_timeout,
	};
	config->ops.capabilities = capabilities_to_clients;
	return config;
}

static struct session_config *for_origin(const struct conf_origin *conf, bool push)
{
	struct session_config *config = memory_new(struct session_config);
	*config = (struct session_config){
	    .ops = scripted_ops,
	    .wants_pushes = push,
	    .streams = conf->max_concurrent_pushes,
	    .window = conf->stream_window_bytes,
	    .ready_timeout = USEC_PER_SEC * 60, /* settings-timeout is the data plane's */
	};
	config->ops.capabilities = capabilities_to_origins;
	return config;
}

static struct session *begin(const struct session_plan *plan, const struct session_env *env,
    const struct session_conn *conn, usec now)
{
	struct scripted *s = memory_new(struct scripted);
	s->session.ops = &plan->config->ops;
	s->config = plan->config;
	s->env = env;
	s->conn = *conn;
	s->first_fault = plan->first_fault;
	s->next_id = 1;
	s->next_promise = 2;
	s->begun = now;
	list_init(&s->streams);
	list_init(&s->events);
	if (!s->config->is_server)
		say(s, SCRIPTED_FIRST_LINE);
	say(s, "ready %u %u %u\n", s->config->streams, s->config->window, s->config->wants_pushes);
	return &s->session;
}

static enum session_match match(const uint8_t *bytes, size_t n)
{
	size_t most = strlen(SCRIPTED_FIRST_LINE), compared = n < most ? n : most;
	if (memcmp(bytes, SCRIPTED_FIRST_LINE, compared) != 0)
		return SESSION_MATCH_NO;
	return n < most ? SESSION_MATCH_MORE : SESSION_MATCH_YES;
}

const struct session_protocol session_scripted = {
    .alpn = "script/1",
    .name = "script/1",
    .fault_name = fault_name,
    .match = match,
    .for_clients = for_clients,
    .for_origin = for_origin,
    .begin = begin,
};
