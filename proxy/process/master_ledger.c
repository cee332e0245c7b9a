/* SPDX-License-Identifier: MIT */
/* The ledger (admin/ledger.h): what the master writes, and what a worker sees by it. */
#include "proxy/process/master.h"

/* Its counters are those of clients: it serves, or has. */
static bool is_counted(const struct generation *g)
{
	return g->is_superseded || g == g->master->running;
}

void master_write_ledger(struct master *m, uint32_t processes)
{
	uint32_t live[LIMIT_GENERATIONS + 1], count = 0;
	struct totals *ended = NULL;
	if (m->ledger.ended_changes != m->ledger.ended_written) {
		ended = totals_new();
		totals_add_totals(ended, m->ended);
		if (m->start->predecessor.counters)
			totals_add_totals(ended, m->start->predecessor.counters);
	}
	m->ledger.ended_written = m->ledger.ended_changes;
	for (uint32_t i = 0; i < m->generation_count; i++)
		if (is_counted(m->generations[i]))
			live[count++] = m->generations[i]->number;
	ledger_write(m->start->ledger,
	    &(struct ledger_facts){.started = m->start->started,
		.started_wall = m->start->started_wall,
		.last_reload = &m->last_reload,
		.processes = m->about,
		.process_count = processes,
		.live = live,
		.live_count = count,
		.ended = ended},
	    m->now);
	totals_free(ended);
}

/* Those of workers that live: a generation that ends changes the number, too. */
static uint64_t count_scrapes(const struct master *m)
{
	uint64_t count = 0;
	for (uint32_t n = 0; n < m->generation_count; n++)
		for (uint32_t i = 0; i < m->generations[n]->outfit.workers; i++)
			count += m->generations[n]->outfit.slots[i].scrapes;
	return count;
}

bool master_wants_ledger(struct master *m)
{
	return ledger_pace_wants(&m->ledger.pace, count_scrapes(m), m->now);
}

struct ledger_view generation_view(const struct generation *g)
{
	const struct master *m = g->master;
	struct ledger_view v = {.ledger = m->start->ledger, .own_slot = m->start->slot};
	for (uint32_t i = 0; i < m->generation_count; i++) {
		const struct generation *other = m->generations[i];
		if (other != g && !is_counted(other))
			continue;
		if (other == g)
			v.own = v.region_count;
		v.regions[v.region_count++] = (struct ledger_region){.generation = other->number,
		    .conf = other->outfit.conf,
		    .slots = other->outfit.slots,
		    .workers = other->outfit.workers,
		    .series = &other->outfit.series,
		    .orders = other->outfit.orders,
		    .certificates = other->outfit.certificates};
	}
	return v;
}
