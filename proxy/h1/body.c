/* SPDX-License-Identifier: MIT */
/*
 * The body of the incoming message (RFC 9112 6 and 7). Its bytes go to the owner where they lie; of the
 * chunks' framing nothing is kept but where it stands.
 */
#include "proxy/h1/h1_conn.h"

#include "proxy/base/ascii.h"

/* Leading zeros count: no sender needs them. More digits would not fit into 63 bits. */
#define SIZE_DIGITS_MOST 15u

static bool data_event(struct h1_conn *c, struct session_event *event, size_t n, bool end)
{
	h1_event_make(c, event, SESSION_EVENT_DATA);
	event->end = end;
	if (n > 0)
		event->piece = h1_input_take_piece(c, n);
	c->owed += n;
	if (end) {
		c->stream.was_read = true;
		c->reading = H1_READ_DONE;
	}
	return true;
}

static bool is_window_used_up(const struct h1_conn *c)
{
	return c->owed >= c->window;
}

/* How much of the bytes at the front may go to the owner now. */
static size_t takeable(const struct h1_conn *c, struct slice front, uint64_t left)
{
	size_t n = front.len < left ? front.len : (size_t)left;
	size_t room = c->window - c->owed;
	return n < room ? n : room;
}

static bool read_length(struct h1_conn *c, struct session_event *event)
{
	struct slice front = h1_input_front(c);
	if (front.len == 0 || is_window_used_up(c))
		return false;
	size_t n = takeable(c, front, c->body_left);
	c->body_left -= n;
	return data_event(c, event, n, c->body_left == 0);
}

static bool read_to_end(struct h1_conn *c, struct session_event *event)
{
	struct slice front = h1_input_front(c);
	bool is_end = front.len == 0;
	if (is_end ? !c->input.has_ended || c->input.was_cut : is_window_used_up(c))
		return false;
	return data_event(c, event, takeable(c, front, UINT64_MAX), is_end);
}

/* ---- chunks ---- */

static const struct session_fault *size_byte(struct h1_conn *c, char byte)
{
	int value = ascii_hex_value(byte);
	if (value >= 0) {
		if (++c->size_digits > SIZE_DIGITS_MOST)
			return h1_fault(CHUNK_SIZE);
		c->body_left = c->body_left << 4 | (unsigned)value;
		c->chunk = H1_CHUNK_SIZE;
		return NULL;
	}
	if (c->chunk == H1_CHUNK_SIZE_FIRST)
		return h1_fault(CHUNK_SIZE);
	if (byte == '\r')
		c->chunk = H1_CHUNK_LINE_LF;
	else if (byte == ';')
		c->chunk = H1_CHUNK_NAME_FIRST;
	else if (ascii_is_blank(byte))
		c->chunk = H1_CHUNK_SPACE;
	else
		return h1_fault(CHUNK_SIZE);
	return NULL;
}

enum byte_kind { TOKEN, SPACE, EQUALS, SEMICOLON, QUOTE, BACKSLASH, CR, OTHER_TEXT, CONTROL };

static enum byte_kind byte_kind(char byte)
{
	switch (byte) {
	case ' ':
	case '\t':
		return SPACE;
	case '=':
		return EQUALS;
	case ';':
		return SEMICOLON;
	case '"':
		return QUOTE;
	case '\\':
		return BACKSLASH;
	case '\r':
		return CR;
	default:
		if (ascii_is(byte, ASCII_TOKEN))
			return TOKEN;
		return ascii_is(byte, ASCII_CONTROL) ? CONTROL : OTHER_TEXT;
	}
}

