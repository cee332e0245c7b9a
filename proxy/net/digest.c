/* SPDX-License-Identifier: MIT */
/* SHA-1 (FIPS 180-4) and randomness, for folders that may not include BoringSSL. */
#include "proxy/base/ensure.h"
#include "proxy/net/net.h"
#include <openssl/rand.h>
#include <openssl/sha.h>

_Static_assert(NET_SHA1_BYTES == SHA_DIGEST_LENGTH, "SHA-1");

void net_sha1(struct slice text, uint8_t out[NET_SHA1_BYTES])
{
	(void)SHA1((const uint8_t *)text.ptr, text.len, out);
}

void net_random(uint8_t *bytes, size_t n)
{
	ensure(RAND_bytes(bytes, n) == 1);
}
