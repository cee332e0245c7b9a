/* SPDX-License-Identifier: MIT */
/*
 * The encoder (RFC 7541 6): encodes a validated head as a field block. A field that a decoder
 * produced carries its key (key.h), so that it need not be hashed again.
 */
#include "proxy/hpack/hpack.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/hpack/huffman.h"
#include "proxy/hpack/index.h"
#include "proxy/hpack/index_policy.h"
#include "proxy/hpack/integer.h"
#include "proxy/hpack/key.h"
#include "proxy/http/traceparent.h"

#define FLAG_INDEXED 0x80
#define FLAG_INCREMENTAL 0x40
#define FLAG_UPDATE 0x20
#define FLAG_NEVER 0x10

struct hpack_encoder {
	struct table table;
	struct index index;
	uint64_t seed;
	uint32_t own_limit; /* highest table size that this side uses */
	uint32_t wanted;    /* the table's size from the next block on */
	uint32_t smallest;  /* lowest `wanted` since the last block */
};

struct hpack_encoder *hpack_encoder_new(uint32_t table_bytes, uint64_t seed)
{
	struct hpack_encoder *e = memory_new(struct hpack_encoder);

	ensure(table_bytes <= TABLE_MAX_BYTES);
	table_init(&e->table, TABLE_DEFAULT_BYTES);
	e->seed = seed;
	e->own_limit = table_bytes;
	e->wanted = e->smallest = TABLE_DEFAULT_BYTES;
	if (table_bytes < TABLE_DEFAULT_BYTES)
		e->wanted = e->smallest = table_bytes;
	return e;
}

void hpack_encoder_free(struct hpack_encoder *e)
{
	if (!e)
		return;
	index_fini(&e->index);
	table_fini(&e->table);
	free(e);
}

void hpack_encoder_set_limit(struct hpack_encoder *e, uint32_t table_bytes)
{
	e->wanted = table_bytes < e->own_limit ? table_bytes : e->own_limit;
	if (e->wanted < e->smallest)
		e->smallest = e->wanted;
}

size_t hpack_encoder_bytes(const struct hpack_encoder *e)
{
	return sizeof(*e) + table_memory(&e->table) + index_memory(&e->index);
}

void hpack_encoder_check(const struct hpack_encoder *e)
{
	ensure(e->smallest <= e->wanted && e->wanted <= e->own_limit);
	table_check(&e->table);
	index_check(&e->index, &e->table);
}

/* Writes a string (RFC 7541 5.2), in Huffman code only if that is shorter. */
static uint8_t *put_string(uint8_t *at, struct slice s)
{
	ensure(s.len <= UINT32_MAX);
	uint8_t *raw = integer_encode(at, 0, 7, (uint32_t)s.len);
	size_t n = huffman_encode(s, raw);

	if (n == 0) {
		if (s.len > 0)
			memcpy(raw, s.ptr, s.len);
		return raw + s.len;
	}
	/*
	 * The code was written behind room for the string's length; the code's length may need
	 * fewer bytes.
	 */
	uint8_t length[INTEGER_BYTES_MAX];
	size_t length_bytes = (size_t)(integer_encode(length, 0x80, 7, (uint32_t)n) - length);
	if (at + length_bytes != raw)
		memmove(at + length_bytes, raw, n);
	memcpy(at, length, length_bytes);
	return at + length_bytes + n;
}

static uint8_t *put_indexed(uint8_t *at, uint32_t index)
{
	return integer_encode(at, FLAG_INDEXED, 7, index);
}

static uint32_t find_name(
    const struct hpack_encoder *e, uint16_t token, struct slice name, uint32_t name_key)
{
	uint32_t index = static_name_index[token];

	if (index != 0)
		return index;
	uint32_t age = index_find_name(&e->index, &e->table, name_key, token, name);
	return age ? STATIC_ENTRIES + age : 0;
}

/* RFC 7541 6.2: `flags` is the kind of literal, `prefix` the number of bits for the index. */
static uint8_t *put_literal(uint8_t *at, uint8_t flags, unsigned prefix, uint32_t name_index,
    struct slice name, struct slice value)
{
	at = integer_encode(at, flags, prefix, name_index);
	if (name_index == 0)
		at = put_string(at, name);
	return put_string(at, value);
}

/*
 * Writes a field that neither table has, and inserts it into the dynamic table if `indexing` says
 * so.
 */
