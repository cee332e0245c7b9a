/* SPDX-License-Identifier: MIT */
/* Makes a page of text out of two sets of samples. Names come from a configuration: they are shown without control characters. */
#include "proxy/top/top_private.h"

#include "proxy/base/ensure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_COLUMNS 13
#define KEY_COLUMNS_LEAST 12u
#define FIGURE_COLUMNS 10
#define CELL_BYTES 32u
#define ROWS_MOST 1000u

struct page {
	const struct top_view *view;
	size_t columns, rows_left, left_out;
	bool has_all_rows; /* rows_left does not count */
	const char *end;
	FILE *out;
};

/* ---- figures ---- */

static void format_number(char text[CELL_BYTES], double n)
{
	bool is_whole = n == floor(n) && n < 1e15;
	snprintf(text, CELL_BYTES, is_whole ? "%.0f" : "%.2f", n);
}

static void format_rate(char text[CELL_BYTES], double n)
{
	snprintf(text, CELL_BYTES, n >= 100 || n == 0 ? "%.0f" : n >= 10 ? "%.1f" : "%.2f", n);
}

static void format_bytes(char text[CELL_BYTES], double n)
{
	static const char units[] = " kMGTPE";
	size_t unit = 0;
	for (; n >= 999.95 && units[unit + 1]; unit++)
		n /= 1000;
	if (unit == 0)
		snprintf(text, CELL_BYTES, "%.0f", n);
	else
		snprintf(text, CELL_BYTES, "%.1f%c", n, units[unit]);
}

static void format_seconds(char text[CELL_BYTES], double n)
{
	if (n < 0)
		snprintf(text, CELL_BYTES, "-");
	else if (n < 1)
		snprintf(text, CELL_BYTES, n < 0.01 ? "%.1f ms" : "%.0f ms", n * 1000);
	else
		snprintf(text, CELL_BYTES, "%.1f s", n);
}

/* Of days or of hours, what is left is as exact as a reader needs it. */
static void format_age(char text[CELL_BYTES], double seconds)
{
	unsigned long long n = (unsigned long long)seconds;
	if (n >= 86400)
		snprintf(text, CELL_BYTES, "%llu d %02llu h", n / 86400, n / 3600 % 24);
	else
		snprintf(text, CELL_BYTES, "%02llu:%02llu:%02llu", n / 3600, n / 60 % 60, n % 60);
}

static void format(char text[CELL_BYTES], enum top_unit unit, double n)
{
	switch (unit) {
	case TOP_RATE:
	case TOP_PERCENT_RATE:
		format_rate(text, n);
		return;
	case TOP_BYTE_RATE:
	case TOP_BYTES:
		format_bytes(text, n);
		return;
	case TOP_NUMBER:
		format_number(text, n);
		return;
	case TOP_AGE:
		format_age(text, n);
		return;
	case TOP_P50:
	case TOP_P90:
	case TOP_P99:
		format_seconds(text, n);
		return;
	}
}

static bool is_rate(enum top_unit unit)
{
	return unit == TOP_RATE || unit == TOP_BYTE_RATE || unit == TOP_PERCENT_RATE;
}

/* A pushgate that was started anew counts from 0. */
static double rate(const struct top_view *v, enum top_unit unit, double before, double now)
{
	double grown = now >= before ? now - before : now;
	if (unit == TOP_PERCENT_RATE)
		grown *= 100;
	return v->seconds > 0 ? grown / v->seconds : 0;
}

/* Since this time, which the clock of another day may have told. */
static double age(const struct top_samples *s, double start)
{
	return s->at > start ? s->at - start : 0;
}

double top_up(const struct top_samples *s)
{
	bool is_there;
	double start = top_sum(s, top_start, &is_there);
	return is_there ? age(s, start) : 0;
}

static double quantile(const struct top_view *v, const struct top_figure *f)
{
	static const double parts[] = {[TOP_P50] = 0.5, [TOP_P90] = 0.9, [TOP_P99] = 0.99};
	return top_quantile(v->before, v->now, slice_of_string(f->selector), parts[f->unit]);
}

/* False: the status has no such sample. */
static bool figure(const struct top_view *v, const struct top_figure *f, double *n)
{
	struct slice selector = slice_of_string(f->selector);
	bool is_there;
	if (f->unit >= TOP_P50) {
		*n = quantile(v, f);
		return top_has_histogram(v->now, selector);
	}
	*n = top_sum(v->now, selector, &is_there);
	if (is_rate(f->unit))
		*n = rate(v, f->unit, top_sum(v->before, selector, NULL), *n);
	return is_there;
}

