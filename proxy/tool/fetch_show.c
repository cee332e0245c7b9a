/* SPDX-License-Identifier: MIT */
/*
 * The waterfall table: one line for the response and for each push, with bars on a common time
 * scale.
 */
#include "proxy/tool/fetch.h"

/* Buffer size for one column's text. */
#define CELL 24

#define BAR_LEAST 10u
#define BAR_MOST 200u
#define PATH_LEAST 16u
/* Width of all columns but the bar and the path. */
#define FIXED_COLUMNS 52u

static void format_time(char cell[CELL], usec at)
{
	if (at >= 10 * USEC_PER_SEC)
		snprintf(cell, CELL, "%.1fs", (double)at / 1e6);
	else
		snprintf(cell, CELL, "%.1fms", (double)at / 1e3);
}

static void format_size(char cell[CELL], uint64_t bytes)
{
	if (bytes < 10000)
		snprintf(cell, CELL, "%lluB", (unsigned long long)bytes);
	else if (bytes < 10000000)
		snprintf(cell, CELL, "%.1fkB", (double)bytes / 1e3);
	else
		snprintf(cell, CELL, "%.1fMB", (double)bytes / 1e6);
}

static size_t scale(usec at, usec total, size_t columns)
{
	size_t column = total ? (size_t)(at * columns / total) : 0;
	return column < columns ? column : columns - 1;
}

/* `p` promised, `.` waiting, `=` receiving, `x` not completed. */
static void draw_bar(const struct fetch_item *i, usec total, char *bar, size_t columns)
{
	memset(bar, ' ', columns);
	bar[columns] = '\0';
	size_t from = scale(i->promised, total, columns);
	size_t to = scale(i->end ? i->end : total, total, columns);
	size_t first = i->first_byte ? scale(i->first_byte, total, columns) : to + 1;
	for (size_t c = from; c <= to; c++)
		bar[c] = c >= first ? '=' : '.';
	if (i->promised)
		bar[from] = first <= from ? '=' : 'p';
	if (i->state != FETCH_COMPLETE)
		bar[to] = 'x';
}

static const char *state_text(const struct fetch_item *i)
{
	switch (i->state) {
	case FETCH_COMPLETE:
		return NULL;
	case FETCH_RESET:
		return "reset";
	case FETCH_REFUSED:
		return "refused";
	case FETCH_LOST:
	case FETCH_PROMISED:
	case FETCH_RECEIVING:
		return "lost";
	}
	return NULL;
}

static void show_path(const struct fetch_item *i, size_t most, FILE *out)
{
	size_t len = strlen(i->path);
	if (len > most)
		fprintf(out, "%.*s...", (int)(most - 3), i->path);
	else
		fputs(i->path, out);
	const char *state = state_text(i);
	if (state)
		fprintf(out, " (%s%s%s)", state, i->why ? ": " : "", i->why ? i->why : "");
	fputc('\n', out);
}

static void show_item(
    const struct fetch_item *i, usec total, size_t bar_columns, size_t path_columns, FILE *out)
{
	char status[CELL] = "-", promised[CELL] = "", first[CELL] = "-", end[CELL] = "-",
	     size[CELL];
	char bar[BAR_MOST + 1];
	if (i->status)
		snprintf(status, sizeof(status), "%u", i->status);
	if (i->promised)
		format_time(promised, i->promised);
	if (i->first_byte)
		format_time(first, i->first_byte);
	if (i->end)
		format_time(end, i->end);
	format_size(size, i->bytes);
	draw_bar(i, total, bar, bar_columns);
	fprintf(
	    out, "%6u %6s %8s %8s %8s %7s |%s| ", i->id, status, promised, first, end, size, bar);
	show_path(i, path_columns, out);
	for (uint32_t n = 0; n < i->interim_count; n++) {
		char at[CELL];
		format_time(at, i->interims[n].at);
		fprintf(out, "%6s %6u %8s %8s%s%s\n", "", i->interims[n].status, "", at,
		    i->interims[n].link ? "  link: " : "",
		    i->interims[n].link ? i->interims[n].link : "");
	}
}

static void show_summary(
    const struct fetch_request *r, const struct fetch_result *result, FILE *out)
{
	uint64_t bytes = 0;
	size_t complete = 0;
	for (size_t i = 0; i < result->count; i++) {
		bytes += result->items[i].bytes;
		complete += i > 0 && result->items[i].state == FETCH_COMPLETE;
	}
	char size[CELL], total[CELL];
	format_size(size, bytes);
	format_time(total, result->total);
	fprintf(out, "%s %s\n%s: %zu push%s promised, %zu complete; %s in %s\n\n", r->method,
	    r->url, result->protocol, result->count - 1, result->count == 2 ? "" : "es", complete,
	    size, total);
}

void fetch_show(
    const struct fetch_request *r, const struct fetch_result *result, size_t width, FILE *out)
{
	if (result->count == 0)
		return;
	size_t rest = width > FIXED_COLUMNS ? width - FIXED_COLUMNS : 0;
	size_t bar = rest / 2;
	if (bar + PATH_LEAST > rest)
		bar = rest > PATH_LEAST ? rest - PATH_LEAST : 0;
	if (bar < BAR_LEAST)
		bar = BAR_LEAST;
	if (bar > BAR_MOST)
		bar = BAR_MOST;
	size_t path = rest > bar + PATH_LEAST ? rest - bar : PATH_LEAST;
	show_summary(r, result, out);
	fprintf(out, "%6s %6s %8s %8s %8s %7s  %-*s  %s\n", "stream", "status", "promised", "first",
	    "end", "size", (int)bar, "time", "path");
	for (size_t i = 0; i < result->count; i++)
		show_item(&result->items[i], result->total, bar, path, out);
}
