/* SPDX-License-Identifier: MIT */
/*
 * The wheel: WHEEL_SLOTS lists, one for each tick of the near future. A node whose deadline is
 * beyond the wheel's span is put into the last slot, and put into a slot again when that tick
 * comes.
 */
#include "proxy/base/wheel.h"

#include "proxy/base/ensure.h"

#define WHEEL_SPAN_USEC (WHEEL_TICK_USEC * (WHEEL_SLOTS - 2))

static uint32_t slot_of(usec at)
{
	return (uint32_t)((at / WHEEL_TICK_USEC) % WHEEL_SLOTS);
}

void wheel_init(struct wheel *w, usec now)
{
	*w = (struct wheel){.at = now, .soonest = USEC_NEVER};
	for (uint32_t i = 0; i < WHEEL_SLOTS; i++)
		list_init(&w->slots[i]);
}

void wheel_node_init(struct wheel_node *n, void (*expired)(struct wheel_node *node, usec now))
{
	*n = (struct wheel_node){.deadline = USEC_NEVER, .expired = expired};
	list_init(&n->link);
}

static void file_node(struct wheel *w, struct wheel_node *n)
{
	n->filed = n->deadline;
	if (n->filed < w->at)
		n->filed = w->at;
	if (n->filed - w->at > WHEEL_SPAN_USEC)
		n->filed = w->at + WHEEL_SPAN_USEC;
	if (n->filed < w->soonest)
		w->soonest = n->filed;
	uint32_t slot = slot_of(n->filed);
	list_append(&w->slots[slot], &n->link);
	w->occupied[slot / 64] |= UINT64_C(1) << (slot % 64);
}

void wheel_set(struct wheel *w, struct wheel_node *n, usec deadline)
{
	n->deadline = deadline;
	if (deadline == USEC_NEVER) {
		wheel_forget(w, n);
		return;
	}
	if (list_is_linked(&n->link)) {
		if (n->filed <= deadline)
			return;
		list_remove(&n->link);
		w->count--;
	}
	file_node(w, n);
	w->count++;
}

void wheel_forget(struct wheel *w, struct wheel_node *n)
{
	n->deadline = USEC_NEVER;
	if (!list_is_linked(&n->link))
		return;
	list_remove(&n->link);
	ensure(w->count > 0);
	w->count--;
}

/* Fires each node of one slot, or puts it into a later slot. Skips nodes that are set meanwhile. */
static void run_slot(struct wheel *w, uint32_t slot, usec now)
{
	struct list due;
	list_init(&due);
	list_splice(&due, &w->slots[slot]);
	w->occupied[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
	while (!list_is_empty(&due)) {
		struct wheel_node *n = list_first(&due, struct wheel_node, link);
		list_remove(&n->link);
		if (n->deadline > now) {
			file_node(w, n);
			continue;
		}
		w->count--;
		n->deadline = USEC_NEVER;
		n->expired(n, now);
	}
}

static void find_soonest(struct wheel *w)
{
	usec tick = w->at / WHEEL_TICK_USEC;
	for (uint32_t i = 0; i < WHEEL_SLOTS && w->count > 0; i++) {
		uint32_t slot = (uint32_t)((tick + i) % WHEEL_SLOTS);
		if (list_is_empty(&w->slots[slot]))
			continue;
		usec start = (tick + i) * WHEEL_TICK_USEC;
		if (start < w->soonest)
			w->soonest = start;
		return;
	}
}

void wheel_advance(struct wheel *w, usec now)
{
	if (now < w->at)
		return;
	usec first = w->at / WHEEL_TICK_USEC, last = now / WHEEL_TICK_USEC;
	if (last - first >= WHEEL_SLOTS)
		first = last - (WHEEL_SLOTS - 1);
	w->at = now;
	w->soonest = USEC_NEVER;
	for (usec tick = first; tick <= last; tick++) {
		uint32_t slot = (uint32_t)(tick % WHEEL_SLOTS);
		if (w->occupied[slot / 64] & UINT64_C(1) << (slot % 64))
			run_slot(w, slot, now);
	}
	find_soonest(w);
}

usec wheel_next(const struct wheel *w)
{
	if (w->count == 0 || w->soonest == USEC_NEVER)
		return USEC_NEVER;
	return (w->soonest / WHEEL_TICK_USEC + 1) * WHEEL_TICK_USEC;
}
