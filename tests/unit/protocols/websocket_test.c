/* SPDX-License-Identifier: MIT */
/* WebSocket's keys: the example of RFC 6455 1.3, and that each key is another one. */
#include "proxy/protocols/protocols_private.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

static void the_answer_to_a_key_is_that_of_the_rfc(void **state)
{
	char accept[H1_WEBSOCKET_ACCEPT];
	(void)state;
	protocols_websocket.accept(SLICE("dGhlIHNhbXBsZSBub25jZQ=="), accept);
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void a_key_is_sixteen_bytes_in_base64_and_used_once(void **state)
{
	char a[H1_WEBSOCKET_KEY], b[H1_WEBSOCKET_KEY];
	(void)state;
	protocols_websocket.make_key(a);
	protocols_websocket.make_key(b);
	assert_int_equal(strlen(a), H1_WEBSOCKET_KEY - 1);
	assert_string_equal(a + H1_WEBSOCKET_KEY - 3, "==");
	assert_string_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_answer_to_a_key_is_that_of_the_rfc),
	    cmocka_unit_test(a_key_is_sixteen_bytes_in_base64_and_used_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