/* ---- lines ---- */

/* Where the first `most` characters end; *count: how many there are. */
static size_t characters(const char *text, size_t length, size_t most, size_t *count)
{
	size_t i = 0;
	for (*count = 0; i < length; i++) {
		if (((unsigned char)text[i] & 0xc0) == 0x80)
			continue;
		if (*count == most)
			break;
		(*count)++;
	}
	return i;
}

/* Ends the line that was made, cut to the width of the page. */
static void put_line(struct page *p, const char *text, size_t length)
{
	size_t count;
	if (!p->has_all_rows && p->rows_left == 0) {
		p->left_out++;
		return;
	}
	fwrite(
	    text, 1, characters(text, length, p->columns ? p->columns : SIZE_MAX, &count), p->out);
	fputs(p->end, p->out);
	p->rows_left -= !p->has_all_rows;
}

/* A line that is being made. */
struct line {
	char *text;
	size_t length;
	FILE *out;
};

/* The stream points into the line, which stays where it is. */
static void line_begin(struct line *l)
{
	l->out = open_memstream(&l->text, &l->length);
	ensure(l->out != NULL);
}

static void line_end(struct line *l, struct page *p)
{
	fclose(l->out);
	put_line(p, l->text, l->length);
	free(l->text);
}

static void line_drop(struct line *l)
{
	fclose(l->out);
	free(l->text);
}

static void put_text(struct slice text, FILE *out)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		bool is_control =
		    c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && i + 1 < text.len && (unsigned char)text.ptr[i + 1] < 0xa0);
		fputc(is_control ? '?' : c, out);
		i += is_control && c == 0xc2;
	}
}

static void put_head(struct page *p)
{
	const struct top_view *v = p->view;
	struct line l;
	line_begin(&l);
	unsigned long long up = (unsigned long long)top_up(v->now);
	struct slice version = {0};
	for (size_t i = 0; i < v->now->count && version.len == 0; i++)
		if (slice_equal(v->now->list[i].name, top_version))
			version = top_label(&v->now->list[i], top_version_label);
	fputs("pushgate ", l.out);
	put_text(version, l.out);
	fprintf(l.out, ", up %llu d %02llu:%02llu:%02llu", up / 86400, up / 3600 % 24, up / 60 % 60,
	    up % 60);
	fputs(v->is_since_start ? "; averages since the start" : "", l.out);
	if (v->notice)
		fprintf(l.out, "; %s", v->notice);
	line_end(&l, p);
}

static size_t width_of(const struct line *l)
{
	return (size_t)ftell(l->out);
}

/* Those that find no room go on, below the first one. */
static void put_figures(struct page *p, const struct top_line *line)
{
	struct line l;
	line_begin(&l);
	fprintf(l.out, "%-*s", TITLE_COLUMNS, line->title);
	for (const struct top_figure *f = line->figures; f->selector; f++) {
		double n;
		char text[CELL_BYTES];
		if (!figure(p->view, f, &n))
			continue;
		format(text, f->unit, n);
		if (p->columns > 0 && width_of(&l) > TITLE_COLUMNS &&
		    width_of(&l) + strlen(f->title) + 1 + strlen(text) > p->columns) {
			line_end(&l, p);
			line_begin(&l);
			fprintf(l.out, "%-*s", TITLE_COLUMNS, "");
		}
		/* Places do not move while numbers grow by a digit or two. */
		fprintf(l.out, "%s %-5s  ", f->title, text);
	}
	if (width_of(&l) > TITLE_COLUMNS)
		line_end(&l, p);
	else
		line_drop(&l);
}

/* ---- tables ---- */

/* The key of a row: both labels, or the one. */
static void write_key(const struct top_table *t, const struct top_sample *row, FILE *out)
{
	if (t->and_label) {
		put_text(top_label(row, slice_of_string(t->and_label)), out);
		fputc(' ', out);
	}
	put_text(top_label(row, slice_of_string(t->label)), out);
}

/* The key in a column of its own: cut, or filled up. */
static void put_key(
    const struct top_table *t, const struct top_sample *row, size_t columns, FILE *out)
{
	struct line l;
	size_t count;
	line_begin(&l);
	write_key(t, row, l.out);
	fclose(l.out);
	fwrite(l.text, 1, characters(l.text, l.length, columns, &count), out);
	fprintf(out, "%*s", (int)(columns - count), "");
	free(l.text);
}

