/* SPDX-License-Identifier: MIT */
/*
 * Private to offer/: the objects of the learned table.
 *
 *     table ─┬─ pages ──── resources           resources of a page, with their hits and views
 *            └─ clients ── views ──→ page      pages that a client is loading now
 *
 * learned.c           which view a request belongs to
 * learned_count.c     counts a view that is over, and frees it; what a client probably has in its cache
 * learned_table.c     makes, finds and forgets all objects
 * learned_progress.c  reads the proposals; says what is being learned, and what is missing
 * learned_flat.c      pages as bytes, for another process
 * learned_store.c     saves and loads
 */
#ifndef PUSHGATE_OFFER_LEARNED_TABLE_H
#define PUSHGATE_OFFER_LEARNED_TABLE_H

#include "proxy/base/list.h"
#include "proxy/base/map.h"
#include "proxy/offer/learned.h"

enum {
	CLIENT_VIEWS = 8,  /* open at once for one client (tabs) */
	CACHE_MARKS = 128, /* resources remembered for one client, the newest */
	VIEW_NEW = 32,     /* resources that one view may add to a page */
	WEIGHT_MOST = 200, /* most views of a resource: beyond it, hits and views are scaled down */
	SUPPORT_LIVES = 4, /* half-lives for which a supporter counts */
};

struct learned_vote {
	uint64_t client;
	usec at; /* 0 = none */
};

struct learned_resource {
	char *path;
	size_t path_len;
	struct offer_learned_numbers numbers; /* clients: those of an earlier process */
	bool stands;                          /* was proposed when it was last counted */
	struct learned_vote supporters[OFFER_LEARNED_SUPPORTERS];
};

struct learned_page {
	struct map_node node;
	struct list by_use;  /* in table.candidates or table.established */
	struct list views;   /* open ones */
	uint32_t exported;   /* the round of the last offer_learned_export that wrote it */
	bool is_established; /* enough distinct clients have viewed it */
	usec decayed_at;     /* the time that hits and views of all resources are decayed to */
	uint32_t loads;      /* views that counted, in this process */
	uint32_t voter_at;   /* ring */
	struct learned_vote voters[OFFER_LEARNED_VOTERS];
	uint64_t used; /* bit i: resources[i] is there */
	struct learned_resource *resources[OFFER_LEARNED_RESOURCES];
	size_t authority_len, path_len;
	char name[]; /* authority in lower case, path without query */
};

struct learned_cache {
	uint32_t at;                 /* ring */
	uint32_t marks[CACHE_MARKS]; /* of resources; 0 = none */
	uint32_t since[CACHE_MARKS]; /* seconds */
};

struct learned_client {
	struct map_node node;
	struct list by_use;
	struct list views; /* newest first */
	uint32_t view_count;
	struct learned_cache cache;
};

struct learned_view {
	struct list by_time, of_client, of_page;
	struct learned_client *client;
	struct learned_page *page;
	usec begun;
	bool counts; /* it counts: the client was not among the page's voters when it began */
	bool
	    is_unanswered; /* it is not known yet whether there is such a page: the view does not count */
	uint32_t added;
	uint64_t asked, taken; /* bit i: of page->resources[i] */
	uint64_t excused;      /* these are no misses: the client has them, or was offered them */
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
	uint64_t counted, silent, repeated, unanswered, refused;
};

static inline struct slice page_authority(const struct learned_page *p)
{
	return slice_of(p->name, p->authority_len);
}

static inline struct slice page_path(const struct learned_page *p)
{
	return slice_of(p->name + p->authority_len, p->path_len);
}

static inline struct slice resource_path(const struct learned_resource *r)
{
	return slice_of(r->path, r->path_len);
}

/* learned.c */
void learned_set_defaults(struct offer_learned_options *o);

/* An authority and a path in the form that the table has them. */
struct learned_name {
	char bytes[OFFER_LEARNED_AUTHORITY_BYTES];
	struct slice authority, path;
};
/* False: too long, or not of a URI's characters. Borrows the path; is_page: cuts off the query. */
bool learned_name_set(
    struct learned_name *name, struct slice authority, struct slice path, bool is_page);

/* Whether it looks like the path of a style sheet, script, image or font that is the same for everybody. */
bool learned_is_asset(struct slice path);

