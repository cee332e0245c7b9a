/* SPDX-License-Identifier: MIT */
/*
 * Splits the engine's output into frames and checks the rules that RFC 9113 has for every sender;
 * every test of the engine makes these checks.
 */
#include "tests/support/h2_script_wire.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const frame_names[] = {"DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS",
    "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE", "CONTINUATION"};

const char *script_frame_name(uint8_t type)
{
	if (type < sizeof frame_names / sizeof *frame_names)
		return frame_names[type];
	return type == H2_PRIORITY_UPDATE ? "PRIORITY_UPDATE" : "unknown";
}

uint32_t script_get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void script_put32(uint8_t *out, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void frame_queue(struct script *s, struct script_frame *frame)
{
	if (s->frames_tail % 1024 == 0)
		s->frames =
		    realloc(s->frames, (s->frames_tail + 1024) * sizeof(struct script_frame *));
	s->frames[s->frames_tail++] = frame;
}

/* ---- the rules for a sender, by frame type ---- */

/* RFC 9113 5.1: after END_STREAM a sender sends only PRIORITY, RST_STREAM and WINDOW_UPDATE. */
static struct script_stream *check_sendable(struct script *s, uint32_t id, const char *what)
{
	if (id == 0)
		script_fail(s, "%s on stream 0", what);
	struct script_stream *stream = script_stream(s, id);
	if (stream->sent_rst)
		script_fail(s, "%s on stream %u after RST_STREAM", what, id);
	if (stream->sent_end)
		script_fail(s, "%s on stream %u after END_STREAM", what, id);
	return stream;
}

/* RFC 9113 6.9.1. */
static void check_data(struct script *s, const struct script_frame *frame)
{
	struct script_stream *stream = check_sendable(s, frame->id, "DATA");
	int64_t length = frame->length;
	if (length > 0 && (length > stream->window || length > s->connection_window))
		script_fail(s, "DATA of %u bytes on stream %u with windows %lld and %lld",
		    frame->length, frame->id, (long long)stream->window,
		    (long long)s->connection_window);
	stream->window -= length;
	s->connection_window -= length;
	stream->sent_end = frame->flags & H2_END_STREAM;
}

/* RFC 9113 5.1.1. */
static void check_headers(struct script *s, const struct script_frame *frame)
{
	struct script_stream *stream = check_sendable(s, frame->id, "HEADERS");
	if (s->role == H2_CLIENT && frame->id > s->last_opened) {
		if (frame->id % 2 == 0)
			script_fail(s, "a client opens stream %u", frame->id);
		s->last_opened = frame->id;
	}
	if (s->role == H2_SERVER && frame->id % 2 == 0 && frame->id > s->last_promised)
		script_fail(s, "HEADERS on stream %u, which was not promised", frame->id);
	if (s->role == H2_SERVER && frame->id % 2 == 1 && frame->id > s->last_peer)
		script_fail(s, "HEADERS on stream %u, which is idle", frame->id);
	stream->sent_end = frame->flags & H2_END_STREAM;
}

/* RFC 9113 6.6, 8.4. */
static void check_promise(struct script *s, struct script_frame *frame)
{
	if (s->role == H2_CLIENT)
		script_fail(s, "a client promises");
	if (!s->peer_push)
		script_fail(s, "PUSH_PROMISE although ENABLE_PUSH is 0");
	check_sendable(s, frame->id, "PUSH_PROMISE");
	if (frame->id % 2 == 0)
		script_fail(s, "a promise on a pushed stream");
	if (frame->promised % 2 || frame->promised <= s->last_promised)
		script_fail(s, "promised id %u after %u", frame->promised, s->last_promised);
	s->last_promised = frame->promised;
}

/* RFC 9113 6.4, 5.4.2. */
static void check_rst(struct script *s, struct script_frame *frame)
{
	if (frame->id == 0 || frame->length != 4)
		script_fail(s, "RST_STREAM on stream %u of %u bytes", frame->id, frame->length);
	frame->code = script_get32(frame->payload);
	bool ours = s->role == H2_CLIENT ? frame->id % 2 == 1 : frame->id % 2 == 0;
	uint32_t highest = !ours                  ? s->last_peer
			   : s->role == H2_CLIENT ? s->last_opened
						  : s->last_promised;
	if (frame->id > highest)
		script_fail(s, "RST_STREAM on stream %u, which is idle", frame->id);
	struct script_stream *stream = script_stream(s, frame->id);
	if (stream->sent_rst)
		script_fail(s, "RST_STREAM on stream %u twice", frame->id);
	stream->sent_rst = true;
}

/* RFC 9113 6.5.2. */
static void check_settings(struct script *s, const struct script_frame *frame)
{
	if (frame->id != 0 || frame->length % 6 || ((frame->flags & H2_ACK) && frame->length))
		script_fail(s, "SETTINGS on stream %u of %u bytes", frame->id, frame->length);
	for (uint32_t i = 0; i < frame->length; i += 6) {
		uint32_t id = (uint32_t)frame->payload[i] << 8 | frame->payload[i + 1];
		uint32_t value = script_get32(frame->payload + i + 2);
		if (id == SCRIPT_ENABLE_PUSH && (s->role == H2_SERVER || value > 1))
			script_fail(s, "SETTINGS_ENABLE_PUSH=%u", value);
		if (id == SCRIPT_WINDOW && value > 0x7fffffff)
			script_fail(s, "SETTINGS_INITIAL_WINDOW_SIZE=%u", value);
		if (id == SCRIPT_FRAME_SIZE && (value < 16384 || value > 0xffffff))
			script_fail(s, "SETTINGS_MAX_FRAME_SIZE=%u", value);
	}
}

/* RFC 9113 6.8: the last id never rises. */
static void check_goaway(struct script *s, struct script_frame *frame)
{
	if (frame->id != 0 || frame->length < 8)
		script_fail(s, "GOAWAY on stream %u of %u bytes", frame->id, frame->length);
	frame->last_id = script_get32(frame->payload) & 0x7fffffff;
	frame->code = script_get32(frame->payload + 4);
	if (frame->last_id > s->goaway_id)
		script_fail(
		    s, "GOAWAY's last id rises from %u to %u", s->goaway_id, frame->last_id);
	s->goaway_id = frame->last_id;
}

static void check_window_update(struct script *s, struct script_frame *frame)
{
	if (frame->length != 4)
		script_fail(s, "WINDOW_UPDATE of %u bytes", frame->length);
	frame->increment = script_get32(frame->payload);
	if (frame->increment == 0 || frame->increment > 0x7fffffff)
		script_fail(s, "WINDOW_UPDATE by %u", frame->increment);
	if (frame->id != 0 && script_stream(s, frame->id)->sent_rst)
		script_fail(s, "WINDOW_UPDATE on stream %u after RST_STREAM", frame->id);
}

static void check_ping(struct script *s, const struct script_frame *frame)
{
	if (frame->id != 0 || frame->length != 8)
		script_fail(s, "PING on stream %u of %u bytes", frame->id, frame->length);
	if (frame->flags & H2_ACK)
		return;
	s->pings_due++;
	memcpy(&s->ping_payload, frame->payload, 8);
}

/* ---- field blocks ---- */

static void fields_add(char **text, size_t *length, const nghttp2_nv *nv)
{
	size_t more = nv->namelen + nv->valuelen + 4;
	*text = realloc(*text, *length + more + 1);
	int n = snprintf(*text + *length, more + 1, "%s%.*s: %.*s\n",
	    nv->flags & NGHTTP2_NV_FLAG_NO_INDEX ? "!" : "", (int)nv->namelen,
	    (const char *)nv->name, (int)nv->valuelen, (const char *)nv->value);
	*length += (size_t)n;
}

static void block_decode(struct script *s, struct script_frame *frame)
{
	const uint8_t *at = s->block;
	size_t left = s->block_bytes, length = 0;
	frame->fields = calloc(1, 1);
	for (;;) {
		nghttp2_nv nv;
		int flags = 0;
		ssize_t n = nghttp2_hd_inflate_hd2(s->inflater, &nv, &flags, at, left, 1);
		if (n < 0)
			script_fail(s, "a field block on stream %u that does not decode: %s",
			    frame->id, nghttp2_strerror((int)n));
		at += n;
		left -= (size_t)n;
		if (flags & NGHTTP2_HD_INFLATE_EMIT)
			fields_add(&frame->fields, &length, &nv);
		if (flags & NGHTTP2_HD_INFLATE_FINAL)
			break;
	}
	nghttp2_hd_inflate_end_headers(s->inflater);
	s->block_bytes = 0;
}

static void block_add(struct script *s, const uint8_t *bytes, size_t length)
{
	s->block = realloc(s->block, s->block_bytes + length + 1);
	if (length)
		memcpy(s->block + s->block_bytes, bytes, length);
	s->block_bytes += length;
}

/* Removes the payload before the fragment, and the padding after it. */
static void block_begin(struct script *s, struct script_frame *frame)
{
	const uint8_t *at = frame->payload, *end = frame->payload + frame->length;
	uint32_t fixed = frame->type == H2_PUSH_PROMISE   ? 4
			 : frame->flags & H2_HAS_PRIORITY ? 5
							  : 0;
	if (frame->flags & H2_PADDED) {
		if (at == end || end - at - 1 < at[0])
			script_fail(s, "padding longer than the frame");
		end -= *at++;
	}
	if ((uint32_t)(end - at) < fixed)
		script_fail(s, "a frame too short for its fields");
	if (frame->type == H2_PUSH_PROMISE)
		frame->promised = script_get32(at) & 0x7fffffff;
	block_add(s, at + fixed, (size_t)(end - at) - fixed);
}

static void block_end(struct script *s, struct script_frame *frame)
{
	block_decode(s, frame);
	if (frame->type == H2_PUSH_PROMISE)
		check_promise(s, frame);
	else
		check_headers(s, frame);
	frame_queue(s, frame);
}

/* ---- splitting ---- */

static void frame_check(struct script *s, struct script_frame *frame)
{
	// clang-format off
	switch (frame->type) {
	case H2_DATA: check_data(s, frame); break;
	case H2_RST_STREAM: check_rst(s, frame); break;
	case H2_SETTINGS: check_settings(s, frame); break;
	case H2_PING: check_ping(s, frame); break;
	case H2_GOAWAY: check_goaway(s, frame); break;
	case H2_WINDOW_UPDATE: check_window_update(s, frame); break;
	case H2_CONTINUATION: script_fail(s, "CONTINUATION without a field block"); break;
	}
	// clang-format on
	frame_queue(s, frame);
}

static void frame_take(struct script *s, struct script_frame *frame)
{
	script_notes(s, "<- %s s%u len=%u flags=%02x\n", script_frame_name(frame->type), frame->id,
	    frame->length, frame->flags);
	if (frame->length > s->peer_frame_size)
		script_fail(
		    s, "a frame of %u bytes, %u are allowed", frame->length, s->peer_frame_size);
	if (!s->settings_seen && (frame->type != H2_SETTINGS || (frame->flags & H2_ACK)))
		script_fail(s, "the first frame is not SETTINGS");
	s->settings_seen = true;
	struct script_frame *open = s->pending;
	if (open) {
		if (frame->type != H2_CONTINUATION || frame->id != open->id)
			script_fail(s, "a field block is interrupted");
		block_add(s, frame->payload, frame->length);
		open->frames++;
		bool done = frame->flags & H2_END_HEADERS;
		free(frame->payload);
		free(frame);
		if (done) {
			s->pending = NULL;
			block_end(s, open);
		}
		return;
	}
	if (frame->type != H2_HEADERS && frame->type != H2_PUSH_PROMISE) {
		frame_check(s, frame);
		return;
	}
	block_begin(s, frame);
	if (frame->flags & H2_END_HEADERS)
		block_end(s, frame);
	else
		s->pending = frame;
}

static size_t frame_cut(struct script *s)
{
	if (!s->preface_seen) {
		if (s->out_bytes < H2_PREFACE_LEN)
			return 0;
		if (memcmp(s->out, H2_PREFACE, H2_PREFACE_LEN) != 0)
			script_fail(s, "a client that begins without the preface");
		s->preface_seen = true;
		return H2_PREFACE_LEN;
	}
	if (s->out_bytes < 9)
		return 0;
	uint32_t length = script_get32(s->out) >> 8;
	if (s->out_bytes < 9 + length)
		return 0;
	struct script_frame *frame = calloc(1, sizeof *frame);
	frame->type = s->out[3];
	frame->flags = s->out[4];
	frame->id = script_get32(s->out + 5) & 0x7fffffff;
	frame->length = length;
	frame->frames = 1;
	frame->payload = malloc(length + 1u);
	memcpy(frame->payload, s->out + 9, length);
	frame_take(s, frame);
	return 9 + length;
}

void script_takes_output(struct script *s, const void *bytes, size_t length)
{
	if (s->out_bytes + length > s->out_room) {
		s->out_room = 2 * (s->out_bytes + length);
		s->out = realloc(s->out, s->out_room);
	}
	if (length)
		memcpy(s->out + s->out_bytes, bytes, length);
	s->out_bytes += length;
	for (size_t n; (n = frame_cut(s)) > 0;) {
		s->out_bytes -= n;
		memmove(s->out, s->out + n, s->out_bytes);
	}
}
