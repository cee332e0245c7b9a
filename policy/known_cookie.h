/* SPDX-License-Identifier: MIT */
/*
 * Carries a diary from one connection to the next: a set of resources in a cookie. A resource is in
 * it as the version that the client has (the key with the response's validator), or without a
 * version if it stays fresh for as long as the cookie lives. So what has changed since is not found.
 * Resources that have neither are left out.
 *
 * The value holds truncated hashes, sorted and coded as differences, with the format's number,
 * expiry and a MAC, in base64url (RFC 4648 5). Nothing in it is used before the MAC has been
 * checked, and all bounds are checked even then.
 *
 *   format (1) | expiry, seconds since the epoch (4) | differences (LEB128) | MAC (16)
 *
 * The caller chooses the cookie's name and attributes.
 */
#ifndef PUSHGATE_POLICY_KNOWN_COOKIE_H
#define PUSHGATE_POLICY_KNOWN_COOKIE_H

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
	uint32_t expires_sec; /* since the epoch; of the cookie that was read or written last */
};

/*
 * validator: of the version (diary.h); 0: the resource without a version. add: false if the set
 * already has it or is full. remove: also removes others with the same hash; false if the set did
 * not have it.
 */
bool policy_cookie_add(struct policy_cookie_set *set, uint64_t key, uint32_t validator);
bool policy_cookie_remove(struct policy_cookie_set *set, uint64_t key, uint32_t validator);
bool policy_cookie_has(const struct policy_cookie_set *set, uint64_t key, uint32_t validator);

/*
 * Refills the set: the diary's newest entries first, then the set's previous ones as far as there
 * is room. until_sec: what has no validator must be fresh until then, on the diary's clock. True if
 * previous ones remain that the diary does not have: they may be fresh until the set's expiry only.
 */
bool policy_cookie_merge(
    struct policy_cookie_set *set, const struct policy_diary *diary, uint32_t until_sec);

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
