/* SPDX-License-Identifier: MIT */
/* See ledger.h. A sequence lock: the version is odd while the master writes, and a reader that has seen a write begins anew. */
#include "proxy/admin/ledger.h"

#include "proxy/base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Those of 256 workers, the most of one generation, and of generations that drain. */
#define PROCESSES_MOST 1024u
/* A reader tries so often at once: so many looks at a page that is being written take some microseconds. */
#define TRIES 1000u

#define NAME_BYTES 48u

struct entry {
	struct status_process about; /* its texts are not used */
	char name[NAME_BYTES];       /* "": a worker */
};

struct page {
	_Atomic uint32_t version;
	usec started, started_wall, written;
	bool reloads;
	struct status_reload
	    last_reload; /* its result is a constant of the program, which a fork does not move */
	_Atomic uint32_t live_count, process_count;
	_Atomic size_t totals_bytes, counters_bytes; /* as in struct totals_flat */
	uint32_t live[LIMIT_GENERATIONS + 1];
	struct entry processes[PROCESSES_MOST];
	/* Memory that is never written costs nothing. */
	_Alignas(uint64_t) unsigned char totals[TOTALS_FLAT_BYTES];
};

struct ledger {
	struct page *page;
	int fd; /* -1: this process maps it no more */
};

/* ---- life ---- */