static bool is_row(const struct top_table *t, const struct top_sample *x)
{
	return slice_equal(x->name, slice_of_string(t->rows));
}

/* Of the longest key; less, if the figures have no room beside it. */
static size_t key_columns(const struct page *p, const struct top_table *t)
{
	const struct top_samples *now = p->view->now;
	size_t columns = strlen(t->title), figures = 0, count;
	for (size_t i = 0; i < now->count; i++) {
		struct line l;
		if (!is_row(t, &now->list[i]))
			continue;
		line_begin(&l);
		write_key(t, &now->list[i], l.out);
		fclose(l.out);
		(void)characters(l.text, l.length, SIZE_MAX, &count);
		columns = count > columns ? count : columns;
		free(l.text);
	}
	for (const struct top_figure *f = t->columns; f->selector; f++)
		figures += FIGURE_COLUMNS + 1;
	size_t room =
	    p->columns > figures + KEY_COLUMNS_LEAST ? p->columns - figures : KEY_COLUMNS_LEAST;
	return p->columns > 0 && columns > room ? room : columns;
}

static bool is_same_row(
    const struct top_table *t, const struct top_sample *a, const struct top_sample *b)
{
	struct slice label = slice_of_string(t->label);
	if (!slice_equal(top_label(a, label), top_label(b, label)))
		return false;
	if (!t->and_label)
		return true;
	label = slice_of_string(t->and_label);
	return slice_equal(top_label(a, label), top_label(b, label));
}

/* False: none has such a name. */
static bool sum_of_row(const struct top_samples *s, const struct top_table *t,
    const struct top_sample *row, struct slice name, double *sum)
{
	bool any = false;
	*sum = 0;
	for (size_t i = 0; i < s->count; i++)
		if (slice_equal(s->list[i].name, name) && is_same_row(t, &s->list[i], row)) {
			*sum += s->list[i].value;
			any = true;
		}
	return any;
}

static void put_cell(const struct page *p, const struct top_table *t, const struct top_sample *row,
    const struct top_figure *f, FILE *out)
{
	const struct top_view *v = p->view;
	struct slice name = slice_of_string(f->selector);
	char text[CELL_BYTES] = "-";
	double n, before;
	bool is_there = sum_of_row(v->now, t, row, name, &n);
	if (f->unit == TOP_AGE)
		n = age(v->now, n);
	if (is_rate(f->unit)) {
		(void)sum_of_row(v->before, t, row, name, &before);
		n = rate(v, f->unit, before, n);
	}
	/* Many samples are printed once they are not 0. */
	if (is_there || (f->unit != TOP_AGE && f->unit != TOP_BYTES))
		format(text, f->unit, n);
	fprintf(out, " %*s", FIGURE_COLUMNS, text);
}

static void put_heading(struct page *p, const struct top_table *t, size_t columns)
{
	struct line l;
	put_line(p, "", 0);
	line_begin(&l);
	fprintf(l.out, "%-*s", (int)columns, t->title);
	for (const struct top_figure *f = t->columns; f->selector; f++)
		fprintf(l.out, " %*s", FIGURE_COLUMNS, f->title);
	line_end(&l, p);
}

static void put_table(struct page *p, const struct top_table *t)
{
	const struct top_samples *now = p->view->now;
	size_t rows = 0, columns = key_columns(p, t);
	for (size_t i = 0; i < now->count && rows < ROWS_MOST; i++) {
		const struct top_sample *row = &now->list[i];
		struct line l;
		if (!is_row(t, row))
			continue;
		if (rows++ == 0)
			put_heading(p, t, columns);
		line_begin(&l);
		put_key(t, row, columns, l.out);
		for (const struct top_figure *f = t->columns; f->selector; f++)
			put_cell(p, t, row, f, l.out);
		line_end(&l, p);
	}
}

size_t top_page(const struct top_view *v, size_t columns, size_t rows, const char *end, FILE *out)
{
	struct page p = {.view = v,
	    .columns = columns,
	    .rows_left = rows,
	    .has_all_rows = rows == 0,
	    .end = end,
	    .out = out};
	put_head(&p);
	put_line(&p, "", 0);
	for (const struct top_line *l = top_lines; l->title; l++)
		put_figures(&p, l);
	for (const struct top_table *t = top_tables; t->label; t++)
		put_table(&p, t);
	return p.left_out;
}
