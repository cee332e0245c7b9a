/* SPDX-License-Identifier: MIT */
/* Opens and closes a script; moves input into the engine and output out of it. See h2_script.h. */
#include "tests/support/h2_script.h"
#include "proxy/limits.h"
#include "tests/support/h2_script_wire.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

#define TRANSCRIPT_ROOM 32768u

enum split { SPLIT_WHOLE, SPLIT_BYTES, SPLIT_RANDOM, SPLIT_COUNT };
static const char *const split_names[SPLIT_COUNT] = {"whole", "byte by byte", "random pieces"};

/* cmocka gives tests no way to a parameter of the run. */
static enum split split;

int script_run(const char *name, const struct CMUnitTest *tests, size_t count)
{
	int failed = 0;
	for (int i = 0; i < SPLIT_COUNT; i++) {
		char group[128];
		snprintf(group, sizeof group, "%s, input %s", name, split_names[i]);
		split = (enum split)i;
		failed += _cmocka_run_group_tests(group, tests, count, NULL, NULL);
	}
	return failed;
}

struct script *script_at(struct script *s, const char *file, int line)
{
	s->file = file;
	s->line = line;
	return s;
}

void script_notes(struct script *s, const char *format, ...)
{
	char line[256];
	va_list list;
	va_start(list, format);
	int n = vsnprintf(line, sizeof line, format, list);
	va_end(list);
	size_t length = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
	if (s->transcript_bytes + length + 1 > TRANSCRIPT_ROOM && s->transcript) {
		size_t gone = s->transcript_bytes / 2;
		s->transcript_bytes -= gone;
		memmove(s->transcript, s->transcript + gone, s->transcript_bytes);
	}
	if (!s->transcript)
		s->transcript = malloc(TRANSCRIPT_ROOM);
	memcpy(s->transcript + s->transcript_bytes, line, length + 1);
	s->transcript_bytes += length;
}

void script_fail(struct script *s, const char *format, ...)
{
	char line[512];
	va_list list;
	va_start(list, format);
	vsnprintf(line, sizeof line, format, list);
	va_end(list);
	size_t from = s->transcript_bytes > 6000 ? s->transcript_bytes - 6000 : 0;
	print_error("---- input %s; the last of what happened (<- engine, -> engine, * event):\n%s",
	    split_names[split], s->transcript ? s->transcript + from : "");
	print_error("---- %s\n", line);
	_fail(s->file, s->line);
	abort();
}

static struct script_stream *stream_find(struct script *s, uint32_t id)
{
	for (uint32_t i = s->stream_count; i-- > 0;)
		if (s->streams[i]->id == id)
			return s->streams[i];
	return NULL;
}

struct script_stream *script_stream(struct script *s, uint32_t id)
{
	struct script_stream *stream = stream_find(s, id);
	if (stream)
		return stream;
	stream = calloc(1, sizeof *stream);
	stream->id = id;
	stream->window = s->peer_window_initial;
	if (s->stream_count % 1024 == 0)
		s->streams =
		    realloc(s->streams, (s->stream_count + 1024u) * sizeof(struct script_stream *));
	s->streams[s->stream_count++] = stream;
	return stream;
}

struct session_stream *script_handle(struct script *s, uint32_t id)
{
	struct script_stream *stream = stream_find(s, id);
	if (!stream || !stream->handle)
		script_fail(s, "stream %u has no handle", id);
	return stream->handle;
}

/* ---- events ---- */

static const char *const event_names[] = {"SETTINGS", "HEAD", "DATA", "TRAILERS", "REFUSED", "PROMISE",
    "RESET", "CLOSED", "GOAWAY", "PONG", "FAILED"};

const char *script_event_name(enum session_event_kind kind)
{
	return (size_t)kind < sizeof event_names / sizeof *event_names ? event_names[kind] : "?";
}

static void event_meets_stream(struct script *s, const struct session_event *e, struct script_event *out)
{
	if (!e->stream)
		return;
	out->id = h2_stream_id(e->stream);
	struct script_stream *stream = script_stream(s, out->id);
	if (stream->over && !session_has_failed(s->conn))
		script_fail(
		    s, "event %s on stream %u, which is over", script_event_name(e->kind), out->id);
	if (stream->handle && stream->handle != e->stream)
		script_fail(s, "stream %u has changed its handle", out->id);
	if (!stream->announced && e->kind != SESSION_EVENT_HEAD)
		script_fail(s, "event %s on stream %u, which the owner never saw",
		    script_event_name(e->kind), out->id);
	if (e->user != e->stream->user)
		script_fail(s, "event's user is not the stream's");
	stream->announced = true;
	stream->handle = e->stream;
	if (e->promised) {
		out->promised = h2_stream_id(e->promised);
		struct script_stream *promised = script_stream(s, out->promised);
		if (promised->announced)
			script_fail(s, "stream %u promised twice", out->promised);
		promised->announced = true;
		promised->handle = e->promised;
	}
	if (e->kind == SESSION_EVENT_RESET || e->kind == SESSION_EVENT_CLOSED) {
		stream->handle = NULL;
		stream->over = true;
	}
}

