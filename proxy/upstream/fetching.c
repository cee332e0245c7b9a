/* SPDX-License-Identifier: MIT */
/*
 * Whether something may be fetched from an origin (origin/fetches.c), and how much of it was in vain: fetch-budget. The
 * content-length of each fetch is counted when its head comes, and taken back when a request claims the response, which
 * then costs the origin what the request would have cost. At its end a fetch that nothing has claimed counts with the
 * bytes that came.
 */
#include "proxy/upstream/destination.h"

#define MINUTE_USEC (60 * USEC_PER_SEC)
/* Larger responses count as this one, which fills a bucket many times over. */
#define BYTES_COUNTED (UINT64_C(1) << 36)
/* That the origin was asked in vain counts as so many: else a client that leaves each page at once, before any byte has
 * come, could have resources asked for without end. */
#define ASKED_BYTES 1024u

/* The bucket is full of time: a minute of it is a whole budget. */
static uint64_t nsec_of(const struct conf_origin *o, uint64_t bytes)
{
	bytes = bytes < BYTES_COUNTED ? bytes : BYTES_COUNTED;
	return bytes * MINUTE_USEC / o->fetch_budget_bytes * NSEC_PER_USEC;
}

static struct destination *configured(const struct upstream *u, const struct conf_origin *o)
{
	return &u->destinations[o->index];
}

static void spend(const struct upstream *u, const struct conf_origin *o, uint64_t bytes)
{
	if (o->fetch_budget_bytes > 0)
		bucket_spend(&configured(u, o)->fetched, nsec_of(o, bytes), u->env->relay->now);
}

/* A 204, and the second answer to a request that was sent once more, may have no length though one was counted. */
static void pay_back(const struct upstream *u, struct exchange *x)
{
	const struct conf_origin *o = x->place.origin;
	uint64_t length = x->response.length;
	if (attempt_of(x)->at.fetch.is_charged && length != HTTP_LENGTH_UNKNOWN)
		bucket_pay_back(&configured(u, o)->fetched, nsec_of(o, length));
	attempt_of(x)->at.fetch.is_charged = false;
}

/* Clients have the room of each server that a fetch could be given to. */
static bool is_crowded(const struct destination *d)
{
	list_for_each(&d->servers, s, struct server, link)
	{
		bool is_in_use = server_may_be_chosen(s) && balance_prefers(&s->member);
		if (is_in_use && !origin_fetch_is_crowded(&s->at))
			return false;
	}
	return !list_is_empty(&d->servers);
}

const struct policy_reason *upstream_fetch_refusal(
    const struct upstream *u, const struct conf_origin *o)
{
	const struct destination *d = configured(u, o);
	usec now = u->env->relay->now;
	if (o->fetch_share == 0 || is_crowded(d))
		return &policy_reason_FETCH_SHARE;
	if (o->fetch_budget_bytes > 0 &&
	    bucket_wait(&d->fetched, 1, MINUTE_USEC * NSEC_PER_USEC, now) > 0)
		return &policy_reason_FETCH_BUDGET;
	return NULL;
}

void fetching_waits(struct destination *d, struct exchange *x)
{
	if (!origin_is_fetch(x))
		return;
	attempt_of(x)->at.fetch.state = ORIGIN_FETCH_NAMELESS;
	d->origin.fetches_queued++;
}

void fetching_waits_not(struct destination *d, struct exchange *x)
{
	if (attempt_of(x)->at.fetch.state != ORIGIN_FETCH_NAMELESS)
		return;
	attempt_of(x)->at.fetch.state = ORIGIN_FETCH_NONE;
	d->origin.fetches_queued--;
}

void fetching_began(struct origin_server *at, struct exchange *x, uint64_t length)
{
	const struct conf_origin *o = x->place.origin;
	if (o->fetch_budget_bytes == 0 || length == HTTP_LENGTH_UNKNOWN)
		return;
	attempt_of(x)->at.fetch.is_charged = true;
	spend(server_above(at)->destination->upstream, o, length);
}

void upstream_fetch_claimed(
    struct upstream *u, struct exchange *push, struct http_priority priority)
{
	pay_back(u, push);
	fetching_waits_not(attempt_of(push)->destination, push);
	origin_fetch_claimed(push, priority);
}

void fetching_ended(struct exchange *x)
{
	const struct destination *d = attempt_of(x)->destination;
	if (x->pushed.source == POLICY_RELAYED || x->pushed.was_promised || !d)
		return;
	const struct upstream *u = d->upstream;
	bool was_charged = attempt_of(x)->at.fetch.is_charged;
	pay_back(u, x);
	bool is_in_vain = x->pushed.state != PUSH_CLAIMED;
	uint64_t asked = is_in_vain && x->timing.sent > 0 ? ASKED_BYTES : 0;
	if (was_charged || is_in_vain)
		spend(u, x->place.origin, x->download.received + asked);
}
