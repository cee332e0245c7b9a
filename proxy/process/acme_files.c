/* SPDX-License-Identifier: MIT */
/* The files of acme-dir: each is written beside its place, made durable, and then takes the place (rename(2)). */
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/process/acme_helper.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* A key and a chain; a larger file is none of these. */
#define FILE_BYTES_MOST (1u << 20)
#define PATH_BYTES 4096u

/* A byte of the file is a lock; by descriptors, unlike the older locks of fcntl(2), which end with any close of the file. */
int acme_lock_take(const char *dir, enum acme_lock which, bool waits)
{
	char path[PATH_BYTES];
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = which, .l_len = 1};
	int taken;
	snprintf(path, sizeof(path), "%s/lock", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	do
		taken = fcntl(fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	while (taken != 0 && errno == EINTR);
	if (taken == 0)
		return fd;
	int error = errno == EACCES ? EAGAIN : errno;
	close(fd);
	errno = error;
	return -1;
}

/* Else a power failure could bring the old name back. */
static bool sync_folder(const char *path)
{
	char folder[PATH_BYTES];
	const char *end = strrchr(path, '/');
	snprintf(folder, sizeof(folder), "%.*s", end ? (int)(end - path) : 1, end ? path : ".");
	int fd = open(*folder ? folder : "/", O_RDONLY | O_CLOEXEC);
	bool is_synced = fd >= 0 && fsync(fd) == 0;
	int error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return is_synced;
}

/* Returns 0 or errno. */
static int write_aside(const char *aside, const struct slice *parts, size_t count)
{
	int fd = open(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool is_written = fd >= 0;
	for (size_t i = 0; i < count && is_written; i++)
		is_written = descriptor_write_all(fd, parts[i]);
	is_written = is_written && fsync(fd) == 0;
	int error = is_written ? 0 : errno;
	if (fd >= 0 && close(fd) != 0 && !error)
		error = errno;
	return error;
}

int acme_file_write(const char *path, const struct slice *parts, size_t count)
{
	char aside[PATH_BYTES];
	if (snprintf(aside, sizeof(aside), "%s.new", path) >= (int)sizeof(aside))
		return ENAMETOOLONG;
	unlink(aside); /* of a process that was killed */
	int error = write_aside(aside, parts, count);
	if (!error && rename(aside, path) != 0)
		error = errno;
	if (error) {
		unlink(aside);
		return error;
	}
	return sync_folder(path) ? 0 : errno;
}

char *acme_file_read(const char *path, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	char *text = memory_alloc(FILE_BYTES_MOST + 1);
	ssize_t n = 0;
	*length = 0;
	while (*length < FILE_BYTES_MOST &&
	       (n = read(fd, text + *length, FILE_BYTES_MOST - *length)) > 0)
		*length += (size_t)n;
	int error = n < 0 ? errno : 0;
	close(fd);
	text[*length] = '\0';
	if (!error)
		return text;
	explicit_bzero(text, *length);
	free(text);
	errno = error;
	return NULL;
}
