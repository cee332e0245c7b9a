/* SPDX-License-Identifier: MIT */
/* Private to relay/: the functions that its files share. */
#ifndef PUSHGATE_RELAY_RELAY_PRIVATE_H
#define PUSHGATE_RELAY_RELAY_PRIVATE_H

#include "proxy/base/ensure.h"
#include "proxy/relay/exchange.h"

/* The charge for an exchange, beside bodies and heads. */
#define EXCHANGE_BYTES sizeof(struct exchange)

/* charge.c */
/* To be called when the heads that it keeps have changed or have grown. */
void exchange_charge(struct exchange *x);
void exchange_move_upload(struct exchange *x, struct budget *budget);
/* The same for the request's body; NULL: the budget of the exchange. */
static inline void exchange_upload_pay_from(struct exchange *x, struct budget *budget)
{
	if (x->upload.body.bytes > 0)
		exchange_move_upload(x, budget);
	x->up.budget = budget;
}
/* The budget that pays for the bytes that wait in the flow. */
struct budget *flow_budget(const struct exchange *x, const struct flow *f);
/* The budget is used up: credit is kept back. */
bool flow_is_short(const struct exchange *x, const struct flow *f);
/* It keeps so much that the exchange must end. */
bool flow_is_too_much(const struct exchange *x, const struct flow *f);

/* phase.c */
_Noreturn void exchange_move_failed(const struct exchange *x, enum exchange_event event);
/* The only place that changes the phase; an event that the table does not allow is our own bug. */
static inline void exchange_move(struct exchange *x, enum exchange_event event)
{
	uint8_t next = exchange_transitions[x->phase][event];
	/* uncovered: our own bug, as for ensure() */
	if (__builtin_expect(next == EXCHANGE_NEW, 0))
		exchange_move_failed(x, event);
	x->phase = (enum exchange_phase)next;
}

/* exchange.c */
/* takes head, borrows budget. NULL: the budget refuses; the caller keeps head */
struct exchange *exchange_alloc(struct relay *r, struct budget *budget, struct http_head *head);
static inline void exchange_bind(struct leg *slot, const struct leg *from)
{
	ensure(slot->ops == NULL);
	slot->ops = from->ops;
	slot->carrier = from->carrier;
	slot->stream = from->stream;
	struct exchange *x = slot->exchange;
	if (slot == &x->up)
		exchange_upload_pay_from(x, from->budget);
	else if (from->budget && from->budget != x->payer.budget)
		exchange_pay_from(x, from->budget);
}
/* subscription.c */
/* Something has come of a subscription's push, or the client has taken something: holds the origin
 * back, or goes on reading from it. */
void subscription_update(struct exchange *push);
static inline void exchange_note_push(struct exchange *x)
{
	if (x->pushed.is_expected)
		subscription_update(x);
}
/* The origin is not held back any more: its clocks begin anew. */
void subscription_release(struct exchange *x);
/* The subscription is over; the push goes on. */
void subscription_ended(struct exchange *push);

/* The leg is gone for the exchange; its carrier may be gone before that. */
static inline void exchange_unbind(struct leg *leg)
{
	struct exchange *x = leg->exchange;
	if (leg == &x->up) {
		exchange_upload_pay_from(x, NULL);
		if (x->pushes.is_held_back)
			subscription_release(x);
	} else
		exchange_pay_from(x, x->relay->budget);
	leg->ops = NULL;
	leg->carrier = NULL;
	leg->stream = NULL;
}
void exchange_reset_leg(struct leg *leg, uint32_t code); /* a missing leg is fine */
/* How it ends; the detail is copied. */
void exchange_note_cause(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail);
/* Cuts both legs, clears, logs, and puts it on the reap list. */
void exchange_finish(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail);
/* Out of the queue in which it waits for an upstream leg, or for the start of a push. */
void exchange_leave_queue(struct exchange *x);

/* deadline.c */
/* Sorts the table by phase. */
void deadlines_init(struct relay *r);
/* Which deadline holds changes as bytes come and go. The timer is not set at each of them, but at
 * the latest this long after them. */
