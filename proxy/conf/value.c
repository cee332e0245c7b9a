/* SPDX-License-Identifier: MIT */
/* Converts texts to values and back; see value.h. */
#include "proxy/conf/value.h"
#include "proxy/base/ascii.h"
#include "proxy/conf/conf.h"
#include <inttypes.h>
#include <stdio.h>

struct unit {
	/* Separated by spaces; the first is used to format. NULL: values are not written with this unit. */
	const char *words;
	const char *meant; /* other words that people write for it */
	uint64_t factor;
};

/* Largest first: formatting uses the first unit that divides the value. The last row has no factor. */
static const struct unit size_units[] = {
    {NULL, "t tb tib", UINT64_C(1) << 40},
    {"G GiB GB", "", 1u << 30},
    {"M MiB MB", "", 1u << 20},
    {"k KiB KB", "", 1u << 10},
    {"", "b byte bytes", 1},
    {0},
};
static const struct unit time_units[] = {
    {NULL, "w week weeks", 604800 * USEC_PER_SEC},
    {NULL, "d day days", 86400 * USEC_PER_SEC},
    {"h", "hour hours", 3600 * USEC_PER_SEC},
    {"m", "min minute minutes", 60 * USEC_PER_SEC},
    {"s", "sec second seconds", USEC_PER_SEC},
    {"ms", "msec milliseconds", USEC_PER_MSEC},
    {0},
};

/* Cuts the digits that a text begins with off it. */
static struct slice cut_digits(struct slice *text)
{
	struct slice number = slice_sub(*text, 0, ascii_span(*text, ASCII_DIGIT));
	*text = slice_from(*text, number.len);
	return number;
}

static bool value_scaled(struct slice text, const struct unit *u, uint64_t *value)
{
	uint64_t number;

	if (!slice_to_number(cut_digits(&text), UINT64_MAX, &number))
		return false;
	struct slice unit = slice_trim(text);
	for (; u->factor; u++)
		if (u->words && (unit.len > 0 ? value_choice(unit, u->words) >= 0 : !u->words[0]))
			return !__builtin_mul_overflow(number, u->factor, value);
	return false;
}

static char *value_format(uint64_t value, const struct unit *u, char *buffer, size_t size)
{
	while (u[1].factor && (!u->words || value == 0 || value % u->factor != 0))
		u++;
	snprintf(buffer, size, "%" PRIu64 "%.*s", value / u->factor, (int)strcspn(u->words, " "),
	    u->words);
	return buffer;
}

bool value_cut_amount(struct slice *rest, bool is_time, uint64_t *amount, uint64_t *unit)
{
	uint64_t whole, fraction = 0, scale = 1;
	struct slice s = *rest;

	if (!slice_to_number(cut_digits(&s), UINT32_MAX, &whole))
		return false;
	if (s.len > 0 && s.ptr[0] == '.') {
		s = slice_from(s, 1);
		struct slice digits = cut_digits(&s);
		if (digits.len > 3 || !slice_to_number(digits, 999, &fraction))
			return false;
		for (size_t i = 0; i < digits.len; i++)
			scale *= 10;
	}
	s = slice_trim(s);
	struct slice word = slice_sub(s, 0, ascii_span(s, ASCII_ALPHA));
	for (const struct unit *u = is_time ? time_units : size_units; u->factor; u++) {
		if (value_choice(word, u->meant) < 0 &&
		    (!u->words || value_choice(word, u->words) < 0))
			continue;
		*amount = whole * u->factor + fraction * u->factor / scale;
		*rest = slice_trim(slice_from(s, word.len));
		*unit = u->factor;
		return whole < UINT64_MAX / 2 / u->factor;
	}
	return false;
}

bool value_size(struct slice text, uint64_t *bytes)
{
	return value_scaled(text, size_units, bytes);
}

bool value_time(struct slice text, usec *span)
{
	if (slice_equal(text, SLICE("0"))) {
		*span = 0;
		return true;
	}
	return value_scaled(text, time_units, span);
}

bool value_rate(struct slice text, uint32_t most, struct rate *rate)
{
	struct slice rest = text, word;
	uint64_t per_second, burst;

	if (value_next_word(&rest, &word) != VALUE_WORD || word.len < 2 ||
	    !slice_equal(slice_from(word, word.len - 2), SLICE("/s")) ||
	    !slice_to_number(slice_sub(word, 0, word.len - 2), most, &per_second))
		return false;
	burst = per_second <= most / 2 ? 2 * per_second : most;
	if (value_next_word(&rest, &word) == VALUE_WORD &&
	    !(slice_equal_nocase(word, SLICE("burst")) &&
		value_next_word(&rest, &word) == VALUE_WORD && slice_to_number(word, most, &burst)))
		return false;
	*rate = (struct rate){(uint32_t)per_second, (uint32_t)burst};
	return value_next_word(&rest, &word) == VALUE_END;
}

char *value_size_format(uint64_t bytes, char *buffer, size_t size)
{
	return value_format(bytes, size_units, buffer, size);
}

char *value_time_format(usec span, char *buffer, size_t size)
{
	if (span == 0) {
		snprintf(buffer, size, "0");
		return buffer;
	}
	return value_format(span, time_units, buffer, size);
}

