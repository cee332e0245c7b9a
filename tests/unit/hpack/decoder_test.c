/* SPDX-License-Identifier: MIT */
/* What a decoder accepts and refuses: RFC 7541 2.3.3, 4.2, 5.1, 5.2, 6, and the list's limits. */
#include "tests/unit/hpack/kit.h"

#include "proxy/limits.h"

struct fixture {
	struct http_head_pool *pool;
	struct hpack_decoder *d;
	struct http_head *head;
};

static int set_up(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	if (!f)
		return -1;
	f->pool = http_head_pool_new(2);
	f->d = hpack_decoder_new(4096, KIT_SEED);
	f->head = http_head_new(f->pool);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_head_free(f->head);
	hpack_decoder_free(f->d);
	http_head_pool_free(f->pool);
	free(f);
	return 0;
}

static void empty_block_is_an_empty_list(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(hpack_decode(f->d, slice_of(NULL, 0), 0, f->head), HPACK_OK);
	assert_int_equal(f->head->count, 0);
}

static void index_zero_is_bad(void **state)
{
	struct fixture *f = *state;

	kit_expect_bad(f->pool, "80");
}

static void index_beyond_the_tables_is_bad(void **state)
{
	struct fixture *f = *state;

	kit_expect_bad(f->pool, "be");            /* 62, the table is empty */
	kit_expect_bad(f->pool, "ff8001");        /* 255 */
	kit_expect_bad(f->pool, "ff80ffffff0f");  /* 2^32 - 1 */
	kit_expect_bad(f->pool, "7f00 0161");     /* as the name of a literal: 63 */
	kit_expect_bad(f->pool, "0f2f 0161");     /* 62, not indexed */
	kit_expect_bad(f->pool, "1f2f 0161");     /* 62, never indexed */
	kit_expect_bad(f->pool, "4001610162 bf"); /* one entry, and the second is asked for */
}

static void every_static_index_is_known(void **state)
{
	struct fixture *f = *state;

	for (unsigned index = 1; index <= 61; index++) {
		uint8_t byte = (uint8_t)(0x80 | index);
		struct http_head *head = http_head_new(f->pool);
		assert_int_equal(
		    hpack_decode(f->d, slice_of(&byte, 1), KIT_NO_LIMIT, head), HPACK_OK);
		assert_int_equal(head->count, 1);
		assert_true(head->fields[0].name.len > 0);
		assert_int_equal(head->fields[0].token, http_token_find(head->fields[0].name));
		assert_int_equal(head->fields[0].hash, index);
		http_head_free(head);
	}
	kit_expect(f->d, f->pool, "81838f", ":authority: \n:method: POST\naccept-charset: \n");
	kit_expect(f->d, f->pool, "8e90bd",
	    ":status: 500\naccept-encoding: gzip, deflate\nwww-authenticate: \n");
}

static void integer_cut_off_is_bad(void **state)
{
	struct fixture *f = *state;

	kit_expect_bad(f->pool, "ff");
	kit_expect_bad(f->pool, "ff80");
	kit_expect_bad(f->pool, "7f");
	kit_expect_bad(f->pool, "0f");
	kit_expect_bad(f->pool, "3f");
	kit_expect_bad(f->pool, "00 7f");
}

static void integer_above_32_bits_is_bad(void **state)
{
	struct fixture *f = *state;

	kit_expect_bad(f->pool, "ffffffffffff");
	kit_expect_bad(f->pool, "ff81ffffff0f"); /* 2^32 exactly */
	kit_expect_bad(f->pool, "ff808080808001");
	kit_expect_bad(f->pool, "ffffffffffffffffffffff01");
	kit_expect_bad(f->pool, "3fe2ffffff0f"); /* a size update: 2^32 + 1 */
}

