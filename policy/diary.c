/* SPDX-License-Identifier: MIT */
/*
 * The diary; see diary.h. All entries are in one array. Each is linked into the hash chain of its
 * key and into one list by age. Links are array positions, so that growing is a plain copy.
 */
#include "policy/diary.h"
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include <assert.h>

enum { NONE = UINT16_MAX, FIRST_ROOM = 16 };
static_assert((int)POLICY_DIARY_MOST < (int)NONE, "a position fits into 16 bits");

struct policy_diary_entry {
	uint64_t key;
	uint32_t etag;
	uint16_t next;         /* in the hash chain */
	uint16_t newer, older; /* in the list by age */
};

void policy_diary_init(struct policy_diary *d, uint32_t most)
{
	ensure(most <= POLICY_DIARY_MOST);
	*d = (struct policy_diary){.most = most, .newest = NONE, .oldest = NONE};
}

void policy_diary_fini(struct policy_diary *d)
{
	free(d->entries);
	free(d->slots);
	policy_diary_init(d, d->most);
}

/* At least as many slots as entries, a power of two. */
static uint32_t slots_for(uint32_t room)
{
	uint32_t slots = FIRST_ROOM;

	while (slots < room)
		slots *= 2;
	return slots;
}

static size_t bytes_for(uint32_t room)
{
	return room ? room * sizeof(struct policy_diary_entry) + slots_for(room) * sizeof(uint16_t)
		    : 0;
}

static uint32_t next_room(const struct policy_diary *d)
{
	if (d->count < d->room || d->room == d->most)
		return d->room;
	uint32_t room = d->room ? 2 * d->room : FIRST_ROOM;
	return room < d->most ? room : d->most;
}

size_t policy_diary_bytes(const struct policy_diary *d)
{
	return bytes_for(d->room);
}

size_t policy_diary_growth(const struct policy_diary *d)
{
	return bytes_for(next_room(d)) - bytes_for(d->room);
}

static uint16_t *slot_of(const struct policy_diary *d, uint64_t key)
{
	return &d->slots[key & (slots_for(d->room) - 1)];
}

static uint16_t find(const struct policy_diary *d, uint64_t key)
{
	if (d->room == 0)
		return NONE;
	uint16_t at = *slot_of(d, key);
	while (at != NONE && d->entries[at].key != key)
		at = d->entries[at].next;
	return at;
}

static void chain(struct policy_diary *d, uint16_t at)
{
	uint16_t *slot = slot_of(d, d->entries[at].key);

	d->entries[at].next = *slot;
	*slot = at;
}

static void unchain(struct policy_diary *d, uint16_t at)
{
	uint16_t *link = slot_of(d, d->entries[at].key);

	while (*link != at)
		link = &d->entries[*link].next;
	*link = d->entries[at].next;
}

static void age_remove(struct policy_diary *d, uint16_t at)
{
	struct policy_diary_entry *e = &d->entries[at];

	*(e->newer == NONE ? &d->newest : &d->entries[e->newer].older) = e->older;
	*(e->older == NONE ? &d->oldest : &d->entries[e->older].newer) = e->newer;
}

static void age_prepend(struct policy_diary *d, uint16_t at)
{
	d->entries[at].newer = NONE;
	d->entries[at].older = d->newest;
	*(d->newest == NONE ? &d->oldest : &d->entries[d->newest].newer) = at;
	d->newest = at;
}

static void grow(struct policy_diary *d)
{
	uint32_t room = next_room(d), slots = slots_for(room);

	if (room == d->room)
		return;
	d->entries = memory_resize(d->entries, room, sizeof *d->entries);
	d->slots = memory_resize(d->slots, slots, sizeof *d->slots);
	d->room = room;
	memset(d->slots, 0xff, slots * sizeof *d->slots);
	for (uint32_t at = 0; at < d->count; at++)
		chain(d, (uint16_t)at);
}

static void put(struct policy_diary *d, uint64_t key, uint32_t etag)
{
	uint16_t at = find(d, key);

	if (at != NONE) {
		age_remove(d, at);
		age_prepend(d, at);
		if (etag != 0)
			d->entries[at].etag = etag;
		return;
	}
	if (d->most == 0)
		return;
	grow(d);
	if (d->count < d->room) {
		at = (uint16_t)d->count++;
	} else {
		at = d->oldest;
		age_remove(d, at);
		unchain(d, at);
	}
	d->entries[at].key = key;
	d->entries[at].etag = etag;
	chain(d, at);
	age_prepend(d, at);
}

/* Moves the last entry into the hole, so that the used entries stay contiguous. */
static void forget(struct policy_diary *d, uint16_t at)
{
	uint16_t last = (uint16_t)(d->count - 1);

	age_remove(d, at);
	unchain(d, at);
	if (at != last) {
		struct policy_diary_entry *e = &d->entries[at];
		unchain(d, last);
		*e = d->entries[last];
		*(e->newer == NONE ? &d->newest : &d->entries[e->newer].older) = at;
		*(e->older == NONE ? &d->oldest : &d->entries[e->older].newer) = at;
		chain(d, at);
	}
	d->count--;
}

void policy_note(struct policy_diary *d, enum policy_note note, uint64_t key, uint32_t etag)
{
	uint16_t at;

	/* uncovered: a value outside the enum */
	switch (note) {
	case POLICY_NOTE_PUSHED:
	case POLICY_NOTE_RESET:
	case POLICY_NOTE_HINTED:
	case POLICY_NOTE_REQUESTED:
		put(d, key, etag);
		return;
	case POLICY_NOTE_CHANGED:
		at = find(d, key);
		if (at != NONE && etag != 0 && d->entries[at].etag != 0 &&
		    d->entries[at].etag != etag)
			forget(d, at);
		return;
	case POLICY_NOTE_GONE:
		at = find(d, key);
		if (at != NONE)
			forget(d, at);
		return;
	}
}

enum policy_known policy_diary_knows(const struct policy_diary *d, uint64_t key, uint32_t etag)
{
	uint16_t at = find(d, key);

	if (at == NONE)
		return POLICY_NOT_KNOWN;
	uint32_t known = d->entries[at].etag;
	if (known == 0)
		return POLICY_KNOWN;
	return etag != 0 && etag != known ? POLICY_NOT_KNOWN : POLICY_KNOWN_ETAG;
}

bool policy_diary_next(const struct policy_diary *d, uint32_t *cursor, uint64_t *key)
{
	/* The cursor is the position of the previous entry, plus one. */
	uint16_t at = *cursor == 0 ? d->newest : d->entries[*cursor - 1].older;

	if (at == NONE)
		return false;
	*key = d->entries[at].key;
	*cursor = at + 1u;
	return true;
}

uint64_t policy_diary_key(struct slice method, struct slice authority, struct slice path)
{
	uint64_t hash = hash_bytes(1, method.ptr, method.len);

	hash = hash_bytes(hash, authority.ptr, authority.len);
	return hash_bytes(hash, path.ptr, path.len);
}

uint32_t policy_diary_etag(struct slice etag)
{
	etag = slice_trim(etag);
	if (slice_starts_with(etag, SLICE("W/")))
		etag = slice_from(etag, 2);
	uint64_t hash = hash_bytes(2, etag.ptr, etag.len);
	uint32_t folded = (uint32_t)(hash ^ hash >> 32);
	/* uncovered: one value of a 32-bit hash, which is kept for "none" */
	return folded ? folded : 1;
}
