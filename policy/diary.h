/* SPDX-License-Identifier: MIT */
/*
 * The diary: which resources the client of one connection already has, as far as the connection has
 * seen. It is bounded: beyond `most` entries the oldest one is dropped. It grows on demand: the
 * owner calls policy_diary_growth before a note and charges the client for the memory. It is not a
 * cache: it keeps no responses. A client may have evicted a resource since; then a useful push is
 * skipped, which does no other harm.
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
/* Bytes in use now, and bytes that the next note may add. */
size_t policy_diary_bytes(const struct policy_diary *d);
size_t policy_diary_growth(const struct policy_diary *d);

/*
 * The key of a resource: its method, authority, and path with query. It is stable, because cookies
 * carry it.
 */
uint64_t policy_diary_key(struct slice method, struct slice authority, struct slice path);
/*
 * Hash of an ETag field's value; never 0, which means none. A weak and a strong tag with the same
 * opaque tag are equal.
 */
uint32_t policy_diary_etag(struct slice etag);

enum policy_note {
	POLICY_NOTE_PUSHED,    /* a push was delivered completely */
	POLICY_NOTE_RESET,     /* the client reset a push, usually because it has the resource */
	POLICY_NOTE_HINTED,    /* a hint told the client to fetch it */
	POLICY_NOTE_REQUESTED, /* the client requested it and got a 200 or 304 */
	/* the resource's ETag is now `etag`: other versions are outdated */
	POLICY_NOTE_CHANGED,
	POLICY_NOTE_GONE, /* the client requested it and it does not exist */
};

/* etag: 0 = unknown; a known ETag then stays. */
void policy_note(struct policy_diary *d, enum policy_note note, uint64_t key, uint32_t etag);

/*
 * etag: of the response to be pushed, 0 = unknown. An entry with another ETag does not count as
 * known.
 */
enum policy_known policy_diary_knows(const struct policy_diary *d, uint64_t key, uint32_t etag);

/* Iterates over the keys, newest first. Set *cursor to 0 at first. False: no more keys. */
bool policy_diary_next(const struct policy_diary *d, uint32_t *cursor, uint64_t *key);

#endif
