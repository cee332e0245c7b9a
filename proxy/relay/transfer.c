/* SPDX-License-Identifier: MIT */
/*
 * Heads, bytes and trailers on their way through an exchange. Stream credit goes to the source
 * only for bytes that the sink took, so that what waits here is bounded by the source's window.
 */
#include "proxy/relay/relay_private.h"

#include "proxy/base/ensure.h"
#include "proxy/limits.h"

/* A held response's leg takes bytes and the end by itself, in hold_run. */
static bool is_held(const struct exchange *x)
{
	return x->pushed.state == PUSH_HELD;
}

/* A held response stays as it came: the owner changes it for the client that claims it. */
static void keep_trailers(struct exchange *x, struct flow *f, struct http_head *trailers)
{
	const struct relay *r = x->relay;
	http_head_strip_hop(trailers);
	if (r->ops->trailers && !is_held(x))
		r->ops->trailers(r->context, x, trailers, f == &x->upload);
	if (trailers->count == 0) { /* nothing is left of them: the message ends without */
		http_head_free(trailers);
		return;
	}
	f->trailers = trailers;
	exchange_charge(x);
	exchange_stir(x);
}

/* While upload_wait is set: more of the request's body has come. */
static void queued_upload_grew(struct exchange *x)
{
	if (!exchange_is_queued(x)) /* it was answered meanwhile */
		return;
	x->relay->ops->upload_grew(x->relay->context, x);
	if (exchange_is_queued(x)) /* it may wait for something else now */
		exchange_arm(x);
}

static void tell_sink(struct exchange *x, struct flow *f);

/* The client's first bytes, or more of them, have come: they wait until the owner lets them pass. */
static void check_tunnel(struct exchange *x)
{
	const char *detail = NULL;
	enum relay_look look = x->relay->ops->tunnel_look(x->relay->context, x, &detail);
	if (look == RELAY_LETS_PASS) {
		x->tunnel.is_checked = false;
		x->upload.state = FLOW_BODY;
		tell_sink(x, &x->upload);
	} else if (look == RELAY_REFUSES || x->upload.source_ended) {
		exchange_abort(x, &relay_cause_TUNNEL_SNI, detail);
	}
}

/* More bytes came, or the end: tells the sink. Sends trailers when no bytes are before them. */
static void tell_sink(struct exchange *x, struct flow *f)
{
	if (!f->sink->ops || f->state != FLOW_BODY) {
		/* uncovered: the download of an open tunnel has begun, and has its sink */
		if (tunnel_is_unchecked(x) && f == &x->upload)
			check_tunnel(x);
		/* uncovered: while a request waits so, nothing comes from an origin */
		if (x->upload_wait != UPLOAD_WAITS_NOT && f == &x->upload)
			queued_upload_grew(x);
		return;
	}
	if (f->body.bytes > 0 || flow_may_end(f) || is_held(x)) {
		f->sink->ops->send_body(f->sink, f);
		return;
	}
	if (f->source_ended) { /* trailers are all that is left */
		f->state = FLOW_TRAILERS;
		f->trailers_sent = true;
		f->sink->ops->send_trailers(f->sink, f->trailers);
		flow_drop_trailers(x, f);
		f->state = FLOW_DONE;
		pace_move(&f->taken, 0, x->relay->now);
		exchange_check_done(x);
	}
}

static void flow_append(struct exchange *x, struct flow *f, struct piece piece)
{
	if (f->body.bytes ==
	    0) { /* else the timer is near: exchange_look looks every second while bytes wait */
		exchange_stir(x);
		f->filled = x->relay->now;
		pace_begin(&f->taken, f->filled);
	}
	pace_move(&f->given, piece.length, x->relay->now);
	body_append(&f->body, piece, x->relay->small_chunks, flow_budget(x, f));
}

