/* SPDX-License-Identifier: MIT */
/*
 * A fuzz target's input, taken byte by byte from the front. Used up, it gives zeros and nothing
 * more, so that each target ends by itself.
 */
#ifndef PUSHGATE_FUZZ_INPUT_H
#define PUSHGATE_FUZZ_INPUT_H

#include "proxy/base/slice.h"

/* What the fuzzer and tests/fuzz/replay.c call; 0 always. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t input_byte(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* 0 … below - 1; below ≤ 256 costs one byte, more costs two. */
static inline uint32_t input_below(struct input *in, uint32_t below)
{
	uint32_t n = input_byte(in);
	if (below > 256)
		n = n << 8 | input_byte(in);
	return n % below;
}

/* The next bytes, at most so many. */
static inline struct slice input_take(struct input *in, size_t most)
{
	struct slice taken = slice_of(in->at, most < in->left ? most : in->left);
	in->at += taken.len;
	in->left -= taken.len;
	return taken;
}

/* Up to the next newline, which goes too; or the rest. */
static inline struct slice input_line(struct input *in)
{
	struct slice rest = slice_of(in->at, in->left);
	size_t length = slice_find(rest, '\n');
	(void)input_take(in, length + 1);
	return slice_sub(rest, 0, length);
}

#endif
