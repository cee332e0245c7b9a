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

void http_host_set_fill(struct http_host_set *s, struct arena *arena, uint64_t seed,
    const struct slice *patterns, size_t count)
{
	char key[1 + HTTP_HOST_TEXT];
	size_t slots = 4;
	while (slots < 2 * count)
		slots *= 2;
	s->seed = seed;
	s->mask = slots - 1;
	s->names = arena_alloc(arena, count * sizeof *s->names);
	s->slots = arena_alloc(arena, slots * sizeof *s->slots);
	memset(s->slots, 0, slots * sizeof *s->slots);
	for (size_t i = 0; i < count; i++) {
		if (slice_equal(patterns[i], SLICE("*"))) {
			s->has_any = true;
			continue;
		}
		ensure(key_of(patterns[i], key));
		struct slice name = slice_of_string(key);
		uint64_t at = hash_bytes(s->seed, name.ptr, name.len);
		while (s->slots[at & s->mask] != 0)
			at++;
		s->names[s->count++] = arena_copy(arena, name);
		s->slots[at & s->mask] = (uint32_t)s->count;
		if (key[0] == '.')
			s->wildcard_labels |= labels_bit(count_labels(name));
	}
}

static bool has_name(const struct http_host_set *s, struct slice name, uint64_t hash)
{
	for (uint64_t at = hash;; at++) {
		uint32_t slot = s->slots[at & s->mask];
		if (slot == 0)
			return false;
		if (slice_equal(s->names[slot - 1], name))
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
	if (s->has_any)
		return true;
	if (s->count == 0 || k->host.len == 0)
		return false;
	if (k->host.ptr[0] != '.' && has_name(s, k->host, k->hash))
		return true;
	if ((s->wildcard_labels & k->labels) == 0)
		return false;
	for (size_t i = 0; i < k->count; i++)
		if ((s->wildcard_labels & labels_bit(i + 1)) != 0 &&
		    has_name(s, slice_from(k->host, k->suffixes[i].at), k->suffixes[i].hash))
			return true;
	return false;
}
