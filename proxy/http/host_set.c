/* SPDX-License-Identifier: MIT */
#include "proxy/http/host_set.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/http/host.h"

#include <string.h>

/* The text in the table: that of http_host_read, and ".example.com" for "*.example.com". */
static bool key_of(struct slice pattern, char key[1 + HTTP_HOST_TEXT])
{
	struct address address;
	bool is_wildcard = slice_starts_with(pattern, SLICE("*."));
	key[0] = '.';
	enum http_host_kind kind =
	    http_host_read(slice_from(pattern, is_wildcard ? 2 : 0), key + is_wildcard, &address);
	return kind == HTTP_HOST_NAME || (kind == HTTP_HOST_ADDRESS && !is_wildcard);
}

bool http_host_pattern_is_valid(struct slice pattern)
{
	char key[1 + HTTP_HOST_TEXT];
	return slice_equal(pattern, SLICE("*")) || key_of(pattern, key);
}

static size_t count_labels(struct slice name)
{
	size_t count = 0;
	for (size_t dot = slice_find(name, '.'); dot < name.len; count++)
		dot += 1 + slice_find(slice_from(name, dot + 1), '.');
	return count;
}

/* Names have few labels. Those that have many share the last bit. */
static uint64_t labels_bit(size_t labels)
{
	return (uint64_t)1 << (labels < 63 ? labels : 63);
}

/* The bytes of a set: header | slots | entries. */
struct header {
	uint64_t seed;
	uint64_t
	    wildcard_labels; /* a bit for each number of labels that a wildcard has behind its star */
	uint64_t mask;       /* slots, less one */
	bool has_any, has_names;
	uint32_t slots[]; /* where the entry begins, from the header; 0: none */
};

/* A name: lower case, no final dot; "*.example.com" is ".example.com". */
struct entry {
	uint8_t length;
	char text[];
};

_Static_assert(1 + HTTP_HOST_TEXT <= UINT8_MAX, "each key has its length in a byte");

static const struct header *header_of(const struct http_host_set *s)
{
	return (const void *)s->bytes.ptr;
}

uint64_t http_host_set_seed(const struct http_host_set *s)
{
	return header_of(s)->seed;
}

bool http_host_set_has_any(const struct http_host_set *s)
{
	return header_of(s)->has_any;
}

enum { IPV6_TEXT_BYTES = 45 };

/* The most that the entry of a pattern needs: only that of an IPv6 address may be longer than its pattern. */
static size_t entry_room(struct slice pattern)
{
	return sizeof(struct entry) + (pattern.ptr[0] == '[' ? IPV6_TEXT_BYTES : pattern.len);
}

/* Puts the entry there. Returns its bytes. */
static size_t add_name(struct header *h, size_t entry, struct slice name)
{
	struct entry *e = (void *)((char *)h + entry);
	uint64_t at = hash_bytes(h->seed, name.ptr, name.len);
	while (h->slots[at & h->mask] != 0)
		at++;
	h->slots[at & h->mask] = (uint32_t)entry;
	h->has_names = true;
	e->length = (uint8_t)name.len;
	memcpy(e->text, name.ptr, name.len);
	if (name.ptr[0] == '.')
		h->wildcard_labels |= labels_bit(count_labels(name));
	return sizeof(*e) + name.len;
}

void http_host_set_fill(struct http_host_set *s, struct arena *arena, uint64_t seed,
    const struct slice *patterns, size_t count)
{
	char key[1 + HTTP_HOST_TEXT];
	size_t slots = 4, room = 0;
	while (slots < 2 * count)
		slots *= 2;
	for (size_t i = 0; i < count; i++)
		room += entry_room(patterns[i]);
	size_t used = sizeof(struct header) + slots * sizeof(uint32_t);
	ensure(used + room <= UINT32_MAX);
	struct header *h = arena_alloc(arena, used + room);
	memset(h, 0, used);
	h->seed = seed;
	h->mask = slots - 1;
	for (size_t i = 0; i < count; i++) {
		if (slice_equal(patterns[i], SLICE("*"))) {
			h->has_any = true;
			continue;
		}
		ensure(key_of(patterns[i], key));
		used += add_name(h, used, slice_of_string(key));
	}
	s->bytes = slice_of(h, used);
}

static bool has_name(const struct header *h, struct slice name, uint64_t hash)
{
	for (uint64_t at = hash;; at++) {
		uint32_t slot = h->slots[at & h->mask];
		if (slot == 0)
			return false;
		const struct entry *e = (const void *)((const char *)h + slot);
		if (slice_equal(slice_of(e->text, e->length), name))
			return true;
	}
}

/* From the right, so that the labels of each suffix are counted on the way. */
void http_host_keys_init(struct http_host_keys *k, struct slice host, uint64_t seed)
{
	k->host = host;
	k->seed = seed;
	k->hash = host.len > 0 ? hash_bytes(seed, host.ptr, host.len) : 0;
	k->count = 0;
	k->labels = 0;
	for (size_t at = host.len; at-- > 1 && k->count < HTTP_HOST_LABELS;) {
		if (host.ptr[at] != '.')
			continue;
		struct slice suffix = slice_from(host, at);
		k->suffixes[k->count].at = at;
		k->suffixes[k->count].hash = hash_bytes(seed, suffix.ptr, suffix.len);
		k->labels |= labels_bit(++k->count);
	}
}

bool http_host_set_has(const struct http_host_set *s, const struct http_host_keys *k)
{
	if (http_host_set_is_empty(s))
		return false;
	const struct header *h = header_of(s);
	if (h->has_any)
		return true;
	if (!h->has_names || k->host.len == 0)
		return false;
	if (k->host.ptr[0] != '.' && has_name(h, k->host, k->hash))
		return true;
	if ((h->wildcard_labels & k->labels) == 0)
		return false;
	for (size_t i = 0; i < k->count; i++)
		if ((h->wildcard_labels & labels_bit(i + 1)) != 0 &&
		    has_name(h, slice_from(k->host, k->suffixes[i].at), k->suffixes[i].hash))
			return true;
	return false;
}
