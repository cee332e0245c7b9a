/* SPDX-License-Identifier: MIT */
/* Sets of host patterns: a table with open addressing, never more than half full. */
#include "proxy/conf/setters.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/http/host.h"

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

const char *conf_check_access_host(struct slice member)
{
	char key[1 + HTTP_HOST_TEXT];
	if (slice_equal(member, SLICE("*")) || key_of(member, key))
		return NULL;
	return "write a host name without a port, *.NAME, an address or *";
}

void conf_host_set_fill(
    struct conf_loader *l, struct conf_host_set *s, const struct slice *patterns, size_t count)
{
	char key[1 + HTTP_HOST_TEXT];
	size_t slots = 4;
	while (slots < 2 * count)
		slots *= 2;
	s->seed = hash_random_seed();
	s->mask = slots - 1;
	s->names = arena_alloc(&l->conf->arena, count * sizeof *s->names);
	s->slots = arena_alloc(&l->conf->arena, slots * sizeof *s->slots);
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
		s->names[s->count++] = slice_of(conf_copy(l, name), name.len);
		s->slots[at & s->mask] = (uint32_t)s->count;
		s->has_wildcards = s->has_wildcards || key[0] == '.';
	}
}

static bool has_name(const struct conf_host_set *s, struct slice name)
{
	uint64_t at = hash_bytes(s->seed, name.ptr, name.len);
	for (;; at++) {
		uint32_t slot = s->slots[at & s->mask];
		if (slot == 0)
			return false;
		if (slice_equal(s->names[slot - 1], name))
			return true;
	}
}

bool conf_host_set_has(const struct conf_host_set *s, struct slice host)
{
	if (s->has_any)
		return true;
	if (s->count == 0 || host.len == 0)
		return false;
	if (host.ptr[0] != '.' && has_name(s, host))
		return true;
	for (size_t dot = slice_find(host, '.'); s->has_wildcards && dot < host.len;
	     dot += 1 + slice_find(slice_from(host, dot + 1), '.'))
		if (dot > 0 && has_name(s, slice_from(host, dot)))
			return true;
	return false;
}
