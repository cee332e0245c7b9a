/* SPDX-License-Identifier: MIT */
/*
 * What copies of the memory have not got yet. Each change of what is told of a page has a number, and a page stands in the
 * list of changes where its last one was. So a copy that is far behind gets each page once, in its newest state, and
 * nothing waits for it.
 */
#include "proxy/remembered/remembered_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include <string.h>

enum { GONE_MOST = 64 };

/* With the day of the last view: else a copy would take a page that never changes for one that was not viewed. */
static uint64_t told_hash(
    const struct remembered *m, const struct remembered_page *p, uint64_t told)
{
	uint64_t hash = m->seed + (told ? p->viewed / USEC_PER_DAY : 0);
	for (uint64_t left = told; left != 0; left &= left - 1) {
		const struct remembered_resource *r = p->resources[__builtin_ctzll(left)];
		size_t length = (size_t)r->target_len + r->as_len + r->attributes_len;
		hash = hash_bytes(
		    hash + (uint64_t)r->rel * 4 + (uint64_t)r->crossorigin, r->text, length);
		hash += resource_sources(p, __builtin_ctzll(left));
	}
	return hash;
}

void page_note_change(struct remembered *m, struct remembered_page *p, usec now)
{
	uint64_t told = page_told(m, p, now), hash = told_hash(m, p, told);
	/* No copy has a page that has never told anything. */
	if (p->changed_at ? hash == p->changed : told == 0)
		return;
	p->changed = hash;
	p->changed_at = ++m->change_count;
	list_remove(&p->by_change);
	list_append(&m->changes, &p->by_change);
}

uint64_t remembered_changes(const struct remembered *m)
{
	return m->change_count;
}

void remembered_look(struct remembered *m, usec now)
{
	struct list *lists[] = {&m->candidates, &m->established};
	now += EPOCH;
	pages_expire(m, now);
	for (size_t i = 0; i < 2; i++)
		list_for_each(lists[i], p, struct remembered_page, by_use)
		    page_note_change(m, p, now);
}

/* ---- pages that were forgotten ---- */

static void gone_free(struct remembered *m, struct remembered_gone *g)
{
	list_remove(&g->by_change);
	m->gone_count--;
	budget_give(&m->budget, sizeof(*g) + g->length);
	free(g);
}

void gone_clear(struct remembered *m)
{
	list_for_each(&m->gone, g, struct remembered_gone, by_change) gone_free(m, g);
}

void gone_note(struct remembered *m, const struct remembered_page *p)
{
	char *line = memory_alloc(REMEMBERED_PAGE_BYTES);
	size_t length = page_put(p, 0, line, p->viewed);
	if (m->gone_count == GONE_MOST)
		gone_free(m, list_first(&m->gone, struct remembered_gone, by_change));
	if (length > 0 && budget_take(&m->budget, sizeof(struct remembered_gone) + length)) {
		struct remembered_gone *g = memory_alloc(sizeof(*g) + length);
		g->changed_at = ++m->change_count;
		g->length = length;
		memcpy(g->line, line, length);
		list_init(&g->by_change);
		list_append(&m->gone, &g->by_change);
		m->gone_count++;
	}
	free(line);
}

/* ---- for a copy ---- */

/* The nodes behind those that the copy has got. */
static struct remembered_page *next_page(const struct remembered *m, uint64_t since)
{
	struct remembered_page *found = NULL;
	for (const struct list *at = m->changes.prev; at != &m->changes; at = at->prev) {
		struct remembered_page *p = container_of(at, struct remembered_page, by_change);
		if (p->changed_at <= since)
			break;
		found = p;
	}
	return found;
}

static const struct remembered_gone *next_gone(const struct remembered *m, uint64_t since)
{
	list_for_each(
	    &m->gone, g, struct remembered_gone, by_change) if (g->changed_at > since) return g;
	return NULL;
}

size_t remembered_write_since(
    struct remembered *m, uint64_t *since, char buffer[REMEMBERED_PAGE_BYTES], usec now)
{
	now += EPOCH;
	for (;;) {
		const struct remembered_page *p = next_page(m, *since);
		const struct remembered_gone *g = next_gone(m, *since);
		if (!p && !g)
			return 0;
		if (g && (!p || g->changed_at < p->changed_at)) {
			*since = g->changed_at;
			memcpy(buffer, g->line, g->length);
			return g->length;
		}
		*since = p->changed_at;
		size_t length = page_put(p, page_told(m, p, now), buffer, now);
		if (length > 0)
			return length;
	}
}