static uint8_t *put_unknown(struct hpack_encoder *e, uint8_t *at, enum indexing indexing,
    const struct http_field *f, uint32_t key)
{
	/* A name of the static table is never looked up by its key. */
	uint32_t name_key = (uint32_t)(http_name_key(e->seed, f->token, f->name) >> 32);
	uint32_t name_index = find_name(e, f->token, f->name, name_key);

	if (indexing == INDEXING_NEVER)
		return put_literal(at, FLAG_NEVER, 4, name_index, f->name, f->value);
	if (indexing == INDEXING_NONE ||
	    (indexing == INDEXING_SECOND && !index_saw(&e->index, key)))
		return put_literal(at, 0, 4, name_index, f->name, f->value);

	at = put_literal(at, FLAG_INCREMENTAL, 6, name_index, f->name, f->value);
	/* uncovered: choose() does not index a field that is larger than the table */
	if (table_insert(&e->table, f->token, f->name, f->value, key))
		index_insert(&e->index, &e->table, name_key);
	return at;
}

/*
 * A traceparent as programs write it, pushgate first of all (http/traceparent.h): each request has another one, so neither
 * a table nor Huffman code would make it shorter. RFC 7541 6.2.2, with a new name.
 */
static inline uint8_t *put_traceparent(uint8_t *at, const char value[HTTP_TRACEPARENT_BYTES])
{
	static const char before[] = "\0\013traceparent\067";
	_Static_assert(HTTP_TRACEPARENT_BYTES == 067, "the length is in the text above");

	memcpy(at, before, sizeof(before) - 1);
	at += sizeof(before) - 1;
	memcpy(at, value, HTTP_TRACEPARENT_BYTES);
	return at + HTTP_TRACEPARENT_BYTES;
}

/*
 * Does not insert an entry that would evict most others. Such a field stays INDEXING_SECOND only if
 * the static table has it, so that it is looked up there.
 */
static inline enum indexing choose(const struct hpack_encoder *e, const struct http_field *f)
{
	enum indexing indexing = indexing_of(f->token, f->value);

	if (indexing == INDEXING_NEVER)
		return indexing;
	if (f->name.len + f->value.len + TABLE_ENTRY_OVERHEAD > e->table.max_bytes / 2)
		return static_find((enum http_token)f->token, f->value) ? INDEXING_SECOND
									: INDEXING_NONE;
	return indexing;
}

/* Writes a field that was not found by the key that it came with. */
static RARE uint8_t *put_without_key(
    struct hpack_encoder *e, uint8_t *at, const struct http_field *f)
{
	if (f->never_index)
		return put_unknown(e, at, INDEXING_NEVER, f, 0);
	enum indexing indexing = choose(e, f);
	if (indexing == INDEXING_NONE || indexing == INDEXING_NEVER)
		return put_unknown(e, at, indexing, f, 0);
	uint32_t key = f->hash;
	if (key == 0 || key_is_static(key)) {
		key = key_of_field(e->seed, f->token, f->name, f->value);
		if (key_is_static(key))
			return put_indexed(at, key);
		uint32_t age = index_find_pair(&e->index, &e->table, key, f);
		if (age)
			return put_indexed(at, STATIC_ENTRIES + age);
	}
	return put_unknown(e, at, indexing, f, key);
}

static inline uint8_t *put_field(struct hpack_encoder *e, uint8_t *at, const struct http_field *f)
{
	const uint32_t key = f->never_index ? 0 : f->hash;

	if (key_is_static(key)) {
		const struct static_entry *s = &static_table[key];
		if (s->token == f->token && slice_equal(s->value, f->value))
			return put_indexed(at, key);
	} else if (key) {
		/* A field in the table has passed the checks for indexing before. */
		uint32_t age = index_find_pair(&e->index, &e->table, key, f);
		if (age)
			return put_indexed(at, STATIC_ENTRIES + age);
	}
	if (f->token == HTTP_TOKEN_TRACEPARENT && f->value.len == HTTP_TRACEPARENT_BYTES &&
	    !f->never_index)
		return put_traceparent(at, f->value.ptr);
	return put_without_key(e, at, f);
}

static uint8_t *put_pseudo(struct hpack_encoder *e, uint8_t *at, const struct http_head *head,
    uint8_t bit, enum http_token token, struct slice value)
{
	struct http_field f = {
	    .name = http_token_name(token),
	    .value = value,
	    .token = (uint16_t)token,
	    .never_index = head->never_index_pseudo & bit,
	};
	return put_field(e, at, &f);
}

