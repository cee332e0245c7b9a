/* SPDX-License-Identifier: MIT */
/* Makes events out of received bytes, one at a time: heads, bodies, and the ends of both. */
#include "proxy/h1/h1_conn.h"

void h1_read_no_more(struct h1_conn *c)
{
	c->reading = H1_READ_NOTHING;
	c->keeps = false;
	h1_input_drop(c);
}

/* ---- requests ---- */

static void open_stream(struct h1_conn *c, enum http_method method, bool is_old)
{
	h1_open_stream(c, method, NULL);
	c->stream.is_old = is_old;
	c->head_since = USEC_NEVER;
}

/* The head of a request that cannot be read: the parts that were read are there for the log. */
static bool refuse_request(struct h1_conn *c, struct session_event *event, struct http_head *head,
    const struct session_fault *fault, const char *reason)
{
	bool has_method = head->count > 0 && head->fields[0].token == HTTP_TOKEN_PSEUDO_METHOD;
	enum http_method method =
	    has_method ? http_method_find(head->fields[0].value) : HTTP_METHOD_OTHER;
	open_stream(c, method, head->version == HTTP_VERSION_1_0);
	head->kind = HTTP_REQUEST;
	h1_event_make(c, event, SESSION_EVENT_HEAD);
	event->head = head;
	event->end = true;
	h1_event_blame(c, event, fault, reason);
	h1_read_no_more(c);
	return true;
}

static bool request_head(struct h1_conn *c, struct session_event *event, struct slice lines)
{
	struct http_head *head = http_head_new(c->session.env->heads);
	struct h1_hop hop;
	bool oversize;
	const char *reason;
	h1_hop_init(&hop);
	const struct session_fault *fault =
	    h1_read_request(c, lines, head, &hop, &oversize, &reason);
	if (fault)
		return refuse_request(c, event, head, fault, reason);
	h1_trace_head(c, false, head, lines.len);
	open_stream(c, head->method_token, head->version == HTTP_VERSION_1_0);
	h1_event_make(c, event, SESSION_EVENT_HEAD);
	event->head = head;
	event->oversize = oversize;
	if (oversize) { /* it is not validated, so its end is not known */
		c->stream.method = http_method_find(head->fields[0].value);
		h1_read_no_more(c);
		event->end = true;
		return true;
	}
	c->stream.was_read = event->end = c->reading == H1_READ_DONE;
	c->stream.asks_upgrade = head->upgrade.len > 0;
	return true;
}

/* A line that begins no request is refused without waiting for the rest of the head. */
static const struct session_fault *check_first_line(struct h1_conn *c)
{
	const struct h1_buffer *b = &c->input.head;
	const char *lf = memchr(b->bytes, '\n', b->length);
	if (c->line_was_checked || !lf)
		return NULL;
	c->line_was_checked = true;
	return h1_check_request_line(slice_of(b->bytes, (size_t)(lf - b->bytes) - 1));
}

/* The head of a request whose fields cannot be read: its request line, if all of that has come. The
 * answer to HEAD has no content, also where the request is malformed (RFC 9110 9.3.2). */
static struct http_head *head_of_first_line(const struct h1_conn *c)
{
	const struct h1_buffer *b = &c->input.head;
	struct http_head *head = http_head_new(c->session.env->heads);
	/* uncovered: a head that is late or has a fault has begun */
	const char *lf = b->length > 0 ? memchr(b->bytes, '\n', b->length) : NULL;
	if (lf && lf > b->bytes && lf[-1] == '\r')
		h1_read_request_line(c, slice_of(b->bytes, (size_t)(lf - b->bytes) - 1), head);
	return head;
}

static const struct session_fault *why_too_large(const struct h1_conn *c)
{
	const struct h1_buffer *b = &c->input.head;
	bool has_line = memchr(b->bytes, '\n', b->length) != NULL;
	return has_line ? h1_fault(HEAD_LARGE) : h1_fault(TARGET_LONG);
}

static void begin_head(struct h1_conn *c)
{
	if (c->reading == H1_READ_HEAD)
		return;
	c->reading = H1_READ_HEAD;
	c->line_was_checked = false;
	if (c->head_since == USEC_NEVER)
		c->head_since = c->now_is_old ? 0 : c->now;
}

/* RFC 9112 2.2: an empty line before a request line is skipped, one and no more. The request has not
 * begun with it. */
static void skip_empty_line(struct h1_conn *c, usec head_since)
{
	c->skipped_line = true;
	c->reading = H1_READ_START;
	c->head_since = head_since;
}

static bool read_request(struct h1_conn *c, struct session_event *event)
{
	struct slice lines;
	const struct session_fault *fault = NULL;
	if (c->is_late)
		return refuse_request(c, event, head_of_first_line(c), h1_fault(HEAD_LATE), NULL);
	if (h1_input_front(c).len == 0 || h1_unsent_bytes(c) > H1_UNSENT_MOST)
		return false;
	usec head_since = c->head_since;
	begin_head(c);
	if (h1_input_lines(c, c->config->limits.head_bytes, &lines, &fault)) {
		if (lines.len == 0 && !c->skipped_line) {
			skip_empty_line(c, head_since);
			return read_request(c, event);
		}
		c->skipped_line = false;
		return request_head(c, event, lines);
	}
	if (fault == h1_fault(HEAD_LARGE))
		fault = why_too_large(c);
	else if (!fault)
		fault = check_first_line(c);
	if (!fault)
		return false;
	return refuse_request(c, event, head_of_first_line(c), fault, NULL);
}

