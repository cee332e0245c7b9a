/* SPDX-License-Identifier: MIT */
/* What a service manager is told, by both kinds of `pushgate run`, and by whom. */
#include "proxy/process/notify.h"
#include "proxy/process/process.h"
#include "proxy/process/watchdog.h"
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	char dir[32], conf[64], path[64];
	int manager; /* the service manager's end */
	pid_t child;
};

/* name: as in NOTIFY_SOCKET, '@' for a NUL. */
static int listen_at(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const struct timeval patience = {.tv_sec = 20};
	const int yes = 1;
	size_t length = strlen(name);
	memcpy(at.sun_path, name, length);
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)), 0);
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, bytes), 0);
	return fd;
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	strcpy(b->dir, "/tmp/pushgate-test-XXXXXX");
	if (!mkdtemp(b->dir))
		return -1;
	snprintf(b->conf, sizeof(b->conf), "%s/conf", b->dir);
	snprintf(b->path, sizeof(b->path), "%s/notify", b->dir);
	b->manager = listen_at(b->path);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	if (b->child) {
		kill(b->child, SIGKILL);
		waitpid(b->child, NULL, 0);
	}
	close(b->manager);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	unlink(b->conf);
	unlink(b->path);
	int r = rmdir(b->dir);
	free(b);
	return r;
}

static void write_conf(const struct bench *b, const char *drain_timeout)
{
	FILE *f = fopen(b->conf, "w");
	assert_non_null(f);
	fprintf(f,
	    "[server]\nworkers = 2\ndrain-timeout = %s\n[listen main]\naddress = 127.0.0.1:0\n"
	    "[origin demo]\nserver = demo:\n[route all]\norigin = demo\n",
	    drain_timeout);
	fclose(f);
}

static void start(struct bench *b, bool single)
{
	b->child = fork();
	if (b->child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("NOTIFY_SOCKET", b->path, 1);
		_exit(process_run(b->conf, single));
	}
}

/* The next thing that is said must be this, and said by `from`. */
static void expect(int manager, const char *text, pid_t from)
{
	char said[256];
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec bytes = {said, sizeof(said) - 1};
	struct msghdr message = {.msg_iov = &bytes,
	    .msg_iovlen = 1,
	    .msg_control = control,
	    .msg_controllen = sizeof(control)};
	struct ucred who;
	ssize_t n = recvmsg(manager, &message, 0);
	assert_true(n > 0);
	said[n] = '\0';
	assert_string_equal(said, text);
	assert_non_null(CMSG_FIRSTHDR(&message));
	memcpy(&who, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(who));
	assert_int_equal(who.pid, from);
}

