/* SPDX-License-Identifier: MIT */
/*
 * The log files, the pipes in front of them, and the logger process between both. The logger may open no
 * file: the master reopens one and sends its descriptor. Single mode writes to the files itself.
 */
#ifndef PUSHGATE_PROCESS_LOGS_H
#define PUSHGATE_PROCESS_LOGS_H

#include "proxy/conf/conf.h"
#include "proxy/observe/observe.h"
#include <sys/types.h>

struct log {
	const char *path;      /* "-" = standard output or error; NULL = off */
	int folder;            /* of the path, as it was at the start; -1 = none */
	int file;              /* opened for appending; -1 = off */
	int reads, writes;     /* the pipe; -1 = none */
	bool is_secret;        /* only its owner may read the file */
	bool is_torn;          /* a last line without its end was in the file at the start */
	bool is_journal;       /* the file is systemd's journal (systemd.exec(5), JOURNAL_STREAM) */
	struct log_hand *hand; /* NULL = no logger */
	struct observe_loss loss; /* without a logger */
};

/*
 * Bytes that the logger has read from a pipe and not written yet, in memory that the next logger inherits:
 * a logger that is killed loses no line and leaves none torn. The bytes behind them are 0.
 */
#define LOG_HAND_BYTES 65536u
struct log_hand {
	struct observe_progress progress;
	struct observe_loss loss;
	_Atomic size_t length;  /* bytes that are known to have been read */
	_Atomic size_t writing; /* of these, whole lines that are being written; 0 = none */
	bool is_torn;           /* the file's last line has no end */
	char bytes[LOG_HAND_BYTES];
};

struct logs {
	struct log access, error, keys; /* keys: the secrets of TLS sessions (keylog-file) */
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
/* Makes the pipes, the hands and the socketpair to the logger. False with a message. */
bool logs_make_pipes(struct logs *l, char *error, size_t error_size);
/*
 * Reopens the files after a rotation has moved them, in the folders of the start, and sends them to
 * the logger if there is one. When that fails the old file stays open, and the error log says so.
 */
void logs_reopen(struct logs *l);
/* For the logger: receives reopened files from the master. */
void logs_receive_files(struct logs *l);
/* For the process that writes the file itself, and counts its lost lines in *lost. Borrows both. */
struct observe_file log_file(struct log *l, uint64_t *lost);
/* The descriptor to write log lines to: the pipe if there is one, else the file. */
int log_target(const struct log *l);
/* Fills in o for a process that writes to the error log alone. worker: OBSERVE_MASTER …. Borrows both. */
void logs_observe(
    const struct logs *l, struct observe *o, struct observe_counters *counters, uint32_t worker);

enum logs_part {
	LOGS_READERS = 1, /* of the pipes, with the hands and the logger's end of the socketpair */
	LOGS_WRITERS = 2,
	LOGS_SENDER = 4, /* the master's end of the socketpair */
	LOGS_FILES = 8,
	LOGS_FOLDERS = 16,
	LOGS_ALL = 31,
	/* A child that only writes lines reopens no file, and sends none; the logger reopens none. */
	LOGS_NOT_OF_WRITERS = LOGS_ALL & ~LOGS_WRITERS,
	LOGS_NOT_OF_LOGGER = LOGS_WRITERS | LOGS_SENDER | LOGS_FOLDERS,
};
/* Closes these parts (enum logs_part), of both logs. */
void logs_close(struct logs *l, unsigned parts);

struct helper_env;

/*
 * Runs the logger in its own process until every writer has closed its pipe or the master has died. Returns its exit
 * status; if that is not 0 the error log says why it could not start.
 */
int logger_run(const struct helper_env *env);

#endif
