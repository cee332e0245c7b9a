/* SPDX-License-Identifier: MIT */
/* Logs, manifests, files of users and the learned-file: whether those who will open them can. Makes no file. */
#include "proxy/base/clock.h"
#include "proxy/process/files.h"
#include "proxy/process/holder.h"
#include "proxy/process/passwords.h"
#include "proxy/process/start_needs.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- logs ---- */

static void report_log(struct start_needs *n, struct conf_place at, const char *key,
    const char *path, const char *what)
{
	start_needs_report(n, NEED_FAULT, at,
	    "the %s %s cannot be opened: %s; name another path, or - for standard %s", key, path,
	    what, strcmp(key, "access-log") == 0 ? "output" : "error");
}

/*
 * To open the writing end and to close it again would end the reader. So one that /proc shows is not
 * tried, `check` tries none, and what `run` has opened here it keeps.
 */
static bool is_read(const struct start_needs *n, const char *path, const struct stat *st)
{
	if (holder_reads_fifo(st->st_dev, st->st_ino))
		return true;
	return !n->is_check &&
	       (open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW) >= 0 || errno != ENXIO);
}

static void examine_fifo(struct start_needs *n, struct conf_place at, const char *key,
    const char *path, const struct stat *st)
{
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
		report_log(n, at, key, path, strerror(errno));
	else if (!is_read(n, path, st))
		start_needs_report(n, NEED_PASSING, at,
		    "the %s %s is a FIFO that no process is seen to read; start its reader first",
		    key, path);
}

static void examine_log(struct start_needs *n, const char *key, const char *path)
{
	struct stat st;
	struct conf_place at = conf_find_place(n->conf, "server", 0, key, 0);
	if (!path || strcmp(path, "-") == 0)
		return;
	if (lstat(path, &st) != 0) {
		(void)start_needs_can_make(n, at, key, path);
	} else if (S_ISLNK(st.st_mode)) {
		report_log(n, at, key, path, "it is a symbolic link");
	} else if (S_ISFIFO(st.st_mode)) {
		examine_fifo(n, at, key, path, &st);
	} else if (S_ISCHR(st.st_mode)) {
		if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
			report_log(n, at, key, path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		report_log(
		    n, at, key, path, "it is no regular file, no FIFO and no character device");
	} else {
		int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			report_log(n, at, key, path, strerror(errno));
		else
			close(fd);
	}
}

void start_needs_logs(struct start_needs *n)
{
	examine_log(n, "error-log", n->conf->server.error_log);
	examine_log(n, "access-log", n->conf->server.access_log);
}

/* ---- manifests and the learned-file ---- */

/* A start reads them anyway, and says the same in the error log. */
void start_needs_manifests(struct start_needs *n)
{
	char line[512];
	for (size_t p = 0, at = 0; n->is_check && p < n->conf->preload_count; p++)
		for (size_t i = 0; i < n->conf->preloads[p].manifest_count; i++)
			if (!files_try_manifest(n->conf, at++, line, sizeof(line)))
				start_needs_report(n, NEED_WARNING,
				    conf_find_place(n->conf, "preload", p, "manifest", i),
				    "manifest %s", line);
}

/* Without its users nobody could pass: the start ends here, and not at the first request. */
void start_needs_users(struct start_needs *n)
{
	struct passwords passwords;
	char line[512];
	passwords_open(&passwords, n->conf);
	for (size_t i = 0; i < passwords.count; i++)
		if (passwords_check(&passwords, i, line) == PASSWORDS_UNUSABLE)
			start_needs_report(n, NEED_FAULT,
			    conf_find_place(n->conf, "access", i, "users", 0), "users %s", line);
	passwords_close(&passwords);
}

static void examine_learned_content(struct start_needs *n, struct conf_place at)
{
	char error[512];
	struct files files;
	files_resume(&files, n->conf, NULL);
	if (!files_read_learned(&files, clock_monotonic(), error, sizeof(error)))
		start_needs_report(n, NEED_WARNING, at, "learned: %s", error);
	files_close(&files);
}

void start_needs_learned_file(struct start_needs *n)
{
	const char *path = n->conf->server.learned_file;
	struct conf_place at = conf_find_place(n->conf, "server", 0, "learned-file", 0);
	struct stat st;
	if (!path || !start_needs_can_make(n, at, "learned-file", path))
		return;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		start_needs_report(
		    n, NEED_FAULT, at, "learned-file %s is a folder; name a file in it", path);
	else if (n->is_check)
		examine_learned_content(n, at);
}
