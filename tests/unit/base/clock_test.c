/* SPDX-License-Identifier: MIT */
/* The minute of the week, in two zones. */
#include "proxy/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define WEEK (7u * 24 * 60)

/* The epoch began on a Thursday. */
static uint32_t expected(int minutes_east)
{
	uint64_t minute = clock_wall() / USEC_PER_SEC / 60;
	return (uint32_t)((minute + 3 * 24 * 60 + (uint64_t)((int)WEEK + minutes_east)) % WEEK);
}

static void check(const char *zone, int minutes_east)
{
	setenv("TZ", zone, 1);
	tzset();
	uint32_t before, now;
	do { /* a minute may end meanwhile */
		before = expected(minutes_east);
		now = clock_week_minute();
	} while (before != expected(minutes_east));
	assert_int_equal(now, before);
}

static void minutes_begin_on_monday_in_local_time(void **state)
{
	(void)state;
	check("UTC0", 0);
	check("EAST-14", 14 * 60);
	check("WEST+11:30", -(11 * 60 + 30));
	check("UTC0", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(minutes_begin_on_monday_in_local_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
