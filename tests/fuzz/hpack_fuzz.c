/* SPDX-License-Identifier: MIT */
/*
 * HPACK against libnghttp2: both must accept the same blocks and give the same lists, and what
 * either's encoder makes of a list must read as that list to the other's decoder.
 *
 * Input: one byte for the list's limit, then records of a byte (kind), two of length, and that
 * many of content. Kind 1 is a new table limit (two bytes), any other a field block.
 *
 * Known differences: an empty block where a size update is due (not fed), and strings of 64 KiB,
 * which nghttp2 refuses (inputs are shorter).
 */
#include "tests/fuzz/input.h"

#include "proxy/hpack/hpack.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <nghttp2/nghttp2.h>

#define INPUT_BYTES_MAX 20000u
#define SEED UINT64_C(0x5eed)

/* The next field of a block, or false at its end; *is_bad when there is no telling. */
static bool next_field(nghttp2_hd_inflater *inflater, const uint8_t **at, const uint8_t *end,
    nghttp2_nv *nv, bool *is_bad)
{
	for (;;) {
		int flags = 0;
		ssize_t n =
		    nghttp2_hd_inflate_hd2(inflater, nv, &flags, *at, (size_t)(end - *at), 1);

		*is_bad = n < 0;
		if (n < 0)
			return false;
		*at += n;
		if (flags & NGHTTP2_HD_INFLATE_EMIT)
			return true;
		if (flags & NGHTTP2_HD_INFLATE_FINAL) {
			nghttp2_hd_inflate_end_headers(inflater);
			return false;
		}
	}
}

static bool is_same(const struct http_field *f, const nghttp2_nv *nv)
{
	return slice_equal(f->name, slice_of(nv->name, nv->namelen)) &&
	       slice_equal(f->value, slice_of(nv->value, nv->valuelen));
}

/* Reads the block with nghttp2 and compares, if `head` is not NULL. False: nghttp2 refuses it. */
static bool compare(nghttp2_hd_inflater *inflater, struct slice block, const struct http_head *head,
    bool compare_marks)
{
	const uint8_t *at = (const uint8_t *)block.ptr, *end = at + block.len;
	nghttp2_nv nv;
	bool is_bad;
	uint32_t i = 0;

	for (; next_field(inflater, &at, end, &nv, &is_bad); i++) {
		if (!head)
			continue;
		ensure(i < head->count && is_same(&head->fields[i], &nv));
		bool is_marked = nv.flags & NGHTTP2_NV_FLAG_NO_INDEX;
		if (compare_marks)
			ensure(head->fields[i].never_index == is_marked);
		else
			ensure(!head->fields[i].never_index || is_marked);
	}
	ensure(is_bad || !head || i == head->count);
	return !is_bad;
}

struct coders {
	struct http_head_pool *pool;
	struct hpack_decoder *d;
	struct hpack_encoder *e;
	nghttp2_hd_inflater *theirs, *again; /* of the input's blocks, of those that we encode */
	nghttp2_hd_deflater *deflater;
	struct hpack_decoder *of_theirs; /* of the blocks that they encode */
	size_t list_limit;
};

/* What nghttp2's encoder makes of the list must be that list to our decoder. */
static void decode_theirs(struct coders *c, const struct http_head *head)
{
	nghttp2_nv *nvs = memory_alloc((head->count + 1) * sizeof(*nvs));
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		nvs[i] = (nghttp2_nv){(uint8_t *)(uintptr_t)f->name.ptr,
		    (uint8_t *)(uintptr_t)f->value.ptr, f->name.len, f->value.len,
		    f->never_index ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
	}
	size_t bound = nghttp2_hd_deflate_bound(c->deflater, nvs, head->count);
	uint8_t *out = memory_alloc(bound);
	ssize_t n = nghttp2_hd_deflate_hd(c->deflater, out, bound, nvs, head->count);
	struct http_head *back = http_head_new(c->pool);
	ensure(n >= 0);
	ensure(hpack_decode(c->of_theirs, slice_of(out, (size_t)n), SIZE_MAX, back) == HPACK_OK);
	hpack_decoder_check(c->of_theirs);
	ensure(back->count == head->count);
	for (uint32_t i = 0; i < head->count; i++) {
		ensure(is_same(&back->fields[i], &nvs[i]));
		ensure(back->fields[i].never_index || !head->fields[i].never_index);
	}
	http_head_free(back);
	free(out);
	free(nvs);
}

static void encode_again(struct coders *c, struct http_head *head)
{
	size_t bound = hpack_encode_bound(head);
	uint8_t *out = malloc(bound);

	ensure(out);
	head->kind = HTTP_TRAILERS; /* all as fields, in their order */
	size_t n = hpack_encode(c->e, head, out);
	ensure(n <= bound);
	hpack_encoder_check(c->e);
	if (n > 0)
		ensure(compare(c->again, slice_of(out, n), head, false));
	free(out);
}

/* False: the block is bad, and the decoders are dead. */
static bool feed(struct coders *c, struct slice block)
{
	struct http_head *head = http_head_new(c->pool);
	enum hpack_result result = hpack_decode(c->d, block, c->list_limit, head);

	hpack_decoder_check(c->d);
	bool is_good = compare(c->theirs, block, result == HPACK_OK ? head : NULL, true);
	ensure(is_good == (result != HPACK_BAD));
	if (result == HPACK_OK) {
		decode_theirs(c, head);
		encode_again(c, head);
	}
	http_head_free(head);
	return is_good;
}

static void set_limit(struct coders *c, uint32_t limit)
{
	hpack_decoder_set_limit(c->d, limit);
	ensure(nghttp2_hd_inflate_change_table_size(c->theirs, limit) == 0);
	hpack_encoder_set_limit(c->e, limit);
	ensure(nghttp2_hd_inflate_change_table_size(c->again, limit) == 0);
	hpack_decoder_set_limit(c->of_theirs, limit);
	ensure(nghttp2_hd_deflate_change_table_size(c->deflater, limit) == 0);
}

static void run(struct coders *c, const uint8_t *data, size_t size)
{
	while (size >= 3) {
		uint8_t kind = data[0];
		size_t n = (size_t)data[1] << 8 | data[2];

		data += 3;
		size -= 3;
		if (n > size)
			n = size;
		if (kind == 1 && n >= 2)
			set_limit(c, (uint32_t)data[0] << 8 | data[1]);
		else if (kind != 1 && n > 0 && !feed(c, slice_of(data, n)))
			return;
		data += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coders c;

	if (size < 1 || size > INPUT_BYTES_MAX)
		return 0;
	c.list_limit = data[0] == 0xff ? SIZE_MAX : data[0] * (size_t)64;
	c.pool = http_head_pool_new(1);
	c.d = hpack_decoder_new(4096, SEED);
	c.e = hpack_encoder_new(16384, SEED);
	ensure(nghttp2_hd_inflate_new(&c.theirs) == 0 && nghttp2_hd_inflate_new(&c.again) == 0);
	c.of_theirs = hpack_decoder_new(4096, SEED);
	ensure(nghttp2_hd_deflate_new(&c.deflater, 4096) == 0);
	run(&c, data + 1, size - 1);
	nghttp2_hd_inflate_del(c.theirs);
	nghttp2_hd_inflate_del(c.again);
	nghttp2_hd_deflate_del(c.deflater);
	hpack_decoder_free(c.of_theirs);
	hpack_encoder_free(c.e);
	hpack_decoder_free(c.d);
	http_head_pool_free(c.pool);
	return 0;
}
