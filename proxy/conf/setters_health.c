/* SPDX-License-Identifier: MIT */
/* Setters for the health of servers: which statuses count, and how servers are checked. */
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/http/authority.h"

#define STATUS_LEAST 200u
#define STATUS_MOST 599u

static bool is_status(struct slice text, uint16_t *status)
{
	uint64_t number;

	if (text.len != 3 || !slice_to_number(text, STATUS_MOST, &number) || number < STATUS_LEAST)
		return false;
	*status = (uint16_t)number;
	return true;
}

/* "503", or "500-599". */
static bool add_statuses(struct conf_statuses *s, struct slice word)
{
	size_t end = slice_find(word, '-');
	uint16_t first, last;

	if (s->count == CONF_STATUS_RANGES || !is_status(slice_sub(word, 0, end), &first))
		return false;
	last = first;
	if (end < word.len && (!is_status(slice_from(word, end + 1), &last) || last < first))
		return false;
	s->ranges[s->count].first = first;
	s->ranges[s->count++].last = last;
	return true;
}

static bool set_statuses(struct conf_loader *l, struct conf_statuses *s, struct slice value)
{
	struct slice rest = value, word;
	enum value_word found;

	*s = (struct conf_statuses){0};
	while ((found = value_next_word(&rest, &word)) == VALUE_WORD && add_statuses(s, word))
		;
	if (found == VALUE_END && s->count > 0)
		return true;
	return conf_bad_value(l, value, NULL,
	    "write up to 16 final statuses (200 to 599) or ranges of them, such as 500 502-504");
}

bool conf_set_failure_status(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_origin *o = object;

	return set_statuses(l, &o->eject.failure_status, value);
}

bool conf_set_health_status(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_origin *o = object;

	return set_statuses(l, &o->check.statuses, value);
}

/* What a request line may have as its target (RFC 9112 3.2.1). */
static bool is_path(struct slice text)
{
	if (!slice_starts_with(text, SLICE("/")))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] <= ' ' || text.ptr[i] >= 0x7f || text.ptr[i] == '#')
			return false;
	return true;
}

bool conf_set_health_check(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_origin *o = object;
	int word = value_choice(value, "off connect");

	o->check.kind = word == 0   ? CONF_CHECK_OFF
			: word == 1 ? CONF_CHECK_CONNECT
				    : CONF_CHECK_GET;
	if (word >= 0)
		return true;
	if (!is_path(value))
		return conf_bad_value(
		    l, value, NULL, "write off, connect or the path to ask for, such as /health");
	o->check.path = conf_copy(l, value);
	return true;
}

bool conf_set_health_host(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_origin *o = object;
	struct http_authority a;

	if (!http_authority_parse(value, SLICE("https"), &a) || a.host.len == 0)
		return conf_bad_value(l, value, NULL, "write NAME or NAME:PORT");
	o->check.host = conf_copy(l, value);
	return true;
}
