/* SPDX-License-Identifier: MIT */
/*
 * The log files, the pipes in front of them, and the logger process in between. In single mode
 * there is no logger: lines are written to the files directly.
 */
#ifndef PUSHGATE_PROCESS_LOGS_H
#define PUSHGATE_PROCESS_LOGS_H

#include "proxy/conf/conf.h"
#include <sys/types.h>

struct log {
	const char *path;    /* "-" = standard output or error; NULL = off */
	int file;            /* appends; -1 = off */
	int reads, writes;   /* the pipe; -1 = none */
	uint64_t lost_bytes; /* since the last write that went well */
};

struct logs {
	struct log access, error;
};

/* Opens the files. False with a message. */
bool logs_open(struct logs *l, const struct conf_server *conf, char *error, size_t error_size);
/* Pipes for a logger. False with a message. */
bool logs_make_pipes(struct logs *l, char *error, size_t error_size);
/*
 * Opens the files once more (they were moved away); the old one stays when that fails, and the
 * error log says so.
 */
void logs_reopen(struct logs *l);
/* What a process writes to: the pipe, else the file. */
int log_target(const struct log *l);
void logs_close_readers(struct logs *l);
void logs_close_writers(struct logs *l);
void logs_close_files(struct logs *l);

/*
 * The logger's whole life, in its own process: returns when every writer has gone, or its master.
 */
void logger_run(struct logs *l, pid_t master);

#endif
