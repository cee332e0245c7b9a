/* SPDX-License-Identifier: MIT */
/* Reads the two clocks, for net/ and process/. All other code gets the time as an argument. */
#include "proxy/base/clock.h"

#include "proxy/base/ensure.h"

#include <time.h>

static usec read_clock(clockid_t id)
{
	struct timespec t;
	ensure(clock_gettime(id, &t) == 0);
	return (usec)t.tv_sec * USEC_PER_SEC + (usec)t.tv_nsec / 1000;
}

usec clock_monotonic(void)
{
	usec now = read_clock(CLOCK_MONOTONIC);
	return now ? now : 1;
}

usec clock_wall(void)
{
	return read_clock(CLOCK_REALTIME);
}
