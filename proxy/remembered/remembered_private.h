/* SPDX-License-Identifier: MIT */
/*
 * Private to remembered/: the objects of the memory of pages.
 *
 *     memory ── places ── pages ─┬─ resources     what some client got with the page
 *                                └─ votes         one for each of the last clients: what it got
 *
 * A place is a scheme, an authority and a path; it has the rules by which requests are told apart. A page is one
 * variant of a place. A resource lives as long as a vote names it, or it stands: it was told, and fewer clients have voted
 * on it than must agree, since the votes that named it went, or the page was read from a file.
 *
 * key.c       the name of the page that a request is for
 * lesson.c    who teaches, and what of it counts for others
 * teach.c     votes; versions
 * next.c      votes on next pages
 * place.c     makes, finds and forgets all objects
 * tell.c      what is told; outcomes
 * say.c       what status and explain print
 * file.c      lines of JSON
 * draft.c     lessons in the making
 * message.c   messages to the process that owns the memory (message.h)
 * changes.c   what copies of the memory have not got yet
 */
#ifndef PUSHGATE_REMEMBERED_PRIVATE_H
#define PUSHGATE_REMEMBERED_PRIVATE_H

#include "proxy/base/list.h"
#include "proxy/base/map.h"
#include "proxy/remembered/remembered.h"

enum {
	VOTES = 8,     /* clients whose last lesson counts for a page */
	OPEN_NEED = 2, /* clients that must have got an open page's resource alike */
	FORMER = 4,    /* sets of former versions */
	LESSON_NEW =
	    32, /* resources that one lesson may add: half of a page's, so that no client fills it */
};

/* Times in the memory are `now` and this, so that a page may be older than the clock. */
#define EPOCH ((usec)1 << 52)
#define USEC_PER_HOUR (3600 * USEC_PER_SEC)
#define USEC_PER_DAY (24 * USEC_PER_HOUR)

struct remembered_resource {
	enum remembered_rel rel;
	enum remembered_crossorigin crossorigin;
	uint8_t sources; /* of the standing; votes have their own */
	usec since, seen;
	usec barred_until; /* it failed, or nobody uses it */
	uint32_t offered, used, failed;
	bool is_unused; /* why it is barred */
	uint16_t target_len, as_len, attributes_len, link_len;
	uint32_t link_key;
	char text[]; /* target, as, attributes, Link field */
};

struct remembered_vote {
	/* Keyed hashes. cookie, input: 0 = the request has none. version: 0 = the response has no validator. */
	uint64_t client, cookie, input, version, set;
	usec at;
	uint64_t named[REMEMBERED_SOURCES]; /* bit i: resources[i] */
	uint64_t offered, used;             /* outcomes that have counted */
	uint32_t added;                     /* resources that the page had not */
	bool is_guarded;
};

struct remembered_place {
	struct map_node node;
	struct list pages;
	uint32_t page_count;
	uint8_t authority_len;
	uint16_t path_len, vary_len, rule_len;
	bool is_https;
	/* What a client got with other rules than these. */
	uint64_t other_rules, other_client;
	char vary
	    [REMEMBERED_TEXT_BYTES]; /* names in lower case, sorted by the response, separated by spaces */
	char rule[REMEMBERED_TEXT_BYTES]; /* see query_rule_read */
	char name[];                      /* authority in lower case, path */
};

struct remembered_page {
	struct list by_use; /* in candidates or established */
	struct list of_place;
	struct remembered_place *place;
	bool is_established;   /* it has told something */
	uint32_t written;      /* the round of remembered_write_page */
	struct list by_change; /* in changes; or in none: copies know nothing of it */
	uint64_t changed,
	    changed_at; /* a hash of what is told since the change of this number; 0: nothing ever was */
	uint32_t views;
	usec since, viewed;
	uint64_t standing;
	uint64_t former[FORMER];
	uint32_t former_at;
	uint32_t vote_count;
	struct remembered_vote votes[VOTES]; /* the newest is the last */
	struct remembered_vote
	    followed[VOTES]; /* on next pages: named[REMEMBERED_FOLLOWED] alone */
	uint32_t followed_count;
	uint64_t taken; /* bit i: resources[i] is there */
	struct remembered_resource *resources[REMEMBERED_RESOURCES];
	uint8_t query_len, variant_len;
	char name[]; /* query, variant */
};

