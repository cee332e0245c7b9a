/* SPDX-License-Identifier: MIT */
/* The life of an exchange. How bytes flow through it is in transfer.c, how long it may take in
 * deadline.c. */
#include "proxy/relay/relay_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/http/cookie.h"
#include "proxy/limits.h"

#include <stdio.h>

/* How many freed structs are kept for reuse. */
#define EXCHANGES_KEPT 1024u

void relay_init(struct relay *r)
{
	wheel_init(&r->wheel, r->now);
	list_init(&r->live);
	list_init(&r->over);
	list_init(&r->hinting);
	list_init(&r->unbegun);
	r->makes_no_pushes = false;
	r->unread_since = USEC_NEVER;
	r->unread_usec = 0;
	r->live_count = 0;
	r->next_id = 1;
	deadlines_init(r);
	spares_init(&r->spares, sizeof(struct exchange), EXCHANGES_KEPT);
}

void relay_fini(struct relay *r)
{
	relay_reap(r);
	ensure(list_is_empty(&r->live));
	spares_free(&r->spares);
}

void relay_advance(struct relay *r, usec now)
{
	r->now = now;
	wheel_advance(&r->wheel, now);
}

void relay_reap(struct relay *r)
{
	struct exchange *x;
	while ((x = list_first(&r->over, struct exchange, link)) != NULL) {
		list_remove(&x->link);
		http_head_free((struct http_head *)(uintptr_t)x->request);
		http_head_free(x->response.pending);
		budget_give(x->payer.budget, x->payer.charge);
		exchange_user_release(x->facts.user);
		peer_ends_release(x->facts.ends);
		x->facts.user = NULL;
		client_certificate_release(x->facts.certificate);
		x->facts.ends = NULL;
		x->facts.certificate = NULL;
		spares_keep_or_free(&r->spares, x);
	}
}

struct exchange *exchange_alloc(struct relay *r, struct budget *budget, struct http_head *head)
{
	size_t charge = EXCHANGE_BYTES + http_head_bytes(head);
	if (!budget_take(budget, charge))
		return NULL;
	struct exchange *x = spares_take(&r->spares);
	if (!x)
		x = memory_alloc(sizeof(*x));
	*x = (struct exchange){
	    .relay = r,
	    .id = r->next_id++,
	    .payer = {.budget = budget, .charge = charge},
	    .request = head,
	    .facts = {.head = head},
	    .method = (enum http_method)head->method_token,
	    .timing = {.started = r->now},
	    .effort_since = USEC_NEVER,
	};
	flow_begin(&x->upload, r->now);
	flow_begin(&x->download, r->now);
	x->down.exchange = x->up.exchange = x;
	x->upload.source = x->download.sink = &x->down;
	x->upload.sink = x->download.source = &x->up;
	list_init(&x->down.link);
	list_init(&x->up.link);
	list_init(&x->pushes.list);
	list_init(&x->pushed.sibling);
	list_init(&x->waiting);
	list_init(&x->hints.link);
	list_init(&x->pushed.unbegun);
	wheel_node_init(&x->timing.timer, exchange_look);
	list_append(&r->live, &x->link);
	r->live_count++;
	return x;
}

struct exchange *exchange_new(
    struct relay *r, const struct leg *down, struct http_head *head, bool end)
{
	struct exchange *x = exchange_alloc(r, down->budget ? down->budget : r->budget, head);
	if (!x) {
		http_head_free(head);
		return NULL;
	}
	exchange_bind(&x->down, down);
	x->upload.source_ended = end;
	return x;
}

struct effort *exchange_effort(struct exchange *x)
{
	if (x->effort_since != x->relay->now) {
		x->effort = effort_of(LIMIT_EFFORT_OF_REQUEST);
		x->effort_since = x->relay->now;
	}
	return &x->effort;
}

uint64_t exchange_effort_spent(const struct exchange *x)
{
	return x->effort_since == x->relay->now ? LIMIT_EFFORT_OF_REQUEST - x->effort.left : 0;
}

struct slice exchange_cut_cookie(struct exchange *x, struct slice name)
{
	struct slice value = http_cookie_cut((struct http_head *)(uintptr_t)x->request, name);
	if (value.ptr)
		exchange_charge(x);
	return value;
}

void exchange_set_routing(struct exchange *x, const struct request_routing *routing)
{
	x->place = routing->place;
	if (routing->is_tunnel) {
		x->tunnel.bytes_most = routing->tunnel_bytes;
		exchange_ask_for_tunnel(x, routing->upgrade);
	} else if (routing->is_streaming) {
		x->terms.is_streaming = !x->upload.source_ended;
		x->terms.is_call = routing->is_call;
		x->terms.call_timeout = routing->call_timeout;
	}
}

void exchange_dispatch(struct exchange *x)
{
	x->attempts++;
	exchange_move(x, EXCHANGE_DISPATCH);
	x->timing.waits_since = x->relay->now;
	x->relay->ops->dispatch(x->relay->context, x);
	if (exchange_is_queued(x)) /* else exchange_on_connected has set the timer */
		exchange_arm(x);
}

