/* SPDX-License-Identifier: MIT */
/*
 * Receives a complete HEADERS block (RFC 9113 8.1): a request, an interim or final response, or
 * trailers. The block is always decoded, even if the stream is refused, because the next block
 * depends on it (4.3).
 */
#include "proxy/h2/h2_conn.h"
#include "proxy/limits.h"

#define KIB 1024u

/* RFC 7541 4.2: a lower announced table size takes effect when the peer has acknowledged it. */
static struct hpack_decoder *decoder(struct h2_conn *c)
{
	if (!c->decoder) {
		c->decoder = hpack_decoder_new(c->local.header_table_size, c->session.env->seed);
		if (c->was_acked)
			hpack_decoder_set_limit(c->decoder, c->acked.header_table_size);
	}
	return c->decoder;
}

/*
 * RFC 7541 7.3: a byte may stand for a field of 4 KiB, whose bytes we keep, validate and send on. What the fields of a
 * block have beyond the block counts, by whole KiB, so that usual requests cost nothing.
 */
static const struct session_fault *count_expansion(
    struct h2_conn *c, size_t block_bytes, const struct http_head *head)
{
	size_t bytes = head->list_bytes - (size_t)head->count * HTTP_FIELD_OVERHEAD;
	if (c->role != H2_SERVER || bytes < block_bytes + KIB)
		return NULL;
	return h2_guard_take(
	    &c->guard, H2_GUARDED_EXPANSION, (uint32_t)((bytes - block_bytes) / KIB), c->now);
}

const struct session_fault *h2_decode(
    struct h2_conn *c, struct slice block, struct http_head **head, bool *too_large)
{
	/*
	 * Without an announced limit the engine's own applies: a small block can decode to a huge
	 * list.
	 */
	size_t limit = c->local.max_header_list_size;
	if (limit > LIMIT_FIELD_BLOCK_BYTES)
		limit = LIMIT_FIELD_BLOCK_BYTES;
	*too_large = false;
	*head = http_head_new(c->session.env->heads);
	(*head)->version = HTTP_VERSION_2;
	enum hpack_result result = hpack_decode(decoder(c), block, limit, *head);
	budget_adjust(c->budget, &c->decoder_charged, hpack_decoder_bytes(c->decoder));
	const struct session_fault *fault = h2_fault(COMPRESSION);
	/* uncovered: a value outside the enum */
	switch (result) {
	case HPACK_OK:
	case HPACK_TOO_LARGE:
		*too_large = result == HPACK_TOO_LARGE;
		fault = count_expansion(c, block.len, *head);
		break;
	case HPACK_BAD:
		break;
	}
	if (fault) {
		http_head_free(*head);
		*head = NULL;
	}
	return fault;
}

static const struct session_fault *validate(struct h2_conn *c, struct http_head *head,
    enum http_head_kind kind, const struct session_fault *fault)
{
	c->reason = http_head_validate(head, kind);
	return c->reason ? fault : NULL;
}

uint32_t h2_streams_allowed(const struct h2_conn *c)
{
	uint32_t limit = c->was_acked ? c->acked.max_concurrent_streams : 0;
	for (uint32_t i = 0; i < c->pending_count; i++)
		if (c->pending[i].max_concurrent_streams > limit)
			limit = c->pending[i].max_concurrent_streams;
	return limit;
}

static void deliver(struct h2_conn *c, struct h2_stream *s, enum session_event_kind kind,
    struct http_head *head, bool end)
{
	struct session_event *event = h2_event_make(c, kind, s);
	event->head = head;
	event->end = end;
	if (end)
		h2_stream_end(c, s, H2_INPUT_RECV_END_STREAM);
}

/* RFC 9218 5, 7.1: uses the Priority field, unless a PRIORITY_UPDATE came before. */
static void set_priority(struct h2_conn *c, struct h2_stream *s, const struct http_head *head)
{
	struct http_priority priority = s->place.priority;
	const struct http_field *field = http_head_find(head, HTTP_TOKEN_PRIORITY);
	if (field)
		priority = http_priority_parse(field->value);
	h2_early_find(&c->early, s->id, &priority);
	h2_sched_set_priority(&c->sched, &s->place, priority);
}

/* A request (RFC 9113 8.3.1). Takes the head. */
static const struct session_fault *recv_request(
    struct h2_conn *c, uint32_t id, struct http_head *head, bool end, bool too_large)
{
	const struct session_fault *fault = NULL;
	struct h2_stream *s = NULL;
	head->allows_protocol = c->local.enable_connect_protocol;
	if (c->census.remote_open >= h2_streams_allowed(c))
		fault = h2_fault(STREAMS_TOO_MANY);
	else if (!too_large)
		fault = validate(c, head, HTTP_REQUEST, h2_fault(REQUEST_MALFORMED));
	bool has_length = !too_large && head->content_length != HTTP_LENGTH_UNKNOWN &&
			  head->method_token != HTTP_METHOD_CONNECT;
	if (!fault && has_length && end && head->content_length > 0)
		fault = h2_fault(BODY_SHORT);
	/* A slow reader is not an attacker: it may retry once it has read the queued output. */
	if (!fault && h2_peer_is_behind(c))
		fault = h2_fault(STREAM_UNREAD);
	if (!fault) {
		s = h2_stream_new(c, id, H2_INPUT_RECV_HEADERS);
		fault = s ? NULL : h2_fault(STREAM_MEMORY);
	}
	if (fault) {
		http_head_free(head);
		return fault;
	}
	s->recv_phase = H2_PHASE_BODY;
	s->method = (uint8_t)head->method_token;
	if (has_length)
		s->body_left = head->content_length;
	if (!too_large)
		set_priority(c, s, head);
	deliver(c, s, SESSION_EVENT_HEAD, head, end);
	c->event.oversize = too_large;
	return NULL;
}

