/* SPDX-License-Identifier: MIT */
/*
 * The master's side of the password process, which runs if some [access NAME] section has `users`. Workers start without
 * it: what they ask waits until they are connected with it (gateway/users.c).
 */
#include "proxy/process/master.h"
#include "proxy/process/passwords.h"
#include <sys/wait.h>
#include <unistd.h>

/* Until a worker's socket to it is tried again. */
#define LINK_AGAIN_USEC USEC_PER_SEC

void master_passwords_init(struct master *m)
{
	control_init(&m->passwords.control);
	m->passwords.start_at = passwords_are_needed(m->start->conf) ? 0 : USEC_NEVER;
}

void master_end_passwords(struct master *m)
{
	control_close(&m->passwords.control);
	for (uint32_t i = 0; i < m->start->workers; i++)
		m->slots[i].has_passwords = false;
}

void master_passwords_died(struct master *m, int status)
{
	char how[128];
	m->passwords.pid = 0;
	master_end_passwords(m);
	if (m->phase == MASTER_ENDED)
		return;
	if (m->phase == MASTER_RUNNING && !m->was_ready && WIFEXITED(status) &&
	    WEXITSTATUS(status) == PASSWORDS_CANNOT_START) {
		/* It has logged why, and another one would say the same: end. */
		m->passwords.start_at = USEC_NEVER;
		m->status = PROCESS_BAD_CONF;
		master_force(m);
		return;
	}
	usec wait = backoff_after_death(&m->passwords.backoff, m->now - m->passwords.started);
	m->passwords.start_at = m->now + wait;
	observe_log(&m->observe, OBSERVE_ERROR,
	    "the password process %s; it is started again in %llu ms",
	    master_describe_end(status, how, sizeof(how)),
	    (unsigned long long)(wait / USEC_PER_MSEC));
}

void master_read_passwords(struct master *m)
{
	uint32_t object;
	int fd;
	(void)control_hear(&m->passwords.control, NULL, m->now, &object, &fd);
}

static usec connect_workers(struct master *m)
{
	usec next = USEC_NEVER;
	for (uint32_t i = 0; m->passwords.control.is_ready && i < m->start->workers; i++) {
		struct worker_slot *slot = &m->slots[i];
		if (slot->control.socket < 0 || slot->has_passwords)
			continue;
		slot->has_passwords = master_connect_worker(m, &m->passwords, MESSAGE_PASSWORDS, i);
		if (!slot->has_passwords)
			next = m->now + LINK_AGAIN_USEC;
	}
	return next;
}

/* While workers drain, their last requests may still need it. */
usec master_run_passwords(struct master *m)
{
	bool may_start = m->phase <= MASTER_DRAINING && !m->passwords.pid;
	if (may_start && m->now >= m->passwords.start_at)
		master_start_passwords(m);
	usec next = connect_workers(m);
	usec due = control_enforce(
	    &m->passwords.control, m->passwords.pid, "the password process", &m->observe, m->now);
	if (due < next)
		next = due;
	if (may_start && !m->passwords.pid && m->passwords.start_at < next)
		next = m->passwords.start_at;
	return next;
}
