/* SPDX-License-Identifier: MIT */
/* The scheduler of DATA frames (RFC 9218 10). It does not use streams or windows. */
#include "proxy/h2/sched.h"
#include "proxy/base/ensure.h"

void h2_place_init(struct h2_place *p, uint32_t id, struct http_priority priority)
{
	ensure(priority.urgency < H2_URGENCIES);
	list_init(&p->link);
	p->id = id;
	p->priority = priority;
	p->ready = H2_READY_NOT;
}

static struct h2_place *of_link(struct list *link)
{
	return container_of(link, struct h2_place, link);
}

static void append(struct h2_place **first, struct h2_place *p)
{
	if (*first)
		list_insert_before(&(*first)->link, &p->link);
	else
		*first = p;
}

/*
 * Inserts by id. New streams have the highest ids and the stream being sent has the lowest, so the
 * search is short from both ends.
 */
static void insert_ordered(struct h2_place **first, struct h2_place *p)
{
	if (!*first) {
		*first = p;
		return;
	}
	struct list *at = &(*first)->link;
	if (p->id < (*first)->id) {
		list_insert_before(at, &p->link);
		*first = p;
		return;
	}
	while (of_link(at->prev)->id > p->id)
		at = at->prev;
	list_insert_before(at, &p->link);
}

static struct h2_place **ring_of(struct h2_sched *s, const struct h2_place *p)
{
	uint8_t u = p->priority.urgency;
	if (p->ready == H2_READY_END)
		return &s->ends;
	return p->priority.incremental ? &s->turns[u] : &s->ordered[u];
}

static void leave(struct h2_sched *s, struct h2_place *p)
{
	if (p->ready == H2_READY_NOT)
		return;
	struct h2_place **first = ring_of(s, p);
	uint8_t u = p->priority.urgency;
	if (*first == p)
		*first = list_is_linked(&p->link) ? of_link(p->link.next) : NULL;
	list_remove(&p->link);
	if (!s->ordered[u] && !s->turns[u])
		s->busy &= (uint8_t) ~(1u << u);
	p->ready = H2_READY_NOT;
}

void h2_sched_set(struct h2_sched *s, struct h2_place *p, enum h2_ready ready)
{
	if (p->ready == ready)
		return;
	leave(s, p);
	p->ready = (uint8_t)ready;
	/* uncovered: a value outside the enum */
	switch (ready) {
	case H2_READY_NOT:
		break;
	case H2_READY_END:
		append(&s->ends, p);
		break;
	case H2_READY_DATA:
		if (p->priority.incremental)
			append(ring_of(s, p), p);
		else
			insert_ordered(ring_of(s, p), p);
		s->busy |= (uint8_t)(1u << p->priority.urgency);
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
	if (s->ends)
		return s->ends;
	if (!data || s->busy == 0)
		return NULL;
	unsigned u = (unsigned)__builtin_ctz(s->busy);
	bool turns = !s->ordered[u] || (s->turn_next & 1u << u && s->turns[u]);
	return turns ? s->turns[u] : s->ordered[u];
}

bool h2_sched_agrees(const struct h2_sched *s, const struct h2_place *p)
{
	uint8_t u = p->priority.urgency;
	const struct h2_place *first = p->priority.incremental ? s->turns[u] : s->ordered[u];
	if (p->ready == H2_READY_END)
		first = s->ends;
	bool is_linked = list_is_linked(&p->link);
	if (p->ready == H2_READY_NOT)
		/* uncovered 2: our own bug: this is for an ensure() */
		return first != p && !is_linked;
	/* The only one of its ring is linked to itself. */
	/* uncovered 2: our own bug, as above */
	return first && (first == p || is_linked);
}

void h2_sched_took_turn(struct h2_sched *s, struct h2_place *p)
{
	uint8_t bit = (uint8_t)(1u << p->priority.urgency);
	if (!p->priority.incremental) {
		s->turn_next |= bit;
		return;
	}
	s->turn_next &= (uint8_t)~bit;
	struct h2_place **first = &s->turns[p->priority.urgency];
	if (p->ready != H2_READY_DATA)
		return;
	ensure(*first == p); /* h2_sched_first has returned it */
	*first = of_link(p->link.next);
}
