/* SPDX-License-Identifier: MIT */
/* `pushgate help-config`: the option table as text, 80 columns wide. */
#include "proxy/conf/option.h"
#include "proxy/conf/value.h"
#include <inttypes.h>

enum { HELP_COLUMNS = 80 };

/* Words of text between an indentation and the right margin. */
static void print_wrapped(FILE *out, int indent, const char *text)
{
	int column = 0;

	while (*text) {
		int word = (int)strcspn(text, " ");
		if (column == 0)
			column = fprintf(out, "%*s%.*s", indent, "", word, text);
		else if (column + 1 + word <= HELP_COLUMNS)
			column += fprintf(out, " %.*s", word, text);
		else
			column = fprintf(out, "\n%*s%.*s", indent, "", word, text) - 1;
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void choices_form(const char *choices, const char *joint, char *buffer, size_t size)
{
	struct slice rest = slice_of_string(choices), word;
	size_t used = 0;

	buffer[0] = '\0';
	while (used < size && value_next_word(&rest, &word) == VALUE_WORD)
		used += (size_t)snprintf(
		    buffer + used, size - used, "%s%.*s", used ? joint : "", SLICE_ARG(word));
}

/* What may be written, by the type unless the row says it. */
static void option_form(const struct conf_option *o, char *buffer, size_t size)
{
	char least[VALUE_TEXT], most[VALUE_TEXT];

	if (o->form) {
		snprintf(buffer, size, "%s", o->form);
		return;
	}
	switch (o->type) {
	case CONF_TYPE_NUMBER:
		snprintf(buffer, size, "%" PRIu64 " ... %" PRIu64, o->min, o->max);
		return;
	case CONF_TYPE_SIZE:
	case CONF_TYPE_WINDOW:
		snprintf(buffer, size, "%s ... %s octets (64k, 1M, 1G)",
		    value_size_format(o->min, least, sizeof least),
		    value_size_format(o->max, most, sizeof most));
		return;
	case CONF_TYPE_TIME:
		snprintf(buffer, size, "%s ... %s (500ms, 10s, 2m, 1h)",
		    value_time_format(o->min, least, sizeof least),
		    value_time_format(o->max, most, sizeof most));
		return;
	case CONF_TYPE_SWITCH:
	case CONF_TYPE_CHOICE:
		choices_form(o->choices, " | ", buffer, size);
		return;
	case CONF_TYPE_BITS:
		choices_form(o->choices, " ", buffer, size);
		return;
	case CONF_TYPE_TEXT:
	case CONF_TYPE_FILE:
	case CONF_TYPE_LIST:
	case CONF_TYPE_CIDRS:
	case CONF_TYPE_OTHER:
		snprintf(buffer, size, "VALUE");
		return;
	}
}

static void print_option(FILE *out, const struct conf_option *o)
{
	char form[256], line[512];

	option_form(o, form, sizeof form);
	const char *repeats = o->repeats ? " May be given several times." : "";
	fprintf(out, "\n  %s\n", o->key);
	snprintf(line, sizeof line, "%s%s", o->type == CONF_TYPE_BITS ? "Any of: " : "", form);
	print_wrapped(out, 6, line);
	if (o->preset)
		fprintf(out, "      Default: %s.%s\n", o->preset, repeats);
	else
		fprintf(out, "      %s.%s\n", o->is_required ? "Required" : "No default", repeats);
	print_wrapped(out, 6, o->sentence);
}

static void print_section(FILE *out, enum conf_kind kind)
{
	const struct conf_section_type *type = &conf_section_types[kind];

	fprintf(out, "[%s%s]\n", type->word, type->is_named ? " NAME" : "");
	print_wrapped(out, 2, type->sentence);
	for (size_t i = 0; i < conf_option_count; i++)
		if (conf_options[i].section == kind)
			print_option(out, &conf_options[i]);
}

static void print_syntax(FILE *out)
{
	print_wrapped(out, 0,
	    "A configuration is made of sections and options, `key = value`, one a line. Lines "
	    "that begin "
	    "with ; or # are comments; there are none behind a value. Lists are separated by "
	    "spaces or "
	    "commas, and \"double quotes\" keep a member with spaces together. Sizes are octets "
	    "(k, M and G "
	    "are powers of 1024), times need a unit (ms, s, m, h). Relative paths start at the "
	    "folder of "
	    "the file that they stand in. `include = FILE` above the first section of a file reads "
	    "another "
	    "file, or with a pattern such as conf.d/*.ini several, at that place.");
}

void conf_print_help(FILE *out, const char *section)
{
	bool is_found = false;

	if (!section)
		print_syntax(out);
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++) {
		if (section && strcmp(section, conf_section_types[kind].word) != 0)
			continue;
		if (!section || is_found)
			fputc('\n', out);
		print_section(out, (enum conf_kind)kind);
		is_found = true;
	}
	if (!is_found)
		fprintf(out, "There is no section [%s]: server, listen, origin, route, push.\n",
		    section);
}
