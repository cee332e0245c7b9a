/* SPDX-License-Identifier: MIT */
/*
 * Suggests what a bad value probably meant: a unit that is spelt out, a word for yes or no, an address without
 * its port. A suggestion is a value that the option accepts; where none is certain enough, there is
 * none.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/suggest.h"
#include "proxy/conf/load.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/http/authority.h"
#include "proxy/limits.h"
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
	return suggest_unit(value, 1, LIMIT_REQUEST_RATE, "/s", text, size);
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

/* ---- addresses, servers, hosts and paths ---- */

/* Cuts "SCHEME://" off and returns it; empty: there is none. */
static struct slice cut_scheme(struct slice *value)
{
	for (size_t i = 0; i + 3 <= value->len && value->ptr[i] != '/'; i++) {
		if (!slice_starts_with(slice_from(*value, i), SLICE("://")))
			continue;
		struct slice scheme = slice_sub(*value, 0, i);
		*value = slice_from(*value, i + 3);
		return scheme;
	}
	return SLICE("");
}

/* Without a scheme, and without what follows the authority. */
static struct slice authority_of(struct slice value)
{
	cut_scheme(&value);
	return slice_sub(value, 0, slice_find(value, '/'));
}

/* "localhost:80", ":8443", "8443", "0.0.0.0", "::1:8443", "/run/x.sock". */
bool suggest_address(struct slice value, char *text, size_t size)
{
	struct net_address a;
	uint64_t port;
	struct slice place = authority_of(value);
	size_t colon = place.len, first = slice_find(place, ':');

	while (colon > 0 && place.ptr[colon - 1] != ':')
		colon--;
	if (value.ptr[0] == '/')
		snprintf(text, size, "unix:%.*s", SLICE_ARG(value));
	else if (slice_to_number(place, 65535, &port))
		snprintf(text, size, "*:%.*s", SLICE_ARG(place));
	else if (colon == 1)
		snprintf(text, size, "*%.*s", SLICE_ARG(place));
	else if (slice_starts_with(place, SLICE("localhost")))
		snprintf(text, size, "127.0.0.1%.*s%s", SLICE_ARG(slice_from(place, 9)),
		    colon ? "" : ":8443");
	else if (first + 1 < colon && place.ptr[0] != '[')
		snprintf(text, size, "[%.*s]:%.*s", SLICE_ARG(slice_sub(place, 0, colon - 1)),
		    SLICE_ARG(slice_from(place, colon)));
	else
		snprintf(text, size, "%.*s%s", SLICE_ARG(place), colon == 0 ? ":8443" : "");
	return !net_address_parse(slice_of_string(text), &a);
}

/* True for "HOST:PORT" that the server option accepts behind a scheme. */
static bool read_authority(struct slice text, struct http_authority *a)
{
	return text.len > 0 && text.ptr[text.len - 1] != ':' && slice_find(text, ',') == text.len &&
	       http_authority_parse(text, SLICE("http"), a) && a->host.len > 0 && a->port != 0 &&
	       (a->host.ptr[0] == '[' || value_is_dns_name(a->host));
}

/* "/run/app.sock", "unix:/run/app.sock:", "http://unix:/run/app.sock". */
static bool suggest_socket(struct slice path, bool is_http2, char *text, size_t size)
{
	if (path.len > 0 && path.ptr[path.len - 1] == ':')
		path.len--;
	snprintf(text, size, "%s+unix:%.*s", is_http2 ? "h2c" : "h1", SLICE_ARG(path));
	return path.len > 1 && path.len < 100 && path.ptr[1] != '/';
}

/* The scheme of a server, in lower case; NULL: no server has it. Without one it is that of the port: most servers
 * speak HTTP/1.1. */
static const char *scheme_of(struct slice scheme, uint32_t port)
{
	static const char *const schemes[] = {"https", "http", "https1", "h2", "h2c"};
	int known = value_choice(scheme, "https http https1 h2 h2c");

	if (scheme.len == 0)
		return port == 443 || port == 8443 ? "https" : "http";
	return known < 0 ? NULL : schemes[known];
}