static const struct session_fault *recv_trailers(
    struct h2_conn *c, struct h2_stream *s, struct http_head *head, bool end)
{
	if (h2_stream_takes_data_alone(s, h2_other_role(c->role)))
		return h2_fault(TUNNEL_HEADERS);
	if (!end)
		return h2_fault(TRAILERS_WITHOUT_END);
	const struct session_fault *fault =
	    validate(c, head, HTTP_TRAILERS, h2_fault(TRAILERS_MALFORMED));
	if (fault)
		return fault;
	if (s->body_left != HTTP_LENGTH_UNKNOWN && s->body_left > 0)
		return h2_fault(BODY_SHORT);
	deliver(c, s, SESSION_EVENT_TRAILERS, head, true);
	return NULL;
}

static const struct session_fault *recv_interim(
    struct h2_conn *c, struct h2_stream *s, struct http_head *head, bool end)
{
	if (end)
		return h2_fault(INTERIM_WITH_END);
	if (s->interims == c->limits->interim_responses)
		return h2_fault(INTERIM_TOO_MANY);
	s->interims++;
	deliver(c, s, SESSION_EVENT_HEAD, head, false);
	return NULL;
}

static void begin_tunnel(struct h2_stream *s, struct http_head *head)
{
	s->is_tunnel = true;
	head->opens_tunnel = true;
	http_head_drop_length(head);
}

/* Decides whether the final response may have content (RFC 9110 6.4.1, 8.6). */
static const struct session_fault *recv_final(
    struct h2_conn *c, struct h2_stream *s, struct http_head *head, bool end)
{
	if (s->method == HTTP_METHOD_CONNECT && head->status / 100 == 2) {
		begin_tunnel(s, head);
	} else if (http_response_is_bodyless(head, (enum http_method)s->method)) {
		s->is_bodyless = true;
		s->body_left = 0;
	} else {
		s->body_left = head->content_length;
	}
	if (end && s->body_left != HTTP_LENGTH_UNKNOWN && s->body_left > 0)
		return h2_fault(BODY_SHORT);
	s->recv_phase = H2_PHASE_BODY;
	deliver(c, s, SESSION_EVENT_HEAD, head, end);
	return NULL;
}

static const struct session_fault *recv_response(
    struct h2_conn *c, struct h2_stream *s, struct http_head *head, bool end)
{
	const struct session_fault *fault =
	    validate(c, head, HTTP_RESPONSE, h2_fault(RESPONSE_MALFORMED));
	if (fault)
		return fault;
	return http_head_is_interim(head) ? recv_interim(c, s, head, end)
					  : recv_final(c, s, head, end);
}

/* HEADERS on an existing stream. Takes the head. */
static const struct session_fault *recv_more(
    struct h2_conn *c, struct h2_stream *s, struct http_head *head, bool end, bool too_large)
{
	const struct session_fault *fault;
	if (too_large)
		fault = h2_fault(LIST_TOO_LARGE);
	else if (s->recv_phase == H2_PHASE_HEAD)
		fault = recv_response(c, s, head, end);
	else
		fault = recv_trailers(c, s, head, end);
	if (fault)
		http_head_free(head);
	return fault;
}

/*
 * Whether HEADERS is allowed on this id. *is_new: it opens a stream; *s NULL and not new: discard.
 */
static const struct session_fault *place_block(
    struct h2_conn *c, uint32_t id, struct h2_stream **s, bool *is_new)
{
	enum h2_state state = h2_stream_state(c, id, s);
	*is_new = false;
	if (state == H2_STATE_IDLE) {
		if (h2_id_is_own(c, id) || !h2_role_rows[c->role].peer_opens_by_headers)
			return h2_fault(HEADERS_ON_IDLE);
		*is_new = true;
		h2_stream_note_id(c, id);
		return NULL;
	}
	if (state == H2_STATE_CLOSED && !h2_id_is_own(c, id) && h2_stream_was_skipped(c, id))
		return h2_fault(STREAM_ID_LOW);
	if (state == H2_STATE_RESERVED_REMOTE && c->census.remote_open >= h2_streams_allowed(c))
		return h2_fault(STREAMS_TOO_MANY);
	return h2_stream_receive(c, id, H2_INPUT_RECV_HEADERS, s);
}

const struct session_fault *h2_recv_headers(struct h2_conn *c, struct slice block)
{
	uint32_t id = c->block.stream_id;
	bool end = c->block.flags & H2_END_STREAM;
	bool is_new, too_large;
	struct h2_stream *s;
	struct http_head *head;
	const struct session_fault *fault = place_block(c, id, &s, &is_new);
	if (fault && fault->scope == SESSION_SCOPE_CONNECTION)
		return fault;
	const struct session_fault *undecodable = h2_decode(c, block, &head, &too_large);
	if (undecodable)
		return undecodable;
	/* uncovered: a block on another stream has its own fault, or is ignored */
	if (!fault && c->block.depends_on_itself && (s || is_new))
		fault = h2_fault(SELF_DEPENDENCY);
	if (fault || (!s && !is_new)) {
		http_head_free(head);
		return fault;
	}
	return is_new ? recv_request(c, id, head, end, too_large)
		      : recv_more(c, s, head, end, too_large);
}
