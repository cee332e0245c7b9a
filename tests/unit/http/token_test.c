/* SPDX-License-Identifier: MIT */
/* Known names and methods: every row both ways, and nothing besides. */
#include "proxy/http/token.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct {
	enum http_token token;
	struct slice name;
} rows[] = {
#define ROW(symbol, name) {HTTP_TOKEN_##symbol, SLICE_INIT(name)},
    HTTP_TOKENS(ROW)
#undef ROW
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Should this fail for a name that was added: scripts/token-slots.mjs prints the table. */
static void every_name_is_found_and_given_back(void **state)
{
	(void)state;
	assert_int_equal(ROWS, HTTP_TOKEN_COUNT - 1);
	for (size_t i = 0; i < ROWS; i++) {
		if (http_token_find(rows[i].name) != rows[i].token)
			fail_msg("not found: %s", rows[i].name.ptr);
		assert_true(slice_equal(http_token_name(rows[i].token), rows[i].name));
	}
	assert_int_equal(http_token_name(HTTP_TOKEN_NONE).len, 0);
}

static void changed_names_are_unknown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		char name[64];
		size_t len = rows[i].name.len;
		memcpy(name, rows[i].name.ptr, len);
		name[len] = 'x';
		assert_int_equal(http_token_find(slice_of(name, len + 1)), HTTP_TOKEN_NONE);
		for (size_t at = 0; at < len; at++) {
			name[at] ^= 0x20; /* upper case, or not a name at all */
			assert_int_equal(http_token_find(slice_of(name, len)), HTTP_TOKEN_NONE);
			name[at] ^= 0x20;
		}
	}
}

static void short_and_long_names_are_unknown(void **state)
{
	(void)state;
	char name[600];
	memset(name, 'e', sizeof(name));
	assert_int_equal(http_token_find((struct slice){NULL, 0}), HTTP_TOKEN_NONE);
	for (size_t len = 0; len <= sizeof(name); len++)
		assert_int_equal(http_token_find(slice_of(name, len)), HTTP_TOKEN_NONE);
}

static void methods_are_found_exactly(void **state)
{
	(void)state;
	const struct {
		struct slice name;
		enum http_method method;
		bool is_safe;
	} methods[] = {
	    {SLICE_INIT("GET"), HTTP_METHOD_GET, true},
	    {SLICE_INIT("HEAD"), HTTP_METHOD_HEAD, true},
	    {SLICE_INIT("POST"), HTTP_METHOD_POST, false},
	    {SLICE_INIT("PUT"), HTTP_METHOD_PUT, false},
	    {SLICE_INIT("DELETE"), HTTP_METHOD_DELETE, false},
	    {SLICE_INIT("CONNECT"), HTTP_METHOD_CONNECT, false},
	    {SLICE_INIT("OPTIONS"), HTTP_METHOD_OPTIONS, true},
	    {SLICE_INIT("TRACE"), HTTP_METHOD_TRACE, true},
	    {SLICE_INIT("PATCH"), HTTP_METHOD_PATCH, false},
	    {SLICE_INIT("get"), HTTP_METHOD_OTHER, false},
	    {SLICE_INIT("GETS"), HTTP_METHOD_OTHER, false},
	    {SLICE_INIT("PET"), HTTP_METHOD_OTHER, false},
	    {SLICE_INIT("CONNECX"), HTTP_METHOD_OTHER, false},
	    {SLICE_INIT("PROPFIND"), HTTP_METHOD_OTHER, false},
	    {SLICE_INIT(""), HTTP_METHOD_OTHER, false},
	};
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		assert_int_equal(http_method_find(methods[i].name), methods[i].method);
		assert_int_equal(http_method_is_safe(methods[i].method), methods[i].is_safe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_name_is_found_and_given_back),
	    cmocka_unit_test(changed_names_are_unknown),
	    cmocka_unit_test(short_and_long_names_are_unknown),
	    cmocka_unit_test(methods_are_found_exactly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
