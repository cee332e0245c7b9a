/* SPDX-License-Identifier: MIT */
/* HTTP dates (RFC 9110 5.6.7). */
#include "proxy/http/date.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Sun, 06 Nov 1994 08:49:37 GMT */
#define RFC_SEC UINT64_C(784111777)
#define NOW UINT64_C(1795000000)
#define NOW_TEXT "Wed, 18 Nov 2026 11:06:40 GMT"

static void check_date(const char *text, uint64_t now_sec, uint64_t want)
{
	uint64_t sec = 0;
	if (!http_date_parse(slice_of_string(text), now_sec, &sec) || sec != want)
		fail_msg("%s: %llu", text, (unsigned long long)sec);
}

static void all_three_forms_of_a_date_are_read(void **state)
{
	(void)state;
	check_date("Sun, 06 Nov 1994 08:49:37 GMT", NOW, RFC_SEC);
	check_date("Sunday, 06-Nov-94 08:49:37 GMT", NOW, RFC_SEC);
	check_date("Sun Nov  6 08:49:37 1994", NOW, RFC_SEC);
	check_date("sUN, 06 nOV 1994 08:49:37 gmt", NOW, RFC_SEC);
	check_date(" Sun, 06 Nov 1994 08:49:37 GMT\t", NOW, RFC_SEC);
	check_date("Wed Nov 18 11:06:40 2026", NOW, NOW);
	check_date(NOW_TEXT, NOW, NOW);
	check_date("Thu, 01 Jan 1970 00:00:00 GMT", NOW, 0);
	check_date("Wed, 31 Dec 1969 23:59:59 GMT", NOW, 0);
	check_date("Sat, 01 Jan 0001 00:00:00 GMT", NOW, 0);
	check_date("Tue, 29 Feb 2000 00:00:00 GMT", NOW, 951782400);
	check_date("Wed, 01 Mar 2000 00:00:00 GMT", NOW, 951868800);
	check_date("Thu, 29 Feb 2024 23:59:60 GMT", NOW, 1709251200);
	check_date("Mon, 01 Mar 2100 00:00:00 GMT", NOW, 4107542400);
	check_date("Fri, 31 Dec 9999 23:59:59 GMT", NOW, 253402300799);
}

static void every_day_follows_the_one_before(void **state)
{
	(void)state;
	static const char months[12][4] = {
	    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	uint64_t want = 0, sec;
	for (int year = 1970; year <= 2110; year++) {
		for (int month = 0; month < 12; month++) {
			for (int day = 1; day <= 31; day++) {
				char text[64];
				int length = snprintf(text, sizeof(text),
				    "Mon, %02d %s %04d 00:00:00 GMT", day, months[month], year);
				if (!http_date_parse(slice_of(text, (size_t)length), NOW, &sec)) {
					assert_true(day > 28);
					continue;
				}
				assert_int_equal(sec, want);
				want += 86400;
			}
		}
	}
	assert_int_equal(want / 86400, 141 * 365 + 34); /* 35 leap years, but not 2100 */
}

static void two_digit_year_is_at_most_fifty_years_ahead(void **state)
{
	(void)state;
	const uint64_t year_2080 = 3471292800;
	check_date("Friday, 18-Nov-26 11:06:40 GMT", NOW, NOW);
	check_date("Friday, 01-Jan-76 00:00:00 GMT", NOW, 3345062400); /* 2076, within 50 years */
	check_date("Friday, 01-Jan-77 00:00:00 GMT", NOW, 220924800);  /* 1977 */
	check_date("Friday, 01-Jan-70 00:00:00 GMT", NOW, 3155760000); /* 2070 */
	check_date("Friday, 01-Jan-00 00:00:00 GMT", NOW, 946684800);  /* 2000 */
	check_date("Friday, 01-Jan-10 00:00:00 GMT", year_2080, 4417977600); /* 2110 */
	check_date("Friday, 01-Jan-99 00:00:00 GMT", 0, 915148800);          /* 1999 */
	check_date("Friday, 01-Jan-25 00:00:00 GMT", 0, 0);                  /* 1925 */
	check_date("Tuesday, 29-Feb-00 00:00:00 GMT", NOW, 951782400);
}

static void what_is_no_date_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", " ", "0", "Sun", "Sun,", "Sun, ", "1994",
	    "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
	    "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37 GMT x",
	    "Sun, 06 Nov 1994 08:49:37 GMTx", "Sun, 6 Nov 1994 08:49:37 GMT",
	    "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 19945 08:49:37 GMT",
	    "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
	    "Sun, 06  Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT",
	    "Sxn, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nxv 1994 08:49:37 GMT",
	    "Sun, 06 November 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
	    "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 32 Dec 1994 08:49:37 GMT",
	    "Sun, 29 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 2100 08:49:37 GMT",
	    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
	    "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
	    "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
	    "Sunday, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
	    "Sunday, 31-Nov-94 08:49:37 GMT", "Sunday Nov  6 08:49:37 1994",
	    "Sun Nov 6 08:49:37 1994", "Sun Nov   6 08:49:37 1994", "Sun Nov  6 08:49:37 94",
	    "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  0 08:49:37 1994"};
	uint64_t sec;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (http_date_parse(slice_of_string(bad[i]), NOW, &sec))
			fail_msg("read: %s", bad[i]);
	}
	const char *whole = "Sunday, 06-Nov-94 08:49:37 GMT";
	for (size_t length = 0; length < strlen(whole); length++)
		assert_false(http_date_parse(slice_of(whole, length), NOW, &sec));
}

static void date_is_written_in_the_preferred_form(void **state)
{
	(void)state;
	static const struct {
		uint64_t sec;
		const char *text;
	} rows[] = {
	    {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
	    {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
	    {951782399, "Mon, 28 Feb 2000 23:59:59 GMT"},
	    {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
	    {951868800, "Wed, 01 Mar 2000 00:00:00 GMT"},
	    {4107542399, "Sun, 28 Feb 2100 23:59:59 GMT"},
	    {4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"},
	    {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
	};
	char text[HTTP_DATE_LEN + 1] = "";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		http_date_write(text, rows[i].sec);
		assert_string_equal(text, rows[i].text);
	}
}

static void what_is_written_reads_the_same(void **state)
{
	(void)state;
	char text[HTTP_DATE_LEN];
	/* A step that meets each day of a leap year and each hour, over some centuries. */
	for (uint64_t sec = 0; sec < UINT64_C(13000000000); sec += 86400 * 3 + 3607) {
		uint64_t read = 0;
		http_date_write(text, sec);
		assert_true(http_date_parse(slice_of(text, sizeof(text)), 0, &read));
		assert_int_equal(read, sec);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_three_forms_of_a_date_are_read),
	    cmocka_unit_test(every_day_follows_the_one_before),
	    cmocka_unit_test(two_digit_year_is_at_most_fifty_years_ahead),
	    cmocka_unit_test(what_is_no_date_is_refused),
	    cmocka_unit_test(date_is_written_in_the_preferred_form),
	    cmocka_unit_test(what_is_written_reads_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
