/* SPDX-License-Identifier: MIT */
/* See tunnel_owner.h. */
#include "proxy/relay/relay_private.h"

#include "proxy/base/memory.h"

#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_SEC (NSEC_PER_USEC * USEC_PER_SEC)
/* What passes at once after a pause, as time at the owner's rate. */
#define BURST_NSEC (NSEC_PER_SEC / 4)
/* Credit is given out at most so often, and for so long at a time. */
#define PART_USEC (100 * USEC_PER_MSEC)
/* A tunnel gets at least this much credit at a time, so that many of them are served in turn. */
#define PART_BYTES_LEAST 1024u
/* Owners without tunnels whose buckets are not full. */
#define RESTING_MOST 1024u

struct tunnel_owner {
	struct relay *relay;
	struct map_node node;
	struct list waiting; /* of struct tunnel_share */
	struct list resting; /* in owners->resting, while it has no tunnel */
	struct wheel_node timer;
	uint64_t bytes_per_second; /* 0: it is only counted */
	uint64_t full_at_nsec;     /* when its bucket is full again */
	uint32_t tunnels;
};

/* ---- the bucket ---- */

static uint64_t now_nsec(const struct tunnel_owner *o)
{
	return (uint64_t)o->relay->now * NSEC_PER_USEC;
}

static uint64_t nsec_of(const struct tunnel_owner *o, size_t bytes)
{
	return (uint64_t)bytes * NSEC_PER_SEC / o->bytes_per_second;
}

static bool is_overdrawn(const struct tunnel_owner *o)
{
	return o->full_at_nsec > now_nsec(o) + BURST_NSEC;
}

/* When it will not be any more; never sooner than the next part. */
static void set_timer(struct tunnel_owner *o)
{
	usec next = o->relay->now + PART_USEC;
	usec at = (usec)((o->full_at_nsec - BURST_NSEC) / NSEC_PER_USEC) + 1;
	wheel_set(&o->relay->wheel, &o->timer, is_overdrawn(o) && at > next ? at : next);
}

/* ---- credit ---- */

static bool is_owed(const struct flow *f)
{
	/* uncovered: a direction that has not ended has the leg that it comes from */
	return f->owed > 0 && !f->source_ended && f->source->ops;
}

/* Gives the source at most `most` bytes of credit. Returns how much. */
static size_t give(struct exchange *x, struct flow *f, size_t most)
{
	size_t n = f->owed < most ? f->owed : most;
	bool is_kept = f->body.bytes > 0 && flow_is_short(x, f); /* transfer.c gives it */
	if (is_kept || !is_owed(f))
		return 0;
	f->owed -= n;
	f->source->ops->credit(f->source, n);
	return n;
}

/* What the bucket has, and what it gets until the next time. */
static size_t bytes_of_part(const struct tunnel_owner *o)
{
	uint64_t nsec = now_nsec(o) + BURST_NSEC - o->full_at_nsec + PART_USEC * NSEC_PER_USEC;
	if (nsec > NSEC_PER_SEC)
		nsec = NSEC_PER_SEC;
	size_t bytes = (size_t)(o->bytes_per_second * (nsec / NSEC_PER_USEC) / USEC_PER_SEC);
	return bytes > PART_BYTES_LEAST ? bytes : PART_BYTES_LEAST;
}

/* Each tunnel that waits gets an equal part for each of its directions, while there is any. */
static void give_out(struct tunnel_owner *o)
{
	size_t left = bytes_of_part(o), count = 0;
	list_for_each(&o->waiting, s, struct tunnel_share, waiting) count++;
	size_t part = left / (2 * (count > 0 ? count : 1));
	if (part < PART_BYTES_LEAST)
		part = PART_BYTES_LEAST;
	for (; count > 0 && left > 0; count--) {
		struct tunnel_share *s =
		    container_of(o->waiting.next, struct tunnel_share, waiting);
		struct exchange *x = s->exchange;
		size_t given = give(x, &x->upload, part) + give(x, &x->download, part);
		left -= given < left ? given : left;
		list_remove(&s->waiting);
		if (is_owed(&x->upload) || is_owed(&x->download))
			list_append(&o->waiting, &s->waiting);
	}
}

static void owner_free(struct tunnel_owner *o)
{
	struct tunnel_owners *owners = &o->relay->tunnel_owners;
	if (list_is_linked(&o->resting)) {
		list_remove(&o->resting);
		owners->resting_count--;
	}
	wheel_forget(&o->relay->wheel, &o->timer);
	map_remove(&owners->map, &o->node);
	free(o);
}

