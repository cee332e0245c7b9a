/* SPDX-License-Identifier: MIT */
/*
 * The workers as the master sees them: messages in both directions, deaths, and the sibling that accepts
 * from the sockets of a worker that is down.
 */
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/process/master.h"
#include "proxy/process/notify.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* How long a worker may take beyond drain-timeout to close its connections. */
#define DRAIN_GRACE_USEC (2 * USEC_PER_SEC)
/* How long after MESSAGE_QUIT a worker that has not ended is killed. */
#define QUIT_GRACE_USEC USEC_PER_SEC

void generation_workers_init(struct generation *g)
{
	g->workers = memory_zalloc(g->outfit.workers * sizeof(*g->workers));
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		child_init(&g->workers[i].child);
}

void generation_workers_fini(struct generation *g)
{
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		control_close(&g->workers[i].child.control);
	free(g->workers);
}

bool generation_tell_worker(
    const struct generation *g, uint32_t index, const struct message *message, int fd)
{
	return control_tell(&g->workers[index].child.control, message, fd);
}

static void tell_all(const struct generation *g, enum message_kind kind)
{
	const struct message message = {.kind = kind};
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		(void)generation_tell_worker(g, i, &message, -1);
}

void generation_empty_sections(const struct generation *g)
{
	const struct sockets_share *share = &g->outfit.share;
	for (uint32_t section = 0; section < g->outfit.conf->listen_count; section++) {
		const struct message message = {.kind = MESSAGE_EMPTY, .worker = section};
		for (uint32_t i = 0; !sockets_is_shared(share, section) && i < g->outfit.workers;
		     i++)
			(void)generation_tell_worker(g, i, &message, -1);
	}
}

void generation_drain(struct generation *g)
{
	const struct conf_server *s = &g->outfit.conf->server;
	usec end = clock_after(g->master->now, s->drain_timeout);
	usec long_end = clock_after(g->master->now, s->tunnel_drain_timeout);
	/* Nobody waits for the end of a generation that is superseded. */
	if (g->is_superseded && s->tunnel_drain_timeout && long_end > end)
		end = long_end;
	g->phase = GENERATION_DRAINING;
	g->deadline = clock_after(end, DRAIN_GRACE_USEC);
	tell_all(g, g->is_superseded ? MESSAGE_RETIRE : MESSAGE_DRAIN);
}

static void kill_all(struct generation *g)
{
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		if (g->workers[i].child.pid)
			kill(g->workers[i].child.pid, SIGKILL);
	g->deadline = USEC_NEVER;
}

void generation_force(struct generation *g)
{
	/* Its deadline is that of its helpers. */
	if (g->phase == GENERATION_ENDED)
		return;
	if (g->phase == GENERATION_FORCED) {
		kill_all(g);
		return;
	}
	g->phase = GENERATION_FORCED;
	g->deadline = g->master->now + QUIT_GRACE_USEC;
	tell_all(g, MESSAGE_QUIT);
}

bool generation_workers_are_ready(const struct generation *g)
{
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		if (!g->workers[i].child.control.is_ready)
			return false;
	return true;
}

/* Lets the worker accept from its own sockets, and look at the health table. */
static void tell_to_begin(const struct generation *g, uint32_t index)
{
	const struct message message = {.kind = MESSAGE_ADOPT, .worker = index};
	(void)generation_tell_worker(g, index, &message, -1);
}

void generation_accept(struct generation *g)
{
	for (uint32_t i = 0; i < g->outfit.workers; i++) {
		if (g->workers[i].is_waiting)
			tell_to_begin(g, i);
		g->workers[i].is_waiting = false;
	}
}

void generation_look_at_health(struct generation *g)
{
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		if (g->workers[i].child.control.is_ready)
			tell_to_begin(g, i);
}

bool generation_has_workers(const struct generation *g)
{
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		if (g->workers[i].child.pid)
			return true;
	return false;
}

/* ---- questions of the watchdog ---- */

bool generation_is_alive(struct generation *g)
{
	static const struct message message = {.kind = MESSAGE_ALIVE};
	bool are_alive = true;
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		if (g->workers[i].child.control.is_ready)
			are_alive &= g->workers[i].child.control.is_alive;
	for (uint32_t i = 0; i < g->outfit.workers; i++) {
		struct control *c = &g->workers[i].child.control;
		if (are_alive)
			c->is_alive = false;
		if (c->is_ready && c->questions < CONTROL_QUESTIONS)
			c->questions += generation_tell_worker(g, i, &message, -1);
	}
	return are_alive;
}

