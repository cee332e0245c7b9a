/* SPDX-License-Identifier: MIT */
/*
 * Writes one log line into memory that the caller knows to suffice: plain text, numbers, and
 * escaped values of bounded length. It does not use snprintf, because a line of the access log is written for
 * every exchange. Private to observe/.
 */
#ifndef PUSHGATE_OBSERVE_LINE_H
#define PUSHGATE_OBSERVE_LINE_H

#include "proxy/base/slice.h"
#include "proxy/observe/observe.h"
#include <stdarg.h>

/* line_number copies so many bytes, whatever it writes. */
#define LINE_NUMBER_BYTES 20u

struct line {
	char *at;     /* LINE_NUMBER_BYTES more may be written here than the line needs */
	bool was_cut; /* a value did not fit into its bound */
};

static inline void line_text(struct line *l, struct slice s)
{
	memcpy(l->at, s.ptr, s.len);
	l->at += s.len;
}

#define LINE_LITERAL(l, literal) line_text((l), SLICE(literal))

void line_number(struct line *l, uint64_t n);
/* Writes n with exactly `digits` digits. */
void line_padded(struct line *l, uint32_t n, uint32_t digits);

/*
 * Writes the inside of a JSON string (RFC 8259 7) of at most `most` bytes. Controls and bytes that
 * are not UTF-8 become \\u00XX. A value that is too long is cut between characters and ends in "…".
 */
void line_json(struct line *l, struct slice value, size_t most);
/* The same for lines that people read: escapes are \\xXX, and quotes are not escaped. */
void line_plain(struct line *l, struct slice value, size_t most);

/* The longest line of the error log. */
#define OBSERVE_LINE_TEXT_BYTES 1000u
#define OBSERVE_LINE_BYTES (OBSERVE_LINE_TEXT_BYTES + 100)
/* Makes a line of the error log, and returns its length. */
size_t observe_format(char buffer[OBSERVE_LINE_BYTES], struct observe *o, enum observe_level level,
    bool is_journal, const char *format, va_list args);

/* Writes "2026-01-02T03:04:05.678Z" (RFC 3339). `o` caches the text of the second. */
void line_time(struct line *l, struct observe *o, usec wall);

#endif
