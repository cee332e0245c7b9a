/* SPDX-License-Identifier: MIT */
/*
 * Time. Only net/ and process/ read the clock; all other code gets the time as an argument. A usec
 * counts microseconds of the monotonic clock, whose origin is unspecified; it is never 0.
 */
#ifndef PUSHGATE_BASE_CLOCK_H
#define PUSHGATE_BASE_CLOCK_H

#include <stdint.h>

typedef uint64_t usec;

#define USEC_PER_MSEC ((usec)1000)
#define USEC_PER_SEC ((usec)1000000)
#define USEC_NEVER UINT64_MAX

usec clock_monotonic(void);
/* Since the Unix epoch, for logs only. */
usec clock_wall(void);
/* RFC 3339, in UTC, of seconds since the Unix epoch. Returns text. */
#define CLOCK_DATE_BYTES 24
const char *clock_date(int64_t seconds, char text[CLOCK_DATE_BYTES]);
/* Minutes since Monday 0:00 in local time, in the zone that the process began with (tzset). */
uint32_t clock_week_minute(void);

/* now + span, or USEC_NEVER if span is 0 (no limit) or the sum would overflow. */
static inline usec clock_after(usec now, usec span)
{
	return span == 0 || span >= USEC_NEVER - now ? USEC_NEVER : now + span;
}

static inline usec clock_earlier(usec a, usec b)
{
	return a < b ? a : b;
}

#endif
