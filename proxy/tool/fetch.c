/* SPDX-License-Identifier: MIT */
/*
 * `pushgate fetch`: sends one request with the project's own engine and prints the response and its
 * pushes as a table.
 */
#include "proxy/tool/fetch.h"
#include "proxy/tool/tool.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_DEFAULT 100u
#define WIDTH_LEAST 75u

static size_t terminal_width(FILE *out)
{
	struct winsize size;
	size_t width = WIDTH_DEFAULT;
	const char *columns = getenv("COLUMNS");
	if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col;
	else if (columns)
		width = strtoul(columns, NULL, 10);
	return width < WIDTH_LEAST ? WIDTH_LEAST : width;
}

/* False: it could not be written, which command_main says. */
static bool show(const struct fetch_request *r, const struct fetch_result *results, size_t runs)
{
	/* When the body goes to standard output, the table must not. */
	FILE *out = r->output && strcmp(r->output, "-") == 0 ? stderr : stdout;
	if (r->json)
		fetch_show_json(r, results, runs, out);
	else if (r->compare)
		fetch_show_comparison(r, results, runs, terminal_width(out), out);
	else
		fetch_show(r, &results[0], 0, terminal_width(out), out);
	return fflush(out) == 0 && !ferror(out);
}

static int fetch_and_show(const struct fetch_request *r)
{
	struct fetch_result results[2];
	size_t runs = 1;
	if (r->compare)
		runs = fetch_compare(r, results);
	else
		fetch_run(r, &results[0]);
	bool was_shown = show(r, results, runs);
	int status = FETCH_OK;
	for (size_t i = 0; i < runs; i++) {
		if (results[i].error[0])
			fprintf(stderr, "pushgate fetch: %s\n", results[i].error);
		if (status == FETCH_OK)
			status = results[i].exit_status;
		fetch_result_fini(&results[i]);
	}
	return status == FETCH_OK && !was_shown ? FETCH_WRITE : status;
}

int tool_fetch(int argc, char **argv)
{
	struct fetch_request request;
	char wrong[512];
	int status = fetch_parse(&request, argc, argv);
	if (status == FETCH_OK && !fetch_check(&request, wrong, sizeof(wrong))) {
		fprintf(stderr, "pushgate fetch: %s\n", wrong);
		status = FETCH_USAGE;
	}
	if (status == FETCH_OK) {
		signal(SIGPIPE, SIG_IGN);
		status = fetch_and_show(&request);
	}
	fetch_request_fini(&request);
	return status == COMMAND_HELPED ? FETCH_OK : status;
}
