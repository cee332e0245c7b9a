/* SPDX-License-Identifier: MIT */
/* The dynamic table (RFC 7541 2.3.2, 4.1 to 4.4). */
#include "proxy/hpack/table.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#define SLOTS_MIN 8u
#define BYTES_MIN 256u

void table_init(struct table *t, uint32_t max_bytes)
{
	ensure(max_bytes <= TABLE_MAX_BYTES);
	*t = (struct table){.next = 1, .max_bytes = max_bytes};
}

static void release(struct table *t)
{
	free(t->entries);
	free(t->bytes);
	t->entries = NULL;
	t->bytes = NULL;
	t->slots = t->bytes_capacity = 0;
	t->base = t->end;
}

void table_fini(struct table *t)
{
	release(t);
	t->count = t->used_bytes = 0;
}

static uint32_t stored_bytes(const struct table_entry *e)
{
	return e->value_len + (e->name ? 0 : e->name_len);
}

static void evict_until(struct table *t, uint32_t used_bytes)
{
	while (t->used_bytes > used_bytes) {
		const struct table_entry *oldest = table_at(t, t->count);

		t->used_bytes -= oldest->name_len + oldest->value_len + TABLE_ENTRY_OVERHEAD;
		t->count--;
	}
}

/* Position of the oldest byte in use. */
static uint32_t live_from(const struct table *t)
{
	return t->count ? table_at(t, t->count)->at : t->end;
}

static void resize_slots(struct table *t, uint32_t slots)
{
	struct table_entry *entries = memory_resize(NULL, slots, sizeof(*entries));

	for (uint32_t age = 1; age <= t->count; age++)
		entries[(t->next - age) & (slots - 1)] = *table_at(t, age);
	free(t->entries);
	t->entries = entries;
	t->slots = slots;
}

/* Moves the bytes in use to the front of a buffer of this capacity. */
static void move_bytes(struct table *t, uint32_t capacity)
{
	uint32_t from = live_from(t), live = t->end - from;

	ensure(live == 0 || t->bytes);
	if (capacity == t->bytes_capacity) {
		if (live > 0)
			memmove(t->bytes, t->bytes + (from - t->base), live);
	} else {
		char *bytes = memory_alloc(capacity);

		if (live > 0)
			memcpy(bytes, t->bytes + (from - t->base), live);
		free(t->bytes);
		t->bytes = bytes;
		t->bytes_capacity = capacity;
	}
	t->base = from;
}

/* A quarter more than can be in use, so that the cost of moving is constant per byte inserted. */
static uint32_t capacity_limit(const struct table *t)
{
	return t->max_bytes + t->max_bytes / 4 + 1;
}

static void make_room(struct table *t, uint32_t need)
{
	uint32_t live = t->end - live_from(t), limit = capacity_limit(t);
	uint32_t capacity = t->bytes_capacity;

	if (capacity < limit && (capacity == 0 || live + need > capacity / 4 * 3)) {
		if (capacity < BYTES_MIN)
			capacity = BYTES_MIN;
		while (capacity < live + need)
			capacity *= 2;
		if (capacity == t->bytes_capacity)
			capacity *= 2;
		if (capacity > limit)
			capacity = limit;
	}
	move_bytes(t, capacity);
	ensure(need <= t->bytes_capacity - live);
}

static uint32_t slots_for(uint32_t count)
{
	uint32_t slots = SLOTS_MIN;

	while (slots < count)
		slots *= 2;
	return slots;
}

void table_set_max(struct table *t, uint32_t max_bytes)
{
	ensure(max_bytes <= TABLE_MAX_BYTES);
	t->max_bytes = max_bytes;
	if (t->used_bytes > max_bytes)
		evict_until(t, max_bytes);
	if (t->count == 0) {
		release(t);
		return;
	}
	if (t->bytes_capacity > capacity_limit(t))
		move_bytes(t, capacity_limit(t));
	uint32_t slots = slots_for(max_bytes / TABLE_ENTRY_OVERHEAD);
	if (t->slots > slots)
		resize_slots(t, slots);
}

bool table_insert(
    struct table *t, uint16_t token, struct slice name, struct slice value, uint32_t key)
{
	if (name.len > t->max_bytes || value.len > t->max_bytes ||
	    name.len + value.len + TABLE_ENTRY_OVERHEAD > t->max_bytes) {
		evict_until(t, 0);
		return false;
	}
	uint32_t stored = (uint32_t)(value.len + (token != HTTP_TOKEN_NONE ? 0 : name.len));
	uint32_t size = (uint32_t)(name.len + value.len) + TABLE_ENTRY_OVERHEAD;

	evict_until(t, t->max_bytes - size);
	if (t->count == t->slots)
		resize_slots(t, t->slots ? t->slots * 2 : SLOTS_MIN);
	if (!t->bytes || stored > t->bytes_capacity - (t->end - t->base))
		make_room(t, stored);

	struct table_entry *e = &t->entries[t->next & (t->slots - 1)];
	*e = (struct table_entry){
	    .name = token != HTTP_TOKEN_NONE ? http_token_name((enum http_token)token).ptr : NULL,
	    .at = t->end,
	    .name_len = (uint32_t)name.len,
	    .value_len = (uint32_t)value.len,
	    .key = key,
	    .token = token,
	};
	ensure(t->bytes != NULL || stored == 0);
	char *to = t->bytes + (t->end - t->base);
	/*
	 * NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker): make_room has allocated the bytes
	 */
	if (!e->name && name.len > 0) {
		memcpy(to, name.ptr, name.len);
		to += name.len;
	}
	if (value.len > 0)
		memcpy(to, value.ptr, value.len);
	/* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */
	t->end += stored;
	t->used_bytes += size;
	t->count++;
	t->next++;
	return true;
}

size_t table_memory(const struct table *t)
{
	return t->slots * sizeof(*t->entries) + t->bytes_capacity;
}

void table_check(const struct table *t)
{
	size_t used = 0;
	uint32_t at = live_from(t);

	ensure(t->count <= t->slots && (t->slots & (t->slots - 1)) == 0);
	ensure(t->used_bytes <= t->max_bytes && t->max_bytes <= TABLE_MAX_BYTES);
	ensure(t->end - t->base <= t->bytes_capacity);
	for (uint32_t age = t->count; age > 0; age--) {
		const struct table_entry *e = table_at(t, age);

		ensure(e->at == at && e->key != 0);
		ensure(!e->name == (e->token == HTTP_TOKEN_NONE));
		at += stored_bytes(e);
		used += e->name_len + e->value_len + TABLE_ENTRY_OVERHEAD;
	}
	ensure(at == t->end && used == t->used_bytes);
}
