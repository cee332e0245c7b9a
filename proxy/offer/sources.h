/* SPDX-License-Identifier: MIT */
/*
 * Where offers of our own come from, beside Link fields and the configuration: manifest files, which an
 * operator's build writes, and the learned table, which watches what clients ask for after a page. Both only say
 * which resources belong to a page; whether anything is offered, and to whom, is for rules to say.
 *
 * Nothing here opens a socket or reads a clock. Files are touched by offer_file_*, and by
 * offer_learned_save and offer_learned_load, and by nothing else.
 */
#ifndef PUSHGATE_OFFER_SOURCES_H
#define PUSHGATE_OFFER_SOURCES_H

#include "proxy/base/budget.h"
#include "proxy/base/clock.h"
#include "proxy/base/slice.h"
#include <stdio.h>

enum {
	OFFER_FILE_BYTES = 1 << 20,   /* a manifest; larger ones were not meant for pushing */
	OFFER_PAGES = 10000,          /* in one manifest */
	OFFER_RESOURCES = 1000,       /* of one page in a manifest */
	OFFER_MISTAKES = 20,          /* told of one file; the rest is left out */
	OFFER_STATE_BYTES = 64 << 20, /* a file of what was learned */
	OFFER_PATH_BYTES = 1024,      /* longer paths are not learned */
	OFFER_AUTHORITY_BYTES = 255,
	OFFER_LEARNED_RESOURCES = 64, /* of one page in the learned table */
};

/*
 * Once in a process, before the first file is read: the secret of the JSON library's tables. Without it
 * the library would look for one later, when it may open nothing any more.
 */
void offer_seed(uint64_t seed);

/* ---- manifests ----
 *
 * JSON as the npm package http2-push-manifest writes it. For one page
 *   {"/css/app.css": {"type": "style", "weight": 1}, …}
 * which then belongs to whatever request its owner names it for, and for several
 *   {"index.html": {"/css/app.css": {…}, …}, "page.html": {…}}.
 * Keys of pages are URI references from the root; "index.html" at the end of a page's path stands for its directory, and
 * queries do not matter. Those of resources are references from their page (in the first form from the root), resolved
 * as in RFC 3986 5.2. A property that is not known is left alone.
 */

struct offer_resource {
	struct slice
	    target; /* "/path?query", or "https://authority/path" for one of another authority */
	struct slice as; /* "style", …: "type", or told by the extension; empty when neither says */
	struct slice crossorigin; /* empty (no such property), "anonymous" or "use-credentials" */
};

/* In the file's order. */
struct offer_resources {
	const struct offer_resource *list;
	size_t count;
};

struct offer_manifest;

/*
 * NULL: the text is no manifest; each mistake is one line of `errors`, "NAME:line:column: what is wrong; what would be
 * right". Columns count bytes. Nothing is said of a good one.
 */
struct offer_manifest *offer_manifest_parse(struct slice text, const char *name, FILE *errors);
void offer_manifest_free(struct offer_manifest *m); /* NULL is fine */

/* Of the page that `path` (a request's, with its query) names; none: count 0. Lent until the manifest goes. */
struct offer_resources offer_manifest_find(const struct offer_manifest *m, struct slice path);

struct offer_file;

/* Reads a file once and remembers which it was. NULL: it cannot be read or is no manifest; `errors` says why. */
struct offer_file *offer_file_open(const char *path, FILE *errors);
void offer_file_close(struct offer_file *f); /* NULL is fine */
/* Lent until the next check that says RELOADED. Never NULL. */
const struct offer_manifest *offer_file_manifest(const struct offer_file *f);

enum offer_check {
	OFFER_UNCHANGED, /* also: as bad as it was when that was said */
	OFFER_RELOADED,  /* there is another manifest: what was lent has gone */
	OFFER_KEPT, /* the file has changed and is bad, or is gone: the old one stays; `errors` says why, once */
};

/* Looks at the file (one stat(2) while nothing changes). For a timer, every second or slower. */
enum offer_check offer_file_check(struct offer_file *f, FILE *errors);

/* ---- what is learned ----
 *
 * A page view begins with a navigation. What the same client then asks for at the same authority within the window,
 * by GET and with a 200 for an answer, belongs to the view that its Referer names: the page, or a resource of it
 * (what a style sheet asks for). Without a Referer it belongs to the client's only open view, if there is
 * just one. When the window is over the view is counted: a hit for each resource that was asked for, a miss for each that
 * was not, unless the client had it as far as is known (it fetched it on another page, checked it with a 304, or
 * was offered it). What the client had and asks for again is no hit either, unless it does so with most of what it
 * should have: then its cache is empty, and what it had is forgotten. Who misses something that is proposed is taken to
 * have it from then on. A view in which nothing was asked for says nothing: all was cached, or it was no browser.
 *
 * No client alone can change what is proposed. A view counts only if its client is not among the last OFFER_VOTERS
 * clients whose views of that page have counted within a half-life; in a counted view a resource counts once; and a
 * resource needs `support` distinct ones. A page needs as many before it can displace another such page.
 * Clients are known by a keyed hash that ends with the process.
 *
 * Bounded: pages, clients, open views, resources of a page, and bytes. The least recently used goes first, of pages and
 * resources those first that too few clients asked for.
 */

