/* SPDX-License-Identifier: MIT */
/*
 * The waterfall table: one line for the response, each push and each asset, with bars on a common
 * time axis.
 */
#include "proxy/base/memory.h"
#include "proxy/tool/fetch.h"

/* Buffer size for one column's text. */
#define CELL 24

#define BAR_LEAST 16u
#define BAR_MOST 200u
#define PATH_LEAST 12u
#define PATH_MOST 40u
/* Width of all columns but the bar and the path, with the blanks between them. */
#define FIXED_COLUMNS 47u
/* Columns that a label of the time axis needs, with the blank behind it. */
#define LABEL_COLUMNS 7u

/* How wide the parts of a line are, and which time the bars span. */
struct layout {
	size_t path, bar;
	usec span;
	bool in_seconds;
};

/* ---- numbers ---- */

static void format_time(char cell[CELL], const struct layout *l, usec at)
{
	snprintf(
	    cell, CELL, "%.*f", l->in_seconds ? 2 : 1, (double)at / (l->in_seconds ? 1e6 : 1e3));
}

static void format_size(char cell[CELL], uint64_t bytes)
{
	if (bytes < 10000)
		snprintf(cell, CELL, "%llu B", (unsigned long long)bytes);
	else if (bytes < 10000000)
		snprintf(cell, CELL, "%.1f kB", (double)bytes / 1e3);
	else
		snprintf(cell, CELL, "%.1f MB", (double)bytes / 1e6);
}

/* ---- the bars and their axis ---- */

static size_t scale(const struct layout *l, usec at)
{
	size_t column = (size_t)(at * l->bar / l->span);
	return column < l->bar ? column : l->bar - 1;
}

/* The distance of two labels: 1, 2 or 5 times a power of ten, so that labels do not touch. */
static usec axis_step(const struct layout *l)
{
	usec least = l->span * LABEL_COLUMNS / l->bar + 1;
	for (usec step = USEC_PER_MSEC;; step *= 10)
		for (usec factor = 1; factor <= 5; factor += factor == 1 ? 1 : 3)
			if (step * factor >= least)
				return step * factor;
}

static void draw_axis(const struct layout *l, char *axis)
{
	usec step = axis_step(l), unit = l->in_seconds ? USEC_PER_SEC : USEC_PER_MSEC;
	const char *name = l->in_seconds ? " s" : " ms";
	size_t end = l->bar - strlen(name);
	memset(axis, ' ', l->bar);
	memcpy(axis + end, name, strlen(name) + 1);
	for (usec at = 0; at < l->span; at += step) {
		char label[CELL];
		size_t from = scale(l, at);
		int n = snprintf(label, sizeof(label), "%g", (double)at / (double)unit);
		if (n > 0 && from + (size_t)n <= end)
			memcpy(axis + from, label, (size_t)n);
	}
}

/* See legend below. */
static void draw_bar(const struct layout *l, const struct fetch_item *i, char *bar)
{
	memset(bar, ' ', l->bar);
	bar[l->bar] = '\0';
	size_t from = scale(l, i->start);
	size_t to = scale(l, i->end ? i->end : l->span);
	size_t first = i->first_byte ? scale(l, i->first_byte) : to + 1;
	for (size_t c = from; c <= to; c++)
		bar[c] = c >= first ? '=' : '.';
	if (first > from)
		bar[from] = i->is_push ? 'p' : 'r';
	if (i->state != FETCH_COMPLETE)
		bar[to] = 'x';
}

static const char legend[] = "Bars: r requested, p promised, . waiting, = receiving";

/* ---- lines ---- */

/* The end of a long path tells more than its beginning. */
static void show_path(const struct layout *l, const char *path, FILE *out)
{
	size_t len = strlen(path);
	if (len > l->path)
		fprintf(out, "...%s", path + len - (l->path - 3));
	else
		fprintf(out, "%-*s", (int)l->path, path);
}

static void show_interims(const struct layout *l, const struct fetch_item *i, FILE *out)
{
	for (uint32_t n = 0; n < i->interim_count; n++) {
		char at[CELL];
		format_time(at, l, i->interims[n].at);
		fprintf(out, "%-*s %6s %3u %8s %7s%s%s\n", (int)l->path, "", "early",
		    i->interims[n].status, "", at, i->interims[n].link ? "  link: " : "",
		    i->interims[n].link ? i->interims[n].link : "");
	}
}

