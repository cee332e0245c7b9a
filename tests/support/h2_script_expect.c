/* SPDX-License-Identifier: MIT */
/* The expectations of a test. See h2_script.h. */
#include "tests/support/h2_script_wire.h"

#include <stdio.h>
#include <stdlib.h>

/* The names are macros for tests, which record the place. */
#undef script_expects_event
#undef script_expects_head
#undef script_expects_data
#undef script_expects_no_event
#undef script_expects_frame
#undef script_expects_no_frame
#undef script_expects_nothing
#undef script_expects_rst
#undef script_expects_goaway
#undef script_expects_stream_error
#undef script_expects_connection_error
#undef script_expects_body
#undef script_expects_settings_ack
#undef script_expects_fields
#undef script_expects_alive

struct script_event *script_expects_event(struct script *s, enum session_event_kind kind, uint32_t id)
{
	script_pumps(s);
	if (s->events_head == s->events_tail)
		script_fail(s, "expected event %s s%u, there is none", script_event_name(kind), id);
	struct script_event *e = s->events[s->events_head++];
	if (e->kind != kind || e->id != id)
		script_fail(s, "expected event %s s%u, got %s s%u (fault %s)",
		    script_event_name(kind), id, script_event_name(e->kind), e->id,
		    e->fault ? e->fault->name : "-");
	return e;
}

struct script_event *script_expects_head(struct script *s, uint32_t id, bool end)
{
	struct script_event *e = script_expects_event(s, SESSION_EVENT_HEAD, id);
	if (e->end != end || !e->head)
		script_fail(s, "HEAD s%u with end=%d", id, e->end);
	return e;
}

void script_expects_data(struct script *s, uint32_t id, size_t length, bool end)
{
	size_t got = 0;
	bool ended = false;
	while (!ended && (got < length || end || (length == 0 && got == 0))) {
		struct script_event *e = script_expects_event(s, SESSION_EVENT_DATA, id);
		got += e->length;
		ended = e->end;
		for (size_t i = 0; i < e->length; i++)
			if (e->data[i] != 'd')
				script_fail(s, "DATA that the peer did not send");
		if (length == 0)
			break;
	}
	if (got != length || ended != end)
		script_fail(s, "expected %zu bytes (end %d) on s%u, got %zu (end %d)", length, end,
		    id, got, ended);
}

void script_expects_no_event(struct script *s)
{
	script_pumps(s);
	if (s->events_head < s->events_tail) {
		const struct script_event *e = s->events[s->events_head];
		script_fail(s, "expected no event, got %s s%u (fault %s)",
		    script_event_name(e->kind), e->id, e->fault ? e->fault->name : "-");
	}
}

/* The engine chooses when to send WINDOW_UPDATE and PING. */
static bool frame_is_aside(const struct script_frame *f)
{
	return f->type == H2_WINDOW_UPDATE || (f->type == H2_PING && !(f->flags & H2_ACK));
}

static struct script_frame *next_frame(struct script *s, uint8_t type)
{
	script_pumps(s);
	for (size_t i = s->frames_head; i < s->frames_tail; i++)
		if (!frame_is_aside(s->frames[i]) || s->frames[i]->type == type) {
			s->frames_head = i + 1;
			return s->frames[i];
		}
	return NULL;
}

struct script_frame *script_expects_frame(struct script *s, uint8_t type, uint32_t id)
{
	struct script_frame *f = next_frame(s, type);
	if (!f)
		script_fail(s, "expected %s s%u, there is none", script_frame_name(type), id);
	if (f->type != type || f->id != id)
		script_fail(s, "expected %s s%u, got %s s%u", script_frame_name(type), id,
		    script_frame_name(f->type), f->id);
	return f;
}

void script_expects_no_frame(struct script *s)
{
	struct script_frame *f = next_frame(s, 0xff);
	if (f)
		script_fail(s, "expected no frame, got %s s%u (code %s)",
		    script_frame_name(f->type), f->id, session_code_name(f->code));
}

void script_expects_nothing(struct script *s)
{
	script_expects_no_frame(s);
	script_expects_no_event(s);
}

struct script_frame *script_expects_rst(struct script *s, uint32_t id, uint32_t code)
{
	struct script_frame *f = script_expects_frame(s, H2_RST_STREAM, id);
	if (f->code != code)
		script_fail(s, "expected RST_STREAM s%u %s, got %s", id, session_code_name(code),
		    session_code_name(f->code));
	return f;
}

