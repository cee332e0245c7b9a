/* SPDX-License-Identifier: MIT */
/* Paths as a tree of segments: which lie below a prefix, and which climb above it; see path.h. */
#include "proxy/http/path.h"

#include "proxy/base/ascii.h"

bool http_path_is_below(struct slice path, struct slice prefix)
{
	if (!slice_starts_with(path, prefix) || path.len == 0 || path.ptr[0] != '/')
		return false;
	return path.len == prefix.len || path.ptr[prefix.len] == '/' || path.ptr[prefix.len] == '?';
}

/* A hexadecimal digit, which may be percent-encoded itself; advances *at. -1: there is none. */
static int next_digit(struct slice path, size_t *at)
{
	int byte = ascii_percent_byte(slice_from(path, *at));
	char c = byte >= 0 ? (char)byte : *at < path.len ? path.ptr[*at] : '\0';
	*at += byte >= 0 ? 3 : 1;
	return ascii_hex_value(c);
}

/* The number of so many digits; advances *at. -1: there are not so many. */
static int next_digits(struct slice path, size_t *at, unsigned count)
{
	size_t end = *at;
	int number = 0;
	for (unsigned i = 0; i < count; i++) {
		int digit = next_digit(path, &end);
		if (digit < 0)
			return -1;
		number = number << 4 | digit;
	}
	*at = end;
	return number;
}

/* The next byte, decoded as often as it is encoded; advances *at. */
static uint8_t next_byte(struct slice path, size_t *at)
{
	int byte = (uint8_t)path.ptr[(*at)++], inner;
	while (byte == '%' && (inner = next_digits(path, at, 2)) >= 0)
		byte = inner;
	return (uint8_t)byte;
}

/* What follows "%u"; 0xff: no ASCII. */
static uint8_t next_unicode(struct slice path, size_t *at)
{
	size_t end = *at;
	if (end == path.len || (next_byte(path, &end) | 0x20) != 'u')
		return '%';
	int number = next_digits(path, &end, 4);
	if (number < 0)
		return '%';
	*at = end;
	return number < 0x80 ? (uint8_t)number : 0xff;
}

/* What follows the first byte of a character in more bytes of UTF-8 than it needs; that byte: it is none, or no ASCII. */
static uint8_t next_overlong(struct slice path, size_t *at, uint8_t lead)
{
	unsigned more = lead < 0xe0 ? 1 : lead == 0xe0 ? 2 : 3;
	uint32_t number = lead < 0xe0 ? lead & 1 : 0;
	size_t end = *at;
	for (unsigned i = 0; i < more; i++) {
		uint8_t byte = end < path.len ? next_byte(path, &end) : 0;
		if ((byte & 0xc0) != 0x80)
			return lead;
		number = number << 6 | (byte & 0x3f);
	}
	if (number >= 0x80)
		return lead;
	*at = end;
	return (uint8_t)number;
}

/* The next character of a path as those read it that decode most; advances *at. */
static uint8_t next_char(struct slice path, size_t *at)
{
	uint8_t c = next_byte(path, at);
	if (c == '%')
		return next_unicode(path, at);
	bool is_lead = c == 0xc0 || c == 0xc1 || c == 0xe0 || c == 0xf0;
	return is_lead ? next_overlong(path, at, c) : c;
}

/* A part of a path that is read byte by byte; behind the first ";" parameters follow, which do not count. */
struct part {
	size_t dots, others;
	bool in_parameter;
};

static void add_char(struct part *p, uint8_t c)
{
	p->in_parameter = p->in_parameter || c == ';';
	p->dots += !p->in_parameter && c == '.';
	p->others += !p->in_parameter && c != '.';
}

static bool is_parent(const struct part *p)
{
	return p->dots == 2 && p->others == 0;
}

static bool ends_part(uint8_t c)
{
	return c == '/' || c == '\\' || c == '\0';
}

/* The next part, up to a byte that some server takes for the end of a segment, or of the path (NUL). */
static struct part next_part(struct slice path, size_t *at)
{
	struct part part = {0};
	uint8_t c;
	while (*at < path.len && !ends_part(c = next_char(path, at)))
		add_char(&part, c);
	return part;
}

/* Of the parts of one segment the first alone counts as a step down: a server that decodes nothing sees but one
 * in "a%2fb". */
bool http_path_climbs(struct slice path)
{
	size_t depth = 0, at = 0;
	bool is_first = true;
	path = slice_sub(path, 0, slice_find(path, '?'));
	while (at < path.len) {
		struct part part = next_part(path, &at);
		if (part.others > 0 || part.dots > 2)
			depth += is_first;
		else if (is_parent(&part) && depth-- == 0)
			return true;
		is_first = path.ptr[at - 1] == '/'; /* each server ends the segment there */
	}
	return false;
}

