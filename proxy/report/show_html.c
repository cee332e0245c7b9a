/* SPDX-License-Identifier: MIT */
/* The report as one page of HTML: no script, nothing from elsewhere, and every text of the log escaped. */
#include "proxy/report/report_private.h"

#include <inttypes.h>

static const char begin[] =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n"
    "<title>Pushes: a report of access logs</title>\n"
    "<style>\n"
    ":root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; "
    "--good: #176b2c; --bad: #a3161c }\n"
    "@media (prefers-color-scheme: dark) { :root { --good: #7ddb94; --bad: #ff9ea2 } }\n"
    "body { margin: 2em auto; max-width: 90em; padding: 0 1em }\n"
    "section { overflow-x: auto }\n"
    "table { border-collapse: collapse; font-variant-numeric: tabular-nums }\n"
    "caption { text-align: left; font-size: 1.2em; font-weight: 600; padding: 1.2em 0 .3em }\n"
    "th, td { padding: .2em .5em; text-align: right; border-bottom: 1px solid #8884; "
    "white-space: nowrap }\n"
    "th:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; "
    "min-width: 16em }\n"
    "@media (max-width: 40em) { th:first-child { min-width: 8em } }\n"
    "tbody th { font-weight: 400 }\n"
    ".keep { color: var(--good) } .drop { color: var(--bad) }\n"
    "</style>\n"
    "<main>\n<h1>Pushes</h1>\n";

/* A control character has no meaning in HTML, and most are not even allowed. */
static void print_escaped(const char *text, FILE *out)
{
	for (; *text; text++) {
		size_t control = report_control(text);
		if (control > 0) {
			text += control - 1;
			fprintf(out, "\\x%02x", (unsigned char)*text);
			continue;
		}
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

static void print_row(const struct report_section *s, const char *key,
    const struct report_figures *f, const char *advice, FILE *out)
{
	char text[REPORT_CELL_BYTES];
	fputs("<tr><th scope=\"row\">", out);
	print_escaped(key, out);
	fputs("</th>", out);
	for (size_t i = 0; i < s->column_count; i++) {
		report_cell(text, &s->columns[i], f);
		fprintf(out, "<td>%s</td>", text);
	}
	if (s->advises)
		fprintf(out, "<td class=\"%s\">%s</td>", advice, advice);
	fputs("</tr>\n", out);
}

static void print_section(const struct report_section *s, FILE *out)
{
	fprintf(out,
	    "<section tabindex=\"0\">\n<table>\n<caption>%s</caption>\n<thead><tr><th "
	    "scope=\"col\">%s</th>",
	    s->title, s->key_title);
	for (size_t i = 0; i < s->column_count; i++)
		fprintf(out, "<th scope=\"col\">%s</th>", s->columns[i].title);
	fprintf(
	    out, "%s</tr></thead>\n<tbody>\n", s->advises ? "<th scope=\"col\">advice</th>" : "");
	for (size_t i = 0; i < s->row_count; i++)
		print_row(s, s->rows[i]->key, &s->rows[i]->figures, report_advice(s->rows[i]), out);
	if (s->groups->has_others)
		print_row(s, "(all others)", &s->groups->others, "", out);
	fputs("</tbody>\n</table>\n", out);
	if (s->row_count < s->row_total)
		fprintf(out, "<p>… and %zu more</p>\n", s->row_total - s->row_count);
	if (s->note)
		fprintf(out, "<p>%s</p>\n", s->note);
	fputs("</section>\n", out);
}

static void print_bad_lines(const struct report *r, FILE *out)
{
	if (r->bad_lines == 0)
		return;
	fprintf(out, "<p>%" PRIu64 " line%s could not be read:</p>\n<ul>\n", r->bad_lines,
	    r->bad_lines == 1 ? "" : "s");
	for (size_t i = 0; i < r->bad_lines && i < REPORT_BAD_LINES_NAMED; i++) {
		fputs("<li>", out);
		print_escaped(r->bad[i].file, out);
		fprintf(out, ":%" PRIu64 ": %s</li>\n", r->bad[i].number, r->bad[i].why);
	}
	fputs("</ul>\n", out);
}

static void print_comparisons(const struct report *r, FILE *out)
{
	struct report_comparison list[REPORT_ARMS_MOST];
	size_t count = report_compare(r, list);
	char text[REPORT_COMPARISON_BYTES];
	for (size_t i = 0; i < count; i++) {
		report_comparison_text(&list[i], text);
		fputs("<p>", out);
		print_escaped(list[i].name, out);
		fprintf(out, "%s</p>\n", text);
	}
}

void report_show_html(const struct report *r, const struct report_sections *s, FILE *out)
{
	fputs(begin, out);
	fputs("<p>", out);
	report_show_sum(r, print_escaped, out);
	fputs("</p>\n", out);
	print_bad_lines(r, out);
	print_comparisons(r, out);
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].row_total > 0)
			print_section(&s->list[i], out);
	fputs("</main>\n</html>\n", out);
}