static void end_well(struct bench *b)
{
	int status;
	assert_int_equal(waitpid(b->child, &status, 0), b->child);
	b->child = 0;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void manager_hears_of_ready_and_of_the_end(void **state)
{
	struct bench *b = *state;
	write_conf(b, "20s");
	for (int single = 0; single < 2; single++) {
		start(b, single);
		expect(b->manager, "READY=1\nSTATUS=serving", b->child);
		kill(b->child, SIGTERM);
		expect(b->manager, "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=32000000", b->child);
		end_well(b);
	}
}

/* It is told so when the delay begins, and again when the drain does. */
static void delay_before_the_end_is_asked_for_too(void **state)
{
	struct bench *b = *state;
	write_conf(b, "20s\ndrain-delay = 200ms");
	for (int single = 0; single < 2; single++) {
		start(b, single);
		expect(b->manager, "READY=1\nSTATUS=serving", b->child);
		kill(b->child, SIGTERM);
		expect(b->manager, "STOPPING=1\nSTATUS=about to drain\nEXTEND_TIMEOUT_USEC=32200000", b->child);
		expect(b->manager, "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=32000000", b->child);
		end_well(b);
	}
}

static void end_without_a_limit_asks_for_no_time(void **state)
{
	struct bench *b = *state;
	write_conf(b, "0");
	start(b, false);
	expect(b->manager, "READY=1\nSTATUS=serving", b->child);
	kill(b->child, SIGTERM);
	expect(b->manager, "STOPPING=1\nSTATUS=draining", b->child);
	end_well(b);
}

static void expect_reload(const struct bench *b, const char *result)
{
	char said[256];
	ssize_t n = recv(b->manager, said, sizeof(said) - 1, 0);
	assert_true(n > 0);
	said[n] = '\0';
	unsigned long long at;
	assert_int_equal(sscanf(said, "RELOADING=1\nMONOTONIC_USEC=%llu", &at), 1);
	char *wanted;
	assert_true(asprintf(&wanted, "READY=1\nSTATUS=serving; last reload: %s", result) > 0);
	expect(b->manager, wanted, b->child);
	free(wanted);
}

static void manager_hears_of_a_reload_and_of_its_end(void **state)
{
	struct bench *b = *state;
	write_conf(b, "20s");
	start(b, false);
	expect(b->manager, "READY=1\nSTATUS=serving", b->child);
	char mistake[256];
	snprintf(mistake, sizeof(mistake),
	    "refused: %s:3: bad value 'nonsense' for drain-timeout; give a time with its unit (ms, s, m, h) from 0 to 24h, such as drain-timeout = 30s",
	    b->conf);
	const struct {
		const char *drain_timeout, *result;
	} rows[] = {{"20s", "same"}, {"21s", "done"}, {"nonsense", mistake}, {"22s", "done"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_conf(b, rows[i].drain_timeout);
		kill(b->child, SIGHUP);
		expect_reload(b, rows[i].result);
	}
	kill(b->child, SIGTERM);
	expect(b->manager, "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=34000000", b->child);
	end_well(b);
}

/* ---- the watchdog ---- */

static void watch(void)
{
	setenv("WATCHDOG_USEC", "200000", 1);
}

static void expect_alive(const struct bench *b, int times)
{
	for (int i = 0; i < times; i++)
		expect(b->manager, "WATCHDOG=1", b->child);
}

/* A worker, which has no other child's title. */
static pid_t find_worker(pid_t master)
{
	char path[64], title[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)master, (int)master);
	FILE *children = fopen(path, "r");
	assert_non_null(children);
	int pid;
	pid_t found = 0;
	while (!found && fscanf(children, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
		FILE *line = fopen(path, "r");
		if (line && fgets(title, sizeof(title), line) && strstr(title, "pushgate: worker"))
			found = pid;
		if (line)
			fclose(line);
	}
	fclose(children);
	return found;
}

static bool says_something(const struct bench *b, int milliseconds)
{
	struct pollfd fd = {.fd = b->manager, .events = POLLIN};
	return poll(&fd, 1, milliseconds) > 0;
}

static void manager_hears_that_it_is_well(void **state)
{
	struct bench *b = *state;
	write_conf(b, "20s");
	watch();
	for (int single = 0; single < 2; single++) {
		start(b, single);
		expect(b->manager, "READY=1\nSTATUS=serving", b->child);
		expect_alive(b, 5);
		kill(b->child, SIGKILL);
		waitpid(b->child, NULL, 0);
		b->child = 0;
		while (says_something(b, 0))
			recv(b->manager, (char[256]){0}, 256, 0);
	}
}

static void it_is_not_well_while_a_worker_hangs(void **state)
{
	struct bench *b = *state;
	pid_t worker = 0;
	char said[64];
	write_conf(b, "20s");
	watch();
	start(b, false);
	expect(b->manager, "READY=1\nSTATUS=serving", b->child);
	expect_alive(b, 5);
	while (!worker)
		worker = find_worker(b->child);
	assert_int_equal(kill(worker, SIGSTOP), 0);
	/* What the worker had answered before may be said yet. */
	for (int i = 0; i < 2 && says_something(b, 100); i++)
		recv(b->manager, said, sizeof(said), 0);
	assert_false(says_something(b, 500));
	assert_int_equal(kill(worker, SIGCONT), 0);
	expect_alive(b, 5);
}

static void reading_a_configuration_takes_the_time_that_it_takes(void **state)
{
	struct bench *b = *state;
	char said[256] = "";
	write_conf(b, "20s");
	watch();
	start(b, false);
	expect(b->manager, "READY=1\nSTATUS=serving", b->child);
	kill(b->child, SIGHUP);
	while (strncmp(said, "RELOADING=1", 11) != 0)
		assert_true(recv(b->manager, said, sizeof(said) - 1, 0) > 0);
	expect(b->manager, "WATCHDOG=1\nWATCHDOG_USEC=3600200000", b->child);
	expect(b->manager, "READY=1\nSTATUS=serving; last reload: same", b->child);
	expect(b->manager, "WATCHDOG=1\nWATCHDOG_USEC=200000", b->child);
}

/* A process that another one has started in the same environment is not watched. */
static void watchdog_of_another_process_is_not_ours(void **state)
{
	(void)state;
	struct watchdog w;
	static const char *const wrong[] = {"", "x", "0", "-1", "99999999999999999999"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("WATCHDOG_USEC", wrong[i], 1);
		watchdog_init(&w);
		assert_false(watchdog_is_due(&w, USEC_NEVER - 1));
		assert_int_equal(w.due_at, USEC_NEVER);
	}
	watch();
	setenv("WATCHDOG_PID", "1", 1);
	watchdog_init(&w);
	assert_false(watchdog_is_due(&w, 1));
	watchdog_pass_on(); /* now it is */
	watchdog_init(&w);
	assert_true(watchdog_is_due(&w, 1));
	assert_false(watchdog_is_due(&w, 50000));
	assert_true(watchdog_is_due(&w, 50001));
}

static void who_cannot_start_is_not_ready(void **state)
{
	struct bench *b = *state;
	write_conf(b, "nonsense");
	start(b, false);
	int status;
	assert_int_equal(waitpid(b->child, &status, 0), b->child);
	b->child = 0;
	assert_int_equal(WEXITSTATUS(status), 2);
	char said;
	assert_int_equal(recv(b->manager, &said, 1, MSG_DONTWAIT), -1);
}

static void name_may_be_abstract(void **state)
{
	const struct bench *b = *state;
	char name[80];
	snprintf(name, sizeof(name), "@%s", b->dir);
	int manager = listen_at(name);
	setenv("NOTIFY_SOCKET", name, 1);
	int fd = notify_open();
	assert_true(fd >= 0);
	notify_ready(fd, "here");
	expect(manager, "READY=1\nSTATUS=here", getpid());
	close(fd);
	close(manager);
	assert_int_equal(notify_open(), -1); /* nobody is there any more */
}

static void without_a_manager_nothing_is_said(void **state)
{
	(void)state;
	char long_name[200];
	memset(long_name, 'a', sizeof(long_name));
	long_name[0] = '/';
	long_name[sizeof(long_name) - 1] = '\0';
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_open(), -1);
	const char *const wrong[] = {"", "relative", "vsock:2:1234", long_name};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("NOTIFY_SOCKET", wrong[i], 1);
		assert_int_equal(notify_open(), -1);
	}
	notify_ready(-1, "");
	notify_stopping(-1, "", 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(manager_hears_of_ready_and_of_the_end),
	    TEST(delay_before_the_end_is_asked_for_too),
	    TEST(end_without_a_limit_asks_for_no_time),
	    TEST(manager_hears_of_a_reload_and_of_its_end),
	    TEST(manager_hears_that_it_is_well),
	    TEST(it_is_not_well_while_a_worker_hangs),
	    TEST(reading_a_configuration_takes_the_time_that_it_takes),
	    TEST(watchdog_of_another_process_is_not_ours),
	    TEST(who_cannot_start_is_not_ready),
	    TEST(name_may_be_abstract),
	    TEST(without_a_manager_nothing_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
