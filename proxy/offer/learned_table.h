/* SPDX-License-Identifier: MIT */
/*
 * Private to offer/: the tables behind what is learned.
 *
 *     table ─┬─ pages ──── resources           what belongs to a page, as counted
 *            └─ clients ── views ──→ page      who is looking at what now; a view dies when it is counted
 *
 * learned_table.c makes, finds and forgets them; learned.c says what a request means;
 * learned_count.c counts a view that is over; learned_cache.c knows what a client has;
 * learned_list.c tells what is proposed; learned_store.c saves and loads.
 */
#ifndef PUSHGATE_OFFER_LEARNED_TABLE_H
#define PUSHGATE_OFFER_LEARNED_TABLE_H

#include "proxy/base/list.h"
#include "proxy/base/map.h"
#include "proxy/offer/learned.h"

enum {
	CLIENT_VIEWS = 8,  /* open at once for one client: tabs that load at the same time */
	CACHE_MARKS = 128, /* resources that a client is remembered to have, the newest */
	VIEW_NEW = 32,     /* resources that one view may add to a page */
	WEIGHT_MOST = 200, /* views that a figure is made of at most: newer ones replace older */
	SUPPORT_LIVES = 4, /* half-lives after which a supporter does not count any more */
};

struct offer_learned_vote {
	uint64_t client;
	usec at; /* 0 = none */
};

struct offer_learned_resource {
	char *path;
	size_t path_len;
	double hits, views;
	bool stands; /* was proposed when it was last counted */
	struct offer_learned_vote supporters[OFFER_LEARNED_SUPPORTERS];
	uint32_t earlier; /* supporters of an earlier process: that many at least */
	uint32_t proposed, came_true, offered, taken, refused;
};

struct offer_learned_page {
	struct map_node node;
	struct list by_use;  /* in table.candidates or table.established */
	struct list views;   /* open ones */
	bool is_established; /* enough distinct clients have looked at it */
	usec decayed_at;     /* when the figures were last brought up to date */
	uint32_t voter_at;   /* ring */
	struct offer_learned_vote voters[OFFER_LEARNED_VOTERS];
	uint64_t used; /* bit i: resources[i] is there */
	struct offer_learned_resource *resources[OFFER_LEARNED_RESOURCES];
	size_t authority_len, path_len;
	char name[]; /* authority in lower case, path without query */
};

struct offer_learned_cache {
	uint32_t at;                 /* ring */
	uint32_t marks[CACHE_MARKS]; /* of resources; 0 = none */
	uint32_t since[CACHE_MARKS]; /* seconds */
};

struct offer_learned_client {
	struct map_node node;
	struct list by_use;
	struct list views; /* newest first */
	uint32_t view_count;
	struct offer_learned_cache cache;
};

struct offer_learned_view {
	struct list by_time, of_client, of_page;
	struct offer_learned_client *client;
	struct offer_learned_page *page;
	usec begun;
	bool counts; /* its client had a vote left when it began */
	uint32_t added;
	uint64_t asked, taken; /* bit i: of page->resources[i] */
	uint64_t excused;      /* had it, or was offered it: no miss */
};

struct offer_learned {
	struct offer_learned_options options;
	uint64_t seed;
	struct budget budget;
	struct map pages, clients;
	size_t slots_charged;                /* to the budget's parent */
	struct list established, candidates; /* pages, least recently used first */
	uint32_t established_count;
	struct list clients_by_use;
	struct list views; /* open, oldest first */
	uint32_t view_count, resource_count;
	uint64_t counted, silent, repeated, refused;
};

static inline struct slice page_authority(const struct offer_learned_page *p)
{
	return slice_of(p->name, p->authority_len);
}

static inline struct slice page_path(const struct offer_learned_page *p)
{
	return slice_of(p->name + p->authority_len, p->path_len);
}

static inline struct slice resource_path(const struct offer_learned_resource *r)
{
	return slice_of(r->path, r->path_len);
}

