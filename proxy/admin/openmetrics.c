/* SPDX-License-Identifier: MIT */
/* See openmetrics.h. What ends with _total is a counter, and each counter does (tests/support/prometheus.mjs). */
#include "proxy/admin/openmetrics.h"

static struct slice without_total(struct slice name)
{
	const struct slice total = SLICE("_total");
	bool is_counter =
	    name.len > total.len && slice_equal(slice_from(name, name.len - total.len), total);
	return is_counter ? slice_sub(name, 0, name.len - total.len) : name;
}

/* The text of HELP has backslashes and ends of lines escaped already. */
static void write_help(struct slice text, FILE *out)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"')
			fputc('\\', out);
		fputc(text.ptr[i], out);
	}
}

static void write_line(struct slice line, FILE *out)
{
	struct slice rest = line;
	bool is_help = slice_starts_with(line, SLICE("# HELP "));
	if (!is_help && !slice_starts_with(line, SLICE("# TYPE "))) {
		fwrite(line.ptr, 1, line.len, out);
		return;
	}
	slice_skip(&rest, sizeof("# HELP ") - 1);
	struct slice name = without_total(slice_cut(&rest, ' '));
	fprintf(out, "# %s %.*s ", is_help ? "HELP" : "TYPE", SLICE_ARG(name));
	if (is_help)
		write_help(rest, out);
	else
		fwrite(rest.ptr, 1, rest.len, out);
}

void openmetrics_write(struct slice text, FILE *out)
{
	while (text.len > 0) {
		write_line(slice_cut(&text, '\n'), out);
		fputc('\n', out);
	}
}
