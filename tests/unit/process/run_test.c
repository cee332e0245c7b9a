/* SPDX-License-Identifier: MIT */
/*
 * `pushgate run` as a whole: a master with two workers in front of the demo origin, watched through
 * its error log (a pipe, so that nothing has to be waited for by the clock) and asked by fetch.
 */
#include "proxy/process/process.h"
#include "proxy/tool/fetch.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	char dir[32], conf[64], status[64], access[64], moved[64];
	uint16_t port;
	pid_t master;
	FILE *log; /* the error log's reading end */
};

static uint16_t free_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	close(fd);
	return ntohs(at.sin_port);
}

static void write_conf(const struct bench *b)
{
	FILE *f = fopen(b->conf, "w");
	assert_non_null(f);
	fprintf(f,
	    "[server]\nworkers = 2\naccess-log = %s\nerror-log = -\nstatus-socket = "
	    "%s\ndrain-timeout = 20s\n"
	    "[listen main]\naddress = 127.0.0.1:%u\n[origin demo]\nserver = demo:\n[route "
	    "all]\norigin = demo\n",
	    b->access, b->status, b->port);
	fclose(f);
}

/* For what has no descriptor to wait on. */
#define UNTIL(condition)                                                                           \
	for (usec until_end = clock_monotonic() + 20 * USEC_PER_SEC; !(condition); sched_yield())  \
	assert_true(clock_monotonic() < until_end)

static bool is_empty(const char *path)
{
	struct stat st;
	return stat(path, &st) != 0 || st.st_size == 0;
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	strcpy(b->dir, "/tmp/pushgate-test-XXXXXX");
	if (!mkdtemp(b->dir))
		return -1;
	snprintf(b->conf, sizeof(b->conf), "%s/conf", b->dir);
	snprintf(b->status, sizeof(b->status), "%s/status", b->dir);
	snprintf(b->access, sizeof(b->access), "%s/access", b->dir);
	snprintf(b->moved, sizeof(b->moved), "%s/moved", b->dir);
	b->port = free_port();
	write_conf(b);
	*state = b;
	return 0;
}

/* pending: a signal that comes before the start; 0: none. */
static void start_as(struct bench *b, bool single, int pending)
{
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	b->master = fork();
	if (b->master == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		if (pending) {
			sigset_t set;
			sigemptyset(&set);
			sigaddset(&set, pending);
			sigprocmask(SIG_BLOCK, &set, NULL);
			raise(pending);
		}
		_exit(process_run(b->conf, single));
	}
	close(fds[1]);
	b->log = fdopen(fds[0], "r");
}

static void start(struct bench *b)
{
	start_as(b, false, 0);
}

/* Reads the error log up to a line with the text, and returns it. */
static const char *wait_for(struct bench *b, const char *text)
{
	static char line[4096];
	while (fgets(line, sizeof(line), b->log))
		if (strstr(line, text))
			return line;
	fail_msg("the log ended without: %s", text);
	return NULL;
}

static int end(struct bench *b)
{
	int status;
	assert_int_equal(waitpid(b->master, &status, 0), b->master);
	b->master = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int stop(struct bench *b)
{
	kill(b->master, SIGTERM);
	return end(b);
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	if (b->master) {
		kill(b->master, SIGKILL);
		end(b);
	}
	if (b->log)
		fclose(b->log);
	unlink(b->conf);
	unlink(b->status);
	unlink(b->access);
	unlink(b->moved);
	int r = rmdir(b->dir);
	free(b);
	return r;
}

/* The exit status of a fetch, which saw as many pushes as *pushes says then. */
static int fetch(const struct bench *b, const char *path, size_t *pushes)
{
	char url[128];
	struct fetch_request r = {.method = "GET", .max_time = 20 * USEC_PER_SEC};
	struct fetch_result result;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", b->port, path);
	assert_null(fetch_parse_url(&r, url));
	fetch_run(&r, &result);
	int status = result.exit_status;
	if (pushes)
		*pushes = result.count - 1;
	fetch_result_fini(&result);
	fetch_request_fini(&r);
	return status;
}

static int ask_status(const struct bench *b)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	strcpy(at.sun_path, b->status);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static const char *status_answer(int fd)
{
	static char text[65536];
	size_t used = 0;
	for (ssize_t n; (n = read(fd, text + used, sizeof(text) - 1 - used)) > 0;)
		used += (size_t)n;
	close(fd);
	text[used] = '\0';
	return text;
}

static const char *status_text(const struct bench *b)
{
	return status_answer(ask_status(b));
}

static pid_t worker_pid(const struct bench *b, unsigned index)
{
	char key[64];
	snprintf(key, sizeof(key), "# worker %u: process ", index);
	const char *at = strstr(status_text(b), key);
	return at ? (pid_t)atoi(at + strlen(key)) : 0;
}

static uint64_t counter(const struct bench *b, const char *name)
{
	char key[64];
	snprintf(key, sizeof(key), "\n%s ", name);
	const char *at = strstr(status_text(b), key);
	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, 10);
}