/* ---- responses ---- */

static bool refuse_response(struct h1_conn *c, struct session_event *event,
    const struct session_fault *fault, const char *reason)
{
	h1_event_make(c, event, SESSION_EVENT_RESET);
	event->oversize = fault == h1_fault(HEAD_LARGE);
	h1_event_blame(c, event, fault, reason);
	h1_read_no_more(c);
	h1_end_stream(c);
	h1_fail(c, NULL);
	return true;
}

static bool response_head(struct h1_conn *c, struct session_event *event, struct slice lines)
{
	struct http_head *head = http_head_new(c->session.env->heads);
	struct h1_hop hop;
	bool oversize;
	const char *reason;
	h1_hop_init(&hop);
	const struct session_fault *fault =
	    h1_read_response(c, lines, head, &hop, &oversize, &reason);
	bool is_interim = !fault && http_head_is_interim(head);
	if (is_interim && ++c->stream.interims > c->config->limits.interim_responses)
		fault = h1_fault(INTERIM_MANY);
	if (fault) {
		http_head_free(head);
		return refuse_response(c, event, fault, reason);
	}
	h1_trace_head(c, false, head, lines.len);
	h1_event_make(c, event, SESSION_EVENT_HEAD);
	event->head = head;
	if (is_interim) {
		c->reading = H1_READ_START;
		return true;
	}
	c->stream.has_answer = true;
	h1_end_held(c);
	c->stream.was_read = event->end = c->reading == H1_READ_DONE;
	return true;
}

/* The protocol of an origin whose first byte begins no status line; NULL: unknown. */
static const char *other_protocol(char first)
{
	switch (first) {
	case '\0': /* of the length of a SETTINGS frame (RFC 9113 6.5) */
		return "the origin answers in HTTP/2";
	case '\x15': /* an alert, and a handshake record (RFC 8446 5.1) */
	case '\x16':
		return "the origin answers in TLS";
	default:
		return NULL;
	}
}

static bool read_response(struct h1_conn *c, struct session_event *event)
{
	struct slice lines;
	const struct session_fault *fault = NULL;
	struct slice front = h1_input_front(c);
	if (front.len == 0)
		return false;
	/* Bytes that come before the request has begun to leave belong to the one before it. */
	if (!c->stream.is_open || !c->stream.has_left) {
		h1_count_fault(c, h1_fault(UNASKED));
		h1_fail(c, h1_fault(UNASKED));
		return h1_next_event(&c->session, event);
	}
	if (c->reading == H1_READ_START && front.ptr[0] != 'H')
		return refuse_response(
		    c, event, h1_fault(STATUS_LINE), other_protocol(front.ptr[0]));
	c->reading = H1_READ_HEAD;
	if (h1_input_lines(c, c->config->limits.head_bytes, &lines, &fault))
		return response_head(c, event, lines);
	if (!fault)
		return false;
	return refuse_response(c, event, fault, NULL);
}

/* ---- the end of an exchange ---- */

static bool is_over(const struct h1_stream *s, enum h1_reading reading)
{
	return s->is_open && s->was_written && (s->was_read || reading == H1_READ_NOTHING);
}

/* Both messages are complete: the next request may come, or be sent. */
static bool close_stream(struct h1_conn *c, struct session_event *event)
{
	h1_event_make(c, event, SESSION_EVENT_CLOSED);
	h1_end_stream(c);
	c->now_is_old = true;
	if (c->keeps)
		c->reading = H1_READ_START;
	else
		h1_read_no_more(c);
	return true;
}

static bool fail_event(struct h1_conn *c, struct session_event *event)
{
	*event = (struct session_event){
	    .kind = SESSION_EVENT_FAILED,
	    .fault = c->failure,
	    .code = c->failure ? SESSION_PROTOCOL_ERROR : SESSION_NO_ERROR,
	};
	c->failure_is_due = false;
	return true;
}

static bool read_event(struct h1_conn *c, struct session_event *event)
{
	switch (c->reading) {
	case H1_READ_START:
	case H1_READ_HEAD:
		return c->role == H1_SERVER ? read_request(c, event) : read_response(c, event);
	case H1_READ_DONE:
		return false;
	case H1_READ_NOTHING:
		h1_input_drop(c);
		return false;
	default:
		return h1_read_body(c, event);
	}
}

bool h1_next_event(struct session *session, struct session_event *event)
{
	struct h1_conn *c = h1_of(session);
	if (c->failure_is_due)
		return fail_event(c, event);
	if (c->has_failed)
		return false;
	if (c->role == H1_CLIENT && !c->was_ready) {
		c->was_ready = true;
		*event = (struct session_event){.kind = SESSION_EVENT_READY};
		return true;
	}
	if (is_over(&c->stream, c->reading))
		return close_stream(c, event);
	if (read_event(c, event))
		return true;
	(void)h1_input_front(c); /* releases the chunk that was read */
	budget_adjust(c->budget, &c->charged, h1_input_held(c) + h1_output_held(c));
	return false;
}
