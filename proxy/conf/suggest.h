/* SPDX-License-Identifier: MIT */
/*
 * Private to conf/: "did you mean". Finds, among known names, the one that a misspelt word is
 * nearest to. Keeps nothing but pointers: the word and the items must outlive the search.
 */
#ifndef PUSHGATE_CONF_SUGGEST_H
#define PUSHGATE_CONF_SUGGEST_H

#include "proxy/base/slice.h"

struct suggestion {
	struct slice word;
	unsigned distance; /* edits to the nearest name; more than `most`: no name is near enough */
	const void *item;  /* what belongs to that name; NULL: none is near enough */
};

/* The most edits between a word and a name that it resembles. */
unsigned suggest_most(struct slice word);
struct suggestion suggest_for(struct slice word);
/* Compares a name. True: it is nearer than those before, and the item is kept. */
bool suggest_compare(struct suggestion *s, struct slice name, const void *item);

/* A name as options are spelt: in lower case, with '-' for '_', cut to the buffer. */
#define SUGGEST_NAME_BYTES 63
struct slice suggest_fold(struct slice word, char buffer[SUGGEST_NAME_BYTES]);

#endif