#define LOOK_AGAIN_USEC USEC_PER_SEC
void exchange_look_soon(struct exchange *x);
/* It is not late: sets the timer for the next look. */
void exchange_look_again(struct exchange *x, usec at);
/* A head or bytes came, or a side ended. The timer of an exchange in which nothing moved may be far
 * away; where bytes wait, or the phase has just changed, it is not. */
static inline void exchange_stir(struct exchange *x)
{
	if (x->timing.timer.deadline > x->relay->now + LOOK_AGAIN_USEC)
		exchange_look_soon(x);
}

/* exchange_flow.c */
/* Restarts the clocks of both sides of a flow. */
void flow_begin(struct flow *f, usec now);
/* Restarts the clock of the source alone. */
static inline void flow_begin_source(struct flow *f, usec now)
{
	pace_begin(&f->given, now);
	f->filled = now; /* from where the time is excused in which bytes wait */
}
void flow_drop_trailers(struct exchange *x, struct flow *f);
void exchange_drop_body(struct exchange *x, struct flow *f);
/* Drops the request's body, what has come and what still comes, and gives the stream credit for it. */
void exchange_discard_upload(struct exchange *x);

/* done.c */
/* Ends the exchange if both directions are over. If only the response is, it lingers. */
void exchange_check_done(struct exchange *x);

/* transfer.c */
/* Sends the final head downstream. False: a push must wait for room. Takes head. */
bool exchange_send_final(struct exchange *x, struct http_head *head, bool end);

/* tunnel.c */
/* The origin's final answer to a request for a tunnel, before it goes to the client: opens the tunnel, or not.
 * False: the client would take it for an opening, and it is none. */
bool tunnel_answer(struct exchange *x, struct http_head *head);
/* Once the tunnel is open, little is asked of its request: gives the rest of its memory back. */
void tunnel_compact_request(struct exchange *x);
/* It is open, and the owner has not let the client's first bytes pass yet. */
static inline bool tunnel_is_unchecked(const struct exchange *x)
{
	return x->tunnel.is_checked && x->tunnel.is_open;
}
/* There will be no tunnel: drops what the client sent for it. */
void tunnel_refused(struct exchange *x);
/* It has carried bytes in both directions, and the origin's connection has taken all that the client sent. A side that
 * closes its connection then ends the tunnel in good order (RFC 9110 9.3.6). */
bool tunnel_has_served(const struct exchange *x);
/* Both directions together have carried more than they may. */
bool tunnel_is_too_long(const struct exchange *x);
/* A direction has ended. */
static inline void tunnel_note_end(struct exchange *x, const struct flow *f)
{
	if (!exchange_is_tunnel(x) || x->tunnel.ended > 0)
		return;
	x->tunnel.ended = x->relay->now;
	x->tunnel.client_ended_first = f == &x->upload;
}

/* hint.c */
/* Why the resource cannot be hinted now: too late, hinted already, or too many were. NULL: it can. */
const struct policy_reason *exchange_hint_refusal(
    const struct exchange *x, const struct http_target *target);
void exchange_hint(struct exchange *x, const struct http_resource *resource);
void exchange_send_hints(struct exchange *x);
/* Adds the hints that wait to a 103 that came from the origin. False: none waits. */
bool exchange_join_hints(struct exchange *x, struct http_head *interim);
void exchange_drop_hints(struct exchange *x);

/* retry.c: each returns true if the request has been dispatched again, so that nothing else is to be done */

/* Its upstream leg is gone, or was not there yet. */
bool exchange_retry_failed(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail);
/* A deadline has passed. */
bool exchange_retry_late(struct exchange *x, const struct relay_cause *cause);
/* The origin's final head has come, and has gone nowhere. If it returns true, it has freed the head. */
bool exchange_retry_status(struct exchange *x, struct http_head *head, bool end);

/* outcome.c */
/* The timer's: ends what is late, and sets the timer again. */
void exchange_look(struct wheel_node *node, usec now);
/* The code for the client when the cause ends its stream; `came` is the origin's. */
uint32_t exchange_code_down(
    const struct exchange *x, const struct relay_cause *cause, uint32_t came);

#endif
