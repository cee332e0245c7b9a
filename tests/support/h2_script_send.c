/* SPDX-License-Identifier: MIT */
/* The peer's frames, and the owner's commands. See h2_script.h. */
#include "tests/support/h2_script_wire.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

#define FIELDS_MAX 64
#define BLOCK_MAX 65536

/* ---- how the peer's frames change the script's windows and settings ---- */

static void settings_note(struct script *s, const uint8_t *payload, size_t length)
{
	/* Output that was made under the old values must be checked with them. */
	if (length > 0 && s->conn && !s->glue)
		script_pumps(s);
	for (size_t i = 0; i + 6 <= length; i += 6) {
		uint32_t id = (uint32_t)payload[i] << 8 | payload[i + 1];
		uint32_t value = script_get32(payload + i + 2);
		if (id == SCRIPT_FRAME_SIZE && value >= 16384 && value <= 0xffffff)
			s->peer_frame_size = value;
		if (id == SCRIPT_ENABLE_PUSH)
			s->peer_push = value;
		if (id == SCRIPT_TABLE_SIZE)
			nghttp2_hd_inflate_change_table_size(s->inflater, value);
		if (id != SCRIPT_WINDOW || value > 0x7fffffff)
			continue;
		for (uint32_t n = 0; n < s->stream_count; n++)
			s->streams[n]->window += (int64_t)value - s->peer_window_initial;
		s->peer_window_initial = value;
	}
}

static void frame_note(struct script *s, uint8_t type, uint8_t flags, uint32_t id,
    const uint8_t *payload, size_t length)
{
	script_notes(
	    s, "-> %s s%u len=%zu flags=%02x\n", script_frame_name(type), id, length, flags);
	bool peers = s->role == H2_SERVER ? id % 2 == 1 : id % 2 == 0;
	if (type == H2_HEADERS && peers && id > s->last_peer)
		s->last_peer = id;
	if (type == H2_PUSH_PROMISE && length >= 4 && s->role == H2_CLIENT) {
		uint32_t promised =
		    script_get32(payload + ((flags & H2_PADDED) && length >= 5)) & 0x7fffffff;
		if (promised > s->last_peer && promised % 2 == 0)
			s->last_peer = promised;
	}
	if (type == H2_WINDOW_UPDATE && length == 4) {
		uint32_t increment = script_get32(payload) & 0x7fffffff;
		if (id == 0)
			s->connection_window += increment;
		else
			script_stream(s, id)->window += increment;
	}
	if (type == H2_SETTINGS && !(flags & H2_ACK))
		settings_note(s, payload, length);
}

/* ---- frames ---- */

void script_sends_preface(struct script *s)
{
	script_sends_bytes(s, H2_PREFACE, H2_PREFACE_LEN);
}

static void header_put(uint8_t out[9], uint32_t length, uint8_t type, uint8_t flags, uint32_t id)
{
	script_put32(out, length << 8);
	out[3] = type;
	out[4] = flags;
	script_put32(out + 5, id);
}

void script_sends_frame_header(
    struct script *s, uint32_t length, uint8_t type, uint8_t flags, uint32_t id)
{
	uint8_t header[9];
	header_put(header, length, type, flags, id);
	script_notes(s, "-> header of %s s%u len=%u flags=%02x\n", script_frame_name(type), id,
	    length, flags);
	script_sends_bytes(s, header, sizeof header);
}

void script_sends_raw(
    struct script *s, uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t length)
{
	uint8_t *frame = malloc(9 + length);
	header_put(frame, (uint32_t)length, type, flags, id);
	if (length)
		memcpy(frame + 9, payload, length);
	frame_note(s, type, flags, id & 0x7fffffff, frame + 9, length);
	script_sends_bytes(s, frame, 9 + length);
	free(frame);
}

size_t script_encodes_list(struct script *s, uint8_t *out, size_t room, va_list list)
{
	nghttp2_nv nv[FIELDS_MAX];
	size_t count = 0;
	for (const char *name; (name = va_arg(list, const char *)) != NULL; count++) {
		assert_true(count < FIELDS_MAX);
		const char *value = va_arg(list, const char *);
		bool never = name[0] == '!';
		name += never;
		nv[count] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
		    .namelen = strlen(name),
		    .value = (uint8_t *)(uintptr_t)value,
		    .valuelen = strlen(value),
		    .flags = never ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
	}
	ssize_t n = nghttp2_hd_deflate_hd(s->deflater, out, room, nv, count);
	assert_true(n >= 0);
	return (size_t)n;
}

size_t script_encodes(struct script *s, uint8_t *out, size_t room, ...)
{
	va_list list;
	va_start(list, room);
	size_t n = script_encodes_list(s, out, room, list);
	va_end(list);
	return n;
}

