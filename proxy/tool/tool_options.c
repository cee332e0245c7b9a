/* SPDX-License-Identifier: MIT */
/* See tool_options.h. */
#include "proxy/tool/tool_options.h"
#include "proxy/base/ascii.h"
#include <math.h>
#include <stdlib.h>

const char *tool_add_field(void *into, char *text)
{
	struct tool_fields *fields = into;
	char *colon = strchr(text + (*text == ':'), ':');
	if (!colon || colon == text)
		return "write a field as 'Name: value'";
	if (fields->count == TOOL_FIELDS_MAX)
		return "there are too many fields";
	for (char *p = text; p < colon; p++)
		*p = ascii_lower(*p);
	fields->list[fields->count++] = (struct tool_field){
	    .name = slice_of(text, (size_t)(colon - text)),
	    .value = slice_trim(slice_of_string(colon + 1)),
	};
	return NULL;
}

const struct tool_field *tool_find_field(const struct tool_fields *fields, struct slice name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (slice_equal(fields->list[i].name, name))
			return &fields->list[i];
	return NULL;
}

bool tool_read_number(const char *text, double *number)
{
	char *end;
	*number = strtod(text, &end);
	return !*end && end != text && isfinite(*number) && *number > 0 && *number <= 1e6;
}
