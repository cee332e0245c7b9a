/* SPDX-License-Identifier: MIT */
/*
 * Suggests what a bad value probably meant: a unit that is spelt out, a word for yes or no, an address without
 * its port. A suggestion is a value that the option accepts; where none is certain enough, there is
 * none. suggest_net.c suggests addresses, servers and hosts.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/suggest.h"
#include "proxy/conf/load.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include <inttypes.h>

/* ---- numbers with units ---- */

/* "1h30m", "2 min", "1.5s", "30": of a bare number the unit is `bare`. */
static bool suggest_span(
    struct slice value, usec bare, usec least, usec most, char *text, size_t size)
{
	usec sum = 0, part;
	uint64_t number, unit, last = UINT64_MAX;

	if (slice_to_number(value, UINT32_MAX, &number)) {
		sum = number * bare;
		value = SLICE("");
	}
	while (value.len > 0) {
		/* "75s 60s" are two values, and not their sum. */
		if (!value_cut_amount(&value, true, &part, &unit) || unit >= last)
			return false;
		sum += part;
		last = unit;
	}
	if (sum < least || sum > most || sum % USEC_PER_MSEC != 0)
		return false;
	value_time_format(sum, text, size);
	return true;
}

static bool suggest_time(const struct conf_option *o, struct slice value, char *text, size_t size)
{
	return suggest_span(value, USEC_PER_SEC, o->min, o->max, text, size);
}

static bool suggest_size(const struct conf_option *o, struct slice value, char *text, size_t size)
{
	uint64_t bytes, unit;

	if (!value_cut_amount(&value, false, &bytes, &unit) || value.len > 0 || bytes < o->min ||
	    bytes > o->max)
		return false;
	value_size_format(bytes, text, size);
	return true;
}

/* "1,000" or "1_000" or "10k". */
static bool suggest_number(const struct conf_option *o, struct slice value, char *text, size_t size)
{
	uint64_t number = 0, factor = 1;
	bool has_digit = false;

	for (size_t i = 0; i < value.len; i++) {
		char c = ascii_lower(value.ptr[i]);
		if (ascii_is(c, ASCII_DIGIT) && number <= o->max) {
			number = 10 * number + (uint64_t)(c - '0');
			has_digit = true;
		} else if (i + 1 == value.len && (c == 'k' || c == 'm')) {
			factor = c == 'k' ? 1000 : 1000000;
		} else if (!has_digit || (c != ',' && c != '_' && c != '\'')) {
			return false;
		}
	}
	if (!has_digit || number > o->max / factor || number * factor < o->min)
		return false;
	snprintf(text, size, "%" PRIu64, number * factor);
	return true;
}

/* A bare number, and the unit that it lacks: "100" for "100/s", "10" for "10%". */
static bool suggest_unit(
    struct slice value, uint64_t least, uint64_t most, const char *unit, char *text, size_t size)
{
	uint64_t number;

	if (!slice_to_number(value, most, &number) || number < least)
		return false;
	snprintf(text, size, "%" PRIu64 "%s", number, unit);
	return true;
}

/* "80ms" and "<=80ms" for "<80ms". */
bool suggest_rtt(struct slice value, char *text, size_t size)
{
	bool is_above = value.len > 0 && value.ptr[0] == '>';

	while (value.len > 0 && strchr("<>= ", value.ptr[0]))
		value = slice_from(value, 1);
	text[0] = is_above ? '>' : '<';
	return suggest_span(value, USEC_PER_MSEC, 1, 60 * USEC_PER_SEC, text + 1, size - 1);
}

/* "31536000", and "max-age=31536000; includeSubDomains" as the field has it (RFC 6797 6.1). */
bool suggest_hsts(struct slice value, char *text, size_t size)
{
	const struct slice age = SLICE("max-age=");
	uint64_t seconds;

	if (slice_equal_nocase(slice_sub(value, 0, age.len), age))
		value = slice_from(value, age.len);
	size_t end = slice_find(value, ';');
	if (!slice_to_number(slice_sub(value, 0, end), 315360000, &seconds))
		return false;
	bool is_days = seconds % 86400 == 0 && seconds > 0;
	snprintf(text, size, "%" PRIu64 "%c%s", is_days ? seconds / 86400 : seconds,
	    is_days ? 'd' : 's', end < value.len ? " include-subdomains" : "");
	return true;
}

static bool suggest_frequency(
    const struct conf_option *o, struct slice value, char *text, size_t size)
{
	return suggest_unit(value, o->min, o->max, "/s", text, size);
}

bool suggest_percent(struct slice value, char *text, size_t size)
{
	return suggest_unit(value, 1, 100, "%", text, size);
}

bool suggest_rate(struct slice value, char *text, size_t size)
{
	return suggest_unit(value, 1, UINT32_MAX, "/s", text, size);
}

/* ---- words ---- */

