/* SPDX-License-Identifier: MIT */
/*
 * Whether a request that failed is sent again, as far as its route and its origin say (relay/retry.c says
 * whether it can be). What no server has processed goes on to the next server until none is left. What a
 * server may have processed is bounded: by the route for each request, and for all of an origin's requests by
 * its retry-budget.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/memory.h"

#include <stdlib.h>

void retries_open(struct gateway *g)
{
	size_t count = g->env.conf->origin_count;
	g->retry_budgets = memory_zalloc((count + 1) * sizeof(*g->retry_budgets));
	for (size_t i = 0; i < count; i++)
		g->retry_budgets[i].at = g->relay.now;
}

void retries_close(struct gateway *g)
{
	free(g->retry_budgets);
}

static bool is_wanted(const struct conf_retry_on *on, enum relay_retry why, uint16_t status)
{
	switch (why) {
	case RELAY_IF_LOST:
		return on->lost;
	case RELAY_IF_LATE:
		return on->late;
	case RELAY_IF_STATUS:
		return status >= 500 && status <= 599 && on->statuses[status - 500];
	case RELAY_NEVER:
	case RELAY_AGAIN:
	case RELAY_RETRY_COUNT:
		break;
	}
	return false;
}

/* A server may have processed it. */
static bool is_repeated(struct gateway *g, struct exchange *x, const struct relay_failure *failure)
{
	const struct conf_route *route = x->place.route;
	if (!is_wanted(&route->retry_on, failure->why, failure->status) ||
	    x->repeats >= route->retries || !upstream_has_other_server(x))
		return false;
	if (!retry_budget_take(
		gateway_retry_budget(g, x), x->place.origin->retry_budget, g->relay.now)) {
		WORKER_COUNT(&g->env, retries_over_budget, 1);
		return false;
	}
	x->repeats++;
	return true;
}

static void count(struct observe_counters *c, enum relay_retry why)
{
	c->retries_unprocessed += why == RELAY_AGAIN;
	c->retries_lost += why == RELAY_IF_LOST;
	c->retries_late += why == RELAY_IF_LATE;
	c->retries_status += why == RELAY_IF_STATUS;
}

static bool is_next(struct gateway *g, struct exchange *x, const struct relay_failure *failure)
{
	if (failure->why == RELAY_AGAIN)
		return exchange_was_retried(x) ? upstream_has_other_server(x)
					       : upstream_may_try_again(x);
	return is_repeated(g, x, failure);
}

bool gateway_retries(void *context, struct exchange *x, const struct relay_failure *failure)
{
	struct gateway *g = context;
	if (!is_next(g, x, failure))
		return false;
	count(g->env.observe->counters, failure->why);
	upstream_note_failure(x, failure);
	return true;
}
