/* SPDX-License-Identifier: MIT */
/* The diary as a cookie's value; see known_cookie.h. */
#include "policy/known_cookie.h"
#include "proxy/base/base64.h"
#include "proxy/base/ensure.h"

enum {
	FORMAT = 2,
	HEAD_BYTES = 5,
	MAC_BYTES = POLICY_COOKIE_MAC / 2,
	RAW_BYTES = POLICY_COOKIE_TEXT / 4 * 3,
	BODY_BYTES = RAW_BYTES - HEAD_BYTES - MAC_BYTES,
};

/* ---- the set ---- */

static uint32_t truncated(uint64_t key, uint32_t validator)
{
	key += validator * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(key >> (64 - POLICY_COOKIE_HASH_BITS));
}

/* The position of the hash, or where it would be inserted. */
static uint32_t position(const struct policy_cookie_set *set, uint32_t hash)
{
	uint32_t low = 0, high = set->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (set->hashes[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool add_hash(struct policy_cookie_set *set, uint32_t hash)
{
	uint32_t at = position(set, hash);

	if ((at < set->count && set->hashes[at] == hash) || set->count == POLICY_COOKIE_MOST)
		return false;
	memmove(&set->hashes[at + 1], &set->hashes[at], (set->count - at) * sizeof set->hashes[0]);
	set->hashes[at] = hash;
	set->count++;
	return true;
}

bool policy_cookie_add(struct policy_cookie_set *set, uint64_t key, uint32_t validator)
{
	return add_hash(set, truncated(key, validator));
}

bool policy_cookie_remove(struct policy_cookie_set *set, uint64_t key, uint32_t validator)
{
	uint32_t hash = truncated(key, validator), at = position(set, hash);

	if (at == set->count || set->hashes[at] != hash)
		return false;
	set->count--;
	memmove(&set->hashes[at], &set->hashes[at + 1], (set->count - at) * sizeof set->hashes[0]);
	return true;
}

bool policy_cookie_has(const struct policy_cookie_set *set, uint64_t key, uint32_t validator)
{
	uint32_t hash = truncated(key, validator), at = position(set, hash);

	return at < set->count && set->hashes[at] == hash;
}

bool policy_cookie_merge(
    struct policy_cookie_set *set, const struct policy_diary *diary, uint32_t until_sec)
{
	const struct policy_cookie_set old = *set;
	uint32_t cursor = 0;
	uint64_t key;
	struct policy_diary_note note;
	bool remains = false;

	set->count = 0;
	while (policy_diary_next(diary, &cursor, &key, &note)) {
		if (note.state != POLICY_DIARY_HAD)
			continue;
		if (note.validator != 0 && note.is_common)
			policy_cookie_add(set, key, note.validator);
		else if (note.fresh_until_sec >= until_sec)
			policy_cookie_add(set, key, 0);
	}
	for (uint32_t i = 0; i < old.count; i++)
		remains |= add_hash(set, old.hashes[i]);
	return remains;
}

/* ---- coding ---- */

/* LEB128: seven bits per byte, the lowest first. */
static size_t put_number(uint8_t *out, uint32_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

/* Returns how many bytes it read; 0: truncated, too large, or not in the shortest form. */
static size_t get_number(const uint8_t *in, size_t length, uint32_t *value)
{
	*value = 0;
	for (size_t n = 0; n < length && 7 * n < POLICY_COOKIE_HASH_BITS; n++) {
		*value |= (uint32_t)(in[n] & 0x7f) << (7 * n);
		if (in[n] < 0x80)
			return in[n] == 0 && n > 0 ? 0 : n + 1;
	}
	return 0;
}

/* Encodes as many of the set's hashes as fit. *fit: how many. Returns the bytes written. */
static size_t body_put(const struct policy_cookie_set *set, uint8_t *out, uint32_t *fit)
{
	size_t n = 0;
	uint32_t last = 0;

	for (*fit = 0; *fit < set->count; ++*fit) {
		uint8_t number[5];
		/*
		 * Differences are stored minus one, because each hash is larger than the one
		 * before.
		 */
		size_t more =
		    put_number(number, *fit ? set->hashes[*fit] - last - 1 : set->hashes[0]);
		if (n + more > BODY_BYTES)
			break;
		memcpy(out + n, number, more);
		n += more;
		last = set->hashes[*fit];
	}
	return n;
}

static bool body_get(struct policy_cookie_set *set, const uint8_t *in, size_t length)
{
	uint32_t last = 0, more;

	for (size_t at = 0; at < length;) {
		size_t n = get_number(in + at, length - at, &more);
		if (n == 0 || set->count == POLICY_COOKIE_MOST)
			return false;
		uint64_t hash = set->count ? (uint64_t)last + 1 + more : more;
		if (hash >> POLICY_COOKIE_HASH_BITS != 0)
			return false;
		last = set->hashes[set->count++] = (uint32_t)hash;
		at += n;
	}
	return true;
}

size_t policy_cookie_write(struct policy_cookie_set *set, const struct policy_cookie_keys *keys,
    uint64_t expires_sec, char text[POLICY_COOKIE_TEXT])
{
	uint8_t raw[RAW_BYTES], mac[POLICY_COOKIE_MAC];
	uint32_t expires = expires_sec < UINT32_MAX ? (uint32_t)expires_sec : UINT32_MAX, fit;

	ensure(keys->count >= 1 && keys->count <= POLICY_COOKIE_KEYS);
	set->expires_sec = expires;
	raw[0] = FORMAT;
	for (int i = 0; i < 4; i++)
		raw[1 + i] = (uint8_t)(expires >> (24 - 8 * i));
	size_t length = HEAD_BYTES + body_put(set, raw + HEAD_BYTES, &fit);
	set->count = fit;
	keys->mac(keys->context, 0, slice_of(raw, length), mac);
	memcpy(raw + length, mac, MAC_BYTES);
	return base64url_encode(slice_of(raw, length + MAC_BYTES), text);
}

/* Compares in constant time. */
static bool mac_equal(const uint8_t *a, const uint8_t *b)
{
	unsigned difference = 0;

	for (size_t i = 0; i < MAC_BYTES; i++)
		difference |= (unsigned)(a[i] ^ b[i]);
	return difference == 0;
}

static bool is_signed(const struct policy_cookie_keys *keys, const uint8_t *raw, size_t length)
{
	uint8_t mac[POLICY_COOKIE_MAC];
	bool is_ours = false;

	for (unsigned key = 0; key < keys->count; key++) {
		keys->mac(keys->context, key, slice_of(raw, length), mac);
		is_ours |= mac_equal(mac, raw + length);
	}
	return is_ours;
}

bool policy_cookie_read(struct policy_cookie_set *set, const struct policy_cookie_keys *keys,
    struct slice text, uint64_t now_sec, uint64_t max_age_sec)
{
	uint8_t raw[RAW_BYTES];
	size_t length;
	uint32_t expires = 0;

	ensure(keys->count >= 1 && keys->count <= POLICY_COOKIE_KEYS);
	set->count = 0;
	if (!base64url_decode(text, raw, RAW_BYTES, &length) || length < HEAD_BYTES + MAC_BYTES ||
	    raw[0] != FORMAT)
		return false;
	length -= MAC_BYTES;
	if (!is_signed(keys, raw, length))
		return false;
	for (int i = 0; i < 4; i++)
		expires = expires << 8 | raw[1 + i];
	if (expires <= now_sec || expires - now_sec > max_age_sec)
		return false;
	set->expires_sec = expires;
	if (body_get(set, raw + HEAD_BYTES, length - HEAD_BYTES))
		return true;
	set->count = 0;
	return false;
}
