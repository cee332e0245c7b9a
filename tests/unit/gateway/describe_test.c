/* SPDX-License-Identifier: MIT */
/* The lines of a crash dump and of the status page: one for each thing that lives. */
#include "tests/support/gateway_world.h"

static void every_part_has_its_line(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[route a]\norigin = a\n[preload p]\nremembered = propose\n"
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
	assert_string_equal(text,
	    "server open=0/1 reserved=0/0 handles=1 next=2 peer-last=1 send-window=1048576 receive-window=1048576 queued=0 "
	    "forgotten=0 push=1\n"
	    "  s1 half-closed-remote u=3 offered=0 send-window=65535 receive-window=262144 unread=0\n"
	    "client open=1/0 reserved=0/0 handles=1 next=3 peer-last=2 send-window=1048576 receive-window=16777211 queued=0 "
	    "forgotten=0 push=1\n"
	    "  s1 half-closed-local u=3,i offered=0 send-window=65535 receive-window=65536 unread=0\n"
	    "held 1/32 5/2097152 bytes\n"
	    "remembered places=0 pages=0/1000 established=0 resources=0 bytes=0/33554432 taught=0 refused=0\n"
	    "x1 GET http://example.com/ sent status=0 up=done/0 down=head/0\n"
	    "x2 push GET http://example.com/held answering status=200 up=done/0(no leg) down=body/0\n");
	for (size_t size = 0; size < sizeof(text); size++)
		assert_true(gateway_describe(w->gateway, text, size) <= size);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_part_has_its_line)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