/* "127.0.0.1:8080", "HTTP://x:80", "unix:/x", "http://host:80/path". */
bool suggest_server(struct slice value, char *text, size_t size)
{
	struct http_authority a;
	struct slice authority = authority_of(value), rest = value;
	struct slice scheme = cut_scheme(&rest);
	bool is_http2 = slice_equal_nocase(scheme, SLICE("h2c"));

	if (slice_equal_nocase(value, SLICE("demo"))) {
		snprintf(text, size, "demo:");
		return true;
	}
	if (slice_starts_with(rest, SLICE("unix:/")))
		return suggest_socket(slice_from(rest, 5), is_http2, text, size);
	if (rest.len > 0 && rest.ptr[0] == '/')
		return suggest_socket(rest, is_http2, text, size);
	const char *known = read_authority(authority, &a) ? scheme_of(scheme, a.port) : NULL;
	/* "h2c//x:1" has lost its colon: "h2c" is not its host. */
	bool is_cut =
	    scheme.len == 0 && slice_starts_with(slice_from(value, authority.len), SLICE("//"));
	if (!known || is_cut)
		return false;
	snprintf(text, size, "%s://%.*s", known, SLICE_ARG(authority));
	return true;
}

/* "https://example.com:443/" or ".example.com". */
bool suggest_host(struct slice value, char *text, size_t size)
{
	struct slice host = authority_of(value);

	if (host.len == 0)
		return false;
	snprintf(text, size, "%s%.*s", host.ptr[0] == '.' ? "*" : "",
	    SLICE_ARG(slice_sub(host, 0, slice_find(host, ':'))));
	return true;
}

/* "api" and "/api*". */
bool suggest_path(struct slice value, char *text, size_t size)
{
	struct slice path = slice_sub(value, 0, slice_find(value, '#'));

	/* Pieces of a URL, of a regular expression or of a list in braces. */
	if (value_has_any(path, ":^\\$(){}[]|") || slice_starts_with(path, SLICE("//")))
		return false;
	path = slice_sub(path, 0, slice_find(path, '*'));
	path = slice_sub(path, 0, slice_find(path, '?'));
	if (path.len == 0 || slice_equal(path, SLICE("=")))
		return false;
	snprintf(text, size, "%s%.*s", path.ptr[0] == '/' ? "" : "/", SLICE_ARG(path));
	return true;
}

/* "192.0.2.1/24" without the bits behind the prefix; "localhost". */
bool suggest_cidr(struct slice value, char *text, size_t size)
{
	struct cidr block;
	uint64_t bits;
	size_t slash = slice_find(value, '/');
	char address[64];

	if (slice_equal_nocase(value, SLICE("localhost"))) {
		snprintf(text, size, "127.0.0.1 ::1");
		return true;
	}
	if (slash == value.len || !address_parse(slice_sub(value, 0, slash), &block.base) ||
	    !slice_to_number(
		slice_from(value, slash + 1), block.base.family == 4 ? 32 : 128, &bits))
		return false;
	for (size_t i = 0; i < 16; i++) {
		size_t kept = bits > 8 * i ? (size_t)bits - 8 * i : 0;
		if (kept < 8)
			block.base.bytes[i] &= (uint8_t)(0xff00u >> kept);
	}
	snprintf(text, size, "%s/%u", address_format(&block.base, address, sizeof address),
	    (unsigned)bits);
	return !cidr_parse(slice_of_string(text), &block);
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

bool conf_no_value(struct conf_loader *l, const struct conf_option *o)
{
	char example[VALUE_SUGGESTED];

	return conf_mistake_here(l, "%s has no value; remove the line or give one, such as %s = %s",
	    o->key, o->key, conf_option_example(o, example, sizeof example));
}

bool conf_next_word(struct conf_loader *l, struct slice *rest, struct slice *word, bool *is_good)
{
	enum value_word kind = value_next_word(rest, word);

	if (kind == VALUE_UNCLOSED)
		*is_good = conf_bad_value(l, *word, NULL, "close the quotation with a '\"'");
	return kind == VALUE_WORD;
}
