/* SPDX-License-Identifier: MIT */
/* The list of generations: one accepts clients, one may be coming up, and older ones drain. */
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/process/hand_on.h"
#include "proxy/process/master.h"
#include "proxy/process/notify.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* From READY to the take-over: a worker or helper that dies in this time would die again. */
#define TRIAL_USEC (100 * USEC_PER_MSEC)

/* ---- the list ---- */

static void size_buffers(struct master *m)
{
	size_t children = 1; /* status is told of the master, too */
	for (uint32_t i = 0; i < m->generation_count; i++)
		children += m->generations[i]->outfit.workers + HELPERS;
	m->about = memory_resize(m->about, children, sizeof(*m->about));
	m->names = memory_resize(m->names, children, sizeof(*m->names));
	m->fds = memory_resize(m->fds, children + MASTER_DESCRIPTORS, sizeof(*m->fds));
	m->watched = memory_resize(m->watched, children + MASTER_DESCRIPTORS, sizeof(*m->watched));
}

static uint32_t free_lane(const struct master *m)
{
	uint32_t lane = 0;
	for (uint32_t i = 0; i < m->generation_count;)
		if (m->generations[i++]->outfit.limits.lane == lane) {
			lane++;
			i = 0;
		}
	return lane;
}

struct generation *master_add_generation(struct master *m, const struct outfit *outfit)
{
	struct generation *g = memory_new(struct generation);
	g->master = m;
	g->number = ++m->last_number;
	g->outfit = *outfit;
	g->outfit.limits.lane = free_lane(m);
	g->deadline = USEC_NEVER;
	g->lists = g->lists_before = -1;
	generation_workers_init(g);
	generation_helpers_init(g);
	m->generations[m->generation_count++] = g;
	size_buffers(m);
	return g;
}

void generation_add_totals(const struct generation *g, struct totals *t)
{
	/* One that was given up has served no client, and its names are not kept. */
	bool has_served = g->is_superseded || g == g->master->running;
	const struct conf *conf = has_served ? g->outfit.conf : NULL;
	totals_add(t, conf, g->outfit.slots, g->outfit.workers, false);
	totals_add_series(t, conf, &g->outfit.series);
}

static void remove_generation(struct master *m, uint32_t at)
{
	struct generation *g = m->generations[at];
	m->generation_count--;
	for (uint32_t i = at; i < m->generation_count; i++)
		m->generations[i] = m->generations[i + 1];
	generation_add_totals(g, m->ended);
	m->ledger.ended_changes++;
	m->ledger.pace.at = 0;
	generation_helpers_fini(g);
	generation_workers_fini(g);
	descriptor_close(&g->lists);
	descriptor_close(&g->lists_before);
	outfit_close(&g->outfit);
	free(g);
}

void master_free_generations(struct master *m)
{
	while (m->generation_count > 0)
		remove_generation(m, m->generation_count - 1);
	totals_free(m->ended);
	totals_free(m->others);
	free(m->starts.workers);
	free(m->about);
	free(m->names);
	free(m->fds);
	free(m->watched);
}

bool master_has_workers(const struct master *m)
{
	for (uint32_t i = 0; i < m->generation_count; i++)
		if (generation_has_workers(m->generations[i]))
			return true;
	return false;
}

uint32_t master_count_accepting(const struct master *m)
{
	const struct generation *g = m->running;
	uint32_t count = 0;
	for (uint32_t i = 0; g->phase == GENERATION_RUNNING && i < g->outfit.workers; i++)
		count += g->workers[i].child.control.is_ready;
	return count;
}

void master_force(struct master *m)
{
	for (uint32_t i = 0; i < m->generation_count; i++)
		generation_force(m->generations[i]);
}

struct totals *master_sum(const struct master *m)
{
	struct totals *t = totals_new();
	totals_add_totals(t, m->ended);
	for (uint32_t n = 0; n < m->generation_count; n++)
		generation_add_totals(m->generations[n], t);
	if (m->start->predecessor.counters)
		totals_add_totals(t, m->start->predecessor.counters);
	observe_counters_add(&t->whole, m->start->slot);
	return t;
}