size_t script_literal(
    uint8_t *out, const void *name, size_t name_bytes, const void *value, size_t value_bytes)
{
	assert_true(name_bytes < 127 && value_bytes < 127);
	out[0] = 0;
	out[1] = (uint8_t)name_bytes;
	memcpy(out + 2, name, name_bytes);
	out[2 + name_bytes] = (uint8_t)value_bytes;
	memcpy(out + 3 + name_bytes, value, value_bytes);
	return 3 + name_bytes + value_bytes;
}

void script_sends_headers(struct script *s, uint32_t id, unsigned flags, ...)
{
	uint8_t *block = malloc(BLOCK_MAX);
	va_list list;
	va_start(list, flags);
	size_t n = script_encodes_list(s, block, BLOCK_MAX, list);
	va_end(list);
	script_sends_raw(s, H2_HEADERS, (uint8_t)(flags | H2_END_HEADERS), id, block, n);
	free(block);
}

void script_sends_promise(struct script *s, uint32_t id, uint32_t promised, ...)
{
	uint8_t *block = malloc(BLOCK_MAX);
	script_put32(block, promised);
	va_list list;
	va_start(list, promised);
	size_t n = script_encodes_list(s, block + 4, BLOCK_MAX - 4, list);
	va_end(list);
	script_sends_raw(s, H2_PUSH_PROMISE, H2_END_HEADERS, id, block, n + 4);
	free(block);
}

void script_sends_get(struct script *s, uint32_t id)
{
	script_sends_headers(s, id, H2_END_STREAM, ":method", "GET", ":scheme", "https",
	    ":authority", "example.org", ":path", "/", NULL);
}

void script_sends_post(struct script *s, uint32_t id)
{
	script_sends_headers(s, id, 0, ":method", "POST", ":scheme", "https", ":authority",
	    "example.org", ":path", "/", NULL);
}

void script_sends_ok(struct script *s, uint32_t id, uint8_t flags)
{
	script_sends_headers(s, id, flags, ":status", "200", NULL);
}

void script_sends_good_promise(struct script *s, uint32_t id, uint32_t promised)
{
	script_sends_promise(s, id, promised, ":method", "GET", ":scheme", "https", ":authority",
	    "example.org", ":path", "/pushed", NULL);
}

void script_sends_padded_data(
    struct script *s, uint32_t id, uint8_t flags, size_t length, uint8_t padding)
{
	uint8_t *payload = calloc(1, 1 + length + padding);
	payload[0] = padding;
	memset(payload + 1, 'd', length);
	script_sends_raw(s, H2_DATA, flags | H2_PADDED, id, payload, 1 + length + padding);
	free(payload);
}

void script_sends_data(struct script *s, uint32_t id, uint8_t flags, size_t length)
{
	uint8_t *payload = malloc(length + 1);
	memset(payload, 'd', length);
	script_sends_raw(s, H2_DATA, flags, id, payload, length);
	free(payload);
}

static void sends_32(struct script *s, uint8_t type, uint32_t id, uint32_t value)
{
	uint8_t payload[4];
	script_put32(payload, value);
	script_sends_raw(s, type, 0, id, payload, sizeof payload);
}

void script_sends_rst(struct script *s, uint32_t id, uint32_t code)
{
	sends_32(s, H2_RST_STREAM, id, code);
}

void script_sends_window_update(struct script *s, uint32_t id, uint32_t increment)
{
	sends_32(s, H2_WINDOW_UPDATE, id, increment);
}

static size_t setting_put(uint8_t *out, uint32_t id, uint32_t value)
{
	out[0] = (uint8_t)(id >> 8);
	out[1] = (uint8_t)id;
	script_put32(out + 2, value);
	return 6;
}

void script_sends_settings_list(struct script *s, const uint32_t *pairs)
{
	uint8_t payload[6 * FIELDS_MAX];
	size_t n = 0;
	for (; pairs && *pairs; pairs += 2)
		n += setting_put(payload + n, pairs[0], pairs[1]);
	script_sends_raw(s, H2_SETTINGS, 0, 0, payload, n);
}

void script_sends_settings(struct script *s, ...)
{
	uint32_t pairs[2 * FIELDS_MAX + 1];
	size_t n = 0;
	va_list list;
	va_start(list, s);
	while ((pairs[n] = va_arg(list, uint32_t)) != 0) {
		assert_true(n < 2 * FIELDS_MAX - 2);
		pairs[n + 1] = va_arg(list, uint32_t);
		n += 2;
	}
	va_end(list);
	script_sends_settings_list(s, pairs);
}

void script_sends_settings_ack(struct script *s)
{
	script_sends_raw(s, H2_SETTINGS, H2_ACK, 0, NULL, 0);
}

void script_sends_ping(struct script *s, uint64_t payload)
{
	script_sends_raw(s, H2_PING, 0, 0, &payload, 8);
}

