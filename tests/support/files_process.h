/* SPDX-License-Identifier: MIT */
/* A files process whose master and workers are played by the test. Asserts that all calls succeed. */
#ifndef PUSHGATE_TESTS_FILES_PROCESS_H
#define PUSHGATE_TESTS_FILES_PROCESS_H

#include "proxy/process/files.h"
#include "proxy/process/helper.h"

enum { FILES_PROCESS_WORKERS = 2 };

struct files_process {
	struct conf *conf;               /* owned, as are the contents */
	struct files_contents contents;  /* what the master has kept */
	struct observe_remembered *rows; /* owned: a mapping that the process shares */
	uint64_t seed;                   /* helper_env.remembered_seed */
	int control, links[FILES_PROCESS_WORKERS]; /* the test's ends; -1: none */
	int said;                        /* the process's error log */
	pid_t process;                   /* 0: it does not run */
};

/* A configuration with a remembered-file, and this behind it. */
void files_process_init(struct files_process *p, const char *pages, const char *more);
/* Kills the process if it runs. */
void files_process_fini(struct files_process *p);
void files_process_start(struct files_process *p, bool is_first);
/* The master closes its end. Returns the exit status, or the negative number of a signal. */
int files_process_end(struct files_process *p);
/* Gives the process a worker, in place of the one of this number. */
void files_process_connect(struct files_process *p, uint32_t worker);

void write_text_file(const char *path, const char *text);

#endif
