/* SPDX-License-Identifier: MIT */
/* Checks every invariant of a connection, in tests, debug and fuzz builds. */
#include "proxy/h2/h2_conn.h"

static void check_stream(const struct h2_conn *c, const struct h2_stream *s)
{
	ensure(s->life == H2_LIFE_ALIVE && s->state != H2_STATE_IDLE && s->state < H2_STATE_CLOSED);
	ensure(h2_stream_find(c, s->id) == s && s->place.id == s->id);
	ensure(!list_is_linked(&s->ending));
	ensure(h2_id_is_own(c, s->id) ? s->id < c->own_next_id : s->id <= c->peer_last_id);
	ensure(s->is_pushed == ((s->id & 1) == 0));
	ensure(!s->is_tunnel || (s->method == HTTP_METHOD_CONNECT && !s->is_pushed));
	ensure(s->outflow.window <= H2_WINDOW_MAX);
	ensure(s->inflow.size >= 0 && s->inflow.size <= H2_WINDOW_MAX && s->inflow.owed >= 0);
	if (!c->has_failed &&
	    h2_state_allows((enum h2_state)s->state, H2_INPUT_SEND_WINDOW_UPDATE)) {
		int64_t in_frame = c->reader.stream == s ? c->reader.left : 0;
		ensure(s->inflow.window + s->inflow.owed + (int64_t)s->unread <= s->inflow.size);
		ensure(s->inflow.window + s->inflow.owed + (int64_t)s->unread + in_frame >=
		       s->inflow.size);
	}
	bool may_send = h2_state_allows((enum h2_state)s->state, H2_INPUT_SEND_DATA);
	ensure(s->send_phase != H2_PHASE_BODY || may_send);
	if (s->place.ready == H2_READY_DATA)
		ensure(may_send && s->offered > 0 && s->outflow.window > 0);
	if (s->place.ready == H2_READY_END)
		ensure(may_send && s->offered == 0 && s->offered_end);
	ensure(h2_sched_agrees(&c->sched, &s->place));
}

static void count_stream(const struct h2_conn *c, const struct h2_stream *s, struct h2_census *n)
{
	bool own = h2_id_is_own(c, s->id);
	if (s->state == H2_STATE_RESERVED_LOCAL)
		n->local_reserved++;
	else if (s->state == H2_STATE_RESERVED_REMOTE)
		n->remote_reserved++;
	else if (own)
		n->local_open++;
	else
		n->remote_open++;
}

static void check_streams(const struct h2_conn *c)
{
	struct h2_census census = {0};
	uint32_t handles = c->ended ? 1 : 0;
	map_for_each(&c->streams, s, struct h2_stream, node)
	{
		check_stream(c, s);
		count_stream(c, s, &census);
		handles++;
	}
	for (const struct list *l = c->endings.next; l != &c->endings; l = l->next, handles++) {
		const struct h2_stream *s = container_of(l, struct h2_stream, ending);
		ensure(s->life == H2_LIFE_ENDING && s->place.ready == H2_READY_NOT);
		ensure(s->end_kind == SESSION_EVENT_RESET || s->state == H2_STATE_CLOSED);
	}
	ensure(handles == c->handles);
	ensure(handles > 0 || c->spares.count == 0);
	ensure(memcmp(&census, &c->census, sizeof(census)) == 0);
	ensure(census.remote_reserved <= c->limits->reserved_streams);
}

static void check_reader(const struct h2_conn *c)
{
	const struct h2_reader *r = &c->reader;
	ensure(r->data_left <= r->left);
	ensure(!r->stream || r->at == H2_READING_DATA || r->at == H2_READING_PAD);
	ensure(r->at != H2_READING_DATA || (r->stream && r->data_left > 0));
	ensure(r->at != H2_READING_SKIP || r->left > 0 || c->has_failed);
	const struct h2_block *b = &c->block;
	ensure(b->length + b->partial <= b->capacity);
	ensure(b->charged == b->capacity);
	ensure(b->is_open || b->length == 0);
	ensure(b->length <= c->limits->field_block_bytes);
	ensure(b->is_open || b->partial > 0 || b->deadline == USEC_NEVER);
}

void h2_check(const struct session *session)
{
	const struct h2_conn *c = h2_of(session);
	check_streams(c);
	check_reader(c);
	ensure(c->out.start <= c->out.end && c->out.end <= c->out.capacity);
	ensure(c->out.provoked <= h2_out_length(&c->out));
	ensure(c->outflow.window <= H2_WINDOW_MAX);
	ensure(c->inflow.window + c->inflow.owed == c->inflow.size);
	ensure(c->forgotten.confirmed <= c->forgotten.sealed);
	ensure(c->forgotten.sealed <= c->forgotten.count);
	ensure(c->forgotten.ping_under_way || c->forgotten.count == c->forgotten.confirmed ||
	       c->has_failed);
	ensure(c->early.count <= c->early.capacity && c->early.capacity <= H2_EARLY_KEPT);
	ensure(c->pending_count <= H2_SETTINGS_PENDING && !c->pending == (c->pending_count == 0));
	ensure(c->goaway_sent == H2_GOAWAY_FINAL || c->goaway_sent_last == H2_ID_MAX);
	if (c->decoder)
		hpack_decoder_check(c->decoder);
	if (c->encoder)
		hpack_encoder_check(c->encoder);
}
