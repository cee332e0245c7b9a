/* SPDX-License-Identifier: MIT */
/*
 * Dropping privileges. A worker's order: the bounding set while that is allowed, then groups, group
 * and user, a look whether there is a way back, then what capabilities are left.
 */
#include "proxy/process/identity.h"
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

/* ---- who ---- */

static const struct passwd *somebody_without_rights(const char **name)
{
	static const char *const names[] = {"pushgate", "nobody"};
	const struct passwd *entry = NULL;
	for (size_t i = 0; !entry && i < sizeof(names) / sizeof(names[0]); i++) {
		*name = names[i];
		entry = getpwnam(*name);
	}
	return entry;
}

bool identity_find(struct identity *i, const char *user, char *error, size_t error_size)
{
	*i = (struct identity){.name = NULL};
	uid_t me = geteuid();
	if (!user && me != 0)
		return true;
	errno = 0;
	const struct passwd *entry = user ? getpwnam(user) : somebody_without_rights(&user);
	if (!entry) {
		snprintf(error, error_size, "cannot run as user %s: %s", user,
		    errno ? strerror(errno) : "there is no such user");
		return false;
	}
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

bool identity_is_root(const struct identity *i)
{
	return i->name && i->uid == 0;
}

static bool take_on(const struct identity *i)
{
	if (!i->name)
		return true;
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

/* ---- what ---- */

/* Of the master, from its start on. */
static const cap_value_t masters[] = {
    CAP_SETUID, CAP_SETGID, /* a worker becomes its user */
    CAP_SETPCAP,            /* and empties its bounding set */
    CAP_KILL,               /* it is another user's process then */
    CAP_DAC_READ_SEARCH,    /* the worker that is started again reads its keys, whosever they are */
    CAP_DAC_OVERRIDE,       /* logs are opened again in folders of other users */
};
enum { MASTERS = sizeof(masters) / sizeof(masters[0]) };

static bool is_masters(cap_value_t c)
{
	for (int i = 0; i < MASTERS; i++)
		if (masters[i] == c)
			return true;
	return false;
}

/*
 * The bounding set limits what an execve(2) can give. Without CAP_SETPCAP it stays as it is, and
 * with no_new_privs nothing comes of that.
 */
static void limit_bounding_set(bool is_master)
{
	for (cap_value_t c = 0; c < cap_max_bits(); c++)
		if (!(is_master && is_masters(c)) && cap_get_bound(c) == 1)
			(void)cap_drop_bound(c);
}

/*
 * Those of the master that we have, or none. The inheritable set is emptied, and the kernel empties
 * the ambient set with it.
 */
static bool limit_capabilities(bool is_master)
{
	cap_t have = cap_get_proc(), keep = cap_init();
	bool done = have && keep;
	for (int i = 0; done && is_master && i < MASTERS; i++) {
		cap_flag_value_t has = CAP_CLEAR;
		done = cap_get_flag(have, masters[i], CAP_PERMITTED, &has) == 0 &&
		       cap_set_flag(keep, CAP_PERMITTED, 1, &masters[i], has) == 0 &&
		       cap_set_flag(keep, CAP_EFFECTIVE, 1, &masters[i], has) == 0;
	}
	done = done && cap_set_proc(keep) == 0;
	cap_free(have);
	cap_free(keep);
	return done && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool identity_limit(char *error, size_t error_size)
{
	limit_bounding_set(true);
	if (limit_capabilities(true))
		return true;
	snprintf(error, error_size, "cannot give up capabilities: %s", strerror(errno));
	return false;
}

bool identity_assume(const struct identity *i, char *error, size_t error_size)
{
	limit_bounding_set(false);
	if (!take_on(i)) {
		snprintf(error, error_size, "cannot become user %s: %s", i->name, strerror(errno));
		return false;
	}
	if (limit_capabilities(false))
		return true;
	snprintf(error, error_size, "cannot give up capabilities: %s", strerror(errno));
	return false;
}
