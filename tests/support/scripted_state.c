/* SPDX-License-Identifier: MIT */
/* The state of a scripted session: its faults, its events, its streams, and what waits to be sent. */
#include "tests/support/scripted_inside.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- faults ---- */

static const struct session_fault rows[] = {
    [UNKNOWN_FRAME] = {"script-unknown-frame", "The line is no frame.", 1, 0, false},
    [UNKNOWN_STREAM] = {"script-unknown-stream", "The stream was never opened.", 1, 0, false},
    [MALFORMED_HEAD] = {"script-malformed-head", "The head is malformed.", 1, 0, false},
    [WINDOW_EXCEEDED] = {"script-window-exceeded", "More bytes came than the window lets in.", 3, 0, false},
    [NOT_READY] = {"script-not-ready", "The ready line did not come in time.", 4, 0, false},
    [TOO_LONG] = {"script-line-too-long", "The line is too long.", 11, 0, true},
    [ONE_AT_A_TIME] = {"script-one-at-a-time", "A second request came before the first was over.", 1, 0, false},
};

const char *scripted_fault_name(size_t row)
{
	return row < sizeof(rows) / sizeof(rows[0]) ? rows[row].name : NULL;
}

struct session_fault scripted_fault_of(const struct scripted *s, enum row row)
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

void scripted_say(struct scripted *s, const char *format, ...)
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

/* ---- events ---- */

struct session_event *scripted_event(
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

void scripted_forget_events(struct scripted *s, const struct session_stream *stream)
{
	list_for_each(&s->events, w, struct waiting_event, link)
	{
		if (!stream || w->event.stream == stream || w->event.promised == stream)
			event_free(w);
	}
}

/* ---- streams ---- */

struct session_stream *scripted_stream_new(struct scripted *s, uint32_t id)
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

void scripted_stream_free(struct scripted *s, struct session_stream *stream)
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
	list_for_each(&s->streams, stream, struct session_stream, link) n +=
	    !stream->is_over && (stream->id % 2 == 1) == odd && (!stream->is_push || stream->has_begun);
	return n;
}

void scripted_bury(struct scripted *s)
{
	if (s->buried_next)
		scripted_stream_free(s, s->buried_next);
	s->buried_next = NULL;
}

void scripted_check_closed(struct scripted *s, struct session_stream *stream)
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
	const struct session_fault fault = scripted_fault_of(s, row);
	s->has_failed = true;
	s->env->fault(s->env->context, &fault);
	scripted_say(s, "goaway %u %u\n", fault.code, s->last_id);
	struct session_event *e = scripted_event(s, SESSION_EVENT_FAILED, NULL);
	e->code = fault.code;
	e->fault_copy = fault;
	e->fault = &e->fault_copy;
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
	if (event->fault)
		event->fault = &event->fault_copy;
	if (event->stream)
		event->user = event->stream->user;
	if (event->kind == SESSION_EVENT_RESET || event->kind == SESSION_EVENT_CLOSED)
		s->buried_next = event->stream;
	return true;
}

