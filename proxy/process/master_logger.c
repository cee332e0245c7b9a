/* SPDX-License-Identifier: MIT */
/* The logger as the master sees it. It belongs to no generation: the logs outlive them all. */
#include "proxy/base/memory.h"
#include "proxy/process/master.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME "the logger"
#define LOSES ": the lines that it has not written are lost"

static bool is_writing(const struct log *log)
{
	return log->hand && log->hand->writing > 0;
}

/*
 * To the file itself: the logger, which reads the pipe, is down or hangs. But where it has left lines
 * half written the next one goes on first; both logs may be one file.
 */
void master_log_directly(const struct master *m, const char *line)
{
	struct observe direct = m->observe;
	struct logs *logs = &m->start->logs;
	struct log *log = &logs->error;
	struct observe_file file = log_file(log, &m->observe.counters->error_lines_lost);
	if (log->file >= 0 && !is_writing(log) && !is_writing(&logs->access))
		direct.error_file = &file;
	else
		direct.error_fd = log->writes; /* -1 at the end: closed */
	observe_log(&direct, OBSERVE_ERROR, "%s", line);
}

bool master_logger_died(struct master *m, pid_t pid, int status)
{
	char how[128], line[192];
	if (pid != m->logger.pid)
		return false;
	m->logger.pid = 0;
	if (m->is_ending)
		return true;
	child_died(&m->logger, m->now);
	snprintf(
	    line, sizeof(line), NAME " %s; it is started again", child_describe_end(status, how));
	master_log_directly(m, line);
	return true;
}

/* As the user of the generation that runs: later ones may have another one. */
static void start_logger(struct master *m)
{
	const struct conf_server *server = &m->running->outfit.conf->server;
	free(m->logger_user);
	m->logger_user = server->user ? memory_strdup(server->user) : NULL;
	m->logger_sandbox = server->sandbox;
	master_start_logger(m);
}

usec master_run_logger(struct master *m)
{
	if (!m->logger.pid && m->now >= m->logger.start_at)
		start_logger(m);
	return m->logger.pid ? USEC_NEVER : m->logger.start_at;
}

/* It ends by itself when its last writers, the master among them, have closed the pipes. */
void master_end_logger(struct master *m)
{
	usec until = m->now + HELPER_END_USEC;
	m->is_ending = true;
	/* One that was killed has left lines to the next. */
	if (!m->logger.pid)
		start_logger(m);
	logs_close(&m->start->logs, LOGS_WRITERS | LOGS_SENDER | LOGS_READERS);
	while (m->logger.pid && m->now < until)
		master_wait_for_signal(m, until);
	free(m->logger_user);
	m->logger_user = NULL;
	if (!m->logger.pid)
		return;
	master_log_directly(m, NAME " did not end in time and is killed" LOSES);
	kill(m->logger.pid, SIGKILL);
}
