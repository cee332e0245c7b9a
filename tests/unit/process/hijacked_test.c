/* SPDX-License-Identifier: MIT */
/*
 * A whole master whose children are taken over: this program has a worker, a files process, a password process and a
 * tracer of its own in place of the real ones. In its first life the child does one of the things that a child may not do; the
 * next one is good. The master kills the first, says why in one line, and serves on.
 */
#include "proxy/base/clock.h"
#include "proxy/process/acme_helper.h"
#include "proxy/process/files.h"
#include "proxy/process/helper.h"
#include "proxy/process/passwords.h"
#include "proxy/process/process.h"
#include "proxy/process/tracer.h"
#include "proxy/process/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_USEC (30 * USEC_PER_SEC)

/* ---- the children ---- */

enum victim { WORKER, FILES, PASSWORDS, TRACER, ACME };

/* Returns when it has done its worst; the child then goes on living. */
typedef void misdeed_function(int control);

/* Memory that the test, the master and its children share. */
static struct shared {
	enum victim victim;
	misdeed_function *misdeed;
	atomic_uint lives; /* of the victim */
} *shared;

static void say(int control, enum message_kind kind)
{
	const struct message m = {.kind = kind};
	(void)!send(control, &m, sizeof(m), MSG_NOSIGNAL);
}

/* Until the master closes its end, or tells it to end. */
static void live_well(int control)
{
	for (;;) {
		struct message m;
		int fd;
		struct pollfd wait = {.fd = control, .events = POLLIN};
		poll(&wait, 1, -1);
		ssize_t n = message_receive(control, &m, &fd);
		if (fd >= 0)
			close(fd);
		bool ends = n == (ssize_t)sizeof(m) &&
			    (m.kind == MESSAGE_DRAIN || m.kind == MESSAGE_QUIT);
		if (n == 0 || ends || (n < 0 && errno != EAGAIN && errno != EINTR))
			return;
	}
}

static int live(enum victim who, int control)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (shared->victim == who && atomic_fetch_add(&shared->lives, 1) == 0) {
		shared->misdeed(control);
		for (;;)
			pause();
	}
	say(control, MESSAGE_READY);
	live_well(control);
	_exit(0);
}

int worker_run(const struct worker_config *env, int control, pid_t master)
{
	(void)env;
	(void)master;
	return live(WORKER, control);
}

int files_run(const struct helper_env *env)
{
	return live(FILES, env->control);
}

int passwords_run(const struct helper_env *env)
{
	return live(PASSWORDS, env->control);
}

int tracer_run(const struct helper_env *env)
{
	return live(TRACER, env->control);
}

int acme_helper_run(const struct helper_env *env)
{
	return live(ACME, env->control);
}

/* ---- what they do ---- */

static void closes_its_socket(int control)
{
	close(control);
}

static void ends_its_side(int control)
{
	shutdown(control, SHUT_WR);
}

static void is_ready_and_closes(int control)
{
	say(control, MESSAGE_READY);
	close(control);
}

static void send_until_refused(int control, enum message_kind kind)
{
	const struct message m = {.kind = kind};
	while (send(control, &m, sizeof(m), MSG_NOSIGNAL) == (ssize_t)sizeof(m))
		;
}

static void says_ready_for_ever(int control)
{
	send_until_refused(control, MESSAGE_READY);
}

static void says_ready_twice(int control)
{
	say(control, MESSAGE_READY);
	say(control, MESSAGE_READY);
}

static void sends_contents_for_ever(int control)
{
	say(control, MESSAGE_READY);
	send_until_refused(control, MESSAGE_CONTENT);
}

static void sends_bytes(int control, size_t count)
{
	static const char bytes[4096];
	(void)!send(control, bytes, count, MSG_NOSIGNAL);
}

static void sends_nothing(int control)
{
	sends_bytes(control, 0);
}

static void sends_a_byte(int control)
{
	sends_bytes(control, 1);
}

static void sends_too_little(int control)
{
	sends_bytes(control, sizeof(struct message) - 1);
}

/* The first of it is a good message. */
static void sends_too_much(int control)
{
	sends_bytes(control, sizeof(struct message) + 1);
}

static void sends_much_too_much(int control)
{
	sends_bytes(control, 4096);
}

static void sends_drain(int control)
{
	say(control, MESSAGE_DRAIN);
}

static void sends_quit(int control)
{
	say(control, MESSAGE_QUIT);
}

static void sends_adopt(int control)
{
	say(control, MESSAGE_ADOPT);
}

static void send_link(int control, enum helper_id helper)
{
	const struct message m = {.kind = MESSAGE_LINK, .helper = helper};
	(void)!send(control, &m, sizeof(m), MSG_NOSIGNAL);
}

