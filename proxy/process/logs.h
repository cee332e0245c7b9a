/* SPDX-License-Identifier: MIT */
/*
 * The log files, the pipes in front of them, and the logger process in between. The logger may open
 * nothing: the master opens a file anew and hands over its descriptor. In single mode there is no
 * logger: lines are written to the files directly.
 */
#ifndef PUSHGATE_PROCESS_LOGS_H
#define PUSHGATE_PROCESS_LOGS_H

#include "proxy/conf/conf.h"
#include "proxy/process/identity.h"
#include <sys/types.h>

struct log {
	const char *path;    /* "-" = standard output or error; NULL = off */
	int file;            /* appends; -1 = off */
	int reads, writes;   /* the pipe; -1 = none */
	uint64_t lost_bytes; /* since the last write that went well */
	bool is_journal;     /* systemd reads it (systemd.exec(5), JOURNAL_STREAM) */
};

struct logs {
	struct log access, error;
	int fd_sender,
	    fd_receiver; /* a socketpair from master to logger, for files; -1 = no logger */
};

/* Nothing is open. */
extern const struct logs logs_none;
/* Opens the files. False with a message. */
bool logs_open(struct logs *l, const struct conf_server *conf, char *error, size_t error_size);
/* Pipes to a logger, and the socketpair. False with a message. */
bool logs_make_pipes(struct logs *l, char *error, size_t error_size);
/*
 * Opens the files once more (they were moved away), and hands them to the logger if there is one;
 * the old one stays when that fails, and the error log says so.
 */
void logs_reopen(struct logs *l);
/* The logger: takes what was handed over. */
void logs_take(struct logs *l);
/* What a process writes to: the pipe, else the file. */
int log_target(const struct log *l);
void logs_close_readers(struct logs *l);
void logs_close_writers(struct logs *l);
void logs_close_sender(struct logs *l); /* a worker writes lines, and hands over nothing */
void logs_close_files(struct logs *l);

struct logger_env {
	struct logs *logs; /* borrows both */
	const struct identity *identity;
	enum conf_sandbox sandbox;
	pid_t master;
};

/*
 * The logger's whole life, in its own process: returns when every writer has gone, or its master.
 * False: it could not begin, and the error log says why.
 */
bool logger_run(const struct logger_env *env);

#endif
