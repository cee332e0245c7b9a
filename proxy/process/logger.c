/* SPDX-License-Identifier: MIT */
/*
 * The logger copies lines from the pipes to the log files, unchanged, and receives reopened files
 * from the master. It ends when all writers have closed their pipes. When the master dies the
 * kernel sends SIGUSR2 (PR_SET_PDEATHSIG): the logger then copies what is in the pipes and ends.
 * Its sandbox lets it open no file.
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
 * Reads of one pipe before the logger looks at the other pipe and the signals. The last copy reads
 * more than a pipe can hold.
 */
#define READS_PER_PASS 32
#define READS_AT_END 1024

/*
 * After a read the logger waits this long, so that several lines gather and it wakes up less often.
 * It does so only when the pipes are large enough to hold the lines of that time.
 */
#define GATHER_MSEC 1
#define GATHER_PIPE_BYTES (1 << 20)

struct logger {
	struct logs *logs;
	int signals;
	bool may_gather;
	char buffer[COPY_BYTES];
};

static void log_error(const struct logs *l, const char *text)
{
	struct observe_counters counters = {0};
	struct observe o = {.counters = &counters,
	    .access_fd = -1,
	    .error_fd = l->error.file,
	    .is_journal = l->error.is_journal,
	    .worker = OBSERVE_MASTER};
	observe_log(&o, OBSERVE_ERROR, "%s", text);
}

static void log_lost_lines(const struct logger *g, const struct log *l)
{
	char text[512];
	snprintf(text, sizeof(text), "cannot write to the log %s: %s; lines are lost", l->path,
	    strerror(errno));
	log_error(g->logs, text);
}

static void write_all(struct logger *g, struct log *l, const char *p, size_t left)
{
	while (left > 0) {
		ssize_t n = write(l->file, p, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/*
			 * Standard output may be a non-blocking pipe: wait until it accepts more.
			 */
			struct pollfd wait = {.fd = l->file, .events = POLLOUT};
			poll(&wait, 1, -1);
			continue;
		}
		if (n <= 0) {
			if (l->lost_bytes == 0)
				log_lost_lines(g, l);
			l->lost_bytes += left;
			return;
		}
		l->lost_bytes = 0;
		p += n;
		left -= (size_t)n;
	}
}

/* Copies waiting lines in at most `reads` reads. Closes the pipe when its last writer has gone. */
static void copy(struct logger *g, struct log *l, unsigned reads)
{
	while (reads-- > 0 && l->reads >= 0) {
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
	/*
	 * The master handles a terminal's Ctrl-C; the logger must live on to write the last lines.
	 */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool pipe_can_gather(const struct log *l)
{
	return l->reads < 0 || fcntl(l->reads, F_GETPIPE_SZ) >= GATHER_PIPE_BYTES;
}

/* Waits for lines, reopened files or the signal, and copies. False: the master has died. */
static bool run_pass(struct logger *g)
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
		logs_receive_files(g->logs);
	if (fds[2].revents)
		copy(g, access, READS_PER_PASS);
	if (fds[3].revents)
		copy(g, error, READS_PER_PASS);
	if (g->may_gather && !fds[0].revents && access->reads >= 0)
		poll(fds, 1, GATHER_MSEC);
	return !fds[0].revents;
}

static void copy_all(struct logger *g)
{
	struct log *access = &g->logs->access, *error = &g->logs->error;
	bool master_lives = true;
	while (master_lives && (access->reads >= 0 || error->reads >= 0))
		master_lives = run_pass(g);
	copy(g, access, READS_AT_END);
	copy(g, error, READS_AT_END);
}

/*
 * Becomes its user, asks for a signal at the master's death (a change of user clears that), enters
 * the sandbox.
 */
static bool become_logger(const struct logger_env *env, char *error, size_t error_size)
{
	if (!identity_assume(env->identity, error, error_size))
		return false;
	prctl(PR_SET_PDEATHSIG, SIGUSR2);
	if (getppid() != env->master) /* the master died before the prctl */
		kill(getpid(), SIGUSR2);
	return sandbox_enter(SANDBOX_LOGGER | SANDBOX_BUILD, env->sandbox, error, error_size);
}

bool logger_run(const struct logger_env *env)
{
	struct logs *l = env->logs;
	struct logger g = {.logs = l,
	    .signals = watch_signals(),
	    .may_gather = pipe_can_gather(&l->access) && pipe_can_gather(&l->error)};
	char error[512];
	prctl(PR_SET_NAME, "pushgate-log");
	if (g.signals < 0 || !become_logger(env, error, sizeof(error))) {
		log_error(l, g.signals < 0 ? "the logger cannot watch signals" : error);
		return false;
	}
	copy_all(&g);
	close(g.signals);
	return true;
}
