/* SPDX-License-Identifier: MIT */
/* See tunnel_quota.h. */
#include "proxy/admission/admission_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/base/rate.h"
#include <string.h>

/* Bytes that pass at once after a pause, as time at the quota's rate. */
#define BURST_NSEC (NSEC_PER_SEC / 4)
/* Credit is given out at most so often, and for so long at a time. */
#define PART_USEC (100 * USEC_PER_MSEC)
/* A tunnel gets at least this much credit at a time, so that many of them are served in turn. */
#define PART_BYTES_LEAST 1024u
/* Quotas without tunnels whose buckets are not full. */
#define RESTING_MOST 1024u
/* A page that opens a WebSocket again and again should not do so at once. */
#define RETRY_AFTER_SECONDS 1u
/* A bucket that another process has overdrawn for longer is not believed. */
#define OVERDRAWN_MOST_NSEC (3600 * NSEC_PER_SEC)

struct tunnel_quota {
	struct tunnel_quotas *all;
	struct map_node node;
	struct list waiting; /* of struct counted_tunnel */
	struct list resting; /* in all->resting, while it has no tunnel */
	struct wheel_node timer;
	uint64_t bytes_per_second; /* 0: it only counts tunnels */
	struct limit_entry *entry; /* in the shared table; NULL: there was no room */
	struct bucket *bucket;     /* of the entry, or its own */
	struct bucket own;
	uint32_t tunnels;
};

/* ---- the bucket ---- */

/* 0: the bucket is not overdrawn. */
static usec wait_of(const struct tunnel_quota *q)
{
	return bucket_wait(q->bucket, 0, BURST_NSEC, q->all->relay->now);
}

/* When the bucket is not overdrawn any more; never sooner than the next part. */
static void set_timer(struct tunnel_quota *q)
{
	struct relay *r = q->all->relay;
	usec wait = wait_of(q);
	wheel_set(&r->wheel, &q->timer, r->now + (wait > PART_USEC ? wait : PART_USEC));
}

/* Takes the bytes from the bucket that have passed since the last time. */
static void charge(struct counted_tunnel *t)
{
	struct tunnel_quota *q = t->rated;
	uint64_t bytes = t->exchange->upload.forwarded + t->exchange->download.forwarded;
	if (q)
		bucket_spend(q->bucket,
		    (bytes - t->charged_bytes) * NSEC_PER_SEC / q->bytes_per_second,
		    q->all->relay->now);
	t->charged_bytes = bytes;
}

/* ---- credit ---- */

/* The bucket's bytes, and those that it gets until the next time. */
static size_t bytes_of_part(const struct tunnel_quota *q)
{
	uint64_t now_nsec = q->all->relay->now * NSEC_PER_USEC;
	uint64_t nsec = now_nsec + BURST_NSEC - q->bucket->full_at_nsec + PART_USEC * NSEC_PER_USEC;
	if (nsec > NSEC_PER_SEC)
		nsec = NSEC_PER_SEC;
	size_t bytes = (size_t)(q->bytes_per_second * (nsec / NSEC_PER_USEC) / USEC_PER_SEC);
	return bytes > PART_BYTES_LEAST ? bytes : PART_BYTES_LEAST;
}

/* Each tunnel that waits gets an equal part for each of its directions, while there is any. */
static void give_out(struct tunnel_quota *q)
{
	size_t left = bytes_of_part(q), count = 0;
	list_for_each(&q->waiting, t, struct counted_tunnel, waiting) count++;
	size_t part = left / (2 * (count > 0 ? count : 1));
	if (part < PART_BYTES_LEAST)
		part = PART_BYTES_LEAST;
	for (; count > 0 && left > 0; count--) {
		struct counted_tunnel *t =
		    container_of(q->waiting.next, struct counted_tunnel, waiting);
		size_t given;
		bool is_owed = exchange_give_credit(t->exchange, part, &given);
		left -= given < left ? given : left;
		list_remove(&t->waiting);
		if (is_owed)
			list_append(&q->waiting, &t->waiting);
	}
}

