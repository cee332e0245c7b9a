/* SPDX-License-Identifier: MIT */
/* Integers and Huffman's code (RFC 7541 5): every boundary, every byte, every length. */
#include "tests/unit/hpack/kit.h"

#include "proxy/hpack/huffman.h"
#include "proxy/hpack/integer.h"

static void integers_survive_at_every_boundary(void **state)
{
	static const uint32_t around[] = {0, 1, 2, 127, 128, 255, 256, 16383, 16384, 2097151,
	    2097152, 268435455, 268435456, UINT32_MAX - 255, UINT32_MAX - 1, UINT32_MAX};
	(void)state;

	for (unsigned prefix = 4; prefix <= 7; prefix++) {
		uint32_t full = (1u << prefix) - 1;
		for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
			for (int more = 0; more < 2; more++) {
				uint32_t value = around[i];
				if (more && value > UINT32_MAX - full)
					continue;
				value += more ? full : 0;
				uint8_t out[INTEGER_BYTES_MAX];
				uint8_t flags = (uint8_t)(0xff << prefix);
				uint8_t *end = integer_encode(out, flags, prefix, value);
				assert_true(end - out <= (ptrdiff_t)sizeof(out));
				assert_int_equal(out[0] & flags, flags);

				const uint8_t *at = out;
				uint32_t got;
				assert_true(integer_decode(&at, end, prefix, &got));
				assert_int_equal(got, value);
				assert_ptr_equal(at, end);
				/* Cut off anywhere behind the first byte it is none. */
				for (uint8_t *cut = out + 1; cut < end; cut++) {
					at = out;
					assert_false(integer_decode(&at, cut, prefix, &got));
				}
			}
		}
	}
}

static void integer_one_above_32_bits_is_refused(void **state)
{
	(void)state;

	for (unsigned prefix = 4; prefix <= 7; prefix++) {
		uint32_t full = (1u << prefix) - 1, got;
		uint64_t rest = (1ull << 32) - full;
		uint8_t out[INTEGER_BYTES_MAX] = {(uint8_t)full};
		uint8_t *end = out + 1;
		const uint8_t *at = out;

		for (; rest >= 0x80; rest >>= 7)
			*end++ = (uint8_t)(0x80 | (rest & 0x7f));
		*end++ = (uint8_t)rest;
		assert_false(integer_decode(&at, end, prefix, &got));
	}
}

/* Encodes, and decodes again when the code was shorter. */
static size_t round_trip(struct slice s)
{
	uint8_t *code = malloc(s.len + HUFFMAN_ENCODE_SLACK);
	assert_non_null(code);
	size_t n = huffman_encode(s, code);
	assert_true(n == 0 || n < s.len);
	if (n > 0) {
		size_t bound = huffman_decode_bound(n);
		uint8_t *exact = malloc(n);
		char *out = malloc(bound);
		assert_non_null(exact);
		assert_non_null(out);
		memcpy(exact, code, n); /* a read or write too far is seen */
		assert_true(huffman_decode_least(n) <= s.len && s.len <= bound);
		assert_int_equal(huffman_decode(exact, n, out), s.len);
		assert_memory_equal(out, s.ptr, s.len);
		free(exact);
		free(out);
	}
	free(code);
	return n;
}

static void every_byte_survives_among_short_ones(void **state)
{
	char text[200];
	(void)state;

	for (unsigned byte = 0; byte < 256; byte++) {
		for (unsigned at = 90; at < 110; at++) {
			memset(text, 'e', sizeof(text));
			text[at] = (char)byte;
			text[at + 3] = (char)byte;
			assert_true(round_trip(slice_of(text, sizeof(text))) > 0);
		}
	}
}

static void every_pair_of_bytes_survives(void **state)
{
	char text[64];
	(void)state;

	memset(text, 'o', sizeof(text));
	for (unsigned pair = 0; pair < 65536; pair++) {
		text[30] = (char)(pair >> 8);
		text[31] = (char)pair;
		assert_true(round_trip(slice_of(text, sizeof(text))) > 0);
	}
}

static void every_length_survives(void **state)
{
	char text[300];
	(void)state;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "0a-/.ez%Q~"[i * 7 % 10];
	for (size_t n = 0; n <= sizeof(text); n++)
		round_trip(slice_of(text, n));
}

static void code_that_gains_nothing_is_given_up(void **state)
{
	(void)state;

	assert_int_equal(round_trip(SLICE("")), 0);
	assert_int_equal(round_trip(SLICE("X")), 0);        /* eight bits */
	assert_int_equal(round_trip(SLICE("XXXXXXXX")), 0); /* just as long */
	assert_int_equal(round_trip(SLICE("aX")), 0);       /* 13 bits */
	assert_int_equal(round_trip(SLICE("aaa")), 2);
	assert_int_equal(round_trip(SLICE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")), 0);
}

/* All inputs of one and two bytes: what decodes must encode to the same bits. */
static void short_codes_are_accepted_only_in_their_own_form(void **state)
{
	(void)state;

	for (unsigned n = 1; n <= 2; n++) {
		for (unsigned value = 0; value < 1u << 8 * n; value++) {
			uint8_t code[3] = {(uint8_t)(value >> (8 * (n - 1))), (uint8_t)value, 0};
			char out[16];
			size_t len = huffman_decode(code, n, out);
			if (len == HUFFMAN_BAD)
				continue;
			uint64_t bits = 0;
			unsigned count = 0;
			for (size_t i = 0; i < len; i++) {
				const struct huffman_code *c = &huffman_codes[(uint8_t)out[i]];
				bits = bits << c->bits | c->code;
				count += c->bits;
			}
			assert_true(count <= 8 * n && 8 * n - count < 8);
			unsigned pad = 8 * n - count;
			bits = bits << pad | ((1u << pad) - 1);
			assert_int_equal(bits, value);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(integers_survive_at_every_boundary),
	    cmocka_unit_test(integer_one_above_32_bits_is_refused),
	    cmocka_unit_test(every_byte_survives_among_short_ones),
	    cmocka_unit_test(every_pair_of_bytes_survives),
	    cmocka_unit_test(every_length_survives),
	    cmocka_unit_test(code_that_gains_nothing_is_given_up),
	    cmocka_unit_test(short_codes_are_accepted_only_in_their_own_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
