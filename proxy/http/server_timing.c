/* SPDX-License-Identifier: MIT */
/* Writes the value of a Server-Timing field; see server_timing.h. Durations are milliseconds. */
#include "proxy/http/server_timing.h"

#include "proxy/base/ensure.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Four durations of at most 35 bytes each, with their names, behind the words. */
#define VALUE_BYTES (HTTP_TIMING_WORDS + 192u)

struct value {
	char text[VALUE_BYTES];
	size_t length;
};

static void add(struct value *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct value *v, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(v->text + v->length, sizeof(v->text) - v->length, format, args);
	va_end(args);
	ensure(n >= 0 && (size_t)n < sizeof(v->text) - v->length);
	v->length += (size_t)n;
}

/* Microseconds are the fraction, without zeroes at its end: 12.5, 0.003, 40. */
static void add_duration(struct value *v, const char *name, usec d)
{
	if (d == USEC_NEVER)
		return;
	unsigned fraction = (unsigned)(d % USEC_PER_MSEC);
	int digits = 3;
	for (; digits > 0 && fraction % 10 == 0; digits--)
		fraction /= 10;
	add(v, "%s%s;dur=%" PRIu64, v->length > 0 ? ", " : "", name, d / USEC_PER_MSEC);
	if (digits > 0)
		add(v, ".%0*u", digits, fraction);
}

struct slice http_server_timing(struct arena *a, const struct http_server_timing *t)
{
	struct value v = {.length = 0};
	if (*t->words)
		add(&v, "pushgate;desc=\"%s\"", t->words);
	add_duration(&v, "queue", t->queue);
	add_duration(&v, "connect", t->connect);
	add_duration(&v, "origin", t->origin);
	add_duration(&v, "held", t->held);
	return arena_copy(a, slice_of(v.text, v.length));
}
