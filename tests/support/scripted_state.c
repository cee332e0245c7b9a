/* SPDX-License-Identifier: MIT */
/* The state of a scripted session: its faults, its events, its streams, and what waits to be sent. */
#include "tests/support/scripted_inside.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- faults ---- */

#define ROW(name, text, code) {name, "script", text, code, SESSION_SCOPE_CONNECTION, SESSION_REFUSAL_NONE}

static const struct session_fault rows[] = {
    [UNKNOWN_FRAME] = ROW("script-unknown-frame", "The line is no frame.", SESSION_PROTOCOL_ERROR),
    [UNKNOWN_STREAM] = ROW("script-unknown-stream", "The stream was never opened.", SESSION_PROTOCOL_ERROR),
    [MALFORMED_HEAD] = ROW("script-malformed-head", "The head is malformed.", SESSION_PROTOCOL_ERROR),
    [WINDOW_EXCEEDED] = ROW("script-window-exceeded", "More bytes came than the window lets in.", SESSION_FLOW_CONTROL_ERROR),
    [NOT_READY] = ROW("script-not-ready", "The ready line did not come in time.", SESSION_SETTINGS_TIMEOUT),
    [TOO_LONG] = ROW("script-line-too-long", "The line is too long.", SESSION_ENHANCE_YOUR_CALM),
    [ONE_AT_A_TIME] = ROW("script-one-at-a-time", "A second request came before the first was over.", SESSION_PROTOCOL_ERROR),
};

const char *scripted_fault_name(size_t row)
{
	return row < sizeof(rows) / sizeof(rows[0]) ? rows[row].name : NULL;
}

const struct session_fault *scripted_fault(const struct scripted *s, enum row row)
{
	session_count_fault(&s->session, &rows[row], row);
	return &rows[row];
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

void scripted_say(struct scripted *s, const char *format, ...)
{
	char text[LINE_MOST];
	va_list list;
	va_start(list, format);
	int n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	ensure(n > 0 && (size_t)n < sizeof(text));
	append(s, text, (size_t)n);
	if (s->session.traced)
		s->session.env->trace(s->session.traced, text);
}

/* ---- events ---- */

struct session_event *scripted_event(
    struct scripted *s, enum session_event_kind kind, struct scripted_stream *stream)
{
	struct waiting_event *w = memory_new(struct waiting_event);
	w->event.kind = kind;
	w->event.stream = stream ? &stream->base : NULL;
	list_append(&s->events, &w->link);
	return &w->event;
}

static void event_free(struct waiting_event *w)
{
	http_head_free(w->event.head);
	list_remove(&w->link);
	free(w);
}

void scripted_forget_events(struct scripted *s, const struct scripted_stream *stream)
{
	list_for_each(&s->events, w, struct waiting_event, link)
	{
		if (!stream || w->event.stream == &stream->base || w->event.promised == &stream->base)
			event_free(w);
	}
}

/* ---- streams ---- */

struct scripted_stream *scripted_stream_new(struct scripted *s, uint32_t id)
{
	if (!budget_take(s->conn.budget, sizeof(struct scripted_stream)))
		return NULL;
	struct scripted_stream *stream = memory_new(struct scripted_stream);
	stream->id = id;
	stream->send_window = s->peer_window;
	stream->receive_window = stream->widest = s->config->window;
	stream->priority = HTTP_PRIORITY_DEFAULT;
	list_append(&s->streams, &stream->link);
	return stream;
}

void scripted_stream_free(struct scripted *s, struct scripted_stream *stream)
{
	if (s->payload_stream == stream)
		s->payload_stream = NULL;
	list_remove(&stream->link);
	budget_give(s->conn.budget, sizeof(*stream));
	free(stream);
}

uint32_t scripted_open_streams(const struct scripted *s, bool odd)
{
	uint32_t n = 0;
	list_for_each(&s->streams, stream, struct scripted_stream, link) n +=
	    !stream->is_over && (stream->id % 2 == 1) == odd && (!stream->is_push || stream->has_begun);
	return n;
}

void scripted_bury(struct scripted *s)
{
	if (s->buried_next)
		scripted_stream_free(s, s->buried_next);
	s->buried_next = NULL;
}

void scripted_check_closed(struct scripted *s, struct scripted_stream *stream)
{
	if (stream->is_over || !stream->local_ended || !stream->remote_ended)
		return;
	stream->is_over = true;
	scripted_event(s, SESSION_EVENT_CLOSED, stream);
}

void scripted_fail(struct scripted *s, enum row row)
{
	if (s->has_failed)
		return;
	const struct session_fault *fault = scripted_fault(s, row);
	s->has_failed = true;
	scripted_say(s, "goaway %u %u\n", fault->code, s->last_id);
	struct session_event *e = scripted_event(s, SESSION_EVENT_FAILED, NULL);
	e->code = fault->code;
	e->fault = fault;
}

bool scripted_next_event(struct session *session, struct session_event *event)
{
	struct scripted *s = (struct scripted *)session;
	scripted_bury(s);
	struct waiting_event *w = list_first(&s->events, struct waiting_event, link);
	if (!w)
		return false;
	*event = w->event;
	w->event.head = NULL;
	event_free(w);
	if (event->stream)
		event->user = event->stream->user;
	if (event->kind == SESSION_EVENT_RESET || event->kind == SESSION_EVENT_CLOSED)
		s->buried_next = (struct scripted_stream *)event->stream;
	return true;
}

