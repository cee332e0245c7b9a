/* SPDX-License-Identifier: MIT */
/*
 * The workers as the master sees them: what they say, what they are told, their deaths, and which
 * sibling accepts from the sockets of one that is down.
 */
#include "proxy/base/memory.h"
#include "proxy/process/master.h"
#include "proxy/process/notify.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

void master_slots_init(struct master *m)
{
	m->slots = memory_zalloc(m->start->workers * sizeof(*m->slots));
	for (uint32_t i = 0; i < m->start->workers; i++)
		child_init(&m->slots[i].child);
}

void master_slots_fini(struct master *m)
{
	for (uint32_t i = 0; i < m->start->workers; i++)
		control_close(&m->slots[i].child.control);
	free(m->slots);
}

bool master_tell_worker(
    const struct master *m, uint32_t index, const struct message *message, int fd)
{
	int socket = m->slots[index].child.control.socket;
	return socket >= 0 && message_send(socket, message, fd);
}

/* ---- sockets of dead workers ---- */

/* False: the candidate is not up, or does not read its messages. */
static bool ask_to_adopt(const struct master *m, uint32_t candidate, uint32_t dead)
{
	const struct message message = {.kind = MESSAGE_ADOPT, .worker = dead};
	return m->slots[candidate].child.control.is_ready &&
	       master_tell_worker(m, candidate, &message, -1);
}

/*
 * The kernel keeps giving a dead worker's sockets their share of new connections. A sibling
 * therefore accepts from these sockets too. It continues when the worker is back: two processes may
 * accept from one socket.
 */
void master_find_adopters(struct master *m)
{
	uint32_t count = m->start->workers;
	for (uint32_t i = 0; i < count; i++) {
		struct worker_slot *slot = &m->slots[i];
		if (slot->child.pid || slot->is_adopted)
			continue;
		for (uint32_t step = 1; step < count && !slot->is_adopted; step++) {
			uint32_t candidate = (i + step) % count;
			if (!ask_to_adopt(m, candidate, i))
				continue;
			slot->adopter = candidate;
			slot->is_adopted = true;
		}
	}
}

static void forget_adopter(struct master *m, uint32_t dead)
{
	for (uint32_t i = 0; i < m->start->workers; i++)
		if (m->slots[i].is_adopted && m->slots[i].adopter == dead)
			m->slots[i].is_adopted = false;
}

/* ---- deaths ---- */

/* The counters outlive the worker, but its connections and requests do not. */
static void clear_gauges(struct observe_counters *c)
{
#define CLEAR(name, text) c->name = 0;
	OBSERVE_GAUGES(CLEAR)
#undef CLEAR
	memset(c->push_off_until, 0, sizeof(c->push_off_until));
	memset(c->push_off_connections_open, 0, sizeof(c->push_off_connections_open));
}

void master_worker_died(struct master *m, uint32_t index, int status)
{
	struct worker_slot *slot = &m->slots[index];
	bool was_ready = slot->child.control.is_ready;
	pid_t pid = slot->child.pid;
	char how[128];
	child_describe_end(status, how);
	control_close(&slot->child.control);
	slot->child.pid = 0;
	memset(slot->is_linked, 0, sizeof(slot->is_linked));
	clear_gauges(&m->start->slots[index]);
	if (m->start->health_table)
		health_table_forget(m->start->health_table, index);
	forget_adopter(m, index);
	if (m->phase != MASTER_RUNNING) {
		if (status != 0)
			observe_log(&m->observe, OBSERVE_WARN, "worker %u (process %d) %s", index,
			    (int)pid, how);
		return;
	}
	if (!m->was_ready && !was_ready && WIFEXITED(status) &&
	    WEXITSTATUS(status) == WORKER_CANNOT_START) {
		/*
		 * The worker has logged why. Since no worker has ever been ready, a restart would
		 * fail too: end.
		 */
		m->status = PROCESS_BAD_CONF;
		master_force(m);
		return;
	}
	usec wait = child_died(&slot->child, m->now);
	observe_log(&m->observe, OBSERVE_ERROR,
	    "worker %u (process %d) %s; it is started again in %llu ms", index, (int)pid, how,
	    (unsigned long long)(wait / USEC_PER_MSEC));
	if (wait > 0)
		master_find_adopters(m);
}

/* ---- what workers say ---- */

static void worker_is_ready(struct master *m, uint32_t index)
{
	const struct child *c = &m->slots[index].child;
	/* It may have missed traces that are on. */
	master_send_traces(m, index);
	if (!m->was_ready) {
		observe_log(&m->observe, OBSERVE_INFO, "ready");
		notify_ready(m->start->notify_fd);
	} else if (c->starts > 1) {
		observe_log(&m->observe, OBSERVE_INFO, "worker %u (process %d) is up again", index,
		    (int)c->pid);
	}
	m->was_ready = true;
	master_find_adopters(m);
}

void master_read_worker(struct master *m, uint32_t index)
{
	uint32_t object;
	int fd;
	while (control_hear(&m->slots[index].child.control, NULL, m->now, &object, &fd) ==
	       CONTROL_READY)
		worker_is_ready(m, index);
}

usec master_enforce_workers(struct master *m)
{
	usec next = USEC_NEVER;
	for (uint32_t i = 0; i < m->start->workers; i++) {
		struct child *c = &m->slots[i].child;
		char name[32];
		snprintf(name, sizeof(name), "worker %u", i);
		next = clock_earlier(
		    next, control_enforce(&c->control, c->pid, name, &m->observe, m->now));
	}
	return next;
}
