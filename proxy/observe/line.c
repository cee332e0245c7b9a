/* SPDX-License-Identifier: MIT */
/*
 * Escapes values and formats numbers and dates for log lines (RFC 8259 7, RFC 3629 4, RFC 3339
 * 5.6). Most values need no escape, so bytes are checked and copied eight at a time.
 */
#include "proxy/observe/line.h"
#include "proxy/base/utf8.h"

/* "…" */
#define ELLIPSIS "\xe2\x80\xa6"

#define EVERY_BYTE(n) (0x0101010101010101u * (uint64_t)(n))

static const char hex_digits[16] = "0123456789abcdef";

static char *put_digits(char *end, uint64_t n)
{
	do {
		*--end = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return end;
}

void line_number(struct line *l, uint64_t n)
{
	char digits[2 * LINE_NUMBER_BYTES];
	char *end = digits + LINE_NUMBER_BYTES;
	char *from = put_digits(end, n);
	memcpy(l->at, from, LINE_NUMBER_BYTES); /* faster than a copy of the right length */
	l->at += end - from;
}

void line_padded(struct line *l, uint32_t n, uint32_t digits)
{
	for (uint32_t i = digits; i > 0; i--, n /= 10)
		l->at[i - 1] = (char)('0' + n % 10);
	l->at += digits;
}

static bool any_zero(uint64_t word)
{
	return ((word - EVERY_BYTE(1)) & ~word & EVERY_BYTE(0x80)) != 0;
}

/* True if none of the eight bytes is a control, DEL, a quote, a backslash or above ASCII. */
static bool need_no_escape(uint64_t word)
{
	bool has_control = ((word - EVERY_BYTE(0x20)) & ~word & EVERY_BYTE(0x80)) != 0;
	return !has_control && !(word & EVERY_BYTE(0x80)) && !any_zero(word ^ EVERY_BYTE('"')) &&
	       !any_zero(word ^ EVERY_BYTE('\\')) && !any_zero(word ^ EVERY_BYTE(0x7f));
}

struct style {
	char escape[5]; /* before the two hexadecimal digits */
	uint8_t escape_len;
	bool quotes; /* `"` needs a backslash */
};

static const struct style style_json = {"\\u00", 4, true};
static const struct style style_plain = {"\\x", 2, false};

/* Writes the character at p, or its escape, to unit. Returns how many input bytes it stands for. */
static size_t next_unit(
    const uint8_t *p, size_t left, const struct style *style, char unit[8], size_t *unit_len)
{
	size_t used = 1;
	if (p[0] >= 0x80)
		used = utf8_length(p, left);
	if (used == 0 || p[0] < 0x20 || p[0] == 0x7f) {
		memcpy(unit, style->escape, style->escape_len);
		unit[style->escape_len] = hex_digits[p[0] >> 4];
		unit[style->escape_len + 1] = hex_digits[p[0] & 15];
		*unit_len = style->escape_len + 2u;
		return 1;
	}
	size_t n = 0;
	if (p[0] == '\\' || (p[0] == '"' && style->quotes))
		unit[n++] = '\\';
	memcpy(unit + n, p, used);
	*unit_len = n + used;
	return used;
}

/* Copies the last bytes of a value, 1 to 7, if none of them needs an escape. */
static bool put_last(struct line *l, const uint8_t *p, size_t n)
{
	if (n >= sizeof(uint32_t)) {
		uint32_t head, tail; /* they overlap */
		memcpy(&head, p, sizeof(head));
		memcpy(&tail, p + n - sizeof(tail), sizeof(tail));
		if (!need_no_escape((uint64_t)head << 32 | tail))
			return false;
		memcpy(l->at, &head, sizeof(head));
		memcpy(l->at + n - sizeof(tail), &tail, sizeof(tail));
	} else {
		uint8_t first = p[0], middle = p[n / 2], last = p[n - 1];
		uint64_t word =
		    EVERY_BYTE('a') << 24 | (uint64_t)first << 16 | (uint64_t)middle << 8 | last;
		if (!need_no_escape(word))
			return false;
		l->at[0] = (char)first;
		l->at[n / 2] = (char)middle;
		l->at[n - 1] = (char)last;
	}
	l->at += n;
	return true;
}

static void put_value(struct line *l, struct slice value, size_t most, const struct style *style)
{
	const uint8_t *p = (const uint8_t *)value.ptr;
	size_t left = value.len;
	size_t room = most - (sizeof(ELLIPSIS) - 1);
	while (left > 0) {
		uint64_t word;
		if (left >= sizeof(word) && room >= sizeof(word)) {
			memcpy(&word, p, sizeof(word));
			if (need_no_escape(word)) {
				memcpy(l->at, &word, sizeof(word));
				l->at += sizeof(word);
				p += sizeof(word);
				left -= sizeof(word);
				room -= sizeof(word);
				continue;
			}
		} else if (left < sizeof(word) && room >= sizeof(word) && put_last(l, p, left)) {
			return;
		}
		char unit[8];
		size_t unit_len;
		size_t used = next_unit(p, left, style, unit, &unit_len);
		if (unit_len > room) {
			LINE_LITERAL(l, ELLIPSIS);
			l->was_cut = true;
			return;
		}
		line_text(l, slice_of(unit, unit_len));
		p += used;
		left -= used;
		room -= unit_len;
	}
}

void line_json(struct line *l, struct slice value, size_t most)
{
	put_value(l, value, most, &style_json);
}

void line_plain(struct line *l, struct slice value, size_t most)
{
	put_value(l, value, most, &style_plain);
}

/* Writes the date of a day since 1970-01-01. Years begin in March here: the leap day is the last one. */
static void put_date(struct line *l, uint64_t days)
{
	uint64_t since_0000 = days + 719468;
	uint64_t era = since_0000 / 146097, day_of_era = since_0000 % 146097;
	uint64_t year_of_era =
	    (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	uint64_t day_of_year =
	    day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	uint64_t shifted = (5 * day_of_year + 2) / 153;
	uint64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
	uint64_t year = era * 400 + year_of_era + (month <= 2);
	line_padded(l, (uint32_t)year, 4);
	LINE_LITERAL(l, "-");
	line_padded(l, (uint32_t)month, 2);
	LINE_LITERAL(l, "-");
	line_padded(l, (uint32_t)(day_of_year - (153 * shifted + 2) / 5 + 1), 2);
}

static void cache_second(struct observe *o, uint64_t second)
{
	struct line l = {.at = o->second_text};
	uint32_t of_day = (uint32_t)(second % 86400);
	put_date(&l, second / 86400);
	LINE_LITERAL(&l, "T");
	line_padded(&l, of_day / 3600, 2);
	LINE_LITERAL(&l, ":");
	line_padded(&l, of_day / 60 % 60, 2);
	LINE_LITERAL(&l, ":");
	line_padded(&l, of_day % 60, 2);
	LINE_LITERAL(&l, ".");
	o->second = second;
}

void line_time(struct line *l, struct observe *o, usec wall)
{
	uint64_t second = wall / USEC_PER_SEC;
	if (o->second != second || !o->second_text[0])
		cache_second(o, second);
	line_text(l, slice_of(o->second_text, sizeof(o->second_text)));
	line_padded(l, (uint32_t)(wall % USEC_PER_SEC / USEC_PER_MSEC), 3);
	LINE_LITERAL(l, "Z");
}
