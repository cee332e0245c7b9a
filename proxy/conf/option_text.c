/* SPDX-License-Identifier: MIT */
/* Texts about an option, for messages and the help: its syntax, its choices, an example. */
#include "proxy/base/ensure.h"
#include "proxy/conf/option.h"
#include "proxy/conf/value.h"
#include <inttypes.h>

const char *conf_option_choices(const struct conf_option *o, const char *joint,
    const char *last_joint, char *buffer, size_t size)
{
	ensure(o->choices != NULL); /* each row of these types has some */
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

/* The words around the bounds of a type: what to write, and the form of the value. */
static const struct {
	const char *right[3], *form[3];
} ranges[] = {
    [CONF_TYPE_NUMBER] = {{"give a whole number from ", " to ", ""}, {"", " ... ", ""}},
    [CONF_TYPE_SIZE] = {{"give bytes from ", " to ", " (k, M, G)"},
	{"", " ... ", " bytes (64k, 1M, 1G)"}},
    [CONF_TYPE_WINDOW] = {{"give bytes from ", " to ", " (k, M, G)"},
	{"", " ... ", " bytes (64k, 1M, 1G)"}},
    [CONF_TYPE_TIME] = {{"give a time with its unit (ms, s, m, h) from ", " to ", ""},
	{"", " ... ", " (500ms, 10s, 2m, 1h)"}},
    [CONF_TYPE_RATE] = {{"give a rate from ", "/s to ", "/s, with or without a burst"},
	{"", "/s ... ", "/s (100/s, 100/s burst 500)"}},
};

static const char *bound_text(const struct conf_option *o, uint64_t bound, char text[VALUE_TEXT])
{
	if (o->type == CONF_TYPE_TIME)
		return value_time_format(bound, text, VALUE_TEXT);
	if (o->type == CONF_TYPE_SIZE || o->type == CONF_TYPE_WINDOW)
		return value_size_format(bound, text, VALUE_TEXT);
	snprintf(text, VALUE_TEXT, "%" PRIu64, bound);
	return text;
}

/* The bounds of a number, size, time or rate: what to write, or the form of the value. */
static void print_range(const struct conf_option *o, bool is_advice, char *buffer, size_t size)
{
	char least[VALUE_TEXT], most[VALUE_TEXT];
	const char *const *words = is_advice ? ranges[o->type].right : ranges[o->type].form;

	snprintf(buffer, size, "%s%s%s%s%s", words[0], bound_text(o, o->min, least), words[1],
	    bound_text(o, o->max, most), words[2]);
}

const char *conf_option_form(const struct conf_option *o, char *buffer, size_t size)
{
	if (o->form)
		snprintf(buffer, size, "%s", o->form);
	else if (o->type <= CONF_TYPE_RATE)
		print_range(o, false, buffer, size);
	else if (o->type == CONF_TYPE_SWITCH || o->type == CONF_TYPE_CHOICE)
		conf_option_choices(o, " | ", " | ", buffer, size);
	else if (o->type == CONF_TYPE_BITS)
		conf_option_choices(o, " ", " ", buffer, size);
	else
		snprintf(buffer, size, "VALUE");
	return buffer;
}

const char *conf_option_right(const struct conf_option *o, char *buffer, size_t size)
{
	static const char verb[] = "write ";
	const size_t used = strlen(verb);

	if (o->right)
		return o->right;
	memcpy(buffer, verb, sizeof verb);
	if (o->type <= CONF_TYPE_RATE)
		print_range(o, true, buffer, size);
	else if (o->choices)
		conf_option_choices(o, ", ", " or ", buffer + used, size - used);
	else
		conf_option_form(o, buffer + used, size - used);
	return buffer;
}
