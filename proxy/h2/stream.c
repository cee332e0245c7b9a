/* SPDX-License-Identifier: MIT */
/*
 * Streams: their objects, their ids (RFC 9113 5.1.1), and h2_stream_move, which alone changes their
 * state (state.c) and counts them.
 */
#include "proxy/base/memory.h"
#include "proxy/h2/h2_conn.h"

const struct h2_role_row h2_role_rows[2] = {
    [H2_SERVER] = {"server", 2, true, true, {3, false}},
    [H2_CLIENT] = {"client", 1, false, false, {3, true}},
};

/* A one-to-one hash: equal hashes mean equal ids. Ids at regular distances do not collide. */
static uint64_t hash_of(const struct h2_conn *c, uint32_t id)
{
	return __builtin_bswap64((uint64_t)id * c->id_mix);
}

struct h2_stream *h2_stream_find(const struct h2_conn *c, uint32_t id)
{
	struct map_node *node = map_find(&c->streams, hash_of(c, id));
	return node ? container_of(node, struct h2_stream, node) : NULL;
}

bool h2_stream_was_skipped(const struct h2_conn *c, uint32_t id)
{
	for (size_t i = 0; i < H2_GAPS_KEPT; i++)
		if (id >= c->gaps[i].low && id <= c->gaps[i].high)
			return true;
	return false;
}

void h2_stream_note_id(struct h2_conn *c, uint32_t id)
{
	ensure(!h2_id_is_own(c, id) && id > c->peer_last_id);
	uint32_t expected = c->peer_last_id ? c->peer_last_id + 2 : 2 - (id & 1u);
	if (id != expected) {
		c->gaps[c->gap_next].low = expected;
		c->gaps[c->gap_next].high = id - 2;
		c->gap_next = (c->gap_next + 1) % H2_GAPS_KEPT;
	}
	c->peer_last_id = id;
}

void h2_stream_forget(struct h2_conn *c, uint32_t id)
{
	h2_forgotten_add(&c->forgotten, id);
	/* uncovered: no stream is reset after the failure; a PING after the GOAWAY would be wrong */
	if (h2_forgotten_wants_ping(&c->forgotten) && !c->has_failed) {
		h2_forgotten_pinged(&c->forgotten);
		h2_send_ping(c, H2_PING_RESETS);
	}
}

enum h2_state h2_stream_state(const struct h2_conn *c, uint32_t id, struct h2_stream **s)
{
	*s = h2_stream_find(c, id);
	if (*s)
		return (enum h2_state)(*s)->state;
	bool own = h2_id_is_own(c, id);
	if (own && id >= c->own_next_id)
		return H2_STATE_IDLE;
	/* RFC 9113 6.8: streams above the last id of our GOAWAY are ignored. */
	if (!own && c->goaway_sent == H2_GOAWAY_FINAL && id > c->goaway_sent_last)
		return H2_STATE_FORGOTTEN;
	if (!own && id > c->peer_last_id)
		return H2_STATE_IDLE;
	/* A skipped id of a server was never promised, so no late frame can come on it. */
	if (!own && !h2_role_rows[c->role].peer_opens_by_headers && h2_stream_was_skipped(c, id))
		return H2_STATE_IDLE;
	return h2_forgotten_has(&c->forgotten, id) ? H2_STATE_FORGOTTEN : H2_STATE_CLOSED;
}

/* The census counter for a stream in this state; NULL: none. */
static inline uint32_t *census_of(struct h2_conn *c, const struct h2_stream *s, enum h2_state state)
{
	/* uncovered: a value outside the enum */
	switch (state) {
	case H2_STATE_RESERVED_LOCAL:
		return &c->census.local_reserved;
	case H2_STATE_RESERVED_REMOTE:
		return &c->census.remote_reserved;
	case H2_STATE_OPEN:
	case H2_STATE_HALF_CLOSED_LOCAL:
	case H2_STATE_HALF_CLOSED_REMOTE:
		return h2_id_is_own(c, s->id) ? &c->census.local_open : &c->census.remote_open;
	case H2_STATE_IDLE:
	case H2_STATE_CLOSED:
	case H2_STATE_FORGOTTEN:
	case H2_STATE_COUNT:
		return NULL;
	}
	return NULL;
}

const struct session_fault *h2_stream_move(
    struct h2_conn *c, struct h2_stream *s, enum h2_input input)
{
	const struct h2_transition *t = &h2_transitions[s->state][input];
	ensure(t->verdict != H2_VERDICT_NEVER);
	if (t->verdict == H2_VERDICT_FAULT)
		return &h2_faults[t->fault];
	/* uncovered: DISCARD is in the table for streams without an object alone */
	if (t->verdict == H2_VERDICT_DISCARD || t->next == s->state)
		return NULL;
	uint32_t *left = census_of(c, s, (enum h2_state)s->state);
	uint32_t *entered = census_of(c, s, (enum h2_state)t->next);
	s->state = t->next;
	if (left == entered)
		return NULL;
	if (left)
		--*left;
	if (entered)
		++*entered;
	return NULL;
}

