/* SPDX-License-Identifier: MIT */
/* See helper.h. */
#include "proxy/process/helper.h"

#include "proxy/base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void helper_ignore_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE};
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

bool helper_is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

char *helper_read_file(const char *path, size_t most, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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
