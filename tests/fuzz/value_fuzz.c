/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as one small thing with a grammar of its own: a priority, a date, an authority, an
 * address, a glob, a text in a log line. What is read comes out of its own written form again.
 *
 * Input: one byte for the kind, then the text; for those of two parts a newline between them.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/cidr.h"
#include "proxy/base/ensure.h"
#include "proxy/base/glob.h"
#include "proxy/http/authority.h"
#include "proxy/http/date.h"
#include "proxy/http/priority.h"
#include "proxy/observe/line.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>

#define NOW UINT64_C(1795262400)

static void check_priority(struct slice text)
{
	char again[32];
	struct http_priority p = http_priority_parse(text);
	ensure(p.urgency <= 7);
	int n = snprintf(again, sizeof(again), "u=%u, i=?%d", p.urgency, p.incremental);
	struct http_priority back = http_priority_parse(slice_of(again, (size_t)n));
	ensure(back.urgency == p.urgency && back.incremental == p.incremental);
}

static void check_date(struct slice text)
{
	char again[64];
	struct tm tm;
	uint64_t sec, back;
	if (!http_date_parse(text, NOW, &sec))
		return;
	time_t time = (time_t)sec;
	ensure(gmtime_r(&time, &tm) && tm.tm_year + 1900 <= 9999);
	size_t n = strftime(again, sizeof(again), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	ensure(http_date_parse(slice_of(again, n), NOW, &back) && back == sec);
}

static void check_authority(struct slice text, struct slice pattern)
{
	struct http_authority a, back;
	char again[600];
	if (text.len > 500 || !http_authority_parse(text, SLICE("https"), &a))
		return;
	ensure(a.port > 0 && a.host.ptr == text.ptr && a.host.len > 0);
	int n = snprintf(again, sizeof(again), "%.*s:%u", SLICE_ARG(a.host), a.port);
	ensure(http_authority_parse(slice_of(again, (size_t)n), SLICE("https"), &back));
	ensure(http_authority_equal(&a, &back) && http_authority_equal(&back, &a));
	ensure(http_host_matches(a.host, a.host) || a.host.ptr[0] == '*');
	ensure(http_host_matches(SLICE("*"), a.host));
	(void)http_host_matches(pattern, a.host);
}

static void check_address(struct slice text)
{
	char again[64];
	struct address a, back;
	struct cidr c;
	if (address_parse(text, &a)) {
		address_format(&a, again, sizeof(again));
		ensure(address_parse(slice_of_string(again), &back));
		ensure(back.family == a.family && memcmp(back.bytes, a.bytes, 16) == 0);
	}
	if (cidr_parse(text, &c) == NULL)
		ensure(cidr_contains(&c, &c.base) && c.bits <= 128);
}

/* The same, by trying. */
static bool matches(struct slice pattern, struct slice text)
{
	if (pattern.len == 0)
		return text.len == 0;
	if (pattern.ptr[0] == '*')
		return matches(slice_from(pattern, 1), text) ||
		       (text.len > 0 && matches(pattern, slice_from(text, 1)));
	bool is_any = pattern.ptr[0] == '?';
	if (pattern.ptr[0] == '\\' && pattern.len > 1)
		pattern = slice_from(pattern, 1);
	return text.len > 0 && (is_any || pattern.ptr[0] == text.ptr[0]) &&
	       matches(slice_from(pattern, 1), slice_from(text, 1));
}

static void check_glob(struct slice pattern, struct slice text)
{
	bool does_match = glob_match(pattern, text);
	ensure(!does_match || glob_match_nocase(pattern, text));
	if (pattern.len <= 8 && text.len <= 16)
		ensure(does_match == matches(pattern, text));
}

static void check_line(struct slice text)
{
	char buffer[600], plain[600];
	struct line l = {.at = buffer};
	*l.at++ = '"';
	line_json(&l, text, 500);
	*l.at++ = '"';
	ensure(l.at <= buffer + 502);
	json_error_t error;
	json_t *value =
	    json_loadb(buffer, (size_t)(l.at - buffer), JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	ensure(json_is_string(value));
	json_decref(value);
	l = (struct line){.at = plain};
	line_plain(&l, text, 500);
	ensure(l.at <= plain + 500);
	for (const char *at = plain; at < l.at; at++)
		ensure((unsigned char)*at >= 0x20 && *at != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint32_t kind = input_below(&in, 6);
	struct slice whole = slice_of(in.at, in.left), first = input_line(&in);
	struct slice second = slice_of(in.at, in.left);
	switch (kind) {
	case 0:
		check_priority(whole);
		break;
	case 1:
		check_date(whole);
		break;
	case 2:
		check_authority(first, second);
		break;
	case 3:
		check_address(whole);
		break;
	case 4:
		check_glob(first, second);
		break;
	case 5:
		check_line(whole);
		break;
	}
	return 0;
}
