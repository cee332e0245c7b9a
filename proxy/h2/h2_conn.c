/* SPDX-License-Identifier: MIT */
/*
 * Times a connection, queues its events, and turns a peer's fault into RST_STREAM or GOAWAY (RFC 9113
 * 5.4), here only. h2_session.c begins and frees it; conn_recv.c receives the bytes.
 */
#include "proxy/h2/h2_conn.h"

/* ---- faults ---- */

void h2_note_fault(const struct h2_conn *c, const struct session_fault *fault)
{
	session_count_fault(&c->session, fault, (size_t)(fault - h2_faults));
}

void h2_conn_fail(struct h2_conn *c, const struct session_fault *fault, uint32_t code, bool say)
{
	/* uncovered: each caller has asked; the first cause must stand in any case */
	if (c->has_failed)
		return;
	if (fault)
		h2_note_fault(c, fault);
	if (say)
		/* uncovered: each failure that is told to the peer has a row today */
		h2_send_goaway(c, h2_last_taken_id(c), code,
		    fault ? slice_of_string(fault->name) : slice_of("", 0));
	c->has_failed = true;
	c->failure = fault;
	c->failure_code = code;
	c->failure_queued = true;
	c->events_made++;
}

/*
 * Whether a fault counts as a provoked reset. It does not if the peer could not know better (a
 * limit that it has not acknowledged), if only room is short at the moment, or if it answers a
 * request or promise, which have counters of their own.
 */
static bool counts_as_provoked(
    const struct h2_conn *c, const struct h2_stream *s, const struct session_fault *fault)
{
	bool is_for_later = fault == h2_fault(STREAM_MEMORY) || fault == h2_fault(STREAM_UNREAD);
	if (is_for_later || (fault->code == SESSION_REFUSED_STREAM && !c->was_acked))
		return false;
	return !s || (c->role == H2_SERVER && !h2_id_is_own(c, s->id));
}

void h2_fault_apply(struct h2_conn *c, uint32_t stream_id, const struct session_fault *fault)
{
	/* uncovered: nothing is read after a failure */
	if (c->has_failed)
		return;
	struct h2_stream *s = NULL;
	enum h2_state state = fault->scope == SESSION_SCOPE_STREAM
				  ? h2_stream_state(c, stream_id, &s)
				  : H2_STATE_IDLE;
	/*
	 * An idle stream cannot be reset (RFC 9113 6.4), so the fault becomes a connection error.
	 */
	if (state == H2_STATE_IDLE) {
		h2_conn_fail(c, fault, fault->code, true);
		return;
	}
	if (state == H2_STATE_FORGOTTEN)
		return;
	h2_note_fault(c, fault);
	const struct session_fault *flood =
	    counts_as_provoked(c, s, fault) ? h2_guard_count(&c->guard, H2_GUARDED_PROVOKED, c->now)
					    : NULL;
	if (flood) {
		h2_conn_fail(c, flood, flood->code, true);
		return;
	}
	h2_send_rst_stream(c, stream_id, fault->code);
	if (h2_peer_may_send(state))
		h2_stream_forget(c, stream_id);
	if (s) {
		s->end_reason = c->reason;
		h2_stream_abort(c, s, H2_INPUT_SEND_RST_STREAM, fault, fault->code, false);
	}
}

/* ---- events ---- */

struct session_event *h2_event_make(
    struct h2_conn *c, enum session_event_kind kind, struct h2_stream *s)
{
	ensure(!c->has_event);
	c->has_event = true;
	c->events_made++;
	c->event = (struct session_event){.kind = kind, .stream = h2_handle(s)};
	return &c->event;
}

void h2_conn_bury(struct h2_conn *c)
{
	if (!c->ended)
		return;
	h2_stream_free(c, c->ended);
	c->ended = NULL;
}

static void event_of_ending(struct session_event *event, struct h2_stream *s)
{
	*event = (struct session_event){
	    .kind = (enum session_event_kind)s->end_kind,
	    .stream = &s->base,
	    .user = s->base.user,
	    .fault = s->end_fault,
	    .reason = s->end_reason,
	    .code = s->end_code,
	    .unprocessed = s->end_unprocessed,
	    .oversize = s->end_fault == h2_fault(LIST_TOO_LARGE),
	};
}

bool h2_next_event(struct session *session, struct session_event *event)
{
	struct h2_conn *c = h2_of(session);
	if (c->ended)
		h2_conn_bury(c);
	if (!c->has_event && list_is_empty(&c->endings) && !c->failure_queued)
		return false; /* half of the calls */
	if (c->was_terminated)
		return false;
	if (c->has_event) {
		c->has_event = false;
		*event = c->event;
		event->user = event->stream ? event->stream->user : NULL;
		return true;
	}
	struct h2_stream *s = list_first(&c->endings, struct h2_stream, ending);
	if (s) {
		list_remove(&s->ending);
		s->life = H2_LIFE_ENDED;
		c->ended = s;
		event_of_ending(event, s);
		return true;
	}
	c->failure_queued = false;
	*event = (struct session_event){
	    .kind = SESSION_EVENT_FAILED, .fault = c->failure, .code = c->failure_code};
	return true;
}

/* ---- time ---- */

usec h2_deadline(const struct session *session)
{
	const struct h2_conn *c = h2_of(session);
	if (c->has_failed)
		return USEC_NEVER;
	return clock_earlier(clock_earlier(c->preface_deadline, c->settings_deadline),
	    clock_earlier(c->block.deadline, c->shutdown_deadline));
}

void h2_tick(struct session *session, usec now)
{
	struct h2_conn *c = h2_of(session);
	if (now > c->now)
		c->now = now;
	if (c->has_failed)
		return;
	const struct session_fault *fault = NULL;
	if (c->now >= c->preface_deadline)
		fault = h2_fault(PREFACE_TIMEOUT);
	else if (c->now >= c->settings_deadline)
		fault = h2_fault(SETTINGS_TIMEOUT);
	else if (c->now >= c->block.deadline)
		fault = h2_fault(BLOCK_TIMEOUT);
	if (fault)
		h2_conn_fail(c, fault, fault->code, true);
	else if (c->now >= c->shutdown_deadline)
		h2_shutdown_finish(c);
}
