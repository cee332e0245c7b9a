/* SPDX-License-Identifier: MIT */
/* A file descriptor that may be none, which is -1. */
#ifndef PUSHGATE_BASE_DESCRIPTOR_H
#define PUSHGATE_BASE_DESCRIPTOR_H

#include "proxy/base/slice.h"
#include <fcntl.h>
#include <unistd.h>

static inline void descriptor_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Whether a program that execve(2) starts has it. */
static inline void descriptor_close_on_exec(int fd)
{
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}
static inline void descriptor_keep_on_exec(int fd)
{
	(void)fcntl(fd, F_SETFD, 0);
}

/* Writes to a blocking descriptor. False, with errno: not all is written. */
bool descriptor_write_all(int fd, struct slice bytes);

#endif
