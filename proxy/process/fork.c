/* SPDX-License-Identifier: MIT */
/*
 * Forks the workers and the helpers, and keeps the secret of the ticket keys that
 * a worker begins with. A child first closes the descriptors that only the master may keep.
 */
#include "proxy/process/master.h"
#include <stdlib.h>
#include <unistd.h>

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
		control_close(&m->slots[i].child.control);
	for (size_t i = 0; i < HELPERS; i++)
		control_close(&m->helpers[i].control);
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
	logs_keep_writers(&s->logs);
	title_set(&s->title, "pushgate: worker %u", index);
	struct worker_config env = start_worker_config(s, index);
	env.contents = &s->contents;
	env.is_behind = !m->files_was_ready;
	end_process(worker_run(&env, control, m->pid));
}

static _Noreturn void become_helper(struct master *m, enum helper_id id, int control)
{
	struct start *s = m->start;
	const struct helper_row *row = helper_row(id);
	close_master_fds(m);
	net_tickets_fini(&s->tickets);
	sealed_close(s->conf->sealed);
	sockets_close(&s->sockets);
	if (!row->keeps_contents)
		files_contents_fini(&s->contents);
	if (row->is_logger)
		logs_keep_readers(&s->logs);
	else
		logs_keep_writers(&s->logs);
	title_set(&s->title, "pushgate: %s", row->title);
	const struct helper_env env = {
	    .conf = s->conf,
	    .identity = &s->identity,
	    .logs = &s->logs,
	    .contents = &s->contents,
	    /* The master's slot: the counters of lost lines are the logger's alone. */
	    .counters = &s->slots[s->workers],
	    .workers = s->workers,
	    .control = control,
	    .is_first = !m->files_was_ready,
	    .master = m->pid,
	};
	end_process(row->run(&env));
}

usec master_advance_tickets(struct master *m)
{
	usec wall = clock_wall();
	net_tickets_advance(&m->start->tickets, wall);
	return m->now + NET_TICKET_PERIOD_USEC - wall % NET_TICKET_PERIOD_USEC;
}

void master_start_worker(struct master *m, uint32_t index)
{
	struct worker_slot *slot = &m->slots[index];
	int socket;
	pid_t pid = child_fork(&slot->child, true, &m->observe, m->now, &socket);
	if (pid == 0)
		become_worker(m, index, socket);
	if (pid > 0)
		slot->is_behind = !m->files_was_ready;
}

void master_start_helper(struct master *m, enum helper_id id)
{
	int socket;
	bool is_told = !helper_row(id)->is_logger;
	if (child_fork(&m->helpers[id], is_told, &m->observe, m->now, &socket) == 0)
		become_helper(m, id, socket);
}
