/* SPDX-License-Identifier: MIT */
/* Dropping privileges: groups, then group, then user, and a look whether there is a way back. */
#include "proxy/process/identity.h"
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool identity_find(struct identity *i, const char *user, char *error, size_t error_size)
{
	*i = (struct identity){.name = NULL};
	if (!user)
		return true;
	errno = 0;
	const struct passwd *entry = getpwnam(user);
	if (!entry) {
		snprintf(error, error_size, "cannot run as user %s: %s", user,
		    errno ? strerror(errno) : "there is no such user");
		return false;
	}
	uid_t me = geteuid();
	if (me != 0 && me == entry->pw_uid)
		return true;
	if (me != 0) {
		snprintf(error, error_size,
		    "cannot run as user %s: only root can become another user", user);
		return false;
	}
	i->name = user;
	i->uid = entry->pw_uid;
	i->gid = entry->pw_gid;
	i->group_count = IDENTITY_GROUPS;
	if (getgrouplist(user, entry->pw_gid, i->groups, &i->group_count) < 0) {
		snprintf(
		    error, error_size, "cannot run as user %s: it is in too many groups", user);
		return false;
	}
	return true;
}

static bool take_on(const struct identity *i)
{
	if (setgroups((size_t)i->group_count, i->groups) != 0 ||
	    setresgid(i->gid, i->gid, i->gid) != 0 || setresuid(i->uid, i->uid, i->uid) != 0)
		return false;
	/* An old kernel or an odd sandbox might have left a way back. */
	if (i->uid != 0 && setuid(0) == 0) {
		errno = EPERM;
		return false;
	}
	return true;
}

bool identity_assume(const struct identity *i, char *error, size_t error_size)
{
	if (!i->name || take_on(i))
		return true;
	snprintf(error, error_size, "cannot become user %s: %s", i->name, strerror(errno));
	return false;
}
