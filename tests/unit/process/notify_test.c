/* SPDX-License-Identifier: MIT */
/* What a service manager is told, by both kinds of `pushgate run`, and by whom. */
#include "proxy/process/notify.h"
#include "proxy/process/process.h"
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
		expect(b->manager, "READY=1", b->child);
		kill(b->child, SIGTERM);
		expect(b->manager, "STOPPING=1\nEXTEND_TIMEOUT_USEC=32000000", b->child);
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
		expect(b->manager, "READY=1", b->child);
		kill(b->child, SIGTERM);
		expect(b->manager, "STOPPING=1\nEXTEND_TIMEOUT_USEC=32200000", b->child);
		expect(b->manager, "STOPPING=1\nEXTEND_TIMEOUT_USEC=32000000", b->child);
		end_well(b);
	}
}

static void end_without_a_limit_asks_for_no_time(void **state)
{
	struct bench *b = *state;
	write_conf(b, "0");
	start(b, false);
	expect(b->manager, "READY=1", b->child);
	kill(b->child, SIGTERM);
	expect(b->manager, "STOPPING=1", b->child);
	end_well(b);
}

static void expect_reload(const struct bench *b)
{
	char said[256];
	ssize_t n = recv(b->manager, said, sizeof(said) - 1, 0);
	assert_true(n > 0);
	said[n] = '\0';
	unsigned long long at;
	assert_int_equal(sscanf(said, "RELOADING=1\nMONOTONIC_USEC=%llu", &at), 1);
	expect(b->manager, "READY=1", b->child);
}

static void manager_hears_of_a_reload_and_of_its_end(void **state)
{
	struct bench *b = *state;
	write_conf(b, "20s");
	start(b, false);
	expect(b->manager, "READY=1", b->child);
	static const char *const next[] = {"20s", "21s", "nonsense", "22s"}; /* the same, another one, a mistake */
	for (size_t i = 0; i < sizeof(next) / sizeof(next[0]); i++) {
		write_conf(b, next[i]);
		kill(b->child, SIGHUP);
		expect_reload(b);
	}
	kill(b->child, SIGTERM);
	expect(b->manager, "STOPPING=1\nEXTEND_TIMEOUT_USEC=34000000", b->child);
	end_well(b);
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
	notify_ready(fd);
	expect(manager, "READY=1", getpid());
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
	notify_ready(-1);
	notify_stopping(-1, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(manager_hears_of_ready_and_of_the_end),
	    TEST(delay_before_the_end_is_asked_for_too),
	    TEST(end_without_a_limit_asks_for_no_time),
	    TEST(manager_hears_of_a_reload_and_of_its_end),
	    TEST(who_cannot_start_is_not_ready),
	    TEST(name_may_be_abstract),
	    TEST(without_a_manager_nothing_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
