/* SPDX-License-Identifier: MIT */
/*
 * A slice: a borrowed run of bytes. It owns nothing and is not NUL-terminated.
 * Passed by value. The empty slice may have any pointer, NULL included.
 */
#ifndef PUSHGATE_BASE_SLICE_H
#define PUSHGATE_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const char *ptr;
	size_t len;
};

/* A slice of a string literal, usable in constant tables and in expressions. */
#define SLICE_INIT(literal)                                                                        \
	{                                                                                          \
		"" literal, sizeof(literal) - 1                                                    \
	}
#define SLICE(literal) ((struct slice)SLICE_INIT(literal))

/* printf("%.*s", SLICE_ARG(s)) */
#define SLICE_ARG(s) (int)(s).len, (s).ptr

static inline struct slice slice_of(const void *ptr, size_t len)
{
	return (struct slice){ptr, len};
}

static inline struct slice slice_of_string(const char *string)
{
	return (struct slice){string, strlen(string)};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* The order of two texts by their bytes: below 0, 0 or above 0. */
static inline int slice_compare(struct slice a, struct slice b)
{
	size_t shorter = a.len < b.len ? a.len : b.len;
	int order = shorter > 0 ? memcmp(a.ptr, b.ptr, shorter) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* The bytes [from, from+len), as far as s has them. */
static inline struct slice slice_sub(struct slice s, size_t from, size_t len)
{
	if (from > s.len)
		from = s.len;
	if (len > s.len - from)
		len = s.len - from;
	return (struct slice){s.len ? s.ptr + from : s.ptr, len};
}

static inline struct slice slice_from(struct slice s, size_t from)
{
	return slice_sub(s, from, s.len);
}

/* For a reader that cuts what it has read off the front: the first byte, NUL if there is none. */
static inline char slice_peek(struct slice s)
{
	return s.len > 0 ? s.ptr[0] : '\0';
}
static inline void slice_skip(struct slice *s, size_t n)
{
	*s = slice_from(*s, n);
}

static inline bool slice_starts_with(struct slice s, struct slice prefix)
{
	return s.len >= prefix.len && slice_equal(slice_sub(s, 0, prefix.len), prefix);
}

/* Ignores the case of ASCII letters only (RFC 9110 5.6.2: tokens and names). */
bool slice_equal_nocase(struct slice a, struct slice b);

/* Position of the first such byte, or s.len. */
size_t slice_find(struct slice s, char byte);

/* Cuts the part before the next `stop` off, or all if there is none; *rest goes on behind the stop. */
struct slice slice_cut(struct slice *rest, char stop);

/* Without leading and trailing SP and HTAB (RFC 9110 5.6.3 OWS). */
struct slice slice_trim(struct slice s);

/*
 * Cuts the next member off a comma-separated list (RFC 9110 5.6.1) and advances *rest. Skips empty
 * members; does not split quoted strings. False at the end of the list.
 */
bool slice_next_member(struct slice *rest, struct slice *member);
/* The same with the parameters of a member, which semicolons separate (RFC 9110 5.6.6, RFC 7239 4). */
bool slice_next_parameter(struct slice *rest, struct slice *parameter);

/* Parses a decimal number without sign, in the form of RFC 9110 8.6, of at most `max`. */
bool slice_to_number(struct slice s, uint64_t max, uint64_t *value);

/* Whether the text is a member of a list. */
static inline bool slice_is_among(struct slice s, const struct slice *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (slice_equal(list[i], s))
			return true;
	return false;
}

/* Number of single-byte edits between two short texts; `most` + 1 stands for all larger numbers. */
unsigned slice_distance(struct slice a, struct slice b, unsigned most);

#endif
