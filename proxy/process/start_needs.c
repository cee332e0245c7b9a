/* SPDX-License-Identifier: MIT */
/*
 * The table of what a start needs, and the walk. What workers and helpers open is examined as their
 * user, in a process of its own that becomes it; its findings come back through a pipe.
 */
#include "proxy/process/start_needs.h"
#include "proxy/base/sealed.h"
#include "proxy/offer/offer.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- findings ---- */

/* Smaller than PIPE_BUF, so that a record is read whole. */
struct record {
	enum need_weight weight;
	struct conf_place at; /* the process that sends it is a copy: the pointer is good in both */
	char text[1024];
};

static void print_record(struct start_needs *n, const struct record *r)
{
	const char *word = "";
	if (r->weight == NEED_NOTE)
		word = "note: ";
	else if (r->weight == NEED_WARNING || (r->weight == NEED_PASSING && n->is_check))
		word = "warning: ";
	n->count[r->weight]++;
	if (r->weight == NEED_NOTE && !n->is_check)
		return;
	fprintf(n->out, "%s:%u: %s", r->at.file, r->at.line, word);
	for (const char *c = r->text; *c; c++)
		fputc((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c, n->out);
	fputc('\n', n->out);
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
		print_record(n, &r);
	else
		(void)!write(n->records, &r, sizeof(r));
}

/* ---- folders ---- */

static const char *own_name(void)
{
	const struct passwd *me = getpwuid(geteuid());
	return me ? me->pw_name : "this user";
}

bool start_needs_can_make(
    struct start_needs *n, struct conf_place at, const char *key, const char *path)
{
	char copy[4096];
	struct stat st;
	snprintf(copy, sizeof(copy), "%s", path);
	const char *folder = dirname(copy), *me = own_name();
	int error = stat(folder, &st) == 0 ? 0 : errno;
	if (!error && S_ISDIR(st.st_mode) &&
	    faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0)
		return true;
	if (error == ENOENT)
		start_needs_report(n, NEED_FAULT, at,
		    "the folder of %s %s does not exist; make it (mkdir -p %s) or name another "
		    "path",
		    key, path, folder);
	else if (error)
		start_needs_report(n, NEED_FAULT, at,
		    "user %s cannot reach the folder of %s %s: %s; allow it or name another path",
		    me, key, path, strerror(error));
	else if (!S_ISDIR(st.st_mode))
		start_needs_report(n, NEED_FAULT, at,
		    "%s %s cannot be: %s is no folder; name another path", key, path, folder);
	else if (errno == EROFS)
		start_needs_report(n, NEED_FAULT, at,
		    "%s %s cannot be made: its file system is read-only here; make it writable "
		    "(ReadWritePaths=%s of systemd) or name another path",
		    key, path, folder);
	else
		start_needs_report(n, NEED_FAULT, at,
		    "user %s cannot write in the folder of %s %s: %s; give it the folder (chown "
		    "%s %s) or name another path",
		    me, key, path, strerror(errno), me, folder);
	return false;
}

/* ---- rows that are about the process ---- */

static void need_user(struct start_needs *n)
{
	char error[256];
	n->has_identity = identity_find(&n->identity, n->conf->server.user, error, sizeof(error));
	if (!n->has_identity)
		start_needs_report(n, NEED_FAULT, conf_find_place(n->conf, "server", 0, "user", 0),
		    "%s; start pushgate as root or as that user, or name another", error);
}

static void need_sandbox(struct start_needs *n)
{
	char error[256];
	if (!sandbox_is_possible(n->conf->server.sandbox, error, sizeof(error)))
		start_needs_report(n, NEED_FAULT,
		    conf_find_place(n->conf, "server", 0, "sandbox", 0), "%s", error);
}

/* Sockets, pipes and logs of the master, and some room; a worker inherits most of them. */
static uint64_t least_descriptors(const struct start_needs *n)
{
	return (uint64_t)n->conf->listen_count * n->workers + 2 * (uint64_t)n->workers +
	       manifests_configured(n->conf) + 32;
}

/* Beyond the last sixteenth a listener pauses (net/listen.c): no client is refused, all wait. */
static void need_descriptors(struct start_needs *n)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY)
		return;
	uint64_t most = limit.rlim_max, least = least_descriptors(n);
	if (most < least)
		start_needs_report(n, NEED_FAULT,
		    conf_find_place(n->conf, "server", 0, "workers", 0),
		    "a process may have %llu descriptors, and the start takes up to %llu; raise "
		    "the limit (ulimit -n, LimitNOFILE= of systemd) or set fewer workers",
		    (unsigned long long)most, (unsigned long long)least);
	for (size_t i = 0; most >= least && i < n->conf->listen_count; i++) {
		const struct conf_listen *l = &n->conf->listens[i];
		if (l->max_connections > most - most / 16)
			start_needs_report(n, NEED_WARNING,
			    conf_find_place(n->conf, "listen", i, "max-connections", 0),
			    "a process may have %llu descriptors, too few for the %u "
			    "max-connections of a worker: further clients wait; raise the limit "
			    "(ulimit -n, LimitNOFILE= of systemd) or lower max-connections",
			    (unsigned long long)most, l->max_connections);
	}
}

