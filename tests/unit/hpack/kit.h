/* SPDX-License-Identifier: MIT */
/* What the HPACK tests share: hex, lists as text, a seeded generator. */
#ifndef PUSHGATE_TESTS_HPACK_KIT_H
#define PUSHGATE_TESTS_HPACK_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proxy/hpack/hpack.h"

#define KIT_SEED UINT64_C(0x5eed)
#define KIT_NO_LIMIT SIZE_MAX

/* Bytes from hex digits (other characters are skipped); freed by the caller. */
static inline struct slice kit_hex(const char *hex)
{
	uint8_t *out = malloc(strlen(hex) / 2 + 1);
	size_t n = 0;
	int high = -1;

	assert_non_null(out);
	for (; *hex; hex++) {
		int digit = *hex >= '0' && *hex <= '9'   ? *hex - '0'
			    : *hex >= 'a' && *hex <= 'f' ? *hex - 'a' + 10
							 : -1;
		if (digit < 0)
			continue;
		if (high < 0) {
			high = digit;
		} else {
			out[n++] = (uint8_t)(high << 4 | digit);
			high = -1;
		}
	}
	assert_int_equal(high, -1);
	return slice_of(out, n);
}

/* Decodes hex with no list limit. */
static inline enum hpack_result kit_decode_hex(
    struct hpack_decoder *d, struct http_head *head, const char *hex)
{
	struct slice block = kit_hex(hex);
	enum hpack_result result = hpack_decode(d, block, KIT_NO_LIMIT, head);

	hpack_decoder_check(d);
	free((void *)block.ptr);
	return result;
}

/* One "name: value\n" a field, "!" in front of those that must never be indexed. Freed by the
 * caller. */
static inline char *kit_text(const struct http_head *head)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *field = &head->fields[i];

		fprintf(f, "%s", field->never_index ? "!" : "");
		fwrite(field->name.ptr, 1, field->name.len, f);
		fputs(": ", f);
		fwrite(field->value.ptr, 1, field->value.len, f);
		fputc('\n', f);
	}
	fclose(f);
	return text;
}

static inline void kit_expect_list(const struct http_head *head, const char *expected)
{
	char *text = kit_text(head);

	assert_string_equal(text, expected);
	free(text);
}

/* The block decodes, to this list. */
static inline void kit_expect(
    struct hpack_decoder *d, struct http_head_pool *pool, const char *hex, const char *expected)
{
	struct http_head *head = http_head_new(pool);

	assert_int_equal(kit_decode_hex(d, head, hex), HPACK_OK);
	kit_expect_list(head, expected);
	http_head_free(head);
}

static inline void kit_expect_result(struct hpack_decoder *d, struct http_head_pool *pool,
    const char *hex, enum hpack_result expected)
{
	struct http_head *head = http_head_new(pool);

	assert_int_equal(kit_decode_hex(d, head, hex), expected);
	http_head_free(head);
}

/* A new decoder finds this block bad. */
static inline void kit_expect_bad(struct http_head_pool *pool, const char *hex)
{
	struct hpack_decoder *d = hpack_decoder_new(4096, KIT_SEED);

	kit_expect_result(d, pool, hex, HPACK_BAD);
	hpack_decoder_free(d);
}

/* Appends a field as a decoder would that knows no key. */
static inline void kit_add(
    struct http_head *head, struct slice name, struct slice value, bool never_index)
{
	http_head_add(head, name, value);
	head->fields[head->count - 1].never_index = never_index;
}

/* Encodes into memory that is exactly as long as the bound; freed by the caller. */
static inline struct slice kit_encode(struct hpack_encoder *e, const struct http_head *head)
{
	size_t bound = hpack_encode_bound(head);
	uint8_t *out = malloc(bound);

	assert_non_null(out);
	size_t n = hpack_encode(e, head, out);
	assert_true(n <= bound);
	hpack_encoder_check(e);
	return slice_of(out, n);
}

/* The head is encoded as exactly these bytes. */
static inline void kit_expect_bytes(
    struct hpack_encoder *e, const struct http_head *head, const char *hex)
{
	struct slice block = kit_encode(e, head), expected = kit_hex(hex);

	assert_int_equal(block.len, expected.len);
	assert_memory_equal(block.ptr, expected.ptr, expected.len);
	free((void *)block.ptr);
	free((void *)expected.ptr);
}

/* A small generator (xorshift64*): the same everywhere for the same seed. */
static inline uint64_t kit_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 … n-1 */
static inline uint32_t kit_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((kit_random(state) >> 32) * n >> 32);
}

#endif
