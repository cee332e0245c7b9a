/* SPDX-License-Identifier: MIT */
/* The files of proxy/admin/page/, which scripts/embed makes part of the program. Private to admin/. */
#ifndef PUSHGATE_ADMIN_PAGE_FILES_H
#define PUSHGATE_ADMIN_PAGE_FILES_H

#include <stddef.h>

struct admin_file {
	const char *name;
	const unsigned char *bytes;
	size_t length;
};
extern const struct admin_file admin_files[];
extern const size_t admin_file_count;

#endif