/* ---- traces ---- */

static void send_trace(const struct generation *g, uint32_t index, const struct trace_order *o)
{
	const struct message message = {
	    .kind = MESSAGE_TRACE, .from = o->request.from, .until = o->until};
	(void)generation_tell_worker(g, index, &message, o->socket);
}

void generation_begin_trace(const struct generation *g, const struct trace_order *o)
{
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		if (g->workers[i].child.control.is_ready)
			send_trace(g, i, o);
}

/* ---- renewed files ---- */

/* A worker that does not read its messages is told later. */
#define TELL_AGAIN_USEC (100 * USEC_PER_MSEC)

/* Returns when to call it again. */
static usec tell_of_renewal(struct generation *g, uint32_t index)
{
	static const struct message messages[RENEWALS] = {
	    {.kind = MESSAGE_RENEW}, {.kind = MESSAGE_RENEW_LISTS}};
	const int files[RENEWALS] = {sealed_descriptor(g->outfit.conf->sealed), g->lists};
	struct worker_slot *slot = &g->workers[index];
	for (size_t i = 0; i < RENEWALS; i++) {
		if (slot->renewals[i] == g->renewals[i] || slot->child.control.socket < 0)
			continue;
		if (!generation_tell_worker(g, index, &messages[i], files[i]))
			return g->master->now + TELL_AGAIN_USEC;
		slot->renewals[i] = g->renewals[i];
	}
	return USEC_NEVER;
}

/* The process that unmaps or closes a large memory file last spends milliseconds to free it: no worker shall. */
#define FORGET_USEC (10 * USEC_PER_SEC)

static void keep_lists(struct generation *g, int lists)
{
	descriptor_close(&g->lists_before);
	g->lists_before = g->lists;
	g->lists_before_until = g->master->now + FORGET_USEC;
	g->lists = lists;
}

/* Returns when to call it again. */
static usec forget_lists(struct generation *g)
{
	if (g->lists_before >= 0 && g->master->now < g->lists_before_until)
		return g->lists_before_until;
	descriptor_close(&g->lists_before);
	return USEC_NEVER;
}

void generation_renew(struct generation *g, unsigned change, int lists)
{
	if (change & RENEWAL_OF_LISTS)
		keep_lists(g, lists);
	for (size_t i = 0; i < RENEWALS; i++)
		g->renewals[i] += change >> i & 1;
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		(void)tell_of_renewal(g, i);
}

/* ---- sockets of dead workers ---- */

/* False: the candidate is not up, or does not read its messages. */
static bool ask_to_adopt(const struct generation *g, uint32_t candidate, uint32_t dead)
{
	const struct message message = {.kind = MESSAGE_ADOPT, .worker = dead};
	return g->workers[candidate].child.control.is_ready &&
	       generation_tell_worker(g, candidate, &message, -1);
}

/*
 * The kernel keeps giving a dead worker's sockets their share of new connections: a sibling accepts from them
 * too, and goes on when the worker is back. Two processes may accept from one socket.
 */
static void find_adopters(struct generation *g)
{
	/* Its workers do not accept yet. */
	if (g->master->start->predecessor.still_serves)
		return;
	uint32_t count = g->outfit.workers;
	for (uint32_t i = 0; i < count; i++) {
		struct worker_slot *slot = &g->workers[i];
		if (slot->child.pid || slot->is_adopted)
			continue;
		for (uint32_t step = 1; step < count && !slot->is_adopted; step++) {
			uint32_t candidate = (i + step) % count;
			if (!ask_to_adopt(g, candidate, i))
				continue;
			slot->adopter = candidate;
			slot->is_adopted = true;
		}
	}
}

static void forget_adopter(struct generation *g, uint32_t dead)
{
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		if (g->workers[i].is_adopted && g->workers[i].adopter == dead)
			g->workers[i].is_adopted = false;
}

/* ---- deaths ---- */

