/* SPDX-License-Identifier: MIT */
/* The lines of a crash dump and of the status page: one for each thing that lives. */
#include "tests/support/gateway_world.h"

static void every_part_has_its_line(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[route a]\norigin = a\n[preload p]\nlearned = propose\n"
	    "[push held]\npromised-path = /held\naction = hold\n");
	struct gate_peer *client = gate_client(w, NULL);
	gate_get(client, "/");
	UNTIL(w, gate_find(w, "/"));
	struct gate_stream *at = gate_find(w, "/");
	struct gate_stream *push = gate_promise(at, "http", "example.com", "/held");
	gate_answer_fields(push, 200, false, "cache-control", "max-age=600", NULL);
	gate_more(push, 5, true);
	UNTIL(w, w->counters.pushes_held == 1);
	gate_passes(w);
	char text[4096];
	text[gateway_describe(w->gateway, text, sizeof(text) - 1)] = 0;
	static const char *const lines[] = {
	    "held 1/32 5/2097152 bytes\n", "learned pages=0/1000 ", "GET http://example.com/ "};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(text, lines[i]))
			fail_msg("no \"%s\" in:\n%s", lines[i], text);
	for (size_t size = 0; size < sizeof(text); size++)
		assert_true(gateway_describe(w->gateway, text, size) <= size);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_part_has_its_line)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
