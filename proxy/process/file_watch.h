/* SPDX-License-Identifier: MIT */
/*
 * Whether files that a configuration names have changed since they were read (watch-files). A program that renews a
 * certificate writes several files: they have changed when all of them rest.
 */
#ifndef PUSHGATE_PROCESS_FILE_WATCH_H
#define PUSHGATE_PROCESS_FILE_WATCH_H

#include "proxy/base/clock.h"
#include "proxy/base/watched_file.h"

/* From look to look; files that have not changed between two looks rest. */
#define FILE_WATCH_USEC USEC_PER_SEC
/* After so many looks that have each seen a change the files are taken as they are. */
#define FILE_WATCH_RESTLESS 5

/* Zeroed: the next call looks. */
struct file_watch {
	usec look_at;
	uint32_t changes; /* looks in a row that have seen a change */
};

/* Looks if it is time. True: files have changed, and are to be read. */
bool file_watch_run(struct file_watch *w, struct watched_file *files, size_t count, usec now);

#endif