/* An authority and a path that may be learned, in the form that the tables have them. */
struct offer_learned_name {
	char bytes[OFFER_LEARNED_AUTHORITY_BYTES];
	struct slice authority, path;
};
/* False: too long, or of bytes that no URI has. Borrows the path; with is_page without its query. */
bool offer_learned_name_set(
    struct offer_learned_name *name, struct slice authority, struct slice path, bool is_page);

struct offer_learned_page *offer_learned_page_find(
    const struct offer_learned *t, const struct offer_learned_name *name);
/* Finds or makes. NULL: no room. Lately used either way. */
struct offer_learned_page *offer_learned_page_get(
    struct offer_learned *t, const struct offer_learned_name *name, usec now);
void offer_learned_page_free(
    struct offer_learned *t, struct offer_learned_page *p); /* and its open views, uncounted */
/* It has the distinct clients that it needs. */
void offer_learned_page_establish(struct offer_learned *t, struct offer_learned_page *p);
/* Brings the figures to `now`. */
void offer_learned_page_decay(
    const struct offer_learned *t, struct offer_learned_page *p, usec now);
double offer_learned_page_fade(
    const struct offer_learned *t, const struct offer_learned_page *p, usec now);

/* -1: none. */
int offer_learned_resource_find(const struct offer_learned_page *p, struct slice path);
/* Makes one, in the place of one that too few clients asked for if it must be; -1: no room. */
int offer_learned_resource_add(
    struct offer_learned *t, struct offer_learned_page *p, struct slice path, usec now);
void offer_learned_resource_remove(struct offer_learned *t, struct offer_learned_page *p, int i);
uint32_t offer_learned_resource_clients(
    const struct offer_learned *t, const struct offer_learned_resource *r, usec now);
bool offer_learned_resource_has_hits(
    const struct offer_learned *t, const struct offer_learned_resource *r, double fade);
bool offer_learned_resource_is_proposed(
    const struct offer_learned *t, const struct offer_learned_resource *r, double fade, usec now);
/* One of 10000. */
uint32_t offer_learned_resource_confidence(const struct offer_learned_resource *r);

uint64_t offer_learned_client_key(const struct offer_learned *t, struct slice client);
struct offer_learned_client *offer_learned_client_find(const struct offer_learned *t, uint64_t key);
struct offer_learned_client *offer_learned_client_get(struct offer_learned *t, uint64_t key);
void offer_learned_client_free(
    struct offer_learned *t, struct offer_learned_client *c); /* and its open views, uncounted */

struct offer_learned_view *offer_learned_view_new(struct offer_learned *t,
    struct offer_learned_client *c, struct offer_learned_page *p, usec now);
void offer_learned_view_free(struct offer_learned *t, struct offer_learned_view *v);

/* learned_list.c */
struct offer_learned_item offer_learned_item_of(const struct offer_learned *t,
    const struct offer_learned_page *p, const struct offer_learned_resource *r, usec now);

/* learned_count.c */
/* May another view of the page count for this client? */
bool offer_learned_page_has_vote(
    const struct offer_learned *t, const struct offer_learned_page *p, uint64_t client, usec now);
/* Counts a view that is over, and frees it. */
void offer_learned_view_count(struct offer_learned *t, struct offer_learned_view *v, usec now);

/* learned_cache.c */
/* What stands for a resource there; never 0. */
uint32_t offer_learned_mark(
    const struct offer_learned *t, struct slice authority, struct slice path);
uint32_t offer_learned_cache_sec(usec at);
/* Did it come before that second? UINT32_MAX: has it come at all. */
bool offer_learned_cache_has(
    const struct offer_learned_cache *cache, uint32_t mark, uint32_t before);
void offer_learned_cache_note(struct offer_learned_cache *cache, uint32_t mark, usec now);
void offer_learned_cache_forget(
    struct offer_learned_cache *cache, uint32_t before); /* what came by then */

#endif
