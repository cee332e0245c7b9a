/* SPDX-License-Identifier: MIT */
/*
 * Slice functions that are too long to inline: comparing without case, trimming, and reading lists
 * (RFC 9110 5.6). Nothing here allocates or copies.
 */
#include "proxy/base/slice.h"

#include "proxy/base/ascii.h"

bool slice_equal_nocase(struct slice a, struct slice b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++) {
		char x = a.ptr[i], y = b.ptr[i];
		if (x != y && ascii_lower(x) != ascii_lower(y))
			return false;
	}
	return true;
}

size_t slice_find(struct slice s, char byte)
{
	if (s.len == 0)
		return 0;
	const char *at = memchr(s.ptr, byte, s.len);
	return at ? (size_t)(at - s.ptr) : s.len;
}

struct slice slice_cut(struct slice *rest, char stop)
{
	struct slice part = slice_sub(*rest, 0, slice_find(*rest, stop));
	*rest = slice_from(*rest, part.len + 1);
	return part;
}

struct slice slice_trim(struct slice s)
{
	while (s.len > 0 && ascii_is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len > 0 && ascii_is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

/* The length of the part that starts at 0: up to a mark outside quotes, or to the end. */
static size_t part_length(struct slice s, char mark)
{
	bool is_quoted = false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && s.ptr[i] == '\\' && i + 1 < s.len)
			i++;
		else if (!is_quoted && s.ptr[i] == mark)
			return i;
	}
	return s.len;
}

static bool next_part(struct slice *rest, struct slice *part, char mark)
{
	while (rest->len > 0) {
		size_t length = part_length(*rest, mark);
		*part = slice_trim(slice_sub(*rest, 0, length));
		*rest = slice_from(*rest, length < rest->len ? length + 1 : length);
		if (part->len > 0)
			return true;
	}
	return false;
}

bool slice_next_member(struct slice *rest, struct slice *member)
{
	return next_part(rest, member, ',');
}

bool slice_next_parameter(struct slice *rest, struct slice *parameter)
{
	return next_part(rest, parameter, ';');
}

bool slice_to_number(struct slice s, uint64_t max, uint64_t *value)
{
	uint64_t sum = 0;
	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned digit = (unsigned)(unsigned char)s.ptr[i] - '0';
		if (digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, digit, &sum))
			return false;
	}
	if (sum > max)
		return false;
	*value = sum;
	return true;
}

unsigned slice_distance(struct slice a, struct slice b, unsigned most)
{
	unsigned row[64];

	if (a.len >= 64 || b.len >= 64)
		return most + 1;
	for (unsigned j = 0; j <= b.len; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a.len; i++) {
		unsigned diagonal = row[0];
		row[0] = i;
		for (unsigned j = 1; j <= b.len; j++) {
			unsigned change = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
			unsigned shorter = row[j - 1] < row[j] ? row[j - 1] : row[j];
			diagonal = row[j];
			row[j] = change < shorter + 1 ? change : shorter + 1;
		}
	}
	return row[b.len] <= most ? row[b.len] : most + 1;
}
