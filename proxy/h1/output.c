/* SPDX-License-Identifier: MIT */
/*
 * Messages to the peer. A head is written into a buffer, with the framing that the peer's version
 * allows; body bytes never come here: the owner is told how many of them belong between which bytes.
 */
#include "proxy/h1/h1_conn.h"

#include "proxy/base/ensure.h"
#include "proxy/http/via.h"

/* A buffer larger than this is not kept for the next head. */
#define KEPT_BYTES 1024u
/* Room for the rest of a head: the first line, framing, Connection. */
#define EXTRA_BYTES 192u

/* ---- bytes of a head ---- */

/* Begins a head: forgets bytes that have left, and makes room for all of it. */
static char *begin_head(struct h1_conn *c, const struct http_head *head)
{
	size_t bytes = head->method.len + head->path.len + 2 * head->authority.len +
		       head->protocol.len + EXTRA_BYTES;
	for (uint32_t i = 0; i < head->count; i++)
		bytes += head->fields[i].name.len + head->fields[i].value.len + 4;
	if (c->output_lent)
		c->output.length = 0;
	c->output_lent = false;
	return h1_buffer_reserve(&c->output, bytes);
}

static char *put(char *at, struct slice text)
{
	memcpy(at, text.ptr, text.len);
	return at + text.len;
}

static char *put_field(char *at, struct slice name, struct slice value)
{
	at = put(put(at, name), SLICE(": "));
	if (value.len > 0)
		at = put(at, value);
	return put(at, SLICE("\r\n"));
}

/* RFC 9113 8.2.3: the crumbs of a cookie become one field again. An empty one is left
 * out: a semicolon without a cookie behind it is not the syntax of RFC 6265 4.2.1. */
static char *put_cookies(char *at, const struct http_head *head)
{
	struct slice before = SLICE("");
	at = put(at, SLICE("cookie: "));
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->token != HTTP_TOKEN_COOKIE || f->value.len == 0)
			continue;
		at = put(put(at, before), f->value);
		before = SLICE("; ");
	}
	return put(at, SLICE("\r\n"));
}

/* Fields that frame a message, and keys of another hop: not in a head that asks for a tunnel or opens one. */
static bool is_not_for_tunnels(const struct http_field *f)
{
	return f->token == HTTP_TOKEN_CONTENT_LENGTH || f->token == HTTP_TOKEN_TE ||
	       (f->token == HTTP_TOKEN_NONE && h1_is_websocket_key(f->name));
}

static char *put_fields(char *at, const struct http_head *head)
{
	bool had_cookies = false;
	bool is_tunnel = head->opens_tunnel || head->method_token == HTTP_METHOD_CONNECT;
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->token == HTTP_TOKEN_COOKIE && head->kind == HTTP_REQUEST) {
			if (!had_cookies)
				at = put_cookies(at, head);
			had_cookies = true;
			continue;
		}
		if (!is_tunnel || !is_not_for_tunnels(f))
			at = put_field(at, f->name, f->value);
	}
	return at;
}

static char *put_framing(char *at, enum h1_writing writing, bool says_empty)
{
	if (writing == H1_WRITE_CHUNKS)
		return put(at, SLICE("transfer-encoding: chunked\r\n"));
	return says_empty ? put(at, SLICE("content-length: 0\r\n")) : at;
}

static void finish_head(struct h1_conn *c, const struct http_head *head, char *at)
{
	at = put(at, SLICE("\r\n"));
	size_t bytes = (size_t)(at - c->output.bytes) - c->output.length;
	c->output.length += bytes;
	h1_trace_head(c, true, head, bytes);
}

/* ---- the outgoing message ---- */

static void end_output(struct h1_conn *c)
{
	c->stream.was_written = true;
	c->body_follows = false;
	c->offered = 0;
	c->offered_end = false;
}

static void begin_body(struct h1_conn *c, enum h1_writing writing, uint64_t length, bool end)
{
	c->writing = writing;
	c->write_left = length;
	c->offered = 0;
	c->offered_end = false;
	c->body_follows = true;
	if (end)
		end_output(c);
}

static bool has_length(const struct http_head *head)
{
	return head->content_length != HTTP_LENGTH_UNKNOWN;
}

/* RFC 9110 8.6: methods for which a server expects a body. */
static bool expects_body(enum http_method method)
{
	return method == HTTP_METHOD_POST || method == HTTP_METHOD_PUT ||
	       method == HTTP_METHOD_PATCH;
}

/* The fields for this hop that make a request for a tunnel an Upgrade. */
static char *put_upgrade(char *at, struct slice protocol)
{
	at = put(at, SLICE("connection: upgrade\r\n"));
	return put_field(at, SLICE("upgrade"), protocol);
}

