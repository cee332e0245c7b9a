/* SPDX-License-Identifier: MIT */
/*
 * The user and the capabilities of each process (capabilities(7)). The master looks up the user,
 * because an operator sees the master's error messages. Each worker becomes that user after it has
 * read its keys.
 */
#ifndef PUSHGATE_PROCESS_IDENTITY_H
#define PUSHGATE_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define IDENTITY_GROUPS 64

struct identity {
	const char *name; /* NULL = keep the present user, which is not root */
	uid_t uid;
	gid_t gid;
	gid_t groups[IDENTITY_GROUPS];
	int group_count;
};

/*
 * Looks up the user to run as. With user NULL, root becomes `pushgate` or `nobody`, and any other
 * user stays. False with a message when the user does not exist or this process may not become it.
 * Borrows user.
 */
bool identity_find(struct identity *i, const char *user, char *error, size_t error_size);
/* The configuration asks for workers that stay root. */
bool identity_is_root(const struct identity *i);
/*
 * For the master, after it has bound its sockets and opened its logs: permanently drops all
 * capabilities but those that it needs to start and end workers. False with a message.
 */
bool identity_limit(char *error, size_t error_size);
/*
 * For a worker or a helper: permanently becomes the user and drops all capabilities and every way
 * to regain one. False with a message.
 */
bool identity_assume(const struct identity *i, char *error, size_t error_size);

#endif
