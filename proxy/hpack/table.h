/* SPDX-License-Identifier: MIT */
/*
 * The dynamic table of one direction (RFC 7541 2.3.2, 4): a ring of entries, and one buffer for
 * their bytes. The buffer is filled from the left; at its end the bytes in use are moved to the
 * front, so that every string is contiguous. Names with a token are not stored.
 *
 * An unused table needs no memory. It grows with its entries, bounded by max_bytes: up to a quarter
 * more for the bytes, and up to 64 bytes for the 32 that RFC 7541 4.1 counts for each entry.
 */
#ifndef PUSHGATE_HPACK_TABLE_H
#define PUSHGATE_HPACK_TABLE_H

#include "proxy/http/token.h"

/* RFC 7541 4.1: bytes that an entry counts besides its name and value. */
#define TABLE_ENTRY_OVERHEAD 32u
/* RFC 9113 6.5.2: the initial size on both sides. */
#define TABLE_DEFAULT_BYTES 4096u
/* Positions are 32 bits and compared by difference. */
#define TABLE_MAX_BYTES (1u << 30)

struct table_entry {
	const char *name; /* the token's name; NULL: stored before the value */
	uint32_t at;      /* position among all bytes ever inserted */
	uint32_t name_len, value_len;
	uint32_t key; /* see key.h */
	uint16_t token;
};

struct table {
	struct table_entry *entries; /* entry number n is at n & (slots - 1) */
	char *bytes;
	uint32_t slots; /* a power of two, or 0 */
	uint32_t next;  /* number of the next entry; starts at 1 and may wrap */
	uint32_t count;
	uint32_t used_bytes, max_bytes; /* as RFC 7541 4.1 counts */
	uint32_t base, end;             /* positions of bytes[0] and of the end */
	uint32_t bytes_capacity;
};

void table_init(struct table *t, uint32_t max_bytes);
void table_fini(struct table *t);

/* Changes the size: evicts entries (RFC 7541 4.3) and frees memory that is not needed any more. */
void table_set_max(struct table *t, uint32_t max_bytes);

/*
 * Inserts an entry, after evicting old ones (RFC 7541 4.4). False: it is larger than the table,
 * which is now empty. name and value must not point into the table.
 */
bool table_insert(
    struct table *t, uint16_t token, struct slice name, struct slice value, uint32_t key);

/* Bytes of memory in use. */
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