/* Why the exchange ends because of the bytes that have just come; NULL: it does not. */
static const struct relay_cause *excess_of(const struct exchange *x, const struct flow *f)
{
	uint64_t most = x->terms.upload_limit_bytes;
	if (f == &x->upload && most > 0 && f->received > most)
		return &relay_cause_UPLOAD_LARGE;
	if (flow_is_too_much(x, f))
		return exchange_is_push(x) ? &relay_cause_NO_MEMORY : &relay_cause_MEMORY_SHORT;
	return tunnel_is_too_long(x) ? &relay_cause_TUNNEL_BYTES : NULL;
}

/* While memory is short, credit is kept back until all bytes that came have been taken; in a tunnel also while its
 * quota's rate is used up. */
static void give_credit(struct exchange *x, struct flow *f, size_t n)
{
	f->owed += n;
	if (f->body.bytes > 0 && flow_is_short(x, f))
		return;
	if (x->tunnel.is_rated && x->relay->ops->tunnel_waits(x->relay->context, x))
		return;
	n = f->owed;
	f->owed = 0;
	f->source->ops->credit(f->source, n);
}

void exchange_on_taken(void *leg, size_t n, bool end)
{
	struct leg *sink = leg;
	struct exchange *x = sink->exchange;
	struct flow *f = exchange_flow_to(sink);
	if (n > 0) {
		body_take(&f->body, n, flow_budget(x, f));
		f->forwarded += n;
		pace_move(&f->taken, n, x->relay->now);
		if (f->body.bytes == 0)
			pace_excuse(&f->given, f->filled, x->relay->now);
		if (f == &x->download && x->payer.buffered)
			*x->payer.buffered -= n;
		if (f->source->ops && !f->source_ended)
			give_credit(x, f, n);
	}
	if (end) {
		ensure(f->body.bytes == 0);
		f->state = FLOW_DONE;
		pace_move(&f->taken, 0, x->relay->now);
		if (f == &x->upload)
			exchange_arm(x);
		exchange_check_done(x);
	} else if (f->body.bytes == 0 && f->trailers) {
		tell_sink(x, f);
	} else if (f->body.bytes == 0 && x->phase == EXCHANGE_CUT_SHORT) {
		exchange_reset_leg(
		    &x->down, relay_code_across(x->ending.cause->down_code, RELAY_NO_ERROR));
		exchange_finish(x, x->ending.cause, RELAY_NO_ERROR, NULL);
	}
	exchange_note_push(x);
}

/* ---- the request's body ---- */

static void upload_end(struct exchange *x)
{
	x->upload.source_ended = true;
	tunnel_note_end(x, &x->upload);
	exchange_stir(x);
	if (x->upload.state == FLOW_ABORTED)
		exchange_check_done(x);
	else
		tell_sink(x, &x->upload);
}

void exchange_on_upload(struct exchange *x, struct piece piece, bool end)
{
	if (exchange_is_over(x))
		return;
	struct flow *f = &x->upload;
	f->received += piece.length;
	if (end)
		f->source_ended = true;
	if (f->state == FLOW_ABORTED) {
		if (!end && piece.length > 0)
			x->down.ops->credit(&x->down, piece.length);
	} else if (piece.length > 0) {
		flow_append(x, f, piece);
		const struct relay_cause *excess = excess_of(x, f);
		if (excess) {
			exchange_abort(x, excess, NULL);
			return;
		}
	}
	if (end)
		upload_end(x);
	else
		tell_sink(x, f);
}

void exchange_on_upload_trailers(struct exchange *x, struct http_head *trailers)
{
	if (exchange_is_over(x) || x->upload.state == FLOW_ABORTED) {
		http_head_free(trailers);
	} else {
		keep_trailers(x, &x->upload, trailers);
	}
	if (!exchange_is_over(x))
		upload_end(x);
}

void exchange_on_connected(struct exchange *x, const struct leg *up)
{
	exchange_bind(&x->up, up);
	x->timing.sent = x->relay->now;
	exchange_move(x, EXCHANGE_CONNECT);
	flow_begin(&x->upload, x->relay->now);
	flow_begin(&x->download, x->relay->now);
	if (x->tunnel.is_asked) {
		x->upload.state = FLOW_HEAD; /* its bytes wait for the answer */
	} else if (x->upload.source_ended && x->upload.body.bytes == 0 && !x->upload.trailers) {
		x->upload.state = FLOW_DONE; /* the request's head had END_STREAM */
	} else {
		x->upload.state = FLOW_BODY;
		tell_sink(x, &x->upload);
	}
	exchange_arm(x);
}

