/* SPDX-License-Identifier: MIT */
/*
 * Who the workers are: the configured user, looked up by the master (whose error messages are seen)
 * and taken on by each worker once it has read its certificates.
 */
#ifndef PUSHGATE_PROCESS_IDENTITY_H
#define PUSHGATE_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define IDENTITY_GROUPS 64

struct identity {
	const char *name; /* NULL = stay who we are */
	uid_t uid;
	gid_t gid;
	gid_t groups[IDENTITY_GROUPS];
	int group_count;
};

/* user may be NULL. False with a message when there is no such user, or we may not become it. */
bool identity_find(struct identity *i, const char *user, char *error, size_t error_size);
/* For good. False with a message. */
bool identity_assume(const struct identity *i, char *error, size_t error_size);

#endif
