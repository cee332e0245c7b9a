/* SPDX-License-Identifier: MIT */
/* Findings: counted, printed as lines, kept for JSON; and which section and option they are about. */
#include "proxy/conf/findings.h"
#include "proxy/base/memory.h"
#include "proxy/base/utf8.h"
#include "proxy/conf/load.h"
#include "proxy/limits.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

/* What stands in JSON for a byte that is no UTF-8: U+FFFD. */
#define REPLACEMENT "\xef\xbf\xbd"

/* ---- as JSON ---- */

static json_t *json_of_text(const char *text)
{
	size_t left = text ? strlen(text) : 0, n = 0;
	char *copy = memory_alloc((sizeof REPLACEMENT - 1) * left + 1);

	for (const char *p = text; left > 0;) {
		size_t length =
		    (unsigned char)*p < 0x80 ? 1 : utf8_length((const uint8_t *)p, left);
		struct slice shown = length > 0 ? slice_of(p, length) : SLICE(REPLACEMENT);
		memcpy(copy + n, shown.ptr, shown.len);
		n += shown.len;
		length += length == 0;
		p += length;
		left -= length;
	}
	json_t *json = text ? json_stringn(copy, n) : json_null();
	free(copy);
	return json;
}

static void keep(json_t *list, const struct conf_finding *finding)
{
	static const char *const severities[CONF_SEVERITIES] = {"note", "warning", "error"};
	const struct conf_section *s = finding->section;

	json_array_append_new(
	    list, json_pack("{s:o, s:I, s:s, s:s?, s:o, s:s?, s:o}", "file",
		      json_of_text(finding->at.file), "line", (json_int_t)finding->at.line,
		      "severity", severities[finding->severity], "section",
		      s ? conf_section_types[s->kind].word : NULL, "section_name",
		      json_of_text(s && s->name[0] ? s->name : NULL), "option", finding->option,
		      "message", json_of_text(finding->message)));
}

void conf_findings_keep(struct conf_findings *f)
{
	f->list = json_array();
}

void conf_findings_print_json(
    struct conf_findings *f, const char *conf_path, bool is_good, FILE *out)
{
	json_t *all = json_pack("{s:s, s:o, s:s, s:I, s:I, s:I, s:o}", "version", PUSHGATE_VERSION,
	    "file", json_of_text(conf_path), "result", is_good ? "ok" : "wrong", "mistakes",
	    (json_int_t)f->count[CONF_ERROR], "warnings", (json_int_t)f->count[CONF_WARNING],
	    "notes", (json_int_t)f->count[CONF_NOTE], "findings", f->list);

	f->list = NULL;
	json_dumpf(all, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(all);
}

/* ---- findings ---- */

static const char *const prefixes[CONF_SEVERITIES] = {"note: ", "warning: ", ""};

/*
 * File names are compared by their pointers. A finding about the whole configuration has line 1 and a name of its own,
 * not the copy of the name that sections share, so that it is at no section.
 */
static bool is_at(const struct conf_finding *finding, const char *file, uint32_t line)
{
	return finding->at.line == line && finding->at.file == file;
}

static void locate(struct conf_finding *finding, const struct conf_section *sections)
{
	for (const struct conf_section *s = sections; s && !finding->section; s = s->next) {
		if (is_at(finding, s->file, s->line))
			finding->section = s;
		for (size_t i = 0; i < s->option_count; i++)
			if (is_at(finding, s->options[i].file, s->options[i].line)) {
				finding->section = s;
				finding->option = s->options[i].key;
			}
	}
}

void conf_findings_add(struct conf_findings *f, const struct conf_finding *finding,
    const struct conf_section *sections)
{
	char message[1024];
	struct conf_finding shown = *finding;

	snprintf(message, sizeof message, "%s", finding->message);
	for (char *c = message; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	shown.message = message;
	f->count[finding->severity]++;
	if (f->text)
		fprintf(f->text, "%s:%" PRIu32 ": %s%s\n", shown.at.file, shown.at.line,
		    prefixes[shown.severity], message);
	if (!f->list)
		return;
	locate(&shown, sections);
	keep(f->list, &shown);
}
