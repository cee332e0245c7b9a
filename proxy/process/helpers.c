/* SPDX-License-Identifier: MIT */
/*
 * The master's helper processes: the logger, and the files process if the configuration names files that may
 * change; password_helper.c has the third. A helper that dies is started again, and costs no more than what it had in
 * hand.
 */
#include "proxy/process/master.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a helper may take to end: the logger to write what is in the pipes, the files process a table, the password
 * process to end a hash. */
#define END_GRACE_USEC (2 * USEC_PER_SEC)
/* How long a worker that ends may wait for the files process to take a page of its table. */
#define LAST_PAGES_SECONDS 1
/* Until a worker's socket to the files process is tried again. */
#define LINK_AGAIN_USEC USEC_PER_SEC
/* Messages of the files process before the master looks at its other children. */
#define MESSAGES_AT_ONCE 64u

void master_helpers_init(struct master *m)
{
	control_init(&m->files.control);
	control_init(&m->logger.control);
	m->files.start_at = m->logger.start_at = 0;
	m->files_wait_until = m->now + FILES_START_SECONDS * USEC_PER_SEC;
	master_passwords_init(m);
	files_contents_init(&m->start->contents, m->start->conf);
	if (!files_are_needed(m->start->conf)) {
		m->files.start_at = USEC_NEVER;
		m->files_was_ready = true;
	}
}

void master_helpers_fini(struct master *m)
{
	master_end_passwords(m);
	control_close(&m->files.control);
	files_contents_fini(&m->start->contents);
}

/* ---- deaths ---- */

static bool is_writing(const struct log *log)
{
	return log->hand && log->hand->writing > 0;
}

/*
 * To the file itself: the logger, which reads the pipe, is down or hangs. But where it has left lines
 * half written the next one goes on first; both logs may be one file.
 */
static void log_directly(const struct master *m, enum observe_level level, const char *line)
{
	struct observe direct = m->observe;
	struct logs *logs = &m->start->logs;
	struct log *log = &logs->error;
	struct observe_file file = log_file(log, &m->observe.counters->error_lines_lost);
	if (log->file >= 0 && !is_writing(log) && !is_writing(&logs->access))
		direct.error_file = &file;
	else
		direct.error_fd = log->writes; /* -1 at the end: closed */
	observe_log(&direct, level, "%s", line);
}

static void logger_died(struct master *m, int status)
{
	char how[128], line[192];
	m->logger.pid = 0;
	if (m->phase == MASTER_ENDED)
		return;
	usec wait = backoff_after_death(&m->logger.backoff, m->now - m->logger.started);
	m->logger.start_at = m->now + wait;
	snprintf(line, sizeof(line), "the logger %s; it is started again",
	    master_describe_end(status, how, sizeof(how)));
	log_directly(m, OBSERVE_ERROR, line);
}

static void disconnect_files(struct master *m)
{
	control_close(&m->files.control);
	for (uint32_t i = 0; i < m->start->workers; i++)
		m->slots[i].has_files = false;
}

static void files_died(struct master *m, int status)
{
	char how[128];
	m->files.pid = 0;
	master_read_files(m);
	disconnect_files(m);
	if (m->phase == MASTER_ENDED) {
		if (status != 0)
			observe_log(&m->observe, OBSERVE_ERROR,
			    "the files process %s: what was learned since the last save is lost",
			    master_describe_end(status, how, sizeof(how)));
		return;
	}
	if (!master_may_start_workers(m) && WIFEXITED(status) &&
	    WEXITSTATUS(status) == FILES_CANNOT_START) {
		/* It has logged why, and another one would say the same: end. */
		m->files.start_at = USEC_NEVER;
		m->status = PROCESS_BAD_CONF;
		master_force(m);
		return;
	}
	usec wait = backoff_after_death(&m->files.backoff, m->now - m->files.started);
	m->files.start_at = m->now + wait;
	observe_log(&m->observe, OBSERVE_ERROR,
	    "the files process %s; it is started again in %llu ms",
	    master_describe_end(status, how, sizeof(how)),
	    (unsigned long long)(wait / USEC_PER_MSEC));
}

bool master_helper_died(struct master *m, pid_t pid, int status)
{
	if (pid == m->logger.pid)
		logger_died(m, status);
	else if (pid == m->files.pid)
		files_died(m, status);
	else if (pid == m->passwords.pid)
		master_passwords_died(m, status);
	else
		return false;
	return true;
}

/* ---- what the files process says ---- */

/*
 * The files process looks at its files every two seconds (FILES_CHECK_USEC), and sends each object at most once then, and
 * each of them once at its start.
 */
static struct rate contents_rate(const struct master *m)
{
	uint32_t objects = (uint32_t)m->start->contents.count;
	return (struct rate){.per_second = objects, .burst = 8 * objects};
}

