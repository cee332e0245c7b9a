/* SPDX-License-Identifier: MIT */
/*
 * Recognizes a peer that answers in HTTP/1 where HTTP/2 was to begin, by the first bytes that it
 * sends: "HTTP/1.". Not a parser; the text is for people to read.
 */
#ifndef PUSHGATE_HTTP_STATUS_LINE_H
#define PUSHGATE_HTTP_STATUS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STATUS_LINE_BYTES 48u

struct status_line {
	char text[STATUS_LINE_BYTES + 1]; /* the first line, or its beginning; printable */
	uint8_t length;
	bool has_ended;
};

/* Takes the next bytes. */
static inline void status_line_add(struct status_line *l, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n && !l->has_ended && l->length < STATUS_LINE_BYTES; i++) {
		l->has_ended = bytes[i] == '\r' || bytes[i] == '\n';
		if (!l->has_ended)
			l->text[l->length++] =
			    bytes[i] >= 0x20 && bytes[i] < 0x7f ? (char)bytes[i] : '?';
	}
}

/* It is an HTTP/1 status line, as far as it has come. */
static inline bool status_line_is_http1(const struct status_line *l)
{
	static const char begin[] = "HTTP/1.";
	return l->length >= strlen(begin) && memcmp(l->text, begin, strlen(begin)) == 0;
}

#endif
