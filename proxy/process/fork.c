/* SPDX-License-Identifier: MIT */
/*
 * Forks the workers and the helpers, and keeps the secret of the ticket keys that
 * a worker begins with. A child first closes the descriptors that only the master may keep.
 */
#include "proxy/process/master.h"
#include "proxy/process/passwords.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long the master waits after a failed fork before it tries again. */
#define FORK_AGAIN_USEC USEC_PER_SEC

/* File descriptors that only the master may keep; the child closes them after fork. */
static void close_master_fds(struct master *m)
{
	close(m->signals);
	trace_orders_close(&m->traces);
	if (m->start->status_fd >= 0)
		close(m->start->status_fd);
	if (m->start->notify_fd >= 0)
		close(m->start->notify_fd);
	for (uint32_t i = 0; i < m->start->workers; i++)
		control_close(&m->slots[i].control);
	control_close(&m->files.control);
	control_close(&m->passwords.control);
	m->start->sockets.owns_files = false;
}

/* Calls exit(3), not _exit(2): sanitizers and gcov write their reports in exit handlers. */
static _Noreturn void end_process(int status)
{
	exit(status);
}

static _Noreturn void become_worker(struct master *m, uint32_t index, int control)
{
	struct start *s = m->start;
	close_master_fds(m);
	logs_close_readers(&s->logs);
	logs_close_files(&s->logs);
	logs_close_sender(&s->logs);
	title_set(&s->title, "pushgate: worker %u", index);
	const struct worker_config env = {
	    .conf = s->conf,
	    .title = &s->title,
	    .sockets = &s->sockets,
	    .logs = &s->logs,
	    .counters = &s->slots[index],
	    .health_table = s->health_table,
	    .identity = &s->identity,
	    .tickets = &s->tickets,
	    .via_suffix = s->via_suffix,
	    .contents = &s->contents,
	    .is_behind = !m->files_was_ready,
	    .index = index,
	};
	end_process(worker_run(&env, control, m->pid));
}

static _Noreturn void become_logger(struct master *m)
{
	struct start *s = m->start;
	close_master_fds(m);
	net_tickets_fini(&s->tickets);
	sealed_close(s->conf->sealed);
	sockets_close(&s->sockets);
	files_contents_fini(&s->contents);
	logs_close_writers(&s->logs);
	logs_close_folders(&s->logs);
	title_set(&s->title, "pushgate: logger");
	const struct logger_env env = {
	    .logs = &s->logs,
	    .identity = &s->identity,
	    /* The master's slot: these counters are the logger's alone. */
	    .counters = &s->slots[s->workers],
	    .sandbox = s->conf->server.sandbox,
	    .master = m->pid,
	};
	end_process(logger_run(&env) ? 0 : EXIT_FAILURE);
}

static _Noreturn void become_files(struct master *m, int control)
{
	struct start *s = m->start;
	close_master_fds(m);
	net_tickets_fini(&s->tickets);
	sealed_close(s->conf->sealed);
	sockets_close(&s->sockets);
	logs_close_readers(&s->logs);
	logs_close_files(&s->logs);
	logs_close_sender(&s->logs);
	title_set(&s->title, "pushgate: files");
	const struct files_env env = {
	    .conf = s->conf,
	    .identity = &s->identity,
	    .error_log = &s->logs.error,
	    .contents = &s->contents,
	    .workers = s->workers,
	    .control = control,
	    .is_first = !m->files_was_ready,
	    .master = m->pid,
	};
	end_process(files_run(&env));
}

static _Noreturn void become_passwords(struct master *m, int control)
{
	struct start *s = m->start;
	close_master_fds(m);
	net_tickets_fini(&s->tickets);
	sealed_close(s->conf->sealed);
	sockets_close(&s->sockets);
	files_contents_fini(&s->contents);
	logs_close_readers(&s->logs);
	logs_close_files(&s->logs);
	logs_close_sender(&s->logs);
	title_set(&s->title, "pushgate: passwords");
	const struct passwords_env env = {
	    .conf = s->conf,
	    .identity = &s->identity,
	    .error_log = &s->logs.error,
	    .workers = s->workers,
	    .control = control,
	    .master = m->pid,
	};
	end_process(passwords_run(&env));
}

usec master_advance_tickets(struct master *m)
{
	usec wall = clock_wall();
	net_tickets_advance(&m->start->tickets, wall);
	return m->now + NET_TICKET_PERIOD_USEC - wall % NET_TICKET_PERIOD_USEC;
}

/* Forks a child with a socketpair to it: *socket is the own end, in either process. Returns what
 * fork(2) returned; what failed is logged. */
static pid_t fork_child(struct master *m, int *socket)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		observe_log(
		    &m->observe, OBSERVE_ERROR, "cannot make a socketpair: %s", strerror(errno));
		return -1;
	}
	fflush(NULL);
	pid_t pid = fork();
	close(pair[pid == 0 ? 0 : 1]);
	*socket = pair[pid == 0 ? 1 : 0];
	if (pid < 0) {
		observe_log(&m->observe, OBSERVE_ERROR, "cannot fork: %s", strerror(errno));
		close(*socket);
	}
	return pid;
}

void master_start_worker(struct master *m, uint32_t index)
{
	struct worker_slot *slot = &m->slots[index];
	int socket = -1;
	slot->start_at = m->now + FORK_AGAIN_USEC;
	pid_t pid = fork_child(m, &socket);
	if (pid == 0)
		become_worker(m, index, socket);
	if (pid < 0)
		return;
	slot->pid = pid;
	control_open(&slot->control, socket);
	slot->started = m->now;
	slot->is_behind = !m->files_was_ready;
	slot->starts++;
}

void master_start_logger(struct master *m)
{
	m->logger.start_at = m->now + FORK_AGAIN_USEC;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		become_logger(m);
	if (pid < 0) {
		observe_log(&m->observe, OBSERVE_ERROR, "cannot fork: %s", strerror(errno));
		return;
	}
	m->logger.pid = pid;
	m->logger.started = m->now;
}

void master_start_files(struct master *m)
{
	int socket = -1;
	m->files.start_at = m->now + FORK_AGAIN_USEC;
	pid_t pid = fork_child(m, &socket);
	if (pid == 0)
		become_files(m, socket);
	if (pid < 0)
		return;
	m->files.pid = pid;
	m->files.started = m->now;
	m->files.starts++;
	control_open(&m->files.control, socket);
}

void master_start_passwords(struct master *m)
{
	int socket = -1;
	m->passwords.start_at = m->now + FORK_AGAIN_USEC;
	pid_t pid = fork_child(m, &socket);
	if (pid == 0)
		become_passwords(m, socket);
	if (pid < 0)
		return;
	m->passwords.pid = pid;
	m->passwords.started = m->now;
	m->passwords.starts++;
	control_open(&m->passwords.control, socket);
}