struct remembered {
	struct remembered_options options;
	uint64_t seed;
	struct budget budget;
	struct map places;
	size_t slots_charged;
	struct list established, candidates; /* pages, the one viewed longest ago first */
	uint32_t page_count, established_count, resource_count;
	uint64_t taken, taught, refused; /* messages; lessons; what had no room */
	/* For copies: pages in the order of their last change, and pages that were forgotten. */
	uint64_t change_count;
	struct list changes, gone;
	uint32_t gone_count;
};

/* A page that copies may have, and the memory has not any more. */
struct remembered_gone {
	struct list by_change;
	uint64_t changed_at;
	size_t length;
	char line[]; /* as remembered_write_since gives it */
};

/* A page with the rules of its place. Slices are borrowed. */
struct page_name {
	const struct place_name *place;
	struct slice vary, rule, query, variant;
};

static inline struct slice place_authority(const struct remembered_place *l)
{
	return slice_of(l->name, l->authority_len);
}
static inline struct slice place_path(const struct remembered_place *l)
{
	return slice_of(l->name + l->authority_len, l->path_len);
}
static inline struct slice place_scheme(const struct remembered_place *l)
{
	return l->is_https ? SLICE("https") : SLICE("http");
}
static inline struct slice page_query(const struct remembered_page *p)
{
	return slice_of(p->name, p->query_len);
}
static inline struct slice page_variant(const struct remembered_page *p)
{
	return slice_of(p->name + p->query_len, p->variant_len);
}
static inline struct slice resource_target(const struct remembered_resource *r)
{
	return slice_of(r->text, r->target_len);
}
static inline struct slice resource_as(const struct remembered_resource *r)
{
	return slice_of(r->text + r->target_len, r->as_len);
}
static inline struct slice resource_attributes(const struct remembered_resource *r)
{
	return slice_of(r->text + r->target_len + r->as_len, r->attributes_len);
}
static inline struct slice resource_link(const struct remembered_resource *r)
{
	return slice_of(r->text + r->target_len + r->as_len + r->attributes_len, r->link_len);
}
static inline bool target_is_path(struct slice target)
{
	return slice_starts_with(target, SLICE("/"));
}

/* key.c */

/* A place's name, as the memory has it. */
struct place_name {
	bool is_https;
	char bytes[REMEMBERED_AUTHORITY_BYTES];
	struct slice authority, path; /* path: borrowed, without query */
};
bool place_name_set(
    struct place_name *name, struct slice scheme, struct slice authority, struct slice path);

struct text {
	char bytes[REMEMBERED_TEXT_BYTES];
	size_t len;
};
static inline struct slice text_slice(const struct text *t)
{
	return slice_of(t->bytes, t->len);
}
bool text_add(struct text *t, struct slice s); /* false: no room, t is unchanged */

/*
 * The rule for queries that a response has (No-Vary-Search), as a text: "=" if the order of members matters, else "~";
 * "*" if all members matter, "-" all but those named behind it, "+" those alone; then names in the form of a query, without
 * percent-encoding, separated by spaces. A field that cannot be read: all members matter.
 */
void query_rule_read(const struct http_head *response, struct text *rule);
bool query_rule_is_good(struct slice rule);
/* Whether a member of a query ("name=value") belongs to the name of the page. */
bool query_member_matters(const struct remembered *m, struct slice rule, struct slice member);
/* The part of the query that matters. False: it is too long. */
bool query_choose(
    const struct remembered *m, struct slice rule, struct slice query, struct text *chosen);

/* The names that Vary has, without Accept-Encoding and Authorization. False: "*", malformed, or too many. */
bool vary_read(const struct http_head *response, struct text *vary);
bool vary_is_good(struct slice vary);
/* The values that the request has in these fields. False: too long. */
bool variant_of(struct slice vary, const struct http_head *request, struct text *variant);

/* file.c */
bool text_is_storable(struct slice s); /* as a query, or a variant */
/* Writes a page's line with these resources. 0: it is too long. */
size_t page_put(
    const struct remembered_page *p, uint64_t told, char buffer[REMEMBERED_PAGE_BYTES], usec now);

