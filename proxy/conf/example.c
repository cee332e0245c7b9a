/* SPDX-License-Identifier: MIT */
/*
 * `pushgate help-config example`: a configuration with every option that is available, its sentence
 * above it. etc/pushgate.ini is its output. What is needed stands there, everything else is
 * commented out.
 */
#include "proxy/conf/option.h"

enum { EXAMPLE_COLUMNS = 100 };

static const char introduction[] =
    "; pushgate: every option there is, with its default. What stands behind a single ';' without "
    "a\n"
    "; space is what holds anyway, or an example where there is no default; remove the ';' to "
    "change\n"
    "; it. `pushgate check -c FILE` tells what is wrong with a file; `pushgate help-config` prints "
    "the\n"
    "; ranges, and `pushgate help-config example` this file.\n"
    ";\n"
    "; One option a line, comments on lines of their own. Lists are separated by spaces or "
    "commas;\n"
    "; \"double quotes\" keep a member with spaces together. Sizes are bytes (k, M, G: powers of "
    "1024),\n"
    "; times have a unit (ms, s, m, h), a rate is so many a second and so many at once (100/s "
    "burst 500;\n"
    "; twice as many where none is given). Relative paths start at the folder of the file that "
    "they stand\n"
    "; in.\n"
    "\n"
    "; Other files may be read, above the first section of a file: by name or by a pattern.\n"
    ";include = conf.d/*.ini\n";

/* How a section is shown; the last ones are not needed, and commented out as a whole. */
static const struct {
	const char *name;
	bool is_commented;
} shown[CONF_SECTION_COUNT] = {
    [CONF_SECTION_SERVER] = {"", false},
    [CONF_SECTION_LISTEN] = {" front", false},
    [CONF_SECTION_ORIGIN] = {" app", false},
    [CONF_SECTION_ROUTE] = {" everything", false},
    [CONF_SECTION_PUSH] = {" example", true},
    [CONF_SECTION_PRELOAD] = {" example", true},
};

static void print_comment(FILE *out, const char *text)
{
	int column = 0;

	while (*text) {
		int word = (int)strcspn(text, " ");
		if (column > 0 && column + 1 + word > EXAMPLE_COLUMNS) {
			fputc('\n', out);
			column = 0;
		}
		column += fprintf(out, "%s %.*s", column ? "" : ";", word, text);
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void print_option(FILE *out, const struct conf_option *o)
{
	char sentence[1024];
	const char *value = o->preset ? o->preset : o->example;
	bool is_needed = o->is_required && !shown[o->section].is_commented;

	fputc('\n', out);
	print_comment(out, conf_option_sentence(o, sentence, sizeof sentence));
	fprintf(out, "%s%s = %s\n", is_needed ? "" : ";", o->key, value);
}

void conf_print_example(FILE *out)
{
	fputs(introduction, out);
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++) {
		const struct conf_section_type *type = &conf_section_types[kind];
		if (conf_find_unavailable((enum conf_kind)kind, NULL, SLICE("")))
			continue;
		fputs("\n\n", out);
		print_comment(out, type->sentence);
		fprintf(out, "%s[%s%s]\n", shown[kind].is_commented ? ";" : "", type->word,
		    shown[kind].name);
		for (size_t i = 0; i < conf_option_count; i++)
			if (conf_options[i].section == (enum conf_kind)kind &&
			    !conf_find_unavailable(
				conf_options[i].section, conf_options[i].key, SLICE("")))
				print_option(out, &conf_options[i]);
	}
}