static void quota_free(struct tunnel_quota *q)
{
	if (list_is_linked(&q->resting)) {
		list_remove(&q->resting);
		q->all->resting_count--;
	}
	wheel_forget(&q->all->relay->wheel, &q->timer);
	map_remove(&q->all->map, &q->node);
	free(q);
}

static void look(struct wheel_node *timer, usec now)
{
	struct tunnel_quota *q = container_of(timer, struct tunnel_quota, timer);
	(void)now;
	if (q->tunnels == 0) {
		quota_free(q);
		return;
	}
	list_for_each(&q->waiting, t, struct counted_tunnel, waiting) charge(t);
	if (wait_of(q) == 0)
		give_out(q);
	if (!list_is_empty(&q->waiting))
		set_timer(q);
}

bool tunnel_quota_waits(void *context, struct exchange *x)
{
	struct counted_tunnel *t = admission_part(x)->tunnel;
	struct tunnel_quota *q = t->rated;
	(void)context;
	charge(t);
	if (list_is_linked(&t->waiting))
		return true;
	if (wait_of(q) == 0)
		return false;
	if (list_is_empty(&q->waiting))
		set_timer(q);
	list_append(&q->waiting, &t->waiting);
	t->has_waited = true;
	return true;
}

/* ---- life ---- */

static struct tunnel_quota *find(const struct tunnel_quotas *quotas, uint64_t key)
{
	struct map_node *n = map_find(&quotas->map, key);
	return n ? container_of(n, struct tunnel_quota, node) : NULL;
}

uint32_t tunnel_quotas_count(const struct tunnel_quotas *quotas, uint64_t key)
{
	const struct tunnel_quota *q = find(quotas, key);
	uint32_t own = q ? q->tunnels : 0;
	uint32_t all = quotas->shared && key != 0 ? limit_table_open(quotas->shared, key) : 0;
	return all > own ? all : own;
}

/* One more tunnel in the shared table. */
static void share(struct tunnel_quota *q, uint64_t key)
{
	struct limit_table *shared = q->all->shared;
	bool was_full;
	if (q->entry)
		limit_entry_add(shared, q->entry);
	if (!shared || q->tunnels > 0)
		return;
	usec now = q->all->relay->now;
	struct limit_entry *e = limit_table_take(shared, key, now, &was_full);
	if (!e)
		return;
	if (e->bucket.full_at_nsec > now * NSEC_PER_USEC + OVERDRAWN_MOST_NSEC)
		e->bucket.full_at_nsec = now * NSEC_PER_USEC + OVERDRAWN_MOST_NSEC;
	q->entry = e;
	q->bucket = &e->bucket;
}

static struct tunnel_quota *join(struct tunnel_quotas *quotas, uint64_t key)
{
	if (key == 0)
		return NULL;
	struct tunnel_quota *q = find(quotas, key);
	if (!q) {
		q = memory_new(struct tunnel_quota);
		q->all = quotas;
		list_init(&q->waiting);
		list_init(&q->resting);
		q->bucket = &q->own;
		wheel_node_init(&q->timer, look);
		map_insert(&quotas->map, &q->node, key);
	}
	if (list_is_linked(&q->resting)) {
		list_remove(&q->resting);
		quotas->resting_count--;
		wheel_set(&quotas->relay->wheel, &q->timer, USEC_NEVER);
	}
	share(q, key);
	q->tunnels++;
	return q;
}

/* Until its bucket is full: a client that opens another tunnel would have a full one at once. */
static void rest(struct tunnel_quota *q)
{
	struct tunnel_quotas *all = q->all;
	list_append(&all->resting, &q->resting);
	wheel_set(
	    &all->relay->wheel, &q->timer, (usec)(q->bucket->full_at_nsec / NSEC_PER_USEC) + 1);
	if (++all->resting_count > RESTING_MOST)
		quota_free(container_of(all->resting.next, struct tunnel_quota, resting));
}

