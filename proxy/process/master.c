/* SPDX-License-Identifier: MIT */
/*
 * The master forks workers and helpers, restarts those that die, passes signals on, and answers on the status
 * socket. It waits in poll(2) and reads signals from a descriptor: a forked child has no signal handlers and no
 * event loop to dismantle. It never reads a peer's bytes.
 */
#include "proxy/process/master.h"
#include "proxy/process/notify.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- deaths ---- */

static void reap(struct master *m)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		bool is_known = master_logger_died(m, pid, status);
		for (uint32_t i = 0; !is_known && i < m->generation_count; i++)
			is_known = generation_helper_died(m->generations[i], pid, status) ||
				   generation_worker_died(m->generations[i], pid, status);
	}
}

/* ---- shutdown ---- */

/* It ends: no generation takes over any more. */
static void refuse_reloads(struct master *m)
{
	if (m->coming)
		master_give_up(m, "pushgate ends");
	m->reload_is_due = false;
	reload_askers_dismiss(&m->askers, "pushgate ends\n");
}

static void drain(struct master *m)
{
	title_set(&m->start->title, "pushgate: master, draining (%s)", m->start->conf_path);
	observe_log(&m->observe, OBSERVE_INFO, "draining");
	refuse_reloads(m);
	notify_stopping(m->start->notify_fd, m->running->outfit.conf->server.drain_timeout);
	sockets_close(&m->start->sockets, NULL);
	start_give_up_status(m->start);
	generation_drain(m->running);
	/* Who has told pushgate to end does not wait for the tunnels of older generations. */
	for (uint32_t i = 0; i < m->generation_count; i++)
		m->generations[i]->deadline =
		    clock_earlier(m->generations[i]->deadline, m->running->deadline);
}

/* Balancers in front see at /readyz that they should go elsewhere, while all else goes on as before. */
static void delay_drain(struct master *m, usec delay)
{
	usec timeout = m->running->outfit.conf->server.drain_timeout;
	unsigned long long seconds = (delay + USEC_PER_SEC - 1) / USEC_PER_SEC;
	title_set(&m->start->title, "pushgate: master, about to drain (%s)", m->start->conf_path);
	observe_log(&m->observe, OBSERVE_INFO, "draining in %llu s (drain-delay)", seconds);
	refuse_reloads(m);
	notify_stopping(m->start->notify_fd, timeout > 0 ? delay + timeout : 0);
}

/* It is told to end for the first time, or while the drain is delayed. */
static void end(struct master *m)
{
	usec delay = m->drain_at ? 0 : m->running->outfit.conf->server.drain_delay;
	m->drain_at = m->now + delay;
	atomic_store(&m->start->readiness->will_drain, true);
	if (delay > 0)
		delay_drain(m, delay);
	else
		drain(m);
}

/* ---- signals ---- */

static void obey_signal(struct master *m, uint32_t number)
{
	switch (number) {
	case SIGCHLD:
		reap(m);
		break;
	case SIGTERM:
	case SIGINT:
		if (m->running->phase == GENERATION_RUNNING)
			end(m);
		else
			master_force(m);
		break;
	case SIGUSR1:
		logs_reopen(&m->start->logs);
		break;
	case SIGHUP:
		m->reload_is_due = true;
		break;
	}
}

void master_read_signals(struct master *m)
{
	struct signalfd_siginfo info;
	while (read(m->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		obey_signal(m, info.ssi_signo);
}

static bool watch_signals(struct master *m)
{
	sigset_t set = start_signals(SIG_BLOCK);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	m->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return m->signals >= 0;
}

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
}

/* ---- status ---- */

/* starts: of processes of that name before it. */
static struct status_process describe_child(const struct child *c, uint32_t starts, usec now)
{
	return (struct status_process){
	    .pid = c->pid, .starts = starts + c->starts, .up = now - c->started};
}

/* What older generations have counted, and the workers that they still have. Returns the number of processes. */
static uint32_t describe_others(struct master *m, uint32_t count)
{
	totals_free(m->others);
	m->others = totals_new();
	totals_add_totals(m->others, m->ended);
	for (uint32_t n = 0; n < m->generation_count; n++) {
		const struct generation *g = m->generations[n];
		if (g == m->running)
			continue;
		totals_add(m->others, generation_counted_conf(g), g->outfit.slots,
		    g->outfit.workers, false);
		for (uint32_t i = 0; i < g->outfit.workers; i++) {
			if (!g->workers[i].child.pid)
				continue;
			snprintf(m->names[count], sizeof(m->names[count]),
			    "worker %u of generation %u", i, g->number);
			m->about[count] = describe_child(&g->workers[i].child, 0, m->now);
			m->about[count].note = m->about[count].name = m->names[count];
			count++;
		}
	}
	return count;
}

/* The workers, then the helpers that the text names. */
static struct status describe(struct master *m)
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
	return (struct status){
	    .others = m->others,
	    .up = m->now - m->start->started,
	    .slots = g->outfit.slots,
	    .own_slot = m->start->slot,
	    .processes = m->about,
	    .process_count = count,
	    .worker_count = g->outfit.workers,
	    .health_table = g->outfit.health_table,
	    .orders = g->outfit.orders,
	    .conf = g->outfit.conf,
	    .last_reload = &m->last_reload,
	    .trace = begin_trace,
	    .drains_in = m->drain_at > m->now ? m->drain_at - m->now : 0,
	    .reload = ask_for_reload,
	    .server = master_order_server,
	    .trace_context = m,
	};
}

