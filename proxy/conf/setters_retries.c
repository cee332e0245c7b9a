/* SPDX-License-Identifier: MIT */
/* Setters for when a request is sent: when it is whole; again, after what; and for how many of an origin. */
#include "proxy/base/ascii.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"

#define BUFFER_MOST (1u << 30)

/* ---- [route] ---- */

static bool bad_retry_on(struct conf_loader *l, struct slice word)
{
	return conf_bad_value(l, word, NULL, "write off, or any of lost, late and 500 to 599");
}

bool conf_set_retry_on(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_retry_on *on = &((struct conf_route *)object)->retry_on;
	struct slice rest = value, word;
	uint64_t status;

	*on = (struct conf_retry_on){0};
	if (slice_equal_nocase(value, SLICE("off")))
		return true;
	while (value_next_word(&rest, &word) == VALUE_WORD) {
		if (slice_equal_nocase(word, SLICE("lost")))
			on->lost = true;
		else if (slice_equal_nocase(word, SLICE("late")))
			on->late = true;
		else if (slice_to_number(word, 599, &status) && status >= 500)
			on->statuses[status - 500] = true;
		else
			return bad_retry_on(l, word);
	}
	return value.len > 0 || bad_retry_on(l, value);
}

/* ---- [origin] ---- */

bool conf_set_retry_budget(struct conf_loader *l, void *object, struct slice value)
{
	return value_percent(value, &((struct conf_origin *)object)->retry_budget) ||
	       conf_bad_value(l, value, NULL, "give a share from 0% to 100%");
}

bool conf_set_request_buffer(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_route *route = object;
	uint64_t bytes = 0;
	if (!slice_equal(value, SLICE("off")) &&
	    (!value_size(value, &bytes) || bytes > BUFFER_MOST))
		return conf_bad_value(l, value, NULL, "write off, or a size of at most 1G");
	route->request_buffer = (struct conf_request_buffer){true, (uint32_t)bytes};
	return true;
}
