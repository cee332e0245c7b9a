/* SPDX-License-Identifier: MIT */
/* What an option looks like in messages and in the help: its syntax, its choices, an example. */
#include "proxy/conf/option.h"
#include "proxy/conf/value.h"
#include <inttypes.h>

const char *conf_option_choices(const struct conf_option *o, const char *joint,
    const char *last_joint, char *buffer, size_t size)
{
	struct slice rest = slice_of_string(o->choices), word, previous = SLICE("");
	size_t used = 0;

	buffer[0] = '\0';
	/* Print each word one round later, so that the last one is known. */
	while (used < size && value_next_word(&rest, &word) == VALUE_WORD) {
		if (previous.len > 0)
			used += (size_t)snprintf(buffer + used, size - used, "%s%.*s",
			    used ? joint : "", SLICE_ARG(previous));
		previous = word;
	}
	if (used < size)
		snprintf(buffer + used, size - used, "%s%.*s", used ? last_joint : "",
		    SLICE_ARG(previous));
	return buffer;
}

const char *conf_option_example(const struct conf_option *o, char *buffer, size_t size)
{
	struct slice rest, word;

	if (o->example || (o->type != CONF_TYPE_SWITCH && o->type != CONF_TYPE_CHOICE))
		return o->example ? o->example : o->preset;
	/* Of choices the first that is not the default: the default needs no line. */
	rest = slice_of_string(o->choices);
	while (value_next_word(&rest, &word) == VALUE_WORD)
		if (!slice_equal(word, slice_of_string(o->preset)))
			break;
	snprintf(buffer, size, "%.*s", SLICE_ARG(word));
	return buffer;
}

const char *conf_option_form(const struct conf_option *o, char *buffer, size_t size)
{
	char least[VALUE_TEXT], most[VALUE_TEXT];

	if (o->form) {
		snprintf(buffer, size, "%s", o->form);
		return buffer;
	}
	switch (o->type) {
	case CONF_TYPE_NUMBER:
		snprintf(buffer, size, "%" PRIu64 " ... %" PRIu64, o->min, o->max);
		break;
	case CONF_TYPE_SIZE:
	case CONF_TYPE_WINDOW:
		snprintf(buffer, size, "%s ... %s bytes (64k, 1M, 1G)",
		    value_size_format(o->min, least, sizeof least),
		    value_size_format(o->max, most, sizeof most));
		break;
	case CONF_TYPE_TIME:
		snprintf(buffer, size, "%s ... %s (500ms, 10s, 2m, 1h)",
		    value_time_format(o->min, least, sizeof least),
		    value_time_format(o->max, most, sizeof most));
		break;
	case CONF_TYPE_RATE:
		snprintf(buffer, size, "%" PRIu64 "/s ... %" PRIu64 "/s (100/s, 100/s burst 500)",
		    o->min, o->max);
		break;
	case CONF_TYPE_SWITCH:
	case CONF_TYPE_CHOICE:
		conf_option_choices(o, " | ", " | ", buffer, size);
		break;
	case CONF_TYPE_BITS:
		conf_option_choices(o, " ", " ", buffer, size);
		break;
	case CONF_TYPE_TEXT:
	case CONF_TYPE_FILE:
	case CONF_TYPE_LIST:
	case CONF_TYPE_CIDRS:
	case CONF_TYPE_PATTERNS:
	case CONF_TYPE_FILES:
	case CONF_TYPE_FIELDS:
	case CONF_TYPE_OTHER:
		snprintf(buffer, size, "VALUE");
		break;
	}
	return buffer;
}