/* The part that follows each kind of byte; 0: it may not stand there. */
/* clang-format off */
static const uint8_t extension_parts[][CONTROL + 1] = {
	[H1_CHUNK_SPACE] = {[SPACE] = H1_CHUNK_SPACE, [SEMICOLON] = H1_CHUNK_NAME_FIRST},
	[H1_CHUNK_NAME_FIRST] = {[SPACE] = H1_CHUNK_NAME_FIRST, [TOKEN] = H1_CHUNK_NAME},
	[H1_CHUNK_NAME] = {[TOKEN] = H1_CHUNK_NAME, [SPACE] = H1_CHUNK_NAME_SPACE, [EQUALS] = H1_CHUNK_VALUE_FIRST,
	    [SEMICOLON] = H1_CHUNK_NAME_FIRST, [CR] = H1_CHUNK_LINE_LF},
	[H1_CHUNK_NAME_SPACE] = {[SPACE] = H1_CHUNK_NAME_SPACE, [EQUALS] = H1_CHUNK_VALUE_FIRST,
	    [SEMICOLON] = H1_CHUNK_NAME_FIRST},
	[H1_CHUNK_VALUE_FIRST] = {[SPACE] = H1_CHUNK_VALUE_FIRST, [TOKEN] = H1_CHUNK_VALUE, [QUOTE] = H1_CHUNK_QUOTED},
	[H1_CHUNK_VALUE] = {[TOKEN] = H1_CHUNK_VALUE, [SPACE] = H1_CHUNK_VALUE_SPACE, [SEMICOLON] = H1_CHUNK_NAME_FIRST,
	    [CR] = H1_CHUNK_LINE_LF},
	[H1_CHUNK_QUOTED] = {[TOKEN] = H1_CHUNK_QUOTED, [SPACE] = H1_CHUNK_QUOTED, [EQUALS] = H1_CHUNK_QUOTED,
	    [SEMICOLON] = H1_CHUNK_QUOTED, [OTHER_TEXT] = H1_CHUNK_QUOTED, [BACKSLASH] = H1_CHUNK_ESCAPED,
	    [QUOTE] = H1_CHUNK_QUOTED_END},
	[H1_CHUNK_ESCAPED] = {[TOKEN] = H1_CHUNK_QUOTED, [SPACE] = H1_CHUNK_QUOTED, [EQUALS] = H1_CHUNK_QUOTED,
	    [SEMICOLON] = H1_CHUNK_QUOTED, [OTHER_TEXT] = H1_CHUNK_QUOTED, [BACKSLASH] = H1_CHUNK_QUOTED,
	    [QUOTE] = H1_CHUNK_QUOTED},
	[H1_CHUNK_QUOTED_END] = {[SPACE] = H1_CHUNK_VALUE_SPACE, [SEMICOLON] = H1_CHUNK_NAME_FIRST, [CR] = H1_CHUNK_LINE_LF},
	[H1_CHUNK_VALUE_SPACE] = {[SPACE] = H1_CHUNK_VALUE_SPACE, [SEMICOLON] = H1_CHUNK_NAME_FIRST},
};
/* clang-format on */

/* RFC 9112 7.1.1. Extensions are read over: none of them has a meaning here. */
static const struct session_fault *extension_byte(struct h1_conn *c, char byte)
{
	if (++c->extension_bytes > c->config->limits.extension_bytes)
		return h1_fault(EXTENSIONS_LARGE);
	uint8_t next = extension_parts[c->chunk][byte_kind(byte)];
	if (next == 0)
		return c->chunk == H1_CHUNK_SPACE ? h1_fault(CHUNK_SIZE)
						  : h1_fault(CHUNK_EXTENSION);
	c->chunk = (enum h1_chunk_part)next;
	return NULL;
}

static void begin_size(struct h1_conn *c)
{
	c->chunk = H1_CHUNK_SIZE_FIRST;
	c->size_digits = 0;
	c->body_left = 0;
}