static void integer_may_be_padded_to_five_bytes(void **state)
{
	struct fixture *f = *state;

	kit_expect(f->d, f->pool,
	    "40 0161 7f8080808000 "
	    "62626262626262626262626262626262626262626262626262626262626262626262626262626262"
	    "62626262626262626262626262626262626262626262626262626262626262626262626262626262"
	    "62626262626262626262626262626262626262626262626262626262626262626262626262626262"
	    "62626262626262",
	    "a: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n");
	kit_expect_bad(f->pool, "40 0161 7f808080808000 62");
}

static void string_beyond_the_block_is_bad(void **state)
{
	struct fixture *f = *state;

	kit_expect_bad(f->pool, "40");          /* no name */
	kit_expect_bad(f->pool, "4001");        /* a name of one byte, none there */
	kit_expect_bad(f->pool, "400161");      /* no value */
	kit_expect_bad(f->pool, "40016102 61"); /* a value of two, one there */
	kit_expect_bad(f->pool, "40016182 ff"); /* the same with Huffman's code */
	kit_expect_bad(f->pool, "4001617f80ffffff0f 61");
}

static void empty_strings_are_strings(void **state)
{
	struct fixture *f = *state;

	kit_expect(f->d, f->pool, "40 00 00", ": \n");
	kit_expect(f->d, f->pool, "40 80 80", ": \n");
	kit_expect(f->d, f->pool, "be", ": \n");
}

static void huffman_padding_must_be_ones_and_short(void **state)
{
	struct fixture *f = *state;

	kit_expect(f->d, f->pool, "00 0161 81 1f", "a: a\n");                /* 00011 111 */
	kit_expect_bad(f->pool, "00 0161 81 1e");                            /* 00011 110 */
	kit_expect_bad(f->pool, "00 0161 81 18");                            /* 00011 000 */
	kit_expect_bad(f->pool, "00 0161 82 1fff");                          /* eleven ones */
	kit_expect_bad(f->pool, "00 0161 81 ff");                            /* eight */
	kit_expect(f->d, f->pool, "00 0161 85 18c6318c63", "a: aaaaaaaa\n"); /* none */
	kit_expect_bad(f->pool, "00 0161 86 18c6318c63ff"); /* eight after a full one */
}

static void huffman_eos_is_bad(void **state)
{
	struct fixture *f = *state;

	kit_expect_bad(f->pool, "00 0161 84 ffffffff");
	kit_expect_bad(f->pool, "00 0161 84 fffffffc");
	kit_expect_bad(f->pool, "00 0161 8a ffffffff18c6318c6318"); /* far from the end */
	kit_expect_bad(f->pool, "00 0161 85 1fffffffff");
	kit_expect_bad(f->pool, "00 0161 85 18ffffffff"); /* the very last bits */
}

static void size_update_evicts_what_does_not_fit(void **state)
{
	struct fixture *f = *state;

	kit_expect(f->d, f->pool, "40 0161 0162  40 0163 0164", "a: b\nc: d\n");
	kit_expect(f->d, f->pool, "3f25 be bf", "c: d\na: b\n"); /* 68: both fit */
	kit_expect(f->d, f->pool, "3f24 be", "c: d\n");          /* 67: the newer one does */
	kit_expect_result(f->d, f->pool, "bf", HPACK_BAD);
}

static void size_update_to_zero_gives_the_memory_back(void **state)
{
	struct fixture *f = *state;
	size_t empty = hpack_decoder_bytes(f->d);

	assert_true(empty < 200);
	kit_expect(f->d, f->pool, "40 0161 0162", "a: b\n");
	assert_true(hpack_decoder_bytes(f->d) > empty);
	kit_expect(f->d, f->pool, "20 3fe11f", "");
	assert_int_equal(hpack_decoder_bytes(f->d), empty);
	kit_expect_result(f->d, f->pool, "be", HPACK_BAD);
}

static void size_update_above_the_limit_is_bad(void **state)
{
	struct fixture *f = *state;

	kit_expect(f->d, f->pool, "3fe11f", ""); /* 4096 */
	kit_expect_bad(f->pool, "3fe21f");       /* 4097 */
	hpack_decoder_set_limit(f->d, 4097);
	kit_expect(f->d, f->pool, "3fe21f", "");
}

