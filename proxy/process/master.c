/* SPDX-License-Identifier: MIT */
/*
 * The master forks workers and helpers, restarts those that die, passes signals on (master_signals.c), and answers on the
 * status socket. It waits in poll(2): a forked child has no event loop to dismantle. It never reads a peer's bytes.
 */
#include "proxy/process/master.h"
#include "proxy/base/descriptor.h"
#include "proxy/process/notify.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- traces ---- */

static void begin_trace(void *context, struct slice name, int socket)
{
	struct master *m = context;
	const struct trace_order *o = trace_orders_add(&m->traces, name, socket, m->now);
	for (uint32_t i = 0; o && i < m->generation_count; i++)
		generation_begin_trace(m->generations[i], o);
	/* Last: a client that connects after the answer is traced from its first frame. */
	if (o)
		trace_accept(socket, &o->request);
}

static void ask_for_reload(void *context, int socket)
{
	struct master *m = context;
	reload_askers_add(&m->askers, socket);
	m->reload_is_due = true;
	m->reload_is_of_files = false;
}

static void ask_for_upgrade(void *context, int socket)
{
	struct master *m = context;
	reload_askers_add(&m->upgrade.askers, socket);
	m->upgrade.is_due = true;
}

/* ---- status ---- */

/* starts: of processes of that name before it. */
static struct status_process describe_child(const struct child *c, uint32_t starts, usec now)
{
	return (struct status_process){
	    .pid = c->pid, .starts = starts + c->starts, .up = now - c->started};
}

/* What older generations have counted. One that has not taken over counts when it does, or has ended: the workers that serve
 * cannot see its counters, and say the same. */
static void add_others(struct master *m)
{
	totals_free(m->others);
	m->others = totals_new();
	totals_add_totals(m->others, m->ended);
	if (m->start->predecessor.counters)
		totals_add_totals(m->others, m->start->predecessor.counters);
	for (uint32_t n = 0; n < m->generation_count; n++)
		if (m->generations[n]->is_superseded && m->generations[n] != m->running)
			generation_add_totals(m->generations[n], m->others);
}

/* The workers that older generations still have, behind so many processes. Returns the number of all. */
static uint32_t describe_others(struct master *m, uint32_t count)
{
	for (uint32_t n = 0; n < m->generation_count; n++) {
		const struct generation *g = m->generations[n];
		if (g == m->running)
			continue;
		for (uint32_t i = 0; i < g->outfit.workers; i++) {
			if (!g->workers[i].child.pid)
				continue;
			snprintf(m->names[count], sizeof(m->names[count]),
			    "worker %u of generation %u", i, g->number);
			m->about[count] = describe_child(&g->workers[i].child, 0, m->now);
			m->about[count].note = m->about[count].name = m->names[count];
			m->about[count].is_draining = true;
			count++;
		}
	}
	return count;
}

/* Into m->about: the workers, the helpers that the text names, and the master. Returns their number. */
static uint32_t describe_processes(struct master *m)
{
	const struct generation *g = m->running;
	uint32_t count = g->outfit.workers;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t before = i < m->starts.worker_count ? m->starts.workers[i] : 0;
		m->about[i] = describe_child(&g->workers[i].child, before, m->now);
	}
	for (enum helper_id id = 0; id < HELPERS; id++) {
		if (g->helpers[id].starts == 0)
			continue;
		m->about[count] = describe_child(&g->helpers[id], m->starts.helpers[id], m->now);
		m->about[count].name = helper_rows[id].title;
		m->about[count++].note = id == HELPER_FILES ? "files process" : NULL;
	}
	count = describe_others(m, count);
	m->about[count++] = (struct status_process){
	    .name = "master", .pid = getpid(), .starts = 1, .up = m->now - m->start->started};
	for (uint32_t i = 0; i < count; i++)
		m->about[i].usage = process_usage_read(m->about[i].pid, m->boot_time);
	return count;
}

