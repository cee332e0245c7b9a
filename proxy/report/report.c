/* SPDX-License-Identifier: MIT */
/* The command `pushgate report`: its options, and what it does with them. */
#include "proxy/report/report.h"
#include "proxy/report/report_private.h"

#include <stddef.h>
#include <string.h>

#define FILES_MOST 1000u
#define TOP_MOST 10000u

struct options {
	bool json, html;
	size_t top;
	size_t file_count;
	const char *files[FILES_MOST];
};

static const char *add_file(void *into, char *value)
{
	struct options *o = into;
	if (o->file_count == FILES_MOST)
		return "there are too many logs; name at most 1000";
	o->files[o->file_count++] = value;
	return NULL;
}

static const char *set_top(void *into, char *value)
{
	struct options *o = into;
	uint64_t top;
	if (!slice_to_number(slice_of_string(value), TOP_MOST, &top) || top == 0)
		return "write 1 to 10000";
	o->top = (size_t)top;
	return NULL;
}

static const struct command_option options[] = {
    {.name = "json", .at = offsetof(struct options, json), .sentence = "print one JSON object"},
    {.name = "html",
	.at = offsetof(struct options, html),
	.sentence = "print one page of HTML, without scripts and complete in itself"},
    {.letter = 'n',
	.name = "top",
	.value = "N",
	.set = set_top,
	.sentence = "show so many resources (default: 10, at most 10000)"},
    {.value = "LOG ...",
	.kind = COMMAND_FILE,
	.rules = COMMAND_REQUIRED | COMMAND_REPEATS,
	.set = add_file,
	.sentence = "an access log, also one compressed by gzip; -: standard input"},
};

/* The logs that cannot be read to their end are told, and the others count. */
static int read_all(struct report *r, const struct options *o)
{
	int status = COMMAND_PARSED;
	for (size_t i = 0; i < o->file_count; i++) {
		const char *error;
		if (report_read(r, o->files[i], &error))
			continue;
		fprintf(stderr, "pushgate report: cannot read %s: %s\n", o->files[i], error);
		status = COMMAND_FAILED;
	}
	report_end(r);
	return status;
}

static int run(int argc, char **argv)
{
	struct options o = {.top = 10};
	int parsed = command_parse(&report_command, argc, argv, &o);
	if (parsed != COMMAND_PARSED)
		return parsed == COMMAND_HELPED ? 0 : parsed;
	if (o.json && o.html)
		return command_usage_error(
		    &report_command, "--json and --html are two forms; choose one");
	struct report r;
	struct report_sections sections;
	report_init(&r);
	int status = read_all(&r, &o);
	report_sections_make(&sections, &r, o.top);
	if (o.json)
		report_show_json(&r, &sections, stdout);
	else if (o.html)
		report_show_html(&r, &sections, stdout);
	else
		report_show_text(&r, &sections, stdout);
	report_sections_free(&sections);
	report_fini(&r);
	return status;
}

const struct command report_command = {
    .name = "report",
    .sentence = "say from access logs who takes pushes, and which rules to keep",
    .text = "Reads access logs, a line at a time, and prints tables: which families of clients "
	    "take pushes; what was used and wasted by rule, route, source and resource; what came "
	    "of held responses; and of each rule whether to keep it. docs/REPORT.md explains each "
	    "table. Lines that log-sample has left out count by the weight of those that are "
	    "there.\n\n"
	    "A line that cannot be read is counted and named, and the others count.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .statuses = "1 means that a log could not be read to its end.",
    .run = run,
};
