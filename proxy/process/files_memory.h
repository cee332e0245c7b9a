/* SPDX-License-Identifier: MIT */
/*
 * The memory of pages (remembered/remembered.h) in the process that owns it: the files process, or in single mode the only
 * one. Its file, whole copies of it as sealed memory files, and its lines for `status`.
 */
#ifndef PUSHGATE_PROCESS_FILES_MEMORY_H
#define PUSHGATE_PROCESS_FILES_MEMORY_H

#include "proxy/conf/conf.h"
#include "proxy/observe/observe.h"
#include "proxy/remembered/remembered.h"

enum {
	/* Of the lines for a copy that go in one message, before the last of its pages: a worker takes them in within about a
	 * millisecond. */
	FILES_CHANGES_BYTES = 32 << 10,
};

/* The options of the process that owns the memory. */
struct remembered_options files_memory_options(const struct conf *conf);

/* Fills an empty memory with a file. A file that is missing is empty. False with a message, and the memory is empty. */
bool files_memory_read(
    struct remembered *m, const char *path, usec now, char *error, size_t error_size);
/* The same with a whole copy. */
bool files_memory_map(struct remembered *m, int fd, usec now, char *error, size_t error_size);
/* The whole memory as a sealed memory file; -1 with errno. round: another in each call, not 0. */
int files_memory_copy(struct remembered *m, uint32_t round, usec now);
/* Writes a whole copy into the file. False with a message, and the file stays as it was. */
bool files_memory_save(const char *path, int copy, char *error, size_t error_size);
/* A sealed memory file with lines of pages that have changed since then; -1: there are none, or errno is not 0. */
int files_memory_changes(struct remembered *m, uint64_t *since, usec now);
/* A worker's end: takes such lines into its copy. False: malformed. */
bool files_memory_follow(struct remembered *copy, int fd, usec now);
/* Writes the lines for `status` into shared memory. */
void files_memory_show(const struct remembered *m, struct observe_remembered *rows, usec now);

#endif
