/* SPDX-License-Identifier: MIT */
/*
 * Private to remembered/: the form of the messages.
 *
 *     struct teaching_head │ authority path vary rule query variant target │ { struct teaching_item, its three texts }
 *
 * Both ends are processes of one program on one machine: numbers are in its order of bytes. The reader believes nothing.
 */
#ifndef PUSHGATE_REMEMBERED_MESSAGE_H
#define PUSHGATE_REMEMBERED_MESSAGE_H

#include "proxy/remembered/remembered_private.h"

enum teaching_kind { TEACHING_LESSON = 1, TEACHING_ADDITION, TEACHING_OUTCOME, TEACHING_NEXT };

enum teaching_text {
	TEACHING_AUTHORITY,
	TEACHING_PATH,
	/* Not of an addition: the view that it belongs to has them. */
	TEACHING_VARY,
	TEACHING_RULE,
	TEACHING_QUERY,
	TEACHING_VARIANT,
	TEACHING_TARGET, /* of an outcome alone */
	TEACHING_TEXTS
};

/* Neither struct has padding, in which old memory would leave the process. */
struct teaching_head {
	uint64_t client, cookie, input, version, set; /* as in struct remembered_vote */
	uint16_t lengths[TEACHING_TEXTS];
	uint8_t kind, outcome, is_https, is_guarded;
	uint8_t unused[6];
};
struct teaching_item {
	uint16_t target_len;
	uint8_t as_len, attributes_len;
	uint8_t source, rel, crossorigin;
	uint8_t unused;
};
_Static_assert(sizeof(struct teaching_head) == 40 + 2 * TEACHING_TEXTS + 10, "padding");
_Static_assert(sizeof(struct teaching_item) == 8, "padding");

/* message.c */

/* A message that is written into room of this size. is_full: something had no room; then the message is none. */
struct teaching_writer {
	uint8_t *bytes;
	size_t length, capacity;
	bool is_full;
};
void teaching_put(struct teaching_writer *w, const void *bytes, size_t length);
/* The head is written again when the message is complete. */
void teaching_put_text(struct teaching_writer *w, struct teaching_head *head,
    enum teaching_text text, struct slice bytes);
void teaching_put_item(struct teaching_writer *w, const struct remembered_item *item);
size_t teaching_item_bytes(const struct remembered_item *item);
/* Cuts the next item off, which may be none that a page may have (item_is_good). False: malformed. */
bool teaching_cut_item(struct slice *rest, struct remembered_item *item);

/* The length of the message; 0: it is none. */
size_t teaching_finish(struct teaching_writer *w, const struct teaching_head *head);

/* next.c: a client has gone from the page of that name to the item. */
void next_take(struct remembered *m, const struct place_name *name, struct slice query,
    const struct teaching_head *head, const struct remembered_item *item, usec now);

/* remembered_take with the answer to a lesson. now: in the time of the memory. */
const char *teaching_take(
    struct remembered *m, struct slice message, enum remembered_answer *answer, usec now);

#endif
