/* SPDX-License-Identifier: MIT */
/* The request of `pushgate trace`, its answer, and the traces that the master keeps for new workers. */
#include "proxy/process/child_message.h"
#include "proxy/process/trace_request.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define NAME "pushgate trace 192.0.2.0/24 60 0"

static struct slice text(const char *s)
{
	return slice_of(s, strlen(s));
}

static void requests_are_read_as_they_were_written(void **state)
{
	(void)state;
	static const char *const blocks[] = {"192.0.2.0/24", "127.0.0.1", "0.0.0.0/0", "2001:db8::/32",
	    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"};
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct trace_request r = {.seconds = LIMIT_TRACE_SECONDS}, back;
		char name[TRACE_NAME_BYTES];
		assert_null(cidr_parse(text(blocks[i]), &r.from));
		size_t length = trace_request_write(&r, UINT64_MAX - i, name);
		assert_true(length <= sizeof(name));
		assert_true(trace_is_request(slice_of(name, length)));
		assert_null(trace_request_parse(slice_of(name, length), &back));
		assert_int_equal(back.seconds, r.seconds);
		assert_int_equal(back.from.bits, r.from.bits);
		assert_memory_equal(&back.from.base, &r.from.base, sizeof(r.from.base));
	}
}

static void requests_that_are_not_well_formed_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "pushgate trace", "pushgate trace ", "pushgate trace 192.0.2.1",
	    "pushgate trace 192.0.2.1 60", "pushgate trace 192.0.2.1 60 ", "pushgate trace 192.0.2.1 0 0",
	    "pushgate trace 192.0.2.1 3601 0", "pushgate trace 192.0.2.1 -1 0", "pushgate trace 192.0.2.1 x 0",
	    "pushgate trace 192.0.2.1/24 60 0", "pushgate trace nowhere 60 0", "pushgate trace 192.0.2.1  60 0",
	    "pushgate trace 192.0.2.1 60 0 1", "pushgate status"};
	struct trace_request r;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(trace_request_parse(text(bad[i]), &r));
	assert_false(trace_is_request(text("pushgate status")));
	assert_false(trace_is_request(text("")));
	assert_true(trace_is_request(text("pushgate trace nonsense")));
}

/* The command's end of a new request. */
static int ask(struct trace_orders *t, const char *name, usec now, bool is_taken)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	const struct trace_order *o = trace_orders_add(t, text(name), pair[1], now);
	assert_int_equal(o != NULL, is_taken);
	if (o)
		trace_accept(o->socket, &o->request);
	return pair[0];
}

static void expect(int fd, const char *what)
{
	char said[256];
	ssize_t n = recv(fd, said, sizeof(said) - 1, MSG_DONTWAIT);
	assert_true(n >= 0);
	said[n] = '\0';
	assert_string_equal(said, what);
}

static void orders_end_when_their_time_is_over_or_their_command_has_ended(void **state)
{
	(void)state;
	struct trace_orders t;
	int fds[LIMIT_TRACES];
	trace_orders_init(&t);
	assert_int_equal(trace_orders_expire(&t, 0), USEC_NEVER);
	for (size_t i = 0; i < LIMIT_TRACES; i++) {
		fds[i] = ask(&t, NAME, i * USEC_PER_SEC, true);
		expect(fds[i], "tracing 192.0.2.0/24 for 60 s\n");
	}
	int refused = ask(&t, NAME, 0, false);
	expect(refused, "refused: too many traces are on; wait until one of them is over\n");
	expect(refused, "");
	close(refused);
	refused = ask(&t, "pushgate trace nowhere 60 0", 0, false);
	expect(refused, "refused: not an IPv4 or IPv6 address\n");
	expect(refused, "");
	close(refused);

	assert_int_equal(trace_orders_expire(&t, 60 * USEC_PER_SEC), 61 * USEC_PER_SEC);
	expect(fds[0], "");
	close(fds[0]);
	close(fds[1]);
	for (size_t i = 0; i < 2; i++)
		fds[i] = ask(&t, NAME, 60 * USEC_PER_SEC, true);
	trace_orders_close(&t);
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		close(fds[i]);
}

static void message_carries_a_descriptor_or_none(void **state)
{
	(void)state;
	int control[2], pair[2], fd;
	struct message sent = {.kind = MESSAGE_TRACE, .until = 77}, m;
	assert_null(cidr_parse(text("192.0.2.0/24"), &sent.from));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	message_send(control[0], &sent, pair[1]);
	close(pair[1]);
	assert_int_equal(message_receive(control[1], &m, &fd), sizeof(m));
	assert_int_equal(m.kind, MESSAGE_TRACE);
	assert_int_equal(m.until, 77);
	assert_int_equal(m.from.bits, 24);
	assert_true(fd >= 0);
	trace_refuse(fd, "no");
	expect(pair[0], "refused: no\n");
	expect(pair[0], "");
	message_send(control[0], &(struct message){.kind = MESSAGE_QUIT}, -1);
	assert_int_equal(message_receive(control[1], &m, &fd), sizeof(m));
	assert_int_equal(m.kind, MESSAGE_QUIT);
	assert_int_equal(fd, -1);
	assert_int_equal(message_receive(control[1], &m, &fd), -1);
	close(control[0]);
	assert_int_equal(message_receive(control[1], &m, &fd), 0);
	close(control[1]);
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requests_are_read_as_they_were_written),
	    cmocka_unit_test(requests_that_are_not_well_formed_are_refused),
	    cmocka_unit_test(orders_end_when_their_time_is_over_or_their_command_has_ended),
	    cmocka_unit_test(message_carries_a_descriptor_or_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
