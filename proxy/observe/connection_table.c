/* SPDX-License-Identifier: MIT */
/* See connection_table.h. A sequence lock for each lane. */
#include "proxy/observe/connection_table.h"
#include <string.h>

bool connection_lane_is_wanted(const struct connection_lane *l, usec now)
{
	return atomic_load_explicit(&l->wanted_until, memory_order_relaxed) > now;
}

struct connection_list *connection_lane_begin(struct connection_lane *l)
{
	uint32_t version = atomic_load_explicit(&l->version, memory_order_relaxed);
	atomic_store_explicit(&l->version, version | 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	l->list.count = l->list.left_out = 0;
	return &l->list;
}

void connection_lane_done(struct connection_lane *l, usec now)
{
	uint32_t version = atomic_load_explicit(&l->version, memory_order_relaxed);
	l->list.written = now;
	atomic_store_explicit(&l->version, version + 1, memory_order_release);
}

void connection_text(char *to, size_t size, const char *text)
{
	size_t length = text ? strnlen(text, size - 1) : 0;
	if (length > 0)
		memcpy(to, text, length);
	to[length] = '\0';
}

void connection_lane_want(struct connection_lane *l, usec until)
{
	uint64_t seen = atomic_load(&l->wanted_until);
	while (seen < until && !atomic_compare_exchange_weak(&l->wanted_until, &seen, until))
		;
}

bool connection_lane_read(const struct connection_lane *l, struct connection_list *copy)
{
	uint32_t before = atomic_load_explicit(&l->version, memory_order_acquire);
	memcpy(copy, &l->list, sizeof(*copy));
	atomic_thread_fence(memory_order_seq_cst);
	if (before % 2 != 0 || atomic_load_explicit(&l->version, memory_order_relaxed) != before)
		return false;
	if (copy->count > 2 * CONNECTION_ROWS)
		copy->count = 2 * CONNECTION_ROWS;
	for (uint32_t i = 0; i < copy->count; i++) {
		struct connection_row *row = &copy->rows[i];
		row->peer[sizeof(row->peer) - 1] = '\0';
		row->name[sizeof(row->name) - 1] = '\0';
		row->protocol[sizeof(row->protocol) - 1] = '\0';
	}
	return true;
}
