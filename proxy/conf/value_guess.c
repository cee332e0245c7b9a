/* SPDX-License-Identifier: MIT */
/*
 * What a bad value probably meant: units of other programs, words for yes and no, an address without
 * its port. A guess is a value that the option accepts; where none is certain enough, there is none.
 * value_guess_net.c guesses addresses, servers and hosts.
 */
#include "proxy/conf/value_guess.h"
#include "proxy/base/ascii.h"
#include "proxy/conf/load.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include <inttypes.h>

struct word_unit {
	const char *words; /* separated by spaces */
	uint64_t factor;
};

static const struct word_unit time_words[] = {
    {"ms msec msecs millisecond milliseconds", USEC_PER_MSEC},
    {"s sec secs second seconds", USEC_PER_SEC},
    {"m min mins minute minutes", 60 * USEC_PER_SEC},
    {"h hr hrs hour hours", 3600 * USEC_PER_SEC},
    {"d day days", 86400 * USEC_PER_SEC},
    {"w week weeks", 604800 * USEC_PER_SEC},
};
static const struct word_unit size_words[] = {
    {"b byte bytes", 1},
    {"k kb kib kbyte kbytes", UINT64_C(1) << 10},
    {"m mb mib mbyte mbytes", UINT64_C(1) << 20},
    {"g gb gib gbyte gbytes", UINT64_C(1) << 30},
    {"t tb tib", UINT64_C(1) << 40},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- numbers with units ---- */

static size_t count_digits(struct slice s)
{
	size_t n = 0;
	while (n < s.len && ascii_is(s.ptr[n], ASCII_DIGIT))
		n++;
	return n;
}

/* Cuts "12" or "1.5" and its unit off. The fraction has at most three digits. */
static bool cut_amount(
    struct slice *rest, const struct word_unit *units, size_t count, size_t *unit, uint64_t *amount)
{
	uint64_t whole, fraction = 0, scale = 1;
	struct slice s = *rest;
	size_t digits = count_digits(s), end = 0;

	if (!slice_to_number(slice_sub(s, 0, digits), UINT32_MAX, &whole))
		return false;
	s = slice_from(s, digits);
	if (s.len > 0 && s.ptr[0] == '.') {
		digits = count_digits(slice_from(s, 1));
		if (digits > 3 || !slice_to_number(slice_sub(s, 1, digits), 999, &fraction))
			return false;
		for (size_t i = 0; i < digits; i++)
			scale *= 10;
		s = slice_from(s, 1 + digits);
	}
	s = slice_trim(s);
	while (end < s.len && ascii_is(s.ptr[end], ASCII_ALPHA))
		end++;
	for (size_t i = 0; i < count; i++) {
		if (value_choice(slice_sub(s, 0, end), units[i].words) < 0)
			continue;
		*amount = whole * units[i].factor + fraction * units[i].factor / scale;
		*rest = slice_trim(slice_from(s, end));
		*unit = i;
		return whole < UINT64_MAX / 2 / units[i].factor;
	}
	return false;
}

/* "1h30m", "2 min", "1.5s", "30": of a bare number the unit is `bare`. */
static bool guess_time(
    struct slice value, usec bare, usec least, usec most, char *guess, size_t size)
{
	usec sum = 0, part;
	size_t unit, last = COUNT(time_words);
	uint64_t number;

	if (slice_to_number(value, UINT32_MAX, &number)) {
		sum = number * bare;
	} else {
		while (value.len > 0) {
			/* "75s 60s" are two values of nginx, and not their sum. */
			if (!cut_amount(&value, time_words, COUNT(time_words), &unit, &part) ||
			    unit >= last)
				return false;
			sum += part;
			last = unit;
		}
	}
	if (sum < least || sum > most || sum % USEC_PER_MSEC != 0)
		return false;
	value_time_format(sum, guess, size);
	return true;
}

static bool guess_size(const struct conf_option *o, struct slice value, char *guess, size_t size)
{
	uint64_t bytes;
	size_t unit;

	if (!cut_amount(&value, size_words, COUNT(size_words), &unit, &bytes) || value.len > 0 ||
	    bytes < o->min || bytes > o->max)
		return false;
	value_size_format(bytes, guess, size);
	return true;
}

/* "1,000" or "1_000" or "10k". */
static bool guess_number(
    struct slice value, uint64_t least, uint64_t most, char *guess, size_t size)
{
	uint64_t number = 0, factor = 1;
	bool has_digit = false;

	for (size_t i = 0; i < value.len; i++) {
		char c = ascii_lower(value.ptr[i]);
		if (ascii_is(c, ASCII_DIGIT) && number <= most) {
			number = 10 * number + (uint64_t)(c - '0');
			has_digit = true;
		} else if (i + 1 == value.len && (c == 'k' || c == 'm')) {
			factor = c == 'k' ? 1000 : 1000000;
		} else if (!has_digit || (c != ',' && c != '_' && c != '\'')) {
			return false;
		}
	}
	if (!has_digit || number > most / factor || number * factor < least)
		return false;
	snprintf(guess, size, "%" PRIu64, number * factor);
	return true;
}

/* "100", "100r/s", "100 per second", "6000/min". */
static bool guess_rate(const struct conf_option *o, struct slice value, char *guess, size_t size)
{
	static const char per_second[] = "/s r/s rps /sec /second per-second";
	static const char per_minute[] = "/m r/m rpm /min /minute per-minute";
	char unit[16];
	uint64_t number;
	size_t digits = count_digits(value);

	if (!slice_to_number(slice_sub(value, 0, digits), o->max, &number))
		return false;
	struct slice rest = slice_sub(slice_trim(slice_from(value, digits)), 0, sizeof unit);
	for (size_t i = 0; i < rest.len; i++)
		unit[i] = rest.ptr[i] == ' ' ? '-' : rest.ptr[i];
	rest.ptr = unit;
	if (rest.len > 0 && value_choice(rest, per_second) < 0) {
		if (value_choice(rest, per_minute) < 0)
			return false;
		number /= 60;
	}
	if (number < o->min)
		return false;
	snprintf(guess, size, "%" PRIu64 "/s", number);
	return true;
}

/* "10" for "10%". */
static bool guess_percent(struct slice value, char *guess, size_t size)
{
	uint64_t number;

	if (!slice_to_number(value, 100, &number) || number == 0)
		return false;
	snprintf(guess, size, "%" PRIu64 "%%", number);
	return true;
}

/* "80ms" and "<=80ms" for "<80ms". */
static bool guess_rtt(struct slice value, char *guess, size_t size)
{
	bool is_above = value.len > 0 && value.ptr[0] == '>';

	while (value.len > 0 && strchr("<>= ", value.ptr[0]))
		value = slice_from(value, 1);
	guess[0] = is_above ? '>' : '<';
	return guess_time(value, USEC_PER_MSEC, 1, 60 * USEC_PER_SEC, guess + 1, size - 1);
}

/* "31536000", "max-age=31536000; includeSubDomains; preload" as the field has it, "yes". */
static bool guess_hsts(struct slice value, char *guess, size_t size)
{
	const struct slice age = SLICE("max-age=");
	uint64_t seconds = 31536000;
	bool is_yes = value_choice(value, "yes true on 1 enable enabled") >= 0;

	if (slice_equal_nocase(slice_sub(value, 0, age.len), age))
		value = slice_from(value, age.len);
	size_t digits = count_digits(value);
	if (!is_yes && (!slice_to_number(slice_sub(value, 0, digits), 315360000, &seconds) ||
			   (digits < value.len && value.ptr[digits] != ';')))
		return false;
	bool is_days = seconds % 86400 == 0 && seconds > 0;
	bool has_more = !is_yes && digits < value.len;
	snprintf(guess, size, "%" PRIu64 "%c%s", is_days ? seconds / 86400 : seconds,
	    is_days ? 'd' : 's', has_more ? " include-subdomains" : "");
	return true;
}

/* ---- words ---- */

static const struct {
	const char *theirs, *ours; /* words, and the choices that they may stand for */
} synonyms[] = {
    {"yes true on 1 y enable enabled always", "yes on accept"},
    {"no false off 0 n disable disabled none never", "no off refuse"},
    {"allow accept pass push", "forward"},
    {"deny block reject refuse cancel", "drop"},
    {"103 preload early-hints", "hint"},
    {"hold+hint both", "hint+hold"},
    {"http2 http/2 http/2.0 h2c 2.0", "h2 2"},
    {"h1 http1 http/1 http1.1 http11", "http/1.1 1.1"},
    {"http/1.1", "1.1"},
    {"h2", "2"},
    {"http1.0 http/1.0", "http/1.1 1.0"},
    {"css stylesheet", "style"},
    {"js javascript", "script"},
    {"html page", "document"},
    {"img picture", "image"},
    {"video audio", "media"},
    {"origin server promise", "relayed"},
    {"add", "config"},
    {"links header", "link"},
};

static bool is_choice(const struct conf_option *o, struct slice word)
{
	return value_choice(word, o->choices) >= 0;
}

static bool put(struct slice word, char *guess, size_t size)
{
	snprintf(guess, size, "%.*s", SLICE_ARG(word));
	return true;
}

static bool guess_choice(const struct conf_option *o, struct slice value, char *guess, size_t size)
{
	char lower[32];
	struct slice rest, word, best = SLICE("");

	if (value.len > sizeof lower)
		return false;
	for (size_t i = 0; i < COUNT(synonyms); i++) {
		if (value_choice(value, synonyms[i].theirs) < 0)
			continue;
		rest = slice_of_string(synonyms[i].ours);
		while (value_next_word(&rest, &word) == VALUE_WORD)
			if (is_choice(o, word))
				return put(word, guess, size);
	}
	ascii_lower_copy(lower, value);
	unsigned distance = conf_guess_distance(value) + 1;
	rest = slice_of_string(o->choices);
	while (value_next_word(&rest, &word) == VALUE_WORD) {
		unsigned d = slice_distance(slice_of(lower, value.len), word, distance);
		if (d >= distance || !is_choice(o, word))
			continue;
		distance = d;
		best = word;
	}
	return best.len > 0 && put(best, guess, size);
}

/* "200" for "2xx". */
static bool guess_bits(const struct conf_option *o, struct slice value, char *guess, size_t size)
{
	char status[] = "0xx";

	if (value.len == 3 && count_digits(value) == 3) {
		status[0] = value.ptr[0];
		if (is_choice(o, slice_of_string(status)))
			return put(slice_of_string(status), guess, size);
	}
	return guess_choice(o, value, guess, size);
}

/* ---- the option ---- */

static bool guess_other(const struct conf_option *o, struct slice value, char *guess, size_t size)
{
	if (o->set == conf_set_rtt)
		return guess_rtt(value, guess, size);
	if (o->set == conf_set_share || o->set == conf_set_min_used)
		return guess_percent(value, guess, size);
	if (o->set == conf_set_redirect)
		return value_guess_port(value, guess, size);
	if (o->set == conf_set_hsts)
		return guess_hsts(value, guess, size);
	if (o->set == conf_set_limit_requests)
		return guess_rate(o, value, guess, size);
	if (o->set == conf_set_workers)
		return guess_number(value, 1, 256, guess, size);
	if (o->set == conf_set_address)
		return value_guess_address(value, guess, size);
	return o->set == conf_set_server && value_guess_server(value, guess, size);
}

/* What other programs write to have WebSockets passed on. */
static bool guess_upgrade(struct slice value, char *guess, size_t size)
{
	bool is_websocket =
	    value_choice(value, "yes on true 1 enable enabled ws wss websockets connect") >= 0;
	return is_websocket && put(SLICE("websocket"), guess, size);
}

static bool guess_member(const struct conf_option *o, struct slice value, char *guess, size_t size)
{
	bool is_guessed = false;

	if (o->check == conf_check_route_host || o->check == conf_check_host_glob)
		is_guessed = value_guess_host(value, guess, size);
	else if (o->check == conf_check_route_path || o->check == conf_check_path_glob)
		is_guessed = value_guess_path(value, guess, size);
	else if (o->check == conf_check_media_glob)
		is_guessed = put(slice_sub(value, 0, slice_find(value, ';')), guess, size);
	else if (o->check == conf_check_upgrade)
		is_guessed = guess_upgrade(value, guess, size);
	return is_guessed && !o->check(slice_of_string(guess)) &&
	       !slice_equal(slice_of_string(guess), value);
}

bool conf_guess_value(const struct conf_option *o, struct slice value, char *guess, size_t size)
{
	if (value.len == 0 || value.len > 100 || value.ptr[0] == '"' || value.ptr[0] == '~')
		return false;
	for (size_t i = 0; i < value.len; i++)
		if ((unsigned char)value.ptr[i] < ' ' || (unsigned char)value.ptr[i] >= 0x7f)
			return false;
	switch (o->type) {
	case CONF_TYPE_NUMBER:
		return guess_number(value, o->min, o->max, guess, size);
	case CONF_TYPE_SIZE:
	case CONF_TYPE_WINDOW:
		return guess_size(o, value, guess, size);
	case CONF_TYPE_TIME:
		return guess_time(value, USEC_PER_SEC, o->min, o->max, guess, size);
	case CONF_TYPE_RATE:
		return guess_rate(o, value, guess, size);
	case CONF_TYPE_SWITCH:
	case CONF_TYPE_CHOICE:
		return guess_choice(o, value, guess, size);
	case CONF_TYPE_BITS:
		return guess_bits(o, value, guess, size);
	case CONF_TYPE_CIDRS:
		return value_guess_cidr(value, guess, size);
	case CONF_TYPE_LIST:
	case CONF_TYPE_PATTERNS:
		return guess_member(o, value, guess, size);
	case CONF_TYPE_OTHER:
		return guess_other(o, value, guess, size);
	case CONF_TYPE_TEXT:
	case CONF_TYPE_FILE:
	case CONF_TYPE_FILES:
	case CONF_TYPE_FIELDS:
		return false;
	}
	return false;
}
