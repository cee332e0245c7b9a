/* SPDX-License-Identifier: MIT */
/* The report as text. What came from a log is shown without control characters, which a terminal would obey. */
#include "proxy/report/report_private.h"

#include <inttypes.h>
#include <string.h>

/* Longer keys push their numbers to the right. */
#define KEY_COLUMNS 44

size_t report_control(const char *at)
{
	unsigned char c = (unsigned char)*at;
	if (c == 0xc2 && at[1] && (unsigned char)at[1] < 0xa0) /* C1 controls: C2 80 to C2 9F */
		return 2;
	return c < 0x20 || c == 0x7f;
}

/* Returns how many columns it takes; a character of UTF-8 counts as one. */
static int print_key(const char *key, FILE *out)
{
	int columns = 0;
	for (const char *at = key; *at; at++) {
		size_t control = report_control(at);
		if (control > 0) {
			at += control - 1;
			columns += fprintf(out, "\\x%02x", (unsigned char)*at);
			continue;
		}
		fputc(*at, out);
		columns += ((unsigned char)*at & 0xc0) != 0x80;
	}
	return columns;
}

static void pad(int columns, int to, FILE *out)
{
	fprintf(out, "%*s", columns < to ? to - columns : 0, "");
}

static int utf8_columns(const char *key)
{
	int columns = 0;
	for (; *key; key++)
		columns += report_control(key) ? 4 : ((unsigned char)*key & 0xc0) != 0x80;
	return columns;
}

/* Wide enough for the title and each number. */
static int width_of(const struct report_section *s, const struct report_column *c)
{
	char text[REPORT_CELL_BYTES];
	size_t width = strlen(c->title);
	for (size_t i = 0; i < s->row_count; i++) {
		report_cell(text, c, &s->rows[i]->figures);
		width = strlen(text) > width ? strlen(text) : width;
	}
	return (int)width;
}

static int key_width(const struct report_section *s)
{
	int width = (int)strlen(s->key_title);
	for (size_t i = 0; i < s->row_count; i++) {
		int columns = utf8_columns(s->rows[i]->key);
		width = columns > width ? columns : width;
	}
	return width < KEY_COLUMNS ? width : KEY_COLUMNS;
}

static void print_cells(
    const struct report_section *s, const struct report_figures *f, const char *advice, FILE *out)
{
	char text[REPORT_CELL_BYTES];
	for (size_t i = 0; i < s->column_count; i++) {
		report_cell(text, &s->columns[i], f);
		fprintf(out, "  %*s", width_of(s, &s->columns[i]), text);
	}
	fprintf(out, "%s%s\n", s->advises && *advice ? "  " : "", s->advises ? advice : "");
}

static void print_section(const struct report_section *s, FILE *out)
{
	int width = key_width(s);
	fprintf(out, "\n%s\n", s->title);
	pad(fprintf(out, "  %s", s->key_title), width + 2, out);
	for (size_t i = 0; i < s->column_count; i++)
		fprintf(out, "  %*s", width_of(s, &s->columns[i]), s->columns[i].title);
	fputs(s->advises ? "  advice\n" : "\n", out);
	for (size_t i = 0; i < s->row_count; i++) {
		fputs("  ", out);
		pad(print_key(s->rows[i]->key, out), width, out);
		print_cells(s, &s->rows[i]->figures, report_advice(s->rows[i]), out);
	}
	if (s->row_count < s->row_total)
		fprintf(out, "  … and %zu more\n", s->row_total - s->row_count);
	if (s->groups->has_others) {
		pad(fprintf(out, "  (all others)"), width + 2, out);
		print_cells(s, &s->groups->others, "", out);
	}
	if (s->note)
		fprintf(out, "  %s\n", s->note);
}

static void print_bad_lines(const struct report *r, FILE *out)
{
	if (r->bad_lines == 0)
		return;
	fprintf(out, "%" PRIu64 " line%s could not be read:\n", r->bad_lines,
	    r->bad_lines == 1 ? "" : "s");
	for (size_t i = 0; i < r->bad_lines && i < REPORT_BAD_LINES_NAMED; i++) {
		const struct report_bad_line *b = &r->bad[i];
		fputs("  ", out);
		print_key(b->file, out);
		fprintf(out, ":%" PRIu64 ": %s\n", b->number, b->why);
	}
	if (r->bad_lines > REPORT_BAD_LINES_NAMED)
		fprintf(out, "  … and %" PRIu64 " more\n", r->bad_lines - REPORT_BAD_LINES_NAMED);
}

void report_show_sum(const struct report *r, void (*print)(const char *time, FILE *out), FILE *out)
{
	const uint64_t *all = r->all.n;
	fprintf(out, "%" PRIu64 " lines", r->lines);
	if (r->first[0]) {
		fputs(", ", out);
		print(r->first, out);
		fputs(" to ", out);
		print(r->last, out);
	}
	fprintf(out,
	    ": %" PRIu64 " requests, %" PRIu64 " offered pushes (%" PRIu64 " forwarded, %" PRIu64
	    " held, %" PRIu64 " hinted, %" PRIu64 " dropped)",
	    all[REPORT_REQUESTS], all[REPORT_OFFERED], all[REPORT_FORWARDED], all[REPORT_HELD],
	    all[REPORT_HINTED], all[REPORT_DROPPED]);
}

static void print_time(const char *time, FILE *out)
{
	(void)print_key(time, out);
}

static void print_comparisons(const struct report *r, FILE *out)
{
	struct report_comparison list[REPORT_ARMS_MOST];
	size_t count = report_compare(r, list);
	char text[REPORT_COMPARISON_BYTES];
	for (size_t i = 0; i < count; i++) {
		report_comparison_text(&list[i], text);
		(void)print_key(list[i].name, out);
		fprintf(out, "%s\n", text);
	}
}

void report_show_text(const struct report *r, const struct report_sections *s, FILE *out)
{
	report_show_sum(r, print_time, out);
	putc('\n', out);
	print_bad_lines(r, out);
	print_comparisons(r, out);
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].row_total > 0)
			print_section(&s->list[i], out);
}
