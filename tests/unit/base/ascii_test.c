/* SPDX-License-Identifier: MIT */
/* The classes of bytes against the grammars that they stand for, byte by byte; lower case. */
#include "proxy/base/ascii.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static void each_class_has_the_bytes_of_its_grammar(void **state)
{
	static const struct {
		unsigned classes;
		const char *bytes;
	} rows[] = {
	    {ASCII_UPPER, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	    {ASCII_ALPHA, LETTERS},
	    {ASCII_DIGIT, DIGITS},
	    {ASCII_ALNUM, LETTERS DIGITS},
	    {ASCII_HEX, DIGITS "abcdefABCDEF"},
	    {ASCII_SCHEME, LETTERS DIGITS "+-."},
	    {ASCII_TOKEN, LETTERS DIGITS "!#$%&'*+-.^_`|~"},
	    {ASCII_LOWER_TOKEN, "abcdefghijklmnopqrstuvwxyz" DIGITS "!#$%&'*+-.^_`|~"},
	    {ASCII_USUAL_NAME, "abcdefghijklmnopqrstuvwxyz" DIGITS "-"},
	    {ASCII_ALNUM | ASCII_HOST_MARK, LETTERS DIGITS "-._~!$&'()*+,;="},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (int c = 0; c < 256; c++)
			assert_int_equal(ascii_is((char)c, rows[i].classes),
			    c != 0 && strchr(rows[i].bytes, c) != NULL);
	}
}

static void controls_are_those_that_no_field_value_may_have(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++)
		assert_int_equal(ascii_is((char)c, ASCII_CONTROL), (c < 0x20 && c != '\t') || c == 0x7f);
	assert_true(ascii_has(SLICE("a\nb"), ASCII_CONTROL));
	assert_false(ascii_has(SLICE("a\tb"), ASCII_CONTROL));
	assert_false(ascii_has(SLICE(""), ASCII_CONTROL));
}

static void a_token_is_not_empty(void **state)
{
	(void)state;
	assert_true(ascii_is_token(SLICE("x-y")));
	assert_false(ascii_is_token(SLICE("x y")));
	assert_false(ascii_is_token(SLICE("")));
	assert_true(ascii_all(SLICE(""), ASCII_TOKEN));
}

static void lower_case_changes_ascii_letters_alone(void **state)
{
	char text[] = "Az-[@\xc4" "09";
	(void)state;
	ascii_lower_copy(text, slice_of_string(text));
	assert_string_equal(text, "az-[@\xc4" "09");
	for (int c = 0; c < 256; c++)
		assert_int_equal((unsigned char)ascii_lower((char)c), c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* Whatever its length, where it stands or elsewhere: as byte by byte. */
static void a_text_is_made_lower_case_as_its_bytes_are(void **state)
{
	(void)state;
	char from[64], to[64], same[64];
	for (unsigned seed = 0; seed < 256; seed++) {
		for (size_t n = 0; n < sizeof(from); n++) {
			for (size_t i = 0; i < sizeof(from); i++)
				same[i] = from[i] = (char)(seed + 37 * i + i * i * n);
			memset(to, 1, sizeof(to));
			ascii_lower_copy(to, slice_of(from, n));
			ascii_lower_copy(same, slice_of(same, n));
			for (size_t i = 0; i < sizeof(from); i++) {
				assert_int_equal(to[i], i < n ? ascii_lower(from[i]) : 1);
				assert_int_equal(same[i], i < n ? ascii_lower(from[i]) : from[i]);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_class_has_the_bytes_of_its_grammar),
	    cmocka_unit_test(controls_are_those_that_no_field_value_may_have),
	    cmocka_unit_test(a_token_is_not_empty),
	    cmocka_unit_test(lower_case_changes_ascii_letters_alone),
	    cmocka_unit_test(a_text_is_made_lower_case_as_its_bytes_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
