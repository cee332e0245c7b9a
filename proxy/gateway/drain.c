/* SPDX-License-Identifier: MIT */
/*
 * The end in good order: no connection is accepted any more, the clients are told, exchanges may go
 * on until the deadline, and last the origins are told.
 */
#include "proxy/gateway/private.h"

/* After the deadline everything left is reset or answered 503; those frames have so long to leave. */
#define FINAL_FLUSH_USEC USEC_PER_SEC

static void expired(struct wheel_node *node, usec now)
{
	struct gateway *g = container_of(node, struct gateway, drain.timer);
	if (!g->drain.is_late) {
		g->drain.is_late = true;
		list_for_each(&g->relay.live, x, struct exchange, link)
		    exchange_abort(x, &relay_cause_DRAINED, NULL);
		wheel_set(&g->relay.wheel, node, now + FINAL_FLUSH_USEC);
		return;
	}
	clients_abort(&g->clients);
	worker_schedule_drain_check(&g->env);
}

void drain_open(struct gateway *g)
{
	wheel_node_init(&g->drain.timer, expired);
}

void gateway_drain(struct gateway *g, usec deadline, void (*drained)(void *context), void *context)
{
	g->env.is_draining = true;
	g->drain.drained = drained;
	g->drain.context = context;
	worker_now(&g->env);
	listeners_stop(g);
	clients_shutdown(&g->clients);
	hold_drain(&g->hold);
	wheel_set(&g->relay.wheel, &g->drain.timer, deadline);
	gateway_set_timer(g);
	drain_check(g);
}

/* No exchange needs the origins any more. They have a moment to take the GOAWAY in. */
static void part(struct gateway *g)
{
	g->drain.is_closing_origins = true;
	upstream_shutdown(&g->upstream);
	wheel_set(&g->relay.wheel, &g->drain.timer, worker_now(&g->env) + FINAL_FLUSH_USEC);
	gateway_set_timer(g);
}

void drain_check(struct gateway *g)
{
	struct drain *d = &g->drain;
	if (!g->env.is_draining || d->is_over || !clients_are_gone(&g->clients) ||
	    g->relay.live_count > 0)
		return;
	if (!d->is_closing_origins)
		part(g);
	if (!upstream_is_empty(&g->upstream) && !d->is_late)
		return;
	d->is_over = true;
	g->env.is_draining = false; /* nothing is left to nudge for */
	upstream_close(&g->upstream);
	gateway_reap(g);
	d->drained(d->context);
}
