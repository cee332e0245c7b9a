/* SPDX-License-Identifier: MIT */
/* Counts the times of an exchange that has ended, in series (observe/series.h). */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/memory.h"
#include <stdlib.h>

/*
 * Of a route: the histograms that its last request was counted in, and what they are of. Most requests of a route came to one
 * listener, and many went to one server: these need not look their histograms up.
 */
struct route_times {
	const struct conf_listen *listen;
	struct histogram *request;
	const struct conf_origin *origin;
	const struct conf_origin_server *server;
	struct histogram *queue, *first_byte;
};

void times_record_open(struct gateway *g)
{
	g->times = memory_zalloc((g->env.conf->route_count + 1) * sizeof(*g->times));
}

void times_record_close(struct gateway *g)
{
	free(g->times);
}

static void count(struct histogram *h, usec span)
{
	if (h)
		histogram_count(h, span);
}

static void count_request(struct gateway *g, const struct exchange *x, size_t route)
{
	struct route_times *r = &g->times[route];
	const struct conf_listen *listen = x->facts.listener;
	if (!r->request || r->listen != listen) {
		r->listen = listen;
		r->request = series_histogram(&g->env.observe->series, SERIES_REQUEST,
		    conf_listen_number(g->env.conf, listen), route);
	}
	count(r->request, g->relay.now - x->timing.started);
}

/* The times of an attempt at an origin. The server is known until upstream_exchange_ended. */
static void count_attempt(struct gateway *g, const struct exchange *x, size_t route)
{
	const struct series_lane *l = &g->env.observe->series;
	struct route_times *r = &g->times[route];
	const struct conf_origin *origin = x->place.origin;
	const struct origin_attempt *attempt = origin_attempt_of(x);
	const struct exchange_timing *t = &x->timing;
	if (!origin || (attempt->hop.connection == 0 && t->queued == 0))
		return;
	const struct conf_origin_server *server = attempt->server ? attempt->server->conf : NULL;
	/* A server for a destination that a request has named may be freed, and its place taken by another such server: both
	 * have no number. */
	if (r->server != server || r->origin != origin)
		*r = (struct route_times){.listen = r->listen,
		    .request = r->request,
		    .origin = origin,
		    .server = server,
		    .queue = series_histogram(l, SERIES_QUEUE, origin->index + 1, 0)};
	if (t->queued == 0 && r->queue)
		r->queue->counts[0]++; /* as most do */
	else
		count(r->queue, t->queued);
	if (!t->answered || !server)
		return;
	if (!r->first_byte)
		r->first_byte = series_histogram(
		    l, SERIES_FIRST_BYTE, origin->index + 1, conf_server_number(origin, server));
	count(r->first_byte, t->answered - t->sent);
}

void times_record_ended(struct gateway *g, const struct exchange *x)
{
	const struct series_lane *l = &g->env.observe->series;
	const struct exchange_timing *t = &x->timing;
	size_t route = conf_route_number(g->env.conf, x->place.route);
	if (exchange_is_push(x)) {
		if (x->pushed.was_promised)
			series_count(l, SERIES_PUSH, route, 0, g->relay.now - t->started);
		return;
	}
	/* A stream of events of an admin listener lasts as long as somebody looks at it. */
	if (!exchange_is_tunnel(x) && x->facts.listener->mode != CONF_MODE_ADMIN)
		count_request(g, x, route);
	if (hold_part(x)->answered_by && t->first_byte)
		series_count(l, SERIES_CLAIM, route, 0, t->first_byte - t->started);
	count_attempt(g, x, route);
}