/* A request for a tunnel has no body: the owner's bytes wait for the answer. */
static bool ask_for_tunnel(struct h1_conn *c, const struct http_head *head, bool end, void *user)
{
	bool is_upgrade = head->protocol.len > 0;
	bool is_websocket = h1_is_websocket(head->protocol);
	if (is_websocket && !c->config->websocket)
		return false;
	char *at = begin_head(c, head);
	at = put(at, is_upgrade ? SLICE("GET ") : SLICE("CONNECT "));
	at = put(at, is_upgrade ? head->path : head->authority);
	at = put(at, SLICE(" HTTP/1.1\r\n"));
	at = put_field(at, SLICE("host"), head->authority);
	at = put_fields(at, head);
	if (is_upgrade)
		at = put_upgrade(at, head->protocol);
	c->websocket_key[0] = '\0';
	if (is_websocket) {
		c->config->websocket->make_key(c->websocket_key);
		at = put_field(at, SLICE("sec-websocket-key"), slice_of_string(c->websocket_key));
	}
	if (is_upgrade)
		h1_buffer_add(&c->asked_protocol, head->protocol);
	h1_open_stream(c, is_upgrade ? HTTP_METHOD_GET : HTTP_METHOD_CONNECT, user);
	begin_body(c, H1_WRITE_HELD, 0, false);
	c->offered_end = end;
	finish_head(c, head, at);
	return true;
}

void h1_end_held(struct h1_conn *c)
{
	h1_buffer_free(&c->asked_protocol);
	if (c->writing == H1_WRITE_HELD)
		end_output(c);
}

struct session_stream *h1_request(
    struct session *session, const struct http_head *head, bool end, void *user)
{
	struct h1_conn *c = h1_of(session);
	if (h1_request_room(session) == 0)
		return NULL;
	if (head->method_token == HTTP_METHOD_CONNECT)
		return ask_for_tunnel(c, head, end, user) ? &c->stream.base : NULL;
	enum h1_writing writing = end                ? H1_WRITE_NOTHING
				  : has_length(head) ? H1_WRITE_LENGTH
						     : H1_WRITE_CHUNKS;
	bool has_te = http_head_find(head, HTTP_TOKEN_TE) != NULL;
	char *at = begin_head(c, head);
	at = put(put(at, head->method), SLICE(" "));
	at = put(put(at, head->path), SLICE(" HTTP/1.1\r\n"));
	at = put_field(at, SLICE("host"), head->authority);
	at = put_fields(at, head);
	at = put_framing(at, writing, end && !has_length(head) && expects_body(head->method_token));
	if (has_te)
		at = put(at, SLICE("connection: te\r\n"));
	h1_open_stream(c, (enum http_method)head->method_token, user);
	begin_body(c, writing, has_length(head) ? head->content_length : 0, end);
	finish_head(c, head, at);
	return &c->stream.base;
}

/* Without snprintf, which would be a twentieth of the instructions of a whole request. */
static char *put_status(char *at, uint16_t status)
{
	at = put(at, SLICE("HTTP/1.1 "));
	*at++ = (char)('0' + status / 100);
	*at++ = (char)('0' + status / 10 % 10);
	*at++ = (char)('0' + status % 10);
	*at++ = ' ';
	at = put(at, slice_of_string(http_status_reason(status)));
	return put(at, SLICE("\r\n"));
}

static bool respond_interim(struct h1_conn *c, const struct http_head *head)
{
	if (!h1_takes_interim(c) || h1_unsent_bytes(c) > H1_UNSENT_MOST)
		return false;
	char *at = put_status(begin_head(c, head), head->status);
	finish_head(c, head, put_fields(at, head));
	return true;
}

/* A redirect, or an answer of failure, to a request that is still coming: the client is told not to send
 * the rest (RFC 9112 9.3), and it would be read for nothing. */
static bool may_keep(const struct h1_conn *c, const struct http_head *head)
{
	return c->keeps && !c->is_going && !c->input.has_ended &&
	       (head->status < 300 || h1_request_is_here(c));
}

static enum h1_writing framing_of(
    const struct h1_conn *c, const struct http_head *head, bool is_bodyless)
{
	if (is_bodyless)
		return H1_WRITE_NOTHING;
	if (has_length(head))
		return H1_WRITE_LENGTH;
	return c->stream.is_old ? H1_WRITE_TO_END : H1_WRITE_CHUNKS;
}

/* The answer to a request for a tunnel that opens it. Bytes that came behind the request are for the tunnel. */
static bool open_tunnel(struct h1_conn *c, const struct http_head *head, bool end)
{
	bool is_upgrade = c->stream.asks_upgrade;
	bool is_websocket = is_upgrade && h1_is_websocket(head->protocol);
	char accept[H1_WEBSOCKET_ACCEPT];
	if (is_upgrade ? head->protocol.len == 0 : c->stream.method != HTTP_METHOD_CONNECT)
		return false;
	if (c->reading != H1_READ_DONE || (is_websocket && !c->websocket_key[0]))
		return false;
	char *at = put_status(begin_head(c, head), is_upgrade ? 101 : head->status);
	at = put_fields(at, head);
	if (is_upgrade)
		at = put_upgrade(at, head->protocol);
	if (is_websocket) {
		c->config->websocket->accept(slice_of_string(c->websocket_key), accept);
		at = put_field(at, SLICE("sec-websocket-accept"), slice_of_string(accept));
	}
	c->stream.has_answer = true;
	c->stream.was_read = false;
	c->reading = H1_READ_TUNNEL;
	begin_body(c, H1_WRITE_TUNNEL, 0, end);
	finish_head(c, head, at);
	return true;
}

