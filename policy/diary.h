/* SPDX-License-Identifier: MIT */
/*
 * The diary: what the client of one connection got of each resource, as far as it says whether the
 * resource needs to be pushed again. It is bounded: beyond `most` entries the oldest one is dropped.
 * It grows on demand: the owner calls policy_diary_growth before a note and charges the client for
 * the memory. It is not a cache: it keeps no responses. A client may have evicted a resource since;
 * then a useful push is skipped, which does no other harm.
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
 * Hash of the value of an ETag or a Last-Modified field; never 0, which means none. A weak and a
 * strong tag with the same opaque tag are equal.
 */
uint32_t policy_diary_etag(struct slice etag);
uint32_t policy_diary_modified(struct slice last_modified);

/*
 *   (none), HAD --- promised ---> PUSHED_UNANSWERED --- head ---> HAD or PUSHED_ONCE
 *   PUSHED_ONCE --- promised ---> PUSHED_AGAIN      --- head ---> HAD or PUSHED_ONCE
 *
 * A push that the client resets before its head leaves HAD for a short time, or PUSHED_ONCE where
 * it was that before. A push that fails leaves no entry.
 */
enum policy_diary_state {
	POLICY_DIARY_PUSHED_UNANSWERED, /* it is being pushed; its response has not begun */
	POLICY_DIARY_PUSHED_AGAIN,      /* the same, and it was PUSHED_ONCE before */
	POLICY_DIARY_PUSHED_ONCE,       /* the response that was pushed is good for one use only */
	POLICY_DIARY_HAD,               /* the client has a response that it can use again */
};

struct policy_diary_note {
	enum policy_diary_state state;
	union {
		uint32_t coding;    /* PUSHED_UNANSWERED, PUSHED_AGAIN: kept for the owner */
		uint32_t page;      /* PUSHED_ONCE: the request that it was pushed with */
		uint32_t validator; /* HAD: hash of the response's ETag or Last-Modified; 0: none */
	};
	/* HAD: the client's copy is fresh until this second of the caller's clock. Also set when no
	 * response has come: after a hint, or when the client has reset the push. */
	uint32_t fresh_until_sec;
	/* HAD: the validator is not only this client's: other clients get the same response. */
	bool is_common;
};

/* Replaces what was noted for the key. PUSHED_ONCE counts as the oldest entry, so that a stream of
 * such responses displaces no others. */
void policy_diary_put(struct policy_diary *d, uint64_t key, const struct policy_diary_note *note);
void policy_diary_forget(struct policy_diary *d, uint64_t key);
/* False: nothing is noted for the key. */
bool policy_diary_find(const struct policy_diary *d, uint64_t key, struct policy_diary_note *note);

/*
 * Whether an offer is known by the note. An origin that promises a response which is good for one
 * use means it, so its promises are known by HAD alone. Offers of our own are not made for a push
 * that has not begun, or twice with the same page.
 */
enum policy_known policy_diary_answer(
    const struct policy_diary_note *note, bool is_own, uint32_t page, uint32_t now_sec);

/* Iterates over the entries, newest first. Set *cursor to 0 at first. False: no more entries. */
bool policy_diary_next(
    const struct policy_diary *d, uint32_t *cursor, uint64_t *key, struct policy_diary_note *note);

#endif
