/* SPDX-License-Identifier: MIT */
/*
 * The dynamic table of one direction (RFC 7541 2.3.2, 4): a ring of entries and, for the bytes,
 * one buffer that is filled from the left and moved together when its end is reached, so that
 * every string stays in one piece. Names that have a token are not stored.
 *
 * Unused it costs nothing; it grows with what is put in and is bounded by max_bytes: a quarter
 * more for the bytes, and 32 to 64 bytes for each entry of 32 (RFC 7541 4.1).
 */
#ifndef PUSHGATE_HPACK_TABLE_H
#define PUSHGATE_HPACK_TABLE_H

#include "proxy/http/token.h"

/* RFC 7541 4.1: what an entry counts on top of its name and value. */
#define TABLE_ENTRY_OVERHEAD 32u
/* RFC 9113 6.5.2: the size that both sides start with. */
#define TABLE_DEFAULT_BYTES 4096u
/* Positions are 32 bits and compared by difference. */
#define TABLE_MAX_BYTES (1u << 30)

struct table_entry {
	const char *name; /* the token's own, or NULL: in front of the value */
	uint32_t at;      /* position in the stream of all bytes ever put in */
	uint32_t name_len, value_len;
	uint32_t key; /* see key.h */
	uint16_t token;
};

struct table {
	struct table_entry *entries; /* entry number n stands at n & (slots - 1) */
	char *bytes;
	uint32_t slots; /* a power of two, or 0 */
	uint32_t next;  /* number of the next entry; starts at 1 and may wrap */
	uint32_t count;
	uint32_t used_bytes, max_bytes; /* as RFC 7541 4.1 counts */
	uint32_t base, end;             /* positions: of bytes[0], and behind the last byte */
	uint32_t bytes_capacity;
};

void table_init(struct table *t, uint32_t max_bytes);
void table_fini(struct table *t);

/* Changes the size, evicting (RFC 7541 4.3) and giving back memory that can no longer be used. */
void table_set_max(struct table *t, uint32_t max_bytes);

/* Puts an entry in front, evicting first (RFC 7541 4.4). False: it is larger than the table, which
 * is empty now. name and value must not point into the table. */
bool table_insert(
    struct table *t, uint16_t token, struct slice name, struct slice value, uint32_t key);

/* Bytes of memory. */
size_t table_memory(const struct table *t);
void table_check(const struct table *t);

/* age: 1 = the newest; at most count. */
static inline const struct table_entry *table_at(const struct table *t, uint32_t age)
{
	return &t->entries[(t->next - age) & (t->slots - 1)];
}

static inline struct slice table_name(const struct table *t, const struct table_entry *e)
{
	return slice_of(e->name ? e->name : t->bytes + (e->at - t->base), e->name_len);
}

static inline struct slice table_value(const struct table *t, const struct table_entry *e)
{
	uint32_t skip = e->name ? 0 : e->name_len;
	return slice_of(t->bytes + (e->at - t->base) + skip, e->value_len);
}

#endif
