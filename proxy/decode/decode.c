/* SPDX-License-Identifier: MIT */
/* The three decoders behind one function: each decodes a step of input into one small buffer. */
#include "proxy/decode/decode.h"

#include "proxy/base/heap.h"
#include "proxy/limits.h"

#include <brotli/decode.h>
#include <stdalign.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define STEP_BYTES 2048u
/* What a reader wants ends soon: with more input at once, more would be decoded in vain. */
#define STEP_INPUT_BYTES 512u
/* RFC 9659 3: the windows of zstd in HTTP have 8 MiB at most. */
#define ZSTD_WINDOW_LOG 23

struct decode;

/* Decodes from *in, whose rest it leaves there, to `out`. Returns how many bytes; sets the state. */
struct coding {
	struct slice name;
	char first; /* byte of each stream; NUL: any */
	bool (*start)(struct decode *d);
	size_t (*step)(struct decode *d, struct slice *in, char *out, size_t room);
	void (*stop)(struct decode *d);
	size_t (*memory)(const struct decode *d);
};

struct decode {
	const struct coding *coding;
	union {
		z_stream gzip;
		BrotliDecoderState *br;
		ZSTD_DStream *zstd;
	} of;
	struct decode_sink sink;
	enum decode_state state;
	size_t output_left, input_left;
	size_t memory; /* of brotli's allocations */
};

static bool gzip_start(struct decode *d)
{
	memset(&d->of.gzip, 0, sizeof(d->of.gzip));
	if (inflateInit2(&d->of.gzip, 15 + 16) != Z_OK)
		return false;
	/* No checksum: the end of the body, where it stands, is hardly ever read. */
	inflateValidate(&d->of.gzip, 0);
	return true;
}

static size_t gzip_step(struct decode *d, struct slice *in, char *out, size_t room)
{
	z_stream *z = &d->of.gzip;
	z->next_in = (z_const Bytef *)in->ptr;
	z->avail_in = (uInt)in->len;
	z->next_out = (Bytef *)out;
	z->avail_out = (uInt)room;
	int result = inflate(z, Z_NO_FLUSH);
	*in = slice_from(*in, in->len - z->avail_in);
	if (result == Z_STREAM_END)
		d->state = DECODE_ENDED;
	else if (result != Z_OK && result != Z_BUF_ERROR)
		d->state = DECODE_FAILED;
	return room - z->avail_out;
}

static void gzip_stop(struct decode *d)
{
	inflateEnd(&d->of.gzip);
}

/* zlib's own figure (zconf.h): a window of 32 KiB, and about 7 KiB. */
static size_t gzip_memory(const struct decode *d)
{
	(void)d;
	return 40u << 10;
}

/* The window is as large as the stream says: each allocation remembers its size, and the sum is bounded. */
#define SIZE_BYTES alignof(max_align_t)

static void *br_alloc(void *context, size_t bytes)
{
	struct decode *d = context;
	if (bytes > LIMIT_DECODE_MEMORY_BYTES - d->memory)
		return NULL;
	char *p = heap_alloc(SIZE_BYTES + bytes);
	if (!p)
		return NULL;
	memcpy(p, &bytes, sizeof(bytes));
	d->memory += bytes;
	return p + SIZE_BYTES;
}

static void br_release(void *context, void *p)
{
	struct decode *d = context;
	size_t bytes = 0;
	if (!p)
		return;
	memcpy(&bytes, (char *)p - SIZE_BYTES, sizeof(bytes));
	d->memory -= bytes;
	free((char *)p - SIZE_BYTES);
}

static bool br_start(struct decode *d)
{
	d->of.br = BrotliDecoderCreateInstance(br_alloc, br_release, d);
	return d->of.br != NULL;
}

static size_t br_step(struct decode *d, struct slice *in, char *out, size_t room)
{
	const uint8_t *next_in = (const uint8_t *)in->ptr;
	uint8_t *next_out = (uint8_t *)out;
	size_t left = in->len, space = room;
	BrotliDecoderResult result =
	    BrotliDecoderDecompressStream(d->of.br, &left, &next_in, &space, &next_out, NULL);
	*in = slice_from(*in, in->len - left);
	if (result == BROTLI_DECODER_RESULT_SUCCESS)
		d->state = DECODE_ENDED;
	else if (result == BROTLI_DECODER_RESULT_ERROR)
		d->state = DECODE_FAILED;
	return room - space;
}

