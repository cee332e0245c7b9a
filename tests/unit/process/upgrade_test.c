/* SPDX-License-Identifier: MIT */
/* A binary upgrade that fails: the program that runs goes on. */
#include "proxy/process/answer.h"
#include "proxy/process/upgrade.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A program that is started for an upgrade, and the command of the user who asks for that. */
struct bench {
	char program[64];
	struct start start;
	struct upgrade upgrade;
	struct observe observe;
	struct observe_counters counters;
	usec now;
	int command;
};

static void begin(struct bench *b, const char *script)
{
	int asks[2];
	*b = (struct bench){.program = "/tmp/pushgate-test-XXXXXX", .now = 1000 * USEC_PER_SEC};
	int fd = mkstemp(b->program);
	assert_int_equal(write(fd, script, strlen(script)), strlen(script));
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	b->start = (struct start){.status_fd = -1, .remembered = -1, .conf_path = "x.ini", .program = b->program};
	b->observe = (struct observe){
	    .counters = &b->counters, .access_fd = -1, .error_fd = -1, .worker = OBSERVE_MASTER};
	upgrade_init(&b->upgrade, &b->start, &b->observe);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, asks), 0);
	b->command = asks[0];
	reload_askers_add(&b->upgrade.askers, asks[1]);
	b->upgrade.is_due = true;
	assert_true(upgrade_run(&b->upgrade, false, b->now) == USEC_NEVER);
	assert_true(b->upgrade.is_due);
	(void)upgrade_run(&b->upgrade, true, b->now);
	assert_false(b->upgrade.is_due);
	assert_int_equal(b->upgrade.phase, UPGRADE_UNDER_WAY);
	assert_true(b->upgrade.keeper > 0);
}

