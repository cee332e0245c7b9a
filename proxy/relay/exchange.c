/* SPDX-License-Identifier: MIT */
/* The life and the deadlines of an exchange; how bytes flow through it is in transfer.c. */
#include "proxy/relay/private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/http/via.h"

#include <stdio.h>

/* Structs kept for reuse: enough for the swings of a busy worker, and no more. */
#define EXCHANGES_KEPT 1024u

static void timer_expired(struct wheel_node *node, usec now);

void relay_init(struct relay *r)
{
	wheel_init(&r->wheel, r->now);
	list_init(&r->live);
	list_init(&r->over);
	list_init(&r->hinting);
	list_init(&r->unbegun);
	r->makes_no_pushes = false;
	r->live_count = 0;
	r->next_id = 1;
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
		http_head_free(x->request);
		http_head_free(x->response.pending);
		budget_give(x->payer.budget, x->payer.charge);
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
	    .authority = head->authority,
	    .scheme = head->scheme,
	    .method = (enum http_method)head->method_token,
	    .timing = {.started = r->now},
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
	wheel_node_init(&x->timing.timer, timer_expired);
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

void exchange_dispatch(struct exchange *x)
{
	if (x->attempts++ == 0) {
		http_head_strip_hop(x->request);
		http_via_add(x->request, x->relay->pseudonym);
	}
	exchange_move(x, EXCHANGE_DISPATCH);
	x->timing.waits_since = x->relay->now;
	x->relay->ops->dispatch(x->relay->context, x);
	if (exchange_is_queued(x)) /* else it was armed when it left the queue */
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
	x->ending.detail = detail ? arena_printf(&x->request->arena, "%s", detail).ptr : NULL;
}

void exchange_finish(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	struct relay *r = x->relay;
	exchange_leave_queue(x);
	exchange_move(x, EXCHANGE_FINISH);
	if (!x->ending.cause) /* an answer of our own has named its cause before */
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
	}
	list_remove(&x->pushed.sibling);
	list_remove(&x->pushed.unbegun);
	bool is_known = x->pushed.state != PUSH_OFFERED;
	if (exchange_is_push(x)) {
		bool is_told = x->pushed.state == PUSH_CLAIMED || x->pushed.state == PUSH_EXPIRED;
		if (!is_told) { /* by the store that held it, with the reason */
			x->pushed.state = cause ? PUSH_CANCELLED : PUSH_DONE;
			x->pushed.end_reason = cause ? cause->push_reason : NULL;
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

void exchange_on_leg_closed(struct leg *leg)
{
	exchange_unbind(leg);
	list_remove(&leg->link);
}

/* ---- deadlines ---- */

static usec limit_from(struct exchange *x, usec from, enum relay_timeout what)
{
	return clock_after(from, x->relay->ops->time_limit(x->relay->context, x, what));
}

static void nearest(
    usec *deadline, const struct relay_cause **cause, usec at, const struct relay_cause *why)
{
	if (at < *deadline) {
		*deadline = at;
		*cause = why;
	}
}

/* The same for what has to move so many bytes a second. Who is not to blame just now begins anew. */
static usec limit_of_pace(
    struct exchange *x, struct pace *p, enum relay_timeout what, uint32_t per_second)
{
	usec limit = x->relay->ops->time_limit(x->relay->context, x, what);
	if (limit == 0)
		pace_pardon(p, x->relay->now);
	return pace_deadline(p, limit, per_second);
}

static uint32_t rate_of(const struct exchange *x, enum relay_side side)
{
	return x->relay->ops->min_rate(x->relay->context, x, side);
}

static usec later(usec a, usec b)
{
	return a > b ? a : b;
}

/* The client owes bytes of the request, if anybody wants them. */
static usec owed_by_client(struct exchange *x)
{
	bool is_owed = !x->upload.source_ended && x->upload.body.bytes == 0 &&
		       x->upload.state != FLOW_ABORTED && x->phase != EXCHANGE_LINGERING;
	return is_owed ? limit_of_pace(
			     x, &x->upload.given, RELAY_TIMEOUT_BODY_UP, rate_of(x, RELAY_CLIENT))
		       : USEC_NEVER;
}

/* The origin owes more of the response; while bytes wait for the client it is the client that is
 * slow. Without an announced length it has what it has: events come when they happen. */
static usec owed_by_origin(struct exchange *x)
{
	bool is_owed = x->up.ops && exchange_has_begun(x) && !x->download.source_ended &&
		       x->download.body.bytes == 0;
	bool has_length = x->response.length != HTTP_LENGTH_UNKNOWN;
	return is_owed ? limit_of_pace(x, &x->download.given, RELAY_TIMEOUT_BODY_DOWN,
			     has_length ? rate_of(x, RELAY_ORIGIN) : 0)
		       : USEC_NEVER;
}

/* Both bodies are under way, as of a call that streams messages: only they know whose turn it is. */
static bool is_dialogue(const struct exchange *x)
{
	return x->up.ops && exchange_has_begun(x) && !x->download.source_ended &&
	       !x->upload.source_ended && x->upload.state != FLOW_ABORTED;
}

static void nearest_of_bodies(struct exchange *x, usec *deadline, const struct relay_cause **cause)
{
	usec client = owed_by_client(x), origin = owed_by_origin(x);
	/* Who listens owes nothing while the other goes on. */
	if (is_dialogue(x) && client < origin)
		client = USEC_NEVER;
	else if (is_dialogue(x))
		origin = USEC_NEVER;
	nearest(deadline, cause, client, &relay_cause_UPLOAD_LATE);
	nearest(deadline, cause, origin, &relay_cause_BODY_LATE);
}

/* The nearest deadline that holds in the present state, and what it means to miss it. */
static usec deadline_of(struct exchange *x, const struct relay_cause **cause)
{
	usec d = USEC_NEVER;
	*cause = NULL;
	if (x->phase == EXCHANGE_LINGERING)
		nearest(&d, cause, limit_from(x, x->timing.lingers_since, RELAY_TIMEOUT_LINGER),
		    &relay_cause_UPLOAD_LINGER);
	/* Bytes wait, and the side that they are for opens no window. */
	if (exchange_has_begun(x) && x->download.body.bytes > 0)
		nearest(&d, cause,
		    limit_of_pace(
			x, &x->download.taken, RELAY_TIMEOUT_TAKE_DOWN, rate_of(x, RELAY_CLIENT)),
		    &relay_cause_DOWN_STALLED);
	if (exchange_is_own_answer(x))
		return d;
	if (exchange_is_push(x) && !exchange_has_begun(x))
		nearest(&d, cause, limit_from(x, x->timing.waits_since, RELAY_TIMEOUT_PUSH_START),
		    x->response.pending ? &relay_cause_PUSH_START_LATE : &relay_cause_HEAD_LATE);
	if (exchange_is_queued(x))
		nearest(&d, cause, limit_from(x, x->timing.waits_since, RELAY_TIMEOUT_QUEUE),
		    &relay_cause_QUEUE_LATE);
	nearest_of_bodies(x, &d, cause);
	if (x->upload.body.bytes > 0 && x->up.ops)
		nearest(&d, cause,
		    limit_of_pace(
			x, &x->upload.taken, RELAY_TIMEOUT_TAKE_UP, rate_of(x, RELAY_ORIGIN)),
		    &relay_cause_UP_STALLED);
	/* The origin owes the response, once it has what the client sent. */
	bool owes_head = x->up.ops && !x->download.source_ended &&
			 x->response.answered_by == ANSWERED_BY_NOBODY && !exchange_is_push(x) &&
			 x->upload.source_ended && x->upload.body.bytes == 0;
	if (owes_head) {
		usec since = later(x->upload.taken.last, x->download.given.last);
		nearest(&d, cause, limit_from(x, since, RELAY_TIMEOUT_RESPONSE),
		    &relay_cause_HEAD_LATE);
	}
	return d;
}

/* Which deadline holds changes as bytes come and go; rather than arming at each of them it is
 * looked at again every second at least. */
#define LOOK_AGAIN_USEC USEC_PER_SEC

static void arm(struct exchange *x, usec deadline)
{
	usec soon = x->relay->now + LOOK_AGAIN_USEC;
	wheel_set(&x->relay->wheel, &x->timing.timer, deadline < soon ? deadline : soon);
}

void exchange_arm(struct exchange *x)
{
	const struct relay_cause *cause;
	arm(x, deadline_of(x, &cause));
}

static void timer_expired(struct wheel_node *node, usec now)
{
	struct exchange *x = container_of(node, struct exchange, timing.timer);
	const struct relay_cause *cause;
	usec deadline = deadline_of(x, &cause);
	if (deadline > now) {
		arm(x, deadline);
		return;
	}
	exchange_abort(x, cause, NULL);
}

static const char *flow_state_name(enum flow_state state)
{
	switch (state) {
	case FLOW_HEAD:
		return "head";
	case FLOW_BODY:
		return "body";
	case FLOW_TRAILERS:
		return "trailers";
	case FLOW_DONE:
		return "done";
	case FLOW_ABORTED:
		return "aborted";
	}
	return "?";
}

size_t exchange_describe(const struct exchange *x, char *buffer, size_t size)
{
	int n = snprintf(buffer, size,
	    "x%llu%s %.*s %.*s://%.*s%.*s %s status=%u up=%s/%zu%s down=%s/%zu%s\n",
	    (unsigned long long)x->id, exchange_is_push(x) ? " push" : "",
	    SLICE_ARG(x->request->method), SLICE_ARG(x->scheme), SLICE_ARG(x->authority),
	    SLICE_ARG(x->request->path), exchange_phase_name(x->phase), x->response.status,
	    flow_state_name(x->upload.state), x->upload.body.bytes, x->up.ops ? "" : "(no leg)",
	    flow_state_name(x->download.state), x->download.body.bytes,
	    x->down.ops ? "" : "(no leg)");
	if (n < 0)
		return 0;
	return (size_t)n < size ? (size_t)n : size ? size - 1 : 0;
}