static void look(struct wheel_node *timer, usec now)
{
	struct tunnel_owner *o = container_of(timer, struct tunnel_owner, timer);
	(void)now;
	if (o->tunnels == 0) {
		owner_free(o);
		return;
	}
	if (!is_overdrawn(o))
		give_out(o);
	if (!list_is_empty(&o->waiting))
		set_timer(o);
}

void tunnel_share_charge(struct tunnel_share *share, size_t n)
{
	struct tunnel_owner *o = share->rated;
	if (!o)
		return;
	uint64_t now = now_nsec(o);
	o->full_at_nsec = (o->full_at_nsec > now ? o->full_at_nsec : now) + nsec_of(o, n);
}

bool tunnel_share_waits(struct tunnel_share *share)
{
	struct tunnel_owner *o = share->rated;
	if (!o)
		return false;
	if (list_is_linked(&share->waiting))
		return true;
	if (!is_overdrawn(o))
		return false;
	if (list_is_empty(&o->waiting))
		set_timer(o);
	list_append(&o->waiting, &share->waiting);
	share->has_waited = true;
	return true;
}

/* ---- life ---- */

static struct tunnel_owner *find(const struct relay *r, uint64_t key)
{
	struct map_node *n = map_find(&r->tunnel_owners.map, key);
	return n ? container_of(n, struct tunnel_owner, node) : NULL;
}

uint32_t tunnel_owner_count(const struct relay *r, uint64_t key)
{
	const struct tunnel_owner *o = find(r, key);
	return o ? o->tunnels : 0;
}

static struct tunnel_owner *join(struct relay *r, uint64_t key)
{
	struct tunnel_owner *o = key == 0 ? NULL : find(r, key);
	if (key == 0)
		return NULL;
	if (!o) {
		o = memory_new(struct tunnel_owner);
		o->relay = r;
		list_init(&o->waiting);
		list_init(&o->resting);
		wheel_node_init(&o->timer, look);
		map_insert(&r->tunnel_owners.map, &o->node, key);
	}
	if (list_is_linked(&o->resting)) {
		list_remove(&o->resting);
		r->tunnel_owners.resting_count--;
		wheel_set(&r->wheel, &o->timer, USEC_NEVER);
	}
	o->tunnels++;
	return o;
}

/* Until its bucket is full: a client that opens another tunnel would have a full one at once. */
static void rest(struct tunnel_owner *o)
{
	struct tunnel_owners *owners = &o->relay->tunnel_owners;
	list_append(&owners->resting, &o->resting);
	wheel_set(&o->relay->wheel, &o->timer, (usec)(o->full_at_nsec / NSEC_PER_USEC) + 1);
	if (++owners->resting_count > RESTING_MOST)
		owner_free(container_of(owners->resting.next, struct tunnel_owner, resting));
}

static void leave(struct tunnel_owner *o)
{
	if (!o || --o->tunnels > 0)
		return;
	if (o->full_at_nsec > now_nsec(o))
		rest(o);
	else
		owner_free(o);
}

void tunnel_share_begin(struct exchange *x, const struct tunnel_keys *keys)
{
	struct tunnel_share *s = memory_new(struct tunnel_share);
	*s = (struct tunnel_share){.exchange = x,
	    .client = join(x->relay, keys->client),
	    .user = join(x->relay, keys->user)};
	list_init(&s->waiting);
	if (keys->bytes_per_second > 0)
		s->rated = s->user ? s->user : s->client;
	if (s->rated)
		s->rated->bytes_per_second = keys->bytes_per_second;
	x->tunnel.share = s;
}

void tunnel_share_end(struct exchange *x)
{
	struct tunnel_share *s = x->tunnel.share;
	x->tunnel.share = NULL;
	list_remove(&s->waiting);
	leave(s->client);
	leave(s->user);
	free(s);
}

void tunnel_owners_init(struct tunnel_owners *owners)
{
	map_init(&owners->map);
	list_init(&owners->resting);
}

void tunnel_owners_fini(struct relay *r)
{
	struct tunnel_owners *owners = &r->tunnel_owners;
	list_for_each(&owners->resting, o, struct tunnel_owner, resting) owner_free(o);
	ensure(owners->map.count == 0);
	map_fini(&owners->map);
}
