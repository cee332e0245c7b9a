/* SPDX-License-Identifier: MIT */
/* The scheduler of DATA frames (RFC 9218 10). It does not use streams or windows. */
#include "proxy/h2/sched.h"
#include "proxy/base/ensure.h"

void h2_sched_init(struct h2_sched *s)
{
	list_init(&s->ends);
	for (size_t u = 0; u < H2_URGENCIES; u++) {
		list_init(&s->ordered[u]);
		list_init(&s->turns[u]);
	}
	s->busy = s->turn_next = 0;
}

void h2_place_init(struct h2_place *p, uint32_t id, struct http_priority priority)
{
	ensure(priority.urgency < H2_URGENCIES);
	list_init(&p->link);
	p->id = id;
	p->priority = priority;
	p->ready = H2_READY_NOT;
}

/*
 * Inserts by id. New streams have the highest ids and the stream being sent has the lowest, so the
 * search is short from both ends.
 */
static void insert_ordered(struct list *head, struct h2_place *p)
{
	struct h2_place *first = list_first(head, struct h2_place, link);
	if (first && p->id < first->id) {
		list_prepend(head, &p->link);
		return;
	}
	struct list *at = head;
	while (at->prev != head && container_of(at->prev, struct h2_place, link)->id > p->id)
		at = at->prev;
	list_insert_before(at, &p->link);
}

static void leave(struct h2_sched *s, struct h2_place *p)
{
	uint8_t u = p->priority.urgency;
	list_remove(&p->link);
	if (list_is_empty(&s->ordered[u]) && list_is_empty(&s->turns[u]))
		s->busy &= (uint8_t) ~(1u << u);
	p->ready = H2_READY_NOT;
}

void h2_sched_set(struct h2_sched *s, struct h2_place *p, enum h2_ready ready)
{
	if (p->ready == ready)
		return;
	leave(s, p);
	p->ready = (uint8_t)ready;
	uint8_t u = p->priority.urgency;
	switch (ready) {
	case H2_READY_NOT:
		break;
	case H2_READY_END:
		list_append(&s->ends, &p->link);
		break;
	case H2_READY_DATA:
		if (p->priority.incremental)
			list_append(&s->turns[u], &p->link);
		else
			insert_ordered(&s->ordered[u], p);
		s->busy |= (uint8_t)(1u << u);
		break;
	}
}

void h2_sched_set_priority(struct h2_sched *s, struct h2_place *p, struct http_priority priority)
{
	ensure(priority.urgency < H2_URGENCIES);
	enum h2_ready ready = p->ready;
	leave(s, p);
	p->priority = priority;
	h2_sched_set(s, p, ready);
}

struct h2_place *h2_sched_first(const struct h2_sched *s, bool data)
{
	if (!list_is_empty(&s->ends))
		return container_of(s->ends.next, struct h2_place, link);
	if (!data || s->busy == 0)
		return NULL;
	unsigned u = (unsigned)__builtin_ctz(s->busy);
	bool turns = list_is_empty(&s->ordered[u]) ||
		     (s->turn_next & 1u << u && !list_is_empty(&s->turns[u]));
	const struct list *from = turns ? &s->turns[u] : &s->ordered[u];
	return container_of(from->next, struct h2_place, link);
}

void h2_sched_took_turn(struct h2_sched *s, struct h2_place *p)
{
	uint8_t bit = (uint8_t)(1u << p->priority.urgency);
	if (!p->priority.incremental) {
		s->turn_next |= bit;
		return;
	}
	s->turn_next &= (uint8_t)~bit;
	if (p->ready == H2_READY_DATA) {
		list_remove(&p->link);
		list_append(&s->turns[p->priority.urgency], &p->link);
	}
}
