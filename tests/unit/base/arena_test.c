/* SPDX-License-Identifier: MIT */
/* Arenas: nothing moves, nothing overlaps, everything goes at once. */
#include "proxy/base/arena.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>

#include <cmocka.h>

static void first_block_is_used_before_the_heap(void **state)
{
	(void)state;
	char first[64];
	struct arena a;
	arena_init(&a, first, sizeof(first));
	char *p = arena_bytes(&a, 60);
	assert_ptr_equal(p, first);
	assert_int_equal(a.heap_bytes, 0);
	arena_bytes(&a, 5);
	assert_true(a.heap_bytes > 0);
	arena_fini(&a);
}

static void allocations_neither_move_nor_overlap(void **state)
{
	(void)state;
	enum { COUNT = 2000 };
	static unsigned char *piece[COUNT];
	struct arena a;
	arena_init(&a, NULL, 0);
	for (size_t i = 0; i < COUNT; i++) {
		piece[i] = (unsigned char *)arena_bytes(&a, i + 1);
		memset(piece[i], (int)(i & 0xff), i + 1);
	}
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(piece[i][0], i & 0xff);
		assert_int_equal(piece[i][i], i & 0xff);
	}
	arena_fini(&a);
}

static void alloc_is_aligned_for_any_type(void **state)
{
	(void)state;
	alignas(max_align_t) char first[256];
	struct arena a;
	arena_init(&a, first + 1, sizeof(first) - 1);
	for (size_t i = 0; i < 100; i++) {
		arena_bytes(&a, i % 7);
		assert_int_equal((uintptr_t)arena_alloc(&a, i) % alignof(max_align_t), 0);
	}
	arena_fini(&a);
}

static void large_piece_leaves_the_current_block_in_use(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a, NULL, 0);
	char *before = arena_bytes(&a, 8);
	memset(arena_bytes(&a, 100000), 1, 100000);
	assert_ptr_equal(arena_bytes(&a, 8), before + 8);
	arena_fini(&a);
}

static void reset_gives_the_heap_back_and_starts_over(void **state)
{
	(void)state;
	char first[32];
	struct arena a;
	arena_init(&a, first, sizeof(first));
	for (int round = 0; round < 3; round++) {
		assert_ptr_equal(arena_bytes(&a, 32), first);
		arena_bytes(&a, 10000);
		arena_bytes(&a, 10);
		arena_reset(&a);
		assert_int_equal(a.heap_bytes, 0);
	}
	arena_fini(&a);
}

static void copy_is_another_string_and_empty_costs_nothing(void **state)
{
	(void)state;
	char text[] = "hello";
	struct arena a;
	arena_init(&a, NULL, 0);
	assert_int_equal(arena_copy(&a, (struct slice){NULL, 0}).len, 0);
	assert_int_equal(a.heap_bytes, 0);
	struct slice s = arena_copy(&a, slice_of_string(text));
	text[0] = 'j';
	assert_true(slice_equal(s, SLICE("hello")));
	arena_fini(&a);
}

static void printf_fits_or_takes_a_block(void **state)
{
	(void)state;
	char first[16];
	struct arena a;
	arena_init(&a, first, sizeof(first));
	struct slice fitting = arena_printf(&a, "%d-%s", 12, "abc");
	assert_string_equal(fitting.ptr, "12-abc");
	assert_int_equal(fitting.len, 6);
	assert_ptr_equal(fitting.ptr, first);
	struct slice brim = arena_printf(&a, "%s", "12345678");
	assert_ptr_equal(brim.ptr, first + 7);
	assert_int_equal(a.heap_bytes, 0);
	struct slice longer = arena_printf(&a, "%06000d", 1);
	assert_int_equal(longer.len, 6000);
	assert_int_equal(strlen(longer.ptr), 6000);
	assert_string_equal(fitting.ptr, "12-abc");
	assert_int_equal(arena_printf(&a, "%s", "").len, 0);
	arena_fini(&a);
}

static void what_is_behind_the_newest_piece_is_nobodys(void **state)
{
	(void)state;
#ifndef POISON_IS_SEEN
	skip();
#endif
	alignas(8) char first[256];
	struct arena a;
	arena_init(&a, first, sizeof(first));
	char *p = arena_bytes(&a, 13);
	assert_false(poison_is_at(p + 12));
	assert_true(poison_is_at(p + 13));
	p = arena_bytes(&a, 20);
	arena_shorten(&a, p, 20, 5);
	assert_false(poison_is_at(p + 4));
	assert_true(poison_is_at(p + 5));
	struct slice s = arena_printf(&a, "%d", 1234);
	assert_false(poison_is_at(s.ptr + 4));
	assert_true(poison_is_at(s.ptr + 5));
	p = arena_bytes(&a, 500);
	assert_false(poison_is_at(p + 499));
	assert_true(poison_is_at(p + 500));
	arena_reset(&a);
	assert_true(poison_is_at(first));
	arena_fini(&a);
	assert_false(poison_is_at(first));
	assert_false(poison_is_at(first + sizeof(first) - 1));
}

static void shortening_gives_back_the_newest_piece_alone(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a, NULL, 0);
	char *p = arena_bytes(&a, 10);
	arena_shorten(&a, p, 10, 4);
	char *q = arena_bytes(&a, 10);
	assert_ptr_equal(q, p + 4);
	arena_shorten(&a, p, 4, 0);
	assert_ptr_equal(arena_bytes(&a, 1), q + 10);
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_block_is_used_before_the_heap),
	    cmocka_unit_test(allocations_neither_move_nor_overlap),
	    cmocka_unit_test(alloc_is_aligned_for_any_type),
	    cmocka_unit_test(large_piece_leaves_the_current_block_in_use),
	    cmocka_unit_test(reset_gives_the_heap_back_and_starts_over),
	    cmocka_unit_test(copy_is_another_string_and_empty_costs_nothing),
	    cmocka_unit_test(printf_fits_or_takes_a_block),
	    cmocka_unit_test(shortening_gives_back_the_newest_piece_alone),
	    cmocka_unit_test(what_is_behind_the_newest_piece_is_nobodys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