enum { OFFER_VOTERS = 32, OFFER_SUPPORTERS = 8 };

/* 0 = the default. */
struct offer_learned_options {
	uint32_t pages;      /* remembered: 1000 */
	uint32_t clients;    /* remembered: 4096 */
	uint32_t views;      /* open at once: 4096 */
	size_t bytes;        /* all in all: 32 MiB */
	usec window_usec;    /* after a navigation: 10 s */
	usec half_life_usec; /* of what was counted: 7 days */
	uint32_t hits;    /* that a resource needs to be proposed, as decayed by then, rounded: 3 */
	uint32_t support; /* distinct clients that it needs, at most OFFER_SUPPORTERS: 3 */
	uint32_t confidence; /* hits of 10000 views that it needs: 3500 */
};

struct offer_learned;

/* seed: the process's own secret (hash_random_seed). parent: what the bytes are taken from as well, borrowed, or NULL. */
struct offer_learned *offer_learned_new(
    const struct offer_learned_options *options, uint64_t seed, struct budget *parent);
void offer_learned_free(struct offer_learned *t); /* NULL is fine */
/* Forgets everything. */
void offer_learned_clear(struct offer_learned *t);

/* One request as the owner saw it. Slices are borrowed for the call; empty = there was none. */
struct offer_request {
	struct slice authority, path;
	struct slice referer; /* the Referer field's value */
	struct slice
	    client; /* what counts as one client: an IPv4 address or an IPv6 /64, never a connection or a cookie */
	bool is_get, is_navigation;
	bool has_credentials; /* authorization, or a cookie: nothing is learned from it */
	uint16_t status;      /* of the answer; not looked at in a view */
};

/* `now` never runs backwards between calls. */

/* A navigation has arrived: begins a view. Anything else, and anything with credentials, is ignored. */
void offer_learned_view(struct offer_learned *t, const struct offer_request *request, usec now);
/* Any other request has been answered. */
void offer_learned_request(struct offer_learned *t, const struct offer_request *request, usec now);
/* Counts the views whose window is over. The calls above do it too. */
void offer_learned_tick(struct offer_learned *t, usec now);

/* What is known of one resource of one page. Slices are lent until the next call that is given the table as non-const. */
struct offer_learned_item {
	struct slice authority, page, path;
	struct slice as;     /* told by the extension; empty when it does not say */
	double hits, views;  /* decayed; of views in which the client did not have it */
	uint32_t clients;    /* distinct, counted up to OFFER_SUPPORTERS */
	uint32_t confidence; /* hits of 10000 views */
	bool
	    is_proposed; /* has the hits, the clients and the confidence; once it had, a fifth less will do */
	/* How well it went since it was first proposed: views of the page counted while it was, and how many asked for it. */
	uint32_t proposed, came_true;
	/* Offers that the owner reported, and what came of them. */
	uint32_t offered, taken, refused;
};

/*
 * What is proposed for a page, the surest first: at most `most` items; how many there are. The page's query does not
 * matter. Changes nothing.
 */
size_t offer_learned_offers(const struct offer_learned *t, struct slice authority,
    struct slice page, struct offer_learned_item *items, size_t most, usec now);

enum offer_outcome {
	OFFER_OFFERED, /* the client was promised or hinted it with its page: that it does not ask says nothing */
	OFFER_TAKEN,   /* it came to use: counts as if it had been asked for */
	OFFER_REFUSED, /* the client reset it: it had it */
	OFFER_GONE,    /* 404, 410: three quarters of its hits are forgotten */
};

/* What came of applying a proposal: `view` is the page's request (its authority, path and client), path the resource's. */
void offer_learned_outcome(struct offer_learned *t, const struct offer_request *view,
    struct slice path, enum offer_outcome outcome, usec now);

/* One line: how much is known, in how many bytes, and what views counted for. */
size_t offer_learned_describe(const struct offer_learned *t, char *buffer, size_t size);

/*
 * What is proposed, or would be but for confidence, as JSON with a version: the rest has too few clients behind it to be
 * written down. Goes to a new file beside the old that then takes its name, so a reader never sees half of it. False:
 * the old file is as it was, `errors` has a line.
 */
bool offer_learned_save(const struct offer_learned *t, const char *path, usec now, FILE *errors);
/*
 * Into an empty table. A file that is not there is not a mistake: true, and nothing loaded. False: it is none of ours in
 * some way; the table stays empty and `errors` has a line. Pages beyond the options' are left out.
 */
bool offer_learned_load(struct offer_learned *t, const char *path, usec now, FILE *errors);

#endif
