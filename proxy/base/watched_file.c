/* SPDX-License-Identifier: MIT */
/* See watched_file.h. */
#include "proxy/base/watched_file.h"

#include "proxy/base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool watched_file_has_changed(struct watched_file *f)
{
	struct stat now = {0};
	if (!f->path)
		return false;
	if (stat(f->path, &now) != 0)
		now = (struct stat){0};
	if (f->is_known && is_same(&f->seen, &now))
		return false;
	f->is_known = true;
	f->seen = now;
	return true;
}

char *watched_file_read(const struct watched_file *f, size_t most, size_t *length)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	const size_t room = most + 1;
	char *bytes = memory_alloc(room);
	ssize_t n = 1;
	for (*length = 0; n > 0 && *length < room; *length += (size_t)n) {
		n = read(fd, bytes + *length, room - *length);
		if (n < 0)
			break;
	}
	int error = errno;
	close(fd);
	errno = error;
	if (n >= 0)
		return bytes;
	free(bytes);
	return NULL;
}
