/* SPDX-License-Identifier: MIT */
/* Keep-alive and TCP_USER_TIMEOUT: the kernel is told what it needs to find peers that are gone. */
#include "tests/unit/net/rig.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* covers: R202 */

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);
	assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
	return value;
}

static void expect(int fd, int idle, int interval, int user_timeout)
{
	assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), idle > 0);
	if (idle > 0) {
		assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), idle);
		assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), interval);
		assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 4);
	}
	assert_int_equal(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), user_timeout);
}

static const struct {
	usec idle, patience;
	int sec, interval, user_timeout_msec;
} cases[] = {
    {60 * USEC_PER_SEC, 60 * USEC_PER_SEC, 60, 15, 120000},
    {60 * USEC_PER_SEC, 300 * USEC_PER_SEC, 60, 15, 600000}, /* the owner waits longer than that */
    {60 * USEC_PER_SEC, 0, 60, 15, 0},                       /* and here for ever */
    {USEC_PER_MSEC, USEC_PER_MSEC, 1, 1, 2000},
    {9 * 3600 * USEC_PER_SEC, USEC_PER_SEC, 9 * 3600, 9 * 900, 2 * 9 * 3600 * 1000},
    {0, 60 * USEC_PER_SEC, 0, 0, 0},
};

static void both_kinds_of_connection_have_the_options(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct joined j;
		joined_init(&j);
		joined_open(&j, NULL, NULL, NULL);
		net_conn_keepalive(j.client.conn, cases[i].idle, cases[i].patience);
		net_conn_keepalive(j.server.conn, cases[i].idle, cases[i].patience);
		expect(
		    j.server.conn->fd, cases[i].sec, cases[i].interval, cases[i].user_timeout_msec);
		expect(
		    j.client.conn->fd, cases[i].sec, cases[i].interval, cases[i].user_timeout_msec);
		joined_fini(&j);
	}
}

static void lost_is_known_after_the_peers_end(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	joined_open(&j, NULL, NULL, NULL);
	shutdown(j.client.conn->fd, SHUT_WR);
	run_until(&j.rig, j.server.ended);
	assert_int_equal(j.server.end, NET_END_EOF);
	assert_false(net_conn_is_lost(j.server.conn));
	const struct linger hard = {.l_onoff = 1};
	assert_int_equal(
	    setsockopt(j.client.conn->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	net_conn_abort(j.client.conn);
	j.client.conn = NULL;
	run_until(&j.rig, net_conn_is_lost(j.server.conn));
	assert_int_equal(j.server.ended, 1);
	joined_fini(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(both_kinds_of_connection_have_the_options),
	    cmocka_unit_test(lost_is_known_after_the_peers_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
