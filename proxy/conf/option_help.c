/* SPDX-License-Identifier: MIT */
/* `pushgate help-config`: the option table as text, 80 columns wide. */
#include "proxy/conf/option.h"

enum { HELP_COLUMNS = 80 };

static void print_wrapped(FILE *out, const char *indent, const char *text)
{
	conf_print_wrapped(out, indent, HELP_COLUMNS, text);
}

static void print_option(FILE *out, const struct conf_option *o)
{
	char form[256], line[512];

	conf_option_form(o, form, sizeof form);
	const char *repeats = o->repeats ? " May be given several times." : "";
	fprintf(out, "\n  %s\n", o->key);
	snprintf(line, sizeof line, "%s%s", o->type == CONF_TYPE_BITS ? "Any of: " : "", form);
	print_wrapped(out, "      ", line);
	if (o->preset)
		fprintf(out, "      Default: %s.%s\n", o->preset, repeats);
	else
		fprintf(out, "      %s.%s\n", o->is_required ? "Required" : "No default", repeats);
	print_wrapped(out, "      ", o->sentence);
}

static void print_section(FILE *out, enum conf_kind kind)
{
	const struct conf_section_type *type = &conf_section_types[kind];

	fprintf(out, "[%s%s]\n", type->word, type->is_named ? " NAME" : "");
	print_wrapped(out, "  ", type->sentence);
	if (kind == CONF_SECTION_ROUTES)
		print_wrapped(out, "  ", "Its options: pushgate help-config route.");
	for (size_t i = 0; i < conf_option_count; i++)
		if (conf_options[i].section == kind)
			print_option(out, &conf_options[i]);
}

static void print_syntax(FILE *out)
{
	print_wrapped(out, "",
	    "A configuration has sections and options, `key = value`, one on a line. Lines that "
	    "begin with ; or # are comments; a comment cannot follow a value. Separate the members "
	    "of a "
	    "list by spaces or commas; write a member with spaces in \"double quotes\". Sizes are "
	    "in bytes (k, M and G are powers of 1024). Times need a unit (ms, s, m, h). A rate is "
	    "an average per second and a burst (100/s burst 500); the default burst is twice the "
	    "rate. Relative paths start at the folder of the file that contains them. Above its "
	    "first section a file may include others with `include = FILE`; FILE may be a pattern "
	    "such as conf.d/*.ini.");
}

const char *conf_help_topic(size_t index)
{
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++)
		if (index-- == 0)
			return conf_section_types[kind].word;
	return index == 0 ? "example" : NULL;
}

void conf_print_help(FILE *out, const char *topic)
{
	bool is_first = true;

	if (topic && strcmp(topic, "example") == 0) {
		conf_print_example(out);
		return;
	}
	if (!topic)
		print_syntax(out);
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++) {
		if (topic && strcmp(topic, conf_section_types[kind].word) != 0)
			continue;
		if (!topic || !is_first)
			fputc('\n', out);
		print_section(out, (enum conf_kind)kind);
		is_first = false;
	}
}
