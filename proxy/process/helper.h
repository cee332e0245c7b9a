/* SPDX-License-Identifier: MIT */
/* What the files process and the password process have in common: signals, and small files that may change. */
#ifndef PUSHGATE_PROCESS_HELPER_H
#define PUSHGATE_PROCESS_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* A terminal sends its signals to all processes: the master decides what they mean. */
void helper_ignore_signals(void);
/* Whether both are the same version of a file. Zeros stand for a file that is not there. */
bool helper_is_same_file(const struct stat *a, const struct stat *b);
/* Reads a file of at most so many bytes; *length `most` + 1 says that it has more. Returns bytes that the caller
 * frees, or NULL with errno. */
char *helper_read_file(const char *path, size_t most, size_t *length);

#endif
