/* SPDX-License-Identifier: MIT */
/*
 * The diary over connections: a set of resources in a cookie that the client brings back. Truncated
 * hashes, sorted, their differences coded, with version, expiry and a MAC, as base64url (RFC 4648
 * 5) that fits a cookie's value. What a client sends is not trusted before the MAC has been
 * checked, nor after: every bound is checked again.
 *
 *   version (1) | expiry, seconds since the epoch (4) | differences (LEB128) | MAC (16)
 *
 * How the cookie is named, sent and scoped is its owner's business.
 */
#ifndef PUSHGATE_POLICY_COOKIE_H
#define PUSHGATE_POLICY_COOKIE_H

#include "policy/diary.h"

enum {
	POLICY_COOKIE_TEXT = 1024, /* bytes of its value, at most */
	POLICY_COOKIE_MOST = 256,  /* resources */
	POLICY_COOKIE_HASH_BITS = 24,
	POLICY_COOKIE_MAC = 32, /* bytes that the callback writes; the first half of them travels */
	POLICY_COOKIE_KEYS = 2,
};

/* Keyed digests (HMAC-SHA256) of the owner's. Key 0 signs; all of them are accepted, so that keys
 * can be changed. */
struct policy_cookie_keys {
	unsigned count; /* 1 … POLICY_COOKIE_KEYS */
	void (*mac)(void *context, unsigned key, struct slice text, uint8_t out[POLICY_COOKIE_MAC]);
	void *context;
};

struct policy_cookie_set {
	uint32_t hashes[POLICY_COOKIE_MOST]; /* ascending, each once */
	uint32_t count;
};

/* False when the key is in already, or the set is full. */
bool policy_cookie_add(struct policy_cookie_set *set, uint64_t key);
/* Whatever else shares its hash goes with it. False when it was not in. */
bool policy_cookie_remove(struct policy_cookie_set *set, uint64_t key);
bool policy_cookie_has(const struct policy_cookie_set *set, uint64_t key);

/* The diary's newest, then what was in the set before as far as there is room. */
void policy_cookie_merge(struct policy_cookie_set *set, const struct policy_diary *diary);

/* Writes the cookie's value and its length without a NUL. The set is shortened when it would not
 * fit. */
size_t policy_cookie_write(struct policy_cookie_set *set, const struct policy_cookie_keys *keys,
    uint64_t expires_sec, char text[POLICY_COOKIE_TEXT]);

/* False (and an empty set): no cookie of ours, changed, of a key that is gone, too old, or from
 * further in the future than max_age_sec. */
bool policy_cookie_read(struct policy_cookie_set *set, const struct policy_cookie_keys *keys,
    struct slice text, uint64_t now_sec, uint64_t max_age_sec);

#endif