/* ---- the path as a server may read it ---- */

static char decoded_byte(struct slice path, size_t *at)
{
	int byte = ascii_percent_byte(slice_from(path, *at));
	char c = byte >= 0 ? (char)byte : path.ptr[*at];
	*at += byte >= 0 ? 3 : 1;
	return c;
}

static char decoded_char(struct slice path, size_t *at)
{
	char c = decoded_byte(path, at);
	return c == '\\' ? '/' : c;
}

/* Copies a segment without its parameters. False: it was the last one. */
static bool copy_segment(struct slice path, size_t *at, char *out, size_t *n)
{
	bool has_parameter = false;
	while (*at < path.len) {
		char c = decoded_char(path, at);
		if (c == '/')
			return true;
		has_parameter = has_parameter || c == ';';
		if (!has_parameter)
			out[(*n)++] = c;
	}
	return false;
}

struct slice http_path_plain(struct slice path, char *out)
{
	size_t n = 0, at = 1;
	path = slice_sub(path, 0, slice_find(path, '?'));
	if (path.len == 0 || path.ptr[0] != '/')
		return path;
	for (;;) {
		size_t start = n;
		out[n++] = '/';
		bool is_last = !copy_segment(path, &at, out, &n);
		struct slice segment = slice_of(out + start + 1, n - start - 1);
		bool is_parent = slice_equal(segment, SLICE(".."));
		bool is_gone = is_parent || segment.len == 0 || slice_equal(segment, SLICE("."));
		if (is_gone)
			n = start;
		while (is_parent && n > 0 && out[--n] != '/')
			continue;
		if (!is_last)
			continue;
		if (is_gone)
			out[n++] = '/';
		return slice_of(out, n);
	}
}

/* ---- spellings that servers read differently ---- */

/* Of the bytes that were decoded last; 0 is the very last one. */
static uint8_t nth_last(uint64_t decoded, unsigned n)
{
	return (uint8_t)(decoded >> 8 * n);
}

static bool ends_in_digits(uint64_t decoded, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!ascii_is((char)nth_last(decoded, i), ASCII_HEX))
			return false;
	return true;
}

/* Two bytes with which UTF-8 would write a character in more bytes than it needs (RFC 3629 3, 10): of "%c0%ae" some
 * decoders make a dot. */
static bool ends_in_overlong(uint64_t decoded)
{
	uint8_t lead = nth_last(decoded, 1), next = nth_last(decoded, 0);
	if ((next & 0xc0) != 0x80)
		return false;
	return lead == 0xc0 || lead == 0xc1 || (lead == 0xe0 && next < 0xa0) ||
	       (lead == 0xf0 && next < 0x90);
}

/*
 * Whether decoders disagree about the path: it has percent-encoding when it is decoded ("%2561"), or "%u0061", which
 * is none in RFC 3986, or an overlong character, or a NUL, at which a text in C ends.
 */
static bool has_more_decodings(struct slice path)
{
	uint64_t decoded = 0;
	for (size_t at = 0; at < path.len;) {
		uint8_t c = (uint8_t)decoded_byte(path, &at);
		decoded = decoded << 8 | c;
		if (c == '\0' || ends_in_overlong(decoded))
			return true;
		if (ends_in_digits(decoded, 2) && nth_last(decoded, 2) == '%')
			return true;
		if (ends_in_digits(decoded, 4) && (nth_last(decoded, 4) | 0x20) == 'u' &&
		    nth_last(decoded, 5) == '%')
			return true;
	}
	return false;
}

bool http_path_is_ambiguous(struct slice path)
{
	struct part segment = {0};
	bool has_parent = false, is_plain = true;
	size_t at = 1;
	path = slice_sub(path, 0, slice_find(path, '?'));
	if (path.len < 2 || path.ptr[0] != '/')
		return false;
	if (path.ptr[1] == '/' || path.ptr[1] == '\\')
		return true;
	if (slice_find(path, '%') < path.len && has_more_decodings(path))
		return true;
	while (at < path.len) {
		char sent = path.ptr[at], before = path.ptr[at - 1];
		char c = decoded_char(path, &at);
		is_plain = is_plain && sent == c && sent != '%' && c != ';' &&
			   !(c == '/' && before == '/');
		if (c != '/') {
			add_char(&segment, (uint8_t)c);
			continue;
		}
		if (sent != '/' && segment.in_parameter) /* is it in the parameter, or behind it? */
			return true;
		has_parent = has_parent || is_parent(&segment);
		segment = (struct part){0};
	}
	return (has_parent || is_parent(&segment)) && !is_plain;
}
