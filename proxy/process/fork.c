/* SPDX-License-Identifier: MIT */
/*
 * Forks the workers and the helpers. A child first closes the descriptors that only the master may keep. It ends with
 * exit(3), not _exit(2): sanitizers and gcov write their reports in exit handlers.
 */
#include "proxy/base/descriptor.h"
#include "proxy/process/master.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* File descriptors that only the master may keep; the child closes them after fork. */
static void close_master_fds(struct generation *g)
{
	struct start *s = g->master->start;
	close(g->master->signals);
	trace_orders_close(&g->master->traces);
	reload_askers_close(&g->master->askers);
	master_close_orders(g->master);
	reload_askers_close(&g->master->upgrade.askers);
	descriptor_close(&g->master->upgrade.socket);
	descriptor_close(&s->predecessor.socket);
	descriptor_close(&s->status_fd);
	descriptor_close(&s->notify_fd);
	descriptor_close(&s->remembered);
	for (uint32_t n = 0; n < g->master->generation_count; n++) {
		struct generation *other = g->master->generations[n];
		for (uint32_t i = 0; i < other->outfit.workers; i++)
			control_close(&other->workers[i].child.control);
		for (size_t i = 0; i < HELPERS; i++)
			control_close(&other->helpers[i].control);
		descriptor_close(&other->lists);
		descriptor_close(&other->lists_before);
		if (other == g)
			continue;
		files_contents_fini(&other->contents);
		sealed_close(other->outfit.conf->sealed);
	}
	s->sockets.owns_files = false;
}

/* Memory that is mapped and not used counts for RLIMIT_AS too. */
static void leave_limits(const struct generation *g, const uint32_t *worker)
{
	const struct master *m = g->master;
	if (worker)
		limit_memories_mark(&g->outfit.limits, *worker);
	for (uint32_t n = 0; n < m->generation_count; n++)
		limit_memories_leave(&m->generations[n]->outfit.limits);
}

static _Noreturn void become_worker(struct generation *g, uint32_t index, int control)
{
	struct start *s = g->master->start;
	close_master_fds(g);
	sockets_close(&s->sockets, &g->outfit.share);
	logs_close(&s->logs, LOGS_NOT_OF_WRITERS);
	leave_limits(g, &index);
	title_set(&s->title, "pushgate: worker %u", index);
	struct worker_config env = start_worker_config(s, &g->outfit, index);
	const struct ledger_view view = generation_view(g);
	env.gateway.view = ledger_seclude(s->ledger) ? &view : NULL;
	env.contents = &g->contents;
	env.is_waiting = g->workers[index].is_waiting;
	exit(worker_run(&env, control, g->master->pid));
}

/* Closes what only workers need, and says what the process is. logs: what it needs not of these. */
static void begin_helper(struct generation *g, const char *title, unsigned logs)
{
	struct start *s = g->master->start;
	close_master_fds(g);
	net_tickets_fini(&s->tickets);
	ledger_leave(s->ledger);
	sealed_close(g->outfit.conf->sealed);
	leave_limits(g, NULL);
	sockets_close(&s->sockets, NULL);
	logs_close(&s->logs, logs);
	title_set(&s->title, "pushgate: %s", title);
}

static _Noreturn void become_helper(struct generation *g, const struct helper_row *row, int control)
{
	struct start *s = g->master->start;
	begin_helper(g, row->title, LOGS_NOT_OF_WRITERS);
	if (!row->keeps_contents)
		files_contents_fini(&g->contents);
	const struct helper_env env = {
	    .conf = g->outfit.conf,
	    .identity = &g->outfit.identity,
	    .logs = &s->logs,
	    .contents = &g->contents,
	    .counters = g->master->observe.counters,
	    .certificates = g->outfit.certificates,
	    .remembered_rows = g->outfit.remembered,
	    .remembered_seed = s->remembered_seed,
	    .workers = g->outfit.workers,
	    .control = control,
	    .is_first = !g->files_was_ready,
	    .master = g->master->pid,
	};
	exit(row->run(&env));
}

static _Noreturn void become_logger(struct master *m)
{
	struct start *s = m->start;
	struct generation *g = m->running;
	begin_helper(g, "logger", LOGS_NOT_OF_LOGGER);
	files_contents_fini(&g->contents);
	const struct helper_env env = {
	    .conf = g->outfit.conf,
	    .identity = &g->outfit.identity,
	    .logs = &s->logs,
	    .counters = m->observe.counters,
	    .master = m->pid,
	};
	exit(logger_run(&env));
}

void master_start_logger(struct master *m)
{
	int none;
	if (child_fork(&m->logger, false, &m->observe, m->now, &none) == 0)
		become_logger(m);
}

void generation_start_worker(struct generation *g, uint32_t index)
{
	struct master *m = g->master;
	struct worker_slot *slot = &g->workers[index];
	int socket;
	slot->is_waiting = g == m->coming || m->start->predecessor.still_serves;
	memcpy(slot->renewals, g->renewals, sizeof(slot->renewals));
	pid_t pid = child_fork(&slot->child, true, &m->observe, m->now, &socket);
	if (pid == 0)
		become_worker(g, index, socket);
	m->ledger.pace.at = 0;
}

void generation_start_helper(struct generation *g, enum helper_id id)
{
	const struct helper_row *row = &helper_rows[id];
	struct master *m = g->master;
	int socket;
	m->ledger.pace.at = 0;
	if (child_fork(&g->helpers[id], true, &m->observe, m->now, &socket) == 0)
		become_helper(g, row, socket);
}
