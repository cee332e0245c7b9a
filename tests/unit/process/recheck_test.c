/* SPDX-License-Identifier: MIT */
/* The two ends of a socket for access-recheck: a tunnel is judged by another worker's rules, and neither believes all. */
#include "tests/support/gateway_world.h"

#include "proxy/base/descriptor.h"
#include "proxy/process/child_message.h"
#include "proxy/process/recheck.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define FORWARD "[origin world]\nserver = forward:\n[route r]\norigin = world\n"

/* Ends of tunnels that stay open until the test is over. */
static void keep(struct gate_site *site, int fd)
{
	(void)site, (void)fd;
}

/* Two workers in one process. */
struct bench {
	struct gate_world *older, *newer;
	struct gate_peer *client;
	struct recheck_link link;
	struct recheck_judge judge;
	char to[2][64]; /* of the second the newer one denies the port */
};

static void begin(struct bench *b)
{
	char rules[256];
	*b = (struct bench){0};
	b->older = gate_world_new(NULL, "mode = forward\naccess = lab", NULL,
	    "[access lab]\nallow = address=127.0.0.0/8 port=1-65535\n" FORWARD);
	for (size_t i = 0; i < 2; i++) {
		b->older->sites[i].adopt = keep;
		net_address_format(gate_site_address(b->older, i), b->to[i], sizeof(b->to[i]));
	}
	snprintf(rules, sizeof(rules),
	    "[access lab]\ndeny = port=%u\nallow = address=127.0.0.0/8 port=1-65535\n" FORWARD,
	    (unsigned)net_address_port(gate_site_address(b->older, 1)));
	b->newer = gate_world_new(NULL, "mode = forward\naccess = lab", NULL, rules);
	b->client = gate_client(b->older, NULL);
	recheck_link_init(&b->link);
	recheck_judge_init(&b->judge);
	b->link.gateway = b->older->gateway;
	b->link.observe = &b->older->observe;
	b->link.link.loop = b->older->loop;
	b->judge.gateway = b->newer->gateway;
	b->judge.observe = &b->newer->observe;
	b->judge.loop = b->newer->loop;
}

static void finish(struct bench *b)
{
	helper_link_close(&b->link.link);
	recheck_judge_close(&b->judge);
	gate_world_free(b->older);
	gate_world_free(b->newer);
}

static void make_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void join(struct bench *b)
{
	int pair[2];
	make_pair(pair);
	recheck_judge_add(&b->judge, pair[1]);
	helper_link_open(&b->link.link, pair[0]);
}

static struct gate_stream *opens(struct bench *b, size_t site)
{
	struct gate_stream *stream = gate_connect(b->client, b->to[site]);
	UNTIL(b->older, stream->status == 200);
	return stream;
}

/* Both work for some loop passes. */
static void work(struct bench *b)
{
	for (unsigned i = 0; i < 20; i++) {
		gate_passes(b->newer);
		gate_passes(b->older);
	}
}

static uint64_t revoked(const struct bench *b)
{
	return b->older->counters.causes[relay_cause_index(&relay_cause_ACCESS_REVOKED)];
}

static void tunnels_are_judged_by_the_rules_of_the_newer_worker(void **state)
{
	(void)state;
	enum { EACH = 40 };
	struct bench b;
	struct gate_stream *allowed[EACH], *denied[EACH];
	begin(&b);
	for (size_t i = 0; i < EACH; i++) {
		allowed[i] = opens(&b, 0);
		denied[i] = opens(&b, 1);
	}
	join(&b);
	struct patience patience = {0};
	while (revoked(&b) < EACH && !patience_is_over(&patience))
		work(&b);
	work(&b);
	for (size_t i = 0; i < EACH; i++)
		assert_true(denied[i]->was_reset && !allowed[i]->was_reset);
	assert_int_equal(revoked(&b), EACH);
	/* One that opens later, and another newer worker. */
	struct gate_stream *late = opens(&b, 1);
	while (!late->was_reset && !patience_is_over(&patience))
		work(&b);
	assert_int_equal(revoked(&b), EACH + 1);
	join(&b);
	work(&b);
	assert_int_equal(revoked(&b), EACH + 1);
	finish(&b);
}

static void when_the_newer_worker_is_gone_tunnels_go_on(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	join(&b);
	recheck_judge_close(&b.judge);
	struct gate_stream *stream = opens(&b, 1);
	work(&b);
	assert_int_equal(b.link.link.socket, -1);
	assert_false(stream->was_reset);
	/* Its successor judges. */
	join(&b);
	struct patience patience = {0};
	while (!stream->was_reset && !patience_is_over(&patience))
		work(&b);
	assert_int_equal(revoked(&b), 1);
	finish(&b);
}

/* ---- a process that was taken over ---- */

