/* SPDX-License-Identifier: MIT */
/*
 * What the engine of a connection to an origin tells, and what that is for the exchanges on it and
 * for its pool.
 */
#include "proxy/hop/private.h"

static void reset_event(struct up *u, const struct h2_event *e)
{
	struct leg *leg = e->user;
	const struct relay_cause *cause = &relay_cause_UP_RESET;
	const char *detail = NULL;
	if (e->fault) {
		HOP_COUNT(u->hop, peer_faults_up, 1);
		complain_of_up(u, e->fault->name, e->reason ? e->reason : e->fault->text);
		cause = e->oversize ? &relay_cause_UP_FIELDS_LARGE : &relay_cause_UP_MALFORMED;
		detail = e->reason ? e->reason : e->fault->name;
	} else if (e->unprocessed) {
		cause = &relay_cause_UP_UNPROCESSED;
	}
	if (!leg)
		return;
	up_leg_cut(leg);
	exchange_on_up_failed(leg->exchange, cause, e->code, detail);
}

static void failed_event(struct up *u, const struct h2_event *e)
{
	const char *detail = e->fault ? e->fault->name : h2_code_name(e->code);
	const struct relay_cause *cause = e->fault ? &relay_cause_UP_FAULT : &relay_cause_UP_LOST;
	HOP_COUNT(u->hop, upstream_failed, 1);
	if (e->fault) {
		HOP_COUNT(u->hop, peer_faults_up, 1);
		complain_of_up(u, e->fault->name, e->fault->text);
	} else if (e->code != H2_NO_ERROR) {
		complain_of_up(u, "connection ended with an error", detail);
	}
	up_retire(u); /* its GOAWAY still leaves; for the pool it is gone */
	up_end_exchanges(u, cause, e->fault ? (uint32_t)e->fault->code : e->code, detail);
	if (!u->is_ready)
		pool_failed(u->pool, cause, detail);
	else
		pool_serve(u->pool);
}

static void settings_event(struct up *u)
{
	if (!u->is_ready && !u->is_closing)
		pool_reached(u->pool);
	u->is_ready = true;
	pool_serve(u->pool);
}

static void data_event(struct up *u, const struct h2_event *e)
{
	struct leg *leg = e->user;
	HOP_COUNT(u->hop, bytes_up_in, e->piece.length);
	if (!leg) {
		h2_credit(u->h2, e->stream, e->piece.length);
		return;
	}
	struct exchange *x = leg->exchange;
	up_window_probe(u, e->piece.length);
	exchange_on_download(x, e->piece, e->end);
	if (!e->end)
		up_window_widen(u, x);
}

/* RFC 9110 6.6.1: what has no Date is given the time at which it came. */
static void head_event(struct up *u, const struct h2_event *e)
{
	struct leg *leg = e->user;
	if (!leg) {
		http_head_free(e->head);
		return;
	}
	if (!http_head_is_interim(e->head) && !http_head_find(e->head, HTTP_TOKEN_DATE))
		http_head_add_token(e->head, HTTP_TOKEN_DATE, hop_date(u->hop));
	exchange_on_response(leg->exchange, e->head, e->end);
}

static void on_event(struct up *u, struct h2_event *e)
{
	struct leg *leg = e->user;
	switch (e->kind) {
	case H2_EVENT_SETTINGS:
		settings_event(u);
		break;
	case H2_EVENT_HEAD:
		head_event(u, e);
		break;
	case H2_EVENT_DATA:
		data_event(u, e);
		break;
	case H2_EVENT_TRAILERS:
		if (leg)
			exchange_on_download_trailers(leg->exchange, e->head);
		else
			http_head_free(e->head);
		break;
	case H2_EVENT_PROMISE:
		up_promise(u, e);
		break;
	case H2_EVENT_RESET:
		reset_event(u, e);
		break;
	case H2_EVENT_CLOSED:
		if (leg) {
			up_leg_cut(leg);
			exchange_on_leg_closed(leg);
		}
		break;
	case H2_EVENT_GOAWAY:
		up_retire(u);
		if (e->code != H2_NO_ERROR)
			complain_of_up(u, "sent GOAWAY", h2_code_name(e->code));
		break;
	case H2_EVENT_PONG:
		up_window_grow(u);
		break;
	case H2_EVENT_FAILED:
		failed_event(u, e);
		break;
	}
}

void up_take_events(struct up *u)
{
	struct h2_event e;
	while (h2_next_event(u->h2, &e))
		on_event(u, &e);
	if (list_is_empty(&u->legs) && u->quiet_since == USEC_NEVER) {
		u->quiet_since = u->hop->relay.now;
		up_arm(u);
	}
}