static void event_takes(struct script *s, const struct session_event *e, const struct chunk *chunk)
{
	struct script_event *out = calloc(1, sizeof *out);
	*out = (struct script_event){.kind = e->kind,
	    .head = e->head,
	    .fault = e->fault,
	    .reason = e->reason,
	    .code = e->code,
	    .last_id = e->last_id,
	    .user = e->user,
	    .end = e->end,
	    .oversize = e->oversize,
	    .unprocessed = e->unprocessed};
	if (s->events_tail % 1024 == 0)
		s->events =
		    realloc(s->events, (s->events_tail + 1024) * sizeof(struct script_event *));
	s->events[s->events_tail++] = out;
	event_meets_stream(s, e, out);
	if (e->kind == SESSION_EVENT_DATA) {
		if (e->piece.length && e->piece.chunk != chunk)
			script_fail(s, "DATA piece is not in the chunk that was given");
		out->length = e->piece.length;
		out->data = malloc(out->length + 1);
		if (out->length)
			memcpy(out->data, e->piece.chunk->data + e->piece.offset, out->length);
	}
	if (e->kind == SESSION_EVENT_GOAWAY)
		snprintf(out->debug, sizeof out->debug, "%.*s", SLICE_ARG(e->debug));
	script_notes(s, " * %s s%u promised=%u len=%zu end=%d code=%s fault=%s\n",
	    script_event_name(e->kind), out->id, out->promised, out->length, e->end,
	    session_code_name(e->code), e->fault ? e->fault->name : "-");
}

static size_t events_drain(struct script *s, const struct chunk *chunk)
{
	struct session_event e;
	size_t count = 0;
	for (memset(&e, 0, sizeof e); session_next_event(s->conn, &e); memset(&e, 0, sizeof e)) {
		event_takes(s, &e, chunk);
		count++;
	}
	return count;
}

/* ---- input ---- */

static size_t piece_bytes(struct script *s, size_t left)
{
	size_t n = left < LIMIT_CHUNK_BYTES ? left : LIMIT_CHUNK_BYTES;
	if (split == SPLIT_BYTES)
		n = left > 40000 ? 251 : 1; /* byte by byte, a flood would take too long */
	if (split == SPLIT_RANDOM)
		n = 1 + script_random(s) % (left > 4000 ? 2000 : 30);
	return n < left ? n : left;
}

uint32_t script_random(struct script *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 17;
	s->random ^= s->random << 5;
	return s->random;
}

static void deliver_piece(struct script *s, const uint8_t *bytes, size_t length)
{
	struct chunk *chunk = chunk_acquire(s->chunks);
	size_t offset =
	    length < chunk->capacity ? script_random(s) % (chunk->capacity - length + 1) : 0;
	size_t end = offset + length;
	memcpy(chunk->data + offset, bytes, length);
	while (offset < end) {
		size_t n = session_receive(s->conn, chunk, offset, end - offset, s->now);
		if (n > end - offset)
			script_fail(s, "session_receive consumed more than it was given");
		offset += n;
		if (events_drain(s, chunk) == 0 && n == 0)
			script_fail(s, "session_receive consumed nothing and had no event");
	}
	/* Checking each time would take too long for large bodies delivered byte by byte. */
	if (split == SPLIT_WHOLE || script_random(s) % 32 == 0)
		session_check(s->conn);
	memset(chunk->data + end - length, 0xdd, length);
	chunk_release(chunk);
}

void script_sends_bytes(struct script *s, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	if (s->glue) {
		s->glued = realloc(s->glued, s->glued_bytes + length + 1);
		memcpy(s->glued + s->glued_bytes, bytes, length);
		s->glued_bytes += length;
		return;
	}
	while (length > 0) {
		size_t n = piece_bytes(s, length);
		deliver_piece(s, at, n);
		at += n;
		length -= n;
	}
}

void script_delivers(struct script *s)
{
	uint8_t *glued = s->glued;
	size_t length = s->glued_bytes;
	s->glued = NULL;
	s->glued_bytes = 0;
	s->glue = false;
	script_sends_bytes(s, glued, length);
	free(glued);
}

void script_eof(struct script *s)
{
	script_notes(s, "-> end of the transport\n");
	h2_receive_eof(s->conn);
	events_drain(s, NULL);
	session_check(s->conn);
}

void script_ticks(struct script *s, usec span)
{
	s->now += span;
	script_notes(s, "-> tick %llu us\n", (unsigned long long)span);
	session_tick(s->conn, s->now);
	events_drain(s, NULL);
	session_check(s->conn);
}

/* ---- output ---- */