/* ---- the table ---- */

static const struct {
	const char *name; /* for the reader */
	void (*examine)(struct start_needs *n);
	bool
	    as_workers; /* as the user that workers and helpers become; else as the one that starts */
} needs[] = {
    {"the user of workers and helpers", need_user, false},
    {"a kernel that can confine them", need_sandbox, false},
    {"enough descriptors", need_descriptors, false},
    {"enough memory", start_needs_memory, false},
    {"a place for the status socket", start_needs_status_socket, false},
    {"addresses to listen on", start_needs_addresses, false},
    {"files for the logs", start_needs_logs, false},
    {"manifests", start_needs_manifests, true},
    {"files of users", start_needs_users, true},
    {"a place for the learned-file", start_needs_learned_file, true},
};

static void walk(struct start_needs *n, bool as_workers)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (needs[i].as_workers == as_workers)
			needs[i].examine(n);
}

/* Calls _exit(2): what the parent has opened is the parent's to close. */
static _Noreturn void examine_as_workers(struct start_needs *n, int records)
{
	char error[256];
	n->records = records;
	sealed_close(n->conf->sealed);
	if (identity_assume(&n->identity, error, sizeof(error)))
		walk(n, true);
	else
		start_needs_report(n, NEED_FAULT, conf_find_place(n->conf, "server", 0, "user", 0),
		    "%s; give pushgate the capabilities SETUID and SETGID, or start it as that "
		    "user",
		    error);
	_exit(0);
}

static void walk_as_workers(struct start_needs *n)
{
	int pair[2];
	struct record r;
	if (!n->identity.name) {
		walk(n, true);
		return;
	}
	fflush(NULL);
	pid_t pid = pipe2(pair, O_CLOEXEC) == 0 ? fork() : -1;
	if (pid < 0) {
		start_needs_report(n, NEED_PASSING, (struct conf_place){n->conf->file, 1},
		    "cannot make a process that becomes user %s: %m; free some memory",
		    n->identity.name);
		return;
	}
	if (pid == 0)
		examine_as_workers(n, pair[1]);
	close(pair[1]);
	while (read(pair[0], &r, sizeof(r)) == (ssize_t)sizeof(r))
		print_record(n, &r);
	close(pair[0]);
	waitpid(pid, NULL, 0);
}

bool start_needs_walk(struct start_needs *n)
{
	n->records = -1;
	walk(n, false);
	if (n->has_identity)
		walk_as_workers(n);
	fflush(n->out);
	return n->count[NEED_FAULT] == 0 && n->count[NEED_PASSING] == 0;
}