bool h1_respond(
    struct session *session, struct session_stream *stream, const struct http_head *head, bool end)
{
	struct h1_conn *c = h1_of(session);
	(void)stream;
	if (!c->stream.is_open || c->stream.has_answer)
		return false;
	if (http_head_is_interim(head))
		return respond_interim(c, head);
	if (head->opens_tunnel)
		return open_tunnel(c, head, end);
	bool is_bodyless = http_response_is_bodyless(head, c->stream.method);
	enum h1_writing writing = framing_of(c, head, is_bodyless || end);
	c->keeps = may_keep(c, head);
	ensure(!c->keeps || writing != H1_WRITE_TO_END);
	char *at = put_status(begin_head(c, head), head->status);
	at = put_fields(at, head);
	at = put_framing(at, writing, end && !is_bodyless && !has_length(head));
	if (!c->keeps)
		at = put(at, SLICE("connection: close\r\n"));
	c->stream.has_answer = true;
	begin_body(c, writing, has_length(head) ? head->content_length : 0, end);
	finish_head(c, head, at);
	return true;
}

bool h1_trailers(
    struct session *session, struct session_stream *stream, const struct http_head *head)
{
	struct h1_conn *c = h1_of(session);
	(void)stream;
	if (!c->body_follows || c->has_failed)
		return false;
	if (c->writing == H1_WRITE_HELD) {
		c->offered_end = true;
		return true;
	}
	if (c->writing == H1_WRITE_CHUNKS) {
		struct http_head none = {.kind = HTTP_TRAILERS};
		const struct http_head *trailers = head ? head : &none;
		char *at = put(begin_head(c, trailers), SLICE("0\r\n"));
		finish_head(c, trailers, put_fields(at, trailers));
	}
	end_output(c);
	return true;
}

/* ---- output ---- */

void h1_offer(struct session *session, struct session_stream *stream, size_t bytes, bool end)
{
	struct h1_conn *c = h1_of(session);
	(void)stream;
	if (!c->body_follows)
		return;
	c->offered = bytes;
	c->offered_end = end;
}

/* The owner's body does not have the length that its head says: the peer must not take it for complete. */
static bool is_of_wrong_length(const struct h1_conn *c)
{
	if (c->writing == H1_WRITE_NOTHING)
		return c->offered > 0;
	if (c->writing != H1_WRITE_LENGTH)
		return false;
	return c->offered > c->write_left || (c->offered_end && c->offered < c->write_left);
}

static bool has_body(const struct h1_conn *c)
{
	return c->body_follows && c->writing != H1_WRITE_HELD && (c->offered > 0 || c->offered_end);
}

/* Puts the size of a chunk behind the head that waits, and returns the text behind its bytes. */
static struct slice frame_chunk(struct h1_conn *c, uint32_t length, bool end)
{
	if (length == 0)
		return SLICE("0\r\n\r\n");
	char *begin = h1_buffer_reserve(&c->output, 16), *at = begin;
	unsigned shift = (31 - (unsigned)__builtin_clz(length)) & ~3u; /* of the first digit */
	for (; shift < 32; shift -= 4)
		*at++ = "0123456789abcdef"[length >> shift & 15];
	at = put(at, SLICE("\r\n"));
	c->output.length += (size_t)(at - begin);
	return end ? SLICE("\r\n0\r\n\r\n") : SLICE("\r\n");
}

static void add_body(struct h1_conn *c, uint32_t most, struct session_output *output)
{
	output->stream = &c->stream.base;
	output->length = c->offered < most ? (uint32_t)c->offered : most;
	output->end = c->offered_end && output->length == c->offered;
	if (c->writing == H1_WRITE_CHUNKS)
		output->after = frame_chunk(c, output->length, output->end);
	c->offered -= output->length;
	if (c->writing == H1_WRITE_LENGTH)
		c->write_left -= output->length;
	if (output->end)
		end_output(c);
}

bool h1_next_output(struct session *session, uint32_t most, struct session_output *output)
{
	struct h1_conn *c = h1_of(session);
	if (c->output_lent) {
		c->output.length = 0;
		c->output_lent = false;
		if (c->output.capacity > KEPT_BYTES)
			h1_buffer_free(&c->output);
	}
	if (c->has_failed)
		return false;
	if (has_body(c) && is_of_wrong_length(c)) {
		c->must_abort = true;
		h1_fail(c, NULL);
		return false;
	}
	if (c->output.length == 0 && !has_body(c))
		return false;
	*output = (struct session_output){0};
	if (has_body(c))
		add_body(c, most, output);
	output->before = slice_of(c->output.bytes, c->output.length);
	c->output_lent = c->stream.has_left = true;
	return true;
}

size_t h1_output_held(const struct h1_conn *c)
{
	return h1_unsent_bytes(c) > 0 ? c->output.capacity : 0;
}

bool h1_wants_write(const struct session *session)
{
	const struct h1_conn *c = h1_of(session);
	return !c->has_failed && (h1_unsent_bytes(c) > 0 || has_body(c));
}
