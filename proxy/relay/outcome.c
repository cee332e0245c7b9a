/* SPDX-License-Identifier: MIT */
/*
 * Applies the outcome table (cause.h) when one side of an exchange fails: a retry, a response of
 * pushgate's own, or a reset of the other side.
 */
#include "proxy/relay/deadline.h"
#include "proxy/relay/relay_private.h"

#include "proxy/base/ensure.h"
#include "proxy/http/via.h"

/* For Allow (RFC 9110 9.3.7): the methods that may be sent through this gateway. TRACE is not: it is
 * never passed on. */
#define METHODS_PASSED_ON "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

/*
 * The part of the detail that a client may read. That of an origin is often a text of the system with
 * its address, and stays in the log; the client gets the cause's name. Names of faults in its
 * response, and of mistakes in the client's own request, are constants of this program.
 */
static const char *public_detail(const struct exchange *x, const struct relay_cause *cause)
{
	bool is_of_origin = cause->side == RELAY_ORIGIN || cause == &relay_cause_NO_TUNNEL;
	bool is_public = !is_of_origin || cause == &relay_cause_UP_FAULT ||
			 cause == &relay_cause_UP_MALFORMED ||
			 cause == &relay_cause_UP_FIELDS_LARGE;
	return is_public && x->ending.detail ? x->ending.detail : cause->name;
}

/* Its cause has been noted. *text: the body. */
static struct http_head *make_answer(struct exchange *x, struct slice *text)
{
	struct relay *r = x->relay;
	const struct relay_cause *cause = x->ending.cause;
	bool is_final = cause == &relay_cause_FINAL_RECIPIENT;
	struct http_own_answer own = {
	    .status = cause->status,
	    .pseudonym = r->pseudonym,
	    .error = cause->error,
	    .details = public_detail(x, cause),
	    .date = r->ops->date ? r->ops->date(r->context) : SLICE(""),
	    .allow = is_final ? SLICE(METHODS_PASSED_ON) : SLICE(""),
	    .request = x->request,
	};
	if (r->ops->own_answer)
		r->ops->own_answer(r->context, x, &own);
	if (own.body.len > budget_room(x->payer.budget)) /* then the short text must do */
		own.body = SLICE("");
	return http_own_response(r->heads, &own, text);
}

/* Sends a response of pushgate's own. The rest of the request is read and dropped. */
static void answer(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	struct relay *r = x->relay;
	struct slice text;
	ensure(x->down.ops && !exchange_has_begun(x) && !exchange_is_push(x));
	exchange_note_cause(x, cause, code, detail);
	if (x->tunnel.is_asked)
		tunnel_refused(x);
	else
		exchange_discard_upload(x);
	struct http_head *head = make_answer(x, &text);
	bool is_streamed = x->up.ops != NULL; /* exchange_answer_from */
	bool end = x->method == HTTP_METHOD_HEAD || (text.len == 0 && !is_streamed);
	x->download.source_ended = !is_streamed;
	if (text.len > 0 && !end &&
	    body_append_copy(&x->download.body, text, r->small_chunks, x->payer.budget) <
		text.len) {
		/* There is no memory even for the text: reset both sides. */
		http_head_free(head);
		exchange_reset_leg(&x->up, relay_code_across(cause->up_code, code));
		exchange_reset_leg(&x->down, relay_code_across(cause->down_code, code));
		exchange_finish(x, cause, code, detail);
		return;
	}
	x->response.answered_by = ANSWERED_BY_SELF;
	exchange_send_final(x, head, end);
	exchange_arm(x);
	if (end)
		exchange_check_done(x);
	else
		x->down.ops->send_body(&x->down, &x->download);
}

void exchange_answer_from(struct exchange *x, const struct leg *up)
{
	ensure(x->method != HTTP_METHOD_HEAD);
	exchange_bind(&x->up, up);
}

void exchange_refuse(struct exchange *x, const struct relay_cause *cause, const char *detail)
{
	if (!exchange_is_over(x))
		answer(x, cause, 0, detail);
}

/* REFUSED_STREAM says that the request was not processed at all (RFC 9113 8.7). After a part of the
 * response that would be wrong. */
uint32_t exchange_code_down(
    const struct exchange *x, const struct relay_cause *cause, uint32_t came)
{
	uint32_t code = relay_code_across(cause->down_code, came);
	/* RFC 9113 8.5: any error of the connection that a CONNECT has asked for. */
	if (cause == &relay_cause_UP_LOST && exchange_is_tunnel(x) && x->request->protocol.len == 0)
		return RELAY_CONNECT_ERROR;
	bool was_processed = exchange_has_begun(x) && !exchange_is_push(x);
	return code == RELAY_REFUSED_STREAM && was_processed ? RELAY_INTERNAL_ERROR : code;
}

