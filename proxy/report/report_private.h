/* SPDX-License-Identifier: MIT */
/*
 * Private to report/. A log is read line by line (lines.c). Each line becomes figures (count.c), which are added to the
 * groups that it belongs to (groups.c): its route, its rule and so on, and the family of its client (families.c). The
 * times of page loads in a comparison are kept apart (arms.c). At the end the groups are sorted into sections (sections.c), which are shown as text, JSON or HTML (show_….c).
 */
#ifndef PUSHGATE_REPORT_REPORT_PRIVATE_H
#define PUSHGATE_REPORT_REPORT_PRIVATE_H

#include "proxy/base/map.h"
#include "proxy/base/slice.h"
#include <stdbool.h>
#include <stdio.h>

/* ---- figures ---- */

enum report_figure {
	REPORT_REQUESTS,
	REPORT_OFFERED,
	REPORT_FORWARDED,
	REPORT_TAKEN, /* forwarded, and delivered whole */
	REPORT_RESET, /* forwarded, and reset by the client */
	REPORT_HELD,
	REPORT_CLAIMED,
	REPORT_UNCLAIMED, /* held, and asked for by no request that could get it */
	REPORT_HINTED,
	REPORT_DROPPED,
	REPORT_REFUSED, /* dropped because the client takes no pushes */
	REPORT_USED,    /* taken or claimed */
	REPORT_UNUSED,  /* reset or unclaimed */
	REPORT_USED_BYTES,
	REPORT_WASTED_BYTES,
	REPORT_MEDIAN, /* of the times to the first byte of page loads, in µs; of arms alone, at the end */
	REPORT_P95,
	REPORT_FIGURE_COUNT
};

struct report_figures {
	uint64_t n[REPORT_FIGURE_COUNT];
};

void report_add(struct report_figures *sum, const struct report_figures *f);

/* ---- groups.c ---- */

struct report_group {
	struct map_node node; /* in the groups' map */
	struct report_figures figures;
	char key[]; /* valid UTF-8 */
};

/* The figures of each key; owned. */
struct report_groups {
	struct map by_key;
	uint64_t seed;                /* of the keys' hashes */
	size_t most;                  /* keys; the figures of any further ones are in `others` */
	struct report_figures others; /* of keys that found no room */
	bool has_others;
};

void report_groups_init(struct report_groups *g, size_t most);
void report_groups_fini(struct report_groups *g);
void report_groups_add(
    struct report_groups *g, const char *key, const struct report_figures *figures);
const struct report_group *report_groups_find(const struct report_groups *g, const char *key);
/* The groups in which the figure is not 0, largest first, then by key. The caller frees the array. */
const struct report_group **report_groups_sorted(
    const struct report_groups *g, enum report_figure by, size_t *count);

/* ---- the report ---- */

enum report_by {
	REPORT_BY_FAMILY,
	REPORT_BY_LISTENER, /* and protocol */
	REPORT_BY_ROUTE,
	REPORT_BY_SOURCE,
	REPORT_BY_RULE,
	REPORT_BY_RESOURCE, /* authority and path, without query */
	REPORT_BY_REASON,   /* of drops, by source */
	REPORT_BY_ANSWER, /* requests that found something held: claimed, joined, or the cause of the miss */
	REPORT_BY_END, /* of held pushes */
	REPORT_BY_ARM, /* page loads in a comparison, and their pushes */
	REPORT_BY_COUNT
};

/* So many of the lines that cannot be read are named. */
#define REPORT_BAD_LINES_NAMED 10u
#define REPORT_TIME_BYTES 32u

struct report_bad_line {
	const char *file; /* borrows: the operand */
	uint64_t number;
	const char *why;
};

struct report_families;
struct report_arms;

struct report {
	struct report_groups groups[REPORT_BY_COUNT];
	struct report_families *families; /* owned */
	struct report_arms *arms;         /* owned */
	struct report_figures all;
	uint64_t lines, bad_lines;
	struct report_bad_line bad[REPORT_BAD_LINES_NAMED]; /* the first ones */
	char first[REPORT_TIME_BYTES],
	    last[REPORT_TIME_BYTES]; /* the least and the greatest time; "" */
};

void report_init(struct report *r);
void report_fini(struct report *r);
/* count.c: one line of the log. NULL, or why it is none. */
const char *report_line(struct report *r, const char *text, size_t length);
/* Call behind the last line. */
void report_end(struct report *r);

/* ---- families.c ---- */

const char *report_family(const char *user_agent); /* "Firefox"; of NULL: that there was none */
struct report_families *report_families_new(void);
void report_families_free(struct report_families *f); /* accepts NULL */
/* The line of a request, or of a push of that page. Their order in the log does not matter. page: a number that their
 * lines have in common, and no other's; 0: the push belongs to no page. */
