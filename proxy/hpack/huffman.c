/* SPDX-License-Identifier: MIT */
/*
 * Huffman coding of strings (RFC 7541 5.2). Both directions keep up to 64 bits in a register;
 * decoding looks up eleven bits at a time, which mostly gives two bytes.
 */
#include "proxy/hpack/huffman.h"

static inline uint64_t load_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

/* Decodes the code of more than eleven bits at the beginning of the window. */
static unsigned long_symbol(uint32_t window, unsigned *bits)
{
	const struct huffman_run *run = huffman_runs;

	while (window > run->high) /* ends: the last run contains the highest window */
		run++;
	*bits = run->bits;
	return huffman_symbols[run->symbols + ((window - run->low) >> (32 - run->bits))];
}

/* Decodes the last bytes: each code must lie within the `bits` left (RFC 7541 5.2). */
static size_t decode_tail(uint64_t acc, unsigned bits, char *out)
{
	char *at = out;

	/* uncovered: the loop leaves fewer than 64 bits; a shift by 64 would be undefined */
	acc |= bits < 64 ? UINT64_MAX >> bits : 0;
	for (;;) {
		const struct huffman_step *step = &huffman_steps[acc >> (64 - HUFFMAN_LOOKUP_BITS)];
		unsigned taken = step->first_bits;
		unsigned symbol = step->bytes[0];

		if (taken == 0)
			symbol = long_symbol((uint32_t)(acc >> 32), &taken);
		if (taken > bits)
			break;
		if (symbol == HUFFMAN_EOS)
			return HUFFMAN_BAD;
		*at++ = (char)symbol;
		acc = acc << taken | ((1ull << taken) - 1);
		bits -= taken;
	}
	/* Padding is shorter than a byte and all ones, the beginning of EOS. */
	return bits < 8 && acc == UINT64_MAX ? (size_t)(at - out) : HUFFMAN_BAD;
}

size_t huffman_decode(const uint8_t *code, size_t n, char *out)
{
	const uint8_t *end = code + n;
	uint64_t acc = 0; /* the next bits, from the top; more than `bits` may be set */
	unsigned bits = 0;
	char *at = out;

	for (;;) {
		if ((size_t)(end - code) >= 8) {
			acc |= load_be64(code) >> bits;
			code += (63 - bits) >> 3;
			bits |= 56;
		} else {
			while (bits <= 56 && code < end) {
				acc |= (uint64_t)*code++ << (56 - bits);
				bits += 8;
			}
		}
		if (bits < 32)
			break;
		do {
			const struct huffman_step *step =
			    &huffman_steps[acc >> (64 - HUFFMAN_LOOKUP_BITS)];

			if (__builtin_expect(step->bits != 0, 1)) {
				memcpy(at, step->bytes, 2);
				at += 1 + (step->bits != step->first_bits);
				acc <<= step->bits;
				bits -= step->bits;
			} else {
				unsigned taken;
				unsigned symbol = long_symbol((uint32_t)(acc >> 32), &taken);

				if (symbol == HUFFMAN_EOS)
					return HUFFMAN_BAD;
				*at++ = (char)symbol;
				acc <<= taken;
				bits -= taken;
			}
		} while (bits >= 32);
	}
	size_t tail = decode_tail(acc, bits, at);
	return tail == HUFFMAN_BAD ? HUFFMAN_BAD : (size_t)(at - out) + tail;
}

size_t huffman_encode(struct slice s, uint8_t *out)
{
	const uint8_t *from = (const uint8_t *)s.ptr, *end = from + s.len;
	uint8_t *at = out, *stop = out + s.len;
	uint64_t acc = 0; /* the pending bits, at the bottom */
	unsigned bits = 0;

	for (; from < end; from++) {
		const struct huffman_code *c = &huffman_codes[*from];

		acc = acc << c->bits | c->code;
		bits += c->bits;
		if (bits >= 32) {
			uint32_t word = __builtin_bswap32((uint32_t)(acc >> (bits - 32)));

			if (at >= stop)
				return 0;
			memcpy(at, &word, sizeof(word));
			at += sizeof(word);
			bits -= 32;
		}
	}
	while (bits > 0) {
		if (at >= stop)
			return 0;
		if (bits >= 8)
			*at++ = (uint8_t)(acc >> (bits -= 8));
		else {
			*at++ = (uint8_t)(acc << (8 - bits) | 0xffu >> bits);
			bits = 0;
		}
	}
	return at < stop ? (size_t)(at - out) : 0;
}
