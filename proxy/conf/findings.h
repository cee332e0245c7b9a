/* SPDX-License-Identifier: MIT */
/*
 * A finding is a mistake of a configuration, or a thing that the machine lacks for it. Every finding, of conf_load and
 * of the needs of a start, goes through one struct conf_findings, which counts it, prints it as a line, and keeps it for one JSON object:
 *
 *     CONF_ERROR      FILE:LINE: MESSAGE             "severity": "error"
 *     CONF_WARNING    FILE:LINE: warning: MESSAGE    "severity": "warning"
 *     CONF_NOTE       FILE:LINE: note: MESSAGE       "severity": "note"
 */
#ifndef PUSHGATE_CONF_FINDINGS_H
#define PUSHGATE_CONF_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct conf_section;
struct json_t; /* jansson's */

struct conf_place {
	const char *file;
	uint32_t line;
};

enum conf_severity { CONF_NOTE, CONF_WARNING, CONF_ERROR, CONF_SEVERITIES };

/* All pointers are borrowed. */
struct conf_finding {
	enum conf_severity severity;
	struct conf_place at;
	const char *message;
	/* What it is about; NULL: not known. */
	const struct conf_section *section;
	const char *option;
};

struct conf_findings {
	FILE *text;          /* NULL: no lines */
	struct json_t *list; /* NULL: none are kept (conf_findings_keep) */
	size_t count[CONF_SEVERITIES];
};

/*
 * Control characters of the message are shown as '?'. sections: a list; for JSON a finding without section is about the
 * one that has its place, if there is one.
 */
void conf_findings_add(struct conf_findings *f, const struct conf_finding *finding,
    const struct conf_section *sections);

/* Keeps the findings from now on. */
void conf_findings_keep(struct conf_findings *f);
/* Prints the object of `pushgate check --json` (docs/CHECK.md), and frees what was kept. */
void conf_findings_print_json(
    struct conf_findings *f, const char *conf_path, bool is_good, FILE *out);

#endif