static struct status describe(struct master *m)
{
	const struct generation *g = m->running;
	uint32_t count = describe_processes(m);
	add_others(m);
	return (struct status){
	    .others = m->others,
	    .up = m->now - m->start->started,
	    .started_wall = m->start->started_wall,
	    .slots = g->outfit.slots,
	    .series = &g->outfit.series,
	    .own_slot = m->start->slot,
	    .processes = m->about,
	    .process_count = count,
	    .worker_count = g->outfit.workers,
	    .health_table = g->outfit.health_table,
	    .orders = g->outfit.orders,
	    .certificates = g->outfit.certificates,
	    .remembered = g->outfit.remembered,
	    .other_orders = m->other_orders,
	    .other_orders_count = master_list_other_orders(m),
	    .conf = g->outfit.conf,
	    .last_reload = &m->last_reload,
	    .drains_in = m->drain_at > m->now ? m->drain_at - m->now : 0,
	};
}

static void serve_status(struct master *m)
{
	const struct status status = describe(m);
	const struct status_ops ops = {.trace = begin_trace,
	    .reload = ask_for_reload,
	    .server = master_order_server,
	    .upgrade = ask_for_upgrade,
	    .context = m};
	if (!status_serve(m->start->status_fd, &status, &ops))
		m->status_at = m->now + STATUS_PAUSE_USEC;
}

/* Returns when to call it again. */
static usec run_ledger(struct master *m)
{
	struct ledger_pace *pace = &m->ledger.pace;
	if (!conf_has_admin(m->running->outfit.conf))
		return USEC_NEVER;
	if (m->now < pace->at)
		return pace->at;
	if (master_wants_ledger(m))
		master_write_ledger(m, describe_processes(m));
	usec now = clock_monotonic();
	return ledger_pace_next(pace, now, now - m->now);
}

/* ---- an upgrade ---- */

static void give(struct master *m)
{
	struct totals *counters = master_sum(m);
	upgrade_give(&m->upgrade, &m->running->outfit, counters);
	totals_free(counters);
}

/* The other program serves. */
static void leave(struct master *m)
{
	struct start *s = m->start;
	upgrade_end(&m->upgrade, &m->running->outfit, m->now);
	reload_askers_dismiss(&m->askers, "another program has taken over; ask again\n");
	title_set(&s->title, "pushgate: master, replaced (%s)", s->conf_path);
	/* The files of sockets belong to the new one. */
	s->sockets.owns_files = false;
	descriptor_close(&s->status_fd);
	sockets_close(&s->sockets, NULL);
	master_supersede(m);
}

static void read_upgrade(struct master *m)
{
	enum handover_heard heard = upgrade_read(&m->upgrade, m->now);
	if (heard == HANDOVER_NEXT)
		give(m);
	else if (heard == HANDOVER_READY)
		leave(m);
	else if (heard == HANDOVER_REOPEN)
		master_reopen_logs(m);
	else if (heard == HANDOVER_GONE && m->upgrade.phase == UPGRADE_OVER)
		master_hasten(m);
}

/* Returns when to call it again. */
static usec run_upgrade(struct master *m)
{
	bool may_begin = !m->coming && !m->drain_at && !m->start->predecessor.still_serves &&
			 m->running->phase == GENERATION_RUNNING && m->running->was_ready;
	if (upgrade_wants_counters(&m->upgrade, m->now))
		give(m);
	return upgrade_run(&m->upgrade, may_begin, m->now);
}

static void give_last_counters(struct master *m)
{
	if (m->upgrade.phase == UPGRADE_OVER && m->upgrade.socket >= 0)
		give(m);
}

static void read_predecessor(struct master *m)
{
	struct predecessor *p = &m->start->predecessor;
	bool is_there = handover_take_news(p);
	m->ledger.pace.at = 0;
	m->ledger.ended_changes++;
	if (start_take_health(m->start, &m->running->outfit))
		generation_look_at_health(m->running);
	if (is_there)
		return;
	descriptor_close(&p->socket);
	handover_stand_alone();
	if (p->counters)
		totals_clear_gauges(&p->counters->whole);
}

