/* SPDX-License-Identifier: MIT */
/*
 * Which budget an exchange is charged to. The client connection pays for the exchange itself, its
 * heads, and the bytes that wait for the client; the origin connection for the bytes of the request
 * that wait for the origin; the hold store for a push that is held. An exchange that outlives its
 * client connection is charged to the worker.
 */
#include "proxy/relay/relay_private.h"

static size_t heads_bytes(const struct exchange *x)
{
	return http_head_bytes(x->request) + http_head_bytes(x->response.pending) +
	       http_head_bytes(x->upload.trailers) + http_head_bytes(x->download.trailers);
}

void exchange_charge(struct exchange *x)
{
	budget_adjust(x->payer.budget, &x->payer.charge, EXCHANGE_BYTES + heads_bytes(x));
}

const char *exchange_keep_text(struct exchange *x, const char *text)
{
	if (!text)
		return NULL;
	const char *kept = arena_printf(exchange_arena(x), "%s", text).ptr;
	exchange_charge(x);
	return kept;
}

struct budget *flow_budget(const struct exchange *x, const struct flow *f)
{
	return f == &x->upload && x->up.budget ? x->up.budget : x->payer.budget;
}

void exchange_pay_from(struct exchange *x, struct budget *budget)
{
	if (x->payer.budget == budget)
		return;
	budget_give(x->payer.budget, x->payer.charge);
	budget_force(budget, x->payer.charge);
	if (x->download.body.bytes > 0)
		body_move_charge(&x->download.body, x->payer.budget, budget);
	if (!x->up.budget && x->upload.body.bytes > 0)
		body_move_charge(&x->upload.body, x->payer.budget, budget);
	x->payer.budget = budget;
}

void exchange_move_upload(struct exchange *x, struct budget *budget)
{
	body_move_charge(
	    &x->upload.body, flow_budget(x, &x->upload), budget ? budget : x->payer.budget);
}

bool flow_is_short(const struct exchange *x, const struct flow *f)
{
	return budget_room(flow_budget(x, f)) == 0;
}

/* How many bytes one direction may keep once a budget is used up. Before that the stream's window
 * bounds it. */
#define KEPT_WHEN_SHORT_BYTES 16384u

/* When a connection's budget is used up, bytes for which it has given credit may still come. At twice
 * the limit the exchange is ended. */
static bool is_overdrawn(const struct budget *b)
{
	return b->used_bytes / 2 > b->limit_bytes;
}

bool flow_is_too_much(const struct exchange *x, const struct flow *f)
{
	/* A push may keep nothing. A request may keep nothing when the worker is far over its limit.
	 * Responses may keep a little: reading from origins is then held back elsewhere. */
	bool must_go =
	    exchange_is_push(x) || (f == &x->upload && budget_is_far_overdrawn(x->relay->budget));
	size_t most = must_go ? 0 : KEPT_WHEN_SHORT_BYTES;
	return f->body.bytes > most &&
	       (budget_room(x->relay->budget) == 0 || is_overdrawn(flow_budget(x, f)));
}
