/* SPDX-License-Identifier: MIT */
/* A file descriptor that may be none, which is -1. */
#ifndef PUSHGATE_BASE_DESCRIPTOR_H
#define PUSHGATE_BASE_DESCRIPTOR_H

#include <unistd.h>

static inline void descriptor_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#endif
