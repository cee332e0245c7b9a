/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the lines of an access log of which a report is made: each line is counted once, as read or as bad; each
 * push belongs to one family; the text and the page have nothing that a terminal would obey, nor a tag from the log; and
 * the JSON is JSON.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/report/report_private.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static char *shown(const struct report *r,
    void (*show)(const struct report *, const struct report_sections *, FILE *))
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	struct report_sections s;
	ensure(out);
	report_sections_make(&s, r, 3);
	show(r, &s, out);
	report_sections_free(&s);
	fclose(out);
	ensure(strlen(text) == length);
	return text;
}

/* Neither of C0 nor of C1, which are two bytes. */
static void has_no_controls(const char *text)
{
	for (const uint8_t *at = (const uint8_t *)text; *at; at++) {
		ensure(*at == '\n' || (*at >= ' ' && *at != 0x7f));
		ensure(*at != 0xc2 || at[1] >= 0xa0);
	}
}

static void show_all(const struct report *r)
{
	char *text = shown(r, report_show_text), *html = shown(r, report_show_html);
	char *json = shown(r, report_show_json);
	json_t *whole = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	ensure(json_is_object(whole));
	has_no_controls(text);
	has_no_controls(html);
	ensure(!strcasestr(html, "<script") && !strcasestr(html, "<img"));
	json_decref(whole);
	free(json);
	free(html);
	free(text);
}

static uint64_t offered_to_families(const struct report *r)
{
	const struct report_groups *g = &r->groups[REPORT_BY_FAMILY];
	size_t count;
	uint64_t sum = g->others.n[REPORT_OFFERED];
	const struct report_group **groups = report_groups_sorted(g, REPORT_OFFERED, &count);
	for (size_t i = 0; i < count; i++)
		sum += groups[i]->figures.n[REPORT_OFFERED];
	free(groups);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct report r;
	uint64_t lines = 0, bad = 0;
	report_init(&r);
	for (; in.left > 0; lines++) {
		struct slice line = input_line(&in);
		bad += report_line(&r, line.ptr, line.len) != NULL;
	}
	report_end(&r);
	ensure(r.lines + bad == lines);
	ensure(offered_to_families(&r) == r.all.n[REPORT_OFFERED]);
	show_all(&r);
	report_fini(&r);
	return 0;
}