static void it_serves_and_ends_well_on_sigterm(void **state)
{
	struct bench *b = *state;
	size_t pushes;
	start(b);
	wait_for(b, "listening on 127.0.0.1:");
	wait_for(b, "ready");
	assert_int_equal(fetch(b, "/", &pushes), FETCH_OK);
	assert_int_equal(pushes, 8);
	kill(b->master, SIGTERM);
	wait_for(b, "draining");
	wait_for(b, "counter pushgate_requests_total 1");
	assert_int_equal(end(b), 0);
	assert_int_not_equal(access(b->status, F_OK), 0);
}

static void status_adds_up_both_workers(void **state)
{
	struct bench *b = *state;
	start(b);
	wait_for(b, "ready");
	for (int i = 0; i < 6; i++)
		assert_int_equal(fetch(b, "/logo.svg", NULL), FETCH_OK);
	assert_int_equal(counter(b, "pushgate_requests_total"), 6);
	assert_int_equal(stop(b), 0);
}

static usec processor_time(pid_t process)
{
	clockid_t clock;
	struct timespec t;
	assert_int_equal(clock_getcpuclockid(process, &clock), 0);
	assert_int_equal(clock_gettime(clock, &t), 0);
	return (usec)t.tv_sec * USEC_PER_SEC + (usec)t.tv_nsec / 1000;
}

static void master_without_descriptors_waits_instead_of_turning(void **state)
{
	struct bench *b = *state;
	struct rlimit limit, none;
	start(b);
	wait_for(b, "ready");
	assert_int_equal(prlimit(b->master, RLIMIT_NOFILE, NULL, &limit), 0);
	none = limit;
	none.rlim_cur = 2 + 2; /* as many as it gives to poll(2): they are all taken */
	assert_int_equal(prlimit(b->master, RLIMIT_NOFILE, &none, NULL), 0);
	usec before = processor_time(b->master);
	struct pollfd asked = {.fd = ask_status(b), .events = POLLIN};
	assert_int_equal(poll(&asked, 1, 1000), 0);
	assert_in_range(processor_time(b->master) - before, 0, 100 * USEC_PER_MSEC);
	assert_int_equal(prlimit(b->master, RLIMIT_NOFILE, &limit, NULL), 0);
	assert_non_null(strstr(status_answer(asked.fd), "# worker 1: process "));
	assert_int_equal(stop(b), 0);
}

static void killed_worker_comes_back_and_its_numbers_stay(void **state)
{
	struct bench *b = *state;
	start(b);
	wait_for(b, "ready");
	for (int i = 0; i < 6; i++)
		assert_int_equal(fetch(b, "/logo.svg", NULL), FETCH_OK);
	pid_t worker;
	UNTIL((worker = worker_pid(b, 0)) != 0);
	kill(worker, SIGKILL);
	wait_for(b, "was killed by signal 9");
	wait_for(b, "worker 0");
	assert_int_equal(counter(b, "pushgate_requests_total"), 6);
	assert_int_equal(counter(b, "pushgate_connections_open{side=\"client\"}"), 0);
	assert_int_not_equal(worker_pid(b, 0), worker);
	assert_int_equal(stop(b), 0);
}

static void connections_are_accepted_while_a_worker_waits_for_its_restart(void **state)
{
	struct bench *b = *state;
	start(b);
	wait_for(b, "ready");
	for (int death = 0; death < 4; death++) {
		pid_t worker;
		UNTIL((worker = worker_pid(b, 0)) != 0);
		kill(worker, SIGKILL);
		wait_for(b, "was killed by signal 9");
		for (int i = 0; i < 8; i++)
			assert_int_equal(fetch(b, "/logo.svg", NULL), FETCH_OK);
		wait_for(b, "is up again");
	}
	assert_int_equal(stop(b), 0);
}

