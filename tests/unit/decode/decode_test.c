/* SPDX-License-Identifier: MIT */
/* The decoder: each coding in pieces of each size, its bounds, and streams that are broken. */
#include "proxy/decode/decode.h"
#include "proxy/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* "head head head head head head head head\n" of the programs gzip, brotli and zstd. */
static const struct slice plain = SLICE_INIT("head head head head head head head head\n");
struct body {
	struct slice name, body;
};
static const struct body texts[] = {
    {SLICE_INIT("gzip"),
	SLICE_INIT(
	    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\x4d\x4c\x51\xc8\x20\x48\x70\x01"
	    "\x00\xb9\x61\x41\x8b\x28\x00\x00\x00")},
    {SLICE_INIT("br"),
	SLICE_INIT(
	    "\x1b\x27\x00\xf8\x8d\x54\xb5\xbf\x0e\x23\x2b\x43\x53\x0a\x20\xa5\x48\x3b\x51\x40"
	    "\x1e\x06")},
    {SLICE_INIT("zstd"),
	SLICE_INIT(
	    "\x28\xb5\x2f\xfd\x04\x58\x65\x00\x00\x30\x68\x65\x61\x64\x20\x0a\x01\x00\x70\x8a"
	    "\x16\xdc\xb3\x21\x3a")},
};
/* 100,000 spaces. */
static const struct body bombs[] = {
    {SLICE_INIT("gzip"),
	SLICE_INIT(
	    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\x2a"
	    "\xeb\x9f\xd2\x1a\x1e\x40\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	    "\x00\x00\x00\xaf\x06\x2d\xf0\x79\xca\xa0\x86\x01\x00")},
    {SLICE_INIT("br"), SLICE_INIT("\x5b\x9f\x86\x81\x5f\x02\x24\x1e\x0b\x04\xb2\xfc\x02\x00")},
    {SLICE_INIT("zstd"),
	SLICE_INIT(
	    "\x28\xb5\x2f\xfd\x04\x58\x55\x00\x00\x10\x20\x20\x01\x00\x9b\x86\x39\xc0\x02\x5d"
	    "\xa7\x21\x05")},
};

struct got {
	char bytes[70000];
	size_t length, wanted;
};

static bool note(struct slice bytes, void *context)
{
	struct got *got = context;
	assert_true(bytes.len <= sizeof(got->bytes) - got->length);
	memcpy(got->bytes + got->length, bytes.ptr, bytes.len);
	got->length += bytes.len;
	return got->length < got->wanted;
}

static enum decode_state read_in(
    struct slice name, struct slice body, size_t piece, size_t most, struct got *got)
{
	enum decode_state state = DECODE_READS;
	got->length = 0;
	struct decode *d = decode_new(name, most, (struct decode_sink){note, got});
	assert_non_null(d);
	for (size_t at = 0; at < body.len; at += piece)
		state = decode_read(d, slice_sub(body, at, piece));
	decode_free(d);
	return state;
}

static void each_coding_is_decoded_in_pieces(void **state)
{
	(void)state;
	struct got got = {.wanted = SIZE_MAX};
	for (size_t i = 0; i < 3; i++) {
		for (size_t piece = 1; piece < 60; piece++) {
			assert_int_equal(
			    read_in(texts[i].name, texts[i].body, piece, 1000, &got), DECODE_ENDED);
			assert_true(slice_equal(slice_of(got.bytes, got.length), plain));
		}
	}
}

static void output_is_bounded(void **state)
{
	(void)state;
	struct got got = {.wanted = SIZE_MAX};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(
		    read_in(bombs[i].name, bombs[i].body, 1000, 65536, &got), DECODE_AT_LIMIT);
		assert_int_equal(got.length, 65536);
	}
	got.wanted = 1;
	assert_int_equal(read_in(bombs[0].name, bombs[0].body, 1000, 65536, &got), DECODE_ENDED);
	assert_true(got.length <= 2048);
}

/* It stands behind the text, where hardly any reading comes. */
static void checksum_of_gzip_is_not_read(void **state)
{
	(void)state;
	struct got got = {.wanted = SIZE_MAX};
	char body[64];
	size_t length = texts[0].body.len;
	memcpy(body, texts[0].body.ptr, length);
	body[length - 8] ^= 1;
	assert_int_equal(
	    read_in(texts[0].name, slice_of(body, length), length, 1000, &got), DECODE_ENDED);
	assert_true(slice_equal(slice_of(got.bytes, got.length), plain));
}

/* Of 1,792 stored bytes, a reader of ten gets those of the first step. */
static void little_more_than_is_wanted_is_decoded(void **state)
{
	(void)state;
	struct got got = {.wanted = 10};
	char body[2000] = "\x1f\x8b\x08\0\0\0\0\0\0\0\x01\x00\x07\xff\xf8";
	assert_int_equal(
	    read_in(texts[0].name, slice_of(body, 1807), 1807, 65536, &got), DECODE_ENDED);
	assert_in_range(got.length, 10, 512);
}

/* Frames of zstd that may be skipped, and empty blocks of gzip. */
static void input_without_output_is_bounded(void **state)
{
	(void)state;
	static const char head[] = "\x1f\x8b\x08\0\0\0\0\0\0\0", block[] = "\0\0\0\xff\xff";
	struct got got = {.wanted = SIZE_MAX};
	struct decode *d = decode_new(SLICE("gzip"), 65536, (struct decode_sink){note, &got});
	assert_int_equal(decode_read(d, slice_of(head, 10)), DECODE_READS);
	size_t bytes = 10;
	while (decode_read(d, slice_of(block, 5)) == DECODE_READS)
		bytes += 5;
	assert_in_range(bytes, LIMIT_DECODE_INPUT_BYTES - 5, LIMIT_DECODE_INPUT_BYTES);
	assert_int_equal(decode_read(d, slice_of(block, 5)), DECODE_AT_LIMIT);
	assert_int_equal(got.length, 0);
	decode_free(d);
}

static void broken_streams_fail(void **state)
{
	(void)state;
	struct got got = {.wanted = SIZE_MAX};
	for (size_t i = 0; i < 3; i++) {
		struct slice noise = SLICE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
		assert_int_equal(read_in(texts[i].name, noise, 3, 1000, &got), DECODE_FAILED);
		assert_int_equal(got.length, 0);
	}
	/* A window of 16 MiB: log 24 in zstd's frame header. */
	assert_int_equal(
	    read_in(SLICE("zstd"), SLICE("\x28\xb5\x2f\xfd\x00\x70\x09\0\0x"), 50, 1000, &got),
	    DECODE_FAILED);
}

/* Frames of zstd 0.5 to 0.7, of which the last one has a window of 128 MiB. */
static void formats_before_the_rfc_are_not_decoded(void **state)
{
	(void)state;
	static const struct slice frames[] = {SLICE_INIT("\x25\xb5\x2f\xfd\x00\x00"),
	    SLICE_INIT("\x26\xb5\x2f\xfd\x00\x00"), SLICE_INIT("\x27\xb5\x2f\xfd\x00\x88")};
	struct got got = {.wanted = SIZE_MAX};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(read_in(SLICE("zstd"), frames[i], 1, 1000, &got), DECODE_FAILED);
		assert_int_equal(read_in(SLICE("zstd"), frames[i], 50, 1000, &got), DECODE_FAILED);
	}
}

static void other_codings_are_not_decoded(void **state)
{
	(void)state;
	static const struct slice names[] = {SLICE_INIT(""), SLICE_INIT("identity"),
	    SLICE_INIT("deflate"), SLICE_INIT("gzip, br"), SLICE_INIT("gzipped")};
	struct got got;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(decode_new(names[i], 1000, (struct decode_sink){note, &got}));
	struct decode *d = decode_new(SLICE(" X-GZIP"), 1000, (struct decode_sink){note, &got});
	assert_non_null(d);
	decode_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_coding_is_decoded_in_pieces),
	    cmocka_unit_test(output_is_bounded),
	    cmocka_unit_test(checksum_of_gzip_is_not_read),
	    cmocka_unit_test(little_more_than_is_wanted_is_decoded),
	    cmocka_unit_test(input_without_output_is_bounded),
	    cmocka_unit_test(broken_streams_fail),
	    cmocka_unit_test(formats_before_the_rfc_are_not_decoded),
	    cmocka_unit_test(other_codings_are_not_decoded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
