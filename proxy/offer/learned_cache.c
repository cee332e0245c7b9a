/* SPDX-License-Identifier: MIT */
/*
 * What a client probably has in its cache: the resources that it got last, and when. Each is a hash of
 * 32 bits; when two resources have the same one, a hit or a miss may not be counted.
 */
#include "proxy/base/hash.h"
#include "proxy/offer/learned_table.h"

uint32_t learned_mark(const struct offer_learned *t, struct slice authority, struct slice path)
{
	uint64_t hash = hash_bytes(t->seed, authority.ptr, authority.len);
	uint32_t mark = (uint32_t)(hash_bytes(~hash, path.ptr, path.len) >> 16);
	return mark ? mark : 1;
}

uint32_t learned_cache_sec(usec at)
{
	return (uint32_t)(at / USEC_PER_SEC);
}

bool learned_cache_has(const struct learned_cache *cache, uint32_t mark, uint32_t before)
{
	for (int i = 0; i < CACHE_MARKS; i++)
		if (cache->marks[i] == mark)
			return cache->since[i] < before;
	return false;
}

void learned_cache_note(struct learned_cache *cache, uint32_t mark, usec now)
{
	if (learned_cache_has(cache, mark, UINT32_MAX))
		return;
	cache->marks[cache->at] = mark;
	cache->since[cache->at] = learned_cache_sec(now);
	cache->at = (cache->at + 1) % CACHE_MARKS;
}

void learned_cache_forget(struct learned_cache *cache, uint32_t before)
{
	for (int i = 0; i < CACHE_MARKS; i++)
		if (cache->since[i] < before)
			cache->marks[i] = 0;
}
