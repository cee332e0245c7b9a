/* SPDX-License-Identifier: MIT */
/*
 * Passes the events of an origin connection's session to the exchanges on the connection and to its
 * pool.
 */
#include "proxy/origin/origin_private.h"

#include "proxy/limits.h"

static void reset_event(struct origin_conn *c, const struct session_event *e)
{
	struct leg *leg = e->user;
	const struct relay_cause *cause = &relay_cause_UP_RESET;
	const char *detail = NULL;
	if (e->fault) {
		WORKER_COUNT(c->origins->env, peer_faults_up, 1);
		origin_log_fault(c, e->fault->name, e->reason ? e->reason : e->fault->text);
		cause = e->oversize ? &relay_cause_UP_FIELDS_LARGE : &relay_cause_UP_MALFORMED;
		detail = e->reason ? e->reason : e->fault->name;
	} else if (e->unprocessed) {
		cause = &relay_cause_UP_UNPROCESSED;
	} else if (leg && c->transport == ORIGIN_TRANSPORT_ENDED) {
		cause = origin_conn_loss(c, leg->exchange);
	}
	if (cause == &relay_cause_UP_LOST)
		origin_log_cut_response(c);
	if (!leg)
		return;
	origin_leg_end(leg);
	if (!e->fault && e->code == SESSION_HTTP_1_1_REQUIRED && !leg->exchange->terms.is_call)
		origin_conn_demands_http1(c);
	cause = origin_http1_cause(c, leg, cause, e->code);
	c->origins->ops->failed(leg->exchange, cause);
	exchange_on_up_failed(leg->exchange, origin_breakage_cause(c, leg, cause), e->code, detail);
}

/* "HTTP/1." cannot begin a SETTINGS frame, which is the first thing that an origin has to send. */
static const char *describe_http1(const struct origin_conn *c, char text[ORIGIN_TEXT_BYTES])
{
	char what[ORIGIN_TEXT_BYTES / 2];
	snprintf(what, sizeof(what), "it answered with HTTP/1 (\"%s\"); it must speak %s",
	    c->first_line.text, net_conn_is_tls(c->net) ? "HTTP/2" : "h2c with prior knowledge");
	return origin_conn_say(c, what, text);
}

static void failed_event(struct origin_conn *c, const struct session_event *e)
{
	const char *detail = e->fault ? e->fault->name : session_code_name(e->code);
	const struct relay_cause *cause = e->fault ? &relay_cause_UP_FAULT : &relay_cause_UP_LOST;
	char text[ORIGIN_TEXT_BYTES];
	WORKER_COUNT(c->origins->env, upstream_failed, 1);
	if (e->fault)
		WORKER_COUNT(c->origins->env, peer_faults_up, 1);
	if (e->fault && !c->is_ready && status_line_is_http1(&c->first_line)) {
		cause = &relay_cause_UP_NOT_HTTP2;
		detail = describe_http1(c, text);
		origin_log_fault(c, "cannot speak HTTP/2", detail);
	} else if (e->fault) {
		origin_log_fault(c, e->fault->name, e->fault->text);
	} else if (e->code != SESSION_NO_ERROR) {
		origin_log_fault(c, "connection ended with an error", detail);
	}
	if (origin_single_is_unsent(c))
		cause = &relay_cause_UP_UNPROCESSED;
	origin_conn_retire(c); /* stays open until our GOAWAY is sent */
	origin_conn_end_exchanges(c, cause, e->fault ? (uint32_t)e->fault->code : e->code, detail);
	if (!c->is_ready)
		pool_failed(c->pool, c, cause, detail);
	else
		pool_serve(c->pool);
}

static void settings_event(struct origin_conn *c)
{
	if (!c->is_ready && !c->is_closing && pool_changes_to_http1(c->pool, c->session)) {
		origin_conn_terminate(c, SESSION_NO_ERROR, (struct slice){0});
		pool_serve(c->pool);
		return;
	}
	if (!c->is_ready && !c->is_closing)
		pool_conn_ready(c->pool, c);
	if (!c->is_ready)
		c->ready = c->origins->env->relay->now;
	c->is_ready = true;
	pool_serve(c->pool);
}

static void data_event(struct origin_conn *c, const struct session_event *e)
{
	struct leg *leg = e->user;
	WORKER_COUNT(c->origins->env, up_in_bytes, e->piece.length);
	if (!leg) {
		session_credit(c->session, e->stream, e->piece.length);
		origin_single_discard(c, e->piece.length);
		return;
	}
	struct exchange *x = leg->exchange;
	origin_window_probe(c, e->piece.length);
	exchange_on_download(x, e->piece, e->end);
	if (!e->end)
		origin_window_widen(c, x);
}