static void br_stop(struct decode *d)
{
	BrotliDecoderDestroyInstance(d->of.br);
}

static size_t br_memory(const struct decode *d)
{
	return d->memory;
}

static bool zstd_start(struct decode *d)
{
	d->of.zstd = ZSTD_createDStream();
	if (!d->of.zstd)
		return false;
	if (!ZSTD_isError(ZSTD_DCtx_setParameter(d->of.zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
		return true;
	ZSTD_freeDStream(d->of.zstd);
	return false;
}

static size_t zstd_step(struct decode *d, struct slice *in, char *out, size_t room)
{
	ZSTD_inBuffer from = {in->ptr, in->len, 0};
	ZSTD_outBuffer to = {out, room, 0};
	size_t result = ZSTD_decompressStream(d->of.zstd, &to, &from);
	*in = slice_from(*in, from.pos);
	if (ZSTD_isError(result))
		d->state = DECODE_FAILED;
	else if (result == 0)
		d->state = DECODE_ENDED; /* of the first frame */
	return to.pos;
}

static void zstd_stop(struct decode *d)
{
	ZSTD_freeDStream(d->of.zstd);
}

static size_t zstd_memory(const struct decode *d)
{
	return ZSTD_sizeof_DStream(d->of.zstd);
}

static const struct coding codings[] = {
    {SLICE_INIT("gzip"), '\x1f', gzip_start, gzip_step, gzip_stop, gzip_memory},
    {SLICE_INIT("x-gzip"), '\x1f', gzip_start, gzip_step, gzip_stop, gzip_memory},
    {SLICE_INIT("br"), '\0', br_start, br_step, br_stop, br_memory},
    {SLICE_INIT("zstd"), '\x28', zstd_start, zstd_step, zstd_stop, zstd_memory},
};

struct decode *decode_new(struct slice name, size_t most, struct decode_sink sink)
{
	const struct coding *coding = NULL;
	for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
		if (slice_equal_nocase(codings[i].name, slice_trim(name)))
			coding = &codings[i];
	}
	struct decode *d = coding ? heap_alloc(sizeof(*d)) : NULL;
	if (!d)
		return NULL;
	d->coding = coding;
	d->sink = sink;
	d->state = DECODE_READS;
	d->output_left = most;
	d->input_left = LIMIT_DECODE_INPUT_BYTES;
	d->memory = 0;
	if (coding->start(d))
		return d;
	free(d);
	return NULL;
}

void decode_free(struct decode *d)
{
	if (!d)
		return;
	d->coding->stop(d);
	free(d);
}

size_t decode_memory(const struct decode *d)
{
	return sizeof(*d) + d->coding->memory(d);
}

/* The library of zstd also reads formats of before RFC 8878, which begin with other bytes: browsers do not, and the bound
 * of the window does not hold for them. */
static bool may_begin(const struct decode *d, struct slice piece)
{
	return d->coding->first == '\0' || piece.len == 0 || piece.ptr[0] == d->coding->first;
}

/* A full buffer says that there may be more to come without input. */
enum decode_state decode_read(struct decode *d, struct slice piece)
{
	char out[STEP_BYTES];
	struct slice in = slice_sub(piece, 0, d->input_left);
	bool is_full = false;
	if (d->input_left == LIMIT_DECODE_INPUT_BYTES && !may_begin(d, in))
		d->state = DECODE_FAILED;
	d->input_left -= in.len;
	while (d->state == DECODE_READS && (in.len > 0 || is_full)) {
		size_t room = d->output_left < sizeof(out) ? d->output_left : sizeof(out);
		struct slice some = slice_sub(in, 0, STEP_INPUT_BYTES);
		size_t before = some.len, bytes = d->coding->step(d, &some, out, room);
		size_t taken = before - some.len;
		slice_skip(&in, taken);
		d->output_left -= bytes;
		is_full = bytes == room;
		if (bytes > 0 && !d->sink.decoded(slice_of(out, bytes), d->sink.context))
			d->state = DECODE_ENDED;
		else if (d->state == DECODE_READS && d->output_left == 0)
			d->state = DECODE_AT_LIMIT;
		else if (d->state == DECODE_READS && bytes == 0 && taken == 0 && in.len > 0)
			d->state = DECODE_FAILED;
	}
	if (d->state == DECODE_READS && d->input_left == 0)
		d->state = DECODE_AT_LIMIT;
	return d->state;
}
