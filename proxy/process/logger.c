/* SPDX-License-Identifier: MIT */
/*
 * The logger copies lines from the pipes to the log files, and receives reopened files from the master: its
 * sandbox lets it open none. Lost lines are counted (observe/file.c). It ends when all writers have closed
 * their pipes. When the master dies (SIGUSR2 by PR_SET_PDEATHSIG) it copies the rest and ends.
 */
#include "proxy/base/ensure.h"
#include "proxy/observe/observe.h"
#include "proxy/process/child.h"
#include "proxy/process/helper.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Reads of one pipe before the other one and the signals have their turn. The last copy reads more than a pipe holds. */
#define READS_PER_PASS 32
#define READS_AT_END 1024

/* A wait after a read lets lines gather: the logger wakes less often. The pipes must hold those of that time. */
#define GATHER_MSEC 1
#define GATHER_PIPE_BYTES (1 << 20)
/* While lines are being lost the logger looks this often whether it can tell that they no longer are. */
#define SETTLE_MSEC 1000

struct logger {
	struct logs *logs;
	struct observe observe;
	struct observe_file access, error, keys;
	int signals;
	bool may_gather;
};

/* ---- lines in hand ---- */

/* Zeroes the `writing` bytes behind those in hand, after as many before them were forgotten. */
static void end_forgetting(struct log_hand *h)
{
	memset(h->bytes + h->length, 0, h->writing);
	h->writing = 0;
}

/* Forgets the `writing` bytes. A logger that is killed in this function leaves bytes that the next one can finish. */
static void forget(struct log_hand *h)
{
	memmove(h->bytes, h->bytes + h->writing, h->length - h->writing);
	h->length -= h->writing;
	end_forgetting(h);
}

/* Writes the whole lines in hand; all that is in hand when no more will come, or there is no room. */
static void write_lines(struct logger *g, struct log_hand *h, struct observe_file *f, bool all)
{
	const char *end = memrchr(h->bytes, '\n', h->length);
	size_t bytes = end ? (size_t)(end - h->bytes) + 1 : 0;
	if (all || (bytes == 0 && h->length == LOG_HAND_BYTES))
		bytes = h->length;
	if (bytes == 0)
		return;
	h->progress.has_begun = false;
	h->progress.done = 0;
	h->writing = bytes;
	observe_file_write(&g->observe, f, h->bytes, bytes);
	forget(h);
}

/*
 * Goes on where a killed logger stopped: it may have had no time to note its last read. Less in hand
 * than is being written: it was killed in end_forgetting.
 */
static void resume(struct logger *g, struct log_hand *h, struct observe_file *f)
{
	if (h->writing > h->length)
		end_forgetting(h);
	size_t length = LOG_HAND_BYTES;
	while (length > h->length && h->bytes[length - 1] == 0)
		length--;
	h->length = length;
	if (h->writing > 0) {
		h->writing = observe_file_resume(f, h->bytes, h->writing);
		forget(h);
	}
	/* A read needs room, and a hand may be full. */
	write_lines(g, h, f, false);
}