static void worker_died(struct generation *g, uint32_t index, int status)
{
	struct worker_slot *slot = &g->workers[index];
	bool was_ready = slot->child.control.is_ready;
	pid_t pid = slot->child.pid;
	char how[128];
	child_describe_end(status, how);
	control_close(&slot->child.control);
	slot->child.pid = 0;
	g->master->ledger.pace.at = 0;
	memset(slot->is_linked, 0, sizeof(slot->is_linked));
	totals_clear_gauges(&g->outfit.slots[index]);
	limit_memories_clear(&g->outfit.limits, index);
	if (g->outfit.orders)
		server_orders_forget(g->outfit.orders, index);
	if (g->outfit.health_table)
		health_table_forget(g->outfit.health_table, index);
	forget_adopter(g, index);
	if (g->phase != GENERATION_RUNNING) {
		if (status != 0)
			observe_log(&g->master->observe, OBSERVE_WARN, "worker %u (process %d) %s",
			    index, (int)pid, how);
		return;
	}
	if (g == g->master->coming) {
		char why[192];
		snprintf(why, sizeof(why), "worker %u (process %d) %s", index, (int)pid, how);
		master_give_up(g->master, why);
		return;
	}
	if (!g->was_ready && !was_ready && WIFEXITED(status) &&
	    WEXITSTATUS(status) == WORKER_CANNOT_START) {
		/* The worker has logged why. No worker was ever ready: a restart would fail too. */
		g->master->status = PROCESS_BAD_CONF;
		generation_force(g);
		return;
	}
	usec wait = child_died(&slot->child, g->master->now);
	observe_log(&g->master->observe, OBSERVE_ERROR,
	    "worker %u (process %d) %s; it is started again in %llu ms", index, (int)pid, how,
	    (unsigned long long)(wait / USEC_PER_MSEC));
	if (wait > 0)
		find_adopters(g);
}

bool generation_worker_died(struct generation *g, pid_t pid, int status)
{
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		if (g->workers[i].child.pid == pid) {
			worker_died(g, i, status);
			return true;
		}
	return false;
}

/* ---- messages of workers ---- */

static void worker_is_ready(struct generation *g, uint32_t index)
{
	const struct child *c = &g->workers[index].child;
	/* It was given up meanwhile, or is superseded. */
	if (g->phase != GENERATION_RUNNING && g != g->master->running)
		return;
	/* It may have missed traces that are on. */
	const struct trace_order *orders = g->master->traces.orders;
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		if (orders[i].socket >= 0)
			send_trace(g, index, &orders[i]);
	if (!g->was_ready && g != g->master->coming) {
		observe_log(&g->master->observe, OBSERVE_INFO, "ready");
		if (!g->master->start->predecessor.still_serves)
			notify_ready(g->master->start->notify_fd, "serving");
	} else if (c->starts > 1) {
		observe_log(&g->master->observe, OBSERVE_INFO, "worker %u (process %d) is up again",
		    index, (int)c->pid);
	}
	g->was_ready = true;
	/* Workers of a generation that comes up do not accept yet, from whatever socket. */
	if (g != g->master->coming && g->phase == GENERATION_RUNNING)
		find_adopters(g);
}

void generation_read_worker(struct generation *g, uint32_t index)
{
	uint32_t object;
	int fd;
	enum control_heard heard;
	while ((heard = control_hear(&g->workers[index].child.control, NULL, g->master->now,
		    &object, &fd)) != CONTROL_NOTHING)
		if (heard == CONTROL_READY)
			worker_is_ready(g, index);
}

/* ---- starts ---- */

/* Kills the worker if it has misbehaved, starts it if it is due. Returns when to call it again. */
static usec run_worker(struct generation *g, uint32_t index, bool may_start)
{
	struct master *m = g->master;
	struct child *c = &g->workers[index].child;
	char name[32];
	snprintf(name, sizeof(name), "worker %u", index);
	usec next = control_enforce(&c->control, c->pid, name, &m->observe, m->now);
	next = clock_earlier(next, tell_of_renewal(g, index));
	if (may_start && !c->pid && m->now >= c->start_at)
		generation_start_worker(g, index);
	return may_start && !c->pid ? clock_earlier(next, c->start_at) : next;
}

usec generation_run_workers(struct generation *g)
{
	usec next = forget_lists(g);
	bool may_start = g->phase == GENERATION_RUNNING && generation_may_start_workers(g);
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		next = clock_earlier(next, run_worker(g, i, may_start));
	return next;
}
