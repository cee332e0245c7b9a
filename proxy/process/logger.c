/* SPDX-License-Identifier: MIT */
/*
 * The logger: copies what comes through the pipes into the files, as it is, and takes other files
 * from the master's hands. It ends when the last writer has gone; SIGUSR2 (the master died) lets it
 * finish what is in the pipes. It may open nothing and call little.
 */
#include "proxy/observe/observe.h"
#include "proxy/process/logs.h"
#include "proxy/process/sandbox.h"
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
	int signals;
	bool may_gather;
	char buffer[COPY_BYTES];
};

static void complain(const struct logs *l, const char *text)
{
	struct observe_counters counters = {0};
	struct observe o = {.counters = &counters,
	    .access_fd = -1,
	    .error_fd = l->error.file,
	    .is_journal = l->error.is_journal,
	    .worker = OBSERVE_MASTER};
	observe_log(&o, OBSERVE_ERROR, "%s", text);
}

static void complain_of_loss(const struct logger *g, const struct log *l)
{
	char text[512];
	snprintf(text, sizeof(text), "cannot write to the log %s: %s; lines are lost", l->path,
	    strerror(errno));
	complain(g->logs, text);
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
				complain_of_loss(g, l);
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
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
	/* A terminal's Ctrl-C is for the master: the logger still has its last lines to write. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool is_roomy(const struct log *l)
{
	return l->reads < 0 || fcntl(l->reads, F_GETPIPE_SZ) >= GATHER_PIPE_BYTES;
}

/* Waits for lines, files or the signal, and copies. False: the master has gone. */
static bool turn(struct logger *g)
{
	struct log *access = &g->logs->access, *error = &g->logs->error;
	struct pollfd fds[] = {
	    {.fd = g->signals, .events = POLLIN},
	    {.fd = g->logs->fd_receiver, .events = POLLIN},
	    {.fd = access->reads, .events = POLLIN},
	    {.fd = error->reads, .events = POLLIN},
	};
	if (poll(fds, 4, -1) < 0)
		return true;
	if (fds[1].revents)
		logs_take(g->logs);
	if (fds[2].revents)
		copy(g, access, ROUNDS);
	if (fds[3].revents)
		copy(g, error, ROUNDS);
	if (g->may_gather && !fds[0].revents && access->reads >= 0)
		poll(fds, 1, GATHER_MSEC);
	return !fds[0].revents;
}

static void copy_all(struct logger *g)
{
	struct log *access = &g->logs->access, *error = &g->logs->error;
	bool goes_on = true;
	while (goes_on && (access->reads >= 0 || error->reads >= 0))
		goes_on = turn(g);
	copy(g, access, LAST_ROUNDS);
	copy(g, error, LAST_ROUNDS);
}

/* Its user, the death of its master (which a change of user forgets), its sandbox. */
static bool become_logger(const struct logger_env *env, char *error, size_t error_size)
{
	if (!identity_assume(env->identity, error, error_size))
		return false;
	prctl(PR_SET_PDEATHSIG, SIGUSR2);
	if (getppid() != env->master) /* too late for that: the same by hand */
		kill(getpid(), SIGUSR2);
	return sandbox_enter(SANDBOX_LOGGER | SANDBOX_BUILD, env->sandbox, error, error_size);
}

bool logger_run(const struct logger_env *env)
{
	struct logs *l = env->logs;
	struct logger g = {.logs = l,
	    .signals = watch_signals(),
	    .may_gather = is_roomy(&l->access) && is_roomy(&l->error)};
	char error[512];
	prctl(PR_SET_NAME, "pushgate-log");
	if (g.signals < 0 || !become_logger(env, error, sizeof(error))) {
		complain(l, g.signals < 0 ? "the logger cannot watch signals" : error);
		return false;
	}
	copy_all(&g);
	close(g.signals);
	return true;
}
