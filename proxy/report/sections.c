/* SPDX-License-Identifier: MIT */
/* The sections of a report, as a table; and what to do about a rule. */
#include "proxy/report/report_private.h"

#include "proxy/base/ensure.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- columns ---- */

#define COUNT_OF(name, head, member)                                                               \
	{                                                                                          \
		.id = (name), .title = (head), .figure = REPORT_##member                           \
	}
#define BYTES_OF(name, head, member)                                                               \
	{                                                                                          \
		.id = (name), .title = (head), .figure = REPORT_##member, .unit = REPORT_BYTES     \
	}
#define TIME_OF(name, head, member)                                                                \
	{                                                                                          \
		.id = (name), .title = (head), .figure = REPORT_##member, .unit = REPORT_TIME      \
	}
#define USED_SHARE                                                                                 \
	{                                                                                          \
		.id = "used_share", .title = "used %", .figure = REPORT_USED,                      \
		.unit = REPORT_SHARE, .rest = REPORT_UNUSED                                        \
	}

static const struct report_column of_clients[] = {
    COUNT_OF("requests", "requests", REQUESTS),
    COUNT_OF("offered", "offered", OFFERED),
    COUNT_OF("forwarded", "forwarded", FORWARDED),
    COUNT_OF("taken", "taken", TAKEN),
    COUNT_OF("reset", "reset", RESET),
    COUNT_OF("refused", "refused", REFUSED),
    COUNT_OF("held", "held", HELD),
    COUNT_OF("claimed", "claimed", CLAIMED),
    COUNT_OF("hinted", "hinted", HINTED),
    USED_SHARE,
};

static const struct report_column of_uses[] = {
    COUNT_OF("offered", "offered", OFFERED),
    COUNT_OF("forwarded", "forwarded", FORWARDED),
    COUNT_OF("held", "held", HELD),
    COUNT_OF("hinted", "hinted", HINTED),
    COUNT_OF("dropped", "dropped", DROPPED),
    COUNT_OF("used", "used", USED),
    COUNT_OF("unused", "unused", UNUSED),
    USED_SHARE,
    BYTES_OF("used_bytes", "used bytes", USED_BYTES),
    BYTES_OF("wasted_bytes", "wasted bytes", WASTED_BYTES),
};

static const struct report_column of_arms[] = {
    COUNT_OF("page_loads", "page loads", REQUESTS),
    TIME_OF("first_byte_median_us", "first byte", MEDIAN),
    TIME_OF("first_byte_p95_us", "95% below", P95),
    COUNT_OF("offered", "offered", OFFERED),
    COUNT_OF("hinted", "hinted", HINTED),
    COUNT_OF("held", "held", HELD),
    COUNT_OF("claimed", "claimed", CLAIMED),
    USED_SHARE,
    BYTES_OF("used_bytes", "used bytes", USED_BYTES),
    BYTES_OF("wasted_bytes", "wasted bytes", WASTED_BYTES),
};

static const struct report_column of_drops[] = {COUNT_OF("offers", "offers", DROPPED)};
static const struct report_column of_requests[] = {COUNT_OF("requests", "requests", REQUESTS)};
static const struct report_column of_ends[] = {
    COUNT_OF("pushes", "pushes", HELD), BYTES_OF("wasted_bytes", "wasted bytes", WASTED_BYTES)};

/* ---- the table ---- */

#define COLUMNS(of) .columns = (of), .column_count = LENGTH(of)