static void drain_lets_a_response_finish(void **state)
{
	struct bench *b = *state;
	int status;
	start(b);
	wait_for(b, "ready");
	pid_t client = fork();
	if (client == 0)
		_exit(fetch(b, "/slow", NULL));
	UNTIL(counter(b, "pushgate_requests_open") > 0);
	kill(b->master, SIGTERM);
	assert_int_equal(waitpid(client, &status, 0), client);
	assert_int_equal(status, 0);
	assert_int_equal(end(b), 0);
	assert_int_equal(fetch(b, "/logo.svg", NULL), FETCH_CONNECT);
}

static void second_signal_does_not_wait(void **state)
{
	struct bench *b = *state;
	int status;
	start(b);
	wait_for(b, "ready");
	pid_t worker = worker_pid(b, 0), other = worker_pid(b, 1);
	pid_t client = fork();
	if (client == 0)
		_exit(fetch(b, "/slow", NULL));
	UNTIL(counter(b, "pushgate_requests_open") > 0);
	/* Workers that do nothing any more do not hold up the end either. */
	kill(worker, SIGSTOP);
	kill(other, SIGSTOP);
	kill(b->master, SIGINT);
	wait_for(b, "draining");
	kill(b->master, SIGINT);
	wait_for(b, "was killed by signal 9");
	assert_int_equal(end(b), 0);
	waitpid(client, &status, 0);
	assert_int_not_equal(status, 0);
}

static void nobody_survives_a_killed_master(void **state)
{
	struct bench *b = *state;
	/* Its orphans become ours, so that their end can be waited for. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	start(b);
	wait_for(b, "ready");
	assert_int_equal(fetch(b, "/logo.svg", NULL), FETCH_OK);
	UNTIL(!is_empty(b->access));
	kill(b->master, SIGKILL);
	int ended = 0;
	while (wait(NULL) > 0)
		ended++;
	assert_int_equal(errno, ECHILD);
	b->master = 0;
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	/* Master, workers, logger; a sanitizer may have started helpers of its own. */
	assert_true(ended >= 1 + 2 + 1);
}

static void signal_that_came_during_the_start_is_obeyed(void **state)
{
	struct bench *b = *state;
	for (unsigned single = 0; single < 2; single++) {
		start_as(b, single, SIGTERM);
		wait_for(b, "listening on");
		assert_int_equal(end(b), 0);
		fclose(b->log);
		b->log = NULL;
	}
}

static void sigusr1_reopens_the_access_log(void **state)
{
	struct bench *b = *state;
	start(b);
	wait_for(b, "ready");
	assert_int_equal(rename(b->access, b->moved), 0);
	kill(b->master, SIGUSR1);
	UNTIL(access(b->access, F_OK) == 0);
	assert_int_equal(fetch(b, "/logo.svg", NULL), FETCH_OK);
	assert_int_equal(stop(b), 0);
	char text[4096] = "";
	FILE *f = fopen(b->access, "r");
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_non_null(strstr(text, "\"path\":\"/logo.svg\""));
}

static void taken_port_ends_with_1_and_bad_configuration_with_2(void **state)
{
	struct bench *b = *state;
	start(b);
	wait_for(b, "ready");
	struct bench second = *b;
	snprintf(second.status, sizeof(second.status), "%s/other", b->dir);
	start(&second);
	wait_for(&second, " is in use by ");
	assert_int_equal(end(&second), 1);
	fclose(second.log);
	FILE *f = fopen(b->conf, "a");
	fputs("no-such-option = 1\n", f);
	fclose(f);
	start(&second);
	wait_for(&second, "no-such-option");
	assert_int_equal(end(&second), 2);
	fclose(second.log);
	assert_int_equal(fetch(b, "/logo.svg", NULL), FETCH_OK);
	assert_int_equal(stop(b), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(it_serves_and_ends_well_on_sigterm),
	    TEST(status_adds_up_both_workers),
	    TEST(master_without_descriptors_waits_instead_of_turning),
	    TEST(killed_worker_comes_back_and_its_numbers_stay),
	    TEST(connections_are_accepted_while_a_worker_waits_for_its_restart),
	    TEST(drain_lets_a_response_finish),
	    TEST(second_signal_does_not_wait),
	    TEST(nobody_survives_a_killed_master),
	    TEST(signal_that_came_during_the_start_is_obeyed),
	    TEST(sigusr1_reopens_the_access_log),
	    TEST(taken_port_ends_with_1_and_bad_configuration_with_2),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
