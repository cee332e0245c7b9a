/* SPDX-License-Identifier: MIT */
/*
 * Private to source/: the tables behind what is learned.
 *
 *     table ─┬─ pages ──── resources           what belongs to a page, as counted
 *            └─ clients ── views ──→ page      who is looking at what now; a view dies when it is counted
 *
 * learned_table.c makes, finds and forgets them; learned.c says what a request means;
 * learned_count.c counts a view that is over; learned_cache.c knows what a client has;
 * learned_list.c tells what is proposed; learned_store.c saves and loads.
 */
#ifndef PUSHGATE_SOURCE_LEARNED_H
#define PUSHGATE_SOURCE_LEARNED_H

#include "proxy/base/list.h"
#include "proxy/base/map.h"
#include "proxy/source/source.h"

enum {
	CLIENT_VIEWS = 8,  /* open at once for one client: tabs that load at the same time */
	CACHE_MARKS = 128, /* resources that a client is remembered to have, the newest */
	VIEW_NEW = 32,     /* resources that one view may add to a page */
	WEIGHT_MOST = 200, /* views that a figure is made of at most: newer ones replace older */
	SUPPORT_LIVES = 4, /* half-lives after which a supporter does not count any more */
};

struct source_vote {
	uint64_t client;
	usec at; /* 0 = none */
};

struct source_known {
	char *path;
	size_t path_len;
	double hits, views;
	bool stands; /* was proposed when it was last counted */
	struct source_vote supporters[SOURCE_SUPPORTERS];
	uint32_t earlier; /* supporters of an earlier process: that many at least */
	uint32_t proposed, came_true, offered, taken, refused;
};

struct source_page {
	struct map_node node;
	struct list by_use;  /* in table.candidates or table.established */
	struct list views;   /* open ones */
	bool is_established; /* enough distinct clients have looked at it */
	usec decayed_at;     /* when the figures were last brought up to date */
	uint32_t voter_at;   /* ring */
	struct source_vote voters[SOURCE_VOTERS];
	uint64_t used; /* bit i: resources[i] is there */
	struct source_known *resources[SOURCE_LEARNED_RESOURCES];
	size_t authority_len, path_len;
	char name[]; /* authority in lower case, path without query */
};

struct source_cache {
	uint32_t at;                 /* ring */
	uint32_t marks[CACHE_MARKS]; /* of resources; 0 = none */
	uint32_t since[CACHE_MARKS]; /* seconds */
};

struct source_client {
	struct map_node node;
	struct list by_use;
	struct list views; /* newest first */
	uint32_t view_count;
	struct source_cache cache;
};

struct source_view {
	struct list by_time, of_client, of_page;
	struct source_client *client;
	struct source_page *page;
	usec begun;
	bool counts; /* its client had a vote left when it began */
	uint32_t added;
	uint64_t asked, taken; /* bit i: of page->resources[i] */
	uint64_t excused;      /* had it, or was offered it: no miss */
};

struct source_learned {
	struct source_learned_options options;
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

static inline struct slice page_authority(const struct source_page *p)
{
	return slice_of(p->name, p->authority_len);
}

static inline struct slice page_path(const struct source_page *p)
{
	return slice_of(p->name + p->authority_len, p->path_len);
}

static inline struct slice known_path(const struct source_known *k)
{
	return slice_of(k->path, k->path_len);
}

/* An authority and a path that may be learned, in the form that the tables have them. */
struct source_name {
	char bytes[SOURCE_AUTHORITY_BYTES];
	struct slice authority, path;
};
/* False: too long, or of bytes that no URI has. Borrows the path; with is_page without its query. */
bool source_name_set(
    struct source_name *name, struct slice authority, struct slice path, bool is_page);

struct source_page *source_page_find(
    const struct source_learned *t, const struct source_name *name);
/* Finds or makes. NULL: no room. Lately used either way. */
struct source_page *source_page_get(
    struct source_learned *t, const struct source_name *name, usec now);
void source_page_free(
    struct source_learned *t, struct source_page *p); /* and its open views, uncounted */
/* It has the distinct clients that it needs. */
void source_page_establish(struct source_learned *t, struct source_page *p);
/* Brings the figures to `now`. */
void source_page_decay(const struct source_learned *t, struct source_page *p, usec now);
double source_page_fade(const struct source_learned *t, const struct source_page *p, usec now);

/* -1: none. */
int source_known_find(const struct source_page *p, struct slice path);
/* Makes one, in the place of one that too few clients asked for if it must be; -1: no room. */
int source_known_add(struct source_learned *t, struct source_page *p, struct slice path, usec now);
void source_known_remove(struct source_learned *t, struct source_page *p, int i);
uint32_t source_known_clients(
    const struct source_learned *t, const struct source_known *k, usec now);
bool source_known_has_hits(
    const struct source_learned *t, const struct source_known *k, double fade);
bool source_known_is_proposed(
    const struct source_learned *t, const struct source_known *k, double fade, usec now);
/* One of 10000. */
uint32_t source_known_confidence(const struct source_known *k);

uint64_t source_client_key(const struct source_learned *t, struct slice client);
struct source_client *source_client_find(const struct source_learned *t, uint64_t key);
struct source_client *source_client_get(struct source_learned *t, uint64_t key);
void source_client_free(
    struct source_learned *t, struct source_client *c); /* and its open views, uncounted */

struct source_view *source_view_new(
    struct source_learned *t, struct source_client *c, struct source_page *p, usec now);
void source_view_free(struct source_learned *t, struct source_view *v);

/* learned_count.c */
/* May another view of the page count for this client? */
bool source_page_has_vote(
    const struct source_learned *t, const struct source_page *p, uint64_t client, usec now);
/* Counts a view that is over, and frees it. */
void source_view_count(struct source_learned *t, struct source_view *v, usec now);

/* learned_cache.c */
/* What stands for a resource there; never 0. */
uint32_t source_mark(const struct source_learned *t, struct slice authority, struct slice path);
uint32_t source_cache_sec(usec at);
/* Did it come before that second? UINT32_MAX: has it come at all. */
bool source_cache_has(const struct source_cache *cache, uint32_t mark, uint32_t before);
void source_cache_note(struct source_cache *cache, uint32_t mark, usec now);
void source_cache_forget(struct source_cache *cache, uint32_t before); /* what came by then */

#endif