static void size_update_behind_a_field_is_bad(void **state)
{
	struct fixture *f = *state;

	kit_expect(f->d, f->pool, "20 3fe11f 82", ":method: GET\n");
	kit_expect_bad(f->pool, "82 20");
	kit_expect_bad(f->pool, "40 0161 0162 3fe11f");
}

static void lowered_limit_demands_an_update(void **state)
{
	struct fixture *f = *state;

	hpack_decoder_set_limit(f->d, 100);
	kit_expect(f->d, f->pool, "3f45 82", ":method: GET\n");
	kit_expect(f->d, f->pool, "82", ":method: GET\n"); /* once */
	hpack_decoder_set_limit(f->d, 99);
	kit_expect_result(f->d, f->pool, "82", HPACK_BAD);
}

static void limit_lowered_and_raised_demands_the_lower_first(void **state)
{
	struct fixture *f = *state;

	hpack_decoder_set_limit(f->d, 0);
	hpack_decoder_set_limit(f->d, 4096);
	kit_expect(f->d, f->pool, "20 3fe11f 82", ":method: GET\n");
	hpack_decoder_set_limit(f->d, 0);
	hpack_decoder_set_limit(f->d, 4096);
	kit_expect_result(f->d, f->pool, "3fe11f 82", HPACK_BAD);
}

static void raised_limit_demands_nothing(void **state)
{
	struct fixture *f = *state;

	hpack_decoder_set_limit(f->d, 65536);
	kit_expect(f->d, f->pool, "82", ":method: GET\n");
}

static void peer_may_use_the_default_until_it_acknowledges(void **state)
{
	struct fixture *f = *state;
	struct hpack_decoder *d = hpack_decoder_new(0, KIT_SEED);

	kit_expect(d, f->pool, "40 0161 0162", "a: b\n");
	kit_expect(d, f->pool, "be", "a: b\n");
	hpack_decoder_set_limit(d, 0);
	kit_expect_result(d, f->pool, "be", HPACK_BAD);
	hpack_decoder_free(d);
}

static void never_indexed_fields_say_so(void **state)
{
	struct fixture *f = *state;

	kit_expect(f->d, f->pool, "11 0161 10 0162 0163 01 0164",
	    "!:authority: a\n!b: c\n:authority: d\n");
	kit_expect_result(f->d, f->pool, "be", HPACK_BAD); /* none of them was put in */
}

static void entry_larger_than_the_table_empties_it(void **state)
{
	struct fixture *f = *state;

	kit_expect(f->d, f->pool, "3f05 40 0161 0162", "a: b\n"); /* a table of 36 */
	kit_expect(f->d, f->pool, "be 40 0161 04 62626262", "a: b\na: bbbb\n");
	kit_expect_result(f->d, f->pool, "be", HPACK_BAD);
}

static void name_of_an_entry_that_is_evicted_by_its_use_survives(void **state)
{
	struct fixture *f = *state;

	/* 40 bytes hold one entry: the new one takes its name from the one it pushes out. */
	kit_expect(f->d, f->pool, "3f09 40 03 616263 0162", "abc: b\n");
	kit_expect(f->d, f->pool, "7e 02 6363 be", "abc: cc\nabc: cc\n");
}

static void list_limit_counts_32_for_each_field(void **state)
{
	struct fixture *f = *state;
	struct slice block = kit_hex("82 86"); /* 7 + 3 + 32, 7 + 4 + 32 */

	assert_int_equal(hpack_decode(f->d, block, 85, f->head), HPACK_OK);
	assert_int_equal(f->head->count, 2);
	assert_int_equal(f->head->list_bytes, 85);
	struct http_head *head = http_head_new(f->pool);
	assert_int_equal(hpack_decode(f->d, block, 84, head), HPACK_TOO_LARGE);
	assert_int_equal(head->list_bytes, 42); /* until it was too large */
	http_head_free(head);
	free((void *)block.ptr);
}