/* Answers or resets the downstream side; the upstream leg is gone already. */
static void fail_downstream(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	bool can_answer =
	    /* uncovered: an exchange that has lost its client is over */
	    x->down.ops && !exchange_has_begun(x) && !exchange_is_push(x) && cause->status != 0;
	if (can_answer) {
		exchange_drop_body(x, &x->download);
		answer(x, cause, code, detail);
		return;
	}
	if (!x->ending.cause) /* before the reset: the held response's leg reads the cause */
		exchange_note_cause(x, cause, code, detail);
	exchange_reset_leg(&x->down, exchange_code_down(x, cause, code));
	exchange_finish(x, cause, code, detail);
}

/*
 * RST_STREAM with NO_ERROR before END_STREAM: some origins send it in place of a last, empty DATA
 * frame. The bytes that came are sent on first. If content-length says that they are all, the response
 * ends normally, else with a reset that says that the response is not complete. A push that waits for
 * room is whole too.
 */
static bool ends_after_rest(struct exchange *x, const struct relay_cause *cause, uint32_t code)
{
	struct flow *f = &x->download;
	bool waits = exchange_is_in(x, PHASE_BIT(EXCHANGE_READY));
	if (cause != &relay_cause_UP_RESET || code != RELAY_NO_ERROR ||
	    (f->state != FLOW_BODY && !waits) ||
	    /* uncovered: an exchange that has lost its client is over */
	    !x->down.ops)
		return false;
	bool is_whole = f->received == x->response.length;
	if (!is_whole && (waits || f->body.bytes == 0))
		return false;
	exchange_discard_upload(x);
	if (is_whole) {
		f->source_ended = true;
		x->timing.completed = x->relay->now;
	} else {
		exchange_move(x, EXCHANGE_CUT);
		exchange_note_cause(x, cause, code, NULL);
	}
	if (!waits) /* else exchange_on_start sends them */
		x->down.ops->send_body(&x->down, f);
	return true;
}

void exchange_on_up_failed(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	if (exchange_is_over(x))
		return;
	exchange_on_leg_closed(&x->up);
	if (x->download.source_ended) {
		/* The response is complete, and the origin does not want the rest of the request (RFC
		 * 9113 8.1). Of a tunnel, the client's direction is cut off. */
		bool wants_no_more = cause == &relay_cause_UP_RESET && code == RELAY_NO_ERROR;
		if (cause == &relay_cause_UP_LOST && tunnel_has_served(x))
			wants_no_more = true;
		if (exchange_is_tunnel(x) && x->upload.state != FLOW_DONE && !wants_no_more)
			exchange_note_cause(x, cause, code, detail);
		exchange_discard_upload(x);
		exchange_check_done(x);
		return;
	}
	if (exchange_retry_failed(x, cause, code, detail))
		return;
	if (!ends_after_rest(x, cause, code))
		fail_downstream(x, cause, code, detail);
}

/* If the client has the whole response and the rest of its request is dropped, the exchange ends well in any case. */
static void finish(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	if (exchange_is_in(x, PHASE_BIT(EXCHANGE_LINGERING)) && x->upload.state == FLOW_ABORTED)
		exchange_finish(x, NULL, 0, NULL);
	else
		exchange_finish(x, cause, code, detail);
}

void exchange_on_down_ended(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	if (exchange_is_over(x))
		return;
	exchange_on_leg_closed(&x->down);
	uint32_t rule = exchange_is_push(x) ? cause->push_up_code : cause->up_code;
	exchange_reset_leg(&x->up, relay_code_across(rule, code));
	finish(x, cause, code, detail);
}

void exchange_abort(struct exchange *x, const struct relay_cause *cause, const char *detail)
{
	if (exchange_is_over(x))
		return;
	if (exchange_is_queued(x))
		exchange_leave_queue(x);
	uint32_t rule = exchange_is_push(x) ? cause->push_up_code : cause->up_code;
	exchange_reset_leg(&x->up, relay_code_across(rule, RELAY_CANCEL));
	if (x->download.state == FLOW_DONE) { /* the client has the whole response */
		exchange_reset_leg(&x->down, RELAY_NO_ERROR);
		finish(x, cause, 0, detail);
		return;
	}
	fail_downstream(x, cause, 0, detail);
}

void exchange_on_client_closed(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	if (exchange_is_over(x))
		return;
	if (!tunnel_has_served(x)) {
		exchange_on_down_ended(x, cause, code, detail);
		return;
	}
	tunnel_note_end(x, &x->upload);
	exchange_on_leg_closed(&x->down);
	exchange_reset_leg(&x->up, RELAY_CANCEL);
	exchange_finish(x, NULL, 0, NULL);
}

void exchange_look(struct wheel_node *node, usec now)
{
	struct exchange *x = container_of(node, struct exchange, timing.timer);
	struct exchange_deadline d = exchange_deadline(x);
	if (d.at > now)
		exchange_look_again(x, d.at);
	else if (!exchange_retry_late(x, d.cause))
		exchange_abort(x, d.cause, NULL);
}