static void show_item(const struct layout *l, const struct fetch_item *i, FILE *out)
{
	char status[CELL] = "-", start[CELL], first[CELL] = "-", end[CELL] = "-", size[CELL];
	char bar[BAR_MOST + 1];
	const char *state = i->state == FETCH_COMPLETE ? NULL : fetch_state_name(i->state);
	if (i->status)
		snprintf(status, sizeof(status), "%u", i->status);
	format_time(start, l, i->start);
	if (i->first_byte)
		format_time(first, l, i->first_byte);
	if (i->end)
		format_time(end, l, i->end);
	format_size(size, i->bytes);
	draw_bar(l, i, bar);
	show_interims(l, i, out);
	show_path(l, i->path, out);
	fprintf(out, " %6s %3s %8s %7s %7s %7s |%s|", i->is_push ? "pushed" : "asked", status, size,
	    start, first, end, bar);
	if (state)
		fprintf(out, " %s%s%s", state, i->why ? ": " : "", i->why ? i->why : "");
	fputc('\n', out);
}

static void show_summary(const struct layout *l, const struct fetch_request *r,
    const struct fetch_result *result, FILE *out)
{
	uint64_t bytes = 0;
	size_t pushes = 0, complete = 0;
	for (size_t n = 0; n < result->count; n++) {
		const struct fetch_item *i = &result->items[n];
		bytes += i->bytes;
		pushes += i->is_push;
		complete += i->is_push && i->state == FETCH_COMPLETE;
	}
	char size[CELL], total[CELL];
	format_size(size, bytes);
	format_time(total, l, result->total);
	fprintf(out, "%s %s\n%s: ", r->method, r->url, result->protocol);
	if (result->has_no_pushes)
		fputs("HTTP/1.1 has no pushes", out);
	else if (r->no_push)
		fputs("pushes not accepted (ENABLE_PUSH=0)", out);
	else
		fprintf(out, "%zu push%s promised, %zu complete", pushes, pushes == 1 ? "" : "es",
		    complete);
	fprintf(out, "; %s in %s %s\n\n", size, total, l->in_seconds ? "s" : "ms");
}

static struct layout layout_of(const struct fetch_result *result, usec span, size_t width)
{
	struct layout l = {
	    .path = strlen("path"), .span = result->total > span ? result->total : span};
	for (size_t i = 0; i < result->count; i++) {
		size_t len = strlen(result->items[i].path);
		if (len > l.path)
			l.path = len < PATH_MOST ? len : PATH_MOST;
	}
	size_t rest = width > FIXED_COLUMNS ? width - FIXED_COLUMNS : 0;
	if (l.path > PATH_LEAST && l.path + BAR_LEAST > rest)
		l.path = rest > BAR_LEAST + PATH_LEAST ? rest - BAR_LEAST : PATH_LEAST;
	l.bar = rest > l.path + BAR_LEAST ? rest - l.path : BAR_LEAST;
	if (l.bar > BAR_MOST)
		l.bar = BAR_MOST;
	if (l.span == 0)
		l.span = 1;
	l.in_seconds = l.span >= 10 * USEC_PER_SEC;
	return l;
}

void fetch_show(const struct fetch_request *r, const struct fetch_result *result, usec span,
    size_t width, FILE *out)
{
	if (result->count == 0)
		return;
	const struct layout l = layout_of(result, span, width);
	char axis[BAR_MOST + 1];
	bool all_complete = true;
	for (size_t i = 0; i < result->count; i++)
		all_complete = all_complete && result->items[i].state == FETCH_COMPLETE;
	show_summary(&l, r, result, out);
	draw_axis(&l, axis);
	fprintf(out, "%-*s %10s %8s %7s %7s %7s  %s\n", (int)l.path, "path", "how status", "size",
	    "start", "first", "end", axis);
	for (size_t i = 0; i < result->count; i++)
		show_item(&l, &result->items[i], out);
	fprintf(out, "\n%s%s\n", legend, all_complete ? "" : ", x not completed");
}
