/* SPDX-License-Identifier: MIT */
/*
 * The diary: what the client of one downstream connection has already, as far as the connection has
 * seen. Bounded: beyond `most` entries the one noted longest ago goes. It takes memory as it grows;
 * the owner asks policy_diary_growth before a note and charges the client for it. Not a cache: no
 * response is kept, and what it says may be wrong (clients forget), which costs a push that would
 * have been of use and nothing else.
 */
#ifndef PUSHGATE_POLICY_DIARY_H
#define PUSHGATE_POLICY_DIARY_H

#include "policy/policy.h"

struct policy_diary_entry;

struct policy_diary {
	struct policy_diary_entry *entries; /* NULL until the first note */
	uint16_t *slots;                    /* chains of entries by key */
	uint32_t most, room, count;
	uint16_t newest, oldest;
};

enum { POLICY_DIARY_MOST = 32768 };

/* most: 0 = none, at most POLICY_DIARY_MOST. */
void policy_diary_init(struct policy_diary *d, uint32_t most);
void policy_diary_fini(struct policy_diary *d);
/* Bytes that it takes now, and that the next note may add to them. */
size_t policy_diary_bytes(const struct policy_diary *d);
size_t policy_diary_growth(const struct policy_diary *d);

/* What names a resource: method, authority and path, query included. Stable, as cookies carry it.
 * */
uint64_t policy_diary_key(struct slice method, struct slice authority, struct slice path);
/* Of an ETag field's value; never 0, which stands for none. Weak and strong ones of one opaque tag
 * are the same. */
uint32_t policy_diary_etag(struct slice etag);

enum policy_note {
	POLICY_NOTE_PUSHED,    /* a push was delivered whole */
	POLICY_NOTE_RESET,     /* the client reset a push: as a rule because it has it */
	POLICY_NOTE_HINTED,    /* it was told to fetch it */
	POLICY_NOTE_REQUESTED, /* it asked for it itself, and got a 200 or 304 */
	/* the resource's ETag now is `etag`: another version is of no use any more */
	POLICY_NOTE_CHANGED,
	POLICY_NOTE_GONE, /* the client asked and there was none */
};

/* etag: 0 = not told; what was known stays then. */
void policy_note(struct policy_diary *d, enum policy_note note, uint64_t key, uint32_t etag);

/* etag: of what would be pushed, 0 = not known yet. An entry with another ETag is not known. */
enum policy_known policy_diary_knows(const struct policy_diary *d, uint64_t key, uint32_t etag);

/* Walks the keys, newest first: *cursor begins at 0. False: no more. */
bool policy_diary_next(const struct policy_diary *d, uint32_t *cursor, uint64_t *key);

#endif
