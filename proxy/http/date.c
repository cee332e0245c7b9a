/* SPDX-License-Identifier: MIT */
/*
 * HTTP dates (RFC 9110 5.6.7). libc's parsers depend on the locale and accept far more than the
 * three forms. The name of the day is read, but not compared with the date. Only the preferred form
 * is written.
 */
#include "proxy/http/date.h"

#include "proxy/base/ensure.h"

#define DAY_SEC 86400u
#define ASCTIME_LEN 24u
/* 50 years of mean Gregorian length. */
#define FIFTY_YEARS_SEC UINT64_C(1577847600)

#define SHORT_DAY 3u /* letters of a day's name where it is short */

/* The epoch began on a Thursday. */
static const struct slice day_names[7] = {SLICE_INIT("Thursday"), SLICE_INIT("Friday"),
    SLICE_INIT("Saturday"), SLICE_INIT("Sunday"), SLICE_INIT("Monday"), SLICE_INIT("Tuesday"),
    SLICE_INIT("Wednesday")};
static const struct slice month_names[12] = {SLICE_INIT("Jan"), SLICE_INIT("Feb"),
    SLICE_INIT("Mar"), SLICE_INIT("Apr"), SLICE_INIT("May"), SLICE_INIT("Jun"), SLICE_INIT("Jul"),
    SLICE_INIT("Aug"), SLICE_INIT("Sep"), SLICE_INIT("Oct"), SLICE_INIT("Nov"), SLICE_INIT("Dec")};

struct moment {
	unsigned year, month, day, hour, minute, second; /* month: 0 is January */
};

/* The read_… functions remove what they read from the front of *s. */

static bool read_text(struct slice *s, struct slice wanted)
{
	if (!slice_equal_nocase(slice_sub(*s, 0, wanted.len), wanted))
		return false;
	*s = slice_from(*s, wanted.len);
	return true;
}

static bool read_month(struct slice *s, struct moment *m)
{
	for (m->month = 0; m->month < 12; m->month++)
		if (read_text(s, month_names[m->month]))
			return true;
	return false;
}

/* The first letters of a name are read, or all of them. */
static bool read_day_name(struct slice *s, size_t letters)
{
	for (unsigned i = 0; i < 7; i++)
		if (read_text(s, slice_sub(day_names[i], 0, letters)))
			return true;
	return false;
}

static bool read_digits(struct slice *s, size_t digits, unsigned *number)
{
	uint64_t value;
	if (s->len < digits || !slice_to_number(slice_sub(*s, 0, digits), 9999, &value))
		return false;
	*number = (unsigned)value;
	*s = slice_from(*s, digits);
	return true;
}

static bool read_time(struct slice *s, struct moment *m)
{
	return read_digits(s, 2, &m->hour) && read_text(s, SLICE(":")) &&
	       read_digits(s, 2, &m->minute) && read_text(s, SLICE(":")) &&
	       read_digits(s, 2, &m->second);
}

/* "06 Nov 1994 08:49:37 GMT" */
static bool read_fixdate(struct slice *s, struct moment *m)
{
	return read_digits(s, 2, &m->day) && read_text(s, SLICE(" ")) && read_month(s, m) &&
	       read_text(s, SLICE(" ")) && read_digits(s, 4, &m->year) &&
	       read_text(s, SLICE(" ")) && read_time(s, m) && read_text(s, SLICE(" GMT"));
}

/* "06-Nov-94 08:49:37 GMT", the year without its century */
static bool read_rfc850(struct slice *s, struct moment *m)
{
	return read_digits(s, 2, &m->day) && read_text(s, SLICE("-")) && read_month(s, m) &&
	       read_text(s, SLICE("-")) && read_digits(s, 2, &m->year) &&
	       read_text(s, SLICE(" ")) && read_time(s, m) && read_text(s, SLICE(" GMT"));
}

/* "Nov  6 08:49:37 1994" */
static bool read_asctime(struct slice *s, struct moment *m)
{
	if (!read_month(s, m) || !read_text(s, SLICE(" ")))
		return false;
	if (!(read_text(s, SLICE(" ")) ? read_digits(s, 1, &m->day) : read_digits(s, 2, &m->day)))
		return false;
	return read_text(s, SLICE(" ")) && read_time(s, m) && read_text(s, SLICE(" ")) &&
	       read_digits(s, 4, &m->year);
}