static const struct row {
	struct report_section section;
	enum report_by by;
	enum report_figure sorted_by;
	bool is_long; /* only its first rows are shown */
} rows[] = {
    {{.id = "arms",
	 .title = "Arms that are compared",
	 .note = "The first byte of a page is the median, in milliseconds. docs/REPORT.md says how "
		 "arms are compared.",
	 .key_title = "arm",
	 COLUMNS(of_arms)},
	REPORT_BY_ARM, REPORT_REQUESTS, false},
    {{.id = "families",
	 .title = "Who takes pushes",
	 .note =
	     "taken: forwarded, and delivered whole. refused: the client takes no pushes, so the "
	     "offer was dropped.",
	 .key_title = "family",
	 COLUMNS(of_clients)},
	REPORT_BY_FAMILY, REPORT_REQUESTS, false},
    {{.id = "listeners",
	 .title = "By listener and protocol",
	 .key_title = "listener",
	 COLUMNS(of_clients)},
	REPORT_BY_LISTENER, REPORT_REQUESTS, false},
    {{.id = "rules",
	 .title = "Which rules to keep",
	 .note =
	     "keep: 50% or more of its pushes were used. drop: less than 20% were. look: between. "
	     "wait: fewer than 100 of its pushes have ended.",
	 .key_title = "rule",
	 .advises = true,
	 COLUMNS(of_uses)},
	REPORT_BY_RULE, REPORT_OFFERED, false},
    {{.id = "routes", .title = "By route", .key_title = "route", COLUMNS(of_uses)}, REPORT_BY_ROUTE,
	REPORT_OFFERED, false},
    {{.id = "sources", .title = "By source of the offer", .key_title = "source", COLUMNS(of_uses)},
	REPORT_BY_SOURCE, REPORT_OFFERED, false},
    {{.id = "wasted",
	 .title = "Resources that waste most",
	 .key_title = "resource",
	 COLUMNS(of_uses)},
	REPORT_BY_RESOURCE, REPORT_WASTED_BYTES, true},
    {{.id = "used",
	 .title = "Resources that are used most",
	 .key_title = "resource",
	 COLUMNS(of_uses)},
	REPORT_BY_RESOURCE, REPORT_USED, true},
    {{.id = "drops",
	 .title = "Why offers were dropped",
	 .note = "docs/REASONS.md says what to do about each reason.",
	 .key_title = "reason and source",
	 COLUMNS(of_drops)},
	REPORT_BY_REASON, REPORT_DROPPED, false},
    {{.id = "held_requests",
	 .title = "Requests for what was held",
	 .note = "claimed: the held response answered. joined: it was still arriving. docs/HOLD.md "
		 "says "
		 "what to do about each cause of a miss.",
	 .key_title = "what came of it",
	 COLUMNS(of_requests)},
	REPORT_BY_ANSWER, REPORT_REQUESTS, false},
    {{.id = "held_ends", .title = "How held responses ended", .key_title = "end", COLUMNS(of_ends)},
	REPORT_BY_END, REPORT_HELD, false},
};

void report_sections_make(struct report_sections *s, const struct report *r, size_t top)
{
	_Static_assert(LENGTH(rows) <= REPORT_SECTIONS_MOST, "there is room");
	_Static_assert(
	    REPORT_RULE_KEEP == 50 && REPORT_RULE_DROP == 20 && REPORT_RULE_SAMPLE == 100,
	    "the note says so");
	for (s->count = 0; s->count < LENGTH(rows); s->count++) {
		const struct row *row = &rows[s->count];
		struct report_section *section = &s->list[s->count];
		*section = row->section;
		section->groups = &r->groups[row->by];
		section->rows =
		    report_groups_sorted(section->groups, row->sorted_by, &section->row_total);
		section->row_count =
		    row->is_long && top < section->row_total ? top : section->row_total;
	}
}

void report_sections_free(struct report_sections *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].rows);
}

/* ---- cells ---- */

static bool is_rule(const char *key)
{
	return key[0] != '(';
}

const char *report_advice(const struct report_group *rule)
{
	static const struct report_column share = USED_SHARE;
	const struct report_figures *f = &rule->figures;
	int percent = report_share(&share, f) / 100;
	if (!is_rule(rule->key))
		return "";
	if (f->n[REPORT_USED] + f->n[REPORT_UNUSED] < REPORT_RULE_SAMPLE)
		return "wait";
	if (percent >= (int)REPORT_RULE_KEEP)
		return "keep";
	return percent < (int)REPORT_RULE_DROP ? "drop" : "look";
}

int report_share(const struct report_column *c, const struct report_figures *f)
{
	uint64_t part = f->n[c->figure], all = part + f->n[c->rest];
	return all > 0 ? (int)((double)part / (double)all * 10000) : -1;
}

static void bytes_cell(char text[REPORT_CELL_BYTES], uint64_t bytes)
{
	static const char units[] = "kMGTPE";
	double n = (double)bytes / 1000;
	size_t unit = 0;
	for (; n >= 999.95 && units[unit + 1]; unit++)
		n /= 1000;
	if (bytes < 1000)
		snprintf(text, REPORT_CELL_BYTES, "%" PRIu64, bytes);
	else
		snprintf(text, REPORT_CELL_BYTES, "%.1f%c", n, units[unit]);
}

void report_cell(
    char text[REPORT_CELL_BYTES], const struct report_column *c, const struct report_figures *f)
{
	int share;
	switch (c->unit) {
	case REPORT_COUNT:
		snprintf(text, REPORT_CELL_BYTES, "%" PRIu64, f->n[c->figure]);
		return;
	case REPORT_BYTES:
		bytes_cell(text, f->n[c->figure]);
		return;
	case REPORT_TIME:
		snprintf(text, REPORT_CELL_BYTES, "%.1f", (double)f->n[c->figure] / 1000);
		return;
	case REPORT_SHARE:
		share = report_share(c, f);
		if (share < 0)
			snprintf(text, REPORT_CELL_BYTES, "-");
		else
			snprintf(text, REPORT_CELL_BYTES, "%d.%d%%", share / 100, share % 100 / 10);
		return;
	}
}
