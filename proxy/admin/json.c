/* SPDX-License-Identifier: MIT */
/* See json.h. */
#include "proxy/admin/json.h"

#include "proxy/base/utf8.h"
#include <inttypes.h>
#include <time.h>

static bool is_plain(uint8_t c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

/* U+2028 and U+2029 end a line in scripts. */
static bool ends_line(const uint8_t *p, size_t length)
{
	return length == 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9);
}

void put_text(FILE *out, struct slice text)
{
	const uint8_t *p = (const uint8_t *)text.ptr, *end = p + text.len, *plain = p;
	putc('"', out);
	while (p < end) {
		size_t length = is_plain(*p) ? 1 : utf8_length(p, (size_t)(end - p));
		if (length > 0 && !ends_line(p, length)) {
			p += length;
			continue;
		}
		fwrite(plain, 1, (size_t)(p - plain), out);
		if (length > 0)
			fprintf(out, "\\u20%02x", p[2] - 0x80);
		else
			fprintf(out, "\\u%04x", *p);
		p += length > 0 ? length : 1;
		plain = p;
	}
	fwrite(plain, 1, (size_t)(p - plain), out);
	putc('"', out);
}

static void begin(struct json *j, const char *key)
{
	if (j->needs_comma)
		putc(',', j->out);
	j->needs_comma = true;
	if (key)
		fprintf(j->out, "\"%s\":", key);
}

void put_open(struct json *j, const char *key, char open)
{
	begin(j, key);
	putc(open, j->out);
	j->needs_comma = false;
}

void put_close(struct json *j, char close)
{
	putc(close, j->out);
	j->needs_comma = true;
}

void put_slice(struct json *j, const char *key, struct slice text)
{
	begin(j, key);
	put_text(j->out, text);
}

void put_string(struct json *j, const char *key, const char *text)
{
	if (text && *text)
		put_slice(j, key, slice_of_string(text));
}

void put_number(struct json *j, const char *key, uint64_t n)
{
	begin(j, key);
	fprintf(j->out, "%" PRIu64, n);
}

void put_bool(struct json *j, const char *key, bool is_true)
{
	begin(j, key);
	fputs(is_true ? "true" : "false", j->out);
}

void put_null(struct json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->out);
}

void put_thousandths(struct json *j, const char *key, uint64_t n)
{
	begin(j, key);
	fprintf(j->out, "%" PRIu64 ".%03u", n / 1000, (unsigned)(n % 1000));
}

void put_span(struct json *j, const char *key, usec span)
{
	if (span != USEC_NEVER)
		put_number(j, key, span);
}

void put_date(struct json *j, const char *key, usec wall)
{
	char text[32];
	struct tm parts;
	time_t sec = (time_t)(wall / USEC_PER_SEC);
	begin(j, key);
	/* uncovered: the time of a record that is no time */
	if (!gmtime_r(&sec, &parts) ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
		snprintf(text, sizeof(text), "1970-01-01T00:00:00");
	fprintf(j->out, "\"%s.%03uZ\"", text, (unsigned)(wall / USEC_PER_MSEC % 1000));
}
