/* SPDX-License-Identifier: MIT */
/* Makes a page of text out of two sets of samples. Names come from a configuration: they are shown without control characters. */
#include "proxy/top/top_private.h"

#include "proxy/base/ensure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_COLUMNS 13
#define KEY_COLUMNS 32u
#define CELL_BYTES 32u
#define FIGURE_BYTES 64u
#define ROWS_MOST 1000u

struct page {
	const struct top_view *view;
	size_t columns, rows_left;
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

static void format(char text[CELL_BYTES], enum top_unit unit, double n)
{
	switch (unit) {
	case TOP_RATE:
		format_rate(text, n);
		return;
	case TOP_BYTE_RATE:
	case TOP_BYTES:
		format_bytes(text, n);
		return;
	case TOP_NUMBER:
		format_number(text, n);
		return;
	case TOP_P50:
	case TOP_P90:
	case TOP_P99:
		format_seconds(text, n);
		return;
	}
}

/* A pushgate that was started anew counts from 0. */
static double rate(const struct top_view *v, double before, double now)
{
	double grown = now >= before ? now - before : now;
	return v->seconds > 0 ? grown / v->seconds : 0;
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
		return *n >= 0;
	}
	*n = top_sum(v->now, selector, &is_there);
	if (f->unit == TOP_RATE || f->unit == TOP_BYTE_RATE)
		*n = rate(v, top_sum(v->before, selector, NULL), *n);
	return is_there;
}

/* ---- lines ---- */

/* Ends the line that was made, cut to the width of the page. */
static void put_line(struct page *p, const char *text, size_t length)
{
	size_t columns = 0, i = 0;
	if (!p->has_all_rows && p->rows_left == 0)
		return;
	for (; i < length; i++) {
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (p->columns > 0 && columns > p->columns)
			break;
	}
	fwrite(text, 1, i, p->out);
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
	unsigned long long up = (unsigned long long)top_sum(v->now, top_uptime, NULL);
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
		char text[CELL_BYTES], figures[FIGURE_BYTES];
		if (!figure(p->view, f, &n))
			continue;
		format(text, f->unit, n);
		/* Places do not move while numbers grow by a digit or two. */
		snprintf(figures, sizeof(figures), "%s %-5s  ", f->title, text);
		if (p->columns > 0 && width_of(&l) > TITLE_COLUMNS &&
		    width_of(&l) + strlen(figures) > p->columns) {
			line_end(&l, p);
			line_begin(&l);
			fprintf(l.out, "%-*s", TITLE_COLUMNS, "");
		}
		fputs(figures, l.out);
	}
	if (width_of(&l) > TITLE_COLUMNS)
		line_end(&l, p);
	else
		line_drop(&l);
}

/* ---- tables ---- */

/* The key of a row: both labels, or the one. */
static void put_key(const struct top_table *t, const struct top_sample *row, FILE *out)
{
	struct line l;
	line_begin(&l);
	if (t->and_label) {
		put_text(top_label(row, slice_of_string(t->and_label)), l.out);
		fputc(' ', l.out);
	}
	put_text(top_label(row, slice_of_string(t->label)), l.out);
	fclose(l.out);
	fprintf(out, "%-*s", (int)KEY_COLUMNS, l.text);
	free(l.text);
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

static double sum_of_row(const struct top_samples *s, const struct top_table *t,
    const struct top_sample *row, struct slice name)
{
	double sum = 0;
	for (size_t i = 0; i < s->count; i++)
		if (slice_equal(s->list[i].name, name) && is_same_row(t, &s->list[i], row))
			sum += s->list[i].value;
	return sum;
}

static void put_row(struct page *p, const struct top_table *t, const struct top_sample *row)
{
	const struct top_view *v = p->view;
	struct line l;
	line_begin(&l);
	put_key(t, row, l.out);
	for (const struct top_figure *f = t->columns; f->selector; f++) {
		struct slice name = slice_of_string(f->selector);
		char text[CELL_BYTES];
		double n = sum_of_row(v->now, t, row, name);
		if (f->unit == TOP_RATE || f->unit == TOP_BYTE_RATE)
			n = rate(v, sum_of_row(v->before, t, row, name), n);
		format(text, f->unit, n);
		fprintf(l.out, " %10s", text);
	}
	line_end(&l, p);
}

static void put_table(struct page *p, const struct top_table *t)
{
	const struct top_samples *now = p->view->now;
	size_t rows = 0;
	for (size_t i = 0; i < now->count && rows < ROWS_MOST; i++) {
		if (!slice_equal(now->list[i].name, slice_of_string(t->rows)))
			continue;
		if (rows++ == 0) {
			struct line l;
			line_begin(&l);
			put_line(p, "", 0);
			fprintf(l.out, "%-*s", (int)KEY_COLUMNS, t->title);
			for (const struct top_figure *f = t->columns; f->selector; f++)
				fprintf(l.out, " %10s", f->title);
			line_end(&l, p);
		}
		put_row(p, t, &now->list[i]);
	}
}

void top_page(const struct top_view *v, size_t columns, size_t rows, const char *end, FILE *out)
{
	struct page p = {v, columns, rows, rows == 0, end, out};
	put_head(&p);
	put_line(&p, "", 0);
	for (const struct top_line *l = top_lines; l->title; l++)
		put_figures(&p, l);
	for (const struct top_table *t = top_tables; t->label; t++)
		put_table(&p, t);
}
