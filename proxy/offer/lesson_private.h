/* SPDX-License-Identifier: MIT */
/* Private to lesson*.c: the lessons of a worker. */
#ifndef PUSHGATE_OFFER_LESSON_PRIVATE_H
#define PUSHGATE_OFFER_LESSON_PRIVATE_H

#include "proxy/offer/offer.h"

/* Of the two tables: a newer entry takes the place of an older one. Their hashes are keyed, so that no client chooses
 * whose place it takes. */
#define LESSON_PAGES 1024u
#define LESSON_VIEWS 128u

/* A page, as its requests name it, and how often it was taught lately. */
struct lesson_page {
	uint64_t key, version; /* 0: none */
	uint64_t client;       /* of the last lesson */
	uint32_t taught;       /* of this version; several by one client in a row are one */
};

/* A message that came before the lesson has left: the owner has no vote yet to which it belongs. */
struct lesson_waiting {
	struct lesson_waiting *next;
	struct slice message;
};

/* A view that is taught, for as long as requests after it may belong to it. */
struct lesson_view {
	uint64_t client, page_id; /* of the exchange */
	usec until;
	struct http_head *request; /* owned; offers lie in its arena */
	size_t charged;
	uint32_t offered_count, asked_count;
	uint64_t used;                              /* bit i: offered[i] */
	struct slice offered[REMEMBERED_RESOURCES]; /* paths */
	uint64_t asked[REMEMBERED_RESOURCES];       /* keyed hashes of paths */
	bool is_taught;                             /* the lesson has left */
	struct lesson_waiting *waiting; /* until then, in the request's arena, oldest first */
	struct lesson_waiting **waiting_end;
};

struct offer_lessons {
	struct offer_lessons_env env;
	uint64_t draws;
	uint32_t open; /* lessons */
	uint8_t *message;
	struct lesson_page pages[LESSON_PAGES];
	struct lesson_view *views[LESSON_VIEWS];
};

uint64_t lesson_client_key(const struct offer_lessons *l, const struct exchange *x);
void lesson_send(struct offer_lessons *l, size_t length); /* l->message; 0: nothing */

/* lesson_pages.c */
bool lesson_page_draw(struct offer_lessons *l, const struct exchange *x);
/* Whether a view that was not drawn is taught nevertheless: it has another version. */
bool lesson_page_has_changed(
    const struct offer_lessons *l, const struct exchange *x, const struct http_head *response);
void lesson_page_taught(
    struct offer_lessons *l, const struct exchange *x, const struct http_head *response);

/* lesson_views.c */
void lesson_view_open(struct offer_lessons *l, const struct exchange *x);
void lesson_view_close(struct offer_lessons *l, const struct exchange *x); /* it taught nothing */
/* Its lesson has left: what was offered follows. */
void lesson_view_taught(struct offer_lessons *l, const struct exchange *x);
void lesson_view_free(struct offer_lessons *l, struct lesson_view *v); /* accepts NULL */
/* A resource was answered that was requested right after a view. */
void lesson_view_asked(
    struct offer_lessons *l, const struct exchange *x, const struct http_head *response);

#endif
