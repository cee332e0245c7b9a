/* SPDX-License-Identifier: MIT */
/* `pushgate help-config`: the option table as text, 80 columns wide, and a commented configuration. */
#include "proxy/conf/option.h"

enum { HELP_COLUMNS = 80 };

/* Prints the words of a text, so many columns wide; each line begins with `begin`. */
static void print_columns(FILE *out, const char *begin, int columns, const char *text)
{
	int column = 0;

	while (*text) {
		int word = (int)strcspn(text, " \n");
		if (column > 0 && column + 1 + word > columns) {
			fputc('\n', out);
			column = 0;
		}
		column += fprintf(out, "%s%.*s", column ? " " : begin, word, text);
		text += word;
		text += strspn(text, " \n");
	}
	fputc('\n', out);
}

static void print_wrapped(FILE *out, const char *indent, const char *text)
{
	print_columns(out, indent, HELP_COLUMNS, text);
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
		snprintf(line, sizeof line, "Default: %s.%s", o->preset, repeats);
	else
		snprintf(line, sizeof line, "%s.%s", o->is_required ? "Required" : "No default",
		    repeats);
	print_wrapped(out, "      ", line);
	print_wrapped(out, "      ", o->sentence);
}

static void print_section(FILE *out, enum conf_kind kind)
{
	const struct conf_section_type *type = &conf_section_types[kind];

	fprintf(out, "[%s%s]\n", type->word, type->is_named ? " NAME" : "");
	print_wrapped(out, "  ", type->sentence);
	if (kind == CONF_SECTION_ROUTES)
		print_wrapped(out, "  ", "Its options: pushgate help-config route.");
	conf_for_each_option (o, kind)
		print_option(out, o);
}

/* The same words of print_syntax() and print_introduction(). */
#define OF_LISTS                                                                                   \
	"Separate the members of a list by spaces or commas; write a member with spaces in "       \
	"\"double quotes\". "
#define OF_VALUES                                                                                  \
	"Times need a unit (ms, s, m, h). A rate is an average per second and a burst (100/s "     \
	"burst 500); the default burst is twice the rate. Relative paths start at the folder of "  \
	"the file that contains them."

static void print_syntax(FILE *out)
{
	print_wrapped(out, "",
	    "A configuration has sections and options, `key = value`, one on a line. Lines that "
	    "begin with ; or # are comments; a comment cannot follow a value. " OF_LISTS
	    "Sizes are in bytes (k, M and G are powers of 1024). " OF_VALUES " Above its first "
	    "section a file may include others with `include = FILE`; FILE may be a pattern such "
	    "as conf.d/*.ini.");
}

/* ---- the example: every option, with its sentence above it ---- */

/* etc/pushgate.ini is this output. Required options are active, all others are commented out. */

enum { EXAMPLE_COLUMNS = 100, INTRODUCTION_COLUMNS = 98 };

static void print_comment(FILE *out, const char *text)
{
	print_columns(out, "; ", EXAMPLE_COLUMNS, text);
}

static void print_introduction(FILE *out)
{
	print_columns(out, "; ", INTRODUCTION_COLUMNS,
	    "pushgate: all options with their defaults. A line that begins with ';' and no space "
	    "shows the default, or an example if there is no default: remove the ';' to change "
	    "it.");
	print_columns(out, "; ", INTRODUCTION_COLUMNS,
	    "`pushgate check -c FILE` reports mistakes in a file, `pushgate help-config` prints "
	    "the "
	    "ranges, and `pushgate help-config example` prints this file.");
	fputs(";\n", out);
	print_columns(out, "; ", INTRODUCTION_COLUMNS,
	    "Write one option on a line, and comments on lines of their own. " OF_LISTS
	    "Sizes are in bytes (k, M, G: powers of 1024). " OF_VALUES);
	fputs("\n; Above its first section a file may include others, by name or by a pattern.\n"
	      ";include = conf.d/*.ini\n",
	    out);
}

static void print_example_of(FILE *out, const struct conf_option *o)
{
	const char *value = o->preset ? o->preset : o->example;
	bool is_needed = o->is_required && !conf_section_types[o->section].is_optional;

	fputc('\n', out);
	print_comment(out, o->sentence);
	fprintf(out, "%s%s = %s\n", is_needed ? "" : ";", o->key, value);
}

static void print_example(FILE *out)
{
	print_introduction(out);
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++) {
		const struct conf_section_type *type = &conf_section_types[kind];
		fputs("\n\n", out);
		print_comment(out, type->sentence);
		fprintf(out, "%s[%s%s%s]\n", type->is_optional ? ";" : "", type->word,
		    type->is_named ? " " : "", type->example);
		conf_for_each_option (o, (enum conf_kind)kind)
			print_example_of(out, o);
	}
}

const char *conf_help_topic(size_t index)
{
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++)
		if (index-- == 0)
			return conf_section_types[kind].word;
	return index == 0 ? CONF_HELP_EXAMPLE : NULL;
}

void conf_print_help(FILE *out, const char *topic)
{
	bool is_first = true;

	if (topic && strcmp(topic, CONF_HELP_EXAMPLE) == 0) {
		print_example(out);
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
