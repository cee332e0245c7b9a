/* SPDX-License-Identifier: MIT */
/* The report as one JSON object (docs/REPORT.md has its shape). */
#include "proxy/report/report_private.h"

#include <jansson.h>

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)(n <= INT64_MAX ? n : INT64_MAX));
}

static void add_figures(
    json_t *object, const struct report_section *s, const struct report_figures *f)
{
	for (size_t i = 0; i < s->column_count; i++) {
		const struct report_column *c = &s->columns[i];
		int share = c->unit == REPORT_SHARE ? report_share(c, f) : 0;
		json_t *value = c->unit != REPORT_SHARE ? number(f->n[c->figure])
				: share < 0             ? json_null()
							: json_real(share / 10000.0);
		json_object_set_new(object, c->id, value);
	}
}

static json_t *section(const struct report_section *s)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < s->row_count; i++) {
		json_t *row = json_pack("{s:s}", "name", s->rows[i]->key);
		add_figures(row, s, &s->rows[i]->figures);
		const char *advice = report_advice(s->rows[i]);
		if (s->advises && *advice)
			json_object_set_new(row, "advice", json_string(advice));
		json_array_append_new(rows, row);
	}
	json_t *whole =
	    json_pack("{s:o, s:o}", "rows", rows, "left_out", number(s->row_total - s->row_count));
	if (s->groups->has_others) {
		json_t *others = json_object();
		add_figures(others, s, &s->groups->others);
		json_object_set_new(whole, "others", others);
	}
	return whole;
}

static json_t *bad_lines(const struct report *r)
{
	json_t *list = json_array();
	for (size_t i = 0; i < r->bad_lines && i < REPORT_BAD_LINES_NAMED; i++) {
		/* The name of a file may be no UTF-8. */
		json_t *file = json_string(r->bad[i].file);
		json_array_append_new(
		    list, json_pack("{s:o, s:o, s:s}", "file", file ? file : json_null(), "line",
			      number(r->bad[i].number), "why", r->bad[i].why));
	}
	return json_pack("{s:o, s:o}", "count", number(r->bad_lines), "first", list);
}

static json_t *comparisons(const struct report *r)
{
	struct report_comparison list[REPORT_ARMS_MOST];
	size_t count = report_compare(r, list);
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++) {
		const struct report_comparison *c = &list[i];
		json_array_append_new(
		    array, json_pack("{s:s, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			       c->name, "first_byte", report_arm_verdict(c->verdict), "chance",
			       c->chance, "on_loads", number(c->loads[1]), "off_loads",
			       number(c->loads[0]), "on_median_us", number(c->median[1]),
			       "off_median_us", number(c->median[0]), "on_wasted_bytes",
			       number(c->wasted[1]), "off_wasted_bytes", number(c->wasted[0])));
	}
	return array;
}

void report_show_json(const struct report *r, const struct report_sections *s, FILE *out)
{
	json_t *report = json_pack("{s:o, s:o, s:{s:s, s:s}, s:{s:i, s:i, s:i}}", "lines",
	    number(r->lines), "bad_lines", bad_lines(r), "time", "first", r->first, "last", r->last,
	    "advice", "sample", (int)REPORT_RULE_SAMPLE, "keep_percent", (int)REPORT_RULE_KEEP,
	    "drop_percent", (int)REPORT_RULE_DROP);
	json_object_set_new(report, "comparisons", comparisons(r));
	for (size_t i = 0; i < s->count; i++)
		json_object_set_new(report, s->list[i].id, section(&s->list[i]));
	json_dumpf(report, out, JSON_INDENT(2) | JSON_REAL_PRECISION(5));
	fputc('\n', out);
	json_decref(report);
}
