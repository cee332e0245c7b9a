/* SPDX-License-Identifier: MIT */
/* Findings: added to those of the configuration, or sent to the process that adds them. */
#include "proxy/process/start_needs.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- findings ---- */

/* Smaller than PIPE_BUF, so that a record is read whole. */
struct record {
	enum need_weight weight;
	struct conf_place at; /* the process that sends it is a copy: the pointer is good in both */
	char text[1024];
};

static void add(struct start_needs *n, const struct record *r)
{
	struct conf_finding finding = {.severity = CONF_ERROR, .at = r->at, .message = r->text};
	if (r->weight == NEED_NOTE)
		finding.severity = CONF_NOTE;
	else if (r->weight == NEED_WARNING || (r->weight == NEED_PASSING && n->is_check))
		finding.severity = CONF_WARNING;
	n->count[r->weight]++;
	if (r->weight == NEED_NOTE && !n->is_check)
		return;
	conf_findings_add(n->findings, &finding, n->conf->sections);
}

void start_needs_report(
    struct start_needs *n, enum need_weight weight, struct conf_place at, const char *format, ...)
{
	struct record r = {.weight = weight, .at = at};
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(r.text, sizeof(r.text), format, arguments);
	va_end(arguments);
	if (n->records < 0)
		add(n, &r);
	else
		(void)!write(n->records, &r, sizeof(r));
}

bool start_needs_pass_on(struct start_needs *n, int records, usec until)
{
	struct record r;
	for (usec now = clock_monotonic(); now < until; now = clock_monotonic()) {
		struct pollfd fd = {.fd = records, .events = POLLIN};
		if (poll(&fd, 1, (int)((until - now) / USEC_PER_MSEC) + 1) <= 0)
			continue;
		if (read(records, &r, sizeof(r)) != (ssize_t)sizeof(r))
			return true;
		add(n, &r);
	}
	return false;
}

/* ---- folders ---- */

static const char *own_name(void)
{
	const struct passwd *me = getpwuid(geteuid());
	return me ? me->pw_name : "this user";
}

/* In words: what is to be made, and where. */
static bool can_write_in(struct start_needs *n, struct conf_place at, const char *folder,
    const char *what, const char *where)
{
	const char *me = own_name();
	struct stat st;
	int error = stat(folder, &st) == 0 ? 0 : errno;
	if (!error && S_ISDIR(st.st_mode) &&
	    faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0)
		return true;
	if (error == ENOENT)
		start_needs_report(n, NEED_FAULT, at,
		    "%s does not exist; make it (mkdir -p %s) or name another path", where, folder);
	else if (error)
		start_needs_report(n, NEED_FAULT, at,
		    "user %s cannot reach %s: %s; allow it or name another path", me, where,
		    strerror(error));
	else if (!S_ISDIR(st.st_mode))
		start_needs_report(n, NEED_FAULT, at,
		    "%s cannot be: %s is no folder; name another path", what, folder);
	else if (errno == EROFS)
		start_needs_report(n, NEED_FAULT, at,
		    "%s cannot be made: its file system is read-only here; make it writable "
		    "(ReadWritePaths=%s of systemd) or name another path",
		    what, folder);
	else
		start_needs_report(n, NEED_FAULT, at,
		    "user %s cannot write in %s: %s; give it the folder (chown %s %s) or name "
		    "another path",
		    me, where, strerror(errno), me, folder);
	return false;
}

bool start_needs_can_make(
    struct start_needs *n, struct conf_place at, const char *key, const char *path)
{
	char copy[4096], where[4096 + 64];
	static const char before[] = "the folder of ";
	snprintf(copy, sizeof(copy), "%s", path);
	snprintf(where, sizeof(where), "%s%s %s", before, key, path);
	return can_write_in(n, at, dirname(copy), where + sizeof(before) - 1, where);
}

bool start_needs_can_fill(
    struct start_needs *n, struct conf_place at, const char *key, const char *folder)
{
	char what[4096 + 64];
	static const char before[] = "a file in ";
	snprintf(what, sizeof(what), "%s%s %s", before, key, folder);
	return can_write_in(n, at, folder, what, what + sizeof(before) - 1);
}
