/* SPDX-License-Identifier: MIT */
/* The setter of limit-requests: a rate, a number of open requests, and what they are counted by. */
#include "proxy/base/ascii.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/limits.h"

#define RIGHT "write a rate (100/s, 10/m), concurrent=NUMBER or both"

static bool number_of(struct slice text, uint32_t *number)
{
	uint64_t n;

	if (!slice_to_number(text, LIMIT_REQUEST_RATE, &n) || n == 0)
		return false;
	*number = (uint32_t)n;
	return true;
}

static bool set_rate(struct conf_request_limit *limit, struct slice word)
{
	static const usec periods[] = {USEC_PER_SEC, 60 * USEC_PER_SEC, 3600 * USEC_PER_SEC};
	size_t slash = slice_find(word, '/');
	int unit = value_choice(slice_from(word, slash + 1), "s m h");

	if (!number_of(slice_sub(word, 0, slash), &limit->rate))
		return false;
	limit->burst = limit->rate;
	if (unit >= 0)
		limit->period = periods[unit];
	return limit->period > 0;
}

/* Host and the fields of one hop are gone when the request is counted. */
static bool is_counted_field(enum http_token token)
{
	return token != HTTP_TOKEN_HOST && !conf_is_of_one_hop(token);
}

/* NULL, or what to write. */
static const char *set_key(struct conf_loader *l, struct conf_request_limit *limit, struct slice by)
{
	struct slice prefix = SLICE("field:");

	if (slice_equal_nocase(by, SLICE("client")) || slice_equal_nocase(by, SLICE("all"))) {
		limit->key = by.len == 3 ? CONF_LIMIT_ALL : CONF_LIMIT_CLIENT;
		return NULL;
	}
	if (!slice_equal_nocase(slice_sub(by, 0, prefix.len), prefix) ||
	    !ascii_is_token(slice_from(by, prefix.len)))
		return "write by=client, by=field:NAME or by=all";
	char *name = conf_copy(l, slice_from(by, prefix.len));
	limit->field = slice_of_string(name);
	ascii_lower_copy(name, limit->field);
	limit->field_token = http_token_find(limit->field);
	limit->key = CONF_LIMIT_FIELD;
	return is_counted_field(limit->field_token)
		   ? NULL
		   : "name a field that is not of one hop and not Host";
}

/* NULL, or what to write. */
static const char *set_word(struct conf_loader *l, struct conf_request_limit *limit,
    struct slice word, struct slice *rest, unsigned *seen)
{
	enum { SHADOW, BURST, BURST_EQUALS, CONCURRENT, BY, RATE };
	size_t name = slice_find(word, '=') + 1; /* with its '=' */
	struct slice text = slice_from(word, name);
	int part = value_choice(slice_sub(word, 0, name), "shadow burst burst= concurrent= by=");
	bool has_burst = part == BURST && (*seen >> RATE & 1) != 0 &&
			 value_next_word(rest, &text) == VALUE_WORD &&
			 number_of(text, &limit->burst);
	const char *right = NULL;

	if (part == SHADOW)
		limit->is_shadow = true;
	else if (part == BURST || part == BURST_EQUALS)
		right = has_burst ? NULL : "write burst NUMBER behind the rate";
	else if (part == CONCURRENT)
		right = number_of(text, &limit->concurrent)
			    ? NULL
			    : "give concurrent a whole number from 1 to 1000000";
	else if (part == BY)
		right = set_key(l, limit, text);
	else
		right = set_rate(limit, word) ? NULL : RIGHT;
	unsigned bit = 1u << (part < 0 ? RATE : part);
	if (!right && (*seen & bit))
		right = "give each part once";
	*seen |= bit;
	return right;
}

bool conf_set_limit_requests(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_route *route = object;
	struct conf_request_limit limit = {.text = conf_copy(l, value)};
	struct slice rest = value, word;
	unsigned seen = 0;

	while (value_next_word(&rest, &word) == VALUE_WORD) {
		const char *right = set_word(l, &limit, word, &rest, &seen);
		if (right)
			return conf_bad_value(l, value, NULL, right);
	}
	if (limit.rate == 0 && limit.concurrent == 0)
		return conf_bad_value(l, value, NULL, RIGHT);
	if (route->request_limit_count == LIMIT_REQUEST_LIMITS)
		return conf_bad_value(
		    l, value, "the route has 16 of these lines", "remove one of them");
	limit.index = l->conf->request_limit_count++;
	conf_append(l, route->request_limits, route->request_limit_count, limit);
	return true;
}
