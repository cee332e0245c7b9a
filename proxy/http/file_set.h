/* SPDX-License-Identifier: MIT */
/*
 * A set of small files by name, with what a response says of them. It is one run of bytes without pointers, so that
 * another process can use it as it is.
 */
#ifndef PUSHGATE_HTTP_FILE_SET_H
#define PUSHGATE_HTTP_FILE_SET_H

#include "proxy/base/arena.h"

#define HTTP_FILE_TAG_BYTES 32
struct http_file {
	struct slice name; /* "a/b.html": the path below the folder, as the file system has it */
	struct slice type; /* its media type */
	struct slice body;
	uint64_t modified_sec;         /* since the epoch */
	char tag[HTTP_FILE_TAG_BYTES]; /* entity tag, in its quotes; with a NUL */
};

/* Sorts the files by name, and makes the set of them; the arena owns its bytes, which are aligned for any type. */
struct slice http_file_set_make(struct arena *arena, struct http_file *files, size_t count);
/* False: it has no file of this name. *file borrows the bytes of the set, which may be empty. */
bool http_file_set_find(struct slice set, struct slice name, struct http_file *file);
/* The media type by the ending of the name; never NULL. */
const char *http_file_type(struct slice name);

#endif