/* ---- the loop ---- */

/* Returns when to call it again: an old key is erased soon after its time. */
static usec advance_tickets(struct master *m)
{
	usec wall = clock_wall();
	net_tickets_advance(&m->start->tickets, wall);
	return m->now + NET_TICKET_PERIOD_USEC - wall % NET_TICKET_PERIOD_USEC;
}

/* Reads the configuration again if that is due. Returns when to call it again. */
static usec run_reload(struct master *m)
{
	if (m->coming || m->drain_at || m->upgrade.phase != UPGRADE_NONE ||
	    m->start->predecessor.still_serves || m->running->phase != GENERATION_RUNNING ||
	    !m->running->was_ready ||
	    m->generation_count > m->running->outfit.conf->server.max_generations)
		return USEC_NEVER;
	bool watches = m->running->outfit.conf->server.watch_files;
	if (!m->reload_is_due && watches)
		master_watch_files(m);
	if (!m->reload_is_due)
		return watches ? m->files.look_at : USEC_NEVER;
	if (m->now < m->reload_at)
		return m->reload_at;
	master_reload(m);
	return m->now;
}

/* Returns when to call it again. */
static usec run_watchdog(struct master *m)
{
	bool is_replaced = m->upgrade.phase == UPGRADE_OVER && m->upgrade.keeper == 0;
	/* The manager hears of its main process alone. */
	if (!m->running->was_ready || m->start->predecessor.still_serves || is_replaced)
		return USEC_NEVER;
	if (watchdog_is_due(&m->watchdog, m->now) && generation_is_alive(m->running))
		notify_alive(m->start->notify_fd);
	return m->watchdog.due_at;
}

/* Runs deadlines and restarts that are due. Returns when the next one is due. */
static usec run_due_tasks(struct master *m)
{
	usec next = clock_earlier(advance_tickets(m), master_run_drain_delay(m));
	/* Workers can write there too, and what they write does not last. */
	atomic_store(&m->start->readiness->will_drain, m->drain_at != 0);
	/* Connections that are left here may ask /readyz: another program accepts. */
	atomic_store(&m->start->readiness->accepting,
	    m->upgrade.phase == UPGRADE_OVER ? 1 : master_count_accepting(m));
	next = clock_earlier(next, trace_orders_expire(&m->traces, m->now));
	if (m->now < m->status_at)
		next = clock_earlier(next, m->status_at);
	next = clock_earlier(next, master_run_logger(m));
	next = clock_earlier(next, master_run_orders(m));
	next = clock_earlier(next, run_reload(m));
	next = clock_earlier(next, run_upgrade(m));
	next = clock_earlier(next, run_watchdog(m));
	next = clock_earlier(next, master_replace(m));
	next = clock_earlier(next, master_run_generations(m));
	return clock_earlier(next, run_ledger(m)); /* what all of these have changed */
}

/* Those that are open: poll(2) takes at most as many as the process may have. Returns the number of all. */
static uint32_t watch_children(struct master *m, uint32_t count)
{
	for (uint32_t n = 0; n < m->generation_count; n++) {
		struct generation *g = m->generations[n];
		uint32_t workers = g->outfit.workers;
		for (uint32_t i = 0; i < workers + HELPERS; i++) {
			bool is_helper = i >= workers;
			uint32_t index = is_helper ? i - workers : i;
			const struct child *c =
			    is_helper ? &g->helpers[index] : &g->workers[index].child;
			if (c->control.socket < 0)
				continue;
			m->watched[count] = (struct watched){g, is_helper, index};
			m->fds[count++] =
			    (struct pollfd){.fd = c->control.socket, .events = POLLIN};
		}
	}
	return count;
}

