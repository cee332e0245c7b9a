/* SPDX-License-Identifier: MIT */
/*
 * The user and the capabilities of each process (capabilities(7)). The master looks up the user, as an
 * operator sees its messages. Each worker becomes that user after it has read its keys.
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
 * Looks up the user to run as (borrowed). NULL: root becomes `pushgate` or `nobody`, any other stays. False
 * with a message: the user does not exist, or this process may not become it.
 */
bool identity_find(struct identity *i, const char *user, char *error, size_t error_size);
/* The configuration asks for workers that stay root. */
bool identity_is_root(const struct identity *i);
/*
 * For the master, after it has bound its sockets and opened its logs: permanently drops all capabilities
 * but those for starting and ending workers. False with a message.
 */
bool identity_limit(char *error, size_t error_size);
/* For a worker or a helper: permanently becomes the user, without any capability. False with a message. */
bool identity_assume(const struct identity *i, char *error, size_t error_size);

/* In the master, before it starts another program that is a master too: a user who is not root has lost his capabilities
 * otherwise. */
void identity_keep_on_exec(void);

#endif