/* ---- the response ---- */

static void begin_push(struct exchange *x)
{
	x->pushed.state = PUSH_ANSWERING;
	list_remove(&x->pushed.unbegun);
}

/* The head as the client gets it: an overlay of the origin's, which the owner changes. NULL: the head
 * goes as it is, since the answer is our own, or the response is only held. */
static struct http_head *overlay_for_client(struct exchange *x, const struct http_head *head)
{
	if (exchange_is_own_answer(x) || is_held(x))
		return NULL;
	struct http_head *overlay = http_head_overlay(head);
	x->relay->ops->response_head(x->relay->context, x, overlay);
	return overlay;
}

bool exchange_send_final(struct exchange *x, struct http_head *head, bool end)
{
	struct http_head *overlay = overlay_for_client(x, head);
	uint16_t status = overlay ? overlay->status : head->status;
	exchange_send_hints(x); /* that came before this head */
	bool is_sent = x->down.ops->send_head(&x->down, overlay ? overlay : head, end);
	http_head_free(overlay);
	if (!is_sent) {
		ensure(exchange_is_push(x));
		x->response.pending = head;
		exchange_move(x, EXCHANGE_HEAD_WAITS);
		exchange_charge(x);
		return false;
	}
	x->response.status = status;
	x->timing.first_byte = x->relay->now;
	flow_begin(&x->download, x->relay->now);
	if (exchange_is_push(x) && !is_held(x))
		begin_push(x);
	exchange_move(x, exchange_is_own_answer(x) ? EXCHANGE_REFUSE : EXCHANGE_HEAD_SENT);
	http_head_free(head);
	x->download.state = end ? FLOW_DONE : FLOW_BODY;
	return true;
}

/* The owner may keep it from the client, and take links out of a 103. */
static bool send_interim(struct exchange *x, const struct http_head *head)
{
	struct http_head *overlay = http_head_overlay(head);
	bool goes = x->relay->ops->interim_head(x->relay->context, x, overlay);
	goes = exchange_join_hints(x, overlay) || goes;
	bool is_sent = goes && x->down.ops->send_head(&x->down, overlay, false);
	http_head_free(overlay);
	return is_sent;
}

/* RFC 9110 10.1.1. A body that has begun to come, or has come, waits for nothing. */
void exchange_continue(struct exchange *x)
{
	const struct flow *f = &x->upload;
	if (f->source_ended || f->received > 0 || x->response.interims > 0 ||
	    !exchange_is_in(x, PHASE_BIT(EXCHANGE_QUEUED) | PHASE_BIT(EXCHANGE_SENT)) ||
	    /* uncovered: while a request's body is coming, the leg that it comes from is there */
	    !x->down.ops || !http_expects_continue(x->request))
		return;
	struct http_head *head = http_head_new(x->relay->heads);
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_STATUS, SLICE("100"));
	const char *fault = http_head_validate(head, HTTP_RESPONSE);
	ensure(fault == NULL);
	x->response.interims++;
	x->response.continued = true;
	x->down.ops->send_head(&x->down, head, false);
	http_head_free(head);
}

static void interim(struct exchange *x, struct http_head *head)
{
	bool is_second = head->status == 100 && x->response.continued;
	bool may_pass = ++x->response.interims <= LIMIT_INTERIM_RESPONSES &&
			!exchange_has_begun(x) && !is_second;
	pace_begin(&x->download.given, x->relay->now);
	exchange_stir(x);
	if (may_pass) {
		/* The leg drops the interim response of a push for which there is no room: it is of
		 * use only before the final head, and would cost the client a stream. */
		bool is_sent = is_held(x) ? x->down.ops->send_head(&x->down, head, false)
					  : send_interim(x, head);
		if (is_sent && x->pushed.state == PUSH_PROMISED) {
			begin_push(x); /* it counts among the client's streams from now on */
			exchange_note_push(x);
		}
	}
	http_head_free(head);
}

