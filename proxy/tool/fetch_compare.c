/* SPDX-License-Identifier: MIT */
/*
 * `pushgate fetch --compare`: the same page twice, each time over a new connection. The second run
 * accepts no pushes and requests what the first one was pushed: with the first bytes of the page, or
 * when a link of a 103 names it. A browser does so too.
 */
#include "proxy/base/memory.h"
#include "proxy/tool/fetch.h"

size_t fetch_compare(const struct fetch_request *r, struct fetch_result results[2])
{
	fetch_run(r, &results[0]);
	struct fetch_request without = *r;
	const char **paths = memory_alloc((results[0].count + 1) * sizeof(*paths));
	for (size_t i = 0; i < results[0].count; i++) {
		const struct fetch_item *item = &results[0].items[i];
		if (item->is_push && item->state == FETCH_COMPLETE)
			paths[without.asset_count++] = item->path;
	}
	without.no_push = true;
	without.assets = paths;
	size_t runs = without.asset_count > 0 && results[0].exit_status == FETCH_OK ? 2 : 1;
	if (runs == 2)
		fetch_run(&without, &results[1]);
	free(paths);
	return runs;
}

static void show_gain(usec with, usec without, FILE *out)
{
	double gained = ((double)without - (double)with) / 1e3;
	fprintf(out, "\nEverything was there after %.1f ms with pushes, %.1f ms without: ",
	    (double)with / 1e3, (double)without / 1e3);
	if (with < without)
		fprintf(out, "pushes saved %.1f ms.\n", gained);
	else
		fputs("pushes saved nothing this time.\n", out);
}

void fetch_show_comparison(const struct fetch_request *r, const struct fetch_result *results,
    size_t runs, size_t width, FILE *out)
{
	struct fetch_request without = *r;
	without.no_push = true;
	usec span =
	    runs == 2 && results[1].total > results[0].total ? results[1].total : results[0].total;
	fetch_show(r, &results[0], span, width, out);
	if (runs < 2) {
		fprintf(out, "\nThere is nothing to compare: %s.\n",
		    results[0].has_no_pushes ? "HTTP/1.1 has no pushes" : "nothing was pushed");
		return;
	}
	fputs(
	    "\nThe same without pushes, what was pushed requested as the page names it:\n\n", out);
	fetch_show(&without, &results[1], span, width, out);
	if (results[1].exit_status == FETCH_OK)
		show_gain(results[0].total, results[1].total, out);
}
