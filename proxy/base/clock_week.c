/* SPDX-License-Identifier: MIT */
/* The minute of the week, from the clock; apart from clock.c, in whose place a test may have clocks of its own. */
#include "proxy/base/clock.h"

#include "proxy/base/ensure.h"

#include <time.h>

uint32_t clock_week_minute(void)
{
	struct tm local;
	time_t now = (time_t)(clock_wall() / USEC_PER_SEC);
	ensure(localtime_r(&now, &local));
	uint32_t day = (uint32_t)(local.tm_wday + 6) % 7;
	return (24 * day + (uint32_t)local.tm_hour) * 60 + (uint32_t)local.tm_min;
}
