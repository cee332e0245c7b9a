/* SPDX-License-Identifier: MIT */
/* A time as text; apart from clock.c, in whose place a test may have clocks of its own. */
#include "proxy/base/clock.h"
#include <time.h>

const char *clock_date(int64_t seconds, char text[CLOCK_DATE_BYTES])
{
	struct tm tm;
	time_t t = (time_t)seconds;
	if (!gmtime_r(&t, &tm) || strftime(text, CLOCK_DATE_BYTES, "%FT%TZ", &tm) == 0)
		text[0] = '\0';
	return text;
}