static void output_turn(struct script *s, const struct session_output *frame)
{
	uint32_t id = h2_stream_id(frame->stream);
	struct script_stream *stream = script_stream(s, id);
	if (frame->stream != stream->handle)
		script_fail(s, "h2_next_data returned stream %u with an unknown handle", id);
	const uint8_t *header = (const uint8_t *)frame->before.ptr;
	uint32_t length = (uint32_t)header[0] << 16 | (uint32_t)header[1] << 8 | header[2];
	if (length != frame->length || length > s->data_most)
		script_fail(s,
		    "h2_next_data returned %u bytes, %u in the header (at most %u were requested)",
		    frame->length, length, s->data_most);
	if (header[3] != H2_DATA || !!(header[4] & H2_END_STREAM) != frame->end)
		script_fail(s, "h2_next_data returned a header that differs from its result");
	uint8_t *body = malloc(length + 1u);
	for (uint32_t i = 0; i < length; i++)
		body[i] = (uint8_t)((stream->body_at + i) * 31 + id);
	stream->body_at += length;
	script_takes_output(s, header, frame->before.len);
	script_takes_output(s, body, length);
	free(body);
}

void script_pumps(struct script *s)
{
	for (;;) {
		events_drain(s, NULL);
		struct slice control = h2_control(s->conn);
		if (control.len > 0) {
			size_t n = control.len;
			if (split == SPLIT_RANDOM)
				n = 1 + script_random(s) % n;
			script_takes_output(s, control.ptr, n);
			h2_control_taken(s->conn, n);
			continue;
		}
		struct session_output frame;
		if (!h2_next_data(s->conn, s->data_most, &frame))
			break;
		output_turn(s, &frame);
	}
	events_drain(s, NULL);
	session_check(s->conn);
	if (session_wants_write(s->conn))
		script_fail(s, "session_wants_write, but there is nothing to write");
	if (s->out_bytes > 0)
		script_fail(s, "the engine's output ends inside a frame");
}

/* ---- life ---- */

static void handshake(struct script *s, const struct script_options *options)
{
	if (s->role == H2_SERVER)
		script_sends_preface(s);
	script_sends_settings_list(s, options->settings);
	(script_expects_frame)(s, H2_SETTINGS, 0);
	script_expects_settings_ack(s);
	if (!options->no_ack)
		script_sends_settings_ack(s);
	script_clears(s);
}

struct script *script_open_with(enum h2_role role, const struct script_options *options)
{
	struct script *s = calloc(1, sizeof *s);
	s->role = role;
	s->now = SCRIPT_START;
	s->random = 0x9e3779b9u;
	s->file = "script_open";
	s->peer_window_initial = 65535;
	s->peer_frame_size = 16384;
	s->peer_table_size = 4096;
	s->peer_push = 1;
	s->connection_window = 65535;
	s->data_most = 16384;
	s->goaway_id = UINT32_MAX;
	s->preface_seen = role == H2_SERVER;
	s->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 4);
	s->heads = http_head_pool_new(4);
	budget_init(&s->worker, NULL, (size_t)1 << 30);
	budget_init(&s->budget, &s->worker,
	    options->budget_bytes ? options->budget_bytes : (size_t)1 << 28);
	const struct h2_settings *local = options->local ? options->local : &h2_settings_initial;
	nghttp2_hd_deflater *deflater;
	nghttp2_hd_inflater *inflater;
	assert_int_equal(nghttp2_hd_deflate_new(&deflater, local->header_table_size), 0);
	assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
	s->deflater = deflater;
	s->inflater = inflater;
	s->config = (struct h2_config){role, *local, options->limits ? *options->limits : h2_limits_default};
	s->env = (struct session_env){.heads = s->heads, .seed = 7};
	const struct session_conn conn = {.budget = &s->budget};
	s->conn = h2_new(&s->config, &s->env, &conn, s->now);
	assert_non_null(s->conn);
	if (!options->silent)
		handshake(s, options);
	return s;
}

struct script *script_open(enum h2_role role)
{
	return script_open_with(role, &(struct script_options){0});
}

static void frame_free(struct script_frame *frame)
{
	if (!frame)
		return;
	free(frame->payload);
	free(frame->fields);
	free(frame);
}

void script_close(struct script *s)
{
	script_at(s, "script_close", 0);
	script_pumps(s);
	for (size_t i = 0; i < s->events_tail; i++) {
		http_head_free(s->events[i]->head);
		free(s->events[i]->data);
		free(s->events[i]);
	}
	for (size_t i = 0; i < s->frames_tail; i++)
		frame_free(s->frames[i]);
	frame_free(s->pending);
	for (uint32_t i = 0; i < s->stream_count; i++)
		free(s->streams[i]);
	session_free(s->conn);
	budget_fini(&s->budget);
	budget_fini(&s->worker);
	chunk_pool_free(s->chunks);
	http_head_pool_free(s->heads);
	nghttp2_hd_deflate_del(s->deflater);
	nghttp2_hd_inflate_del(s->inflater);
	free(s->events);
	free(s->frames);
	free(s->streams);
	free(s->glued);
	free(s->out);
	free(s->block);
	free(s->transcript);
	free(s);
}
