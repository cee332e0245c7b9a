/* SPDX-License-Identifier: MIT */
/*
 * What exchanges teach the memory of pages (remembered/remembered.h): which resources a page names, what clients request
 * right after it, and what became of offers. Included by offer.h.
 *
 *   lesson.c        a page is answered: its lesson, from its Link fields and those of the origin's 103. What reads its
 *                   <head> adds to it while the body passes
 *   lesson_pages.c  which views are taught: the first ones of each version, later one of several
 *   lesson_views.c  what a client requests right after such a view; outcomes of offers
 *
 * All of it leaves as messages for the process that owns the memory.
 */
#ifndef PUSHGATE_OFFER_LESSON_H
#define PUSHGATE_OFFER_LESSON_H

#include "proxy/relay/relay.h"
#include "proxy/remembered/remembered.h"

/* The lessons of a worker. */
struct offer_lessons;

struct offer_lessons_env {
	struct remembered *memory; /* borrows; may be a copy without votes */
	uint64_t seed;             /* a secret of the process */
	struct budget *budget;     /* borrows */
	/* Takes a message for the owner of the memory. Lent until it returns. */
	void (*teach)(void *context, struct slice message);
	void *context;
};
struct offer_lessons *offer_lessons_new(const struct offer_lessons_env *env);
void offer_lessons_free(struct offer_lessons *l); /* accepts NULL; no lesson is open */

/* Of the origin's first 103 with links, in the request's arena: values of its fields, joined; empty: it has none. */
struct offer_early {
	struct slice links, csp, referrer_policy;
};

/* What offer/ keeps in an exchange. may_alias: the exchange has an array of bytes in its place. */
struct __attribute__((may_alias)) offer_part {
	struct remembered_draft *draft;  /* the lesson; NULL: none is open */
	const struct offer_early *early; /* NULL: no 103 with links has come */
	const struct conf_arm
	    *arm;      /* of a page load and of its pushes; NULL: nothing is compared */
	uint8_t level; /* enum conf_remembers, of the [preload] sections that take the page load */
	bool is_drawn; /* the view is taught, with what comes after it */
	bool takes_all_scripts; /* remembered-scripts = all, of one of these sections */
};
_Static_assert(sizeof(struct offer_part) <= EXCHANGE_OFFER_BYTES, "it has room there");

static inline struct offer_part *offer_part(const struct exchange *x)
{
	return (struct offer_part *)(uintptr_t)x->offer;
}

/* Loads a page: Sec-Fetch-Dest says so; where that field is missing, Sec-Fetch-Mode. */
bool offer_is_page_load(const struct exchange *x);

/* ---- lesson.c ---- */

/* Others may be told what this request teaches. */
bool offer_lesson_may_teach(const struct exchange *x);
/* The client on all of its connections: its IPv4 address or its IPv6 /64. */
struct slice offer_lesson_client(const struct exchange *x);

/* The request of a page load has come, and a [preload] section remembers: decides whether the view is taught. */
void offer_lesson_draw(struct offer_lessons *l, struct exchange *x);
/* The origin's 103 has come, with public paths. */
void offer_lesson_early(struct exchange *x, const struct http_head *interim);
/* The final head has come, with public paths, and without what a route adds or removes. Begins the lesson of a page, or
 * notes what was requested after one. */
void offer_lesson_answer(
    struct offer_lessons *l, struct exchange *x, const struct http_head *response);
/* Whether a lesson is open, to which items may be added. */
static inline bool offer_lesson_is_open(const struct exchange *x)
{
	return offer_part(x)->draft != NULL;
}
/* Of source HEAD. Targets are public. */
void offer_lesson_add(struct exchange *x, const struct remembered_item *item);
/* The lesson is whole, and leaves. */
void offer_lesson_end(struct offer_lessons *l, struct exchange *x);
/* What the page names is not known to its end: the lesson teaches nothing. */
void offer_lesson_drop(struct offer_lessons *l, struct exchange *x);

/* ---- lesson_views.c ---- */

/* Whether others may be told of a resource that x got: it is theirs too. */
bool offer_lesson_is_for_all(const struct exchange *x, const struct http_head *response);
/* Whether x was requested right after a view that is taught, by the same client. */
bool offer_lesson_has_view(const struct offer_lessons *l, const struct exchange *x);
/* What a resource of such a view needs itself: source STYLE. Nothing happens if the view is over. */
void offer_lesson_add_later(struct offer_lessons *l, const struct exchange *x,
    const struct remembered_item *items, size_t count);
/* A resource from the memory was held for the page, or hinted at. */
void offer_lesson_offered(
    struct offer_lessons *l, const struct exchange *page, const struct http_head *promised);
/* A push is over. */
void offer_lesson_push_ended(struct offer_lessons *l, const struct exchange *push);

#endif