struct learned_page *learned_page_find(
    const struct offer_learned *t, const struct learned_name *name);
/* Finds or makes it, and marks it as used. NULL: there is no room. */
struct learned_page *learned_page_get(
    struct offer_learned *t, const struct learned_name *name, usec now);
void learned_page_free(
    struct offer_learned *t, struct learned_page *p); /* and its open views, uncounted */
/* Enough distinct clients have viewed the page: from now on only another such page displaces it. */
void learned_page_establish(struct offer_learned *t, struct learned_page *p);
/* Decays the hits and views of all resources to `now`. fade: the factor for that. */
void learned_page_decay(const struct offer_learned *t, struct learned_page *p, usec now);
double learned_page_fade(const struct offer_learned *t, const struct learned_page *p, usec now);

/* The index of the resource in the page; -1: none. */
int learned_resource_find(const struct learned_page *p, struct slice path);
/* Makes one and returns its index. If the page is full, replaces a resource that is not worth a proposal.
 * -1: there is no room. */
int learned_resource_add(
    struct offer_learned *t, struct learned_page *p, struct slice path, usec now);
void learned_resource_remove(struct offer_learned *t, struct learned_page *p, int i);
/* As they are now, by the fade of its page. */
struct offer_learned_numbers learned_numbers_of(
    const struct offer_learned *t, const struct learned_resource *r, double fade, usec now);
uint32_t learned_resource_clients(
    const struct offer_learned *t, const struct learned_resource *r, usec now);
bool learned_resource_has_hits(
    const struct offer_learned *t, const struct learned_resource *r, double fade);
bool learned_resource_is_proposed(
    const struct offer_learned *t, const struct learned_resource *r, double fade, usec now);
/* Hits in 10000 views. */
uint32_t learned_resource_confidence(const struct learned_resource *r);

uint64_t learned_client_key(const struct offer_learned *t, struct slice client);
struct learned_client *learned_client_find(const struct offer_learned *t, uint64_t key);
struct learned_client *learned_client_get(struct offer_learned *t, uint64_t key);
void learned_client_free(
    struct offer_learned *t, struct learned_client *c); /* and its open views, uncounted */

struct learned_view *learned_view_new(
    struct offer_learned *t, struct learned_client *c, struct learned_page *p, usec now);
void learned_view_free(struct offer_learned *t, struct learned_view *v);

/* learned_flat.c: what a file or another process says about a page, checked and put into the table */

/* Adds an established page, or sets *page to NULL if the table has no room for it. Returns NULL, or the text
 * of the mistake. */
const char *learned_page_add(struct offer_learned *t, struct slice authority, struct slice path,
    struct learned_page **page, usec now);
/* Adds a resource with these numbers. One of too few clients, or of a path that is not learned, is left out
 * without a mistake: another version may have written it. */
const char *learned_numbers_add(struct offer_learned *t, struct learned_page *p, struct slice path,
    struct offer_learned_numbers numbers, usec now);
/* Whether the resource is worth to be kept beyond the life of the process. */
bool learned_resource_is_kept(
    const struct offer_learned *t, const struct learned_resource *r, double fade, usec now);

/* learned_progress.c */
struct offer_learned_item learned_item_of(const struct offer_learned *t,
    const struct learned_page *p, const struct learned_resource *r, usec now);

/* learned_count.c */
/* Whether another view of the page may count for this client. */
bool learned_page_has_vote(
    const struct offer_learned *t, const struct learned_page *p, uint64_t client, usec now);
/* How many distinct clients have counted, of the last OFFER_LEARNED_VOTERS. */
uint32_t learned_page_voters(const struct learned_page *p);
/* Counts a view that is over, and frees it. */
void learned_view_count(struct offer_learned *t, struct learned_view *v, usec now);

/* The hash of a resource; never 0. */
uint32_t learned_mark(const struct offer_learned *t, struct slice authority, struct slice path);
uint32_t learned_cache_sec(usec at);
/* Whether the client got the resource before that second; UINT32_MAX: at any time. */
bool learned_cache_has(const struct learned_cache *cache, uint32_t mark, uint32_t before);
void learned_cache_note(struct learned_cache *cache, uint32_t mark, usec now);
void learned_cache_forget(
    struct learned_cache *cache, uint32_t before); /* all that came before that second */

#endif
