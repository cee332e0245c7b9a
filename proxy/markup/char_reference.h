/* SPDX-License-Identifier: MIT */
/*
 * Character references in attributes' values and text (HTML standard 13.2.5.72), byte by byte.
 *
 * Of the names, those are known that stand for ASCII, and those that need no semicolon. An unknown
 * name with a semicolon is left as it stands, and the result is marked: 2,000 more names are for signs
 * that no reference to a resource has.
 */
#ifndef PUSHGATE_MARKUP_CHAR_REFERENCE_H
#define PUSHGATE_MARKUP_CHAR_REFERENCE_H

#include "proxy/base/slice.h"

struct markup_char_reference {
	uint8_t state;
	uint8_t length;
	bool is_unclear; /* when it is over: it may have been a name that is not known here */
	uint32_t code;
	char text[36]; /* what was read; when it is over, what it stands for */
};

enum markup_char_result {
	MARKUP_CHAR_MORE,
	MARKUP_CHAR_OVER, /* the byte was its last one */
	MARKUP_CHAR_AGAIN /* the byte is no part of it */
};

/* Behind "&". */
void markup_char_reference_begin(struct markup_char_reference *r);
enum markup_char_result markup_char_reference_read(
    struct markup_char_reference *r, unsigned char c);

static inline struct slice markup_char_reference_text(const struct markup_char_reference *r)
{
	return slice_of(r->text, r->length);
}

/* Writes a character in UTF-8, 1 to 4 bytes. */
size_t markup_utf8_write(char *to, uint32_t code);

#endif
