/* SPDX-License-Identifier: MIT */
/* Credentials of the Basic scheme: what is one, and what is not. */
#include "proxy/http/basic.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void is(const char *value, const char *name, const char *password)
{
	char buffer[HTTP_BASIC_BYTES];
	struct slice n, p;
	if (!http_basic_parse(slice_of_string(value), buffer, &n, &p))
		fail_msg("not understood: %s", value);
	assert_true(slice_equal(n, slice_of_string(name)));
	assert_true(slice_equal(p, slice_of_string(password)));
}

static void is_none(const char *value)
{
	char buffer[HTTP_BASIC_BYTES];
	struct slice n, p;
	if (http_basic_parse(slice_of_string(value), buffer, &n, &p))
		fail_msg("understood: %s", value);
}

static void name_and_password_stand_in_base64(void **state)
{
	(void)state;
	is("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"); /* RFC 7617 2 */
	is("Basic dGVzdDoxMjPCow==", "test", "123\xc2\xa3");                 /* RFC 7617 2.1 */
	is("basic YTpi", "a", "b");
	is("BASIC   YTpi  ", "a", "b");
	is("Basic YTpiOmM=", "a", "b:c"); /* the first colon ends the name */
	is("Basic Og==", "", "");
	is("Basic Pj8+Pzo/Pj8+", ">?>?", "?>?>"); /* '+' and '/' */
	is("Basic Pz4/Ojo6/Pz8", "?>?", "::\xfc\xfc\xfc");
}

static void everything_else_is_malformed(void **state)
{
	(void)state;
	static const char *const values[] = {"", "Basic", "Basic ", "Bearer YTpi", "BasicYTpi", "YTpi",
	    "Basic YTpi=", "Basic YTpiO", "Basic YTpiOm", "Basic YTpiOmM", /* no padding */
	    "Basic YTpiOmN=",                                               /* bits that no byte takes */
	    "Basic YTpiOh==", "Basic ====", "Basic YTp=YTpi", "Basic YTpi YTpi", "Basic YTpi,YTpi", "Basic YT-i",
	    "Basic YT_i", "Basic YTpi\n", "Basic YWI=", /* no colon */
	    "Basic YToAYg==", "Basic YTpiCg==", "Basic YQk6Yg==", "Basic YX86Yg==" /* control characters */};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		is_none(values[i]);
}

static void what_is_too_long_is_malformed(void **state)
{
	(void)state;
	char value[1024] = "Basic YTpi";
	for (size_t groups = 1; groups <= 172; groups++) {
		char buffer[HTTP_BASIC_BYTES];
		struct slice n, p;
		assert_int_equal(http_basic_parse(slice_of_string(value), buffer, &n, &p), groups * 3 <= HTTP_BASIC_BYTES);
		strcat(value, "YmJi");
	}
	/* 511 bytes: the last group has one. */
	char buffer[HTTP_BASIC_BYTES];
	struct slice n, p;
	value[6 + 170 * 4] = '\0';
	strcat(value, "Yg==");
	assert_true(http_basic_parse(slice_of_string(value), buffer, &n, &p));
	assert_int_equal(n.len + 1 + p.len, HTTP_BASIC_BYTES);
	value[6 + 170 * 4] = '\0';
	strcat(value, "YmI=");
	assert_false(http_basic_parse(slice_of_string(value), buffer, &n, &p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(name_and_password_stand_in_base64),
	    cmocka_unit_test(everything_else_is_malformed),
	    cmocka_unit_test(what_is_too_long_is_malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