int value_choice(struct slice word, const char *choices)
{
	struct slice rest = slice_of_string(choices), choice;
	for (int at = 0; value_next_word(&rest, &choice) == VALUE_WORD; at++)
		if (slice_equal_nocase(word, choice))
			return at;
	return -1;
}

static bool is_separator(char c)
{
	return c == ' ' || c == '\t' || c == ',';
}

static enum value_word value_quoted(struct slice *rest, struct slice *word)
{
	for (size_t i = 1; i < rest->len; i++) {
		if (rest->ptr[i] == '\\') {
			i++;
		} else if (rest->ptr[i] == '"') {
			*word = slice_sub(*rest, 1, i - 1);
			*rest = slice_from(*rest, i + 1);
			return VALUE_WORD;
		}
	}
	*word = *rest;
	*rest = slice_from(*rest, rest->len);
	return VALUE_UNCLOSED;
}

enum value_word value_next_word(struct slice *rest, struct slice *word)
{
	size_t end = 0;

	while (is_separator(slice_peek(*rest)))
		slice_skip(rest, 1);
	if (rest->len == 0)
		return VALUE_END;
	if (rest->ptr[0] == '"')
		return value_quoted(rest, word);
	while (end < rest->len && !is_separator(rest->ptr[end]))
		end++;
	*word = slice_sub(*rest, 0, end);
	*rest = slice_from(*rest, end);
	return VALUE_WORD;
}

#define PERCENT_WHOLE 10000u

bool value_percent(struct slice text, uint32_t *share)
{
	uint64_t whole, part = 0;

	if (text.len < 2 || text.ptr[text.len - 1] != '%')
		return false;
	text = slice_trim(slice_sub(text, 0, text.len - 1));
	size_t dot = slice_find(text, '.');
	struct slice fraction = slice_from(text, dot + 1);
	if (!slice_to_number(slice_sub(text, 0, dot), 100, &whole))
		return false;
	if (dot < text.len && (fraction.len > 2 || !slice_to_number(fraction, 99, &part)))
		return false;
	*share = (uint32_t)(whole * 100 + (fraction.len == 1 ? 10 * part : part));
	return *share <= PERCENT_WHOLE;
}

bool value_has_any(struct slice text, const char *bytes)
{
	for (size_t i = 0; i < text.len; i++)
		if (strchr(bytes, text.ptr[i]))
			return true;
	return false;
}

bool value_is_name(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (!ascii_is(c, ASCII_ALNUM) && c != '.' && c != '_' && c != '-')
			return false;
	}
	return text.len > 0;
}

bool value_is_dns_name(struct slice name)
{
	while (name.len > 0) {
		size_t length = slice_find(name, '.');
		if (length == 0 || length > 63)
			return false;
		name = slice_from(name, length < name.len ? length + 1 : length);
	}
	return true;
}

/* ---- times of a week: days and hours as bits, one for each minute ---- */

#define DAY_MINUTES (24u * 60)

/* "08:00", up to "24:00". */
static bool read_clock(struct slice text, unsigned *minute)
{
	uint64_t hour, rest;
	if (text.len != 5 || text.ptr[2] != ':' ||
	    !slice_to_number(slice_sub(text, 0, 2), 24, &hour) ||
	    !slice_to_number(slice_from(text, 3), 59, &rest))
		return false;
	*minute = (unsigned)(60 * hour + rest);
	return *minute <= DAY_MINUTES;
}

/* "mon" or "mon-fri"; "sat-mon" goes over the end of the week. */
static bool read_days(struct slice text, unsigned *first, unsigned *count)
{
	static const char days[] = "mon tue wed thu fri sat sun";
	size_t dash = slice_find(text, '-');
	int from = value_choice(slice_sub(text, 0, dash), days);
	int to = dash < text.len ? value_choice(slice_from(text, dash + 1), days) : from;
	if (from < 0 || to < 0)
		return false;
	*first = (unsigned)from;
	*count = (unsigned)((to - from + 7) % 7) + 1;
	return true;
}

static bool read_hours(struct slice text, unsigned *from, unsigned *count)
{
	unsigned to;
	size_t dash = slice_find(text, '-');
	if (dash == text.len || !read_clock(slice_sub(text, 0, dash), from) ||
	    !read_clock(slice_from(text, dash + 1), &to) || *from == to || *from == DAY_MINUTES)
		return false;
	*count = to > *from ? to - *from : to + DAY_MINUTES - *from;
	return true;
}

bool value_week(struct slice text, uint64_t *minutes)
{
	unsigned day = 0, days = 7, from = 0, count = DAY_MINUTES;
	size_t slash = slice_find(text, '/');
	bool has_hours = slash < text.len || slice_find(text, ':') < text.len;
	bool has_days = slash < text.len || !has_hours;
	if (has_days && !read_days(slice_sub(text, 0, slash), &day, &days))
		return false;
	if (has_hours &&
	    !read_hours(slash < text.len ? slice_from(text, slash + 1) : text, &from, &count))
		return false;
	for (unsigned d = day; d < day + days; d++)
		for (unsigned i = 0; i < count; i++) {
			unsigned at = (d % 7 * DAY_MINUTES + from + i) % CONF_WEEK_MINUTES;
			minutes[at / 64] |= UINT64_C(1) << at % 64;
		}
	return true;
}