/* ---- a reload ---- */

void master_give_up(struct master *m, const char *why)
{
	struct generation *g = m->coming;
	m->coming = NULL;
	char line[600];
	observe_log(&m->observe, OBSERVE_ERROR,
	    "reload: the new configuration is not used, and all stays as it was: %s", why);
	snprintf(line, sizeof(line), "%s; the error log says more\n", why);
	reload_askers_tell(&m->askers, line);
	master_end_reload(m, PROCESS_FAILED, STATUS_RELOAD_REFUSED, why);
	sockets_return(&g->outfit.share);
	generation_force(g);
}

/* A generation that is ending already counts as gone. Returns whether it has ended one that served. */
static bool end_oldest(struct master *m)
{
	struct generation *oldest = NULL;
	uint32_t serving = 0;
	for (uint32_t i = 0; i < m->generation_count; i++) {
		struct generation *g = m->generations[i];
		if (g->phase >= GENERATION_FORCED)
			continue;
		serving++;
		if (!oldest && g != m->running)
			oldest = g;
	}
	if (serving <= m->running->outfit.conf->server.max_generations || !oldest)
		return false;
	observe_log(&m->observe, OBSERVE_WARN,
	    "reload: generation %u is ended, with the connections that it still has: there are %u "
	    "generations",
	    oldest->number, serving);
	generation_force(oldest);
	return true;
}

/* More than one, if the new configuration allows fewer. */
static void make_room(struct master *m)
{
	while (end_oldest(m))
		;
}

/* Two may not write the remembered-file. Older workers need nothing new for the requests that they end. */
static void supersede(struct generation *g)
{
	generation_retire_helper(g, HELPER_FILES);
	g->is_superseded = true;
	generation_drain(g);
}

void master_supersede(struct master *m)
{
	generation_empty_sections(m->running);
	supersede(m->running);
}

static void replace(struct master *m)
{
	struct start *start = m->start;
	struct predecessor *p = &start->predecessor;
	char why[512];
	if (!sockets_listen(&m->running->outfit.share, why, sizeof(why))) {
		observe_log(&m->observe, OBSERVE_ERROR, "upgrade: %s", why);
		m->status = PROCESS_FAILED;
		generation_force(m->running);
		return;
	}
	p->still_serves = false;
	start->sockets.owns_files = true;
	generation_accept(m->running);
	sockets_drop_unused(&start->sockets);
	if (p->status_path && !p->shares_status)
		unlink(p->status_path);
	/* If the old one has ended meanwhile, its clients come here all the same. */
	if (p->socket >= 0)
		handover_say_ready(p->socket);
	notify_ready(start->notify_fd, "serving");
	observe_log(&m->observe, OBSERVE_INFO, "upgrade: this program has taken over");
}

usec master_replace(struct master *m)
{
	struct predecessor *p = &m->start->predecessor;
	struct generation *g = m->running;
	if (!p->still_serves || m->drain_at || g->phase != GENERATION_RUNNING)
		return USEC_NEVER;
	/* If there is nobody to go on, a helper that is late is waited for no longer. */
	if (!generation_workers_are_ready(g) ||
	    (p->socket >= 0 && !generation_helpers_are_ready(g))) {
		m->take_over_at = 0;
		return USEC_NEVER;
	}
	if (m->take_over_at == 0)
		m->take_over_at = m->now + TRIAL_USEC;
	if (m->now < m->take_over_at)
		return m->take_over_at;
	m->take_over_at = 0;
	replace(m);
	return m->now;
}

/* Processes of the next generation have the same names, and their starts are counted on. */
static void keep_starts(struct master *m, const struct generation *before)
{
	struct starts *s = &m->starts;
	uint32_t workers = before->outfit.workers;
	if (s->worker_count < workers)
		s->workers = memory_resize(s->workers, workers, sizeof(*s->workers));
	while (s->worker_count < workers)
		s->workers[s->worker_count++] = 0;
	for (uint32_t i = 0; i < workers; i++)
		s->workers[i] += before->workers[i].child.starts;
	for (enum helper_id id = 0; id < HELPERS; id++)
		s->helpers[id] += before->helpers[id].starts;
}

