/* SPDX-License-Identifier: MIT */
/*
 * The log files, the pipes in front of them, and the logger process between both. The logger may
 * open no file: the master reopens a file and sends its descriptor. Single mode has no logger; it
 * writes lines directly to the files.
 */
#ifndef PUSHGATE_PROCESS_LOGS_H
#define PUSHGATE_PROCESS_LOGS_H

#include "proxy/conf/conf.h"
#include "proxy/process/identity.h"
#include <sys/types.h>

struct log {
	const char *path;    /* "-" = standard output or error; NULL = off */
	int folder;          /* of the path, as it was at the start; -1 = none */
	int file;            /* opened for appending; -1 = off */
	int reads, writes;   /* the pipe; -1 = none */
	uint64_t lost_bytes; /* since the last successful write */
	bool is_journal;     /* the file is systemd's journal (systemd.exec(5), JOURNAL_STREAM) */
};

struct logs {
	struct log access, error;
	int fd_sender,
	    fd_receiver; /* a socketpair from master to logger, for files; -1 = no logger */
};

/* The initial value: no file is open. */
extern const struct logs logs_none;
/*
 * Opens the files: regular ones, FIFOs that a process reads, and character devices. A symbolic link is
 * refused, at the start and later. False with a message.
 */
bool logs_open(struct logs *l, const struct conf_server *conf, char *error, size_t error_size);
/* Makes the pipes and the socketpair to the logger. False with a message. */
bool logs_make_pipes(struct logs *l, char *error, size_t error_size);
/*
 * Reopens the files after a rotation has moved them, in the folders of the start, and sends them to
 * the logger if there is one. When that fails the old file stays open, and the error log says so.
 */
void logs_reopen(struct logs *l);
/* For the logger: receives reopened files from the master. */
void logs_receive_files(struct logs *l);
/* The descriptor to write log lines to: the pipe if there is one, else the file. */
int log_target(const struct log *l);
void logs_close_readers(struct logs *l);
void logs_close_writers(struct logs *l);
void logs_close_sender(struct logs *l);  /* a worker sends no files */
void logs_close_folders(struct logs *l); /* the logger reopens nothing */
void logs_close_files(struct logs *l);   /* and their folders */

struct logger_env {
	struct logs *logs; /* borrowed, as is identity */
	const struct identity *identity;
	enum conf_sandbox sandbox;
	pid_t master;
};

/*
 * Runs the logger in its own process until every writer has closed its pipe or the master has died.
 * False: the logger could not start, and the error log says why.
 */
bool logger_run(const struct logger_env *env);

#endif
