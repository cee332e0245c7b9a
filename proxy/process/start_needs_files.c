/* SPDX-License-Identifier: MIT */
/* Whether logs, manifests, files of users and the remembered-file can be opened by the processes that need them. Makes no file. */
#include "proxy/base/clock.h"
#include "proxy/process/acme_helper.h"
#include "proxy/process/files.h"
#include "proxy/process/files_memory.h"
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
	start_needs_report(n, NEED_FAULT, at, "the %s %s cannot be opened: %s; name another path%s",
	    key, path, what,
	    strcmp(key, "access-log") == 0  ? ", or - for standard output"
	    : strcmp(key, "error-log") == 0 ? ", or - for standard error"
					    : "");
}

/*
 * Opening the writing end and closing it again would end the reader. So a FIFO whose reader /proc
 * shows is not tried, `check` tries none, and `run` keeps the descriptor that it has opened here.
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
	if (n->keeps_files)
		return;
	examine_log(n, "error-log", n->conf->server.error_log);
	examine_log(n, "access-log", n->conf->server.access_log);
	examine_log(n, "keylog-file", n->conf->server.keylog_file);
}

/* ---- manifests and the remembered-file ---- */

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

/* ---- users ---- */

static bool is_anybody(struct slice name)
{
	return slice_equal(name, SLICE("*"));
}

/* Names that a rule of an [access NAME] section has, and the file of that section lacks. */
static void examine_rule(
    struct start_needs *n, const struct passwords_file *f, const struct conf_access_rule *r)
{
	for (size_t i = 0; i < r->user_count; i++)
		if (!is_anybody(r->users[i]) && !htpasswd_has(f->users, r->users[i]))
			start_needs_report(n, NEED_WARNING, (struct conf_place){r->file, r->line},
			    "the user %.*s is not in %s; correct the name, or add the user "
			    "(htpasswd -B %s %.*s)",
			    SLICE_ARG(r->users[i]), f->file.path, f->file.path,
			    SLICE_ARG(r->users[i]));
}

static bool is_in_a_file(const struct passwords *p, struct slice name)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->files[i].users && htpasswd_has(p->files[i].users, name))
			return true;
	return false;
}

/* The same of [push] and [preload] sections, whose users may be those of any listener. */
static void examine_push_rule(struct start_needs *n, const struct passwords *p,
    const struct policy_rule *r, struct conf_place at)
{
	for (size_t i = 0; i < r->user_count; i++)
		if (!is_anybody(r->users[i]) && !is_in_a_file(p, r->users[i]))
			start_needs_report(n, NEED_WARNING, at,
			    "the user %.*s is in no file of users; correct the name, or add the "
			    "user",
			    SLICE_ARG(r->users[i]));
}

static void examine_names(struct start_needs *n, const struct passwords *p)
{
	const struct conf *c = n->conf;
	for (size_t i = 0; i < p->count; i++)
		for (size_t k = 0; p->files[i].users && k < c->accesses[i].rule_count; k++)
			examine_rule(n, &p->files[i], &c->accesses[i].rules[k]);
	for (size_t i = 0; i < c->policy.count; i++)
		examine_push_rule(
		    n, p, &c->policy.rules[i], conf_find_place(c, "push", i, "user", 0));
	for (size_t i = 0; i < c->preload_count; i++)
		examine_push_rule(
		    n, p, &c->preloads[i].when, conf_find_place(c, "preload", i, "user", 0));
}

/* Without its users no request could pass: the start ends here, and not at the first request. */
void start_needs_users(struct start_needs *n)
{
	struct passwords passwords;
	char line[512];
	size_t unusable = 0;
	if (!passwords_are_needed(n->conf))
		return;
	passwords_open(&passwords, n->conf);
	for (size_t i = 0; i < passwords.count; i++)
		if (passwords_check(&passwords, i, line) == WATCHED_UNUSABLE) {
			start_needs_report(n, NEED_FAULT,
			    conf_find_place(n->conf, "access", i, "users", 0), "users %s", line);
			unusable++;
		}
	if (unusable == 0)
		examine_names(n, &passwords);
	passwords_close(&passwords);
}

