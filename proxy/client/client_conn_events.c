/* SPDX-License-Identifier: MIT */
/* Passes the events of a client connection's session to the exchanges on the connection. */
#include "proxy/client/client_private.h"

static void note_fault(struct client_conn *c, const struct session_event *e)
{
	WORKER_COUNT(c->clients->env, peer_faults_down, 1);
	client_log_fault(c, e->fault->name, e->reason ? e->reason : e->fault->text);
}

static void reset_event(struct client_conn *c, const struct session_event *e)
{
	if (e->fault)
		note_fault(c, e);
	struct leg *leg = e->user;
	if (!leg)
		return;
	client_leg_cut(leg);
	if (e->fault)
		exchange_on_down_ended(
		    leg->exchange, &relay_cause_DOWN_MALFORMED, e->code, e->fault->name);
	else if (e->code == SESSION_NO_ERROR || e->code == SESSION_CANCEL)
		exchange_on_client_closed(leg->exchange, &relay_cause_DOWN_RESET, e->code, NULL);
	else
		exchange_on_down_ended(leg->exchange, &relay_cause_DOWN_RESET, e->code, NULL);
}

/* The stream is still there: the client gets an answer if it got none yet. */
static void refused_event(struct client_conn *c, const struct session_event *e)
{
	note_fault(c, e);
	struct leg *leg = e->user;
	if (leg)
		exchange_abort(leg->exchange, client_refusal_cause(e->refusal),
		    e->reason ? e->reason : e->fault->name);
}

static void failed_event(struct client_conn *c, const struct session_event *e)
{
	if (e->fault) {
		WORKER_COUNT(c->clients->env, peer_faults_down, 1);
		client_log_fault(c, e->fault->name, e->fault->text);
	}
	c->is_closing = true;
	client_conn_end_exchanges(
	    c, &relay_cause_DOWN_LOST, e->code, e->fault ? e->fault->name : NULL);
}

static void on_event(struct client_conn *c, struct session_event *e)
{
	struct leg *leg = e->user;
	switch (e->kind) {
	case SESSION_EVENT_HEAD:
		client_request(c, e);
		break;
	case SESSION_EVENT_DATA:
		if (leg)
			exchange_on_upload(leg->exchange, e->piece, e->end);
		else
			session_credit(c->session, e->stream, e->piece.length);
		break;
	case SESSION_EVENT_TRAILERS:
		if (leg)
			exchange_on_upload_trailers(leg->exchange, e->head);
		else
			http_head_free(e->head);
		break;
	case SESSION_EVENT_REFUSED:
		refused_event(c, e);
		break;
	case SESSION_EVENT_RESET:
		reset_event(c, e);
		break;
	case SESSION_EVENT_CLOSED:
		if (leg) {
			client_leg_cut(leg);
			exchange_on_leg_closed(leg);
		}
		break;
	case SESSION_EVENT_FAILED:
		failed_event(c, e);
		break;
	case SESSION_EVENT_READY:
	case SESSION_EVENT_GOAWAY:
	case SESSION_EVENT_PONG:
	case SESSION_EVENT_PROMISE: /* never: the session treats a client's promise as a fault */
		break;
	}
}

/* While the session is full, what the client sends waits in the socket. */
static void update_reading(struct client_conn *c)
{
	bool is_full = session_is_full(c->session);
	if (is_full == c->is_unread || !c->net)
		return;
	c->is_unread = is_full;
	if (is_full) {
		net_conn_pause_reading(c->net, NET_PAUSE_PEER);
		client_conn_arm(c); /* the loop does not report that the client is gone */
	} else {
		net_conn_resume_reading(c->net, NET_PAUSE_PEER);
	}
}

void client_conn_handle_events(struct client_conn *c)
{
	struct session_event e;
	while (session_next_event(c->session, &e)) {
		if (c->is_leaving && e.kind == SESSION_EVENT_HEAD)
			client_conn_leave(c); /* so that its answer says that it is the last one */
		on_event(c, &e);
	}
	client_conn_start_waiting(c);
	client_conn_wait_for_last(c);
	if (list_is_empty(&c->legs) && c->quiet_since == USEC_NEVER) {
		client_conn_is_quiet(c);
		client_conn_arm(c);
	}
	if (!session_can(c->session, SESSION_MULTIPLEXES)) /* else windows bound what waits */
		update_reading(c);
}
