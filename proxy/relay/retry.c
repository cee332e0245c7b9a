/* SPDX-License-Identifier: MIT */
/*
 * Sends a request again after it has failed: whether it can be, and in which state it then is. How often
 * that is done is the owner's to say (relay_ops.retries), and which server gets it (relay_ops.dispatch).
 *
 * The request's head is kept until the exchange is over, and a body that waits here is sent later. What
 * has left is not kept: a request whose body has begun to leave is not sent again. Interim responses may
 * come to the client once more; a final head never does.
 */
#include "proxy/relay/relay_private.h"

static bool can_be_sent_again(const struct exchange *x)
{
	return x->response.answered_by == ANSWERED_BY_NOBODY && !exchange_is_push(x) &&
	       x->upload.forwarded == 0 && !x->upload.trailers_sent &&
	       x->attempts < EXCHANGE_SERVERS_MOST;
}

/* To send it to two servers must do the same as to send it to one (RFC 9110 9.2.2): so no tunnel, whose
 * method is CONNECT even if an Upgrade asked for it. Streams of messages have their own ways to go on. */
static bool may_be_processed_twice(const struct exchange *x)
{
	return http_method_is_idempotent(x->method) && !x->terms.is_call &&
	       !x->pushes.is_subscription;
}

static bool is_retried(struct exchange *x, const struct relay_failure *failure)
{
	const struct relay_ops *ops = x->relay->ops;
	if (failure->why == RELAY_NEVER || !can_be_sent_again(x))
		return false;
	if (failure->why >= RELAY_IF_LOST && !may_be_processed_twice(x))
		return false;
	if (!ops->retries)
		return failure->why == RELAY_AGAIN && !exchange_was_retried(x);
	return ops->retries(x->relay->context, x, failure);
}

static void send_again(struct exchange *x)
{
	x->upload.state = FLOW_HEAD;
	exchange_dispatch(x);
}

bool exchange_retry_failed(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	const struct relay_failure failure = {
	    .why = cause->retry, .cause = cause, .code = code, .detail = detail};
	/* A reset with NO_ERROR says that the rest of the request is not wanted, not that it failed. */
	bool is_end = cause == &relay_cause_UP_RESET && code == RELAY_NO_ERROR;
	if (is_end || !is_retried(x, &failure))
		return false;
	send_again(x);
	return true;
}

bool exchange_retry_late(struct exchange *x, const struct relay_cause *cause)
{
	const struct relay_failure failure = {.why = RELAY_IF_LATE, .cause = cause};
	if (cause->retry != RELAY_IF_LATE || !is_retried(x, &failure))
		return false;
	exchange_reset_leg(&x->up, relay_code_across(cause->up_code, RELAY_CANCEL));
	send_again(x);
	return true;
}

bool exchange_retry_status(struct exchange *x, struct http_head *head, bool end)
{
	const struct relay_failure failure = {.why = RELAY_IF_STATUS, .status = head->status};
	if (!x->up.ops->discard || !is_retried(x, &failure))
		return false;
	http_head_free(head);
	x->up.ops->discard(&x->up, end);
	exchange_unbind(&x->up);
	send_again(x);
	return true;
}
