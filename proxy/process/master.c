/* SPDX-License-Identifier: MIT */
/*
 * The master forks workers and helpers, restarts those that die, passes signals on, and answers on
 * the status socket. It waits in poll(2) and reads signals from a descriptor, so it has no signal
 * handlers and no event loop that a forked child would have to dismantle. It never reads a peer's
 * bytes.
 *
 *   RUNNING ──TERM/INT──→ DRAINING ──TERM/INT, or the deadline──→ FORCED (killed a second later)
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

/*
 * How long a worker may take beyond drain-timeout to close its connections; then, how long after
 * MESSAGE_QUIT until it is killed.
 */
#define DRAIN_GRACE_USEC (2 * USEC_PER_SEC)
#define QUIT_GRACE_USEC USEC_PER_SEC

static void send_to_all(const struct master *m, enum message_kind kind)
{
	const struct message message = {.kind = kind};
	for (uint32_t i = 0; i < m->start->workers; i++)
		(void)master_tell_worker(m, i, &message, -1);
}

/* ---- deaths ---- */

static void reap(struct master *m)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (master_helper_died(m, pid, status))
			continue;
		for (uint32_t i = 0; i < m->start->workers; i++)
			if (m->slots[i].child.pid == pid)
				master_worker_died(m, i, status);
	}
}

/* ---- shutdown ---- */

static void drain(struct master *m)
{
	usec limit = m->start->conf->server.drain_timeout;
	m->phase = MASTER_DRAINING;
	title_set(&m->start->title, "pushgate: master, draining (%s)", m->start->conf_path);
	m->deadline = limit ? m->now + limit + DRAIN_GRACE_USEC : USEC_NEVER;
	observe_log(&m->observe, OBSERVE_INFO, "draining");
	notify_stopping(m->start->notify_fd, limit);
	sockets_close(&m->start->sockets);
	start_give_up_status(m->start);
	send_to_all(m, MESSAGE_DRAIN);
}

void master_force(struct master *m)
{
	m->phase = MASTER_FORCED;
	m->deadline = m->now + QUIT_GRACE_USEC;
	send_to_all(m, MESSAGE_QUIT);
}

static void kill_workers(struct master *m)
{
	for (uint32_t i = 0; i < m->start->workers; i++)
		if (m->slots[i].child.pid)
			kill(m->slots[i].child.pid, SIGKILL);
	m->deadline = USEC_NEVER;
}

static void on_deadline(struct master *m)
{
	if (m->phase == MASTER_DRAINING) {
		observe_log(&m->observe, OBSERVE_WARN,
		    "drain-timeout is over: ending the remaining connections");
		master_force(m);
	} else {
		kill_workers(m);
	}
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
		if (m->phase == MASTER_RUNNING)
			drain(m);
		else if (m->phase == MASTER_DRAINING)
			master_force(m);
		else
			kill_workers(m);
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
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	m->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return m->signals >= 0;
}

/* ---- traces ---- */

static void send_trace(const struct master *m, uint32_t worker, const struct trace_order *o)
{
	const struct message message = {
	    .kind = MESSAGE_TRACE, .from = o->request.from, .until = o->until};
	(void)master_tell_worker(m, worker, &message, o->socket);
}

static void begin_trace(void *context, struct slice name, int socket)
{
	struct master *m = context;
	const struct trace_order *o = trace_orders_add(&m->traces, name, socket, m->now);
	for (uint32_t i = 0; o && i < m->start->workers; i++)
		if (m->slots[i].child.control.is_ready)
			send_trace(m, i, o);
	/* Last: a client that connects after the answer is traced from its first frame. */
	if (o)
		trace_accept(socket, &o->request);
}

void master_send_traces(struct master *m, uint32_t worker)
{
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		if (m->traces.orders[i].socket >= 0)
			send_trace(m, worker, &m->traces.orders[i]);
}

/* ---- status ---- */

static struct status_process describe_child(const struct child *c, usec now)
{
	return (struct status_process){.pid = c->pid, .starts = c->starts, .up = now - c->started};
}

