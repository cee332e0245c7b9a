/* SPDX-License-Identifier: MIT */
/* When a certificate is renewed, and when to try again (RFC 9773 4). */
#include "proxy/acme/acme.h"
#include "proxy/base/ascii.h"
#include "proxy/base/base64.h"
#include <time.h>

enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };
/* Let's Encrypt allows five failed validations of a name in an hour: with pauses of 1, 2, 4, … minutes there are six in the
 * first hour, and then one in four hours. */
enum { PAUSE_FIRST_SECONDS = 1 * MINUTE, PAUSE_MOST_SECONDS = 4 * HOUR };
/* An authority that names a longer pause is asked once a day all the same: one that errs must not end all renewals. */
enum { PAUSE_SAID_MOST_SECONDS = DAY };
/* RFC 9773 4.3.3 recommends six hours where the authority does not say; 4.3.2 has the least and the most. */
enum { WINDOW_SECONDS = 6 * HOUR, WINDOW_LEAST_SECONDS = 1 * MINUTE, WINDOW_MOST_SECONDS = DAY };

bool acme_certificate_id(const struct net_issued *c, char id[ACME_ID_BYTES])
{
	if (c->authority_length == 0 || c->serial_length == 0)
		return false;
	size_t length = base64url_encode(slice_of(c->authority, c->authority_length), id);
	id[length++] = '.';
	length += base64url_encode(slice_of(c->serial, c->serial_length), id + length);
	id[length] = '\0';
	return true;
}

static bool take_two_digits(const char **text, unsigned most, unsigned *number)
{
	const char *t = *text;
	if (!ascii_is(t[0], ASCII_DIGIT) || !ascii_is(t[1], ASCII_DIGIT))
		return false;
	*number = 10u * (unsigned)(t[0] - '0') + (unsigned)(t[1] - '0');
	*text += 2;
	return *number <= most;
}

/* The offset of a zone, "Z" or "+01:00". */
static bool parse_zone(const char *text, int64_t *seconds)
{
	unsigned hours, minutes;
	*seconds = 0;
	if (text[0] == 'Z' || text[0] == 'z')
		return text[1] == '\0';
	if (text[0] != '+' && text[0] != '-')
		return false;
	const char *rest = text + 1;
	if (!take_two_digits(&rest, 23, &hours) || *rest++ != ':' ||
	    !take_two_digits(&rest, 59, &minutes) || *rest != '\0')
		return false;
	*seconds = (int64_t)(hours * HOUR + minutes * MINUTE) * (text[0] == '-' ? -1 : 1);
	return true;
}

bool acme_time_parse(const char *text, int64_t *seconds)
{
	struct tm tm = {0};
	int64_t zone;
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest)
		return false;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (!parse_zone(rest, &zone))
		return false;
	*seconds = (int64_t)timegm(&tm) - zone;
	return true;
}

int64_t acme_renewal_time(
    const struct net_issued *c, const struct acme_window *window, uint64_t random)
{
	int64_t life = c->ends - c->starts;
	if (!window || window->end <= window->start || window->start >= c->ends)
		return c->starts + life / 3 * 2;
	int64_t end = window->end < c->ends ? window->end : c->ends;
	return window->start + (int64_t)(random % (uint64_t)(end - window->start));
}

uint32_t acme_pause_seconds(unsigned failures, uint32_t retry_after, uint64_t random)
{
	uint32_t pause = PAUSE_MOST_SECONDS;
	if (failures < 16 && (uint32_t)PAUSE_FIRST_SECONDS << (failures - 1) < PAUSE_MOST_SECONDS)
		pause = (uint32_t)PAUSE_FIRST_SECONDS << (failures - 1);
	/* A tenth more at most, so that many gateways do not come at once. */
	pause += (uint32_t)(random % (pause / 10 + 1));
	if (retry_after > PAUSE_SAID_MOST_SECONDS)
		retry_after = PAUSE_SAID_MOST_SECONDS;
	return pause > retry_after ? pause : retry_after;
}

uint32_t acme_window_seconds(uint32_t retry_after)
{
	if (retry_after == 0)
		return WINDOW_SECONDS;
	if (retry_after < WINDOW_LEAST_SECONDS)
		return WINDOW_LEAST_SECONDS;
	return retry_after < WINDOW_MOST_SECONDS ? retry_after : WINDOW_MOST_SECONDS;
}
