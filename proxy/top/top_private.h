/* SPDX-License-Identifier: MIT */
/*
 * Private to top/. The status text becomes samples (samples.c); two sets of samples and the time between them become a page
 * of lines (page.c); which samples these are is said in one table (names.c). terminal.c shows page after page.
 */
#ifndef PUSHGATE_TOP_TOP_PRIVATE_H
#define PUSHGATE_TOP_TOP_PRIVATE_H

#include "proxy/base/slice.h"
#include <stdbool.h>
#include <stdio.h>

/* ---- samples.c ---- */

struct top_sample {
	struct slice name, labels; /* labels: what stands between the braces */
	double value;
};

struct top_samples {
	char *text; /* owned; the samples point into it */
	struct top_sample *list;
	size_t count, room;
	double at; /* when they were asked for, in seconds since 1970 */
};

/* Takes the text. */
void top_samples_read(struct top_samples *s, char *text, double at);
void top_samples_free(struct top_samples *s);
/* The sum of all samples that the selector chooses: `NAME`, or `NAME{label="value"}` for those that have this label.
 * *is_there: whether there are any; may be NULL. */
double top_sum(const struct top_samples *s, struct slice selector, bool *is_there);
/* The value of a label, as it is escaped in the text; empty: there is none. */
struct slice top_label(const struct top_sample *sample, struct slice label);
bool top_has_histogram(const struct top_samples *s, struct slice histogram);
/* The value below which this part of what a histogram counts lies, in seconds; -1: nothing was counted between the two.
 * Within a bucket values are taken to be spread evenly. */
double top_quantile(const struct top_samples *before, const struct top_samples *now,
    struct slice histogram, double part);

/* ---- names.c ---- */

enum top_unit {
	TOP_RATE,
	TOP_BYTE_RATE,
	TOP_PERCENT_RATE, /* of a second in each second */
	TOP_NUMBER,
	TOP_BYTES,
	TOP_AGE, /* of what began at this time */
	TOP_P50,
	TOP_P90,
	TOP_P99
};

/* A line of figures. */
struct top_figure {
	const char *title;
	const char *selector; /* NULL ends the list */
	enum top_unit unit;
};
struct top_line {
	const char *title; /* NULL ends the list */
	const struct top_figure *figures;
};
extern const struct top_line top_lines[];

/* A table with a row for each value of a label. */
struct top_table {
	const char *title;
	const char *label;                /* whose values are the rows; NULL ends the list */
	const char *rows;                 /* the name of the samples that have a row each */
	const char *and_label;            /* a second label that tells rows apart; NULL: none */
	const struct top_figure *columns; /* selectors are names, of samples with the same labels */
};
extern const struct top_table top_tables[];

extern const struct slice top_version, top_version_label, top_start;

/* ---- page.c ---- */

struct top_view {
	const struct top_samples *before, *now;
	double seconds; /* between them; or since the start, if `before` is empty */
	bool is_since_start;
	const char *notice; /* NULL; or what is wrong now */
};

/* For how many seconds pushgate has been running. */
double top_up(const struct top_samples *s);
/* Prints the page, at most so many columns and lines (0: any number). Each line ends with `end`. Returns how many lines had
 * no room. */
size_t top_page(const struct top_view *v, size_t columns, size_t rows, const char *end, FILE *out);

/* ---- terminal.c ---- */

/* Shows the status of this socket until it is told to leave. Returns the exit status. */
int top_show(const char *socket_path);

/* ---- top.c ---- */

/* Asks for the status. False: *error says why. */
bool top_ask(const char *socket_path, struct top_samples *s, const char **error);

#endif
