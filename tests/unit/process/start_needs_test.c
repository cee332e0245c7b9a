/* SPDX-License-Identifier: MIT */
/*
 * The table of what a start needs: what a finding weighs for `check` and for `run`, where it points, and that the walk
 * leaves nothing open. tests/wire/check.test.mjs has a row for each need.
 */
#include "proxy/base/memory.h"
#include "proxy/process/holder.h"
#include "proxy/process/start_needs.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	char dir[32], path[64], *said;
	size_t length;
	struct conf *conf;
	struct conf_findings findings;
	struct start_needs needs;
	int listener;
	uint16_t port;
};

static int set_up(void **state)
{
	struct bench *b = memory_new(struct bench);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	strcpy(b->dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	chmod(b->dir, 0777); /* started by root, the workers are somebody else */
	snprintf(b->path, sizeof(b->path), "%s/s", b->dir);
	b->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(b->listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(b->listener, (struct sockaddr *)&at, &length), 0);
	b->port = ntohs(at.sin_port);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	if (b->listener >= 0)
		close(b->listener);
	free(b->said);
	conf_free(b->conf);
	unlink(b->path);
	assert_int_equal(rmdir(b->dir), 0); /* no file of its own is left */
	free(b);
	return 0;
}

static int lowest_free_descriptor(void)
{
	int fd = dup(STDIN_FILENO);
	close(fd);
	return fd;
}

/* The text begins at line 1 of t.ini. */
static bool walk(struct bench *b, bool is_check, const char *server, const char *rest)
{
	char text[1024];
	conf_free(b->conf);
	free(b->said);
	snprintf(text, sizeof(text),
	    "[server]\n%s\n[listen l]\naddress = 127.0.0.1:%u\n[origin o]\nserver = demo:\n[route r]\norigin = o\n%s",
	    server, b->port, rest);
	b->conf = conf_load_text(slice_of_string(text), "t.ini", true, stderr);
	assert_non_null(b->conf);
	FILE *out = open_memstream(&b->said, &b->length);
	b->findings = (struct conf_findings){.text = out};
	b->needs = (struct start_needs){.conf = b->conf, .findings = &b->findings, .is_check = is_check, .workers = 1};
	int lowest = lowest_free_descriptor();
	bool can_start = start_needs_walk(&b->needs);
	assert_int_equal(lowest_free_descriptor(), lowest);
	fclose(out);
	return can_start;
}

static void assert_said(const struct bench *b, const char *text)
{
	if (!strstr(b->said, text))
		fail_msg("expected: %s\nit said: %s", text, b->said);
}

static void free_port(struct bench *b)
{
	close(b->listener);
	b->listener = -1;
}

static void nothing_is_said_of_what_is_there(void **state)
{
	struct bench *b = *state;
	free_port(b);
	for (int is_check = 0; is_check < 2; is_check++) {
		assert_true(walk(b, is_check, "access-log = -", ""));
		assert_string_equal(b->said, "");
	}
}

static void taken_port_is_an_error_of_run_and_a_warning_of_check(void **state)
{
	struct bench *b = *state;
	char want[128];
	assert_int_equal(listen(b->listener, 1), 0);
	assert_false(walk(b, false, "", ""));
	assert_int_equal(b->needs.count[NEED_PASSING], 1);
	assert_int_equal(b->needs.count[NEED_FAULT], 0);
	snprintf(want, sizeof(want), "t.ini:4: 127.0.0.1:%u is in use by ", b->port);
	assert_said(b, want);
	snprintf(want, sizeof(want), " (pid %d); stop it or choose another port\n", (int)getpid());
	assert_said(b, want);
	assert_false(walk(b, true, "", ""));
	snprintf(want, sizeof(want), "t.ini:4: warning: 127.0.0.1:%u is in use by ", b->port);
	assert_said(b, want);
}

static void fault_is_one_for_both_and_all_are_found_at_once(void **state)
{
	struct bench *b = *state;
	free_port(b);
	for (int is_check = 0; is_check < 2; is_check++) {
		assert_false(walk(b, is_check,
		    "access-log = /nowhere/a\nerror-log = /nowhere/e\nremembered-file = /nowhere/l\nstatus-socket = /nowhere/s",
		    ""));
		assert_int_equal(b->needs.count[NEED_FAULT], 4);
		assert_said(b, "t.ini:2: the folder of access-log /nowhere/a does not exist; make it (mkdir -p /nowhere)");
		assert_said(b, "t.ini:3: the folder of error-log ");
		assert_said(b, "t.ini:4: the folder of remembered-file ");
		assert_said(b, "t.ini:5: the folder of status-socket ");
	}
}

static void each_manifest_has_its_own_line_and_run_leaves_it_to_the_files_process(void **state)
{
	struct bench *b = *state;
	free_port(b);
	const char *preload = "[preload p]\nmanifest = /nowhere/1\n[preload q]\nadd = /x\nmanifest = /nowhere/2\nmanifest = /nowhere/3\n";
	assert_true(walk(b, true, "", preload));
	assert_int_equal(b->needs.count[NEED_WARNING], 3);
	assert_said(b, "t.ini:10: warning: manifest /nowhere/1: cannot be read: ");
	assert_said(b, "t.ini:13: warning: manifest /nowhere/2: ");
	assert_said(b, "t.ini:14: warning: manifest /nowhere/3: ");
	assert_true(walk(b, false, "", preload));
	assert_string_equal(b->said, "");
}

static void stale_socket_is_no_finding_and_stays(void **state)
{
	struct bench *b = *state;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char option[128];
	free_port(b);
	strcpy(at.sun_path, b->path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	snprintf(option, sizeof(option), "status-socket = %s", b->path);
	close(fd);
	assert_true(walk(b, true, option, ""));
	assert_string_equal(b->said, "");
	assert_int_equal(access(b->path, F_OK), 0);
}

static void addresses_that_need_the_same_port_are_a_fault(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *address;
		size_t faults;
	} rows[] = {
	    {"*", 1},
	    {"0.0.0.0", 1},
	    {"[::]", 1},
	    {"127.0.0.2", 0},
	};
	char rest[128];
	free_port(b);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(rest, sizeof(rest), "[listen m]\naddress = %s:%u\n", rows[i].address, b->port);
		walk(b, true, "", rest);
		if (b->needs.count[NEED_FAULT] != rows[i].faults)
			fail_msg("%s: %s", rows[i].address, b->said);
	}
}

