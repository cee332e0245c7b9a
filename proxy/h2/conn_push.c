/* SPDX-License-Identifier: MIT */
/*
 * Server push (RFC 9113 8.4, 6.6): receives promises (as client) and makes promises (as server).
 * The policy, not this file, decides whether a promise is wanted and authorized.
 */
#include "proxy/h2/h2_conn.h"

/* ---- received ---- */

/* Refuses a promised id that gets no stream object: RST_STREAM. */
static void refuse_id(struct h2_conn *c, uint32_t id, const struct session_fault *why)
{
	h2_note_fault(c, why);
	h2_send_rst_stream(c, id, why->code);
	h2_stream_forget(c, id);
}

/* Checks the rules whose violation ends the connection. */
static const struct session_fault *check_parent(
    struct h2_conn *c, uint32_t id, struct h2_stream **parent)
{
	if (c->was_acked && !c->acked.enable_push)
		return h2_fault(PROMISE_DISABLED);
	enum h2_state state = h2_stream_state(c, id, parent);
	/* The state of a stream that the server opened matters only if it is idle. */
	if (!h2_id_is_own(c, id) && state != H2_STATE_IDLE)
		return h2_fault(PROMISE_ON_PUSHED);
	return h2_stream_receive(c, id, H2_INPUT_RECV_PUSH_PROMISE, parent);
}

static const struct session_fault *why_refuse(
    const struct h2_conn *c, const struct h2_stream *parent, bool too_large)
{
	if (!parent && too_large)
		return h2_fault(PROMISE_ORPHAN);
	if (!parent) /* refuse_orphan tells the owner */
		return NULL;
	if (!c->local.enable_push || !c->wanted.enable_push)
		return h2_fault(PROMISE_UNWANTED);
	if (too_large)
		return h2_fault(PROMISE_LIST);
	if (c->census.remote_reserved >= c->limits->reserved_streams)
		return h2_fault(PROMISE_TOO_MANY);
	return NULL;
}

static struct session_event *promise_event(struct h2_conn *c, struct h2_stream *parent)
{
	struct session_event *event = h2_event_make(c, SESSION_EVENT_PROMISE, parent);
	event->last_id = c->block.promised_id;
	return event;
}

/* Refuses only the malformed promise, with an event for the log. */
static void refuse_malformed(
    struct h2_conn *c, struct h2_stream *parent, uint32_t id, const char *reason)
{
	refuse_id(c, id, h2_fault(PROMISE_MALFORMED));
	struct session_event *event = promise_event(c, parent);
	event->fault = h2_fault(PROMISE_MALFORMED);
	event->reason = reason;
}

/* Takes the head. The parent was reset, and the promise crossed that. */
static void refuse_orphan(struct h2_conn *c, uint32_t id, struct http_head *head)
{
	const char *reason = http_head_validate(head, HTTP_PROMISE);
	if (reason) {
		http_head_free(head);
		refuse_malformed(c, NULL, id, reason);
		return;
	}
	refuse_id(c, id, h2_fault(PROMISE_ORPHAN));
	struct session_event *event = promise_event(c, NULL);
	event->fault = h2_fault(PROMISE_ORPHAN);
	event->head = head;
}

/* Takes the head. */
static void accept_promise(
    struct h2_conn *c, struct h2_stream *parent, uint32_t id, struct http_head *head)
{
	const char *reason = http_head_validate(head, HTTP_PROMISE);
	struct h2_stream *s = reason ? NULL : h2_stream_new(c, id, H2_INPUT_RECV_PROMISED);
	if (!s) {
		http_head_free(head);
		if (reason)
			refuse_malformed(c, parent, id, reason);
		else
			refuse_id(c, id, h2_fault(STREAM_MEMORY));
		return;
	}
	s->method = (uint8_t)head->method_token;
	s->send_phase = H2_PHASE_DONE;
	struct session_event *event = promise_event(c, parent);
	event->promised = &s->base;
	event->head = head;
}