static void serve_status(struct master *m)
{
	const struct status status = describe(m);
	if (!status_serve(m->start->status_fd, &status))
		m->status_at = m->now + STATUS_PAUSE_USEC;
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
	if (m->coming || m->running->phase != GENERATION_RUNNING || !m->running->was_ready ||
	    m->generation_count > GENERATIONS_MOST)
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
static usec run_drain_delay(struct master *m)
{
	if (!m->drain_at || m->running->phase != GENERATION_RUNNING)
		return USEC_NEVER;
	if (m->reload_is_due)
		refuse_reloads(m);
	if (m->now >= m->drain_at)
		drain(m);
	return m->drain_at;
}

/* Runs deadlines and restarts that are due. Returns when the next one is due. */
static usec run_due_tasks(struct master *m)
{
	usec next = clock_earlier(advance_tickets(m), run_drain_delay(m));
	atomic_store(&m->start->readiness->accepting, master_count_accepting(m));
	next = clock_earlier(next, trace_orders_expire(&m->traces, m->now));
	if (m->now < m->status_at)
		next = clock_earlier(next, m->status_at);
	next = clock_earlier(next, master_run_logger(m));
	next = clock_earlier(next, master_run_orders(m));
	next = clock_earlier(next, run_reload(m));
	return clock_earlier(next, master_run_generations(m));
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

static void wait_for_events(struct master *m, usec until)
{
	struct pollfd *fds = m->fds;
	fds[0] = (struct pollfd){.fd = m->signals, .events = POLLIN};
	fds[1] = (struct pollfd){
	    .fd = m->now < m->status_at ? -1 : m->start->status_fd, .events = POLLIN};
	uint32_t count = watch_children(m, 2);
	int timeout = -1;
	if (until != USEC_NEVER)
		timeout = until > m->now ? (int)((until - m->now) / USEC_PER_MSEC) + 1 : 0;
	int n = poll(fds, count, timeout);
	m->now = clock_monotonic();
	if (n <= 0)
		return;
	/* Read a worker's messages before SIGCHLD closes its socket. */
	for (uint32_t i = 2; i < count; i++) {
		const struct watched *w = &m->watched[i];
		if (fds[i].revents && w->is_helper)
			generation_read_helper(w->generation, (enum helper_id)w->index);
		else if (fds[i].revents)
			generation_read_worker(w->generation, w->index);
	}
	if (fds[1].revents)
		serve_status(m);
	if (fds[0].revents)
		master_read_signals(m);
}

static void run_until_workers_end(struct master *m)
{
	while (m->running->phase == GENERATION_RUNNING || master_has_workers(m)) {
		usec next = run_due_tasks(m);
		wait_for_events(m, next);
	}
}

void master_wait_for_signal(struct master *m, usec until)
{
	struct pollfd fd = {.fd = m->signals, .events = POLLIN};
	int timeout = until > m->now ? (int)((until - m->now) / USEC_PER_MSEC) + 1 : 0;
	poll(&fd, 1, until == USEC_NEVER ? -1 : timeout);
	m->now = clock_monotonic();
	master_read_signals(m);
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
	child_init(&m.logger);
	m.pid = getpid();
	title_set(&start->title, "pushgate: master (%s)", start->conf_path);
	trace_orders_init(&m.traces);
	reload_askers_init(&m.askers);
	master_orders_init(&m);
	start_observe(start, &m.observe);
	if (watch_signals(&m)) {
		start_announce(&m.running->outfit, &m.observe);
		run_until_workers_end(&m);
		const struct status status = describe(&m);
		status_log(&status, &m.observe);
		end_children(&m);
		close(m.signals);
	} else {
		m.status = PROCESS_FAILED;
		fprintf(stderr, "pushgate: cannot watch signals: %s\n", strerror(errno));
	}
	trace_orders_close(&m.traces);
	reload_askers_dismiss(&m.askers, "pushgate ends\n");
	reload_askers_close(&m.askers);
	master_close_orders(&m);
	master_free_generations(&m);
	return m.status;
}
