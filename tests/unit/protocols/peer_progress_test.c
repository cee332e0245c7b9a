/* SPDX-License-Identifier: MIT */
/*
 * A client that reads its socket slowly: one that reads at min-rate or faster is served without limit, also on streams
 * that wait for others; one that reads more slowly is disconnected although it never stops.
 */
#include "tests/support/gateway_world.h"

#include <unistd.h>

/* covers: R65 */

#define LIMIT_USEC (500 * USEC_PER_MSEC)
#define OPTIONS "write-timeout = 500ms\nmin-rate = 100000\nsettings-timeout = 0\n"
#define PAUSE_USEC (5 * USEC_PER_MSEC)

/* A client with the largest windows and two requests, for /a and /b. */
static const char opening[] = H2_PREFACE "\0\0\6\4\0\0\0\0\0"
					 "\0\4\x7f\xff\xff\xff"
					 "\0\0\4\x8\0\0\0\0\0"
					 "\x7f\xff\0\0"
					 "\0\0\x13\1\5\0\0\0\1"
					 "\x82\x86\x41\xb"
					 "example.com"
					 "\4\2/a"
					 "\0\0\x7\1\5\0\0\0\3"
					 "\x82\x86\xbe\4\2/b";

struct reader {
	struct gate_world *w;
	int fd;
	usec read_at; /* last */
};

/* A client with a very small receive buffer. */
static struct reader reader_new(void)
{
	struct reader r = {.w = gate_world_new(NULL, OPTIONS, NULL, NULL)};
	int little = 4096;
	r.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(r.fd >= 0);
	assert_int_equal(setsockopt(r.fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)), 0);
	assert_int_equal(connect(r.fd, &r.w->at.any, r.w->at.length), 0);
	assert_int_equal(send(r.fd, opening, sizeof(opening) - 1, 0), sizeof(opening) - 1);
	UNTIL(r.w, gate_find(r.w, "/a") && gate_find(r.w, "/b"));
	gate_answer(gate_find(r.w, "/a"), 200, 64u << 20, true);
	gate_answer(gate_find(r.w, "/b"), 200, 64u << 20, true);
	return r;
}

static void reader_free(struct reader *r)
{
	close(r->fd);
	gate_world_free(r->w);
}

/* Runs one loop pass, in which the client reads this many bytes if its pause is over. */
static void loop_pass(struct reader *r, size_t bytes)
{
	char into[4096];
	net_run_once(r->w->loop, USEC_PER_MSEC);
	if (net_now(r->w->loop) < r->read_at + PAUSE_USEC)
		return;
	r->read_at = net_now(r->w->loop);
	(void)!recv(r->fd, into, bytes, MSG_DONTWAIT);
}

static void reader_at_min_rate_is_served_on_all_its_streams(void **state)
{
	(void)state;
	struct reader r = reader_new();
	usec since = net_now(r.w->loop);
	while (net_now(r.w->loop) < since + 4 * LIMIT_USEC)
		loop_pass(&r, 4096);
	assert_int_equal(r.w->counters.connections_open, 1);
	assert_int_equal(r.w->counters.requests_open, 2);
	reader_free(&r);
}

static void reader_below_min_rate_is_ended(void **state)
{
	(void)state;
	struct reader r = reader_new();
	usec since = net_now(r.w->loop);
	while (r.w->counters.connections_open > 0) {
		loop_pass(&r, 200); /* forty thousand bytes a second */
		assert_true(net_now(r.w->loop) < since + 20 * USEC_PER_SEC);
	}
	assert_int_equal(r.w->counters.write_late_down, 1);
	assert_true(net_now(r.w->loop) > since + LIMIT_USEC / 2);
	reader_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reader_at_min_rate_is_served_on_all_its_streams),
	    cmocka_unit_test(reader_below_min_rate_is_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