/* ---- who has a port ---- */

static struct net_address address_of(const char *host, uint16_t port)
{
	struct net_address at;
	char text[64];
	snprintf(text, sizeof(text), "%s:%u", host, port);
	assert_null(net_address_parse(slice_of_string(text), &at));
	return at;
}

static void holder_is_found_by_any_address_that_overlaps(void **state)
{
	struct bench *b = *state;
	struct holder h;
	struct net_address at = address_of("127.0.0.1", b->port);
	assert_false(holder_of_port(&at, 0, &h)); /* bound, but it does not listen */
	assert_int_equal(listen(b->listener, 1), 0);
	assert_true(holder_of_port(&at, 0, &h));
	assert_int_equal(h.pid, getpid());
	at = address_of("*", b->port);
	assert_true(holder_of_port(&at, getpid(), &h));
	assert_int_equal(h.pid, getpid());
	at = address_of("127.0.0.2", b->port);
	assert_false(holder_of_port(&at, 0, &h));
	at = address_of("[::1]", b->port);
	assert_false(holder_of_port(&at, 0, &h));
}

static void fifo_is_read_only_by_who_has_it_open_for_reading(void **state)
{
	struct bench *b = *state;
	struct stat st;
	assert_int_equal(mkfifo(b->path, 0600), 0);
	assert_int_equal(stat(b->path, &st), 0);
	assert_false(holder_reads_fifo(st.st_dev, st.st_ino));
	int reader = open(b->path, O_RDONLY | O_NONBLOCK), writer = open(b->path, O_WRONLY);
	assert_true(holder_reads_fifo(st.st_dev, st.st_ino));
	close(reader);
	assert_false(holder_reads_fifo(st.st_dev, st.st_ino));
	close(writer);
}

