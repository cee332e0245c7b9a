/* SPDX-License-Identifier: MIT */
/* Divides values of fields into texts and placeholders. See placeholders.h. */
#include "proxy/conf/placeholders.h"

#include "proxy/base/ascii.h"
#include "proxy/conf/load.h"

/* Each may stand for a whole path: so many bound the length of a field. */
#define PLACEHOLDERS_MOST 8u

static const struct slice names[CONF_PLACEHOLDER_COUNT] = {
#define NAME(symbol, name, ...) [CONF_PLACEHOLDER_##symbol] = SLICE_INIT(name),
    CONF_PLACEHOLDERS(NAME)
#undef NAME
};

#define BRACED(symbol, name, ...) "{" name "} "
static const char unknown[] =
    "write one of " CONF_PLACEHOLDERS(BRACED) "in braces, or {{ for a brace itself";
#undef BRACED

static enum conf_placeholder find(struct slice name)
{
	for (unsigned i = CONF_PLACEHOLDER_NONE + 1; i < CONF_PLACEHOLDER_COUNT; i++)
		if (slice_equal(names[i], name))
			return (enum conf_placeholder)i;
	return CONF_PLACEHOLDER_NONE;
}

/* JSON in a value (NEL, Report-To) has a quote, a blank or another brace behind its braces. Of "${", which is meant for a
 * variable of a shell, conf/ warns elsewhere. */
static bool begins(struct slice rest, bool is_behind_dollar)
{
	return !is_behind_dollar && rest.len > 1 && rest.ptr[0] == '{' &&
	       ascii_is(rest.ptr[1], ASCII_ALPHA);
}

const char *conf_divide_value(
    struct conf_loader *l, struct slice *value, struct conf_value_parts *parts)
{
	/* The texts, one behind the other: none is longer than the value. */
	char *text = arena_bytes(&l->conf->arena, value->len), *from = text, *at = text;
	struct slice rest = *value;
	size_t found = 0;
	while (rest.len > 0) {
		if (!begins(rest, at > text && at[-1] == '$')) {
			*at++ = rest.ptr[0];
			rest = slice_from(rest, 1 + slice_starts_with(rest, SLICE("{{")));
			continue;
		}
		size_t end = slice_find(rest, '}');
		enum conf_placeholder p = find(slice_sub(rest, 1, end - 1));
		if (p == CONF_PLACEHOLDER_NONE || end == rest.len)
			return unknown;
		if (++found > PLACEHOLDERS_MOST)
			return "write at most 8 placeholders";
		conf_append(l, parts->parts, parts->count,
		    (struct conf_value_part){slice_of(from, (size_t)(at - from)), p});
		from = at;
		rest = slice_from(rest, end + 1);
	}
	struct slice last = slice_of(from, (size_t)(at - from));
	if (found == 0)
		*value = last;
	else if (last.len > 0)
		conf_append(l, parts->parts, parts->count,
		    (struct conf_value_part){last, CONF_PLACEHOLDER_NONE});
	return NULL;
}
