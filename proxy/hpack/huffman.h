/* SPDX-License-Identifier: MIT */
/*
 * HPACK's Huffman code (RFC 7541 5.2 and appendix B), both ways by table. The tables are made by
 * scripts/huffman-tables and stand in huffman_data.c.
 */
#ifndef PUSHGATE_HPACK_HUFFMAN_H
#define PUSHGATE_HPACK_HUFFMAN_H

#include "proxy/base/slice.h"

/* Not the length of anything: the bytes are not a valid code (RFC 7541 5.2). */
#define HUFFMAN_BAD SIZE_MAX

/* Room that huffman_decode needs for n bytes of code: the shortest code has five bits, and the
 * last write may be one byte too long. */
static inline size_t huffman_decode_bound(size_t n)
{
	return n / 5 * 8 + n % 5 * 8 / 5 + 2;
}

/* Least bytes that n bytes of code stand for: 30 bits at most each, and 7 bits of padding. */
static inline size_t huffman_decode_least(size_t n)
{
	return n < 4 ? 0 : (n - 1) / 4;
}

/* Bytes written, or HUFFMAN_BAD: padding too long or not of ones, or an EOS. */
size_t huffman_decode(const uint8_t *code, size_t n, char *out);

/*
 * Writes the code of s and returns its length, or 0 as soon as it would not be shorter than s.
 * `out` has room for s.len + HUFFMAN_ENCODE_SLACK bytes; what lies behind the length is garbage.
 */
#define HUFFMAN_ENCODE_SLACK 8u
size_t huffman_encode(struct slice s, uint8_t *out);

/* The tables. */

#define HUFFMAN_LOOKUP_BITS 11
#define HUFFMAN_RUNS 15

struct huffman_code {
	uint32_t code;
	uint32_t bits;
};
extern const struct huffman_code huffman_codes[256];

/* What the next eleven bits begin with: one byte, two, or (bits 0) a longer code. */
struct huffman_step {
	uint8_t bytes[2];
	uint8_t first_bits; /* of the first byte's code */
	uint8_t bits;       /* of both; equal to first_bits when there is one alone */
};
extern const struct huffman_step huffman_steps[1 << HUFFMAN_LOOKUP_BITS];

/* The longer codes, one row for each length: the windows of 32 bits that begin with one. */
struct huffman_run {
	uint32_t low, high;
	uint16_t symbols; /* where in huffman_symbols */
	uint16_t bits;
};
extern const struct huffman_run huffman_runs[HUFFMAN_RUNS];
#define HUFFMAN_EOS 256u
extern const uint16_t huffman_symbols[];

#endif
