/* SPDX-License-Identifier: MIT */
/* What `pushgate fetch` refuses to send in HTTP/2, and what it makes of the fields that it sets itself. */
#include "proxy/tool/fetch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct fetch_request request_with(const char *name, const char *value)
{
	struct fetch_request r = {.method = "GET", .authority = SLICE("a.test"), .headers.count = 1};
	r.headers.list[0] = (struct tool_field){slice_of_string(name), slice_of_string(value)};
	return r;
}

static void what_http2_cannot_carry_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *name, *value, *message;
	} rows[] = {
	    {"connection", "close", "only HTTP/1.1 has this field"},
	    {"keep-alive", "1", "only HTTP/1.1 has this field"},
	    {"proxy-connection", "close", "only HTTP/1.1 has this field"},
	    {"transfer-encoding", "chunked", "only HTTP/1.1 has this field"},
	    {"upgrade", "h2c", "only HTTP/1.1 has this field"},
	    {":path", "/x", "the URL sets the path"},
	    {":scheme", "http", "the URL sets the scheme"},
	    {":method", "GET", "-X sets the method"},
	    {":authority", "x", "the URL or -H 'host: NAME' sets the host"},
	    {":frob", "x", "unknown pseudo-field"},
	    {"te", "gzip", "te other than"},
	    {"a b", "1", "not a token"},
	    {"", "1", "empty field name"},
	    {"a", "1\r\nb: 2", "control byte"},
	    {"a", "1\1", "control byte"},
	    {"host", "", "is not HOST"},
	    {"host", "a b", "is not HOST"},
	    {"host", "me@a", "is not HOST"},
	    {"content-length", "1", "the body has 0 bytes"},
	    {"content-length", "one", "the body has 0 bytes"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[300] = "";
		struct fetch_request r = request_with(rows[i].name, rows[i].value);
		assert_false(fetch_check(&r, text, sizeof(text)));
		if (!strstr(text, rows[i].message))
			fail_msg("%s: %s says %s", rows[i].name, rows[i].value, text);
	}
}

static void fields_that_fetch_makes_itself_are_taken_out(void **state)
{
	(void)state;
	char text[300] = "";
	struct fetch_request r = request_with("host", "b.test:8080");
	r.body = SLICE("abc");
	r.headers.list[1] = (struct tool_field){SLICE("content-length"), SLICE("3")};
	r.headers.list[2] = (struct tool_field){SLICE("te"), SLICE("trailers")};
	r.headers.count = 3;
	assert_true(fetch_check(&r, text, sizeof(text)));
	assert_true(slice_equal(r.authority, SLICE("b.test:8080")));
	assert_int_equal(r.headers.count, 1);
	assert_true(slice_equal(r.headers.list[0].name, SLICE("te")));
}

static void host_is_given_once(void **state)
{
	(void)state;
	char text[300] = "";
	struct fetch_request r = request_with("host", "b.test");
	r.headers.list[r.headers.count++] = r.headers.list[0];
	assert_false(fetch_check(&r, text, sizeof(text)));
	assert_non_null(strstr(text, "given twice"));
}

static void methods_are_one_word_and_no_tunnel(void **state)
{
	(void)state;
	static const char *const methods[] = {"", "GE T", "CONNECT", "G\xc3\xa9T"};
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		char text[300] = "";
		struct fetch_request r = {.method = methods[i]};
		assert_false(fetch_check(&r, text, sizeof(text)));
		assert_memory_equal(text, "-X ", 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_http2_cannot_carry_is_refused),
	    cmocka_unit_test(fields_that_fetch_makes_itself_are_taken_out),
	    cmocka_unit_test(host_is_given_once),
	    cmocka_unit_test(methods_are_one_word_and_no_tunnel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
