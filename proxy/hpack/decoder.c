/* SPDX-License-Identifier: MIT */
/*
 * The decoder (RFC 7541 3, 6): decodes one complete field block into a head. http_head_validate
 * checks the fields. Once the list is over its limit, the rest is decoded into a scratch arena,
 * only to keep the table in step.
 */
#include "proxy/hpack/hpack.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/hpack/huffman.h"
#include "proxy/hpack/integer.h"
#include "proxy/hpack/key.h"
#include "proxy/hpack/table.h"
#include "proxy/limits.h"

struct hpack_decoder {
	struct table table;
	uint64_t seed;
	uint32_t limit;    /* highest size that a size update may ask for */
	uint32_t smallest; /* lowest limit since the last block */
};

/* The state of decoding one block. */
struct reading {
	struct hpack_decoder *d;
	struct http_head *head;
	struct arena *to; /* the head's arena, or scratch once the list is too large */
	size_t room;      /* bytes left until the list's limit */
	bool is_discarding;
	struct arena scratch;
};

struct hpack_decoder *hpack_decoder_new(uint32_t table_bytes, uint64_t seed)
{
	struct hpack_decoder *d = memory_new(struct hpack_decoder);

	ensure(table_bytes <= TABLE_MAX_BYTES);
	/* The peer may use the default size until it has acknowledged a smaller one. */
	table_init(&d->table, TABLE_DEFAULT_BYTES);
	d->seed = seed;
	d->limit = table_bytes > TABLE_DEFAULT_BYTES ? table_bytes : TABLE_DEFAULT_BYTES;
	d->smallest = d->limit;
	return d;
}

void hpack_decoder_free(struct hpack_decoder *d)
{
	if (!d)
		return;
	table_fini(&d->table);
	free(d);
}

void hpack_decoder_set_limit(struct hpack_decoder *d, uint32_t table_bytes)
{
	ensure(table_bytes <= TABLE_MAX_BYTES);
	d->limit = table_bytes;
	if (table_bytes < d->smallest)
		d->smallest = table_bytes;
}

size_t hpack_decoder_bytes(const struct hpack_decoder *d)
{
	return sizeof(*d) + table_memory(&d->table);
}

void hpack_decoder_check(const struct hpack_decoder *d)
{
	ensure(d->smallest <= d->limit);
	table_check(&d->table);
}

/*
 * Discards all further fields, and those so far but the pseudo-fields. The table is still updated.
 */
static void discard(struct reading *r)
{
	struct http_head *head = r->head;

	if (r->is_discarding)
		return;
	/* uncovered: an empty field name is refused before it gets into the list */
	http_head_keep(head, field, field->name.len > 0 && field->name.ptr[0] == ':');
	r->is_discarding = true;
	r->to = &r->scratch;
}

/* Counts a field of this size against the list's limit. False: it is over the limit. */
static inline bool count_field(struct reading *r, size_t field_bytes)
{
	size_t size = field_bytes + TABLE_ENTRY_OVERHEAD;

	if (__builtin_expect(size > r->room || r->head->count >= LIMIT_FIELDS_PER_HEAD, 0))
		discard(r);
	if (r->is_discarding)
		return false;
	r->room -= size;
	return true;
}

/* Reads a string (RFC 7541 5.2) into the current arena. */
static bool read_string(
    struct reading *r, const uint8_t **at, const uint8_t *end, struct slice *out)
{
	uint32_t n;

	if (*at == end)
		return false;
	bool is_huffman = **at & 0x80;
	if (!integer_decode(at, end, 7, &n) || n > (size_t)(end - *at))
		return false;
	const uint8_t *from = *at;
	*at += n;
	/* Check the limit before allocating memory for a string that would be discarded. */
	if ((is_huffman ? huffman_decode_least(n) : n) > r->room)
		discard(r);
	if (!is_huffman) {
		*out = arena_copy(r->to, slice_of(from, n));
		return true;
	}
	size_t bound = huffman_decode_bound(n);
	char *p = arena_bytes(r->to, bound);
	size_t len = huffman_decode(from, n, p);
	if (len == HUFFMAN_BAD)
		return false;
	arena_shorten(r->to, p, bound, len);
	*out = slice_of(p, len);
	return true;
}

