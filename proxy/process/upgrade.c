/* SPDX-License-Identifier: MIT */
/* See upgrade.h. */
#include "proxy/process/upgrade.h"
#include "proxy/base/descriptor.h"
#include "proxy/process/child.h"
#include "proxy/process/identity.h"
#include "proxy/process/watchdog.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often the new one gets the counters of the old one. */
#define COUNTERS_USEC USEC_PER_SEC

void upgrade_init(struct upgrade *u, const struct start *start, struct observe *observe)
{
	*u = (struct upgrade){.start = start,
	    .observe = observe,
	    .keeper_hold = -1,
	    .socket = -1,
	    .deadline = USEC_NEVER};
	reload_askers_init(&u->askers);
}

static void fail(struct upgrade *u, enum process_status status, const char *why)
{
	descriptor_close(&u->socket);
	descriptor_close(&u->keeper_hold);
	u->phase = UPGRADE_NONE;
	u->deadline = USEC_NEVER;
	observe_log(u->observe, OBSERVE_ERROR, "upgrade: %s; this program goes on", why);
	reload_askers_tell(&u->askers, why);
	reload_askers_tell(&u->askers, "; the program that runs goes on\n");
	reload_askers_end(&u->askers, status);
}

static void give_up(struct upgrade *u, const char *why)
{
	fail(u, PROCESS_FAILED, why);
	/* The new one ends with it (PR_SET_PDEATHSIG). */
	if (u->keeper > 0)
		kill(u->keeper, SIGKILL);
}

void upgrade_fini(struct upgrade *u)
{
	if (u->phase == UPGRADE_UNDER_WAY)
		give_up(u, "pushgate ends");
	descriptor_close(&u->socket);
	descriptor_close(&u->keeper_hold);
	reload_askers_dismiss(&u->askers, "pushgate ends\n");
	reload_askers_close(&u->askers);
}

/* ---- the new process ---- */

static _Noreturn void become_program(const struct start *s, int socket, pid_t keeper)
{
	char number[16];
	sigset_t none;
	char *const arguments[] = {
	    s->program, (char[]){"run"}, (char[]){"-c"}, (char *)(uintptr_t)s->conf_path, NULL};
	child_die_with(keeper, SIGKILL);
	snprintf(number, sizeof(number), "%d", socket);
	setenv(HANDOVER_VARIABLE, number, 1);
	watchdog_pass_on();
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	identity_keep_on_exec();
	descriptor_keep_on_exec(socket);
	execvp(s->program, arguments);
	fprintf(stderr, "pushgate: cannot start %s: %s\n", s->program, strerror(errno));
	_exit(PROCESS_FAILED);
}

/* Ends as the new process has ended. */
static _Noreturn void end_alike(int status)
{
	const struct rlimit no_core = {0};
	sigset_t none;
	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &no_core);
	sigemptyset(&none);
	signal(WTERMSIG(status), SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	raise(WTERMSIG(status));
	_exit(PROCESS_FAILED);
}

/* hold: the keeper's end. SIGCHLD is blocked, as in the master. */
static _Noreturn void become_keeper(const struct start *s, int socket, int hold)
{
	sigset_t set;
	int status;
	pid_t keeper = getpid(), pid = fork();
	if (pid == 0)
		become_program(s, socket, keeper);
	if (pid < 0)
		_exit(PROCESS_FAILED);
	title_set(&s->title, "pushgate: starts another program");
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (dup2(hold, 0) != 0 || close_range(1, ~0u, 0) != 0)
		_exit(PROCESS_FAILED);
	struct pollfd fds[] = {
	    {.fd = 0, .events = POLLIN}, {.fd = signalfd(-1, &set, SFD_CLOEXEC), .events = POLLIN}};
	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			end_alike(status);
		char byte;
		if (poll(fds, 2, -1) <= 0 || !fds[0].revents)
			continue;
		if (read(0, &byte, 1) == 1)
			_exit(PROCESS_DONE);
		/* The master has died: the new one goes on, and ends with its parent. */
		fds[0].fd = -1;
	}
}

