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

static void dates_are_in_utc_whatever_the_zone(void **state)
{
	(void)state;
	char text[CLOCK_DATE_BYTES];
	setenv("TZ", "EAST-14", 1);
	tzset();
	assert_string_equal(clock_date(0, text), "1970-01-01T00:00:00Z");
	assert_string_equal(clock_date(1800000000, text), "2027-01-15T08:00:00Z");
	assert_string_equal(clock_date(253402300799, text), "9999-12-31T23:59:59Z");
	assert_string_equal(clock_date(INT64_MAX, text), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dates_are_in_utc_whatever_the_zone),
	    cmocka_unit_test(minutes_begin_on_monday_in_local_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