void exchange_leave_queue(struct exchange *x)
{
	if (list_is_linked(&x->waiting))
		x->relay->ops->undispatch(x->relay->context, x);
}

void exchange_note_cause(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	x->ending.cause = cause;
	x->ending.code = code;
	x->ending.detail = exchange_keep_text(x, detail);
}

void exchange_reset_leg(struct leg *leg, uint32_t code)
{
	if (!leg->ops)
		return;
	leg->ops->reset(leg, code);
	exchange_unbind(leg);
}

/* pushed.parent stays, for the log. */
static void leave_parent(struct exchange *push)
{
	if (list_is_linked(&push->pushed.sibling))
		push->pushed.parent->pushes.open--;
	list_remove(&push->pushed.sibling);
	list_remove(&push->pushed.unbegun);
	exchange_note_push(push);
}

/* A push that policy_review gave up has the reason in its verdict; of hint+hold the hint may be left. */
static const struct policy_reason *end_reason(
    const struct exchange *push, const struct relay_cause *cause)
{
	const struct policy_verdict *v = &push->pushed.verdict;
	if (!cause)
		return NULL;
	if (cause != &relay_cause_POLICY)
		return cause->push_reason;
	return v->lost_half ? v->lost_half : v->reason;
}

void exchange_finish(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	struct relay *r = x->relay;
	exchange_leave_queue(x);
	exchange_move(x, EXCHANGE_FINISH);
	if (!x->ending.cause) /* an answer of our own has set it before */
		exchange_note_cause(x, cause, code, detail);
	wheel_forget(&r->wheel, &x->timing.timer);
	if (x->down.ops)
		x->down.ops->detach(&x->down);
	if (x->up.ops)
		x->up.ops->detach(&x->up);
	x->down.ops = x->up.ops = NULL;
	exchange_drop_body(x, &x->upload);
	exchange_drop_body(x, &x->download);
	exchange_drop_hints(x);
	list_for_each(&x->pushes.list, child, struct exchange, pushed.sibling)
	{
		list_remove(&child->pushed.sibling);
		child->pushed.parent = NULL;
		if (child->pushed.is_expected)
			subscription_ended(child);
	}
	bool is_known = x->pushed.state != PUSH_OFFERED;
	if (exchange_is_push(x)) {
		leave_parent(x);
		bool is_told = x->pushed.state == PUSH_CLAIMED || x->pushed.state == PUSH_EXPIRED;
		if (!is_told) { /* else the hold store has set state and reason */
			x->pushed.state = cause ? PUSH_CANCELLED : PUSH_DONE;
			x->pushed.end_reason = end_reason(x, cause);
		}
	}
	if (is_known)
		r->ops->ended(r->context, x);
	x->pushed.parent = NULL;
	x->payer.buffered = NULL;
	list_remove(&x->link);
	list_append(&r->over, &x->link);
	r->live_count--;
}

bool leg_sends_no_head(struct leg *leg, const struct http_head *head, bool end)
{
	(void)head, (void)end;
	ensure(!leg);
	return false;
}

bool leg_promises_nothing(struct leg *leg, const struct http_head *request, struct exchange *child)
{
	(void)request, (void)child;
	ensure(!leg);
	return false;
}

void exchange_on_leg_closed(struct leg *leg)
{
	exchange_unbind(leg);
	list_remove(&leg->link);
}

struct piece exchange_leg_front(void *sink, size_t most)
{
	const struct leg *leg = sink;
	const struct exchange *x = leg->exchange;
	return body_front(leg == &x->down ? &x->download.body : &x->upload.body, most);
}

/* ---- its description ---- */

static const char *const flow_state_names[] = {
    [FLOW_HEAD] = "head",
    [FLOW_BODY] = "body",
    [FLOW_TRAILERS] = "trailers",
    [FLOW_DONE] = "done",
    [FLOW_ABORTED] = "aborted",
};

size_t exchange_describe(const struct exchange *x, char *buffer, size_t size)
{
	int n = snprintf(buffer, size,
	    "x%llu%s %.*s %.*s://%.*s%.*s %s status=%u up=%s/%zu%s down=%s/%zu%s\n",
	    (unsigned long long)x->id, exchange_is_push(x) ? " push" : "",
	    SLICE_ARG(x->request->method), SLICE_ARG(x->request->scheme),
	    SLICE_ARG(x->request->authority), SLICE_ARG(x->request->path),
	    exchange_phase_name(x->phase), x->response.status, flow_state_names[x->upload.state],
	    x->upload.body.bytes, x->up.ops ? "" : "(no leg)", flow_state_names[x->download.state],
	    x->download.body.bytes, x->down.ops ? "" : "(no leg)");
	return (size_t)n < size ? (size_t)n : size ? size - 1 : 0;
}
