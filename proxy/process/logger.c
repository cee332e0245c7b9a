/* SPDX-License-Identifier: MIT */
/*
 * The logger: copies what comes through the pipes into the files, as it is. It ends when the last
 * writer has gone; SIGUSR1 reopens the files; SIGUSR2 (the master died) lets it finish what is in
 * the pipes.
 */
#include "proxy/observe/observe.h"
#include "proxy/process/logs.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define COPY_BYTES 65536
/*
 * Reads of one pipe before the other and the signals have their turn; at the end, more than a pipe
 * holds.
 */
#define ROUNDS 32
#define LAST_ROUNDS 1024

/* After lines came: lets more gather before it reads again, which saves the writers a wake-up each.
 * Only behind a pipe that holds what comes meanwhile. */
#define GATHER_MSEC 1
#define GATHER_PIPE_BYTES (1 << 20)

struct logger {
	struct logs *logs;
	char buffer[COPY_BYTES];
};

static void complain(struct logger *g, const struct log *l)
{
	struct observe_counters counters = {0};
	struct observe o = {.counters = &counters,
	    .access_fd = -1,
	    .error_fd = g->logs->error.file,
	    .worker = OBSERVE_MASTER};
	observe_log(&o, OBSERVE_ERROR, "cannot write to the log %s: %s; lines are lost", l->path,
	    strerror(errno));
}

static void write_all(struct logger *g, struct log *l, const char *p, size_t left)
{
	while (left > 0) {
		ssize_t n = write(l->file, p, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* Standard output may be somebody's non-blocking pipe. */
			struct pollfd wait = {.fd = l->file, .events = POLLOUT};
			poll(&wait, 1, -1);
			continue;
		}
		if (n <= 0) {
			if (l->lost_bytes == 0)
				complain(g, l);
			l->lost_bytes += left;
			return;
		}
		l->lost_bytes = 0;
		p += n;
		left -= (size_t)n;
	}
}

/* Copies what is there, in at most `rounds` reads; behind the last writer the pipe is closed. */
static void copy(struct logger *g, struct log *l, unsigned rounds)
{
	while (rounds-- > 0 && l->reads >= 0) {
		ssize_t n = read(l->reads, g->buffer, sizeof(g->buffer));
		if (n > 0) {
			write_all(g, l, g->buffer, (size_t)n);
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		close(l->reads);
		l->reads = -1;
	}
}

static int watch_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
	/* A terminal's Ctrl-C is for the master: the logger still has its last lines to write. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* False: the master has gone. */
static bool obey_signals(struct logger *g, int signals)
{
	struct signalfd_siginfo info;
	bool goes_on = true;
	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			logs_reopen(g->logs);
		else
			goes_on = false;
	}
	return goes_on;
}

static bool is_roomy(const struct log *l)
{
	return l->reads < 0 || fcntl(l->reads, F_GETPIPE_SZ) >= GATHER_PIPE_BYTES;
}

/* Waits for lines or a signal, and copies. False: the master has gone. */
static bool turn(struct logger *g, int signals, bool may_gather)
{
	struct log *access = &g->logs->access, *error = &g->logs->error;
	struct pollfd fds[] = {
	    {.fd = signals, .events = POLLIN},
	    {.fd = access->reads, .events = POLLIN},
	    {.fd = error->reads, .events = POLLIN},
	};
	if (poll(fds, 3, -1) < 0)
		return true;
	if (fds[1].revents)
		copy(g, access, ROUNDS);
	if (fds[2].revents)
		copy(g, error, ROUNDS);
	if (may_gather && !fds[0].revents && access->reads >= 0)
		poll(fds, 1, GATHER_MSEC);
	return !fds[0].revents || obey_signals(g, signals);
}

void logger_run(struct logs *l, pid_t master)
{
	struct logger g = {.logs = l};
	int signals = watch_signals();
	prctl(PR_SET_NAME, "pushgate-log");
	prctl(PR_SET_PDEATHSIG, SIGUSR2);
	bool goes_on = signals >= 0 && getppid() == master;
	bool may_gather = is_roomy(&l->access) && is_roomy(&l->error);
	while (goes_on && (l->access.reads >= 0 || l->error.reads >= 0))
		goes_on = turn(&g, signals, may_gather);
	copy(&g, &l->access, LAST_ROUNDS);
	copy(&g, &l->error, LAST_ROUNDS);
	close(signals);
}
