/* SPDX-License-Identifier: MIT */
/* base64 and base64url: RFC 4648 10, and texts that have another form than the one that is written. */
#include "proxy/base/base64.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct {
	const char *bytes, *plain, *url;
} pairs[] = {
    {"", "", ""},
    {"f", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg"},
    {"fooba", "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    {"\xfb\xff", "+/8=", "-_8"},
};
#define PAIRS (sizeof pairs / sizeof *pairs)

static void bytes_become_text_and_come_back(void **state)
{
	(void)state;
	char text[BASE64_SIZE(6)], bytes[6];
	size_t length;
	for (size_t i = 0; i < PAIRS; i++) {
		struct slice from = slice_of_string(pairs[i].bytes);
		assert_int_equal(base64_encode(from, text), strlen(pairs[i].plain));
		assert_string_equal(text, pairs[i].plain);
		assert_true(base64_decode(slice_of_string(text), bytes, sizeof bytes, &length));
		assert_true(slice_equal(slice_of(bytes, length), from));
		size_t n = base64url_encode(from, text);
		assert_true(slice_equal(slice_of(text, n), slice_of_string(pairs[i].url)));
		assert_true(base64url_decode(slice_of(text, n), bytes, sizeof bytes, &length));
		assert_true(slice_equal(slice_of(bytes, length), from));
	}
}

static void another_form_of_a_text_is_refused(void **state)
{
	(void)state;
	static const char *const plain[] = {"Zg", "Zg=", "Zh==", "Z===", "====", "=", "Zm9=v", "Zg==Zg==", "Zm-_", "Zm9v "};
	static const char *const url[] = {"Z", "Zh", "Zg==", "Zm+/", "Zm9vZ"};
	char bytes[8];
	size_t length;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		assert_false(base64_decode(slice_of_string(plain[i]), bytes, sizeof bytes, &length));
	for (size_t i = 0; i < sizeof url / sizeof *url; i++)
		assert_false(base64url_decode(slice_of_string(url[i]), bytes, sizeof bytes, &length));
}

static void too_many_bytes_are_refused(void **state)
{
	(void)state;
	char bytes[3];
	size_t length;
	assert_true(base64_decode(SLICE("Zm9v"), bytes, 3, &length));
	assert_false(base64_decode(SLICE("Zm9v"), bytes, 2, &length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_become_text_and_come_back),
	    cmocka_unit_test(another_form_of_a_text_is_refused),
	    cmocka_unit_test(too_many_bytes_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