/* False with errno. */
static bool fork_keeper(struct upgrade *u)
{
	int pair[2], hold[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	bool is_held = pipe2(hold, O_CLOEXEC) == 0;
	fflush(NULL);
	pid_t keeper = is_held ? fork() : -1;
	int error = errno;
	if (keeper == 0) {
		close(hold[1]);
		become_keeper(u->start, pair[1], hold[0]);
	}
	close(pair[1]);
	if (is_held)
		close(hold[0]);
	if (keeper > 0) {
		u->keeper = keeper;
		u->keeper_hold = hold[1];
		u->socket = pair[0];
		return true;
	}
	if (is_held)
		close(hold[1]);
	close(pair[0]);
	errno = error;
	return false;
}

static void begin(struct upgrade *u, usec now)
{
	u->is_due = false;
	reload_askers_begin(&u->askers);
	if (getpid() == 1) {
		fail(u, PROCESS_FAILED, "a container ends with its first process, which this is");
		return;
	}
	if (!fork_keeper(u)) {
		fail(u, PROCESS_FAILED, strerrordesc_np(errno));
		return;
	}
	u->phase = UPGRADE_UNDER_WAY;
	u->has_greeted = false;
	u->pid = 0;
	u->given = 0;
	u->deadline = now + UPGRADE_USEC;
	observe_log(u->observe, OBSERVE_INFO, "upgrade: starting %s", u->start->program);
}

usec upgrade_run(struct upgrade *u, bool may_begin, usec now)
{
	if (u->is_due && may_begin && u->phase == UPGRADE_NONE && !u->keeper)
		begin(u, now);
	if (u->phase == UPGRADE_UNDER_WAY && now >= u->deadline)
		give_up(u, u->socket < 0 ? "the new program has closed its socket"
					 : "the new program is not ready in time");
	return u->phase == UPGRADE_OVER && u->socket >= 0 ? u->counters_at : u->deadline;
}

bool upgrade_died(struct upgrade *u, pid_t pid, int status)
{
	char how[128], text[192];
	bool is_bad = WIFEXITED(status) && WEXITSTATUS(status) == PROCESS_BAD_CONF;
	if (pid != u->keeper)
		return false;
	u->keeper = 0;
	snprintf(text, sizeof(text), "the new program %s", child_describe_end(status, how));
	if (u->phase == UPGRADE_UNDER_WAY)
		fail(u, is_bad ? PROCESS_BAD_CONF : PROCESS_FAILED, text);
	return true;
}

/* ---- messages ---- */

enum handover_heard upgrade_read(struct upgrade *u, usec now)
{
	enum handover_heard heard = handover_hear(u->socket, &u->pid);
	if (heard == HANDOVER_NOTHING)
		return heard;
	if (u->phase == UPGRADE_OVER && heard == HANDOVER_REOPEN)
		return heard;
	if (u->phase != UPGRADE_UNDER_WAY) {
		descriptor_close(&u->socket); /* it needs no counters any more */
		return HANDOVER_GONE;
	}
	if (heard == HANDOVER_HELLO)
		u->has_greeted = true;
	else if (heard == HANDOVER_GONE) {
		/* If it has ended, its exit status says more. */
		descriptor_close(&u->socket);
		u->deadline = clock_earlier(u->deadline, now + CONTROL_END_USEC);
	} else if (heard == HANDOVER_OTHER_VERSION)
		give_up(u, "the new program hands over in another way; a restart is needed");
	else if (heard == HANDOVER_BROKEN || heard == HANDOVER_REOPEN || !u->has_greeted)
		give_up(u, "the new program says what it may not");
	return u->phase == UPGRADE_UNDER_WAY ? heard : HANDOVER_NOTHING;
}

void upgrade_give(struct upgrade *u, const struct outfit *running, struct totals *counters)
{
	if (u->phase == UPGRADE_OVER) {
		/* If the socket does not take them now, it gets them a second later, or at the end. */
		(void)handover_give_counters(u->socket, counters);
		return;
	}
	if (!handover_give(u->socket, u->start, running, counters, u->given++))
		give_up(u, "the new program does not read");
}

void upgrade_end(struct upgrade *u, const struct outfit *running, usec now)
{
	char text[64];
	observe_log(
	    u->observe, OBSERVE_INFO, "upgrade: process %d serves; this one drains", (int)u->pid);
	snprintf(text, sizeof(text), "process %d serves\n", (int)u->pid);
	reload_askers_tell(&u->askers, text);
	reload_askers_end(&u->askers, PROCESS_DONE);
	u->is_due = false;
	reload_askers_dismiss(&u->askers, "another program has taken over; ask again\n");
	u->phase = UPGRADE_OVER;
	/* Checks may have ended since it has begun. */
	(void)handover_give_health(u->socket, running);
	(void)!write(u->keeper_hold, "", 1);
	descriptor_close(&u->keeper_hold);
	u->deadline = USEC_NEVER;
	u->counters_at = now;
}

bool upgrade_wants_counters(struct upgrade *u, usec now)
{
	if (u->phase != UPGRADE_OVER || u->socket < 0 || now < u->counters_at)
		return false;
	u->counters_at = now + COUNTERS_USEC;
	return true;
}