const struct session_fault *h2_recv_promise(struct h2_conn *c, struct slice block)
{
	uint32_t id = c->block.promised_id;
	bool too_large;
	struct h2_stream *parent;
	struct http_head *head;
	const struct session_fault *fault = check_parent(c, c->block.stream_id, &parent);
	if (fault)
		return fault;
	if (id == 0 || h2_id_is_own(c, id) || id <= c->peer_last_id)
		return h2_fault(PROMISE_ID);
	h2_stream_note_id(c, id);
	fault = h2_decode(c, block, &head, &too_large);
	if (fault)
		return fault;
	if (parent && parent->is_tunnel) {
		http_head_free(head);
		refuse_id(c, id, h2_fault(PROMISE_ORPHAN));
		return h2_fault(PROMISE_IN_TUNNEL);
	}
	const struct session_fault *why = why_refuse(c, parent, too_large);
	/* uncovered: ids only rise: a promise up to the GOAWAY's last id has the fault PROMISE_ID */
	bool is_above_goaway = c->goaway_sent == H2_GOAWAY_FINAL && id > c->goaway_sent_last;
	if (!why && !is_above_goaway) {
		if (parent)
			accept_promise(c, parent, id, head);
		else
			refuse_orphan(c, id, head);
		return NULL;
	}
	http_head_free(head);
	/* RFC 9113 6.8: streams above the last id of our GOAWAY are ignored. */
	if (!is_above_goaway)
		refuse_id(c, id, why);
	return NULL;
}

/* ---- made ---- */

enum h2_promise_answer h2_may_promise(
    const struct session *session, const struct session_stream *stream)
{
	const struct h2_conn *c = h2_of(session);
	const struct h2_stream *parent = h2_stream_of(stream);
	/* RFC 9113 6.8: a GOAWAY binds its receiver. After our own the caller decides. */
	if (c->has_failed || c->goaway_came)
		return H2_PROMISE_GOING_AWAY;
	if (!c->peer.enable_push)
		return H2_PROMISE_DISABLED;
	if (c->peer.max_concurrent_streams == 0)
		return H2_PROMISE_NO_STREAMS;
	if (parent->life != H2_LIFE_ALIVE || parent->is_pushed || parent->is_tunnel ||
	    !h2_state_allows((enum h2_state)parent->state, H2_INPUT_SEND_PUSH_PROMISE))
		return H2_PROMISE_PARENT_CLOSED;
	return c->own_next_id > H2_ID_MAX ? H2_PROMISE_NO_IDS : H2_PROMISE_POSSIBLE;
}

/* The priority of a push on a stream with this one (h2_promise). */
static struct http_priority priority_below(struct http_priority parent)
{
	if (parent.urgency < H2_URGENCIES - 1)
		parent.urgency++;
	return parent;
}

struct session_stream *h2_promise(struct session *session, struct session_stream *stream,
    const struct http_head *request, void *user)
{
	struct h2_conn *c = h2_of(session);
	struct h2_stream *parent = h2_stream_of(stream);
	ensure(c->role == H2_SERVER);
	if (h2_may_promise(session, stream) != H2_PROMISE_POSSIBLE)
		return NULL;
	struct h2_stream *s = h2_stream_new(c, c->own_next_id, H2_INPUT_SEND_PROMISED);
	if (!s)
		return NULL;
	c->own_next_id += 2;
	s->base.user = user;
	s->recv_phase = H2_PHASE_DONE;
	s->method = (uint8_t)request->method_token;
	h2_sched_set_priority(&c->sched, &s->place, priority_below(parent->place.priority));
	const struct session_fault *fault = h2_stream_move(c, parent, H2_INPUT_SEND_PUSH_PROMISE);
	ensure(!fault);
	h2_send_block(c, H2_PUSH_PROMISE, 0, parent->id, s->id, request);
	h2_guard_refund(&c->guard, H2_WORK_PROMISE, c->now);
	return &s->base;
}

uint32_t h2_push_room(const struct session *session)
{
	const struct h2_conn *c = h2_of(session);
	if (c->has_failed || c->peer.max_concurrent_streams <= c->census.local_open)
		return 0;
	return c->peer.max_concurrent_streams - c->census.local_open;
}
