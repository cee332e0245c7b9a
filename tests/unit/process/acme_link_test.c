/* SPDX-License-Identifier: MIT */
/* A worker's end of the socket to the ACME process: what it takes, and that a malformed message changes nothing. */
#include "proxy/limits.h"
#include "proxy/process/acme_helper.h"
#include "proxy/process/logs.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define THUMBPRINT "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

struct bench {
	struct chunk_pool *chunks;
	struct net_loop *loop;
	struct observe_counters counters;
	struct observe observe;
	struct acme_link link;
	int far; /* the process's end */
};

static int set_up(void **state)
{
	static struct bench b;
	int pair[2];
	b = (struct bench){.chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 1)};
	b.loop = net_loop_new(b.chunks);
	b.observe = (struct observe){.counters = &b.counters, .access_fd = -1, .error_fd = -1};
	acme_link_init(&b.link);
	b.link.link.loop = b.loop;
	b.link.observe = &b.observe;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	helper_link_open(&b.link.link, pair[0]);
	b.far = pair[1];
	*state = &b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	helper_link_close(&b->link.link);
	net_loop_free(b->loop);
	chunk_pool_free(b->chunks);
	return close(b->far);
}

static void say(struct bench *b, const void *message, size_t length)
{
	assert_int_equal(send(b->far, message, length, 0), (ssize_t)length);
	net_run_once(b->loop, USEC_PER_SEC);
}

static const struct acme_link_message good = {
    .thumbprint = THUMBPRINT, .challenge = {.name = "a.example", .digest = {1, [31] = 2}}};

static void last_message_counts_and_outlives_the_process(void **state)
{
	struct bench *b = *state;
	struct acme_link_message m = good;
	say(b, &m, sizeof(m));
	assert_memory_equal(&b->link.message, &good, sizeof(good));
	strcpy(m.challenge.name, "b.example");
	say(b, &m, sizeof(m));
	assert_string_equal(b->link.message.challenge.name, "b.example");
	assert_int_equal(shutdown(b->far, SHUT_RDWR), 0);
	net_run_once(b->loop, USEC_PER_SEC);
	assert_int_equal(b->link.link.socket, -1);
	assert_string_equal(b->link.message.thumbprint, THUMBPRINT);
}

static void malformed_messages_change_nothing(void **state)
{
	struct bench *b = *state;
	struct acme_link_message bad[4] = {good, good, good, good};
	bad[0].thumbprint[3] = '<';
	bad[1].thumbprint[0] = '\0';
	bad[2].thumbprint[ACME_THUMBPRINT_BYTES] = 'x';
	memset(bad[3].challenge.name, 'x', sizeof(bad[3].challenge.name));
	for (size_t i = 0; i < 5; i++) {
		int pair[2];
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		close(b->far);
		b->far = pair[1];
		helper_link_open(&b->link.link, pair[0]);
		say(b, i < 4 ? &bad[i] : &good, i < 4 ? sizeof(good) : sizeof(good) - 1);
		assert_int_equal(b->link.link.socket, -1);
		assert_string_equal(b->link.message.thumbprint, "");
		assert_string_equal(b->link.message.challenge.name, "");
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(last_message_counts_and_outlives_the_process),
	    TEST(malformed_messages_change_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