/* RFC 9110 6.6.1: a response without Date gets the time at which it arrived. */
static void head_event(struct origin_conn *c, const struct session_event *e)
{
	struct leg *leg = e->user;
	if (!leg) {
		http_head_free(e->head);
		return;
	}
	if (c->pool->server->origin->speaks_to_proxy &&
	    upstream_proxy_refused(c, leg, e->head, e->end))
		return;
	if (!http_head_is_interim(e->head)) {
		c->pool->known->needs_length = e->head->version == HTTP_VERSION_1_0;
		if (!http_head_find(e->head, HTTP_TOKEN_DATE))
			http_head_add_token(e->head, HTTP_TOKEN_DATE, worker_date(c->origins->env));
	}
	if (e->head->version != HTTP_VERSION_NONE)
		origin_attempt_of(leg->exchange)->hop.protocol =
		    http_version_name(e->head->version);
	struct exchange *x = leg->exchange;
	if (c->pool->server->counts_answers && !http_head_is_interim(e->head) &&
	    !exchange_is_push(x))
		c->origins->ops->answered(c->pool->server, e->head->status);
	if (fetch_state(x) == ORIGIN_FETCH_OPEN && !http_head_is_interim(e->head))
		c->origins->ops->fetched(c->pool->server, x, e->head->content_length);
	size_t work = LIMIT_HEAD_WORK_BYTES + e->head->list_bytes;
	exchange_on_response(x, e->head, e->end);
	net_worked(c->origins->env->loop, work + exchange_effort_spent(x));
	if (exchange_is_tunnel(x) && !session_can(c->session, SESSION_MULTIPLEXES))
		origin_conn_retire(c); /* no request can follow */
}

static void on_event(struct origin_conn *c, struct session_event *e)
{
	struct leg *leg = e->user;
	switch (e->kind) {
	case SESSION_EVENT_READY:
		settings_event(c);
		break;
	case SESSION_EVENT_HEAD:
		head_event(c, e);
		break;
	case SESSION_EVENT_DATA:
		data_event(c, e);
		break;
	case SESSION_EVENT_TRAILERS:
		if (leg)
			exchange_on_download_trailers(leg->exchange, e->head);
		else
			http_head_free(e->head);
		break;
	case SESSION_EVENT_PROMISE:
		net_worked(c->origins->env->loop, LIMIT_HEAD_WORK_BYTES);
		origin_promise(c, e);
		break;
	case SESSION_EVENT_REFUSED: /* clients' alone */
		break;
	case SESSION_EVENT_RESET:
		reset_event(c, e);
		break;
	case SESSION_EVENT_CLOSED:
		if (leg) {
			origin_leg_end(leg);
			exchange_on_leg_closed(leg);
		}
		break;
	case SESSION_EVENT_GOAWAY:
		origin_conn_retire(c);
		if (e->code != SESSION_NO_ERROR) {
			origin_log_fault(c, "sent GOAWAY", session_code_name(e->code));
			origin_breakage_came(c, e);
			if (e->code == SESSION_HTTP_1_1_REQUIRED)
				origin_conn_demands_http1(c);
		}
		break;
	case SESSION_EVENT_PONG:
		origin_window_grow(c);
		break;
	case SESSION_EVENT_FAILED:
		failed_event(c, e);
		break;
	}
}

/* The session holds what its client does not take: TCP flow control then stops the origin. */
static void update_reading(struct origin_conn *c)
{
	bool is_full = session_is_full(c->session);
	if (is_full == c->is_full)
		return;
	c->is_full = is_full;
	if (is_full) {
		net_conn_pause_reading(c->net, NET_PAUSE_PEER);
		return;
	}
	c->read_since = c->origins->env->relay->now;
	peer_silence_heard(&c->silence, c->read_since);
	net_conn_resume_reading(c->net, NET_PAUSE_PEER);
	origin_conn_arm(c);
}

void origin_conn_handle_events(struct origin_conn *c)
{
	struct session_event e;
	while (session_next_event(c->session, &e))
		on_event(c, &e);
	if (!c->net) /* an event has ended it */
		return;
	if (!session_can(c->session, SESSION_MULTIPLEXES)) { /* else windows bound what waits */
		update_reading(c);
		origin_single_update(c);
	}
	if (list_is_empty(&c->legs) && c->quiet_since == USEC_NEVER) {
		c->quiet_since = c->origins->env->relay->now;
		origin_conn_arm(c);
	}
}
