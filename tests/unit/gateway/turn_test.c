/* SPDX-License-Identifier: MIT */
/* Requests that each take long, many of them in one write: they keep a worker from nobody else. */
#include "tests/support/gateway_world.h"

#define RULES 900
#define REQUESTS 100
#define PATH_BYTES 300

/* Rules whose patterns look through the whole path. */
static const char *access_lines(void)
{
	static char text[RULES * 40 + 200];
	size_t at = (size_t)snprintf(text, sizeof(text), "[access slow]\n");
	for (int i = 0; i < RULES; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "deny = path=*aaaa%daab*\n", i);
	snprintf(text + at, sizeof(text) - at, "deny = path=/no\nallow = path=/never\n[route all]\norigin = a\n");
	return text;
}

/* covers: R479 */
static void many_long_requests_of_one_client_are_spread_over_loop_passes(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "access = slow", NULL, access_lines());
	struct gate_peer *greedy = gate_client(w, NULL), *honest = gate_client(w, NULL);
	char path[PATH_BYTES + 1] = "/";
	memset(path + 1, 'a', PATH_BYTES - 1);
	struct gate_stream *first = gate_get(greedy, "/no"), *same = gate_get(honest, "/no");
	UNTIL(w, first->is_over && same->is_over);
	uint64_t begun = w->counters.requests, most = 0;
	for (int i = 0; i < REQUESTS; i++)
		gate_get(greedy, path);
	while (w->counters.requests == begun)
		net_run_once(w->loop, USEC_PER_MSEC);
	struct gate_stream *s = gate_get(honest, "/no");
	while (w->counters.requests < begun + REQUESTS + 1) {
		uint64_t before = w->counters.requests;
		net_run_once(w->loop, USEC_PER_MSEC);
		if (w->counters.requests - before > most)
			most = w->counters.requests - before;
		if (s->is_over && before < begun + REQUESTS / 2)
			s = NULL; /* answered before half of the others had come */
		if (!s)
			break;
	}
	assert_null(s);
	assert_true(most <= REQUESTS / 4);
	for (size_t i = 0; i < greedy->stream_count; i++) {
		UNTIL(w, greedy->streams[i]->is_over);
		assert_int_equal(greedy->streams[i]->status, 403);
	}
	assert_int_equal(w->counters.requests, begun + REQUESTS + 1);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(many_long_requests_of_one_client_are_spread_over_loop_passes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
