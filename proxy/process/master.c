/* SPDX-License-Identifier: MIT */
/*
 * The master forks workers and helpers, restarts those that die, passes signals on, and answers on the status
 * socket. It waits in poll(2) and reads signals from a descriptor: a forked child has no signal handlers and no
 * event loop to dismantle. It never reads a peer's bytes.
 */
#include "proxy/process/master.h"
#include "proxy/base/memory.h"
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
	struct generation *g = &m->generation;
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (!master_logger_died(m, pid, status) && !generation_helper_died(g, pid, status))
			generation_worker_died(g, pid, status);
}

/* ---- shutdown ---- */

static void drain(struct master *m)
{
	title_set(&m->start->title, "pushgate: master, draining (%s)", m->start->conf_path);
	observe_log(&m->observe, OBSERVE_INFO, "draining");
	notify_stopping(m->start->notify_fd, m->generation.outfit.conf->server.drain_timeout);
	sockets_close(&m->start->sockets, NULL);
	start_give_up_status(m->start);
	generation_drain(&m->generation);
}

static void on_deadline(struct master *m)
{
	if (m->generation.phase == GENERATION_DRAINING)
		observe_log(&m->observe, OBSERVE_WARN,
		    "drain-timeout is over: ending the remaining connections");
	generation_force(&m->generation);
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
		if (m->generation.phase == GENERATION_RUNNING)
			drain(m);
		else
			generation_force(&m->generation);
		break;
	case SIGUSR1:
		logs_reopen(&m->start->logs);
		break;
	case SIGHUP:
		observe_log(&m->observe, OBSERVE_WARN,
		    "SIGHUP: nothing is reloaded; a changed configuration needs a restart");
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
	if (o)
		generation_begin_trace(&m->generation, o);
	/* Last: a client that connects after the answer is traced from its first frame. */
	if (o)
		trace_accept(socket, &o->request);
}

/* ---- status ---- */

static struct status_process describe_child(const struct child *c, usec now)
{
	return (struct status_process){.pid = c->pid, .starts = c->starts, .up = now - c->started};
}

/* The workers, then the helpers that the text names. */
static struct status describe(struct master *m)
{
	const struct generation *g = &m->generation;
	uint32_t count = g->outfit.workers;
	for (uint32_t i = 0; i < count; i++)
		m->about[i] = describe_child(&g->workers[i].child, m->now);
	for (enum helper_id id = 0; id < HELPERS; id++) {
		if (g->helpers[id].starts == 0)
			continue;
		m->about[count] = describe_child(&g->helpers[id], m->now);
		m->about[count].name = helper_rows[id].title;
		m->about[count++].note = id == HELPER_FILES ? "files process" : NULL;
	}
	return (struct status){
	    .up = m->now - m->start->started,
	    .slots = g->outfit.slots,
	    .own_slot = m->start->slot,
	    .processes = m->about,
	    .process_count = count,
	    .worker_count = g->outfit.workers,
	    .health_table = g->outfit.health_table,
	    .conf = g->outfit.conf,
	    .trace = begin_trace,
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

/* Runs the deadline and the restarts that are due. Returns when the next one is due. */
static usec run_due_tasks(struct master *m)
{
	struct generation *g = &m->generation;
	usec next = advance_tickets(m);
	if (m->now >= g->deadline)
		on_deadline(m);
	next = clock_earlier(next, trace_orders_expire(&m->traces, m->now));
	next = clock_earlier(next, g->deadline);
	if (m->now < m->status_at)
		next = clock_earlier(next, m->status_at);
	next = clock_earlier(next, master_run_logger(m));
	next = clock_earlier(next, generation_run_helpers(g));
	return clock_earlier(next, generation_run_workers(g));
}

static void wait_for_events(struct master *m, usec until)
{
	struct generation *g = &m->generation;
	uint32_t workers = g->outfit.workers;
	struct pollfd *fds = m->fds;
	fds[0] = (struct pollfd){.fd = m->signals, .events = POLLIN};
	fds[1] = (struct pollfd){
	    .fd = m->now < m->status_at ? -1 : m->start->status_fd, .events = POLLIN};
	for (uint32_t i = 0; i < workers; i++)
		fds[2 + i] =
		    (struct pollfd){.fd = g->workers[i].child.control.socket, .events = POLLIN};
	int timeout = -1;
	if (until != USEC_NEVER)
		timeout = until > m->now ? (int)((until - m->now) / USEC_PER_MSEC) + 1 : 0;
	/* No more than there are: poll(2) takes at most as many as the process may have open. */
	uint32_t count = 2 + workers, at[HELPERS] = {0};
	for (enum helper_id id = 0; id < HELPERS; id++) {
		int socket = g->helpers[id].control.socket;
		if (socket >= 0)
			fds[at[id] = count++] = (struct pollfd){.fd = socket, .events = POLLIN};
	}
	int n = poll(fds, count, timeout);
	m->now = clock_monotonic();
	if (n <= 0)
		return;
	/* Read a worker's messages before SIGCHLD closes its socket. */
	for (uint32_t i = 0; i < workers; i++)
		if (fds[2 + i].revents)
			generation_read_worker(g, i);
	for (enum helper_id id = 0; id < HELPERS; id++)
		if (at[id] && fds[at[id]].revents)
			generation_read_helper(g, id);
	if (fds[1].revents)
		serve_status(m);
	if (fds[0].revents)
		master_read_signals(m);
}

static void run_until_workers_end(struct master *m)
{
	while (
	    m->generation.phase == GENERATION_RUNNING || generation_has_workers(&m->generation)) {
		usec next = run_due_tasks(m);
		wait_for_events(m, next);
	}
}

enum process_status master_run(struct start *start)
{
	uint32_t workers = start->outfit.workers;
	struct master m = {.start = start, .signals = -1, .now = clock_monotonic()};
	m.generation =
	    (struct generation){.master = &m, .outfit = start->outfit, .deadline = USEC_NEVER};
	start->outfit = (struct outfit){0};
	generation_workers_init(&m.generation);
	generation_helpers_init(&m.generation);
	child_init(&m.logger);
	m.about = memory_zalloc((workers + HELPERS) * sizeof(*m.about));
	m.fds = memory_zalloc((workers + 2 + HELPERS) * sizeof(*m.fds));
	m.pid = getpid();
	title_set(&start->title, "pushgate: master (%s)", start->conf_path);
	trace_orders_init(&m.traces);
	start_observe(start, &m.observe);
	if (watch_signals(&m)) {
		start_announce(&m.generation.outfit, &m.observe);
		run_until_workers_end(&m);
		const struct status status = describe(&m);
		status_log(&status, &m.observe);
		generation_end_helpers(&m.generation);
		master_end_logger(&m);
		close(m.signals);
	} else {
		m.status = PROCESS_FAILED;
		fprintf(stderr, "pushgate: cannot watch signals: %s\n", strerror(errno));
	}
	generation_helpers_fini(&m.generation);
	trace_orders_close(&m.traces);
	generation_workers_fini(&m.generation);
	outfit_close(&m.generation.outfit);
	free(m.about);
	free(m.fds);
	return m.status;
}
