/* SPDX-License-Identifier: MIT */
/* HMAC-SHA256 against the vectors of RFC 4231. */
#include "proxy/net/net.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>

static void assert_mac(struct slice key, struct slice text, const char *expected)
{
	uint8_t mac[NET_HMAC_BYTES];
	char hex[2 * NET_HMAC_BYTES + 1];
	net_hmac(key, text, mac);
	for (size_t i = 0; i < sizeof(mac); i++)
		snprintf(hex + 2 * i, 3, "%02x", mac[i]);
	assert_string_equal(hex, expected);
}

static void rfc4231_vectors_match(void **state)
{
	(void)state;
	char key[131], text[50];
	memset(key, 0x0b, 20);
	assert_mac(slice_of(key, 20), SLICE("Hi There"),
	    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	assert_mac(SLICE("Jefe"), SLICE("what do ya want for nothing?"),
	    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, 20);
	memset(text, 0xdd, 50);
	assert_mac(slice_of(key, 20), slice_of(text, 50),
	    "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
	memset(key, 0xaa, 131);
	assert_mac(slice_of(key, 131),
	    SLICE("Test Using Larger Than Block-Size Key - Hash Key First"),
	    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rfc4231_vectors_match)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
