/* SPDX-License-Identifier: MIT */
/*
 * The memory of pages: what a page needs beside itself, so that it can be offered when the page is requested. Rules say
 * whether a remembered resource is offered, and to which client.
 *
 * The memory opens no socket and no file, and reads no clock: `now` must not be earlier than in the call before.
 *
 * A page is a scheme, an authority, a path, those members of the query that matter (No-Vary-Search, option), and the
 * values of the request's fields that Vary names, without Accept-Encoding, which changes no link. Of Cookie, only its
 * presence belongs to the name of a page.
 *
 * One view of a page by one client is a lesson. The memory keeps the latest lesson of each of the last few clients: a
 * client that asks a thousand times has one. A resource is told when enough clients got it alike. What one client alone
 * has seen is told to nobody else. See "Who teaches" in docs/design/remembered.md.
 *
 * Pages, resources, variants, bytes and age are bounded. Pages that have nothing to tell are forgotten before all
 * others, then those that were not viewed for the longest time.
 */
#ifndef PUSHGATE_REMEMBERED_REMEMBERED_H
#define PUSHGATE_REMEMBERED_REMEMBERED_H

#include "proxy/base/budget.h"
#include "proxy/base/clock.h"
#include "proxy/http/head.h"
#include "proxy/http/promise.h"

enum {
	REMEMBERED_RESOURCES = 64,        /* of one page: bits of a word */
	REMEMBERED_LESSON_ITEMS = 256,    /* a page that names more teaches nothing */
	REMEMBERED_VARIANTS = 8,          /* of one path: queries and values of fields */
	REMEMBERED_TARGET_BYTES = 1024,   /* longer targets and paths are not remembered */
	REMEMBERED_FIELD_BYTES = 4096,    /* longer values of fields are not remembered */
	REMEMBERED_AUTHORITY_BYTES = 255, /* longer authorities are not remembered */
	REMEMBERED_TEXT_BYTES = 255,      /* query, variant, Vary, rule for queries, attributes */
};

/* 0 = the default. */
struct remembered_options {
	uint32_t pages;   /* variants counted one by one: 1000 */
	uint32_t clients; /* that must have got a guarded page's resource alike: 3; at most 8 */
	size_t bytes;     /* of the whole memory: 32 MiB */
	usec
	    age_usec; /* a lesson counts, and a page without a view stays, for this long: 14 days */
	usec window_usec; /* what is requested this long after a page may belong to it: 10 s */
	/* Members of queries that do not matter on any page: names, or beginnings with "*" behind. Borrowed. */
	const struct slice *ignored;
	size_t ignored_count;
	/* Of the keys of fields (field_key.h); 0: Link fields are not made ahead of need. */
	uint64_t field_seed;
};

struct remembered;

/* seed: a secret of the process (hash_random_seed). parent: the budget that all bytes are also charged to, borrowed; may
 * be NULL. */
struct remembered *remembered_new(
    const struct remembered_options *options, uint64_t seed, struct budget *parent);
void remembered_free(struct remembered *m); /* accepts NULL */
void remembered_clear(struct remembered *m);

/* From where it is known that a page needs a resource. The strongest is the first. */
enum remembered_source {
	REMEMBERED_LINK,     /* a Link field of its response, or of the origin's 103 */
	REMEMBERED_HEAD,     /* its <head> */
	REMEMBERED_STYLE,    /* one of its style sheets */
	REMEMBERED_ASKED,    /* clients requested it right after the page */
	REMEMBERED_FOLLOWED, /* clients went there from the page: of next pages alone */
	REMEMBERED_SOURCES
};

enum remembered_rel {
	REMEMBERED_PRELOAD,
	REMEMBERED_MODULEPRELOAD,
	REMEMBERED_PRECONNECT,
	REMEMBERED_NEXT, /* a page of the same site: a path without a query. No resource of the page */
	/* Fields of the origin's 103, under which a browser fetches what is hinted. The target is the value. */
	REMEMBERED_CSP, /* Content-Security-Policy; one with a nonce is not remembered: each view has its own */
	REMEMBERED_REFERRER_POLICY,
	REMEMBERED_RELS
};
static inline bool remembered_rel_is_field(enum remembered_rel rel)
{
	return rel >= REMEMBERED_CSP;
}
enum remembered_crossorigin {
	REMEMBERED_NO_CORS,
	REMEMBERED_ANONYMOUS,
	REMEMBERED_CREDENTIALS,
};

/* One resource, as a lesson names it. Slices are borrowed for the call. */
struct remembered_item {
	enum remembered_source source;
	enum remembered_rel rel;
	enum remembered_crossorigin crossorigin;
	/* With the scheme and authority of the page: a path with query. Else "https://host/path". No fragment. */
	struct slice target;
	struct slice as; /* a destination of the Fetch standard; may be empty */
	struct slice
	    attributes; /* other parameters of a Link, as they are to be sent; never a nonce */
};

