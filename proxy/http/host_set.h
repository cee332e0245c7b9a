/* SPDX-License-Identifier: MIT */
/*
 * Sets of host patterns: a table of their hashes with open addressing, never more than half full. A pattern is a name
 * or an address as http_host_read takes it, "*.NAME" for all names below NAME, or "*" for each host. A set is one run of
 * bytes without pointers, so that another process can use it as it is.
 */
#ifndef PUSHGATE_HTTP_HOST_SET_H
#define PUSHGATE_HTTP_HOST_SET_H

#include "proxy/base/arena.h"

struct http_host_set {
	struct slice bytes; /* empty: no patterns. Aligned for any type */
};

/* A host, hashed once for all sets of a seed: the whole name, and each part of it behind a dot. */
#define HTTP_HOST_LABELS 128u /* of 255 bytes (RFC 1035 2.3.4) */
struct http_host_keys {
	struct slice host; /* borrows */
	uint64_t seed, hash;
	uint64_t labels; /* a bit for each number of labels that some suffix has */
	size_t count;
	struct {
		size_t at;
		uint64_t hash;
	} suffixes[HTTP_HOST_LABELS]; /* the shortest first */
};

bool http_host_pattern_is_valid(struct slice pattern);

/* Fills an empty set with valid patterns, at least one; the arena owns the bytes. */
void http_host_set_fill(struct http_host_set *s, struct arena *arena, uint64_t seed,
    const struct slice *patterns, size_t count);

static inline bool http_host_set_is_empty(const struct http_host_set *s)
{
	return s->bytes.len == 0;
}
/* Of a set with patterns: its seed; whether it has "*". */
uint64_t http_host_set_seed(const struct http_host_set *s);
bool http_host_set_has_any(const struct http_host_set *s);

/* host: borrowed, as http_host_read writes it. The keys are for all sets of the seed. */
void http_host_keys_init(struct http_host_keys *k, struct slice host, uint64_t seed);
bool http_host_set_has(const struct http_host_set *s, const struct http_host_keys *k);

#endif
