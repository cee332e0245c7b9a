/* SPDX-License-Identifier: MIT */
/*
 * The learned table: which resources clients ask for after a page. Rules say whether a resource that the
 * table proposes is offered, and to which client. Included by offer.h.
 *
 * The table opens no socket and reads no clock. Only offer_learned_save and offer_learned_load touch
 * files.
 *
 * A page view begins with a navigation. It counts, and adds resources to its page, once that was answered with
 * a page: what clients make up is none. A later GET of the same client for the same authority belongs
 * to the view if it is answered with 200 within the window, and its Referer is the page or a resource
 * of the page (a style sheet, say). A request without a Referer belongs to the client's open view, if
 * the client has just one.
 *
 * Resources are style sheets, scripts, images and fonts alone, by the extension of their path and by the type
 * of the response, and only those that a shared cache could give to every client. A path with a query, or with
 * what some servers take for the beginning of one, is never learned: to request it might change something,
 * and whoever asks for it may have made it up.
 *
 * When the window is over the view is counted: a hit for each resource that was requested, a miss for
 * each other resource of the page. Some resources count neither way, as the client probably has them in
 * its cache: it fetched them on another page, validated them with a 304, or was offered them. If the
 * client requests most of these all the same, its cache has been emptied: the table forgets what it
 * noted about that cache. A client that does not request a proposed resource is taken to have it from
 * then on. A view without any request does not count: all was cached, or the client is no browser.
 *
 * No client alone can change the proposals. A view counts only if its client is not among the last
 * OFFER_LEARNED_VOTERS clients whose views of that page have counted within a half-life; a resource
 * counts once in a view; and a proposal needs requests from `support` distinct clients. A page must
 * have as many clients before it may displace another such page. The table knows a client by a keyed
 * hash that is lost when the process ends.
 *
 * Pages, clients, open views, resources of a page and bytes are bounded. The least recently used is
 * forgotten first; pages and resources that too few clients requested go before all others.
 */
#ifndef PUSHGATE_OFFER_LEARNED_H
#define PUSHGATE_OFFER_LEARNED_H

#include "proxy/base/budget.h"
#include "proxy/base/clock.h"
#include "proxy/base/slice.h"
#include <stdio.h>

enum {
	OFFER_LEARNED_RESOURCES = 64,        /* of one page */
	OFFER_LEARNED_VOTERS = 32,           /* clients remembered for one page */
	OFFER_LEARNED_SUPPORTERS = 8,        /* clients remembered for one resource */
	OFFER_LEARNED_PATH_BYTES = 1024,     /* longer paths are not learned */
	OFFER_LEARNED_AUTHORITY_BYTES = 255, /* longer authorities are not learned */
	OFFER_LEARNED_FILE_BYTES = 64 << 20, /* of a file to be loaded */
};

/* 0 = the default. */
struct offer_learned_options {
	uint32_t pages;      /* remembered: 1000 */
	uint32_t clients;    /* remembered: 4096 */
	uint32_t views;      /* open at once: 4096 */
	size_t bytes;        /* of the whole table: 32 MiB */
	usec window_usec;    /* length of a view: 10 s */
	usec half_life_usec; /* of hits and views: 7 days */
	/* What a resource needs to be proposed. */
	uint32_t hits;       /* decayed and rounded: 3 */
	uint32_t support;    /* distinct clients, at most OFFER_LEARNED_SUPPORTERS: 3 */
	uint32_t confidence; /* hits in 10000 views: 3500 */
};

struct offer_learned;

/* seed: a secret of the process (hash_random_seed). parent: the budget that the table's bytes are also
 * charged to, borrowed; may be NULL. */
struct offer_learned *offer_learned_new(
    const struct offer_learned_options *options, uint64_t seed, struct budget *parent);
void offer_learned_free(struct offer_learned *t);  /* accepts NULL */
void offer_learned_clear(struct offer_learned *t); /* forgets everything */

/* One request of a client. Slices are borrowed for the call; empty = the request has no such thing. */
struct offer_learned_request {
	struct slice authority, path;
	struct slice referer; /* the value of the Referer field */
	/* The address bytes that stand for one client: IPv4, or the /64 of IPv6. */
	struct slice client;
	bool is_get, is_navigation;
	bool has_credentials; /* Authorization or a cookie: nothing is learned from the request */
	uint16_t status;      /* of the response; not read for a navigation */
	/* The response is of another type than its path, or for one client: it is not learned. */
	bool is_unfit;
	/* A navigation whose answer has not come: offer_learned_on_page will tell if it is a page. */
	bool is_unanswered;
};

/* In all calls `now` must not be earlier than in the call before. */

/* A navigation has arrived: begins a view. Other requests, and requests with credentials, are ignored. */
void offer_learned_on_navigation(
    struct offer_learned *t, const struct offer_learned_request *request, usec now);
/* A navigation is answered with a page (200, or 304; HTML where it says so). */
void offer_learned_on_page(
    struct offer_learned *t, const struct offer_learned_request *request, usec now);
