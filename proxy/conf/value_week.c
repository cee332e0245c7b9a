/* SPDX-License-Identifier: MIT */
/* Times of a week, for rules: days and hours as bits, one for each minute. */
#include "proxy/conf/conf.h"
#include "proxy/conf/value.h"

#define DAY_MINUTES (24u * 60)

/* "08:00", up to "24:00". */
static bool read_clock(struct slice text, unsigned *minute)
{
	uint64_t hour, rest;
	if (text.len != 5 || text.ptr[2] != ':' ||
	    !slice_to_number(slice_sub(text, 0, 2), 24, &hour) ||
	    !slice_to_number(slice_from(text, 3), 59, &rest))
		return false;
	*minute = (unsigned)(60 * hour + rest);
	return *minute <= DAY_MINUTES;
}

/* "mon" or "mon-fri"; "sat-mon" goes over the end of the week. */
static bool read_days(struct slice text, unsigned *first, unsigned *count)
{
	static const char days[] = "mon tue wed thu fri sat sun";
	size_t dash = slice_find(text, '-');
	int from = value_choice(slice_sub(text, 0, dash), days);
	int to = dash < text.len ? value_choice(slice_from(text, dash + 1), days) : from;
	if (from < 0 || to < 0)
		return false;
	*first = (unsigned)from;
	*count = (unsigned)((to - from + 7) % 7) + 1;
	return true;
}

static bool read_hours(struct slice text, unsigned *from, unsigned *count)
{
	unsigned to;
	size_t dash = slice_find(text, '-');
	if (dash == text.len || !read_clock(slice_sub(text, 0, dash), from) ||
	    !read_clock(slice_from(text, dash + 1), &to) || *from == to || *from == DAY_MINUTES)
		return false;
	*count = to > *from ? to - *from : to + DAY_MINUTES - *from;
	return true;
}

bool value_week(struct slice text, uint64_t *minutes)
{
	unsigned day = 0, days = 7, from = 0, count = DAY_MINUTES;
	size_t slash = slice_find(text, '/');
	bool has_hours = slash < text.len || slice_find(text, ':') < text.len;
	bool has_days = slash < text.len || !has_hours;
	if (has_days && !read_days(slice_sub(text, 0, slash), &day, &days))
		return false;
	if (has_hours &&
	    !read_hours(slash < text.len ? slice_from(text, slash + 1) : text, &from, &count))
		return false;
	for (unsigned d = day; d < day + days; d++)
		for (unsigned i = 0; i < count; i++) {
			unsigned at = (d % 7 * DAY_MINUTES + from + i) % CONF_WEEK_MINUTES;
			minutes[at / 64] |= UINT64_C(1) << at % 64;
		}
	return true;
}