static const struct {
	const char *words, *choices; /* words, and the choices that they may stand for */
} synonyms[] = {
    {"yes true on 1 enabled", "yes on accept"},
    {"no false off 0 disabled never", "no off refuse"},
    {"h2 http2 http/2 http/2.0 2.0", "h2 2"},
    {"h1 http1 http/1 http1.1 http/1.1", "http/1.1 1.1"},
    {"http1.0 http/1.0", "http/1.1 1.0"},
};

static bool put(struct slice word, char *text, size_t size)
{
	snprintf(text, size, "%.*s", SLICE_ARG(word));
	return true;
}

/* "200" for "2xx", a synonym, or a choice that is misspelt. */
static bool suggest_choice(const struct conf_option *o, struct slice value, char *text, size_t size)
{
	char lower[SUGGEST_NAME_BYTES], status[] = "0xx";
	struct slice rest, word;

	if (value.len > sizeof lower)
		return false;
	if (value.len == 3 && ascii_all(value, ASCII_DIGIT)) {
		status[0] = value.ptr[0];
		value = slice_of(status, 3);
	}
	for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
		rest = slice_of_string(
		    value_choice(value, synonyms[i].words) < 0 ? "" : synonyms[i].choices);
		while (value_next_word(&rest, &word) == VALUE_WORD)
			if (value_choice(word, o->choices) >= 0)
				return put(word, text, size);
	}
	ascii_lower_copy(lower, value);
	struct suggestion s = suggest_for(slice_of(lower, value.len));
	rest = slice_of_string(o->choices);
	while (value_next_word(&rest, &word) == VALUE_WORD)
		if (suggest_compare(&s, word, o))
			put(word, text, size);
	return s.item;
}

bool suggest_media_type(struct slice value, char *text, size_t size)
{
	return put(slice_sub(value, 0, slice_find(value, ';')), text, size);
}

bool suggest_upgrade(struct slice value, char *text, size_t size)
{
	return value_choice(value, "yes on true ws wss websockets") >= 0 &&
	       put(SLICE("websocket"), text, size);
}

/* ---- the option ---- */

/* Of the types whose values have one form. Other options have a suggester of their own, or none. */
static bool (*const by_type[])(
    const struct conf_option *o, struct slice value, char *text, size_t size) = {
    [CONF_TYPE_NUMBER] = suggest_number,
    [CONF_TYPE_SIZE] = suggest_size,
    [CONF_TYPE_WINDOW] = suggest_size,
    [CONF_TYPE_TIME] = suggest_time,
    [CONF_TYPE_RATE] = suggest_frequency,
    [CONF_TYPE_SWITCH] = suggest_choice,
    [CONF_TYPE_CHOICE] = suggest_choice,
    [CONF_TYPE_BITS] = suggest_choice,
};

static bool suggest_value(const struct conf_option *o, struct slice value, char *text, size_t size)
{
	if (value.len == 0 || value.len > 100 || value.ptr[0] == '"' || value.ptr[0] == '~')
		return false;
	for (size_t i = 0; i < value.len; i++)
		if ((unsigned char)value.ptr[i] < ' ' || (unsigned char)value.ptr[i] >= 0x7f)
			return false;
	if (o->type < sizeof by_type / sizeof *by_type)
		return by_type[o->type](o, value, text, size);
	conf_suggester *suggest = o->type == CONF_TYPE_CIDRS ? suggest_cidr : o->suggest;
	if (!suggest || !suggest(value, text, size))
		return false;
	/* A member of a list is suggested if its check accepts it. */
	struct slice meant = slice_of_string(text);
	return !o->check || (!o->check(meant) && !slice_equal(meant, value));
}

/* ---- reports ---- */

bool conf_bad_value(struct conf_loader *l, struct slice value, const char *wrong, const char *right)
{
	const struct conf_option *o = l->option;
	char meant[VALUE_SUGGESTED], example[VALUE_SUGGESTED], usual[300];
	bool is_meant = suggest_value(o, value, meant, sizeof meant);

	if (!right)
		right = conf_option_right(o, usual, sizeof usual);
	return conf_mistake_here(l, "bad value '%.*s' for %s%s%s; %s%s%s = %s%s", CONF_SHOWN(value),
	    o->key, wrong ? ": " : "", wrong ? wrong : "", right,
	    is_meant ? "; did you mean " : ", such as ", o->key,
	    is_meant ? meant : conf_option_example(o, example, sizeof example),
	    is_meant ? "?" : "");
}

void conf_no_value(struct conf_loader *l, const struct conf_option *o)
{
	char example[VALUE_SUGGESTED];

	conf_mistake_here(l, "%s has no value; remove the line or give one, such as %s = %s",
	    o->key, o->key, conf_option_example(o, example, sizeof example));
}

bool conf_next_word(struct conf_loader *l, struct slice *rest, struct slice *word, bool *is_good)
{
	enum value_word kind = value_next_word(rest, word);

	if (kind == VALUE_UNCLOSED)
		*is_good = conf_bad_value(l, *word, NULL, "close the quotation with a '\"'");
	return kind == VALUE_WORD;
}