static bool read_indexed(struct reading *r, uint32_t index)
{
	if (index - 1 < STATIC_ENTRIES) {
		const struct static_entry *e = &static_table[index];

		if (count_field(r, e->name.len + e->value.len))
			*http_head_add_slot(r->head) = (struct http_field){
			    .name = e->name,
			    .value = e->value,
			    .hash = index,
			    .token = (uint16_t)e->token,
			};
		return true;
	}
	const struct table *t = &r->d->table;
	if (index == 0 || index - STATIC_ENTRIES > t->count)
		return false;

	const struct table_entry *e = table_at(t, index - STATIC_ENTRIES);
	if (!count_field(r, (size_t)e->name_len + e->value_len))
		return true;
	struct slice name = table_name(t, e);
	struct slice value = arena_copy(r->to, table_value(t, e));
	*http_head_add_slot(r->head) = (struct http_field){
	    .name = e->name ? name : arena_copy(r->to, name),
	    .value = value,
	    .hash = e->key,
	    .token = e->token,
	};
	return true;
}

/* Reads the name of a literal: by index, or as a string if the index is 0. */
static bool read_name(struct reading *r, uint32_t index, const uint8_t **at, const uint8_t *end,
    struct slice *name, uint16_t *token)
{
	if (index == 0) {
		if (!read_string(r, at, end, name))
			return false;
		*token = (uint16_t)http_token_find(*name);
		return true;
	}
	if (index <= STATIC_ENTRIES) {
		*name = static_table[index].name;
		*token = (uint16_t)static_table[index].token;
		return true;
	}
	const struct table *t = &r->d->table;
	if (index - STATIC_ENTRIES > t->count)
		return false;
	const struct table_entry *e = table_at(t, index - STATIC_ENTRIES);
	*token = e->token;
	*name = table_name(t, e);
	if (!e->name) {
		if (name->len > r->room)
			discard(r);
		*name = arena_copy(r->to, *name);
	}
	return true;
}

enum literal { LITERAL_INDEXED, LITERAL_PLAIN, LITERAL_NEVER };

/* RFC 7541 6.2 */
static bool read_literal(
    struct reading *r, enum literal kind, const uint8_t **at, const uint8_t *end)
{
	uint32_t index;
	uint16_t token;
	struct slice name, value;

	if (r->is_discarding)
		arena_reset(&r->scratch);
	if (!integer_decode(at, end, kind == LITERAL_INDEXED ? 6 : 4, &index) ||
	    !read_name(r, index, at, end, &name, &token) || !read_string(r, at, end, &value))
		return false;

	uint32_t key = 0;
	if (kind == LITERAL_INDEXED) {
		key = key_of_field(r->d->seed, token, name, value);
		table_insert(&r->d->table, token, name, value, key);
	}
	if (count_field(r, name.len + value.len))
		*http_head_add_slot(r->head) = (struct http_field){
		    .name = name,
		    .value = value,
		    .hash = key,
		    .token = token,
		    .never_index = kind == LITERAL_NEVER,
		};
	return true;
}

/* Reads the size updates at the beginning of a block (RFC 7541 4.2, 6.3). */
static bool read_updates(struct hpack_decoder *d, const uint8_t **at, const uint8_t *end)
{
	uint32_t size;

	while (*at < end && (**at & 0xe0) == 0x20) {
		if (!integer_decode(at, end, 5, &size) || size > d->limit)
			return false;
		/*
		 * If the limit fell below the table's size, the first update must go down to the
		 * lowest limit.
		 */
		if (d->table.max_bytes > d->smallest && size > d->smallest)
			return false;
		d->smallest = d->limit;
		table_set_max(&d->table, size);
	}
	if (d->table.max_bytes > d->smallest)
		return false;
	d->smallest = d->limit;
	return true;
}

static bool read_fields(struct reading *r, const uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		uint8_t first = *at;
		uint32_t index;

		if (first & 0x80) {
			if (!integer_decode(&at, end, 7, &index) || !read_indexed(r, index))
				return false;
		} else if (first & 0x40) {
			if (!read_literal(r, LITERAL_INDEXED, &at, end))
				return false;
		} else if (first & 0x20) {
			return false; /* a size update is allowed only at the beginning of a block */
		} else if (!read_literal(
			       r, first & 0x10 ? LITERAL_NEVER : LITERAL_PLAIN, &at, end)) {
			return false;
		}
	}
	return true;
}

enum hpack_result hpack_decode(
    struct hpack_decoder *d, struct slice block, size_t list_limit, struct http_head *head)
{
	struct reading r = {.d = d, .head = head, .to = &head->arena, .room = list_limit};
	const uint8_t *at = (const uint8_t *)(block.len ? block.ptr : ""), *end = at + block.len;

	arena_init(&r.scratch, NULL, 0);
	bool is_good = read_updates(d, &at, end) && read_fields(&r, at, end);
	arena_fini(&r.scratch);
	head->list_bytes = list_limit - r.room;
	if (!is_good)
		return HPACK_BAD;
	return r.is_discarding ? HPACK_TOO_LARGE : HPACK_OK;
}
