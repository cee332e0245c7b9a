/* SPDX-License-Identifier: MIT */
/*
 * The graceful end of a worker: stops accepting, sends GOAWAY to the clients, lets exchanges go on
 * until the deadline (tunnels until theirs), and sends GOAWAY to the origins last.
 */
#include "proxy/gateway/gateway_private.h"

/* Time for the frames sent last: after the deadline the exchanges left are reset or answered 503. */
#define FINAL_FLUSH_USEC USEC_PER_SEC
/* How often the connections of clients are looked at that are closed, and still send or linger. */
#define CLOSING_CHECK_USEC (20 * USEC_PER_MSEC)

/* A push of a subscription goes on with it. */
static bool is_long(const struct exchange *x)
{
	const struct exchange *parent = x->pushed.parent;
	return exchange_is_tunnel(x) || x->pushes.is_subscription ||
	       (parent && parent->pushes.is_subscription);
}

/* Ends all exchanges but tunnels and subscriptions that may go on. Returns false if there are none of these. */
static bool end_short(struct gateway *g, usec now)
{
	bool spares = false;
	if (g->drain.spares_until <= now)
		return false;
	list_for_each(&g->relay.live, x, struct exchange, link)
	{
		if (is_long(x))
			spares = true;
		else
			exchange_abort(x, &relay_cause_DRAINED, NULL);
	}
	return spares;
}

static void expired(struct wheel_node *node, usec now)
{
	struct gateway *g = container_of(node, struct gateway, drain.timer);
	if (!g->drain.is_late && end_short(g, now)) {
		wheel_set(&g->relay.wheel, node, g->drain.spares_until);
		worker_schedule_drain_check(&g->env);
		return;
	}
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

static void tunnels_expired(struct wheel_node *node, usec now)
{
	struct gateway *g = container_of(node, struct gateway, drain.tunnel_timer);
	(void)now;
	list_for_each(&g->relay.live, x, struct exchange, link)
	{
		bool is_refused = !exchange_is_tunnel(x) && exchange_has_begun(x);
		if (x->tunnel.is_asked && !is_refused)
			exchange_abort(x, &relay_cause_DRAINED, NULL);
	}
	worker_schedule_drain_check(&g->env);
}

void drain_open(struct gateway *g)
{
	wheel_node_init(&g->drain.timer, expired);
	wheel_node_init(&g->drain.tunnel_timer, tunnels_expired);
}

void gateway_spare_long(struct gateway *g)
{
	usec limit = g->env.conf->server.tunnel_drain_timeout;
	g->drain.spares_until = limit ? clock_after(worker_now(&g->env), limit) : 0;
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
	admin_drain(g->admin);
	wheel_set(&g->relay.wheel, &g->drain.timer, deadline);
	wheel_set(&g->relay.wheel, &g->drain.tunnel_timer,
	    clock_after(g->relay.now, g->env.conf->server.tunnel_drain_timeout));
	gateway_set_timer(g);
	drain_check(g);
}

/* The last bytes of a response may still be on their way: the end of the process would reset their connection. No tunnel
 * is left, so its timer is free. */
static bool waits_for_clients(struct gateway *g)
{
	if (g->drain.is_closing_origins || g->drain.is_late || !net_is_closing(g->env.loop))
		return false;
	wheel_set(&g->relay.wheel, &g->drain.tunnel_timer,
	    clock_after(worker_now(&g->env), CLOSING_CHECK_USEC));
	gateway_set_timer(g);
	return true;
}

/* The last exchange is over: sends GOAWAY to the origins, and gives it time to arrive. */
static void close_origins(struct gateway *g)
{
	g->drain.is_closing_origins = true;
	origins_shutdown(&g->upstream.origins);
	wheel_set(&g->relay.wheel, &g->drain.timer, worker_now(&g->env) + FINAL_FLUSH_USEC);
	gateway_set_timer(g);
}

void drain_check(struct gateway *g)
{
	struct drain *d = &g->drain;
	if (!g->env.is_draining || d->is_over || !clients_are_gone(&g->clients) ||
	    g->relay.live_count > 0 || waits_for_clients(g))
		return;
	if (!d->is_closing_origins)
		close_origins(g);
	if (!origins_are_idle(&g->upstream.origins) && !d->is_late)
		return;
	d->is_over = true;
	g->env.is_draining = false; /* no further drain check is needed */
	upstream_close(&g->upstream);
	d->drained(d->context);
}
