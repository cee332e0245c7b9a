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
	static const struct {
		struct slice unit;
		usec period;
	} units[] = {
	    {SLICE_INIT("s"), USEC_PER_SEC},
	    {SLICE_INIT("m"), 60 * USEC_PER_SEC},
	    {SLICE_INIT("h"), 3600 * USEC_PER_SEC},
	};
	size_t slash = slice_find(word, '/');

	if (!number_of(slice_sub(word, 0, slash), &limit->rate))
		return false;
	limit->burst = limit->rate;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (slice_equal_nocase(slice_from(word, slash + 1), units[i].unit))
			limit->period = units[i].period;
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

/* The value of "NAME=VALUE", if that is the name. */
static bool cut_parameter(struct slice word, struct slice name, struct slice *value)
{
	if (!slice_equal_nocase(slice_sub(word, 0, name.len), name))
		return false;
	*value = slice_from(word, name.len);
	return true;
}

/* NULL, or what to write. */
static const char *set_word(struct conf_loader *l, struct conf_request_limit *limit,
    struct slice word, struct slice *rest, unsigned *seen)
{
	enum { RATE = 1, CONCURRENT = 2, BY = 4, SHADOW = 8, BURST = 16 };
	struct slice text;
	const char *right = NULL;
	unsigned part;

	if (slice_equal_nocase(word, SLICE("shadow"))) {
		part = SHADOW;
		limit->is_shadow = true;
	} else if (slice_equal_nocase(word, SLICE("burst"))) {
		part = BURST;
		bool has_number = value_next_word(rest, &text) == VALUE_WORD;
		if (!(*seen & RATE) || !has_number || !number_of(text, &limit->burst))
			right = "write burst NUMBER behind the rate";
	} else if (cut_parameter(word, SLICE("burst="), &text)) {
		part = BURST;
		right = "write burst NUMBER behind the rate";
	} else if (cut_parameter(word, SLICE("concurrent="), &text)) {
		part = CONCURRENT;
		if (!number_of(text, &limit->concurrent))
			right = "give concurrent a whole number from 1 to 1000000";
	} else if (cut_parameter(word, SLICE("by="), &text)) {
		part = BY;
		right = set_key(l, limit, text);
	} else {
		part = RATE;
		if (!set_rate(limit, word))
			right = RIGHT;
	}
	if (!right && (*seen & part))
		right = "give each part once";
	*seen |= part;
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
