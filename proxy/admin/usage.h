/* SPDX-License-Identifier: MIT */
/* What a process uses of the machine, as /proc tells (proc(5)). */
#ifndef PUSHGATE_ADMIN_USAGE_H
#define PUSHGATE_ADMIN_USAGE_H

#include "proxy/base/clock.h"
#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

struct process_usage {
	usec started; /* since 1970; 0: nothing is known */
	usec cpu;
	uint64_t resident_bytes, virtual_bytes;
	/* The system tells an unprivileged master nothing of the descriptors of its workers, which protect their memory:
	 * 0 then. */
	uint64_t open_fds, max_fds;
};

/* When the machine was started, in time since 1970. The system sums up much for the file that says so: ask once. */
usec process_boot_time(void);
/* For a process that may open no files later on: those that it will read. */
struct process_files {
	int stat;
	DIR *fds;
	uint64_t max_fds;
	bool is_own; /* of this process */
};
void process_files_open(
    struct process_files *f, pid_t pid); /* without an error: less is known then */
struct process_usage process_files_read(const struct process_files *f, usec boot_time);
void process_files_close(struct process_files *f);
/* At once. All 0 if there is no such process. */
struct process_usage process_usage_read(pid_t pid, usec boot_time);

#endif
