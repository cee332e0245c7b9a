/* SPDX-License-Identifier: MIT */
/*
 * Whether a request that failed is sent again, as far as its route and its origin say (relay/retry.c says whether it can
 * be). A request that no server has processed goes on to the next server until none is left (RFC 9113 8.7). One that a
 * server may have processed is bounded: by the route for each request, and for all of an origin's requests by its
 * retry-budget. So is the third try of the only server of an origin.
 */
#include "proxy/upstream/destination.h"

/* ---- another server for a request ---- */

/* except: those that x was given to do not count; NULL: all count. At most `most` are counted. */
static unsigned count_servers(
    const struct destination *d, const struct exchange *except, unsigned most)
{
	unsigned n = 0;
	list_for_each(&d->servers, s, struct server, link)
	{
		bool is_tried = except && destination_was_tried(except, s);
		n += server_may_be_chosen(s) && !is_tried;
		if (n == most)
			break;
	}
	return n;
}

/* Whether a server is left to which x was not given yet. */
static bool has_other_server(const struct exchange *x)
{
	const struct server *last = given_server(x);
	return last && attempt_of(x)->tried_count + 1u < EXCHANGE_SERVERS_MOST &&
	       count_servers(last->destination, x, 1) > 0;
}

static bool is_within_budget(const struct exchange *x)
{
	const struct upstream *u = attempt_of(x)->destination->upstream;
	struct retry_budget *budget = &u->destinations[x->place.origin->index].retry_budget;
	if (retry_budget_take(budget, x->place.origin->retry_budget, u->env->relay->now))
		return true;
	WORKER_COUNT(u->env, retries_over_budget, 1);
	return false;
}

/* ---- whether x is sent again ---- */

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
static bool is_repeated(struct exchange *x, const struct relay_failure *failure)
{
	const struct conf_route *route = x->place.route;
	if (!is_wanted(&route->retry_on, failure->why, failure->status) ||
	    x->repeats >= route->retries || !has_other_server(x) || !is_within_budget(x))
		return false;
	x->repeats++;
	return true;
}

/* A request is given so often to the only server of its origin; twice if a request has named it, since all such
 * destinations share a budget. */
#define LONE_SERVER_TRIES 3u

/* No server has processed it: the next server gets it. If there is one alone, that gets it once more. The connection of
 * that try may end at the same time as the first: one that was sent has another try, if the budget permits. */
static bool is_given_again(const struct exchange *x)
{
	const struct server *last = given_server(x);
	if (!last || has_other_server(x))
		return last != NULL;
	if (count_servers(last->destination, NULL, 2) > 1)
		return false;
	if (!exchange_was_retried(x))
		return true;
	return !last->destination->origin.is_dynamic && x->attempts < LONE_SERVER_TRIES &&
	       !exchange_is_queued(x) && is_within_budget(x);
}

static void count(struct observe_counters *c, enum relay_retry why)
{
	c->retries_unprocessed += why == RELAY_AGAIN;
	c->retries_lost += why == RELAY_IF_LOST;
	c->retries_late += why == RELAY_IF_LATE;
	c->retries_status += why == RELAY_IF_STATUS;
}

void attempt_failed(struct exchange *x, const struct relay_failure *failure)
{
	attempt_of(x)->at.needs_fresh =
	    failure->why == RELAY_AGAIN || failure->why == RELAY_IF_LOST;
	if (failure->why == RELAY_IF_LATE)
		health_report_failure(x, failure->cause);
	if (failure->why == RELAY_IF_LATE || failure->why == RELAY_IF_LOST)
		attempt_note_failure(x, failure->cause, failure->code, failure->detail);
}

bool upstream_may_retry(void *context, struct exchange *x, const struct relay_failure *failure)
{
	(void)context;
	bool is_next = failure->why == RELAY_AGAIN ? is_given_again(x) : is_repeated(x, failure);
	if (!is_next)
		return false;
	count(attempt_of(x)->destination->upstream->env->observe->counters, failure->why);
	attempt_failed(x, failure);
	return true;
}
