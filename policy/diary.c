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
	uint32_t of_state; /* the note's coding, page or validator */
	uint32_t fresh_until_sec;
	uint16_t next;         /* in the hash chain */
	uint16_t newer, older; /* in the list by age */
	uint8_t state;         /* enum policy_diary_state */
	bool is_common;
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

static void age_append(struct policy_diary *d, uint16_t at)
{
	d->entries[at].older = NONE;
	d->entries[at].newer = d->oldest;
	*(d->oldest == NONE ? &d->newest : &d->entries[d->oldest].older) = at;
	d->oldest = at;
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

/* ---- notes ---- */

static void write_note(struct policy_diary_entry *e, const struct policy_diary_note *note)
{
	e->of_state = note->validator; /* or its coding or page: a union of numbers */
	e->fresh_until_sec = note->fresh_until_sec;
	e->state = (uint8_t)note->state;
	e->is_common = note->is_common;
}

static struct policy_diary_note note_of(const struct policy_diary_entry *e)
{
	return (struct policy_diary_note){
	    .state = (enum policy_diary_state)e->state,
	    .validator = e->of_state,
	    .fresh_until_sec = e->fresh_until_sec,
	    .is_common = e->is_common,
	};
}

/* The place of the key; takes one for it if it has none. Not yet in the list by age. */
static uint16_t place(struct policy_diary *d, uint64_t key)
{
	uint16_t at = find(d, key);

	if (at != NONE) {
		age_remove(d, at);
		return at;
	}
	grow(d);
	if (d->count < d->room) {
		at = (uint16_t)d->count++;
	} else {
		at = d->oldest;
		age_remove(d, at);
		unchain(d, at);
	}
	d->entries[at].key = key;
	chain(d, at);
	return at;
}

void policy_diary_put(struct policy_diary *d, uint64_t key, const struct policy_diary_note *note)
{
	if (d->most == 0)
		return;
	uint16_t at = place(d, key);
	write_note(&d->entries[at], note);
	if (note->state == POLICY_DIARY_PUSHED_ONCE)
		age_append(d, at);
	else
		age_prepend(d, at);
}

/* Moves the last entry into the hole, so that the used entries stay contiguous. */
void policy_diary_forget(struct policy_diary *d, uint64_t key)
{
	uint16_t at = find(d, key);

	if (at == NONE)
		return;
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

bool policy_diary_find(const struct policy_diary *d, uint64_t key, struct policy_diary_note *note)
{
	uint16_t at = find(d, key);

	if (at != NONE)
		*note = note_of(&d->entries[at]);
	return at != NONE;
}

enum policy_known policy_diary_answer(
    const struct policy_diary_note *note, bool is_own, uint32_t page, uint32_t now_sec)
{
	/* uncovered: a value outside the enum */
	switch (note->state) {
	case POLICY_DIARY_PUSHED_UNANSWERED:
	case POLICY_DIARY_PUSHED_AGAIN:
		return is_own ? POLICY_KNOWN : POLICY_NOT_KNOWN;
	case POLICY_DIARY_PUSHED_ONCE:
		return is_own && note->page == page ? POLICY_KNOWN : POLICY_NOT_KNOWN;
	case POLICY_DIARY_HAD:
		break;
	}
	if (note->validator != 0)
		return POLICY_KNOWN_VALIDATOR;
	return now_sec < note->fresh_until_sec ? POLICY_KNOWN : POLICY_NOT_KNOWN;
}

bool policy_diary_next(
    const struct policy_diary *d, uint32_t *cursor, uint64_t *key, struct policy_diary_note *note)
{
	/* The cursor is the position of the previous entry, plus one. */
	uint16_t at = *cursor == 0 ? d->newest : d->entries[*cursor - 1].older;

	if (at == NONE)
		return false;
	*key = d->entries[at].key;
	*note = note_of(&d->entries[at]);
	*cursor = at + 1u;
	return true;
}

uint64_t policy_diary_key(struct slice method, struct slice authority, struct slice path)
{
	uint64_t hash = hash_bytes(1, method.ptr, method.len);

	hash = hash_bytes(hash, authority.ptr, authority.len);
	return hash_bytes(hash, path.ptr, path.len);
}

/* The seed tells the hashes of the two fields apart. */
static uint32_t hash_field(uint64_t seed, struct slice value)
{
	uint64_t hash = hash_bytes(seed, value.ptr, value.len);
	uint32_t folded = (uint32_t)(hash ^ hash >> 32);
	/* uncovered: one value of a 32-bit hash, which is kept for "none" */
	return folded ? folded : 1;
}

uint32_t policy_diary_etag(struct slice etag)
{
	etag = slice_trim(etag);
	if (slice_starts_with(etag, SLICE("W/")))
		etag = slice_from(etag, 2);
	return hash_field(2, etag);
}

uint32_t policy_diary_modified(struct slice last_modified)
{
	return hash_field(3, slice_trim(last_modified));
}
