/* SPDX-License-Identifier: MIT */
/* A small file that may change: whether it has, and its bytes. */
#ifndef PUSHGATE_BASE_WATCHED_FILE_H
#define PUSHGATE_BASE_WATCHED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct watched_file {
	const char *path; /* borrowed; NULL: there is nothing to read */
	bool is_known;    /* it was looked for */
	struct stat seen; /* the version that was there last; zeros: there was none */
};

/* The result of a check. After UNUSABLE the content that was read before stays in use. */
enum watched_change { WATCHED_SAME, WATCHED_READ, WATCHED_UNUSABLE };

/* Whether the file has changed since the last call, or was never looked for. */
bool watched_file_has_changed(struct watched_file *f);
/*
 * Reads at most so many bytes; *length `most` + 1 says that there are more. Returns bytes that the caller frees, or
 * NULL with errno.
 */
char *watched_file_read(const struct watched_file *f, size_t most, size_t *length);

#endif