static void leave(struct tunnel_quota *q)
{
	if (!q)
		return;
	if (q->entry)
		limit_entry_give(q->all->shared, q->entry);
	if (--q->tunnels > 0)
		return;
	/* The shared table remembers its bucket. */
	if (q->entry || bucket_is_full(q->bucket, q->all->relay->now))
		quota_free(q);
	else
		rest(q);
}

void tunnel_quotas_begin(
    struct tunnel_quotas *quotas, struct exchange *x, const struct tunnel_keys *keys)
{
	struct counted_tunnel *t = memory_new(struct counted_tunnel);
	t->exchange = x;
	t->client = join(quotas, keys->client);
	t->user = join(quotas, keys->user);
	list_init(&t->waiting);
	if (keys->bytes_per_second > 0)
		t->rated = t->user ? t->user : t->client;
	if (t->rated)
		t->rated->bytes_per_second = keys->bytes_per_second;
	x->tunnel.is_rated = t->rated != NULL;
	admission_part(x)->tunnel = t;
}

bool tunnel_quotas_end(struct exchange *x)
{
	struct counted_tunnel *t = admission_part(x)->tunnel;
	bool has_waited = t->has_waited;
	charge(t);
	admission_part(x)->tunnel = NULL;
	x->tunnel.is_rated = false;
	list_remove(&t->waiting);
	leave(t->client);
	leave(t->user);
	free(t);
	return has_waited;
}

void tunnel_quotas_init(struct tunnel_quotas *quotas, struct relay *relay)
{
	*quotas = (struct tunnel_quotas){.relay = relay};
	map_init(&quotas->map);
	list_init(&quotas->resting);
}

void tunnel_quotas_fini(struct tunnel_quotas *quotas)
{
	list_for_each(&quotas->resting, q, struct tunnel_quota, resting) quota_free(q);
	ensure(quotas->map.count == 0);
	map_fini(&quotas->map);
}

/* ---- a request for a tunnel ---- */

enum subscriber_kind { SUBSCRIBER_CLIENT = 1, SUBSCRIBER_USER = 2 };

/* Each route counts by itself, and clients apart from users. */
static uint64_t seed_of(
    const struct admission *a, const struct conf_route *route, enum subscriber_kind kind)
{
	return hash_bytes(a->seed ^ kind, route->name, strlen(route->name));
}

static uint64_t client_key(const struct admission *a, const struct exchange *x)
{
	if (x->facts.client.family == 0) /* a unix socket */
		return 0;
	return subscriber_key_of_client(
	    seed_of(a, x->place.route, SUBSCRIBER_CLIENT), &x->facts.client);
}

static uint64_t user_key(const struct admission *a, const struct exchange *x)
{
	const struct exchange_user *user = x->facts.user;
	if (!user)
		return 0;
	return subscriber_key_of_text(
	    seed_of(a, x->place.route, SUBSCRIBER_USER), slice_of(user->name, user->length));
}

static bool is_too_many(const struct admission *a, uint64_t key, uint32_t most)
{
	return most > 0 && key != 0 && tunnel_quotas_count(&a->quotas, key) >= most;
}

RARE bool tunnel_quotas_admit(struct admission *a, struct exchange *x)
{
	const struct conf_route *route = x->place.route;
	const struct tunnel_keys keys = {.client = client_key(a, x),
	    .user = user_key(a, x),
	    .bytes_per_second = route->tunnel_rate};
	const struct relay_cause *refusal = NULL;
	if (is_too_many(a, keys.user, route->max_tunnels_per_user))
		refusal = &relay_cause_TUNNELS_USER;
	else if (is_too_many(a, keys.client, route->max_tunnels_per_client))
		refusal = &relay_cause_TUNNELS_CLIENT;
	if (refusal) {
		admission_part(x)->retry_after = RETRY_AFTER_SECONDS;
		exchange_refuse(x, refusal, NULL);
		return false;
	}
	tunnel_quotas_begin(&a->quotas, x, &keys);
	return true;
}