static bool is_leap(unsigned year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Whether the date and time exist. The grammar allows second 60, a leap second. */
static bool exists(const struct moment *m)
{
	static const unsigned char days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	unsigned last = days[m->month] + (m->month == 1 && is_leap(m->year) ? 1u : 0u);
	return m->day >= 1 && m->day <= last && m->hour < 24 && m->minute < 60 && m->second <= 60;
}

/* Seconds since 1970; 0 for earlier years. */
static uint64_t seconds(const struct moment *m)
{
	static const unsigned before[12] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	if (m->year < 1970)
		return 0;
	unsigned y = m->year - 1;
	uint64_t days = (uint64_t)365 * (m->year - 1970) + (y / 4 - 1969 / 4) -
			(y / 100 - 1969 / 100) + (y / 400 - 1969 / 400) + before[m->month] +
			(m->month > 1 && is_leap(m->year) ? 1u : 0u) + m->day - 1;
	return days * DAY_SEC + (m->hour * UINT64_C(60) + m->minute) * 60 + m->second;
}

/* Chooses the latest year with these last two digits that is at most 50 years after now. */
static bool place_century(struct moment *m, uint64_t now_sec)
{
	unsigned digits = m->year;
	for (unsigned century = 9900; century >= 1900; century -= 100) {
		m->year = century + digits;
		if (exists(m) && seconds(m) <= now_sec + FIFTY_YEARS_SEC)
			return true;
	}
	return false;
}

/* Each form has its length: the preferred one HTTP_DATE_LEN, asctime's 24, that of RFC 850 30 or more. */
static bool read_any(struct slice *s, uint64_t now_sec, struct moment *m)
{
	if (s->len == HTTP_DATE_LEN)
		return read_day_name(s, SHORT_DAY) && read_text(s, SLICE(", ")) &&
		       read_fixdate(s, m);
	if (s->len == ASCTIME_LEN)
		return read_day_name(s, SHORT_DAY) && read_text(s, SLICE(" ")) &&
		       read_asctime(s, m);
	return read_day_name(s, SIZE_MAX) && read_text(s, SLICE(", ")) && read_rfc850(s, m) &&
	       place_century(m, now_sec);
}

bool http_date_parse(struct slice text, uint64_t now_sec, uint64_t *sec)
{
	struct moment m = {0};
	struct slice s = slice_trim(text);
	if (!read_any(&s, now_sec, &m) || s.len > 0 || !exists(&m))
		return false;
	*sec = seconds(&m);
	return true;
}

static char *put_number(char *at, unsigned digits, unsigned number)
{
	for (unsigned i = digits; i-- > 0; number /= 10)
		at[i] = (char)('0' + number % 10);
	return at + digits;
}

static char *put_text(char *at, struct slice text)
{
	memcpy(at, text.ptr, text.len);
	return at + text.len;
}

/*
 * The date of a day since the epoch. It counts in years that begin in March, so that the leap day
 * is the last day of a year.
 */
static struct moment moment_of_days(uint64_t days)
{
	uint64_t since = days + 719468; /* days from 0000-03-01 */
	uint64_t era = since / 146097, of_era = since % 146097;
	uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	uint64_t month = (5 * of_year + 2) / 153; /* 0 is March */
	return (struct moment){
	    .year = (unsigned)(year + era * 400 + (month >= 10 ? 1 : 0)),
	    .month = (unsigned)(month >= 10 ? month - 10 : month + 2),
	    .day = (unsigned)(of_year - (153 * month + 2) / 5 + 1),
	};
}

void http_date_write(char text[HTTP_DATE_LEN], uint64_t sec)
{
	uint64_t days = sec / DAY_SEC;
	unsigned of_day = (unsigned)(sec % DAY_SEC);
	struct moment m = moment_of_days(days);
	ensure(m.year <= 9999);
	char *at = put_text(text, slice_sub(day_names[days % 7], 0, SHORT_DAY));
	at = put_number(put_text(at, SLICE(", ")), 2, m.day);
	at = put_text(put_text(at, SLICE(" ")), month_names[m.month]);
	at = put_number(put_text(at, SLICE(" ")), 4, m.year);
	at = put_number(put_text(at, SLICE(" ")), 2, of_day / 3600);
	at = put_number(put_text(at, SLICE(":")), 2, of_day / 60 % 60);
	at = put_number(put_text(at, SLICE(":")), 2, of_day % 60);
	at = put_text(at, SLICE(" GMT"));
	ensure(at == text + HTTP_DATE_LEN);
}
