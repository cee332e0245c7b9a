/* SPDX-License-Identifier: MIT */
/*
 * Carries a diary from one connection to the next: a set of resources in a cookie. The value holds
 * truncated hashes, sorted and coded as differences, with version, expiry and a MAC, in base64url
 * (RFC 4648 5). Nothing in it is used before the MAC has been checked, and all bounds are checked
 * even then.
 *
 *   version (1) | expiry, seconds since the epoch (4) | differences (LEB128) | MAC (16)
 *
 * The caller chooses the cookie's name and attributes.
 */
#ifndef PUSHGATE_POLICY_COOKIE_H
#define PUSHGATE_POLICY_COOKIE_H

#include "policy/diary.h"

enum {
	POLICY_COOKIE_TEXT = 1024, /* longest value, in bytes */
	POLICY_COOKIE_MOST = 256,  /* most resources */
	POLICY_COOKIE_HASH_BITS = 24,
	POLICY_COOKIE_MAC = 32, /* bytes from the callback; the cookie carries half */
	POLICY_COOKIE_KEYS = 2,
};

/*
 * The caller's keyed digests (HMAC-SHA256). Key 0 signs; all keys are accepted, so that keys can be
 * changed.
 */
struct policy_cookie_keys {
	unsigned count; /* 1 … POLICY_COOKIE_KEYS */
	void (*mac)(void *context, unsigned key, struct slice text, uint8_t out[POLICY_COOKIE_MAC]);
	void *context;
};

struct policy_cookie_set {
	uint32_t hashes[POLICY_COOKIE_MOST]; /* ascending, each once */
	uint32_t count;
};

/* False if the set already has the key or is full. */
bool policy_cookie_add(struct policy_cookie_set *set, uint64_t key);
/* Also removes other resources with the same hash. False if the set did not have it. */
bool policy_cookie_remove(struct policy_cookie_set *set, uint64_t key);
bool policy_cookie_has(const struct policy_cookie_set *set, uint64_t key);

/*
 * Refills the set: the diary's newest entries first, then the set's previous ones as far as there
 * is room.
 */
void policy_cookie_merge(struct policy_cookie_set *set, const struct policy_diary *diary);

/*
 * Writes the cookie's value without a NUL. Returns its length. Shortens the set if it does not fit.
 */
size_t policy_cookie_write(struct policy_cookie_set *set, const struct policy_cookie_keys *keys,
    uint64_t expires_sec, char text[POLICY_COOKIE_TEXT]);

/*
 * False (and an empty set) if the value is malformed, wrongly signed, expired, or expires later
 * than max_age_sec from now.
 */
bool policy_cookie_read(struct policy_cookie_set *set, const struct policy_cookie_keys *keys,
    struct slice text, uint64_t now_sec, uint64_t max_age_sec);

#endif
