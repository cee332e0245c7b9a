/* SPDX-License-Identifier: MIT */
/* Opening and reopening log files, and their pipes. */
#include "proxy/process/logs.h"
#include "proxy/observe/observe.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Holds what a few seconds of a stalled disk leave behind. */
#define PIPE_BYTES (1 << 20)

static int open_file(const char *path, int standard)
{
	if (strcmp(path, "-") == 0)
		return fcntl(standard, F_DUPFD_CLOEXEC, 3);
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
}

static bool open_one(
    struct log *l, const char *path, int standard, const char *what, char *error, size_t error_size)
{
	*l = (struct log){.path = path, .file = -1, .reads = -1, .writes = -1};
	if (!path)
		return true;
	l->file = open_file(path, standard);
	if (l->file >= 0)
		return true;
	snprintf(error, error_size, "cannot open the %s log %s: %s", what, path, strerror(errno));
	return false;
}

bool logs_open(struct logs *l, const struct conf_server *conf, char *error, size_t error_size)
{
	l->access = (struct log){.file = -1, .reads = -1, .writes = -1};
	if (!open_one(&l->error, conf->error_log, STDERR_FILENO, "error", error, error_size))
		return false;
	if (open_one(&l->access, conf->access_log, STDOUT_FILENO, "access", error, error_size))
		return true;
	logs_close_files(l);
	return false;
}

static bool make_pipe(struct log *l)
{
	if (l->file < 0)
		return true;
	int fds[2];
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	/* Fails harmlessly where the system allows less. */
	(void)fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	l->reads = fds[0];
	l->writes = fds[1];
	return true;
}

bool logs_make_pipes(struct logs *l, char *error, size_t error_size)
{
	if (make_pipe(&l->access) && make_pipe(&l->error))
		return true;
	snprintf(error, error_size, "cannot make a pipe for the logs: %s", strerror(errno));
	return false;
}

int log_target(const struct log *l)
{
	return l->writes >= 0 ? l->writes : l->file;
}

static void reopen_one(struct log *l, struct log *complaints)
{
	if (!l->path || strcmp(l->path, "-") == 0)
		return;
	int fresh = open_file(l->path, -1);
	if (fresh >= 0) {
		/* In place, since others know the descriptor by its number. */
		dup3(fresh, l->file, O_CLOEXEC);
		close(fresh);
		return;
	}
	struct observe_counters counters = {0};
	struct observe o = {.counters = &counters,
	    .access_fd = -1,
	    .error_fd = complaints->file,
	    .worker = OBSERVE_MASTER};
	observe_log(&o, OBSERVE_ERROR, "cannot reopen the log %s: %s", l->path, strerror(errno));
}

void logs_reopen(struct logs *l)
{
	reopen_one(&l->error, &l->error);
	reopen_one(&l->access, &l->error);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void logs_close_readers(struct logs *l)
{
	close_fd(&l->access.reads);
	close_fd(&l->error.reads);
}

void logs_close_writers(struct logs *l)
{
	close_fd(&l->access.writes);
	close_fd(&l->error.writes);
}

void logs_close_files(struct logs *l)
{
	close_fd(&l->access.file);
	close_fd(&l->error.file);
}
