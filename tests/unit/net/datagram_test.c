/* SPDX-License-Identifier: MIT */
/* UDP sockets with one peer, with the kernel's help and against its refusals. */
#include "tests/unit/net/rig.h"

static struct rig r;
static unsigned came;
static char text[64];
static int error;

static void received(void *context, struct slice bytes, int wrong)
{
	(void)context;
	came++;
	error = wrong;
	snprintf(text, sizeof(text), "%.*s", SLICE_ARG(bytes));
}

static int open_peer(struct net_address *at)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_null(net_address_parse(SLICE("127.0.0.1:0"), at));
	assert_int_equal(bind(fd, &at->any, at->length), 0);
	assert_int_equal(getsockname(fd, &at->any, &at->length), 0);
	return fd;
}

static void datagrams_go_to_the_peer_and_come_from_it_alone(void **state)
{
	(void)state;
	struct net_address peer, other, from;
	rig_init(&r);
	came = 0;
	int fd = open_peer(&peer), stranger = open_peer(&other);
	struct net_datagram *d = net_datagram_new(r.loop, &peer, received, NULL);
	assert_non_null(d);
	assert_true(net_datagram_send(d, SLICE("asked")));
	char bytes[16];
	from.length = NET_ADDRESS_BYTES;
	ssize_t n = recvfrom(fd, bytes, sizeof(bytes), 0, &from.any, &from.length);
	assert_int_equal(n, 5);
	sendto(stranger, "lie", 3, 0, &from.any, from.length);
	sendto(fd, "answer", 6, 0, &from.any, from.length);
	run_until(&r, came);
	assert_string_equal(text, "answer");
	assert_int_equal(error, 0);
	run_passes(&r, 5);
	assert_int_equal(came, 1);
	net_datagram_free(d);
	net_datagram_free(NULL);
	close(fd);
	close(stranger);
	rig_fini(&r);
}

static void closed_port_is_an_error(void **state)
{
	(void)state;
	struct net_address peer;
	rig_init(&r);
	came = 0;
	close(open_peer(&peer));
	struct net_datagram *d = net_datagram_new(r.loop, &peer, received, NULL);
	assert_true(net_datagram_send(d, SLICE("asked")));
	run_until(&r, came);
	assert_int_equal(error, ECONNREFUSED);
	net_datagram_free(d);
	rig_fini(&r);
}

static int no_socket(int family, int type, int protocol)
{
	(void)family, (void)type, (void)protocol;
	errno = EMFILE;
	return -1;
}

static int no_route(int fd, const struct sockaddr *to, socklen_t length)
{
	(void)fd, (void)to, (void)length;
	errno = ENETUNREACH;
	return -1;
}

static ssize_t nothing_yet(int fd, void *buffer, size_t size, int flags)
{
	(void)recv(fd, buffer, size, flags);
	errno = EAGAIN;
	return -1;
}

static void without_a_socket_or_a_route_there_is_none(void **state)
{
	(void)state;
	struct net_address peer;
	struct address source;
	rig_init(&r);
	int fd = open_peer(&peer);
	net_sys.socket = no_socket;
	assert_null(net_datagram_new(r.loop, &peer, received, NULL));
	assert_false(net_route_source(&peer, &source));
	net_sys_reset();
	net_sys.connect = no_route;
	assert_null(net_datagram_new(r.loop, &peer, received, NULL));
	assert_false(net_route_source(&peer, &source));
	net_sys_reset();
	close(fd);
	rig_fini(&r);
}

static void wakeup_for_nothing_is_passed_over(void **state)
{
	(void)state;
	struct net_address peer, from = {.length = NET_ADDRESS_BYTES};
	char byte;
	rig_init(&r);
	came = 0;
	int fd = open_peer(&peer);
	struct net_datagram *d = net_datagram_new(r.loop, &peer, received, NULL);
	assert_true(net_datagram_send(d, SLICE("x")));
	recvfrom(fd, &byte, 1, 0, &from.any, &from.length);
	net_sys.recv = nothing_yet;
	sendto(fd, "y", 1, 0, &from.any, from.length);
	run_passes(&r, 5);
	assert_int_equal(came, 0);
	net_sys_reset();
	net_datagram_free(d);
	close(fd);
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(datagrams_go_to_the_peer_and_come_from_it_alone),
	    cmocka_unit_test(closed_port_is_an_error),
	    cmocka_unit_test(without_a_socket_or_a_route_there_is_none),
	    cmocka_unit_test(wakeup_for_nothing_is_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
