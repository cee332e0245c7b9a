/* SPDX-License-Identifier: MIT */
/* What a scripted session reads: lines, and the payloads of data frames. */
#include "tests/support/scripted_inside.h"

#include <stdlib.h>

#define PARTS_MOST 8u

/* ---- streams ---- */

static struct scripted_stream *find(struct scripted *s, uint32_t id)
{
	list_for_each(&s->streams, stream, struct scripted_stream, link)
	{
		if (stream->id == id && !stream->is_over)
			return stream;
	}
	return NULL;
}

static void stream_reset(struct scripted *s, struct scripted_stream *stream, uint32_t code, bool unprocessed)
{
	stream->is_over = true;
	struct session_event *e = scripted_event(s, SESSION_EVENT_RESET, stream);
	e->code = code;
	e->unprocessed = unprocessed;
}

static void stream_fault(struct scripted *s, struct scripted_stream *stream, enum row row, const char *reason)
{
	const struct session_fault *fault = scripted_fault(s, row);
	scripted_say(s, "reset %u %u\n", stream->id, fault->code);
	stream_reset(s, stream, fault->code, false);
	struct session_event *e = &container_of(s->events.prev, struct waiting_event, link)->event;
	e->fault = fault;
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
	struct http_head *head = http_head_new(s->session.env->heads);
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
		scripted_fail(s, UNKNOWN_FRAME);
		return;
	}
	s->is_ready = true;
	s->peer_streams = f->id;
	s->peer_window = number(f->parts[2]);
	s->peer_takes_pushes = number(f->parts[3]) != 0;
	scripted_event(s, SESSION_EVENT_READY, NULL);
}

static void request_frame(struct scripted *s, struct frame *f)
{
	const char *wrong;
	bool is_single = !(s->session.ops->capabilities & SESSION_MULTIPLEXES);
	if (f->id <= s->last_id || f->id % 2 == 0) {
		scripted_fail(s, UNKNOWN_STREAM);
		return;
	}
	if (is_single && scripted_open_streams(s, true) > 0) {
		scripted_fail(s, ONE_AT_A_TIME);
		return;
	}
	struct scripted_stream *stream = s->going_away ? NULL : scripted_stream_new(s, f->id);
	if (!stream) {
		scripted_say(s, "reset %u %u\n", f->id, SESSION_REFUSED_STREAM);
		return;
	}
	s->last_id = f->id;
	struct http_head *head = head_of(s, f, 2, HTTP_REQUEST, &wrong);
	if (!head) {
		stream_fault(s, stream, MALFORMED_HEAD, wrong);
		return;
	}
	stream->remote_ended = f->ends;
	struct session_event *e = scripted_event(s, SESSION_EVENT_HEAD, stream);
	e->head = head;
	e->end = f->ends;
}

static void response_frame(struct scripted *s, struct frame *f, struct scripted_stream *stream)
{
	const char *wrong;
	struct http_head *head = head_of(s, f, 2, HTTP_RESPONSE, &wrong);
	if (!head) {
		stream_fault(s, stream, MALFORMED_HEAD, wrong);
		return;
	}
	stream->has_begun = true;
	stream->remote_ended = f->ends;
	struct session_event *e = scripted_event(s, SESSION_EVENT_HEAD, stream);
	e->head = head;
	e->end = f->ends;
	scripted_check_closed(s, stream);
}

/* The frame's stream; NULL: it is over, or the connection is. */
static struct scripted_stream *stream_of(struct scripted *s, const struct frame *f)
{
	struct scripted_stream *stream = find(s, f->id);
	if (!stream && !was_opened(s, f->id))
		scripted_fail(s, UNKNOWN_STREAM);
	return stream;
}

static void head_frame(struct scripted *s, struct frame *f)
{
	if (s->config->is_server) {
		request_frame(s, f);
		return;
	}
	struct scripted_stream *stream = stream_of(s, f);
	if (stream)
		response_frame(s, f, stream);
}

static void trailers_frame(struct scripted *s, struct frame *f)
{
	const char *wrong;
	struct scripted_stream *stream = stream_of(s, f);
	if (!stream)
		return;
	struct http_head *head = head_of(s, f, 2, HTTP_TRAILERS, &wrong);
	if (!head) {
		stream_fault(s, stream, MALFORMED_HEAD, wrong);
		return;
	}
	stream->remote_ended = true;
	scripted_event(s, SESSION_EVENT_TRAILERS, stream)->head = head;
	scripted_check_closed(s, stream);
}