static bool is_closed(int socket)
{
	char byte[64];
	return recv(socket, byte, sizeof(byte), MSG_DONTWAIT) == 0;
}

static void malformed_question_ends_its_socket(void **state)
{
	(void)state;
	static const struct recheck_question good = {.id = 7, .client = {.family = 4}, .is_forward = 1,
	    .bytes = {[RECHECK_LISTENER] = 1}};
	struct {
		struct recheck_question q;
		size_t bytes;
		int fd;
	} rows[] = {
	    {good, sizeof(good) - 1, -1},
	    {good, sizeof(good), -1},
	    {good, sizeof(good) + 2, -1},
	    {good, sizeof(good) + 1, STDIN_FILENO},
	    {good, sizeof(good) + 1, -1},
	    {good, sizeof(good) + 1, -1},
	};
	struct bench b;
	begin(&b);
	rows[4].q.client.family = 5;
	rows[5].q.to.length = 4096;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int pair[2];
		make_pair(pair);
		recheck_judge_add(&b.judge, pair[1]);
		struct iovec parts[2] = {{&rows[i].q, sizeof(good)}, {(void *)(uintptr_t)"ll", 2}};
		if (rows[i].bytes < sizeof(good))
			parts[0].iov_len = rows[i].bytes;
		parts[1].iov_len = rows[i].bytes > sizeof(good) ? rows[i].bytes - sizeof(good) : 0;
		assert_true(message_send_parts(pair[0], parts, 2, rows[i].fd, 0));
		gate_passes(b.newer);
		if (!is_closed(pair[0]))
			fail_msg("row %zu was answered", i);
		close(pair[0]);
	}
	/* The good one, too: it is answered. */
	int pair[2];
	struct recheck_question q = good;
	struct recheck_answer a;
	make_pair(pair);
	recheck_judge_add(&b.judge, pair[1]);
	struct iovec parts[2] = {{&q, sizeof(q)}, {(void *)(uintptr_t)"l", 1}};
	assert_true(message_send_parts(pair[0], parts, 2, -1, 0));
	gate_passes(b.newer);
	assert_int_equal(recv(pair[0], &a, sizeof(a), MSG_DONTWAIT), sizeof(a));
	assert_int_equal(a.id, 7);
	assert_string_equal(a.reason, "client");
	close(pair[0]);
	finish(&b);
}

static void malformed_answer_ends_no_tunnel(void **state)
{
	(void)state;
	struct recheck_answer answers[] = {{.id = 0}, {.id = 0}};
	memset(answers[0].reason, 'x', sizeof(answers[0].reason));
	struct bench b;
	begin(&b);
	struct gate_stream *stream = opens(&b, 0);
	for (size_t i = 0; i < 2; i++) {
		int pair[2];
		make_pair(pair);
		helper_link_open(&b.link.link, pair[0]);
		/* The second one twice: only one question was asked. */
		for (size_t n = 0; n <= i; n++)
			assert_int_equal(send(pair[1], &answers[i], sizeof(answers[i]), 0), sizeof(answers[i]));
		UNTIL(b.older, b.link.link.socket < 0);
		close(pair[1]);
	}
	assert_false(stream->was_reset);
	finish(&b);
}

/* One floods the worker with questions; each of the others has its turn all the same. */
static void each_socket_has_its_turn(void **state)
{
	(void)state;
	struct bench b;
	int pairs[3][2];
	struct recheck_question q = {.id = 1, .client = {.family = 4}, .is_forward = 1, .bytes = {[RECHECK_LISTENER] = 1}};
	struct iovec parts[2] = {{&q, sizeof(q)}, {(void *)(uintptr_t)"l", 1}};
	struct recheck_answer a;
	size_t answered[3] = {0};
	begin(&b);
	for (size_t i = 0; i < 3; i++) {
		make_pair(pairs[i]);
		recheck_judge_add(&b.judge, pairs[i][1]);
	}
	for (unsigned pass = 0; pass < 12; pass++) {
		for (size_t i = 0; i < 3; i++) {
			while (message_send_parts(pairs[i][0], parts, 2, -1, MSG_DONTWAIT))
				;
		}
		net_run_once(b.newer->loop, 0);
		for (size_t i = 0; i < 3; i++)
			while (recv(pairs[i][0], &a, sizeof(a), MSG_DONTWAIT) > 0)
				answered[i]++;
	}
	for (size_t i = 0; i < 3; i++) {
		assert_true(answered[i] > 0);
		close(pairs[i][0]);
	}
	finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tunnels_are_judged_by_the_rules_of_the_newer_worker),
	    cmocka_unit_test(when_the_newer_worker_is_gone_tunnels_go_on),
	    cmocka_unit_test(malformed_question_ends_its_socket),
	    cmocka_unit_test(malformed_answer_ends_no_tunnel),
	    cmocka_unit_test(each_socket_has_its_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