static void sends_files(int control)
{
	send_link(control, HELPER_FILES);
}

static void sends_passwords(int control)
{
	send_link(control, HELPER_PASSWORDS);
}

static void sends_content(int control)
{
	say(control, MESSAGE_CONTENT);
}

static void hands_what_nobody_asked_for(int control)
{
	say(control, MESSAGE_HAND_REMEMBERED);
}

static void sends_remembered(int control)
{
	say(control, MESSAGE_TAKE_REMEMBERED);
}

static void sends_trace(int control)
{
	say(control, MESSAGE_TRACE);
}

static void sends_an_unknown_kind(int control)
{
	say(control, (enum message_kind)0x7fffffff);
}

/* A good message with descriptors that nobody asked for, as one message or more. */
static void send_descriptors(int control, enum message_kind kind, size_t count)
{
	struct message m = {.kind = kind};
	struct iovec part = {&m, sizeof(m)};
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(16 * sizeof(int))] = {0};
	struct msghdr header = {.msg_iov = &part,
	    .msg_iovlen = 1,
	    .msg_control = room,
	    .msg_controllen = CMSG_SPACE(count * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++) {
		int fd = STDERR_FILENO;
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(fd));
	}
	(void)!sendmsg(control, &header, MSG_NOSIGNAL);
}

static void gives_a_descriptor(int control)
{
	send_descriptors(control, MESSAGE_READY, 1);
}

static void gives_descriptors(int control)
{
	send_descriptors(control, MESSAGE_READY, 16);
}

static void gives_contents_of_many_files(int control)
{
	send_descriptors(control, MESSAGE_CONTENT, 16);
}

/* ---- the master ---- */

struct bench {
	char dir[32];
	pid_t master;
};

static int set_up(void **state)
{
	static struct bench b;
	strcpy(b.dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(b.dir));
	chmod(b.dir, 0777); /* started by root, the children are somebody else */
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	*state = &b;
	return 0;
}

static void path_of(const struct bench *b, const char *name, char path[64])
{
	snprintf(path, 64, "%s/%s", b->dir, name);
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	char path[64];
	if (b->master > 0) {
		kill(b->master, SIGKILL);
		waitpid(b->master, NULL, 0);
		b->master = 0;
	}
	munmap(shared, sizeof(*shared));
	static const char *const names[] = {"p.ini", "error.log", "s", "users", "pages.json"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(b, names[i], path);
		unlink(path);
	}
	assert_int_equal(rmdir(b->dir), 0);
	return 0;
}

static void write_file(const struct bench *b, const char *name, const char *text)
{
	char path[64];
	path_of(b, name, path);
	FILE *out = fopen(path, "we");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	chmod(path, 0644);
}

static void begin(struct bench *b, enum victim victim, misdeed_function *misdeed)
{
	char text[1024], path[64];
	shared->victim = victim;
	shared->misdeed = misdeed;
	atomic_store(&shared->lives, 0);
	write_file(b, "users", "# nobody\n");
	path_of(b, "error.log", path);
	unlink(path);
	snprintf(text, sizeof(text),
	    "[server]\nworkers = 1\ntracing = 127.0.0.1:9\nerror-log = %s\nremembered-file = %s/pages.json\nacme-dir = %s\n"
	    "[access a]\nusers = %s/users\nask = all\nallow = user=bob\n"
	    "[listen l]\naddress = unix:%s/s\naccess = a\n"
	    "[listen t]\naddress = unix:%s/t\nacme = https://127.0.0.1:9/dir\n"
	    "[preload p]\nremembered = apply\n"
	    "[origin o]\nserver = demo:\n[route r]\nhost = a.test\norigin = o\n",
	    path, b->dir, b->dir, b->dir, b->dir, b->dir);
	write_file(b, "p.ini", text);
	fflush(NULL);
	b->master = fork();
	assert_true(b->master >= 0);
	if (b->master > 0)
		return;
	path_of(b, "p.ini", path);
	_exit(process_run(path, false));
}

