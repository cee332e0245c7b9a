/* SPDX-License-Identifier: MIT */
/* Writes this worker's open connections for the pages of admin listeners, each second while somebody looks at them. */
#include "proxy/gateway/gateway_private.h"

static void write_rows(struct gateway *g)
{
	struct connection_list *l = connection_lane_begin(g->shown.lane);
	const struct observe_counters *counters = g->env.observe->counters;
	uint64_t all = counters->connections_open + counters->upstream_connections_open;
	size_t count = clients_list(&g->clients, l->rows, CONNECTION_ROWS);
	count += origins_list(&g->upstream.origins, l->rows + count, CONNECTION_ROWS);
	l->count = (uint32_t)count;
	l->left_out = all > count ? (uint32_t)(all - count) : 0;
	connection_lane_done(g->shown.lane, g->relay.now);
}

static void expired(struct wheel_node *node, usec now)
{
	struct gateway *g = container_of(node, struct gateway, shown.timer);
	if (connection_lane_is_wanted(g->shown.lane, now))
		write_rows(g);
	wheel_set(&g->relay.wheel, node, now + USEC_PER_SEC);
}

void connection_records_open(struct gateway *g, struct connection_lane *lane)
{
	wheel_node_init(&g->shown.timer, expired);
	g->shown.lane = lane;
	if (lane)
		wheel_set(&g->relay.wheel, &g->shown.timer, g->relay.now + USEC_PER_SEC);
}

void connection_records_close(struct gateway *g)
{
	wheel_forget(&g->relay.wheel, &g->shown.timer);
}