static void examine_memory(struct start_needs *n, struct conf_place at)
{
	char error[512];
	const struct remembered_options options = files_memory_options(n->conf);
	struct remembered *m = remembered_new(&options, 0, NULL);
	if (!files_memory_read(
		m, n->conf->server.remembered.file, clock_monotonic(), error, sizeof(error)))
		start_needs_report(
		    n, NEED_WARNING, at, "remembered: %s and replaces the file", error);
	remembered_free(m);
}

/* A process replaces it while pushgate runs. */
void start_needs_remembered_file(struct start_needs *n)
{
	static const char key[] = "remembered-file";
	const char *path = n->conf->server.remembered.file;
	struct conf_place at = conf_find_place(n->conf, "server", 0, key, 0);
	struct stat st;
	if (!path || !start_needs_can_make(n, at, key, path))
		return;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		start_needs_report(
		    n, NEED_FAULT, at, "%s %s is a folder; name a file in it", key, path);
	else if (n->is_check)
		examine_memory(n, at);
}

/* What the ACME process will do about the listener's certificate. That there is none yet is a finding of conf_load. */
static void examine_certificate(struct start_needs *n, size_t index)
{
	const struct conf_acme_listen *acme = n->conf->listens[index].acme;
	struct conf_place at = conf_find_place(n->conf, "listen", index, "acme", 0);
	size_t length = 0;
	struct net_issued issued;
	char until[CLOCK_DATE_BYTES], after[CLOCK_DATE_BYTES],
	    *text = acme_file_read(acme->file, &length);
	bool is_there =
	    net_issued_read_with_key(slice_of(text, length), acme->names, acme->count, &issued);
	if (is_there && issued.missing < acme->count)
		start_needs_report(n, NEED_WARNING, at,
		    "the certificate in %s is not for %s; another one is ordered at the start, and "
		    "clients get this one until it comes",
		    acme->file, acme->names[issued.missing]);
	else if (is_there)
		start_needs_report(n, NEED_NOTE, at,
		    "the certificate in %s is good until %s; it is renewed after %s, or when the "
		    "authority says",
		    acme->file, clock_date(issued.ends, until),
		    clock_date(acme_renewal_time(&issued, NULL, 0), after));
	if (text)
		explicit_bzero(text, length);
	free(text);
}

/* Without it no ACME process could start, and no reload could end. That there is none yet is no fault. */
static bool can_use_account(struct start_needs *n, struct conf_place at)
{
	char path[4096];
	size_t length = 0;
	snprintf(path, sizeof(path), "%s/account.key", n->conf->server.acme.dir);
	char *text = acme_file_read(path, &length);
	int error = text ? 0 : errno;
	struct net_key *key = text ? net_key_read(slice_of(text, length)) : NULL;
	if (error && error != ENOENT)
		start_needs_report(n, NEED_FAULT, at,
		    "the account's key %s cannot be read: %s; give it to the user of the workers",
		    path, strerror(error));
	else if (!error && !key)
		start_needs_report(n, NEED_FAULT, at,
		    "%s is no key of P-256; remove it, and another account is made", path);
	bool is_usable = key || error == ENOENT;
	net_key_free(key);
	if (text)
		explicit_bzero(text, length);
	free(text);
	return is_usable;
}

void start_needs_acme_dir(struct start_needs *n)
{
	struct conf_place at = conf_find_place(n->conf, "server", 0, "acme-dir", 0);
	const struct conf_acme *acme = &n->conf->server.acme;
	if (!acme->directory || !start_needs_can_fill(n, at, "acme-dir", acme->dir) ||
	    !can_use_account(n, at))
		return;
	for (size_t i = 0; n->is_check && i < n->conf->listen_count; i++)
		if (n->conf->listens[i].acme)
			examine_certificate(n, i);
}