void report_families_request(
    struct report *r, uint64_t page, const char *family, const struct report_figures *figures);
void report_families_push(struct report *r, uint64_t page, const struct report_figures *figures);
void report_families_end(
    struct report *r); /* pushes whose request has no line belong to no family */

/* ---- arms.c ---- */

/* Arms whose times are kept; what is in others is not compared. */
#define REPORT_ARMS_MOST 64u
/* Page loads of each arm before they are compared; and how probable a difference by chance may be, so that it counts as
 * one. The loads of one client resemble each other, and reports are looked at more than once: hence no 5 %. */
#define REPORT_ARM_SAMPLE 100u
#define REPORT_ARM_CHANCE 0.01

struct report_arms *report_arms_new(void);
void report_arms_free(struct report_arms *a); /* accepts NULL */
/* A page load in the arm "NAME=on" or "NAME=off", with the time to its first byte in µs. */
void report_arms_load(struct report_arms *a, const char *name, uint64_t first_byte);
void report_arms_end(struct report *r);

enum report_arm_verdict {
	REPORT_ARM_WAIT,
	REPORT_ARM_ALIKE, /* chance alone may make the difference */
	REPORT_ARM_SOONER,
	REPORT_ARM_LATER
};

/* "NAME=off" has 52 bytes at most. */
#define REPORT_ARM_NAME_BYTES 64u
struct report_comparison {
	char name[REPORT_ARM_NAME_BYTES];
	uint64_t loads[2], median[2], wasted[2]; /* off, on; wasted: bytes for each page load */
	enum report_arm_verdict verdict;
	double
	    chance; /* of a difference of ranks that is as large or larger, without any effect; 1 with too few loads */
};

/* Returns how many there are. */
size_t report_compare(const struct report *r, struct report_comparison list[REPORT_ARMS_MOST]);
const char *report_arm_verdict(enum report_arm_verdict v);
#define REPORT_COMPARISON_BYTES 400u
/* What stands behind the name. */
void report_comparison_text(const struct report_comparison *c, char text[REPORT_COMPARISON_BYTES]);

/* ---- lines.c ---- */

/* Reads a log, compressed by gzip or not, "-" is standard input. False: it could not be read to its end, and *error
 * says why; what was read counts. */
bool report_read(struct report *r, const char *file, const char **error);

/* ---- sections.c ---- */

/* Pushes of a rule that must have ended before the report says whether to keep it; and from which share of used ones
 * (in percent) on to keep it, and below which to drop it. */
#define REPORT_RULE_SAMPLE 100u
#define REPORT_RULE_KEEP 50u
#define REPORT_RULE_DROP 20u

enum report_unit { REPORT_COUNT, REPORT_BYTES, REPORT_SHARE, REPORT_TIME };

struct report_column {
	const char *id, *title;
	enum report_figure figure;
	enum report_unit unit; /* REPORT_SHARE: the figure's part of it and of `unit_rest` */
	enum report_figure rest;
};

struct report_section {
	const char *id, *title;
	const char *note;      /* NULL: none */
	const char *key_title; /* of the first column */
	const struct report_column *columns;
	size_t column_count;
	bool advises;                     /* a last column says what to do */
	const struct report_group **rows; /* owned */
	size_t row_count, row_total;      /* shown, and all that there are */
	const struct report_groups *groups;
};

#define REPORT_SECTIONS_MOST 13u

struct report_sections {
	struct report_section list[REPORT_SECTIONS_MOST];
	size_t count;
};

/* top: rows of a list of resources. Borrows from r. */
void report_sections_make(struct report_sections *s, const struct report *r, size_t top);
void report_sections_free(struct report_sections *s);
/* What to do about a rule: keep, drop, look, wait; "": it is none. */
const char *report_advice(const struct report_group *rule);
/* The share in hundredths of a percent; -1: of nothing. */
int report_share(const struct report_column *c, const struct report_figures *f);
#define REPORT_CELL_BYTES 32u
/* A number for a reader: "12", "1.5M", "57.3%". */
void report_cell(
    char text[REPORT_CELL_BYTES], const struct report_column *c, const struct report_figures *f);

/* ---- show_text.c, show_json.c, show_html.c ---- */

/* Bytes of the control character that begins there, which a terminal would obey; 0: it is none. Text is UTF-8. */
size_t report_control(const char *at);
/* The report in one sentence, without the end of its line. print writes a time of the log as the form needs it. */
void report_show_sum(const struct report *r, void (*print)(const char *time, FILE *out), FILE *out);
void report_show_text(const struct report *r, const struct report_sections *s, FILE *out);
void report_show_json(const struct report *r, const struct report_sections *s, FILE *out);
void report_show_html(const struct report *r, const struct report_sections *s, FILE *out);

#endif