/* The error log so far; lent until the next call. */
static const char *said(const struct bench *b)
{
	static char text[1 << 20];
	char path[64];
	path_of(b, "error.log", path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;
	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void until_said(const struct bench *b, const char *what)
{
	usec end = clock_monotonic() + PATIENCE_USEC;
	while (!strstr(said(b), what)) {
		if (clock_monotonic() > end || waitpid(b->master, NULL, WNOHANG) != 0)
			fail_msg("never: %s\nit said: %.4000s", what, said(b));
		usleep(5000);
	}
}

static void until_it_lives_again(const struct bench *b)
{
	usec end = clock_monotonic() + PATIENCE_USEC;
	while (atomic_load(&shared->lives) < 2) {
		if (clock_monotonic() > end)
			fail_msg("it is not started again\nit said: %.4000s", said(b));
		usleep(5000);
	}
}

static void end(struct bench *b)
{
	int status;
	struct rusage used;
	kill(b->master, SIGTERM);
	assert_int_equal(wait4(b->master, &status, 0, &used), b->master);
	b->master = 0;
	/* Its children's time is in it. It takes no more than to start them, whatever they send. */
	assert_true(used.ru_utime.tv_sec + used.ru_stime.tv_sec < 5);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static const char *const names[] = {
    [WORKER] = "worker 0", [FILES] = "the files process", [PASSWORDS] = "the password process",
    [TRACER] = "the tracer", [ACME] = "the ACME process"};

/* why: what the master says of it. */
static void try(struct bench *b, enum victim victim, misdeed_function *misdeed, const char *why)
{
	char line[160];
	begin(b, victim, misdeed);
	snprintf(line, sizeof(line), "%s; it is killed\n", why);
	until_said(b, line);
	until_it_lives_again(b);
	until_said(b, victim == WORKER && misdeed == says_ready_for_ever ? "is up again" : " ready\n");
	end(b);
	const char *text = said(b);
	assert_int_equal(count(text, "it is killed"), 1);
	assert_int_equal(count(text, "was killed by signal 9 (Killed); it is started again in 0 ms"), 1);
	snprintf(line, sizeof(line), "%s (process ", names[victim]);
	assert_non_null(strstr(text, line));
	/* However much it has sent. */
	assert_true(count(text, "\n") < 20);
}

static const char CLOSED[] = "has closed its socket to the master";
static const char MALFORMED[] = "has sent the master a malformed message";
static const char FORBIDDEN[] = "has sent the master a message that it may not send";
static const char TWICE[] = "has said twice that it is ready";

/* What no kind of child may do. */
static const struct {
	misdeed_function *misdeed;
	const char *why;
} common[] = {
    {closes_its_socket, CLOSED},
    {ends_its_side, CLOSED},
    {is_ready_and_closes, CLOSED},
    {sends_nothing, CLOSED},
    {says_ready_for_ever, TWICE},
    {says_ready_twice, TWICE},
    {sends_a_byte, MALFORMED},
    {sends_too_little, MALFORMED},
    {sends_too_much, MALFORMED},
    {sends_much_too_much, MALFORMED},
    {gives_descriptors, MALFORMED},
    {gives_contents_of_many_files, MALFORMED},
    {gives_a_descriptor, FORBIDDEN},
    {sends_drain, FORBIDDEN},
    {sends_quit, FORBIDDEN},
    {sends_adopt, FORBIDDEN},
    {sends_files, FORBIDDEN},
    {sends_passwords, FORBIDDEN},
    {hands_what_nobody_asked_for, FORBIDDEN},
    {sends_remembered, FORBIDDEN},
    {sends_trace, FORBIDDEN},
    {sends_an_unknown_kind, FORBIDDEN},
};

static void try_all(struct bench *b, enum victim victim)
{
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (i == 0 || victim == WORKER || common[i].why != CLOSED) /* these take a second each */
			try(b, victim, common[i].misdeed, common[i].why);
}

static void worker_that_misbehaves_is_killed_and_started_again(void **state)
{
	/* covers: R230 */
	try_all(*state, WORKER);
	try(*state, WORKER, sends_content, FORBIDDEN);
	try(*state, WORKER, sends_contents_for_ever, FORBIDDEN);
}

static void files_process_that_misbehaves_is_killed_and_started_again(void **state)
{
	try_all(*state, FILES);
	try(*state, FILES, sends_contents_for_ever, "has sent the master too many messages");
}

static void password_process_that_misbehaves_is_killed_and_started_again(void **state)
{
	try_all(*state, PASSWORDS);
	try(*state, PASSWORDS, sends_content, FORBIDDEN);
}

static void tracer_that_misbehaves_is_killed_and_started_again(void **state)
{
	try_all(*state, TRACER);
	try(*state, TRACER, sends_content, FORBIDDEN);
}

static void acme_process_that_misbehaves_is_killed_and_started_again(void **state)
{
	try_all(*state, ACME);
	try(*state, ACME, sends_contents_for_ever, "has sent the master too many messages");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		worker_that_misbehaves_is_killed_and_started_again, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		files_process_that_misbehaves_is_killed_and_started_again, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		password_process_that_misbehaves_is_killed_and_started_again, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		tracer_that_misbehaves_is_killed_and_started_again, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		acme_process_that_misbehaves_is_killed_and_started_again, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