static void promise_frame(struct scripted *s, struct frame *f)
{
	const char *wrong;
	bool may = (s->session.ops->capabilities & SESSION_TAKES_PUSHES) && !s->config->is_server;
	uint32_t id = f->count > 2 ? number(f->parts[2]) : 0;
	if (!may || id % 2 == 1 || id <= s->last_id) {
		scripted_fail(s, UNKNOWN_FRAME);
		return;
	}
	struct scripted_stream *parent = stream_of(s, f), *promised;
	s->last_id = id;
	if (s->has_failed)
		return;
	promised = parent && s->config->wants_pushes ? scripted_stream_new(s, id) : NULL;
	if (!promised) {
		scripted_say(s, "reset %u %u\n", id, SESSION_CANCEL);
		return;
	}
	struct http_head *head = head_of(s, f, 3, HTTP_PROMISE, &wrong);
	struct session_event *e = scripted_event(s, SESSION_EVENT_PROMISE, parent);
	if (!head) {
		e->fault = scripted_fault(s, MALFORMED_HEAD);
		e->reason = wrong;
		scripted_say(s, "reset %u %u\n", id, e->fault->code);
		scripted_stream_free(s, promised);
		return;
	}
	promised->is_push = promised->local_ended = true;
	e->promised = &promised->base;
	e->head = head;
}

static void reset_frame(struct scripted *s, struct frame *f)
{
	struct scripted_stream *stream = stream_of(s, f);
	uint32_t code = f->count > 2 ? number(f->parts[2]) : 0;
	if (stream)
		stream_reset(s, stream, code, code == SESSION_REFUSED_STREAM);
}

static void credit_frame(struct scripted *s, struct frame *f)
{
	struct scripted_stream *stream = stream_of(s, f);
	if (stream && f->count > 2)
		stream->send_window += number(f->parts[2]);
}

static void ping_frame(struct scripted *s, struct frame *f)
{
	(void)f;
	scripted_say(s, "pong\n");
}

static void pong_frame(struct scripted *s, struct frame *f)
{
	(void)f;
	s->is_pinging = false;
	scripted_event(s, SESSION_EVENT_PONG, NULL);
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
	scripted_event(s, SESSION_EVENT_GOAWAY, NULL)->code = f->id;
	list_for_each(&s->streams, stream, struct scripted_stream, link)
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
		s->session.env->trace(s->conn.traced, s->line);
	s->line_bytes = s->spaces = 0;
	if (s->config->is_server && strcmp(s->line, "script/1") == 0)
		return;
	split(s->line, &f);
	for (size_t i = 0; f.count > 0 && i < sizeof(frames) / sizeof(frames[0]); i++)
		if (strcmp(f.parts[0], frames[i].verb) == 0) {
			frames[i].take(s, &f);
			return;
		}
	scripted_fail(s, UNKNOWN_FRAME);
}

/* ---- input ---- */

/* "data 1. 5 " has come. */
static void begin_payload(struct scripted *s)
{
	struct frame f = {.count = 0};
	s->line[s->line_bytes] = '\0';
	s->line_bytes = s->spaces = 0;
	split(s->line, &f);
	struct scripted_stream *stream = stream_of(s, &f);
	s->payload_left = number(f.parts[2]);
	s->payload_ends = f.ends;
	s->payload_stream = stream;
	s->in_payload = true;
	if (!stream)
		return;
	if (s->payload_left > stream->receive_window) {
		scripted_fail(s, WINDOW_EXCEEDED);
		return;
	}
	stream->receive_window -= (uint32_t)s->payload_left;
	if (s->payload_left == 0 && f.ends) {
		stream->remote_ended = true;
		scripted_event(s, SESSION_EVENT_DATA, stream)->end = true;
		scripted_check_closed(s, stream);
	}
}

static size_t take_payload(struct scripted *s, struct chunk *chunk, size_t offset, size_t length)
{
	size_t n = length < s->payload_left ? length : s->payload_left;
	struct scripted_stream *stream = s->payload_stream;
	s->payload_left -= n;
	if (!stream || stream->is_over)
		return n;
	struct session_event *e = scripted_event(s, SESSION_EVENT_DATA, stream);
	e->piece = (struct piece){chunk, (uint32_t)offset, (uint32_t)n};
	e->end = s->payload_left == 0 && s->payload_ends;
	stream->remote_ended = e->end;
	scripted_check_closed(s, stream);
	return n;
}

static void take_byte(struct scripted *s, char byte)
{
	if (s->in_payload) { /* the newline behind it */
		s->in_payload = false;
		if (byte != '\n')
			scripted_fail(s, UNKNOWN_FRAME);
		return;
	}
	if (byte == '\n') {
		take_line(s);
		return;
	}
	if (s->line_bytes + 1 >= LINE_MOST) {
		scripted_fail(s, TOO_LONG);
		return;
	}
	s->line[s->line_bytes++] = byte;
	s->spaces += byte == ' ';
	if (s->spaces == 3 && byte == ' ' && strncmp(s->line, "data ", 5) == 0)
		begin_payload(s);
}

size_t scripted_receive(
    struct session *session, struct chunk *chunk, size_t offset, size_t length, usec now)
{
	struct scripted *s = (struct scripted *)session;
	size_t used = 0;
	(void)now;
	scripted_bury(s);
	while (used < length && list_is_empty(&s->events) && !s->has_failed) {
		if (s->in_payload && s->payload_left > 0)
			used += take_payload(s, chunk, offset + used, length - used);
		else
			take_byte(s, (char)chunk->data[offset + used++]);
	}
	return s->has_failed ? length : used;
}