static void response_ended(struct exchange *x)
{
	x->download.source_ended = true;
	tunnel_note_end(x, &x->download);
	x->timing.completed = x->relay->now;
}

/* The answer that opens a tunnel has gone to the client: the bytes that the client has sent before go to the origin. */
static void begin_tunnel(struct exchange *x)
{
	tunnel_compact_request(x);
	if (!x->tunnel.is_checked)
		x->upload.state = FLOW_BODY;
	tell_sink(x, &x->upload);
}

void exchange_on_response(struct exchange *x, struct http_head *head, bool end)
{
	/* uncovered: an exchange that has lost its client is over */
	if (exchange_is_over(x) || !x->down.ops) {
		http_head_free(head);
		return;
	}
	http_response_strip_length(head);
	if (http_head_is_interim(head)) {
		interim(x, head);
		return;
	}
	if (head->status >= 500 && exchange_retry_status(x, head, end))
		return;
	if (x->tunnel.is_asked && !tunnel_answer(x, head)) {
		http_head_free(head);
		exchange_abort(x, &relay_cause_NO_TUNNEL, NULL);
		return;
	}
	x->response.answered_by = ANSWERED_BY_ORIGIN;
	x->response.length = head->content_length;
	x->timing.answered = x->relay->now;
	if (end)
		response_ended(x);
	if (exchange_is_push(x)) {
		const struct policy_offer offer = {
		    .source = x->pushed.source, .promised = x->request};
		struct policy_verdict v = policy_review(&x->pushed.verdict, &offer, head);
		/* of hint+hold the hint may be left */
		if (v.action == POLICY_DROP || v.action == POLICY_HINT) {
			x->pushed.verdict = v;
			x->response.status = head->status;
			http_head_free(head);
			exchange_abort(x, &relay_cause_POLICY, NULL);
			return;
		}
	}
	if (is_held(x)) /* the claiming exchange sends the end to its own client */
		end = false;
	if (exchange_send_final(x, head, end) && end)
		exchange_check_done(x);
	if (exchange_is_tunnel(x)) /* it has just opened, so neither side has ended */
		begin_tunnel(x);
	if (!exchange_is_over(x)) {
		exchange_stir(x);
		exchange_note_push(x);
	}
}

void exchange_on_start(struct exchange *x)
{
	struct http_head *head = x->response.pending;
	if (exchange_is_over(x) || !head)
		return;
	bool end = flow_may_end(&x->download) && x->download.body.bytes == 0;
	x->response.pending = NULL;
	if (!exchange_send_final(x, head, end))
		return;
	exchange_charge(x);
	if (end)
		exchange_check_done(x);
	else
		tell_sink(x, &x->download);
	if (!exchange_is_over(x)) {
		exchange_stir(x);
		exchange_note_push(x);
	}
}

void exchange_on_download(struct exchange *x, struct piece piece, bool end)
{
	if (exchange_is_over(x))
		return;
	struct flow *f = &x->download;
	f->received += piece.length;
	if (piece.length > 0) {
		flow_append(x, f, piece);
		if (x->payer.buffered)
			*x->payer.buffered += piece.length;
		const struct relay_cause *excess = excess_of(x, f);
		if (excess) {
			exchange_abort(x, excess, NULL);
			return;
		}
		if (x->onlooker)
			x->relay->ops->body_passes(x->relay->context, x, piece_slice(piece));
	}
	if (end)
		response_ended(x);
	tell_sink(x, f);
	exchange_note_push(x);
}

void exchange_on_download_trailers(struct exchange *x, struct http_head *trailers)
{
	if (exchange_is_over(x)) {
		http_head_free(trailers);
		return;
	}
	keep_trailers(x, &x->download, trailers);
	response_ended(x);
	tell_sink(x, &x->download);
	exchange_note_push(x);
}
