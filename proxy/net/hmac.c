/* SPDX-License-Identifier: MIT */
/* HMAC-SHA256 (RFC 2104, FIPS 180-4), for folders that may not include BoringSSL. */
#include "proxy/base/ensure.h"
#include "proxy/net/net.h"
#include <openssl/hmac.h>

_Static_assert(NET_HMAC_BYTES == 32, "SHA-256");

void net_hmac(struct slice key, struct slice text, uint8_t out[NET_HMAC_BYTES])
{
	unsigned length = 0;
	const uint8_t *mac =
	    HMAC(EVP_sha256(), key.ptr, key.len, (const uint8_t *)text.ptr, text.len, out, &length);
	ensure(mac && length == NET_HMAC_BYTES);
}
