/* SPDX-License-Identifier: MIT */
/*
 * HPACK's Huffman code (RFC 7541 5.2 and appendix B), both ways by table. The tables are made by
 * scripts/huffman-tables and stand in huffman_data.c.
 */
#ifndef PUSHGATE_HPACK_HUFFMAN_H
#define PUSHGATE_HPACK_HUFFMAN_H

#include "proxy/base/slice.h"

/* Returned instead of a length: the bytes are not valid code (RFC 7541 5.2). */
#define HUFFMAN_BAD SIZE_MAX

/*
 * Size of the output buffer for n bytes of code: the shortest code has five bits, and the last
 * write may be one byte too long.
 */
static inline size_t huffman_decode_bound(size_t n)
{
	return n / 5 * 8 + n % 5 * 8 / 5 + 2;
}

/*
 * The fewest bytes that n bytes of code can decode to: a code has at most 30 bits, the padding 7.
 */
static inline size_t huffman_decode_least(size_t n)
{
	return n < 4 ? 0 : (n - 1) / 4;
}

/*
 * Returns the bytes written, or HUFFMAN_BAD: the padding is too long or not all ones, or there is
 * an EOS.
 */
size_t huffman_decode(const uint8_t *code, size_t n, char *out);

/*
 * Writes the code of s and returns its length, or 0 if it would not be shorter than s. `out` needs
 * s.len + HUFFMAN_ENCODE_SLACK bytes; bytes after the returned length are undefined.
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

/*
 * How the next eleven bits begin: with the codes of one or two bytes, or (bits 0) with a longer
 * code.
 */
struct huffman_step {
	uint8_t bytes[2];
	uint8_t first_bits; /* of the first byte's code */
	uint8_t bits;       /* of both codes; equal to first_bits if there is only one */
};
extern const struct huffman_step huffman_steps[1 << HUFFMAN_LOOKUP_BITS];

/* The longer codes, one row per length: the range of 32-bit windows that begin with such a code. */
struct huffman_run {
	uint32_t low, high;
	uint16_t symbols; /* first index in huffman_symbols */
	uint16_t bits;
};
extern const struct huffman_run huffman_runs[HUFFMAN_RUNS];
#define HUFFMAN_EOS 256u
extern const uint16_t huffman_symbols[];

#endif