static const struct session_fault *framing_byte(struct h1_conn *c, char byte)
{
	switch (c->chunk) {
	case H1_CHUNK_SIZE_FIRST:
	case H1_CHUNK_SIZE:
		return size_byte(c, byte);
	case H1_CHUNK_LINE_LF:
		if (byte != '\n')
			return h1_fault(LINE_END);
		c->chunk = H1_CHUNK_DATA;
		if (c->body_left == 0)
			c->reading = H1_READ_TRAILERS;
		return NULL;
	case H1_CHUNK_DATA_CR:
		c->chunk = H1_CHUNK_DATA_LF;
		return byte == '\r' ? NULL : h1_fault(CHUNK_END);
	case H1_CHUNK_DATA_LF:
		begin_size(c);
		return byte == '\n' ? NULL : h1_fault(CHUNK_END);
	default:
		return extension_byte(c, byte);
	}
}

/* The message cannot be read on: the client gets an answer, an origin's response is over. */
static bool refuse(struct h1_conn *c, struct session_event *event,
    const struct session_fault *fault, const char *reason)
{
	bool is_server = c->role == H1_SERVER;
	h1_event_make(c, event, is_server ? SESSION_EVENT_REFUSED : SESSION_EVENT_RESET);
	h1_event_blame(c, event, fault, reason);
	h1_read_no_more(c);
	if (!is_server) {
		h1_end_stream(c);
		h1_fail(c, NULL);
	}
	return true;
}

/* The usual end of a body: the chunk's own, the last chunk, no trailers. */
#define CHUNKS_END "\r\n0\r\n\r\n"

static bool read_chunk_data(struct h1_conn *c, struct session_event *event, struct slice front)
{
	size_t n = takeable(c, front, c->body_left);
	c->body_left -= n;
	if (c->body_left > 0)
		return data_event(c, event, n, false);
	c->chunk = H1_CHUNK_DATA_CR;
	/* If the end can be seen already, it comes with the last bytes. */
	bool end = slice_starts_with(slice_from(front, n), SLICE(CHUNKS_END));
	data_event(c, event, n, end);
	if (end)
		h1_input_take(c, strlen(CHUNKS_END));
	return true;
}

static bool read_trailers(struct h1_conn *c, struct session_event *event)
{
	struct slice lines;
	const struct session_fault *fault;
	const char *reason = NULL;
	if (!h1_input_lines(c, c->config->limits.trailer_bytes, &lines, &fault)) {
		if (fault == h1_fault(HEAD_LARGE))
			fault = h1_fault(TRAILERS_LARGE);
		if (!fault)
			return false;
		return refuse(c, event, fault, NULL);
	}
	if (lines.len == 0)
		return data_event(c, event, 0, true);
	struct http_head *head = http_head_new(c->session.env->heads);
	fault = h1_read_trailers(c, lines, head, &reason);
	if (fault) {
		http_head_free(head);
		return refuse(c, event, fault, reason);
	}
	h1_trace_head(c, false, head, lines.len);
	h1_event_make(c, event, SESSION_EVENT_TRAILERS);
	event->head = head;
	event->end = true;
	c->stream.was_read = true;
	c->reading = H1_READ_DONE;
	return true;
}

static bool read_chunks(struct h1_conn *c, struct session_event *event)
{
	struct slice front;
	while (c->reading == H1_READ_CHUNKS && (front = h1_input_front(c)).len > 0) {
		if (c->chunk == H1_CHUNK_DATA) {
			if (is_window_used_up(c))
				return false;
			return read_chunk_data(c, event, front);
		}
		const struct session_fault *fault = framing_byte(c, front.ptr[0]);
		h1_input_take(c, 1);
		if (fault)
			return refuse(c, event, fault, NULL);
	}
	return c->reading == H1_READ_TRAILERS && read_trailers(c, event);
}

bool h1_read_body(struct h1_conn *c, struct session_event *event)
{
	switch (c->reading) {
	case H1_READ_LENGTH:
		return read_length(c, event);
	case H1_READ_CHUNKS:
		return read_chunks(c, event);
	case H1_READ_TRAILERS:
		return read_trailers(c, event);
	default:
		return read_to_end(c, event);
	}
}
