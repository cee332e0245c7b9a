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

#define WIDTH_DEFAULT 80u
#define WIDTH_LEAST 60u

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

int tool_fetch(int argc, char **argv)
{
	struct fetch_request request;
	int status = fetch_parse(&request, argc, argv);
	if (status == FETCH_OK) {
		struct fetch_result result;
		signal(SIGPIPE, SIG_IGN);
		fetch_run(&request, &result);
		/* When the body goes to standard output, the table must not. */
		FILE *out = request.output && strcmp(request.output, "-") == 0 ? stderr : stdout;
		fetch_show(&request, &result, terminal_width(out), out);
		if (result.error[0])
			fprintf(stderr, "pushgate fetch: %s\n", result.error);
		status = result.exit_status;
		fetch_result_fini(&result);
	}
	fetch_request_fini(&request);
	return status == COMMAND_HELPED ? FETCH_OK : status;
}