struct script_frame *script_expects_goaway(struct script *s, uint32_t code)
{
	struct script_frame *f = script_expects_frame(s, H2_GOAWAY, 0);
	if (f->code != code)
		script_fail(
		    s, "expected GOAWAY %s, got %s", session_code_name(code), session_code_name(f->code));
	return f;
}

void script_expects_stream_error(struct script *s, uint32_t id, uint32_t code)
{
	bool known = script_stream(s, id)->announced;
	script_expects_rst(s, id, code);
	if (known) {
		struct script_event *e = script_expects_event(s, SESSION_EVENT_RESET, id);
		if (!e->fault || e->fault->code != code || e->fault->scope != SESSION_SCOPE_STREAM ||
		    e->code != code)
			script_fail(s, "RESET s%u with fault %s, code %s", id,
			    e->fault ? e->fault->name : "-", session_code_name(e->code));
	} else if (s->events_head < s->events_tail) {
		/* A malformed promise causes an event without a stream. */
		struct script_event *e = s->events[s->events_head++];
		if (e->kind != SESSION_EVENT_PROMISE || e->promised || e->head || !e->reason ||
		    !e->fault || e->fault->code != code)
			script_fail(s, "event %s for a stream that the owner never saw",
			    script_event_name(e->kind));
	}
	script_expects_nothing(s);
	if (session_has_failed(s->conn))
		script_fail(s, "a stream error ended the connection");
}

void script_expects_connection_error(struct script *s, uint32_t code)
{
	script_expects_goaway(s, code);
	script_expects_no_frame(s);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_FAILED, 0);
	if (!e->fault || e->fault->code != code || e->fault->scope != SESSION_SCOPE_CONNECTION ||
	    e->code != code)
		script_fail(s, "FAILED with fault %s, code %s", e->fault ? e->fault->name : "-",
		    session_code_name(e->code));
	if (!e->fault->section || !e->fault->text)
		script_fail(s, "fault %s without its section or text", e->fault->name);
	script_expects_no_event(s);
	if (!session_has_failed(s->conn))
		script_fail(s, "FAILED, but h2_has_failed is false");
}

void script_expects_body(struct script *s, uint32_t id, size_t length, bool end)
{
	size_t got = 0;
	bool ended = false;
	while (!ended && (got < length || end || length == 0)) {
		struct script_frame *f = script_expects_frame(s, H2_DATA, id);
		got += f->length;
		ended = f->flags & H2_END_STREAM;
		if (length == 0)
			break;
	}
	if (got != length || ended != end)
		script_fail(s, "expected %zu bytes of DATA (end %d) on s%u, got %zu (end %d)",
		    length, end, id, got, ended);
}

void script_expects_settings_ack(struct script *s)
{
	struct script_frame *f = script_expects_frame(s, H2_SETTINGS, 0);
	if (!(f->flags & H2_ACK))
		script_fail(s, "expected the acknowledgement of SETTINGS, got SETTINGS");
}

void script_expects_fields(struct script *s, const struct script_frame *frame, const char *text)
{
	if (!frame->fields || strcmp(frame->fields, text) != 0)
		script_fail(s, "expected the fields\n%sgot\n%s", text,
		    frame->fields ? frame->fields : "(none)\n");
}

void script_expects_alive(struct script *s)
{
	uint64_t payload = 0x70696e6770696e67;
	script_sends_ping(s, payload);
	struct script_frame *f = script_expects_frame(s, H2_PING, 0);
	while (!(f->flags & H2_ACK))
		f = script_expects_frame(s, H2_PING, 0);
	if (memcmp(f->payload, &payload, 8) != 0)
		script_fail(s, "PING answered with other bytes");
	script_expects_nothing(s);
	if (session_has_failed(s->conn))
		script_fail(s, "the connection has failed");
}

uint32_t script_takes_credit(struct script *s, uint32_t id)
{
	uint32_t sum = 0;
	script_pumps(s);
	for (size_t i = s->credit_from; i < s->frames_tail; i++) {
		struct script_frame *f = s->frames[i];
		if (f->type == H2_WINDOW_UPDATE && f->id == id) {
			sum += f->increment;
			f->increment = 0;
		}
	}
	return sum;
}

void script_clears(struct script *s)
{
	script_pumps(s);
	s->frames_head = s->credit_from = s->frames_tail;
	s->events_head = s->events_tail;
}