struct ledger *ledger_new(char *error, size_t error_size)
{
	struct ledger *l = memory_new(struct ledger);
	l->fd = memfd_create("pushgate-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	l->page = MAP_FAILED;
	if (l->fd >= 0 && ftruncate(l->fd, sizeof(struct page)) == 0)
		l->page =
		    mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
	if (l->page == MAP_FAILED) {
		snprintf(error, error_size, "cannot map the ledger: %s", strerror(errno));
		ledger_free(l);
		return NULL;
	}
	/* This mapping stays writable, and no later one is. A kernel before Linux 5.1 has no such seal: there a worker's
	 * mapping is for reading until the worker asks for more. */
	(void)fcntl(l->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	return l;
}

void ledger_leave(struct ledger *l)
{
	if (l->page != MAP_FAILED)
		munmap(l->page, sizeof(struct page));
	if (l->fd >= 0)
		close(l->fd);
	l->page = MAP_FAILED;
	l->fd = -1;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	ledger_leave(l);
	free(l);
}

bool ledger_seclude(struct ledger *l)
{
	struct page *mine = mmap(NULL, sizeof(struct page), PROT_READ, MAP_SHARED, l->fd, 0);
	ledger_leave(l);
	l->page = mine;
	return mine != MAP_FAILED;
}

/* ---- writing ---- */

static void write_processes(struct page *p, const struct ledger_facts *facts)
{
	uint32_t count = facts->process_count;
	count = count < PROCESSES_MOST ? count : PROCESSES_MOST;
	atomic_store(&p->process_count, count);
	for (uint32_t i = 0; i < count; i++) {
		const char *name = facts->processes[i].name;
		p->processes[i].about = facts->processes[i];
		snprintf(p->processes[i].name, NAME_BYTES, "%s", name ? name : "");
	}
}

void ledger_write(struct ledger *l, const struct ledger_facts *facts, usec now)
{
	struct page *p = l->page;
	atomic_fetch_add(&p->version, 1);
	atomic_thread_fence(memory_order_release); /* no write below comes before the odd version */
	p->started = facts->started;
	p->started_wall = facts->started_wall;
	p->written = now;
	p->reloads = facts->last_reload != NULL;
	if (p->reloads)
		p->last_reload = *facts->last_reload;
	write_processes(p, facts);
	memcpy(p->live, facts->live, facts->live_count * sizeof(*p->live));
	atomic_store(&p->live_count, facts->live_count);
	if (facts->ended) {
		struct totals_flat flat =
		    totals_flatten(facts->ended, p->totals, sizeof(p->totals));
		atomic_store(&p->totals_bytes, flat.bytes);
		atomic_store(&p->counters_bytes, flat.counters);
	}
	atomic_fetch_add(&p->version, 1);
}

/* ---- reading ---- */

struct ledger_status {
	struct status status;
	struct status_reload last_reload;
	const struct ledger_view *view; /* borrows */
	struct totals *sum;
	void *flat; /* owned: the totals as the page has them, of which `at` bytes are added up */
	size_t flat_bytes, at;
	bool has_series;
	uint32_t region;       /* the next one to be added up; behind the last the own one */
	size_t series;         /* how far in its series; 0: not begun */
	struct entry *entries; /* processes[i].name points into one */
	struct status_process *processes;
	struct status_orders other_orders[LIMIT_GENERATIONS + 1];
	uint32_t live[LIMIT_GENERATIONS + 1], live_count;
};

const struct status *ledger_status_of(const struct ledger_status *s)
{
	return &s->status;
}

void ledger_status_free(struct ledger_status *s)
{
	if (!s)
		return;
	totals_free(s->sum);
	free(s->flat);
	free(s->entries);
	free(s->processes);
	free(s);
}

static bool has_region(const struct ledger_view *v, uint32_t generation)
{
	for (uint32_t i = 0; i < v->region_count; i++)
		if (v->regions[i].generation == generation)
			return true;
	return false;
}

bool ledger_view_is_complete(const struct ledger_view *v)
{
	const struct page *p = v->ledger->page;
	uint32_t version = atomic_load(&p->version), count = atomic_load(&p->live_count);
	bool is_complete = true;
	for (uint32_t i = 0; i < count && i <= LIMIT_GENERATIONS; i++)
		is_complete = is_complete && has_region(v, p->live[i]);
	atomic_thread_fence(memory_order_acquire);
	/* While the master writes the page, its parts do not fit together. The reader of the whole ledger waits then. */
	return is_complete || version % 2 != 0 || atomic_load(&p->version) != version;
}

/* Of a series in a sum, beside its struct: of its labels, and of the map. */
#define SERIES_BYTES 128u

size_t ledger_view_bytes(const struct ledger_view *v)
{
	const struct page *p = v->ledger->page;
	size_t flat = atomic_load(&p->totals_bytes), series = 0;
	flat = flat < sizeof(p->totals) ? flat : sizeof(p->totals);
	for (uint32_t i = 0; i < v->region_count; i++)
		if (v->regions[i].series)
			series += series_used(v->regions[i].series);
	/* As it lies in the page, and added up. */
	return sizeof(struct ledger_status) + sizeof(struct totals) + 2 * flat +
	       series * (sizeof(struct totals_series) + SERIES_BYTES);
}

/* False: it is being written, or was never. Sizes are read once, and held against what there is room for: while the page is being written they may be any. */
static bool copy_once(const struct page *p, struct ledger_status *s, usec now)
{
	uint32_t version = atomic_load(&p->version);
	uint32_t count = atomic_load(&p->process_count), live = atomic_load(&p->live_count);
	size_t bytes = atomic_load(s->has_series ? &p->totals_bytes : &p->counters_bytes);
	if (version == 0 || version % 2 != 0 || count > PROCESSES_MOST ||
	    live > LIMIT_GENERATIONS + 1 || bytes > sizeof(p->totals))
		return false;
	s->entries = memory_resize(s->entries, count + 1, sizeof(*s->entries));
	free(s->flat);
	s->flat = memory_alloc(bytes + 1);
	s->flat_bytes = bytes;
	s->status.up = now - p->started;
	s->status.started_wall = p->started_wall;
	s->status.last_reload = p->reloads ? &s->last_reload : NULL;
	s->last_reload = p->last_reload;
	usec since = now - p->written;
	memcpy(s->entries, p->processes, count * sizeof(*s->entries));
	memcpy(s->live, p->live, live * sizeof(*s->live));
	memcpy(s->flat, p->totals, bytes);
	atomic_thread_fence(memory_order_acquire);
	bool is_whole = atomic_load(&p->version) == version;
	s->live_count = live;
	s->status.process_count = count;
	for (uint32_t i = 0; is_whole && i < count; i++)
		s->entries[i].about.up += since;
	return is_whole;
}

static void name_processes(struct ledger_status *s)
{
	uint32_t count = s->status.process_count;
	s->processes = memory_zalloc((count + 1) * sizeof(*s->processes));
	for (uint32_t i = 0; i < count; i++) {
		struct entry *e = &s->entries[i];
		s->processes[i] = e->about;
		s->processes[i].name = *e->name ? e->name : NULL;
		s->processes[i].note = s->processes[i].name;
	}
	s->status.processes = s->processes;
}

static bool lives(const struct ledger_status *s, uint32_t generation)
{
	for (uint32_t i = 0; i < s->live_count; i++)
		if (s->live[i] == generation)
			return true;
	return false;
}

static bool is_other(const struct ledger_status *s, uint32_t region)
{
	const struct ledger_view *v = s->view;
	return region != v->own && lives(s, v->regions[region].generation);
}

/* Those of generations that still have workers. */
static void list_orders(struct ledger_status *s)
{
	for (uint32_t i = 0; i < s->view->region_count; i++) {
		const struct ledger_region *r = &s->view->regions[i];
		if (is_other(s, i) && r->orders && r->conf)
			s->other_orders[s->status.other_orders_count++] =
			    (struct status_orders){r->conf, r->orders};
	}
	s->status.other_orders = s->other_orders;
}

struct ledger_status *ledger_status_new(
    const struct ledger_view *v, const struct health_table *health_table, bool has_series, usec now)
{
	struct ledger_status *s = memory_new(struct ledger_status);
	const struct ledger_region *own = &v->regions[v->own];
	unsigned tries = 0;
	s->view = v;
	s->has_series = has_series;
	s->sum = totals_new();
	while (tries < TRIES && !copy_once(v->ledger->page, s, now))
		tries++;
	if (tries == TRIES) {
		ledger_status_free(s);
		return NULL;
	}
	name_processes(s);
	s->status.own_slot = v->own_slot;
	s->status.slots = own->slots;
	s->status.series = has_series ? own->series : NULL;
	s->status.worker_count = own->workers;
	s->status.conf = own->conf;
	s->status.orders = own->orders;
	s->status.certificates = own->certificates;
	s->status.health_table = health_table;
	list_orders(s);
	return s;
}

/* ---- adding up ---- */

/* So many records, or series, at a time: each takes two microseconds at most. */
#define AT_ONCE 250u

/* What another generation counts has no place in this one's configuration. False: there is more of it. */
static bool add_region(struct ledger_status *s, uint32_t region)
{
	const struct ledger_region *r = &s->view->regions[region];
	const struct series *series = s->has_series ? r->series : NULL;
	bool is_own = region == s->view->own;
	if (s->series == 0)
		totals_add(s->sum, r->conf, r->slots, r->workers, is_own);
	return !totals_add_some_series(s->sum, r->conf, series, &s->series, AT_ONCE);
}

bool ledger_status_add_up(struct ledger_status *s)
{
	const struct ledger_view *v = s->view;
	if (s->at < s->flat_bytes) {
		if (!totals_unflatten(s->sum, s->flat, s->flat_bytes, &s->at, AT_ONCE)) {
			free(s->flat); /* while the answer is sent nobody needs it */
			s->flat = NULL;
		}
		return true;
	}
	while (s->region < v->region_count && !is_other(s, s->region))
		s->region++;
	bool is_last = s->region == v->region_count;
	if (!add_region(s, is_last ? v->own : s->region))
		return true;
	s->series = 0;
	s->region++;
	if (is_last && v->own_slot)
		observe_counters_add(&s->sum->whole, v->own_slot);
	return !is_last;
}

struct totals *ledger_status_sum(const struct ledger_status *s)
{
	return s->sum;
}
