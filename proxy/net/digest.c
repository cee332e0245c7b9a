/* SPDX-License-Identifier: MIT */
/* SHA-1 and HMAC-SHA256 (FIPS 180-4, RFC 2104), for folders that may not include BoringSSL. */
#include "proxy/base/ensure.h"
#include "proxy/net/net.h"
#include <openssl/hmac.h>
#include <openssl/sha.h>

_Static_assert(NET_SHA1_BYTES == SHA_DIGEST_LENGTH, "SHA-1");
_Static_assert(NET_HMAC_BYTES == SHA256_DIGEST_LENGTH, "SHA-256");

void net_hmac(struct slice key, struct slice text, uint8_t out[NET_HMAC_BYTES])
{
	unsigned length = 0;
	const uint8_t *mac =
	    HMAC(EVP_sha256(), key.ptr, key.len, (const uint8_t *)text.ptr, text.len, out, &length);
	ensure(mac && length == NET_HMAC_BYTES);
}

void net_sha1(struct slice text, uint8_t out[NET_SHA1_BYTES])
{
	(void)SHA1((const uint8_t *)text.ptr, text.len, out);
}