/* changes.c */
/* After whatever may have changed what is told of it. */
void page_note_change(struct remembered *m, struct remembered_page *p, usec now);
void gone_note(struct remembered *m, const struct remembered_page *p);
void gone_clear(struct remembered *m);

/* lesson.c */

enum lesson_class { LESSON_OPEN, LESSON_GUARDED };
/* Whether the lesson may teach, and if so for which class of page. */
enum remembered_answer lesson_class(const struct remembered_lesson *lesson, enum lesson_class *out);

/* What the request says that does not belong to the name of the page. */
struct lesson_inputs {
	uint64_t input, cookie; /* keyed hashes; 0: nothing unusual */
	/* Words that a response could have taken from the request. */
	struct slice words[256];
	size_t word_count, bytes;
	/* Bits of what the words begin with, and how many comparisons have been made. */
	uint64_t begins[64];
	uint32_t compared;
	char decoded[8192];
};
/* False: too much. */
bool lesson_inputs_read(struct lesson_inputs *in, const struct remembered *m, struct slice rule,
    const struct http_head *request);
/* The target has a word of the request in it: it may be this client's alone. */
bool lesson_is_reflected(struct lesson_inputs *in, struct slice target);
/* The item is well-formed, and of a kind that is remembered for such a page. */
bool item_is_good(const struct remembered_item *item, bool is_guarded);

/* place.c */
struct remembered_place *place_find(const struct remembered *m, const struct place_name *name);
bool place_has_rules(const struct remembered_place *l, struct slice vary, struct slice rule);
struct remembered_place *place_get(
    struct remembered *m, const struct place_name *name, struct slice vary, struct slice rule);
/* Forgets all pages; the place is freed. */
void place_free(struct remembered *m, struct remembered_place *l);
struct remembered_page *page_find(
    const struct remembered_place *l, struct slice query, struct slice variant);
/* NULL: no room. `l` is freed if it has no page. */
struct remembered_page *page_new(struct remembered *m, struct remembered_place *l,
    struct slice query, struct slice variant, usec now);
/* The place goes with its last page. */
void page_free(struct remembered *m, struct remembered_page *p);
void page_touch(struct remembered *m, struct remembered_page *p, usec now);
void page_establish(struct remembered *m, struct remembered_page *p);
/* Frees pages that nobody has viewed for the whole age. */
void pages_expire(struct remembered *m, usec now);
/* The page that a request is for, or NULL. */
struct remembered_page *page_of_request(
    const struct remembered *m, const struct http_head *request);

int resource_find(const struct remembered_page *p, const struct remembered_item *item);
int resource_add(
    struct remembered *m, struct remembered_page *p, const struct remembered_item *item, usec now);
/* Frees the resources that neither a vote nor the standing names. */
void resources_sweep(struct remembered *m, struct remembered_page *p);

/* tell.c */
/* Bits of the resources that are told. */
uint64_t page_told(const struct remembered *m, const struct remembered_page *p, usec now);
uint32_t page_need(const struct remembered *m, const struct remembered_page *p);
uint32_t page_votes(const struct remembered *m, const struct remembered_page *p, usec now);
/* Before votes go, and when all of a lesson is there. */
void standing_keep(const struct remembered *m, struct remembered_page *p, usec now);
void standing_settle(const struct remembered *m, struct remembered_page *p, usec now);
uint8_t resource_sources(const struct remembered_page *p, int i);
/* Votes that name it, of any source. */
uint32_t resource_votes(
    const struct remembered *m, const struct remembered_page *p, int i, usec now);

/* Of a message's outcome. */
void outcome_take(struct remembered *m, struct remembered_page *p, uint64_t client,
    struct slice target, enum remembered_outcome outcome, usec now);

/* teach.c */
/* What follows when a lesson is there: its vote, and what it names. */
enum remembered_answer lesson_take(struct remembered *m, const struct page_name *name,
    const struct remembered_vote *vote, const struct remembered_item *items, size_t count,
    usec now);
void lesson_take_addition(struct remembered *m, const struct place_name *name, uint64_t client,
    const struct remembered_item *items, size_t count, usec now);
uint64_t client_key(const struct remembered *m, struct slice client);

#endif
