/* SPDX-License-Identifier: MIT */
/* What the engine of a client's connection tells, and what that is for the exchanges on it. */
#include "proxy/hop/private.h"

static void reset_event(struct down *d, const struct h2_event *e)
{
	if (e->fault) {
		HOP_COUNT(d->hop, peer_faults_down, 1);
		complain_of_down(d, e->fault->name, e->reason ? e->reason : e->fault->text);
	}
	struct leg *leg = e->user;
	if (!leg)
		return;
	down_leg_cut(leg);
	exchange_on_down_ended(leg->exchange,
	    e->fault ? &relay_cause_DOWN_MALFORMED : &relay_cause_DOWN_RESET, e->code,
	    e->fault ? e->fault->name : NULL);
}

static void failed_event(struct down *d, const struct h2_event *e)
{
	if (e->fault) {
		HOP_COUNT(d->hop, peer_faults_down, 1);
		complain_of_down(d, e->fault->name, e->fault->text);
	}
	d->is_closing = true;
	down_end_exchanges(d, &relay_cause_DOWN_LOST, e->code, e->fault ? e->fault->name : NULL);
}

static void on_event(struct down *d, struct h2_event *e)
{
	struct leg *leg = e->user;
	switch (e->kind) {
	case H2_EVENT_HEAD:
		down_request(d, e->stream, e->head, e->end, e->oversize);
		break;
	case H2_EVENT_DATA:
		if (leg)
			exchange_on_upload(leg->exchange, e->piece, e->end);
		else
			h2_credit(d->h2, e->stream, e->piece.length);
		break;
	case H2_EVENT_TRAILERS:
		if (leg)
			exchange_on_upload_trailers(leg->exchange, e->head);
		else
			http_head_free(e->head);
		break;
	case H2_EVENT_RESET:
		reset_event(d, e);
		break;
	case H2_EVENT_CLOSED:
		if (leg) {
			down_leg_cut(leg);
			exchange_on_leg_closed(leg);
		}
		break;
	case H2_EVENT_FAILED:
		failed_event(d, e);
		break;
	case H2_EVENT_SETTINGS:
	case H2_EVENT_GOAWAY:
	case H2_EVENT_PONG:
	case H2_EVENT_PROMISE: /* a client cannot: the engine has made it a fault */
		break;
	}
}

void down_take_events(struct down *d)
{
	struct h2_event e;
	while (h2_next_event(d->h2, &e))
		on_event(d, &e);
	down_start_waiting(d);
	if (list_is_empty(&d->legs) && d->quiet_since == USEC_NEVER) {
		down_is_quiet(d);
		down_arm(d);
	}
}