/* covers: R233 */
static void memory_that_the_system_does_not_give_is_a_warning_with_numbers(void **state)
{
	struct bench *b = *state;
	free_port(b);
	assert_true(walk(b, false, "memory = 256M", ""));
	static const struct {
		struct memory_limits limits; /* in MiB */
		uint32_t workers;
		const char *said[2];
	} rows[] = {
	    {{UINT64_MAX, 60, UINT64_MAX}, 1, {NULL}},
	    {{380, 60, 256}, 1, {NULL}},
	    {{379, 60, UINT64_MAX}, 1, {"t.ini:2: warning: a process may have 379 MiB, too few for a worker, which may want 380 MiB: 256 of memory and what it has besides; it sheds load before that; raise it (ulimit -v, LimitAS= of systemd) or set memory = 255M\n"}},
	    {{236, 60, UINT64_MAX}, 1, {"a process may have 236 MiB", "or set memory = 128M\n"}},
	    {{92, 60, UINT64_MAX}, 1, {"a process may have 92 MiB", "raise it (ulimit -v, LimitAS= of systemd)\n"}},
	    {{UINT64_MAX, 60, 255}, 1, {"t.ini:2: warning: the control group may have 255 MiB (memory.max), too few for 1 worker with 256 MiB of memory each: the kernel ends a process when it is used up; raise it (MemoryMax= of systemd, or the container's limit) or set memory = 227M\n"}},
	    {{UINT64_MAX, 60, 1023}, 4, {"too few for 4 workers with 256 MiB", "or set memory = 227M\n"}},
	    {{UINT64_MAX, 60, 1024}, 4, {NULL}},
	    {{UINT64_MAX, 60, 40}, 4, {"the control group may have 40 MiB", "or the container's limit)\n"}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct memory_limits l = rows[i].limits;
		free(b->said);
		b->findings.text = open_memstream(&b->said, &b->length);
		b->needs.records = -1;
		b->needs.is_check = true;
		b->needs.workers = rows[i].workers;
		l.process = l.process == UINT64_MAX ? UINT64_MAX : l.process << 20;
		l.present <<= 20;
		l.group = l.group == UINT64_MAX ? UINT64_MAX : l.group << 20;
		start_needs_judge_memory(&b->needs, &l);
		fclose(b->findings.text);
		if (!rows[i].said[0])
			assert_string_equal(b->said, "");
		for (size_t j = 0; j < 2 && rows[i].said[j]; j++)
			assert_said(b, rows[i].said[j]);
	}
}

static void write_text(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void limit_of_a_control_group_is_the_least_around_it(void **state)
{
	struct bench *b = *state;
	char a[64], ab[64], groups[64], limit_a[96], limit_ab[96], limit[96];
	snprintf(a, sizeof(a), "%s/a", b->dir);
	snprintf(ab, sizeof(ab), "%s/a/b", b->dir);
	snprintf(groups, sizeof(groups), "%s/groups", b->dir);
	snprintf(limit, sizeof(limit), "%s/memory.max", b->dir);
	snprintf(limit_a, sizeof(limit_a), "%s/memory.max", a);
	snprintf(limit_ab, sizeof(limit_ab), "%s/memory.max", ab);
	assert_int_equal(mkdir(a, 0700), 0);
	assert_int_equal(mkdir(ab, 0700), 0);
	assert_true(start_needs_group_limit(b->dir, groups) == UINT64_MAX);
	write_text(groups, "4:memory:/elsewhere\n0::/a/b\n");
	assert_true(start_needs_group_limit(b->dir, groups) == UINT64_MAX);
	write_text(limit_ab, "max\n");
	write_text(limit_a, "1000\n");
	assert_true(start_needs_group_limit(b->dir, groups) == 1000);
	write_text(limit_ab, "999\n");
	assert_true(start_needs_group_limit(b->dir, groups) == 999);
	write_text(limit, "500\n");
	assert_true(start_needs_group_limit(b->dir, groups) == 500);
	write_text(groups, "0::/\n");
	assert_true(start_needs_group_limit(b->dir, groups) == 500);
	unlink(limit);
	unlink(limit_a);
	unlink(limit_ab);
	unlink(groups);
	rmdir(ab);
	rmdir(a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(nothing_is_said_of_what_is_there),
	    TEST(taken_port_is_an_error_of_run_and_a_warning_of_check),
	    TEST(fault_is_one_for_both_and_all_are_found_at_once),
	    TEST(each_manifest_has_its_own_line_and_run_leaves_it_to_the_files_process),
	    TEST(stale_socket_is_no_finding_and_stays),
	    TEST(memory_that_the_system_does_not_give_is_a_warning_with_numbers),
	    TEST(limit_of_a_control_group_is_the_least_around_it),
	    TEST(addresses_that_need_the_same_port_are_a_fault),
	    TEST(holder_is_found_by_any_address_that_overlaps),
	    TEST(fifo_is_read_only_by_who_has_it_open_for_reading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