/* The workers, then the helpers that the text names. */
static struct status describe(struct master *m)
{
	uint32_t count = m->start->workers;
	for (uint32_t i = 0; i < count; i++)
		m->about[i] = describe_child(&m->slots[i].child, m->now);
	for (enum helper_id id = HELPER_FILES; id < HELPERS; id++) {
		if (m->helpers[id].starts == 0)
			continue;
		m->about[count] = describe_child(&m->helpers[id], m->now);
		m->about[count].name = helper_row(id)->title;
		m->about[count++].note = id == HELPER_FILES ? "files process" : NULL;
	}
	return (struct status){
	    .up = m->now - m->start->started,
	    .slots = m->start->slots,
	    .processes = m->about,
	    .process_count = count,
	    .worker_count = m->start->workers,
	    .health_table = m->start->health_table,
	    .conf = m->start->conf,
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

static bool any_worker(const struct master *m)
{
	for (uint32_t i = 0; i < m->start->workers; i++)
		if (m->slots[i].child.pid)
			return true;
	return false;
}

/* Runs the deadline and the restarts that are due. Returns when the next one is due. */
static usec run_due_tasks(struct master *m)
{
	usec tickets_at = master_advance_tickets(m);
	if (m->now >= m->deadline)
		on_deadline(m);
	usec next = clock_earlier(trace_orders_expire(&m->traces, m->now), tickets_at);
	next = clock_earlier(next, m->deadline);
	if (m->now < m->status_at)
		next = clock_earlier(next, m->status_at);
	next = clock_earlier(next, master_run_helpers(m));
	next = clock_earlier(next, master_enforce_workers(m));
	bool may_start = m->phase == MASTER_RUNNING && master_may_start_workers(m);
	for (uint32_t i = 0; may_start && i < m->start->workers; i++) {
		const struct child *c = &m->slots[i].child;
		if (!c->pid && m->now >= c->start_at)
			master_start_worker(m, i);
		if (!c->pid)
			next = clock_earlier(next, c->start_at);
	}
	return next;
}

static void wait_for_events(struct master *m, usec until)
{
	uint32_t workers = m->start->workers;
	struct pollfd *fds = m->fds;
	fds[0] = (struct pollfd){.fd = m->signals, .events = POLLIN};
	fds[1] = (struct pollfd){
	    .fd = m->now < m->status_at ? -1 : m->start->status_fd, .events = POLLIN};
	for (uint32_t i = 0; i < workers; i++)
		fds[2 + i] =
		    (struct pollfd){.fd = m->slots[i].child.control.socket, .events = POLLIN};
	int timeout = -1;
	if (until != USEC_NEVER)
		timeout = until > m->now ? (int)((until - m->now) / USEC_PER_MSEC) + 1 : 0;
	/* No more than there are: poll(2) takes at most as many as the process may have open. */
	uint32_t count = 2 + workers, at[HELPERS] = {0};
	for (enum helper_id id = 0; id < HELPERS; id++) {
		int socket = m->helpers[id].control.socket;
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
			master_read_worker(m, i);
	for (enum helper_id id = 0; id < HELPERS; id++)
		if (at[id] && fds[at[id]].revents)
			master_read_helper(m, id);
	if (fds[1].revents)
		serve_status(m);
	if (fds[0].revents)
		master_read_signals(m);
}

static void run_until_workers_end(struct master *m)
{
	while (m->phase == MASTER_RUNNING || any_worker(m)) {
		usec next = run_due_tasks(m);
		wait_for_events(m, next);
	}
}

enum process_status master_run(struct start *start)
{
	uint32_t workers = start->workers;
	struct master m = {
	    .start = start, .signals = -1, .deadline = USEC_NEVER, .now = clock_monotonic()};
	master_slots_init(&m);
	m.about = memory_zalloc((workers + HELPERS) * sizeof(*m.about));
	m.fds = memory_zalloc((workers + 2 + HELPERS) * sizeof(*m.fds));
	m.pid = getpid();
	title_set(&start->title, "pushgate: master (%s)", start->conf_path);
	trace_orders_init(&m.traces);
	master_helpers_init(&m);
	start_observe(start, &m.observe);
	if (watch_signals(&m)) {
		start_announce(start, &m.observe);
		run_until_workers_end(&m);
		const struct status status = describe(&m);
		status_log(&status, &m.observe);
		master_end_helpers(&m);
		close(m.signals);
	} else {
		m.status = PROCESS_FAILED;
		fprintf(stderr, "pushgate: cannot watch signals: %s\n", strerror(errno));
	}
	master_helpers_fini(&m);
	trace_orders_close(&m.traces);
	master_slots_fini(&m);
	free(m.about);
	free(m.fds);
	return m.status;
}
