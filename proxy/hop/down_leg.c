/* SPDX-License-Identifier: MIT */
/* The downstream end of an exchange: a stream of a client's connection. */
#include "proxy/hop/private.h"

#include "proxy/base/ensure.h"

static struct down *down_of(struct leg *leg)
{
	return leg->carrier;
}

void down_leg_cut(struct leg *leg)
{
	struct down *d = down_of(leg);
	struct exchange *x = leg->exchange;
	h2_stream_set_user((struct h2_stream *)leg->stream, NULL);
	list_remove(&leg->link);
	if (x->pushed.state != PUSH_NONE) {
		if (!exchange_is_queued(x)) /* then it waits in a pool's queue, not here for room */
			list_remove(&x->waiting);
		ensure(d->pushes_open > 0);
		d->pushes_open--;
	}
	leg->ops = NULL;
}

static bool leg_send_head(struct leg *leg, const struct http_head *head, bool end)
{
	struct down *d = down_of(leg);
	struct exchange *x = leg->exchange;
	bool must_wait = x->pushed.state == PUSH_PROMISED &&
			 (h2_push_room(d->h2) == 0 || !list_is_empty(&d->waiting));
	/* An interim response opens the pushed stream just as a final one does. */
	if (must_wait && list_is_linked(&x->waiting))
		must_wait = h2_push_room(d->h2) == 0;
	if (must_wait) {
		if (!http_head_is_interim(head) && !list_is_linked(&x->waiting))
			list_append(&d->waiting, &x->waiting);
		return false;
	}
	if (!http_head_is_interim(head))
		list_remove(&x->waiting);
	if (!h2_respond(d->h2, (struct h2_stream *)leg->stream, head, end) &&
	    http_head_is_interim(head))
		return false;
	account_status(d->hop, head->status);
	net_conn_dirty(d->net);
	return true;
}

/* In the order in which they came to wait. */
void down_start_waiting(struct down *d)
{
	while (d->net && !list_is_empty(&d->waiting) && h2_push_room(d->h2) > 0) {
		struct exchange *x = list_first(&d->waiting, struct exchange, waiting);
		exchange_on_start(x);
		ensure(!list_is_linked(&x->waiting));
	}
}

static void leg_send_body(struct leg *leg, const struct flow *flow)
{
	struct down *d = down_of(leg);
	h2_offer(d->h2, (struct h2_stream *)leg->stream, flow->body.bytes, flow_may_end(flow));
	net_conn_dirty(d->net);
}

static void leg_send_trailers(struct leg *leg, const struct http_head *trailers)
{
	struct down *d = down_of(leg);
	h2_trailers(d->h2, (struct h2_stream *)leg->stream, trailers);
	net_conn_dirty(d->net);
}

static bool leg_promise(struct leg *leg, const struct http_head *request, struct exchange *child)
{
	struct down *d = down_of(leg);
	struct h2_stream *promised =
	    h2_promise(d->h2, (struct h2_stream *)leg->stream, request, &child->down);
	if (!promised)
		return false;
	child->down.ops = &down_leg_ops;
	child->down.carrier = d;
	child->down.stream = (struct session_stream *)promised;
	child->down.budget = &d->budget;
	child->payer.buffered = &d->push_buffered;
	list_append(&d->legs, &child->down.link);
	d->pushes_open++;
	net_conn_dirty(d->net);
	return true;
}

static void leg_reset(struct leg *leg, uint32_t code)
{
	struct down *d = down_of(leg);
	struct h2_stream *s = (struct h2_stream *)leg->stream;
	down_leg_cut(leg);
	h2_reset(d->h2, s, code);
	net_conn_dirty(d->net);
}

static void leg_credit(struct leg *leg, size_t n)
{
	struct down *d = down_of(leg);
	h2_credit(d->h2, (struct h2_stream *)leg->stream, n);
	net_conn_dirty(d->net);
}

static void leg_detach(struct leg *leg)
{
	down_leg_cut(leg);
}

const struct leg_ops down_leg_ops = {
    .send_head = leg_send_head,
    .send_body = leg_send_body,
    .send_trailers = leg_send_trailers,
    .promise = leg_promise,
    .reset = leg_reset,
    .credit = leg_credit,
    .detach = leg_detach,
};