/* What becomes of a lesson. */
enum remembered_answer {
	REMEMBERED_TAUGHT,
	REMEMBERED_NO_PAGE,      /* not a GET navigation answered 200 with HTML */
	REMEMBERED_CREDENTIALED, /* Authorization, or a user of the gateway's */
	REMEMBERED_NOT_STORED,   /* no-store */
	REMEMBERED_TOO_VARIED, /* Vary: *, too many names or variants, or names or values that are too long */
	REMEMBERED_TOO_LONG,      /* its name, its number of items, or what its request says */
	REMEMBERED_OTHER_VARIANT, /* Vary or No-Vary-Search changed: the next client decides */
	REMEMBERED_NO_ROOM,
	REMEMBERED_ANSWERS
};

/* One view of a page: what its own response names. Only sources LINK and HEAD. Slices and heads are borrowed for the call. */
struct remembered_lesson {
	const struct http_head *request, *response;
	struct slice
	    client; /* the address bytes that stand for one client: IPv4, or the /64 of IPv6 */
	bool is_page_load; /* Sec-Fetch-Dest: document, or without that field a navigation */
	bool has_user;     /* the gateway has asked for a password or a certificate */
	const struct remembered_item *items;
	size_t count;
};

enum remembered_answer remembered_teach(
    struct remembered *m, const struct remembered_lesson *lesson, usec now);
const char *remembered_answer_text(enum remembered_answer answer);

/*
 * What else belongs to the view that this client had within the window: sources STYLE and ASKED. `page` is the URI of the
 * page without a fragment, as a Referer names it. Without such a view: nothing happens. Whoever calls vouches that
 * neither the request nor the response for the resource had credentials, and that a shared cache could store it.
 */
void remembered_add(struct remembered *m, struct slice page, struct slice client,
    const struct remembered_item *items, size_t count, usec now);

/* The view of a page that a client has gone to from another page of the same site, as Referer says. `items` are not looked
 * at. */
void remembered_follow(struct remembered *m, const struct remembered_lesson *lesson, usec now);

/* One resource that is told. Slices are lent until the next call that may change the memory. */
struct remembered_told {
	struct remembered_item item; /* source: the strongest */
	uint8_t sources;             /* bits, 1 << enum remembered_source */
	uint32_t offered, used, failed;
	usec known_usec,
	    seen_usec; /* for how long it is known; how long ago a lesson named it last */
	/* The Link field that hints at it, and its key: of paths, with options.field_seed. */
	struct slice link;
	uint32_t link_key;
};

/* The resource of an item whose target is a path, without scheme and authority; of others, without target. Borrows. */
struct http_resource remembered_resource(const struct remembered_item *item);

/* The values of fields that are told for a request; empty: none. */
struct remembered_fields {
	struct slice csp, referrer_policy;
};

/*
 * Writes what is told for this request into `told`, the strongest source first, in the order of the page, and returns
 * how many: resources alone. The fields that are told go to *fields, lent as those. A target is told
 * once. Does not count as a view.
 */
size_t remembered_find(const struct remembered *m, const struct http_head *request,
    struct remembered_told told[REMEMBERED_RESOURCES], struct remembered_fields *fields, usec now);

/* The same of next pages alone, which remembered_find leaves out. */
size_t remembered_next(const struct remembered *m, const struct http_head *request,
    struct remembered_told told[REMEMBERED_RESOURCES], usec now);

/* The outcome of an offer that came of the memory. */
enum remembered_outcome {
	REMEMBERED_OFFERED, /* held or hinted */
	REMEMBERED_USED,    /* this client requested it */
	REMEMBERED_GONE,    /* 404, 410, or of another type: not told for an hour, then for a day */
};
/* `request` is the page's. Of one view, OFFERED and USED count once. Resources that several clients in a row were offered
 * and none has used are not told for a day. */
void remembered_on_outcome(struct remembered *m, const struct http_head *request,
    struct slice client, struct slice target, enum remembered_outcome outcome, usec now);

/*
 * For `status`: lines without line breaks, pages that are told first:
 *
 *   https://www.example/shop: 3 clients, 7 views, known for 2d; 4 of 5 resources told (link 1, head 3); used 9 of 12
 */
enum { REMEMBERED_LINES = 16, REMEMBERED_LINE = 252 };
size_t remembered_lines(const struct remembered *m, char (*lines)[REMEMBERED_LINE], usec now);
/*
 * For `explain`: the line of the request's page, and a line for each resource:
 *
 *   /app.css as style: told (link, head); known for 2d, named 5s ago; offered 12, used 9
 *   /b.js as script: not told: 1 more client must get it (head); …
 *
 * False: the memory knows no such page.
 */
bool remembered_explain(const struct remembered *m, const struct http_head *request,
    void (*say)(const char *line, void *context), void *context, usec now);
