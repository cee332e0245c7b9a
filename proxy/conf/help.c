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

static bool is_available(const struct conf_option *o, struct slice word)
{
	return !conf_find_unavailable(o->section, o->key, word);
}

const char *conf_option_choices(const struct conf_option *o, const char *joint,
    const char *last_joint, char *buffer, size_t size)
{
	struct slice rest = slice_of_string(o->choices), word, held = SLICE("");
	size_t used = 0;

	buffer[0] = '\0';
	/* One word behind, to know which is the last. */
	while (used < size && value_next_word(&rest, &word) == VALUE_WORD) {
		if (!is_available(o, word))
			continue;
		if (held.len > 0)
			used += (size_t)snprintf(buffer + used, size - used, "%s%.*s",
			    used ? joint : "", SLICE_ARG(held));
		held = word;
	}
	if (used < size)
		snprintf(
		    buffer + used, size - used, "%s%.*s", used ? last_joint : "", SLICE_ARG(held));
	return buffer;
}

/* The pieces between bars, without those that are not available. */
static void written_form(const struct conf_option *o, char *buffer, size_t size)
{
	const char *rest = o->form;
	size_t used = 0;

	buffer[0] = '\0';
	while (rest && used < size) {
		const char *bar = strstr(rest, " | ");
		struct slice piece =
		    bar ? slice_of(rest, (size_t)(bar - rest)) : slice_of_string(rest);
		if (is_available(o, piece))
			used += (size_t)snprintf(buffer + used, size - used, "%s%.*s",
			    used ? " | " : "", SLICE_ARG(piece));
		rest = bar ? bar + 3 : NULL;
	}
}

const char *conf_option_form(const struct conf_option *o, char *buffer, size_t size)
{
	char least[VALUE_TEXT], most[VALUE_TEXT];

	if (o->form) {
		written_form(o, buffer, size);
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

const char *conf_option_sentence(const struct conf_option *o, char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (const char *line = o->sentence; *line && used < size;) {
		struct slice whole = slice_of(line, strcspn(line, "\n"));
		struct slice word = slice_sub(whole, 0, slice_find(whole, ':'));
		if (word.len == whole.len || is_available(o, word))
			used += (size_t)snprintf(buffer + used, size - used, "%s%.*s",
			    used ? " " : "", SLICE_ARG(whole));
		line += whole.len + (line[whole.len] == '\n');
	}
	return buffer;
}

static void print_option(FILE *out, const struct conf_option *o)
{
	char form[256], line[512], sentence[1024];

	conf_option_form(o, form, sizeof form);
	const char *repeats = o->repeats ? " May be given several times." : "";
	fprintf(out, "\n  %s\n", o->key);
	snprintf(line, sizeof line, "%s%s", o->type == CONF_TYPE_BITS ? "Any of: " : "", form);
	print_wrapped(out, 6, line);
	if (o->preset)
		fprintf(out, "      Default: %s.%s\n", o->preset, repeats);
	else
		fprintf(out, "      %s.%s\n", o->is_required ? "Required" : "No default", repeats);
	print_wrapped(out, 6, conf_option_sentence(o, sentence, sizeof sentence));
}

static void print_section(FILE *out, enum conf_kind kind)
{
	const struct conf_section_type *type = &conf_section_types[kind];

	fprintf(out, "[%s%s]\n", type->word, type->is_named ? " NAME" : "");
	print_wrapped(out, 2, type->sentence);
	for (size_t i = 0; i < conf_option_count; i++)
		if (conf_options[i].section == kind && is_available(&conf_options[i], SLICE("")))
			print_option(out, &conf_options[i]);
}

static void print_syntax(FILE *out)
{
	print_wrapped(out, 0,
	    "A configuration is made of sections and options, `key = value`, one a line. Lines "
	    "that begin "
	    "with ; or # are comments; there are none behind a value. Lists are separated by "
	    "spaces or "
	    "commas, and \"double quotes\" keep a member with spaces together. Sizes are bytes "
	    "(k, M and G "
	    "are powers of 1024), times need a unit (ms, s, m, h), a rate is so many a second "
	    "and so many at once (100/s burst 500; twice as many where none is given). Relative "
	    "paths start at the folder of "
	    "the file that they stand in. `include = FILE` above the first section of a file reads "
	    "another "
	    "file, or with a pattern such as conf.d/*.ini several, at that place.");
}

void conf_print_help(FILE *out, const char *section)
{
	bool is_found = false;

	if (section && strcmp(section, "example") == 0) {
		conf_print_example(out);
		return;
	}
	if (!section)
		print_syntax(out);
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++) {
		if (conf_find_unavailable((enum conf_kind)kind, NULL, SLICE("")))
			continue;
		if (section && strcmp(section, conf_section_types[kind].word) != 0)
			continue;
		if (!section || is_found)
			fputc('\n', out);
		print_section(out, (enum conf_kind)kind);
		is_found = true;
	}
	if (is_found)
		return;
	fprintf(out, "There is no section [%s]:", section);
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++)
		if (!conf_find_unavailable((enum conf_kind)kind, NULL, SLICE("")))
			fprintf(out, "%s %s", kind ? "," : "", conf_section_types[kind].word);
	fprintf(out, ".\n");
}
