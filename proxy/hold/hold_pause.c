/* SPDX-License-Identifier: MIT */
/*
 * Resources that are not held for a while, because their held responses could not answer requests:
 *
 *   a miss ──(the next one, for the same cause)──▶ paused for a minute ──(one more)──▶ paused for twice as long …
 *   a claim, or nothing for some minutes ──▶ forgotten
 *
 * A resource that one client alone has missed pauses for that client alone: it may have caused the misses. The
 * table has SETS sets of WAYS entries; a new entry replaces the one of its set that missed longest ago.
 */
#include "proxy/hold/held.h"

#include "proxy/base/memory.h"
#include "proxy/base/subscriber.h"

#define SETS 256u
#define WAYS 4u

#define PAUSE_USEC (60 * USEC_PER_SEC)
#define PAUSE_MOST_USEC (3600 * USEC_PER_SEC)
/* A miss counts for so long after it, or after the pause that it began. */
#define REMEMBERED_USEC (600 * USEC_PER_SEC)

struct pause {
	uint64_t uri;    /* hold_uri_hash; 0: a free entry */
	uint64_t client; /* of all misses, if they are of one */
	usec since;      /* the last miss */
	usec until;      /* the pause; 0: none yet */
	usec span;
	enum hold_miss miss;
	bool is_for_all; /* misses of several clients */
};

struct hold_pauses {
	struct pause entries[SETS * WAYS];
};

/* The other causes are in the request or in our own state, and say little of the next request. */
static bool is_of_the_resource(enum hold_miss miss)
{
	const unsigned of_the_resource = 1u << HOLD_MISS_VARY | 1u << HOLD_MISS_COOKIE |
					 1u << HOLD_MISS_AUTHORIZATION | 1u << HOLD_MISS_ROUTE |
					 1u << HOLD_MISS_NOT_FRESH | 1u << HOLD_MISS_RANGE;
	return of_the_resource >> miss & 1;
}

static uint64_t uri_of(const struct hold *hold, const struct http_head *request)
{
	return hold_request_hash(hold, request) | 1; /* 0 is no URI */
}

static uint64_t client_of(const struct hold *hold, const struct exchange *x)
{
	return subscriber_key_of_client(hold->seed, &x->facts.client);
}

static struct pause *set_of(const struct hold *hold, uint64_t uri)
{
	return &hold->pauses->entries[uri / 2 % SETS * WAYS];
}

static struct pause *find(const struct hold *hold, uint64_t uri)
{
	struct pause *set = set_of(hold, uri);
	for (unsigned i = 0; i < WAYS; i++)
		if (set[i].uri == uri)
			return &set[i];
	return NULL;
}

/* The entry of the URI; else the one to be replaced by it. */
static struct pause *place_for(const struct hold *hold, uint64_t uri)
{
	struct pause *found = find(hold, uri), *set = set_of(hold, uri);
	struct pause *oldest = &set[0];
	for (unsigned i = 1; i < WAYS; i++)
		if (set[i].since < oldest->since)
			oldest = &set[i];
	return found ? found : oldest;
}

static bool has_table(struct hold *hold)
{
	if (hold->pauses || !budget_take(hold->relay->budget, sizeof(*hold->pauses)))
		return hold->pauses != NULL;
	hold->pauses = memory_zalloc(sizeof(*hold->pauses));
	return true;
}

/* Is it one more miss of the same resource for the same cause? */
static bool continues(const struct pause *p, uint64_t uri, enum hold_miss miss, usec now)
{
	usec last = p->until > p->since ? p->until : p->since;
	return p->uri == uri && p->miss == miss && now < clock_after(last, REMEMBERED_USEC);
}

void hold_pause_missed(
    struct hold *hold, const struct exchange *push, const struct exchange *x, enum hold_miss miss)
{
	usec now = hold->relay->now;
	if (!is_of_the_resource(miss) || !has_table(hold))
		return;
	uint64_t uri = uri_of(hold, push->request), client = client_of(hold, x);
	struct pause *p = place_for(hold, uri);
	if (!continues(p, uri, miss, now)) {
		*p = (struct pause){.uri = uri, .client = client, .since = now, .miss = miss};
		return;
	}
	p->since = now;
	p->is_for_all = p->is_for_all || p->client != client;
	if (now < p->until) /* it was held before the pause */
		return;
	usec span = p->span ? 2 * p->span : PAUSE_USEC;
	p->span = span < PAUSE_MOST_USEC ? span : PAUSE_MOST_USEC;
	p->until = clock_after(now, p->span);
}

void hold_pause_claimed(struct hold *hold, const struct exchange *push)
{
	struct pause *p = find(hold, uri_of(hold, push->request));
	if (p)
		*p = (struct pause){0};
}

bool hold_is_paused(
    const struct hold *hold, const struct exchange *parent, const struct http_head *promised)
{
	const struct pause *p = find(hold, uri_of(hold, promised));
	return p && hold->relay->now < p->until &&
	       (p->is_for_all || p->client == client_of(hold, parent));
}

void hold_pauses_fini(struct hold *hold)
{
	if (!hold->pauses)
		return;
	budget_give(hold->relay->budget, sizeof(*hold->pauses));
	free(hold->pauses);
	hold->pauses = NULL;
}
