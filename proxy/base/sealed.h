/* SPDX-License-Identifier: MIT */
/*
 * Files that are read once, into memory that no process can change any more.
 *
 * A start reads the files of certificates, keys and authorities into one memory file (memfd_create(2)), seals it, and
 * looks for mistakes in that. Each worker begins with the same bytes, also one that starts when the files on the disk
 * have changed. A forked process inherits the memory file, and calls sealed_close when it needs it no more: a worker
 * when it has read its certificates.
 */
#ifndef PUSHGATE_BASE_SEALED_H
#define PUSHGATE_BASE_SEALED_H

#include "proxy/base/slice.h"

/* ---- a set of files, by their paths ---- */

/* A larger file was named by mistake. */
enum { SEALED_FILE_BYTES = 16 << 20 };

struct sealed;

struct sealed *sealed_new(void);
void sealed_free(struct sealed *s); /* accepts NULL */
/* Reads the file unless it was read before. Returns 0, or errno as it was when the file was read. */
int sealed_add(struct sealed *s, const char *path);
/* A piece of a file that is made of several: the bytes of a file, or (path NULL) a text. */
struct sealed_part {
	const char *path;
	struct slice text;
};
/* The same with a file of the set that is no file of the disk: all parts, one behind the other. */
int sealed_add_parts(
    struct sealed *s, const char *path, const struct sealed_part *parts, size_t count);
/* Nothing can be added or changed from now on, in no process. */
void sealed_seal(struct sealed *s);
/* A hash of the paths and the bytes of a sealed set, seeded. */
uint64_t sealed_digest(const struct sealed *s, uint64_t seed);
/* Whether the file of a sealed set has these bytes; by its digest, also when the set is closed. */
bool sealed_has(const struct sealed *s, const char *path, struct slice bytes);
/* The path of file number i; NULL: there are not so many. */
const char *sealed_path(const struct sealed *s, size_t i);
/* The memory file of a sealed set, for another process; -1: it was closed, or no file was read. */
int sealed_descriptor(const struct sealed *s);
/*
 * Exchanges the bytes of all files for those of a set that was filled with the same paths in the same order: fd is its
 * memory file. False: fd is none, or not sealed; the set stays as it was. Takes fd unless it returns false.
 */
bool sealed_replace(struct sealed *s, int fd);
/* All that read the set have taken its files. Until then a file that has changed counts as such over any number of
 * sealed_replace, since the bytes of an exchange that failed, or was overtaken, may not have been taken. */
void sealed_settle(struct sealed *s);
/* False: the file has the same bytes as before the first sealed_replace since the last sealed_settle. */
bool sealed_has_changed(const struct sealed *s, const char *path);
/* This process reads no file of the set any more. Accepts NULL; idempotent. */
void sealed_close(struct sealed *s);

/* The bytes of one file, mapped for reading. */
struct sealed_view {
	struct slice bytes;
};

/*
 * The bytes of a file, as the set has them; of one that the set has not, or without a set (NULL), those of the disk.
 * Returns 0 or errno; the caller closes the view.
 */
int sealed_view_open(const struct sealed *s, const char *path, struct sealed_view *v);
void sealed_view_close(struct sealed_view *v);

/* ---- single memory files ---- */

/* A sealed memory file with these bytes, or -1. */
int sealed_make(struct slice bytes);
/* One that is empty and not sealed yet, or -1. */
int sealed_begin(void);
/* No process can write it any more. */
bool sealed_end(int fd);
/*
 * The bytes of such a file, mapped; NULL unless it is sealed and has at most `most` bytes, and not 0. Does not close
 * fd. sealed_unmap frees them.
 */
void *sealed_map(int fd, size_t most, size_t *length);
void sealed_unmap(void *bytes, size_t length);

#endif