/* The master's own descriptors that are open. Returns their number. */
static uint32_t watch_own(struct master *m, void (*read[MASTER_DESCRIPTORS])(struct master *m))
{
	/* A predecessor that still serves knows the answers. */
	bool may_answer = m->now >= m->status_at && !m->start->predecessor.still_serves;
	const struct {
		int fd;
		void (*read)(struct master *m);
	} all[MASTER_DESCRIPTORS] = {
	    {may_answer ? m->start->status_fd : -1, serve_status},
	    {m->start->predecessor.socket, read_predecessor},
	    {m->upgrade.socket, read_upgrade},
	    {m->signals, master_read_signals},
	};
	uint32_t count = 0;
	for (size_t i = 0; i < MASTER_DESCRIPTORS; i++) {
		if (all[i].fd < 0)
			continue;
		read[count] = all[i].read;
		m->fds[count++] = (struct pollfd){.fd = all[i].fd, .events = POLLIN};
	}
	return count;
}

static void wait_for_events(struct master *m, usec until)
{
	void (*read[MASTER_DESCRIPTORS])(struct master * m);
	struct pollfd *fds = m->fds;
	uint32_t own = watch_own(m, read), count = watch_children(m, own);
	int timeout = -1;
	if (until != USEC_NEVER)
		timeout = until > m->now ? (int)((until - m->now) / USEC_PER_MSEC) + 1 : 0;
	int n = poll(fds, count, timeout);
	m->now = clock_monotonic();
	if (n <= 0)
		return;
	/* Read a worker's messages before SIGCHLD closes its socket. */
	for (uint32_t i = own; i < count; i++) {
		const struct watched *w = &m->watched[i];
		if (fds[i].revents && w->is_helper)
			generation_read_helper(w->generation, (enum helper_id)w->index);
		else if (fds[i].revents)
			generation_read_worker(w->generation, w->index);
	}
	for (uint32_t i = 0; i < own; i++)
		if (fds[i].revents)
			read[i](m);
}

/* The counters of the program before this one go to the one behind it by way of this process. */
static bool passes_counters_on(const struct master *m)
{
	return m->upgrade.phase == UPGRADE_OVER && m->upgrade.socket >= 0 &&
	       m->start->predecessor.socket >= 0 && m->running->phase < GENERATION_FORCED;
}

static void run_until_workers_end(struct master *m)
{
	while (m->running->phase == GENERATION_RUNNING || master_has_workers(m) ||
	       passes_counters_on(m) ||
	       (m->upgrade.phase == UPGRADE_OVER && m->upgrade.keeper > 0)) {
		usec next = run_due_tasks(m);
		wait_for_events(m, next);
	}
}

static void end_children(struct master *m)
{
	master_end_helpers(m);
	master_end_logger(m);
}

enum process_status master_run(struct start *start)
{
	struct master m = {.start = start, .signals = -1, .now = clock_monotonic()};
	m.ended = totals_new();
	m.running = master_add_generation(&m, &start->outfit);
	start->outfit = (struct outfit){0};
	totals_know(m.ended, m.running->outfit.conf);
	m.ledger.ended_changes = 1;
	child_init(&m.logger);
	m.pid = getpid();
	m.boot_time = process_boot_time();
	title_set(&start->title, "pushgate: master (%s)", start->conf_path);
	watchdog_init(&m.watchdog);
	upgrade_init(&m.upgrade, start, &m.observe);
	trace_orders_init(&m.traces);
	reload_askers_init(&m.askers);
	master_orders_init(&m);
	start_observe(start, &m.observe);
	master_take_orders(&m);
	if (master_watch_signals(&m)) {
		start_announce(&m.running->outfit, &m.observe);
		run_until_workers_end(&m);
		const struct status status = describe(&m);
		status_log(&status, &m.observe);
		end_children(&m);
		give_last_counters(&m);
		close(m.signals);
	} else {
		m.status = PROCESS_FAILED;
		fprintf(stderr, "pushgate: cannot watch signals: %s\n", strerror(errno));
	}
	trace_orders_close(&m.traces);
	reload_askers_dismiss(&m.askers, "pushgate ends\n");
	reload_askers_close(&m.askers);
	master_close_orders(&m);
	upgrade_fini(&m.upgrade);
	master_free_generations(&m);
	return m.status;
}