void master_read_files(struct master *m)
{
	const struct rate rate = contents_rate(m);
	for (unsigned left = MESSAGES_AT_ONCE; left > 0; left--) {
		uint32_t object;
		int fd;
		enum control_heard heard =
		    control_hear(&m->files.control, &rate, m->now, &object, &fd);
		if (heard == CONTROL_NOTHING)
			return;
		if (heard == CONTROL_READY)
			m->files_was_ready = true;
		else if (fd >= 0)
			files_contents_set(&m->start->contents, object, fd);
		else
			m->observe.counters->files_unusable++;
	}
}

/* ---- connecting workers ---- */

/* Both ends never wait, but for the last pages of a worker that ends. */
static bool make_pair(int pair[2])
{
	const struct timeval wait = {.tv_sec = LAST_PAGES_SECONDS};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	return true;
}

bool master_connect_worker(
    struct master *m, const struct helper *helper, enum message_kind kind, uint32_t index)
{
	const struct message message = {
	    .kind = kind, .worker = index, .is_behind = m->slots[index].is_behind};
	int pair[2];
	if (!make_pair(pair))
		return false;
	/* A worker whose socket nobody serves sees its end, and a socket without a worker is closed. */
	bool is_sent = message_send(helper->control.socket, &message, pair[1]) &&
		       master_tell_worker(m, index, &message, pair[0]);
	close(pair[0]);
	close(pair[1]);
	return is_sent;
}

static usec connect_workers(struct master *m)
{
	usec next = USEC_NEVER;
	for (uint32_t i = 0; m->files.control.is_ready && i < m->start->workers; i++) {
		struct worker_slot *slot = &m->slots[i];
		if (slot->control.socket < 0 || slot->has_files)
			continue;
		slot->has_files = master_connect_worker(m, &m->files, MESSAGE_FILES, i);
		if (!slot->has_files)
			next = m->now + LINK_AGAIN_USEC;
	}
	return next;
}

/* ---- starts ---- */

bool master_may_start_workers(const struct master *m)
{
	return m->files_was_ready || m->files_is_late;
}

static void warn_of_late_files(struct master *m)
{
	if (master_may_start_workers(m) || m->now < m->files_wait_until)
		return;
	observe_log(&m->observe, OBSERVE_WARN,
	    "the files process has not read the configured files within %d s; the workers start "
	    "without them, and get them when it has",
	    FILES_START_SECONDS);
	m->files_is_late = true;
}

usec master_run_helpers(struct master *m)
{
	if (!m->logger.pid && m->now >= m->logger.start_at)
		master_start_logger(m);
	bool may_start_files = m->phase == MASTER_RUNNING && !m->files.pid;
	if (may_start_files && m->now >= m->files.start_at)
		master_start_files(m);
	warn_of_late_files(m);
	usec next = connect_workers(m), passwords = master_run_passwords(m);
	usec due = control_enforce(
	    &m->files.control, m->files.pid, "the files process", &m->observe, m->now);
	if (passwords < next)
		next = passwords;
	if (due < next)
		next = due;
	if (!m->logger.pid && m->logger.start_at < next)
		next = m->logger.start_at;
	if (may_start_files && !m->files.pid && m->files.start_at < next)
		next = m->files.start_at;
	if (!master_may_start_workers(m) && m->files_wait_until < next)
		next = m->files_wait_until;
	return next;
}

/* ---- the end ---- */

/* lost: what goes with a helper that has to be killed. */
static void wait_for_end(struct master *m, const struct helper *h, const char *lost)
{
	usec until = m->now + END_GRACE_USEC;
	while (h->pid && m->now < until) {
		struct pollfd fd = {.fd = m->signals, .events = POLLIN};
		poll(&fd, 1, (int)((until - m->now) / USEC_PER_MSEC) + 1);
		m->now = clock_monotonic();
		master_read_signals(m);
	}
	if (!h->pid)
		return;
	log_directly(m, OBSERVE_ERROR, lost);
	kill(h->pid, SIGKILL);
}

/*
 * All end by themselves: the password process and the files process when the master closes the control socket, the logger when its
 * last writers, these two and the master, have closed the pipes.
 */
void master_end_helpers(struct master *m)
{
	m->phase = MASTER_ENDED;
	master_end_passwords(m);
	disconnect_files(m);
	wait_for_end(m, &m->passwords, "the password process did not end in time and is killed");
	wait_for_end(m, &m->files,
	    m->start->conf->server.learned_file
		? "the files process did not end in time and is killed: what was learned since "
		  "the last save is lost"
		: "the files process did not end in time and is killed; it had nothing to save");
	/* One that was killed has left lines to the next. */
	if (!m->logger.pid)
		master_start_logger(m);
	logs_close_writers(&m->start->logs);
	logs_close_readers(&m->start->logs);
	wait_for_end(m, &m->logger,
	    "the logger did not end in time and is killed: the lines that it has not written are "
	    "lost");
}