/* Copies waiting lines in at most `reads` reads. Closes the pipe when its last writer has gone. */
static void copy(struct logger *g, struct log *l, struct observe_file *f, unsigned reads)
{
	struct log_hand *h = l->hand;
	ensure(h || l->reads < 0); /* each pipe has a hand */
	while (reads-- > 0 && l->reads >= 0) {
		ssize_t n = read(l->reads, h->bytes + h->length, LOG_HAND_BYTES - h->length);
		if (n > 0) {
			h->length += (size_t)n;
			write_lines(g, h, f, false);
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		close(l->reads);
		l->reads = -1;
	}
}

/* It outlives the signals that end the others, to write their last lines. */
static int watch_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	child_set_signals(SIGUSR2, true);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool pipe_can_gather(const struct log *l)
{
	return l->reads < 0 || fcntl(l->reads, F_GETPIPE_SZ) >= GATHER_PIPE_BYTES;
}

static void settle(struct logger *g, bool at_once)
{
	usec now = clock_monotonic();
	observe_file_settle(&g->observe, &g->keys, now, at_once);
	observe_files_settle(&g->observe, now, at_once);
}

/* Waits for lines, reopened files or the signal, and copies. False: the master has died. */
static bool run_pass(struct logger *g)
{
	struct log *access = &g->logs->access, *error = &g->logs->error, *keys = &g->logs->keys;
	struct pollfd fds[] = {
	    {.fd = g->signals, .events = POLLIN},
	    {.fd = g->logs->fd_receiver, .events = POLLIN},
	    {.fd = access->reads, .events = POLLIN},
	    {.fd = error->reads, .events = POLLIN},
	    {.fd = keys->reads, .events = POLLIN},
	};
	bool may_sleep = observe_files_work(&g->observe) && g->keys.loss->failure == 0;
	int ready = poll(fds, sizeof(fds) / sizeof(fds[0]), may_sleep ? -1 : SETTLE_MSEC);
	if (!may_sleep)
		settle(g, false);
	if (ready <= 0)
		return true;
	if (fds[1].revents)
		logs_receive_files(g->logs);
	if (fds[2].revents)
		copy(g, access, &g->access, READS_PER_PASS);
	if (fds[3].revents)
		copy(g, error, &g->error, READS_PER_PASS);
	if (fds[4].revents)
		copy(g, keys, &g->keys, READS_PER_PASS);
	if (g->may_gather && !fds[0].revents && access->reads >= 0)
		poll(fds, 1, GATHER_MSEC);
	return !fds[0].revents;
}

static void copy_rest(struct logger *g, struct log *l, struct observe_file *f)
{
	if (!l->hand)
		return;
	copy(g, l, f, READS_AT_END);
	write_lines(g, l->hand, f, true);
}

static void copy_all(struct logger *g)
{
	struct log *access = &g->logs->access, *error = &g->logs->error, *keys = &g->logs->keys;
	bool master_lives = true;
	if (access->hand)
		resume(g, access->hand, &g->access);
	if (error->hand)
		resume(g, error->hand, &g->error);
	if (keys->hand)
		resume(g, keys->hand, &g->keys);
	while (master_lives && (access->reads >= 0 || error->reads >= 0 || keys->reads >= 0))
		master_lives = run_pass(g);
	copy_rest(g, access, &g->access);
	copy_rest(g, error, &g->error);
	copy_rest(g, keys, &g->keys);
	settle(g, true);
}

static void open_file(struct observe_file *f, struct log *l, uint64_t *lost)
{
	*f = log_file(l, lost);
	f->may_wait = true;
	f->progress = l->hand ? &l->hand->progress : NULL;
}

static void init(struct logger *g, const struct helper_env *env)
{
	struct logs *l = env->logs;
	*g = (struct logger){.logs = l,
	    .signals = watch_signals(),
	    .may_gather = pipe_can_gather(&l->access) && pipe_can_gather(&l->error) &&
			  pipe_can_gather(&l->keys)};
	open_file(&g->access, &l->access, &env->counters->access_lines_lost);
	open_file(&g->error, &l->error, &env->counters->error_lines_lost);
	open_file(&g->keys, &l->keys, &env->counters->key_lines_lost);
	logs_observe(l, &g->observe, env->counters, OBSERVE_LOGGER);
	g->observe.access_file = l->access.file >= 0 ? &g->access : NULL;
	g->observe.error_file = l->error.file >= 0 ? &g->error : NULL;
}

int logger_run(const struct helper_env *env)
{
	struct logger g;
	char error[512];
	init(&g, env);
	prctl(PR_SET_NAME, "pushgate-log");
	if (g.signals < 0 || !helper_confine(env, SIGUSR2, SANDBOX_LOGGER, error, sizeof(error))) {
		observe_log(&g.observe, OBSERVE_ERROR, "%s",
		    g.signals < 0 ? "the logger cannot watch signals" : error);
		return EXIT_FAILURE;
	}
	copy_all(&g);
	close(g.signals);
	return 0;
}