/* One line for the crash dump: how much the memory holds. */
size_t remembered_describe(const struct remembered *m, char *buffer, size_t size);

/*
 * The memory as text, for its file and for other processes: a line with the version, then a line of JSON for each page
 * that is told something. No client is in it, not even as a hash. Ages stand for times.
 */
enum {
	REMEMBERED_PAGE_BYTES = 160 << 10, /* the longest line */
	REMEMBERED_FILE_BYTES =
	    128 << 20, /* of all lines: the bound on the memory's bytes allows no more */
};
size_t remembered_write_begin(char *buffer, size_t size, uint64_t wall_sec);
/*
 * Writes the line of the next page, and returns its length; 0: there is no other. round: the same number in all calls for
 * one copy, another than in the copy before, not 0. The memory may change between the calls.
 */
size_t remembered_write_page(
    struct remembered *m, uint32_t round, char buffer[REMEMBERED_PAGE_BYTES], usec now);
/*
 * Adds one page. Returns the text of the mistake, or NULL. Pages that the memory has, or has no room for, are left out.
 * away: how long ago the line was written.
 */
const char *remembered_read_page(struct remembered *m, struct slice line, usec away, usec now);
/*
 * Fills an empty memory with a whole file. Returns the text of the first mistake and its line; the memory is empty then.
 * wall_sec: the time, in the clock of remembered_write_begin.
 */
const char *remembered_read(
    struct remembered *m, struct slice text, uint64_t wall_sec, usec now, uint32_t *line);

/*
 * For copies that have no votes, and age as the memory does. Writes the line of a page of which something else is told
 * since the change *since (0: of any page that was ever told), the oldest change first, also when nothing is told any
 * more, and moves *since to its change. Returns the length; 0: there is no other. A copy that misses more pages than the
 * memory notes as forgotten (64) keeps such a page until its age is over.
 */
size_t remembered_write_since(
    struct remembered *m, uint64_t *since, char buffer[REMEMBERED_PAGE_BYTES], usec now);
/* How many changes there were so far, and how many messages were taken. */
uint64_t remembered_changes(const struct remembered *m);
uint64_t remembered_taken(const struct remembered *m);
/* Notes changes that time alone has made, and forgets what is too old. Once a minute is enough. */
void remembered_look(struct remembered *m, usec now);
/* As remembered_read_page, but a page that the memory has is replaced, and removed if the line tells nothing. */
const char *remembered_replace_page(struct remembered *m, struct slice line, usec away, usec now);

/*
 * ---- messages (message.c): what workers, whose copies have no votes, tell the process that owns the memory ----
 *
 * A message has keyed hashes in place of addresses, cookies and input, so that all copies of a generation need the seed of
 * the memory. Bytes of the machine's order; both ends are of one program.
 */
enum { REMEMBERED_MESSAGE_BYTES = 64 << 10 }; /* a page that names more than this teaches nothing */

/* A lesson in the making: what its page names is added while the page passes. */
struct remembered_draft;

/*
 * The head of the response has come: the page is in use. `lesson->items` are added at once; the heads are borrowed for the
 * call, the copy until the draft is freed. NULL: it teaches nothing, for the reason in *answer.
 */
struct remembered_draft *remembered_draft_new(struct remembered *copy,
    const struct remembered_lesson *lesson, enum remembered_answer *answer, usec now);
/* Sources LINK and HEAD alone. */
void remembered_draft_add(struct remembered_draft *d, const struct remembered_item *item);
/*
 * The message; lent until the draft is freed. `request`: the page's, the same as before. Empty: it teaches nothing
 * (REMEMBERED_TOO_LONG).
 */
struct slice remembered_draft_end(struct remembered_draft *d, const struct http_head *request);
void remembered_draft_free(struct remembered_draft *d); /* accepts NULL */

/* The messages of remembered_add and remembered_on_outcome. Return the length; 0: it has no effect. */
size_t remembered_add_message(const struct remembered *copy, struct slice page, struct slice client,
    const struct remembered_item *items, size_t count, uint8_t buffer[REMEMBERED_MESSAGE_BYTES]);
size_t remembered_outcome_message(const struct remembered *copy, const struct http_head *request,
    struct slice client, struct slice target, enum remembered_outcome outcome,
    uint8_t buffer[REMEMBERED_MESSAGE_BYTES]);

enum {
	REMEMBERED_NEXT_BYTES = 4096
}; /* two targets, an authority, a query, and what is between them */
/* That of remembered_follow. */
size_t remembered_next_message(const struct remembered *copy,
    const struct remembered_lesson *lesson, uint8_t buffer[REMEMBERED_NEXT_BYTES]);

/* In the owner: does what the message says. Returns the text of a mistake, or NULL. Checks everything: workers face the
 * network. */
const char *remembered_take(struct remembered *m, struct slice message, usec now);

#endif
