/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a diary's cookie. The first byte chooses: as a cookie's value, or (with a MAC
 * that is right) as the inside of one. What is accepted is in order and comes out again as it went
 * in.
 */
#include "tests/fuzz/input.h"

#include "policy/known_cookie.h"
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"

enum { NOW = 1700000000, MAX_AGE = 1000000 };

static void digest(void *context, unsigned key, struct slice text, uint8_t out[POLICY_COOKIE_MAC])
{
	(void)context;
	for (unsigned i = 0; i < POLICY_COOKIE_MAC / 8; i++) {
		uint64_t hash = hash_bytes(key * 100 + i, text.ptr, text.len);
		memcpy(out + 8 * i, &hash, 8);
	}
}

static const struct policy_cookie_keys keys = {2, digest, NULL};

/* Bytes as the signed inside of a cookie. */
static struct slice signed_text(const uint8_t *data, size_t size, char text[POLICY_COOKIE_TEXT + 4])
{
	static const char letters[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint8_t raw[POLICY_COOKIE_TEXT / 4 * 3] = {
	    2, NOW >> 24, NOW >> 16 & 255, NOW >> 8 & 255, 255};
	uint8_t mac[POLICY_COOKIE_MAC];
	size_t room = sizeof raw - 5 - sizeof mac / 2, n = size < room ? size : room, out = 0;

	memcpy(raw + 5, data, n);
	n += 5;
	digest(NULL, n % POLICY_COOKIE_KEYS, slice_of(raw, n), mac);
	memcpy(raw + n, mac, sizeof mac / 2);
	n += sizeof mac / 2;
	for (size_t bit = 0; bit < 8 * n; bit += 6) {
		unsigned value = 0;
		for (size_t b = bit; b < bit + 6; b++)
			value = value << 1 | (b < 8 * n && raw[b / 8] & 0x80u >> b % 8);
		text[out++] = letters[value];
	}
	return slice_of(text, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_cookie_set set, back;
	char text[POLICY_COOKIE_TEXT + 4], again[POLICY_COOKIE_TEXT];

	if (size == 0)
		return 0;
	struct slice value = slice_of(data + 1, size - 1);
	if (data[0] & 1)
		value = signed_text(data + 1, size - 1, text);
	if (!policy_cookie_read(&set, &keys, value, NOW, MAX_AGE)) {
		ensure(set.count == 0);
		return 0;
	}
	ensure(set.count <= POLICY_COOKIE_MOST);
	for (uint32_t i = 0; i < set.count; i++) {
		ensure(set.hashes[i] >> POLICY_COOKIE_HASH_BITS == 0);
		ensure(i == 0 || set.hashes[i - 1] < set.hashes[i]);
		ensure(policy_cookie_has(
		    &set, (uint64_t)set.hashes[i] << (64 - POLICY_COOKIE_HASH_BITS), 0));
	}
	uint32_t count = set.count;
	size_t length = policy_cookie_write(&set, &keys, NOW + 1, again);
	ensure(set.count == count); /* what fitted once fits again */
	ensure(policy_cookie_read(&back, &keys, slice_of(again, length), NOW, MAX_AGE));
	ensure(back.count == count &&
	       memcmp(back.hashes, set.hashes, count * sizeof set.hashes[0]) == 0);
	return 0;
}
