/* SPDX-License-Identifier: MIT */
/* The writer of JSON: what a text becomes, whatever bytes it has, and where commas are. And the parameters of queries. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/admin/json.h"
#include "proxy/admin/query.h"
#include <jansson.h>
#include <stdlib.h>

static const struct {
	const char *text, *written;
} texts[] = {
    {"", "\"\""},
    {"abc /", "\"abc /\""},
    {"\"\\", "\"\\u0022\\u005c\""},
    {"</script>&", "\"\\u003c/script\\u003e\\u0026\""},
    {"\x01\n\x1f\x7f", "\"\\u0001\\u000a\\u001f\\u007f\""},
    {"äö…😀", "\"äö…😀\""},
    {"\xe2\x80\xa8\xe2\x80\xa9", "\"\\u2028\\u2029\""},
    {"\xff\xc3", "\"\\u00ff\\u00c3\""},
    {"\xc0\xaf", "\"\\u00c0\\u00af\""},         /* overlong */
    {"\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\""}, /* a surrogate */
    {"\xc2\x85", "\"\\u00c2\\u0085\""},         /* a C1 control */
    {"\xf4\x90\x80\x80x", "\"\\u00f4\\u0090\\u0080\\u0080x\""},
};

static char *text_of(void (*write)(FILE *out, const void *context), const void *context)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	write(out, context);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void write_text(FILE *out, const void *context)
{
	put_text(out, *(const struct slice *)context);
}

static void texts_are_escaped(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct slice text = slice_of_string(texts[i].text);
		char *written = text_of(write_text, &text);
		assert_string_equal(written, texts[i].written);
		free(written);
	}
}

/* Another reader takes each byte, before each of those at which the forms of UTF-8 differ. */
static void any_bytes_are_a_text_to_another_reader(void **state)
{
	(void)state;
	static const unsigned char edges[] = {0, '\n', '"', '&', '<', '>', '\\', 'x', 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xa8, 0xbf,
	    0xc0, 0xc2, 0xdf, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff};
	for (unsigned a = 0; a < 256; a++)
		for (size_t b = 0; b < sizeof(edges); b++) {
			const char bytes[] = {(char)a, (char)edges[b]};
			const struct slice text = slice_of(bytes, sizeof(bytes));
			char *written = text_of(write_text, &text);
			json_t *read = json_loads(written, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
			assert_non_null(read);
			for (const char *p = written; *p; p++)
				assert_null(strchr("<>&", *p));
			json_decref(read);
			free(written);
		}
}

static void write_object(FILE *out, const void *context)
{
	struct json j = {.out = out};
	(void)context;
	put_open(&j, NULL, '{');
	put_string(&j, "a", "x");
	put_string(&j, "none", NULL);
	put_string(&j, "empty", "");
	put_slice(&j, "b", SLICE(""));
	put_open(&j, "list", '[');
	put_number(&j, NULL, UINT64_MAX);
	put_open(&j, NULL, '[');
	put_close(&j, ']');
	put_bool(&j, NULL, true);
	put_null(&j, NULL);
	put_close(&j, ']');
	put_span(&j, "never", USEC_NEVER);
	put_span(&j, "span", 0);
	put_thousandths(&j, "ms", 1234005);
	put_date(&j, "date", UINT64_C(1795829207123456));
	put_close(&j, '}');
}

static void members_are_separated(void **state)
{
	(void)state;
	char *written = text_of(write_object, NULL);
	assert_string_equal(written,
	    "{\"a\":\"x\",\"b\":\"\",\"list\":[18446744073709551615,[],true,null],\"span\":0,\"ms\":1234.005,"
	    "\"date\":\"2026-11-28T01:26:47.123Z\"}");
	free(written);
}

/* ---- queries ---- */

static const struct {
	const char *query, *name, *value;
	bool is_there;
} queries[] = {
    {"a=1&b=2", "b", "2", true},
    {"a=1&a=2", "a", "1", true},
    {"a", "a", "", true},
    {"a=", "a", "", true},
    {"aa=1", "a", "", false},
    {"", "a", "", false},
    {"&&a=%2fx+y%2b", "a", "/x y+", true},
    {"a=%zz%2", "a", "%zz%2", true},
    {"a=%00b", "a", "%00b", true}, /* a text has no NUL */
    {"a=b=c", "a", "b=c", true},
    {"a=12345678901234567890", "a", "123456789012345", true},
};

static void parameters_are_decoded(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		char value[16];
		assert_int_equal(query_value(slice_of_string(queries[i].query), queries[i].name, value, sizeof(value)),
		    queries[i].is_there);
		assert_string_equal(value, queries[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(texts_are_escaped),
	    cmocka_unit_test(any_bytes_are_a_text_to_another_reader),
	    cmocka_unit_test(members_are_separated),
	    cmocka_unit_test(parameters_are_decoded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
