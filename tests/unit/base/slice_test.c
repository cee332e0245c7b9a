/* SPDX-License-Identifier: MIT */
/* Slices: comparing, trimming, list members, numbers. */
#include "proxy/base/slice.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void assert_slice(struct slice s, const char *expected)
{
	assert_int_equal(s.len, strlen(expected));
	assert_memory_equal(s.ptr, expected, s.len);
}

static void empty_slices_are_equal_whatever_they_point_at(void **state)
{
	(void)state;
	assert_true(slice_equal((struct slice){NULL, 0}, SLICE("")));
	assert_true(slice_equal_nocase((struct slice){NULL, 0}, SLICE("")));
	assert_true(slice_starts_with(SLICE("x"), (struct slice){NULL, 0}));
	assert_int_equal(slice_find((struct slice){NULL, 0}, 'a'), 0);
	assert_int_equal(slice_trim((struct slice){NULL, 0}).len, 0);
	assert_int_equal(slice_sub((struct slice){NULL, 0}, 3, 3).len, 0);
}

static void nocase_folds_ascii_letters_alone(void **state)
{
	(void)state;
	assert_true(slice_equal_nocase(SLICE("Content-TYPE"), SLICE("content-type")));
	assert_false(slice_equal_nocase(SLICE("["), SLICE("{")));
	assert_false(slice_equal_nocase(SLICE("@"), SLICE("`")));
	assert_false(slice_equal_nocase(SLICE("\xc4"), SLICE("\xe4")));
	assert_false(slice_equal_nocase(SLICE("ab"), SLICE("abc")));
	for (int c = 0; c < 256; c++) {
		char upper = (char)c, lower = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
		assert_true(slice_equal_nocase(slice_of(&upper, 1), slice_of(&lower, 1)));
	}
}

static void sub_is_cut_to_what_there_is(void **state)
{
	(void)state;
	assert_slice(slice_sub(SLICE("abcdef"), 2, 3), "cde");
	assert_slice(slice_sub(SLICE("abcdef"), 4, 100), "ef");
	assert_slice(slice_sub(SLICE("abcdef"), 100, 1), "");
	assert_slice(slice_from(SLICE("abcdef"), 5), "f");
	assert_slice(slice_sub(SLICE("abcdef"), 1, SIZE_MAX), "bcdef");
}

static void find_gives_the_first_or_the_length(void **state)
{
	(void)state;
	assert_int_equal(slice_find(SLICE("a,b,c"), ','), 1);
	assert_int_equal(slice_find(SLICE("abc"), ','), 3);
	assert_int_equal(slice_find(slice_of("a\0b", 3), '\0'), 1);
}

static void trim_takes_spaces_and_tabs_and_nothing_else(void **state)
{
	(void)state;
	assert_slice(slice_trim(SLICE(" \t a b\t ")), "a b");
	assert_slice(slice_trim(SLICE(" \t ")), "");
	assert_slice(slice_trim(SLICE("\r\n")), "\r\n");
}

static void members_are_cut_at_commas_and_trimmed(void **state)
{
	(void)state;
	struct slice rest = SLICE(" a , ,,b\t,c d,"), member;
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "a");
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "b");
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "c d");
	assert_false(slice_next_member(&rest, &member));
	assert_int_equal(rest.len, 0);
}

static void quoted_members_keep_their_commas(void **state)
{
	(void)state;
	struct slice rest = SLICE("a=\"1,2\", \"x\\\",y\" ,\"\", b"), member;
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "a=\"1,2\"");
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "\"x\\\",y\"");
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "\"\"");
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "b");
	assert_false(slice_next_member(&rest, &member));
}

static void unclosed_quote_takes_all_that_is_left(void **state)
{
	(void)state;
	struct slice rest = SLICE("a, \"b, c\\"), member;
	assert_true(slice_next_member(&rest, &member));
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "\"b, c\\");
	assert_false(slice_next_member(&rest, &member));
}

static void numbers_are_digits_up_to_the_maximum(void **state)
{
	(void)state;
	uint64_t n = 7;
	assert_true(slice_to_number(SLICE("0"), 0, &n));
	assert_int_equal(n, 0);
	assert_true(slice_to_number(SLICE("007"), 9, &n));
	assert_int_equal(n, 7);
	assert_true(slice_to_number(SLICE("18446744073709551615"), UINT64_MAX, &n));
	assert_true(n == UINT64_MAX);
	assert_true(slice_to_number(SLICE("65535"), 65535, &n));
	assert_false(slice_to_number(SLICE("65536"), 65535, &n));
	assert_false(slice_to_number(SLICE("5"), 3, &n));
	assert_false(slice_to_number(SLICE("18446744073709551616"), UINT64_MAX, &n));
	assert_false(slice_to_number(SLICE("99999999999999999999999"), UINT64_MAX, &n));
	assert_int_equal(n, 65535);
}

static void numbers_have_no_sign_space_or_other_bytes(void **state)
{
	(void)state;
	uint64_t n;
	const struct slice bad[] = {SLICE_INIT(""), SLICE_INIT("+1"), SLICE_INIT("-1"),
	    SLICE_INIT(" 1"), SLICE_INIT("1 "), SLICE_INIT("0x1"), SLICE_INIT("1,1"),
	    SLICE_INIT("1\xb2"), SLICE_INIT("/"), SLICE_INIT(":")};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(slice_to_number(bad[i], UINT64_MAX, &n));
}

static void distance_counts_edits(void **state)
{
	(void)state;
	assert_int_equal(slice_distance(SLICE("host"), SLICE("host"), 3), 0);
	assert_int_equal(slice_distance(SLICE("hots"), SLICE("host"), 3), 2);
	assert_int_equal(slice_distance(SLICE("adress"), SLICE("address"), 3), 1);
	assert_int_equal(slice_distance(SLICE(""), SLICE("abc"), 3), 3);
	assert_int_equal(slice_distance(SLICE("abcdef"), SLICE("uvwxyz"), 3), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(empty_slices_are_equal_whatever_they_point_at),
	    cmocka_unit_test(nocase_folds_ascii_letters_alone),
	    cmocka_unit_test(sub_is_cut_to_what_there_is),
	    cmocka_unit_test(find_gives_the_first_or_the_length),
	    cmocka_unit_test(trim_takes_spaces_and_tabs_and_nothing_else),
	    cmocka_unit_test(members_are_cut_at_commas_and_trimmed),
	    cmocka_unit_test(quoted_members_keep_their_commas),
	    cmocka_unit_test(unclosed_quote_takes_all_that_is_left),
	    cmocka_unit_test(numbers_are_digits_up_to_the_maximum),
	    cmocka_unit_test(numbers_have_no_sign_space_or_other_bytes),
	    cmocka_unit_test(distance_counts_edits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
