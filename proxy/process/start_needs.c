/* SPDX-License-Identifier: MIT */
/*
 * The table of the needs of a start, and the walk. Files of workers and helpers are examined as their user,
 * in a process of its own, whose findings come back through a pipe.
 */
#include "proxy/process/start_needs.h"
#include "proxy/offer/offer.h"
#include "proxy/process/child.h"
#include "proxy/process/sandbox.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the examination as the workers' user may take. The master does nothing else meanwhile. */
#define EXAMINE_SECONDS 10

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
	bool as_workers; /* as the user of workers and helpers; else as the one that starts */
} needs[] = {
    {"the user of workers and helpers", need_user, false},
    {"a kernel that can confine them", need_sandbox, false},
    {"enough descriptors", need_descriptors, false},
    {"enough memory", start_needs_memory, false},
    {"a place for the status socket", start_needs_status_socket, false},
    {"addresses to listen on", start_needs_addresses, false},
    {"addresses to connect from", start_needs_sources, false},
    {"files for the logs", start_needs_logs, false},
    {"manifests", start_needs_manifests, true},
    {"files of users", start_needs_users, true},
    {"a place for the remembered-file", start_needs_remembered_file, true},
    {"a folder for certificates of acme", start_needs_acme_dir, true},
};

static void walk(struct start_needs *n, bool as_workers)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (needs[i].as_workers == as_workers)
			needs[i].examine(n);
}

/* Calls _exit(2): the parent closes its own files. */
static _Noreturn void examine_as_workers(struct start_needs *n, int records, pid_t parent)
{
	char error[256];
	/* A file system may let it wait for hours: then it holds none of pushgate's sockets. */
	n->records = dup2(records, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0u, 0);
	bool is_user = identity_assume(&n->identity, error, sizeof(error));
	child_die_with(parent, SIGKILL);
	if (is_user)
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
	if (!n->identity.name) {
		walk(n, true);
		return;
	}
	fflush(NULL);
	pid_t parent = getpid();
	pid_t pid = pipe2(pair, O_CLOEXEC) == 0 ? fork() : -1;
	if (pid < 0) {
		start_needs_report(n, NEED_PASSING, (struct conf_place){n->conf->file, 1},
		    "cannot make a process that becomes user %s: %m; free some memory",
		    n->identity.name);
		return;
	}
	if (pid == 0)
		examine_as_workers(n, pair[1], parent);
	close(pair[1]);
	usec until = clock_monotonic() + EXAMINE_SECONDS * USEC_PER_SEC;
	bool is_over = start_needs_pass_on(n, pair[0], until);
	if (!is_over) {
		start_needs_report(n, NEED_PASSING, (struct conf_place){n->conf->file, 1},
		    "user %s could not look at all files within %d s; see whether their file "
		    "systems answer",
		    n->identity.name, EXAMINE_SECONDS);
		kill(pid, SIGKILL);
	}
	close(pair[0]);
	/* SIGKILL may have to wait for the file system too: then the master reaps the process when it has ended. */
	waitpid(pid, NULL, is_over ? 0 : WNOHANG);
}

bool start_needs_walk(struct start_needs *n)
{
	n->records = -1;
	walk(n, false);
	if (n->has_identity)
		walk_as_workers(n);
	if (n->findings->text)
		fflush(n->findings->text);
	return n->count[NEED_FAULT] == 0 && n->count[NEED_PASSING] == 0;
}