static uint8_t *put_request_line(struct hpack_encoder *e, uint8_t *at, const struct http_head *head)
{
	uint8_t never = head->never_index_pseudo;

	if (head->method_token == HTTP_METHOD_GET && !(never & HTTP_PSEUDO_METHOD))
		*at++ = FLAG_INDEXED | 2;
	else if (head->method.len > 0)
		at = put_pseudo(
		    e, at, head, HTTP_PSEUDO_METHOD, HTTP_TOKEN_PSEUDO_METHOD, head->method);
	if (head->scheme.len > 0)
		at = put_pseudo(
		    e, at, head, HTTP_PSEUDO_SCHEME, HTTP_TOKEN_PSEUDO_SCHEME, head->scheme);
	if (head->authority.len > 0)
		at = put_pseudo(e, at, head, HTTP_PSEUDO_AUTHORITY, HTTP_TOKEN_PSEUDO_AUTHORITY,
		    head->authority);
	if (head->path.len > 0)
		at = put_pseudo(e, at, head, HTTP_PSEUDO_PATH, HTTP_TOKEN_PSEUDO_PATH, head->path);
	if (head->protocol.len > 0)
		at = put_pseudo(
		    e, at, head, HTTP_PSEUDO_PROTOCOL, HTTP_TOKEN_PSEUDO_PROTOCOL, head->protocol);
	return at;
}

static uint8_t *put_status(struct hpack_encoder *e, uint8_t *at, const struct http_head *head)
{
	unsigned status = head->status;

	if (status == 200 && head->never_index_pseudo == 0) {
		*at++ = FLAG_INDEXED | 8;
		return at;
	}
	ensure(status >= 100 && status <= 999);
	char digits[3] = {
	    (char)('0' + status / 100), (char)('0' + status / 10 % 10), (char)('0' + status % 10)};
	return put_pseudo(e, at, head, HTTP_PSEUDO_STATUS, HTTP_TOKEN_PSEUDO_STATUS,
	    slice_of(digits, sizeof(digits)));
}

/*
 * RFC 7541 4.2: writes the smallest size since the last block if it is below the present one, then
 * the present size.
 */
static uint8_t *put_updates(struct hpack_encoder *e, uint8_t *at)
{
	if (e->smallest < e->table.max_bytes && e->smallest < e->wanted) {
		table_set_max(&e->table, e->smallest);
		at = integer_encode(at, FLAG_UPDATE, 5, e->smallest);
	}
	table_set_max(&e->table, e->wanted);
	at = integer_encode(at, FLAG_UPDATE, 5, e->wanted);
	index_follow(&e->index, &e->table);
	e->smallest = e->wanted;
	return at;
}

/* Bytes of a literal besides its strings: its index and two lengths. */
#define LITERAL_OVERHEAD (3 * INTEGER_BYTES_MAX)

size_t hpack_encode_bound(const struct http_head *head)
{
	/*
	 * At most five pseudo-fields, each with a name of up to ten bytes, which may be sent as a
	 * string.
	 */
	size_t bytes = 2 * INTEGER_BYTES_MAX + 5 * (LITERAL_OVERHEAD + 10) + 3;

	bytes += head->method.len + head->scheme.len + head->authority.len + head->path.len;
	bytes += head->protocol.len + HUFFMAN_ENCODE_SLACK;
	for (uint32_t i = 0; i < head->count; i++)
		bytes += head->fields[i].name.len + head->fields[i].value.len + LITERAL_OVERHEAD;
	return bytes;
}

size_t hpack_encode(struct hpack_encoder *e, const struct http_head *head, uint8_t *out)
{
	uint8_t *at = out;

	if (e->smallest != e->table.max_bytes || e->wanted != e->table.max_bytes)
		at = put_updates(e, at);
	/* uncovered: a value outside the enum */
	switch (head->kind) {
	case HTTP_REQUEST:
	case HTTP_PROMISE:
		at = put_request_line(e, at, head);
		break;
	case HTTP_RESPONSE:
		at = put_status(e, at, head);
		break;
	case HTTP_TRAILERS:
		break;
	}
	for (const struct http_field *f = head->fields, *end = f + head->count; f < end; f++)
		at = put_field(e, at, f);
	return (size_t)(at - out);
}
