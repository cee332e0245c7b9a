/* SPDX-License-Identifier: MIT */
/* A loop pass that takes long is counted each time, and logged once a minute with what it did. */
#include "tests/support/gateway_world.h"
#include <stdlib.h>
#include <unistd.h>

/* How many passes a line speaks of. */
static unsigned long passes_of(const char *line)
{
	static const char before[] = "since the last such line ";
	const char *number = strstr(line, before);
	assert_non_null(number);
	return strtoul(number + strlen(before), NULL, 10);
}

static void work_long(void *context)
{
	struct gate_world *w = context;
	usec until = clock_monotonic() + 2 * NET_LONG_PASS_USEC;
	net_note(w->loop, "worked long");
	while (clock_monotonic() < until)
		;
}

static void long_passes_are_counted_and_logged_once_a_minute(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct net_timer timer;
	char text[4096];
	int lines[2];
	assert_int_equal(pipe(lines), 0);
	w->observe.error_fd = lines[1];
	net_timer_init(&timer, w->loop, work_long, w);
	for (int i = 0; i < 3; i++) {
		uint64_t before = w->counters.loop_passes_over_5ms;
		net_timer_set(&timer, net_now(w->loop));
		UNTIL(w, w->counters.loop_passes_over_5ms > before);
	}
	ssize_t n = read(lines[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	const char *line = strstr(text, "a loop pass took ");
	assert_non_null(line);
	assert_null(strstr(line + 1, "a loop pass took "));
	assert_int_equal(passes_of(line), 1);
	/* The first one is logged at once; the next line tells of the longest of the others. */
	w->gateway->long_pass.next_log = 0;
	net_timer_set(&timer, net_now(w->loop));
	uint64_t before = w->counters.loop_passes_over_5ms;
	UNTIL(w, w->counters.loop_passes_over_5ms > before);
	n = read(lines[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, " ms: it worked long; since the last such line"));
	assert_int_equal(passes_of(text), w->counters.loop_passes_over_5ms - 1);
	w->observe.error_fd = -1;
	close(lines[0]);
	close(lines[1]);
	net_timer_fini(&timer);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(long_passes_are_counted_and_logged_once_a_minute),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
