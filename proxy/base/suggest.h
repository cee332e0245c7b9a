/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean": finds, among known names, the one that a misspelt word is
 * nearest to. Keeps nothing but pointers: the word and the items must outlive the search.
 */
#ifndef PUSHGATE_BASE_SUGGEST_H
#define PUSHGATE_BASE_SUGGEST_H

#include "proxy/base/slice.h"

struct suggestion {
	struct slice word;
	unsigned distance; /* edits to the nearest name */
	const void *item;  /* what belongs to that name; NULL: none is near enough */
	/* The beginning of a name is not far from it, however much is missing. */
	bool takes_beginning;
};

/* A short word resembles a name that is one edit away, a longer one also one that is two. */
struct suggestion suggest_for(struct slice word);
/* Compares a name. True: it is nearer than those before, and the item is kept. */
bool suggest_compare(struct suggestion *s, struct slice name, const void *item);

/* A name as options are spelt: in lower case, with '-' for '_', cut to the buffer. */
#define SUGGEST_NAME_BYTES 63
struct slice suggest_fold(struct slice word, char buffer[SUGGEST_NAME_BYTES]);

#endif