static int wait_for_end(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_told(const struct bench *b, const char *why, int exit_status)
{
	char text[1024] = "", line[64];
	ssize_t n = read(b->command, text, sizeof(text) - 1);
	assert_true(n > 0);
	assert_non_null(strstr(text, why));
	snprintf(line, sizeof(line), ANSWER_STATUS "%d\n", exit_status);
	assert_non_null(strstr(text, line));
}

/* The command has been told, and another upgrade may begin. */
static void assert_failed(const struct bench *b, const char *why, int exit_status)
{
	assert_told(b, why, exit_status);
	assert_int_equal(b->upgrade.phase, UPGRADE_NONE);
	assert_int_equal(b->upgrade.keeper, 0);
	assert_int_equal(b->upgrade.socket, -1);
}

static void finish(struct bench *b)
{
	close(b->command);
	unlink(b->program);
	upgrade_fini(&b->upgrade);
}

static void a_program_that_ends_has_failed(void **state)
{
	(void)state;
	static const struct {
		const char *script, *why;
		int status;
	} rows[] = {
	    {"#!/bin/sh\nexit 2\n", "the new program exited with status 2", PROCESS_BAD_CONF},
	    {"#!/bin/sh\nexit 1\n", "the new program exited with status 1", PROCESS_FAILED},
	    {"#!/bin/sh\nkill -SEGV $$\n", "the new program was killed by signal 11",
		PROCESS_FAILED},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench b;
		begin(&b, rows[i].script);
		pid_t pid = b.upgrade.keeper;
		int status = wait_for_end(pid);
		assert_false(upgrade_died(&b.upgrade, pid + 1, status));
		assert_true(upgrade_died(&b.upgrade, pid, status));
		assert_failed(&b, rows[i].why, rows[i].status);
		finish(&b);
	}
}

static void a_program_that_hangs_is_killed(void **state)
{
	(void)state;
	struct bench b;
	begin(&b, "#!/bin/sh\nexec sleep 100\n");
	pid_t pid = b.upgrade.keeper;
	/* Another one does not begin meanwhile. */
	b.upgrade.is_due = true;
	usec next = upgrade_run(&b.upgrade, true, b.now);
	assert_true(next > b.now);
	assert_int_equal(b.upgrade.keeper, pid);
	b.upgrade.is_due = false;
	(void)upgrade_run(&b.upgrade, true, next);
	int status = wait_for_end(pid);
	assert_true(WIFSIGNALED(status));
	assert_true(upgrade_died(&b.upgrade, pid, status));
	assert_failed(&b, "is not ready in time", PROCESS_FAILED);
	finish(&b);
}

static void an_upgrade_ends_with_pushgate(void **state)
{
	(void)state;
	struct bench b;
	begin(&b, "#!/bin/sh\nexec sleep 100\n");
	pid_t pid = b.upgrade.keeper;
	upgrade_fini(&b.upgrade);
	assert_true(WIFSIGNALED(wait_for_end(pid)));
	assert_told(&b, "pushgate ends", PROCESS_FAILED);
	finish(&b);
}

/* The test says what the new program would say. Returns its end of the pair. */
static int begin_with_peer(struct bench *b)
{
	int pair[2];
	begin(b, "#!/bin/sh\nexec sleep 100\n");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	close(b->upgrade.socket);
	b->upgrade.socket = pair[0];
	return pair[1];
}

static enum handover_heard say(struct bench *b, int peer, const char *text)
{
	assert_int_equal(send(peer, text, strlen(text), 0), strlen(text));
	return upgrade_read(&b->upgrade, b->now);
}

#define HELLO "hello\t" HANDOVER_VERSION "\t4711"

static void a_program_that_says_what_it_may_not_is_killed(void **state)
{
	(void)state;
	static const struct {
		const char *first, *second, *why;
	} rows[] = {
	    {NULL, "hello\t999\t4711", "hands over in another way"},
	    {NULL, "next", "says what it may not"},
	    {NULL, "ready", "says what it may not"},
	    {HELLO, "nonsense", "says what it may not"},
	    {HELLO, NULL, "has closed its socket"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench b;
		int peer = begin_with_peer(&b);
		pid_t pid = b.upgrade.keeper;
		assert_int_equal(upgrade_read(&b.upgrade, b.now), HANDOVER_NOTHING);
		if (rows[i].first)
			assert_int_equal(say(&b, peer, rows[i].first), HANDOVER_HELLO);
		if (rows[i].second)
			assert_int_equal(say(&b, peer, rows[i].second), HANDOVER_NOTHING);
		close(peer);
		if (!rows[i].second) {
			(void)upgrade_read(&b.upgrade, b.now);
			assert_int_equal(kill(pid, 0), 0); /* it may be about to end */
			usec next = upgrade_run(&b.upgrade, true, b.now);
			assert_true(next < b.now + UPGRADE_USEC);
			(void)upgrade_run(&b.upgrade, true, next);
		}
		int status = wait_for_end(pid);
		assert_true(WIFSIGNALED(status));
		assert_true(upgrade_died(&b.upgrade, pid, status));
		assert_failed(&b, rows[i].why, PROCESS_FAILED);
		finish(&b);
	}
}

static void a_program_that_serves_gets_counters_until_the_end(void **state)
{
	(void)state;
	struct bench b;
	char text[512];
	int peer = begin_with_peer(&b);
	pid_t pid = b.upgrade.keeper;
	struct totals *counters = totals_new();
	const struct outfit running = {0};
	assert_false(upgrade_wants_counters(&b.upgrade, b.now));
	assert_int_equal(say(&b, peer, HELLO), HANDOVER_HELLO);
	assert_int_equal(say(&b, peer, "next"), HANDOVER_NEXT);
	upgrade_give(&b.upgrade, &running, counters);
	assert_true(recv(peer, text, sizeof(text), 0) > 0);
	assert_memory_equal(text, "status\t", 7); /* there is no listening socket */
	assert_int_equal(say(&b, peer, "ready"), HANDOVER_READY);
	upgrade_end(&b.upgrade, &running, b.now);
	assert_told(&b, "serves", PROCESS_DONE);
	assert_int_equal(recv(peer, text, sizeof(text), MSG_DONTWAIT), strlen("health"));
	for (unsigned i = 0; i < 2; i++) {
		assert_true(upgrade_wants_counters(&b.upgrade, b.now));
		upgrade_give(&b.upgrade, &running, counters);
		assert_int_equal(recv(peer, text, sizeof(text), MSG_DONTWAIT), strlen("counters"));
		assert_false(upgrade_wants_counters(&b.upgrade, b.now));
		b.now = upgrade_run(&b.upgrade, false, b.now);
	}
	/* Nobody can go back: what it says now changes nothing, and neither does its end. */
	assert_int_equal(say(&b, peer, "reopen"), HANDOVER_REOPEN);
	assert_int_equal(say(&b, peer, "ready"), HANDOVER_GONE);
	assert_false(upgrade_wants_counters(&b.upgrade, b.now));
	/* Its keeper has ended by then. */
	int status = wait_for_end(pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(upgrade_died(&b.upgrade, pid, status));
	assert_int_equal(b.upgrade.pid, 4711);
	assert_int_equal(b.upgrade.phase, UPGRADE_OVER);
	totals_free(counters);
	close(peer);
	finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_program_that_ends_has_failed),
	    cmocka_unit_test(a_program_that_hangs_is_killed),
	    cmocka_unit_test(an_upgrade_ends_with_pushgate),
	    cmocka_unit_test(a_program_that_says_what_it_may_not_is_killed),
	    cmocka_unit_test(a_program_that_serves_gets_counters_until_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
