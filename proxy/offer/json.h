/* SPDX-License-Identifier: MIT */
/*
 * Private to offer/: reads JSON files of a bounded size, and reports mistakes by line and column.
 * jansson parses; it does not keep the positions of members. The position of a bad member is therefore
 * searched in the text again, by the member's index at each level.
 */
#ifndef PUSHGATE_OFFER_JSON_H
#define PUSHGATE_OFFER_JSON_H

#include "proxy/base/slice.h"
#include <jansson.h>
#include <stdio.h>

enum { OFFER_JSON_MISTAKES = 20 }; /* reported for one file */

struct offer_json {
	struct slice text;
	const char *name; /* of the file, for messages */
	FILE *errors;
	size_t mistakes;
};

/* Reads a regular file of at most `most` bytes; *text is from malloc. False: `errors` has one line. */
bool offer_json_read(const char *path, size_t most, char **text, size_t *length, FILE *errors);

/* NULL: `errors` has one line. A key that occurs twice in an object is a mistake. The root may be of any
 * type. */
json_t *offer_json_parse(struct offer_json *j);

/*
 * Reports a mistake at the key of a member. index: the member's position in the root, in the member
 * there, and so on; depth 0 means the root itself. After OFFER_JSON_MISTAKES reports it only counts.
 */
void offer_json_mistake(struct offer_json *j, const size_t *index, size_t depth, const char *format,
    ...) __attribute__((format(printf, 4, 5)));

/* A key as a message may show it: shortened, without control characters. For "%s". */
struct offer_json_word {
	char text[80];
};
struct offer_json_word offer_json_word(const char *word);

#endif
