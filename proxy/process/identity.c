/* SPDX-License-Identifier: MIT */
/*
 * Drops privileges, in this order: empties the bounding set, sets groups, group and user, checks that the
 * process cannot become root again, and drops the remaining capabilities.
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

/* ---- users ---- */

static const struct passwd *find_unprivileged_user(const char **name)
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
	const struct passwd *entry = user ? getpwnam(user) : find_unprivileged_user(&user);
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

static bool become_user(const struct identity *i)
{
	if (!i->name)
		return true;
	if (setgroups((size_t)i->group_count, i->groups) != 0 ||
	    setresgid(i->gid, i->gid, i->gid) != 0 || setresuid(i->uid, i->uid, i->uid) != 0)
		return false;
	/* A kernel bug or a container's filter may have let the calls above succeed without effect. */
	if (i->uid != 0 && setuid(0) == 0) {
		errno = EPERM;
		return false;
	}
	return true;
}

/* ---- capabilities ---- */

/* The capabilities that the master keeps. */
static const cap_value_t master_capabilities[] = {
    CAP_SETUID, CAP_SETGID, /* a new worker becomes its user */
    CAP_SETPCAP,            /* a new worker empties its bounding set */
    CAP_KILL,               /* the master signals workers of another user */
    CAP_DAC_READ_SEARCH,    /* a reload reads keys of any owner */
    CAP_NET_BIND_SERVICE,   /* and has other low ports */
    CAP_DAC_OVERRIDE,       /* the master reopens logs in other users' folders */
};
enum { MASTER_CAPABILITIES = sizeof(master_capabilities) / sizeof(master_capabilities[0]) };

static bool is_master_capability(cap_value_t c)
{
	for (int i = 0; i < MASTER_CAPABILITIES; i++)
		if (master_capabilities[i] == c)
			return true;
	return false;
}

/*
 * The bounding set limits what an execve(2) can give. Without CAP_SETPCAP the set cannot shrink;
 * that is harmless, since no_new_privs keeps execve(2) from giving anything.
 */
static void limit_bounding_set(bool is_master)
{
	for (cap_value_t c = 0; c < cap_max_bits(); c++)
		if (!(is_master && is_master_capability(c)) && cap_get_bound(c) == 1)
			(void)cap_drop_bound(c);
}

/*
 * Keeps those of the master's capabilities that this process has, or, unless is_master, none. This
 * empties the inheritable set, and the kernel then empties the ambient set.
 */
static bool limit_capabilities(bool is_master, char *error, size_t error_size)
{
	cap_t have = cap_get_proc(), keep = cap_init();
	bool done = have && keep;
	for (int i = 0; done && is_master && i < MASTER_CAPABILITIES; i++) {
		cap_flag_value_t has = CAP_CLEAR;
		done = cap_get_flag(have, master_capabilities[i], CAP_PERMITTED, &has) == 0 &&
		       cap_set_flag(keep, CAP_PERMITTED, 1, &master_capabilities[i], has) == 0 &&
		       cap_set_flag(keep, CAP_EFFECTIVE, 1, &master_capabilities[i], has) == 0;
	}
	done = done && cap_set_proc(keep) == 0;
	cap_free(have);
	cap_free(keep);
	if (done && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		return true;
	snprintf(error, error_size, "cannot give up capabilities: %s", strerror(errno));
	return false;
}

bool identity_limit(char *error, size_t error_size)
{
	limit_bounding_set(true);
	return limit_capabilities(true, error, error_size);
}

bool identity_assume(const struct identity *i, char *error, size_t error_size)
{
	limit_bounding_set(false);
	if (!become_user(i)) {
		snprintf(error, error_size, "cannot become user %s: %s", i->name, strerror(errno));
		return false;
	}
	return limit_capabilities(false, error, error_size);
}

void identity_keep_on_exec(void)
{
	cap_t have = cap_get_proc();
	for (int i = 0; have && geteuid() != 0 && i < MASTER_CAPABILITIES; i++) {
		cap_flag_value_t has = CAP_CLEAR;
		if (cap_get_flag(have, master_capabilities[i], CAP_PERMITTED, &has) == 0)
			(void)cap_set_flag(have, CAP_INHERITABLE, 1, &master_capabilities[i], has);
	}
	if (have && geteuid() != 0 && cap_set_proc(have) == 0)
		for (int i = 0; i < MASTER_CAPABILITIES; i++)
			(void)cap_set_ambient(master_capabilities[i], CAP_SET);
	cap_free(have);
}
