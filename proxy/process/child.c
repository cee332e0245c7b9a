/* SPDX-License-Identifier: MIT */
/* See child.h. */
#include "proxy/process/child.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the master waits after a failed fork before it tries again. */
#define FORK_AGAIN_USEC USEC_PER_SEC

/* ---- in the master ---- */

void child_init(struct child *c)
{
	*c = (struct child){0};
	control_init(&c->control);
}

pid_t child_fork(struct child *c, bool is_told, struct observe *o, usec now, int *socket)
{
	int pair[2] = {-1, -1};
	c->start_at = now + FORK_AGAIN_USEC;
	if (is_told && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		observe_log(o, OBSERVE_ERROR, "cannot make a socketpair: %s", strerror(errno));
		return -1;
	}
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		observe_log(o, OBSERVE_ERROR, "cannot fork: %s", strerror(errno));
	if (is_told && pid <= 0)
		close(pair[0]);
	if (is_told && pid != 0)
		close(pair[1]);
	*socket = pair[1];
	if (pid <= 0)
		return pid;
	c->pid = pid;
	c->started = now;
	c->starts++;
	control_open(&c->control, pair[0]);
	return pid;
}

usec child_died(struct child *c, usec now)
{
	usec wait = backoff_after_death(&c->backoff, now - c->started);
	c->start_at = now + wait;
	return wait;
}

const char *child_describe_end(int status, char buffer[128])
{
	if (WIFSIGNALED(status))
		snprintf(buffer, 128, "was killed by signal %d (%s)%s%s", WTERMSIG(status),
		    strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "",
		    WTERMSIG(status) == SIGSYS ? ": a system call that its sandbox forbids" : "");
	else
		snprintf(buffer, 128, "exited with status %d", WEXITSTATUS(status));
	return buffer;
}

/* ---- in the child ---- */

void child_set_signals(int handled, bool is_watched)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE};
	/* First: the master has them blocked, and one may wait already. */
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i] != handled)
			signal(signals[i], SIG_IGN);
	sigset_t blocked;
	sigemptyset(&blocked);
	if (is_watched)
		sigaddset(&blocked, handled);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

void child_die_with(pid_t master, int signal)
{
	prctl(PR_SET_PDEATHSIG, signal);
	if (getppid() != master) /* it died before the call */
		kill(getpid(), signal);
}

void child_report_failure(struct observe *o, const struct log *error_log, const char *error)
{
	observe_log(o, OBSERVE_ERROR, "%s", error);
	if (!error_log->path || strcmp(error_log->path, "-") != 0)
		fprintf(stderr, "pushgate: %s\n", error);
}