/* Its workers have begun with what was known then. */
static void hand_on(struct master *m, struct generation *g, const struct generation *before)
{
	size_t lost = hand_on_health(&g->outfit, &before->outfit, m->now);
	if (lost > 0)
		observe_log(&m->observe, OBSERVE_WARN,
		    "reload: the health of %zu servers begins anew: the health table is full",
		    lost);
}

static void take_over(struct master *m)
{
	struct generation *g = m->coming, *before = m->running;
	char why[512];
	if (!sockets_listen(&g->outfit.share, why, sizeof(why))) {
		master_give_up(m, why);
		return;
	}
	hand_on(m, g, before);
	m->coming = NULL;
	m->running = g;
	totals_know(m->ended, g->outfit.conf);
	m->ledger.ended_changes++;
	m->ledger.pace.at = 0;
	keep_starts(m, before);
	g->was_ready = true;
	g->deadline = USEC_NEVER;
	generation_accept(g);
	start_announce(&g->outfit, &m->observe);
	observe_log(&m->observe, OBSERVE_INFO,
	    "reload: generation %u has taken over; generation %u drains", g->number,
	    before->number);
	generation_empty_sections(before);
	sockets_return(&before->outfit.share);
	supersede(before);
	make_room(m);
	master_prune_orders(m);
	master_end_reload(m, PROCESS_DONE, STATUS_RELOAD_DONE, NULL);
}

/* Returns when to call it again. */
static usec run_coming(struct master *m)
{
	struct generation *g = m->coming;
	if (!g)
		return USEC_NEVER;
	if (!generation_workers_are_ready(g) || !generation_helpers_are_ready(g))
		return g->deadline;
	if (m->take_over_at == 0) {
		m->take_over_at = m->now + TRIAL_USEC;
		master_ask_for_remembered(m);
	}
	if (m->now < m->take_over_at)
		return m->take_over_at;
	if (!master_has_remembered(m))
		return m->remembered_until;
	take_over(m);
	return m->now;
}

/* ---- the run ---- */

static void on_deadline(struct generation *g)
{
	struct master *m = g->master;
	if (g == m->coming) {
		master_give_up(m, "it did not come up in time");
		return;
	}
	if (g->phase == GENERATION_DRAINING)
		observe_log(&m->observe, OBSERVE_WARN,
		    "drain-timeout is over: ending the remaining connections");
	generation_force(g);
}

/* Whether nothing is left of it but memory. */
static bool is_over(struct generation *g)
{
	const struct master *m = g->master;
	if (g == m->running || g == m->coming || generation_has_workers(g))
		return false;
	if (g->phase != GENERATION_ENDED)
		generation_retire_helpers(g);
	return !generation_has_helpers(g);
}

static usec run_generation(struct generation *g)
{
	usec next = USEC_NEVER;
	if (g->master->now >= g->deadline)
		on_deadline(g);
	next = clock_earlier(next, g->deadline);
	next = clock_earlier(next, generation_run_helpers(g));
	next = clock_earlier(next, generation_run_recheck(g));
	return clock_earlier(next, generation_run_workers(g));
}

usec master_run_generations(struct master *m)
{
	usec next = USEC_NEVER;
	for (uint32_t i = 0; i < m->generation_count;) {
		struct generation *g = m->generations[i];
		next = clock_earlier(next, run_generation(g));
		if (!is_over(g)) {
			/* Its helpers may have a time to end by since now. */
			next = clock_earlier(next, generation_run_helpers(g));
			i++;
			continue;
		}
		observe_log(&m->observe, OBSERVE_INFO, "generation %u has ended", g->number);
		remove_generation(m, i);
		next = m->now; /* a reload may have waited for that */
	}
	return clock_earlier(next, run_coming(m));
}
