/* SPDX-License-Identifier: MIT */
/* The value of Server-Timing. */
#include "proxy/http/server_timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NONE USEC_NEVER

static void what_was_done_and_how_long_it_took(void **state)
{
	(void)state;
	static const struct {
		struct http_server_timing timing;
		const char *text;
	} rows[] = {
	    {{"", NONE, NONE, NONE, NONE}, ""},
	    {{"hint+hold", NONE, NONE, NONE, NONE}, "pushgate;desc=\"hint+hold\""},
	    {{"", 1, NONE, NONE, NONE}, "queue;dur=0.001"},
	    {{"", NONE, 1234, NONE, NONE}, "connect;dur=1.234"},
	    {{"", NONE, NONE, 0, NONE}, "origin;dur=0"},
	    {{"", NONE, NONE, 40000, NONE}, "origin;dur=40"},
	    {{"", NONE, NONE, 40500, NONE}, "origin;dur=40.5"},
	    {{"", NONE, NONE, 40050, NONE}, "origin;dur=40.05"},
	    {{"", NONE, NONE, 10000, NONE}, "origin;dur=10"},
	    {{"held", NONE, NONE, NONE, 3600000001}, "pushgate;desc=\"held\", held;dur=3600000.001"},
	    {{"drop forward", 10, 20, 30, 40},
		"pushgate;desc=\"drop forward\", queue;dur=0.01, connect;dur=0.02, origin;dur=0.03, held;dur=0.04"},
	    /* The longest that there is. */
	    {{"joined forward drop hold hint hint+hold and words up to 63 by", NONE - 1, NONE - 1, NONE - 1, NONE - 1},
		"pushgate;desc=\"joined forward drop hold hint hint+hold and words up to 63 by\", "
		"queue;dur=18446744073709551.614, connect;dur=18446744073709551.614, "
		"origin;dur=18446744073709551.614, held;dur=18446744073709551.614"},
	};
	struct arena a;
	arena_init(&a, NULL, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slice value = http_server_timing(&a, &rows[i].timing);
		if (!slice_equal(value, slice_of_string(rows[i].text)))
			fail_msg("%.*s, not %s", SLICE_ARG(value), rows[i].text);
	}
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_done_and_how_long_it_took),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