/* A request that is no navigation has been answered. */
void offer_learned_on_request(
    struct offer_learned *t, const struct offer_learned_request *request, usec now);
/* Counts the views whose window is over. The other calls that change the table do it too. */
void offer_learned_tick(struct offer_learned *t, usec now);

/* False: no window is open. */
bool offer_learned_has_views(const struct offer_learned *t);

/* What the table counts for one resource of one page, and keeps beyond the life of the process. */
struct offer_learned_numbers {
	double hits, views; /* decayed; views in which the resource counted as hit or miss */
	uint32_t clients;   /* distinct, counted up to OFFER_LEARNED_SUPPORTERS */
	/* Views of the page counted while it was proposed, and those in which it was requested. */
	uint32_t proposed, came_true;
	uint32_t offered, taken, refused; /* outcomes reported with offer_learned_on_outcome */
};

/* One resource of one page. Slices are lent until the next call that may change the table. */
struct offer_learned_item {
	struct slice authority, page, path;
	struct slice as; /* from the extension of the path; may be empty */
	struct offer_learned_numbers numbers;
	uint32_t confidence; /* hits in 10000 views */
	/* It has the hits, the clients and the confidence. A resource that was proposed before stays so
	 * with one hit, or a fifth of the confidence, less. */
	bool is_proposed;
};

/* Writes the resources that are proposed for a page into items, the highest confidence first, and returns how many it
 * has written. The query of the page is ignored. */
size_t offer_learned_offers(const struct offer_learned *t, struct slice authority,
    struct slice page, struct offer_learned_item items[OFFER_LEARNED_RESOURCES], usec now);

/* The outcome of an offer that the table proposed. */
enum offer_learned_outcome {
	OFFER_LEARNED_OFFERED, /* promised or hinted: a missing request is no miss */
	OFFER_LEARNED_TAKEN,   /* used: counts as a request, if the page's had no credentials */
	OFFER_LEARNED_REFUSED, /* reset by the client, which has it already */
	OFFER_LEARNED_GONE,    /* 404 or 410: three quarters of the hits are forgotten */
};

/* `view` is the page's request (authority, path, client and has_credentials are read), `path` the
 * resource's. */
void offer_learned_on_outcome(struct offer_learned *t, const struct offer_learned_request *view,
    struct slice path, enum offer_learned_outcome outcome, usec now);

/*
 * What is being learned, as lines without line breaks: first the pages that several clients have loaded. A line
 * begins with the name of its page and a colon:
 *
 *   www.example/page: 2 clients, 2 loads so far; 0 of 1 resource proposed; /app.css lacks 1 more client
 */
enum { OFFER_LEARNED_LINES = 16, OFFER_LEARNED_LINE = 252 };
size_t offer_learned_lines(
    const struct offer_learned *t, char (*lines)[OFFER_LEARNED_LINE], usec now);
/* The name of a page as the lines have it; empty: it is none that is learned. */
void offer_learned_page_name(
    struct slice authority, struct slice path, char name[OFFER_LEARNED_LINE]);
/* What a resource needs to be proposed. t NULL: in a table without options. */
void offer_learned_needs(const struct offer_learned *t, char text[OFFER_LEARNED_LINE]);

/* One line: how much the table holds, and how many views counted. */
size_t offer_learned_describe(const struct offer_learned *t, char *buffer, size_t size);

/*
 * The table as bytes, page by page, to be handed to another process: what offer_learned_save writes, and no
 * clients either.
 */
enum { OFFER_LEARNED_PAGE_BYTES = 80 << 10 }; /* the most for one page */
/*
 * Writes the next page into `buffer` and returns its length; 0: there is no other. round: the same number in
 * all calls for one copy of the table, another than in the copy before, not 0. The table may change between
 * the calls. Returns within one walk through the lists of pages.
 */
size_t offer_learned_export(
    struct offer_learned *t, uint32_t round, uint8_t buffer[OFFER_LEARNED_PAGE_BYTES], usec now);
/*
 * Adds the pages that `bytes` is the sequence of. Checks all of it; returns the text of the first mistake, or
 * NULL. Pages before a mistake stay. Pages that the table has, or has no room for, are left out.
 */
const char *offer_learned_import(struct offer_learned *t, struct slice bytes, usec now);

/*
 * Writes the resources that have the hits and the clients, with any confidence, as JSON with a version.
 * The new file takes the old one's name when it is whole, so that no reader sees half of it. False: the
 * old file is unchanged and `errors` has a line.
 */
bool offer_learned_save(const struct offer_learned *t, const char *path, usec now, FILE *errors);
/*
 * Fills an empty table. Without a file the table stays empty, and the result is true. False: the file
 * is not one that offer_learned_save writes; the table stays empty and `errors` has a line. Pages for
 * which the table has no room are left out.
 */
bool offer_learned_load(struct offer_learned *t, const char *path, usec now, FILE *errors);

#endif
