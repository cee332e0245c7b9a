/* SPDX-License-Identifier: MIT */
/*
 * Subscriptions: parents whose pushes are what the client waits for (RFC 8030, event feeds). None
 * of these pushes may be lost because the client is slow. PUSH_PROMISE has no flow control, so the
 * origin is held back by TCP: a subscription has an origin connection for itself, and this file
 * says when that connection is not read from.
 *
 *   reading ──(max-pushes-per-parent responses, or max-push-bytes, wait for the client)──▶ held back
 *   held back ──(half of both are left, or the client waits for the origin)──▶ reading
 *
 * The client waits for the origin when each push that has begun downstream needs bytes that are
 * still unread: the client would never finish it, and so never make room for the others. Then the
 * origin is read from however much waits; max-reserved-pushes and the budgets of memory are the
 * bounds that remain.
 */
#include "proxy/relay/relay_private.h"

static bool client_waits_for_origin(const struct push_backlog *b)
{
	return b->starved > 0 && b->starved == b->begun;
}

static bool must_hold_back(const struct exchange *x)
{
	const struct push_backlog *b = &x->backlog;
	const struct policy_caps *most = &x->relay->policy->caps;
	if (client_waits_for_origin(b))
		return false;
	if (x->pushes.is_held_back)
		return b->answered > most->per_parent / 2 || b->bytes > most->bytes_in_flight / 2;
	return b->answered >= most->per_parent || b->bytes >= most->bytes_in_flight;
}

void subscription_release(struct exchange *x)
{
	struct relay *r = x->relay;
	x->pushes.is_held_back = false;
	flow_begin_source(&x->download, r->now);
	exchange_arm(x);
	list_for_each(&x->pushes.list, push, struct exchange, pushed.sibling)
	{
		flow_begin_source(&push->download, r->now);
		exchange_arm(push);
	}
}

static void steer(struct exchange *x)
{
	bool must = must_hold_back(x);
	if (must == x->pushes.is_held_back || !x->up.ops)
		return;
	x->up.ops->hold_back(&x->up, must);
	if (must)
		x->pushes.is_held_back = true;
	else
		subscription_release(x);
}

static struct push_backlog backlog_of(const struct exchange *push)
{
	const struct flow *f = &push->download;
	if (exchange_is_over(push) || push->pushed.state == PUSH_HELD)
		return (struct push_backlog){0};
	bool is_begun = push->pushed.state == PUSH_ANSWERING;
	return (struct push_backlog){
	    .answered = push->response.answered_by == ANSWERED_BY_ORIGIN,
	    .begun = is_begun,
	    .starved = is_begun && f->body.bytes == 0 && !f->source_ended,
	    .bytes = f->body.bytes,
	};
}

void subscription_update(struct exchange *push)
{
	struct exchange *x = push->pushed.parent;
	if (!x)
		return;
	struct push_backlog now = backlog_of(push), was = push->backlog;
	push->backlog = now;
	x->backlog = (struct push_backlog){
	    .answered = x->backlog.answered - was.answered + now.answered,
	    .begun = x->backlog.begun - was.begun + now.begun,
	    .starved = x->backlog.starved - was.starved + now.starved,
	    .bytes = x->backlog.bytes - was.bytes + now.bytes,
	};
	steer(x);
}

void subscription_ended(struct exchange *push)
{
	struct relay *r = push->relay;
	flow_begin_source(&push->download, r->now);
	push->timing.waits_since = r->now;
	exchange_arm(push);
}
