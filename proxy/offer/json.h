/* SPDX-License-Identifier: MIT */
/*
 * Private to offer/: files of JSON, read whole and within a bound, and mistakes in them told by line and column.
 * jansson does the parsing; it keeps no positions of what it has accepted, so those of members that turn out to be wrong
 * are looked up in the text again, by their index at each level.
 */
#ifndef PUSHGATE_OFFER_JSON_H
#define PUSHGATE_OFFER_JSON_H

#include "proxy/base/slice.h"
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

enum { OFFER_JSON_MISTAKES = 20 }; /* reported for one file */

struct offer_json {
	struct slice text;
	const char *name; /* of the file */
	FILE *errors;
	size_t mistakes;
};

/*
 * The whole of a regular file of at most `most` bytes, from malloc. False: one line in `errors`. *status is the file
 * that was read, or (false) what stands there as far as it can be seen, else all zeros.
 */
bool offer_json_read(
    const char *path, size_t most, char **text, size_t *length, struct stat *status, FILE *errors);

/* NULL after one mistake. Doubled keys are one. What the root is has not been looked at. */
json_t *offer_json_parse(struct offer_json *j);

/*
 * Tells of one mistake, at the key of a member: its index in the root, in the member there, and so on. depth 0 means
 * the root itself. Beyond OFFER_JSON_MISTAKES it only counts.
 */
void offer_json_mistake(struct offer_json *j, const size_t *index, size_t depth, const char *format,
    ...) __attribute__((format(printf, 4, 5)));

/* Cut to what a line of a log can bear. For "%s". */
struct offer_json_word {
	char text[80];
};
struct offer_json_word offer_json_word(const char *word);

#endif
