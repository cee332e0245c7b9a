/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an encoded body, in one piece and in small ones: both ways decode the same bytes, no
 * more than asked for.
 *
 * Input: a byte for the coding, one that says how large the pieces are, then the body.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/decode/decode.h"

#define MOST_BYTES 20000u

struct sum {
	size_t length;
	uint64_t mix;
};

static bool note(struct slice bytes, void *context)
{
	struct sum *sum = context;
	sum->length += bytes.len;
	ensure(bytes.len > 0 && sum->length <= MOST_BYTES);
	for (size_t i = 0; i < bytes.len; i++)
		sum->mix = (sum->mix ^ (unsigned char)bytes.ptr[i]) * UINT64_C(0x100000001b3);
	return true;
}

static enum decode_state read_in(
    struct slice name, struct slice body, size_t piece, struct sum *sum)
{
	enum decode_state state = DECODE_READS;
	struct decode *d = decode_new(name, MOST_BYTES, (struct decode_sink){note, sum});
	for (size_t at = 0; at < body.len; at += piece)
		state = decode_read(d, slice_sub(body, at, piece));
	decode_free(d);
	return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct slice names[] = {
	    SLICE_INIT("gzip"), SLICE_INIT("br"), SLICE_INIT("zstd")};
	struct input in = {data, size};
	struct slice name = names[input_below(&in, 3)];
	size_t piece = 1 + input_below(&in, 64);
	struct slice body = input_take(&in, in.left);
	struct sum whole = {0, 0}, cut = {0, 0};
	enum decode_state state = read_in(name, body, body.len + 1, &whole);
	ensure(read_in(name, body, piece, &cut) == state || state == DECODE_FAILED);
	/* Before an error, decoders give out as much as they happen to have. */
	ensure(state == DECODE_FAILED || (whole.length == cut.length && whole.mix == cut.mix));
	return 0;
}
