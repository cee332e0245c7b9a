/* SPDX-License-Identifier: MIT */
#include "proxy/base/descriptor.h"
#include <errno.h>

bool descriptor_write_all(int fd, struct slice bytes)
{
	while (bytes.len > 0) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		slice_skip(&bytes, (size_t)n);
	}
	return true;
}