void script_sends_goaway(struct script *s, uint32_t last_id, uint32_t code, const char *debug)
{
	uint8_t payload[72];
	script_put32(payload, last_id);
	script_put32(payload + 4, code);
	size_t n = strlen(debug);
	assert_true(n <= 64);
	memcpy(payload + 8, debug, n);
	script_sends_raw(s, H2_GOAWAY, 0, 0, payload, 8 + n);
}

void script_sends_priority(struct script *s, uint32_t id, uint32_t parent)
{
	uint8_t payload[5] = {0};
	script_put32(payload, parent);
	payload[4] = 15;
	script_sends_raw(s, H2_PRIORITY, 0, id, payload, sizeof payload);
}

void script_sends_priority_update(struct script *s, uint32_t id, const char *value)
{
	uint8_t payload[128];
	size_t n = strlen(value);
	assert_true(n < sizeof payload - 4);
	script_put32(payload, id);
	memcpy(payload + 4, value, n);
	script_sends_raw(s, H2_PRIORITY_UPDATE, 0, 0, payload, 4 + n);
}

void script_answers_pings(struct script *s)
{
	script_pumps(s);
	while (s->pings_due > 0) {
		s->pings_due = 0;
		for (size_t i = s->frames_answered; i < s->frames_tail; i++)
			if (s->frames[i]->type == H2_PING && !(s->frames[i]->flags & H2_ACK))
				script_sends_raw(s, H2_PING, H2_ACK, 0, s->frames[i]->payload, 8);
		s->frames_answered = s->frames_tail;
		script_pumps(s);
	}
}

/* ---- the owner's commands ---- */

struct http_head *script_head(struct script *s, enum http_head_kind kind, ...)
{
	struct http_head *head = http_head_new(s->heads);
	va_list list;
	va_start(list, kind);
	for (const char *name; (name = va_arg(list, const char *)) != NULL;) {
		bool never = name[0] == '!';
		http_head_add(head, slice_of_string(name + never),
		    slice_of_string(va_arg(list, const char *)));
		head->fields[head->count - 1].never_index = never;
	}
	va_end(list);
	head->allows_protocol = true;
	const char *wrong = http_head_validate(head, kind);
	if (wrong)
		script_fail(s, "the test's own head is wrong: %s", wrong);
	return head;
}

uint32_t script_requests(struct script *s, bool end, const char *method, const char *path)
{
	struct http_head *head = script_head(s, HTTP_REQUEST, ":method", method, ":scheme", "https",
	    ":authority", "example.org", ":path", path, NULL);
	struct session_stream *handle = session_request(s->conn, head, end, s);
	http_head_free(head);
	session_check(s->conn);
	if (!handle)
		return 0;
	struct script_stream *stream = script_stream(s, h2_stream_id(handle));
	stream->handle = handle;
	stream->announced = true;
	return stream->id;
}

uint32_t script_gets(struct script *s)
{
	return script_requests(s, true, "GET", "/");
}

bool script_responds(struct script *s, uint32_t id, bool end, const char *status)
{
	struct http_head *head = script_head(s, HTTP_RESPONSE, ":status", status, NULL);
	bool done = session_respond(s->conn, script_handle(s, id), head, end);
	http_head_free(head);
	session_check(s->conn);
	return done;
}

bool script_trails(struct script *s, uint32_t id)
{
	struct http_head *head = script_head(s, HTTP_TRAILERS, "x-trailer", "t", NULL);
	bool done = session_trailers(s->conn, script_handle(s, id), head);
	http_head_free(head);
	session_check(s->conn);
	return done;
}

uint32_t script_promises(struct script *s, uint32_t parent, const char *path)
{
	struct http_head *head = script_head(s, HTTP_PROMISE, ":method", "GET", ":scheme", "https",
	    ":authority", "example.org", ":path", path, NULL);
	struct session_stream *handle = session_promise(s->conn, script_handle(s, parent), head, s);
	http_head_free(head);
	session_check(s->conn);
	if (!handle)
		return 0;
	struct script_stream *stream = script_stream(s, h2_stream_id(handle));
	stream->handle = handle;
	stream->announced = true;
	return stream->id;
}

void script_offers(struct script *s, uint32_t id, size_t bytes, bool end)
{
	session_offer(s->conn, script_handle(s, id), bytes, end);
	session_check(s->conn);
}

void script_resets(struct script *s, uint32_t id, uint32_t code)
{
	session_reset(s->conn, script_handle(s, id), code);
	script_stream(s, id)->handle = NULL;
	script_stream(s, id)->over = true;
	session_check(s->conn);
}

void script_credits(struct script *s, uint32_t id, size_t bytes)
{
	session_credit(s->conn, script_handle(s, id), bytes);
	session_check(s->conn);
}
