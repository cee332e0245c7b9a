/* SPDX-License-Identifier: MIT */
/*
 * Who the processes are, and what they may do (capabilities(7)). The user is looked up by the
 * master, whose error messages are seen; each worker becomes it once it has read its keys.
 */
#ifndef PUSHGATE_PROCESS_IDENTITY_H
#define PUSHGATE_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define IDENTITY_GROUPS 64

struct identity {
	const char *name; /* NULL = stay who we are, which is not root */
	uid_t uid;
	gid_t gid;
	gid_t groups[IDENTITY_GROUPS];
	int group_count;
};

/*
 * user may be NULL: then root becomes `pushgate` or `nobody`, and anyone else stays. False with a
 * message when there is no such user, or we may not become it. Borrows user.
 */
bool identity_find(struct identity *i, const char *user, char *error, size_t error_size);
/* They asked to stay root. */
bool identity_is_root(const struct identity *i);
/*
 * The master's step, once it is bound and its logs are open: keeps the capabilities that making and
 * ending workers takes, for good. False with a message.
 */
bool identity_limit(char *error, size_t error_size);
/*
 * A worker's or the logger's step: the user, and no capability, nor a way to get one. For good.
 * False with a message.
 */
bool identity_assume(const struct identity *i, char *error, size_t error_size);

#endif