static void too_large_list_keeps_pseudo_fields_and_the_table_in_step(void **state)
{
	struct fixture *f = *state;
	/* :method, a: b, then (over the limit) c: d, e (Huffman): a, both indexed. */
	struct slice block = kit_hex("82 40 0161 0162 40 0163 0164 40 0165 81 1f");

	assert_int_equal(hpack_decode(f->d, block, 42 + 34, f->head), HPACK_TOO_LARGE);
	kit_expect_list(f->head, ":method: GET\n");
	kit_expect(f->d, f->pool, "be bf c0", "e: a\nc: d\na: b\n");
	free((void *)block.ptr);
}

static void too_large_list_is_still_checked(void **state)
{
	struct fixture *f = *state;
	struct slice block = kit_hex("82 82 80");

	assert_int_equal(hpack_decode(f->d, block, 42, f->head), HPACK_BAD);
	free((void *)block.ptr);
}

static void more_fields_than_the_bound_are_too_large(void **state)
{
	struct fixture *f = *state;
	uint8_t block[LIMIT_FIELDS_PER_HEAD + 1];

	memset(block, 0x93, sizeof(block)); /* "accept:" */
	assert_int_equal(
	    hpack_decode(f->d, slice_of(block, LIMIT_FIELDS_PER_HEAD), KIT_NO_LIMIT, f->head),
	    HPACK_OK);
	assert_int_equal(f->head->count, LIMIT_FIELDS_PER_HEAD);
	struct http_head *head = http_head_new(f->pool);
	assert_int_equal(hpack_decode(f->d, slice_of(block, sizeof(block)), KIT_NO_LIMIT, head),
	    HPACK_TOO_LARGE);
	assert_int_equal(head->count, 0);
	http_head_free(head);
}

/* A block of one-byte references to a large entry costs no more memory than the list's limit. */
static void references_to_a_large_entry_are_bounded(void **state)
{
	struct fixture *f = *state;
	static uint8_t block[200000];
	size_t n = 0;

	memcpy(block,
	    "\x40\x01"
	    "a\x7f\xa1\x1e",
	    6); /* a value of 4000 */
	memset(block + 6, 'b', 4000);
	n = 4006;
	memset(block + n, 0xbe, sizeof(block) - n);
	assert_int_equal(
	    hpack_decode(f->d, slice_of(block, sizeof(block)), 20000, f->head), HPACK_TOO_LARGE);
	assert_int_equal(f->head->count, 0);
	assert_true(f->head->arena.heap_bytes < 100000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(empty_block_is_an_empty_list),
	    TEST(index_zero_is_bad),
	    TEST(index_beyond_the_tables_is_bad),
	    TEST(every_static_index_is_known),
	    TEST(integer_cut_off_is_bad),
	    TEST(integer_above_32_bits_is_bad),
	    TEST(integer_may_be_padded_to_five_bytes),
	    TEST(string_beyond_the_block_is_bad),
	    TEST(empty_strings_are_strings),
	    TEST(huffman_padding_must_be_ones_and_short),
	    TEST(huffman_eos_is_bad),
	    TEST(size_update_evicts_what_does_not_fit),
	    TEST(size_update_to_zero_gives_the_memory_back),
	    TEST(size_update_above_the_limit_is_bad),
	    TEST(size_update_behind_a_field_is_bad),
	    TEST(lowered_limit_demands_an_update),
	    TEST(limit_lowered_and_raised_demands_the_lower_first),
	    TEST(raised_limit_demands_nothing),
	    TEST(peer_may_use_the_default_until_it_acknowledges),
	    TEST(never_indexed_fields_say_so),
	    TEST(entry_larger_than_the_table_empties_it),
	    TEST(name_of_an_entry_that_is_evicted_by_its_use_survives),
	    TEST(list_limit_counts_32_for_each_field),
	    TEST(too_large_list_keeps_pseudo_fields_and_the_table_in_step),
	    TEST(too_large_list_is_still_checked),
	    TEST(more_fields_than_the_bound_are_too_large),
	    TEST(references_to_a_large_entry_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
