/* SPDX-License-Identifier: MIT */
/*
 * `pushgate help-config example`: prints a configuration with every option and its
 * sentence above it. etc/pushgate.ini is this output. Required options are active, all others are
 * commented out.
 */
#include "proxy/conf/option.h"

enum { EXAMPLE_COLUMNS = 100 };

static const char introduction[] =
    "; pushgate: all options with their defaults. A line that begins with ';' and no space shows "
    "the\n"
    "; default, or an example if there is no default: remove the ';' to change it.\n"
    "; `pushgate check -c FILE` reports mistakes in a file, `pushgate help-config` prints the "
    "ranges,\n"
    "; and `pushgate help-config example` prints this file.\n"
    ";\n"
    "; Write one option on a line, and comments on lines of their own. Separate the members of a "
    "list\n"
    "; by spaces or commas; write a member with spaces in \"double quotes\". Sizes are in bytes "
    "(k, M, G:\n"
    "; powers of 1024). Times need a unit (ms, s, m, h). A rate is an average per second and a "
    "burst\n"
    "; (100/s burst 500); the default burst is twice the rate. Relative paths start at the folder "
    "of\n"
    "; the file that contains them.\n"
    "\n"
    "; Above its first section a file may include others, by name or by a pattern.\n"
    ";include = conf.d/*.ini\n";

/* The name that a section gets in the example; optional sections are commented out. */
static const struct {
	const char *name;
	bool is_commented;
} shown[CONF_SECTION_COUNT] = {
    [CONF_SECTION_SERVER] = {"", false},
    [CONF_SECTION_LISTEN] = {" front", false},
    [CONF_SECTION_ACCESS] = {" home", true},
    [CONF_SECTION_ORIGIN] = {" app", false},
    [CONF_SECTION_ROUTE] = {" everything", false},
    [CONF_SECTION_ROUTES] = {"", true},
    [CONF_SECTION_PUSH] = {" example", true},
    [CONF_SECTION_PRELOAD] = {" example", true},
    [CONF_SECTION_ERRORS] = {"", true},
};

static void print_comment(FILE *out, const char *text)
{
	conf_print_wrapped(out, "; ", EXAMPLE_COLUMNS, text);
}

static void print_option(FILE *out, const struct conf_option *o)
{
	const char *value = o->preset ? o->preset : o->example;
	bool is_needed = o->is_required && !shown[o->section].is_commented;

	fputc('\n', out);
	print_comment(out, o->sentence);
	fprintf(out, "%s%s = %s\n", is_needed ? "" : ";", o->key, value);
}

void conf_print_example(FILE *out)
{
	fputs(introduction, out);
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++) {
		const struct conf_section_type *type = &conf_section_types[kind];
		fputs("\n\n", out);
		print_comment(out, type->sentence);
		fprintf(out, "%s[%s%s]\n", shown[kind].is_commented ? ";" : "", type->word,
		    shown[kind].name);
		for (size_t i = 0; i < conf_option_count; i++)
			if (conf_options[i].section == (enum conf_kind)kind)
				print_option(out, &conf_options[i]);
	}
}
