/* SPDX-License-Identifier: MIT */
/*
 * The signals that the master obeys, and its end. It reads them from a descriptor: a forked child has no signal handlers.
 */
#include "proxy/base/descriptor.h"
#include "proxy/process/master.h"
#include "proxy/process/notify.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- deaths ---- */

static bool keeper_died(struct master *m, pid_t pid, int status)
{
	if (!upgrade_died(&m->upgrade, pid, status))
		return false;
	/* Now the service manager is the other program's parent, and learns of its end. */
	if (m->upgrade.phase == UPGRADE_OVER)
		notify_main_pid(m->start->notify_fd, m->upgrade.pid);
	return true;
}

static void reap(struct master *m)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		bool is_known = master_logger_died(m, pid, status) || keeper_died(m, pid, status);
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
	if (m->upgrade.phase == UPGRADE_UNDER_WAY)
		upgrade_fini(&m->upgrade);
	m->reload_is_due = m->upgrade.is_due = false;
	reload_askers_dismiss(&m->askers, "pushgate ends\n");
	reload_askers_dismiss(&m->upgrade.askers, "pushgate ends\n");
}

static void drain(struct master *m)
{
	title_set(&m->start->title, "pushgate: master, draining (%s)", m->start->conf_path);
	observe_log(&m->observe, OBSERVE_INFO, "draining");
	refuse_reloads(m);
	/* Who has told this process to end does not wait for the one before it. */
	descriptor_close(&m->start->predecessor.socket);
	notify_stopping(
	    m->start->notify_fd, "draining", m->running->outfit.conf->server.drain_timeout);
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
	notify_stopping(m->start->notify_fd, "about to drain", timeout > 0 ? delay + timeout : 0);
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

void master_hasten(struct master *m)
{
	usec limit = m->running->outfit.conf->server.drain_timeout;
	m->is_hastened = true;
	descriptor_close(&m->start->predecessor.socket);
	for (uint32_t i = 0; limit > 0 && i < m->generation_count; i++)
		m->generations[i]->deadline =
		    clock_earlier(m->generations[i]->deadline, clock_after(m->now, limit));
}

/* ---- signals ---- */

void master_reopen_logs(struct master *m)
{
	int predecessor = m->start->predecessor.socket;
	logs_reopen(&m->start->logs);
	/* Its last clients are in the same logs. */
	if (predecessor >= 0)
		handover_say_reopen(predecessor);
}

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
		else if (m->upgrade.phase == UPGRADE_OVER && !m->is_hastened)
			master_hasten(m);
		else
			master_force(m);
		break;
	case SIGUSR1:
		master_reopen_logs(m);
		break;
	case SIGUSR2:
		m->upgrade.is_due = true;
		break;
	case SIGHUP:
		m->reload_is_due = true;
		m->reload_is_of_files = false;
		break;
	}
}

void master_read_signals(struct master *m)
{
	struct signalfd_siginfo info;
	while (read(m->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		obey_signal(m, info.ssi_signo);
}

bool master_watch_signals(struct master *m)
{
	sigset_t set = start_signals(SIG_BLOCK);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	m->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return m->signals >= 0;
}

void master_wait_for_signal(struct master *m, usec until)
{
	struct pollfd fd = {.fd = m->signals, .events = POLLIN};
	int timeout = until > m->now ? (int)((until - m->now) / USEC_PER_MSEC) + 1 : 0;
	poll(&fd, 1, until == USEC_NEVER ? -1 : timeout);
	m->now = clock_monotonic();
	master_read_signals(m);
}

/* ---- the delay before the end ---- */

usec master_run_drain_delay(struct master *m)
{
	if (!m->drain_at || m->running->phase != GENERATION_RUNNING)
		return USEC_NEVER;
	if (m->reload_is_due || m->upgrade.is_due)
		refuse_reloads(m);
	if (m->now >= m->drain_at)
		drain(m);
	return m->drain_at;
}
