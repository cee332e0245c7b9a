/* SPDX-License-Identifier: MIT */
/* The text format 0.0.4 as OpenMetrics: what changes, and what does not. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/admin/openmetrics.h"
#include <stdlib.h>

static void lines_become(void **state)
{
	(void)state;
	static const struct {
		const char *text, *wanted;
	} rows[] = {
	    {"", ""},
	    {"# HELP a_total what\n# TYPE a_total counter\na_total 1\n", "# HELP a what\n# TYPE a counter\na_total 1\n"},
	    {"a_total{b=\"# HELP c_total d\"} 1\n", "a_total{b=\"# HELP c_total d\"} 1\n"},
	    {"# HELP a_bytes what\n# TYPE a_bytes gauge\na_bytes 1\n", "# HELP a_bytes what\n# TYPE a_bytes gauge\na_bytes 1\n"},
	    {"# HELP a_total the \"b\" of c_total \\\\ \\n\n", "# HELP a the \\\"b\\\" of c_total \\\\ \\n\n"},
	    {"# TYPE a_seconds histogram\na_seconds_bucket{le=\"+Inf\"} 1\na_seconds_sum 0.5\na_seconds_count 1\n",
		"# TYPE a_seconds histogram\na_seconds_bucket{le=\"+Inf\"} 1\na_seconds_sum 0.5\na_seconds_count 1\n"},
	    {"# TYPE _total counter\n", "# TYPE _total counter\n"}, /* a name is left */
	    {"# TYPE a_totals gauge\n", "# TYPE a_totals gauge\n"},
	    {"# HELP a_total\n", "# HELP a \n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);
		openmetrics_write(slice_of_string(rows[i].text), out);
		fclose(out);
		assert_string_equal(text, rows[i].wanted);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines_become)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
