/* SPDX-License-Identifier: MIT */
/* Texts to values and back. */
#include "proxy/conf/value.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void sizes_have_units_of_1024(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"0", 0}, {"65536", 65536}, {"64k", 65536}, {"64 KiB", 65536}, {"1M", 1 << 20},
	    {"1mib", 1 << 20}, {"2g", UINT64_C(2) << 30}, {"3GB", UINT64_C(3) << 30}};
	static const char *const bad[] = {
	    "", "k", "-1", "1.5M", "1T", "0x10", "17179869184G", "18446744073709551616"};
	uint64_t bytes;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(value_size(slice_of_string(good[i].text), &bytes));
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(value_size(slice_of_string(bad[i]), &bytes));
}

static void times_need_a_unit_unless_zero(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		usec span;
	} good[] = {{"0", 0}, {"0s", 0}, {"500ms", 500000}, {"10s", 10000000}, {"2m", 120000000},
	    {"1h", UINT64_C(3600000000)}};
	static const char *const bad[] = {"", "10", "s", "1d", "1 s x", "99999999999999999h"};
	usec span;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(value_time(slice_of_string(good[i].text), &span));
		assert_int_equal(span, good[i].span);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(value_time(slice_of_string(bad[i]), &span));
}

static void rates_have_a_burst_of_twice_as_many_within_bounds_unless_it_is_given(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		struct rate rate;
	} good[] = {{"100/s", {100, 200}}, {"1/s burst 1", {1, 1}}, {"5/s BURST 500", {5, 500}},
	    {" 7/s  burst  3 ", {7, 3}}, {"0/s", {0, 0}}, {"500/s", {500, 1000}},
	    {"501/s", {501, 1001}}, {"1001/s", {1001, 1001}}, {"1/s burst 1001", {1, 1001}}};
	static const char *const bad[] = {"", "100", "/s", "100/m", "100 /s", "-1/s", "1.5/s",
	    "100/s 200", "100/s burst", "100/s burst x", "100/s burst 5 6", "1002/s",
	    "1/s burst 1002"};
	const uint32_t most = 1001;
	struct rate rate;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(value_rate(slice_of_string(good[i].text), most, &rate));
		assert_int_equal(rate.per_second, good[i].rate.per_second);
		assert_int_equal(rate.burst, good[i].rate.burst);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(value_rate(slice_of_string(bad[i]), most, &rate));
}

static void formats_are_read_back(void **state)
{
	(void)state;
	char text[VALUE_TEXT];
	assert_string_equal(value_size_format(0, text, sizeof text), "0");
	assert_string_equal(value_size_format(1000, text, sizeof text), "1000");
	assert_string_equal(value_size_format(65536, text, sizeof text), "64k");
	assert_string_equal(value_size_format(UINT64_C(1) << 40, text, sizeof text), "1024G");
	assert_string_equal(value_time_format(0, text, sizeof text), "0");
	assert_string_equal(value_time_format(1500000, text, sizeof text), "1500ms");
	assert_string_equal(value_time_format(180 * USEC_PER_SEC, text, sizeof text), "3m");
}

static void words_are_cut_at_spaces_and_commas_but_not_in_quotes(void **state)
{
	(void)state;
	struct slice rest = SLICE(" a,b\t\"c d,\\\"e\" ,, f\"g \"\" \"open"), word;
	static const char *const words[] = {"a", "b", "c d,\\\"e", "f\"g", ""};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		assert_int_equal(value_next_word(&rest, &word), VALUE_WORD);
		assert_true(slice_equal(word, slice_of_string(words[i])));
	}
	assert_int_equal(value_next_word(&rest, &word), VALUE_UNCLOSED);
	assert_int_equal(value_next_word(&rest, &word), VALUE_END);
}

static void choices_are_found_without_case(void **state)
{
	(void)state;
	assert_int_equal(value_choice(SLICE("no"), "no yes"), 0);
	assert_int_equal(value_choice(SLICE("YES"), "no yes"), 1);
	assert_int_equal(value_choice(SLICE("ye"), "no yes"), -1);
	assert_int_equal(value_choice(SLICE(""), "no yes"), -1);
}

static void names_are_letters_digits_and_three_marks(void **state)
{
	(void)state;
	assert_true(value_is_name(SLICE("a-Z_0.9")));
	assert_false(value_is_name(SLICE("")));
	assert_false(value_is_name(SLICE("a b")));
	assert_false(value_is_name(SLICE("\xc3\xa9")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sizes_have_units_of_1024),
	    cmocka_unit_test(times_need_a_unit_unless_zero),
	    cmocka_unit_test(rates_have_a_burst_of_twice_as_many_within_bounds_unless_it_is_given),
	    cmocka_unit_test(formats_are_read_back),
	    cmocka_unit_test(words_are_cut_at_spaces_and_commas_but_not_in_quotes),
	    cmocka_unit_test(choices_are_found_without_case),
	    cmocka_unit_test(names_are_letters_digits_and_three_marks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