const struct session_fault *h2_stream_receive(
    struct h2_conn *c, uint32_t id, enum h2_input input, struct h2_stream **s)
{
	enum h2_state state = h2_stream_state(c, id, s);
	if (*s)
		return h2_stream_move(c, *s, input);
	const struct h2_transition *t = &h2_transitions[state][input];
	ensure(t->verdict == H2_VERDICT_FAULT || t->verdict == H2_VERDICT_DISCARD);
	return t->verdict == H2_VERDICT_FAULT ? &h2_faults[t->fault] : NULL;
}

/* Memory for a stream, already charged: a spare stream's, or from the heap. */
static struct h2_stream *take_spare(struct h2_conn *c)
{
	struct h2_stream *s = spares_take(&c->spares);
	if (!s && budget_take(c->budget, H2_STREAM_COST))
		s = memory_alloc(sizeof(*s));
	return s;
}

void h2_stream_release(struct h2_conn *c, struct h2_stream *s)
{
	budget_give(c->budget, H2_STREAM_COST);
	free(s);
}

void h2_stream_free_spares(struct h2_conn *c)
{
	for (struct h2_stream *s; (s = spares_take(&c->spares)) != NULL;)
		h2_stream_release(c, s);
}

struct h2_stream *h2_stream_new(struct h2_conn *c, uint32_t id, enum h2_input first)
{
	struct h2_stream *s = take_spare(c);
	if (!s)
		return NULL;
	*s = (struct h2_stream){
	    .id = id,
	    .state = H2_STATE_IDLE,
	    .body_left = HTTP_LENGTH_UNKNOWN,
	    .is_pushed = first == H2_INPUT_SEND_PROMISED || first == H2_INPUT_RECV_PROMISED,
	    .outflow.window = c->peer.initial_window_size,
	};
	h2_inflow_init(&s->inflow, c->window_now);
	h2_place_init(&s->place, id, h2_role_rows[c->role].priority);
	list_init(&s->ending);
	map_insert(&c->streams, &s->node, hash_of(c, id));
	c->handles++;
	const struct session_fault *fault = h2_stream_move(c, s, first);
	ensure(!fault);
	return s;
}

void h2_stream_free(struct h2_conn *c, struct h2_stream *s)
{
	list_remove(&s->ending);
	c->handles--;
	if (c->handles > 0 && spares_keep(&c->spares, s))
		return;
	h2_stream_release(c, s);
	if (c->handles > 0)
		return;
	h2_stream_free_spares(c);
	h2_out_trim(&c->out, true);
	if (c->streams.mask > 31) {
		map_fini(&c->streams);
		map_init(&c->streams);
	}
}

void h2_stream_detach(struct h2_conn *c, struct h2_stream *s)
{
	map_remove(&c->streams, &s->node);
	h2_sched_set(&c->sched, &s->place, H2_READY_NOT);
	if (c->reader.stream == s) {
		c->reader.stream = NULL;
		c->reader.data_left = 0;
		c->reader.at = H2_READING_SKIP;
	}
}

static void queue_ending(struct h2_conn *c, struct h2_stream *s, enum session_event_kind kind)
{
	h2_stream_detach(c, s);
	s->life = H2_LIFE_ENDING;
	s->end_kind = (uint8_t)kind;
	s->send_phase = s->recv_phase = H2_PHASE_DONE;
	list_append(&c->endings, &s->ending);
	c->events_made++;
}

void h2_stream_end(struct h2_conn *c, struct h2_stream *s, enum h2_input input)
{
	const struct session_fault *fault = h2_stream_move(c, s, input);
	ensure(!fault);
	if (input == H2_INPUT_RECV_END_STREAM)
		s->recv_phase = H2_PHASE_DONE;
	else
		s->send_phase = H2_PHASE_DONE;
	if (s->state != H2_STATE_CLOSED)
		return;
	h2_guard_refund(&c->guard, H2_WORK_EXCHANGE, c->now);
	queue_ending(c, s, SESSION_EVENT_CLOSED);
}

void h2_stream_abort(struct h2_conn *c, struct h2_stream *s, enum h2_input input,
    const struct session_fault *fault, uint32_t code, bool unprocessed)
{
	const struct session_fault *wrong = h2_stream_move(c, s, input);
	ensure(!wrong && s->state == H2_STATE_CLOSED);
	s->end_fault = fault;
	s->end_code = code;
	s->end_unprocessed = unprocessed;
	queue_ending(c, s, SESSION_EVENT_RESET);
}

void h2_stream_schedule(struct h2_conn *c, struct h2_stream *s)
{
	enum h2_ready ready = H2_READY_NOT;
	if (s->life == H2_LIFE_ALIVE && s->send_phase == H2_PHASE_BODY) {
		if (s->offered > 0)
			ready = s->outflow.window > 0 ? H2_READY_DATA : H2_READY_NOT;
		else if (s->offered_end)
			ready = H2_READY_END;
	}
	h2_sched_set(&c->sched, &s->place, ready);
}
