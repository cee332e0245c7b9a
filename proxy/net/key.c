/* SPDX-License-Identifier: MIT */
/* See key.h: keys, signatures, digests. */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/net/tls.h"
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/mem.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

_Static_assert(NET_SHA256_BYTES == SHA256_DIGEST_LENGTH, "SHA-256");

static struct net_key *wrap(EVP_PKEY *key)
{
	struct net_key *k = memory_new(struct net_key);
	k->key = key;
	return k;
}

struct net_key *net_key_new(void)
{
	EC_KEY *ec = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
	EVP_PKEY *key = EVP_PKEY_new();
	ensure(ec && key && EC_KEY_generate_key(ec) && EVP_PKEY_assign_EC_KEY(key, ec));
	return wrap(key);
}

static bool is_p256(const EVP_PKEY *key)
{
	return EVP_PKEY_id(key) == EVP_PKEY_EC &&
	       EC_GROUP_get_curve_name(EC_KEY_get0_group(EVP_PKEY_get0_EC_KEY(key))) ==
		   NID_X9_62_prime256v1;
}

struct net_key *net_key_read(struct slice pem)
{
	const struct sealed_view v = {.bytes = pem};
	BIO *in = tls_reader(&v);
	/* No password: the key is not encrypted, or it cannot be read. */
	EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, (void *)(uintptr_t) "");
	BIO_free(in);
	ERR_clear_error();
	if (key && is_p256(key))
		return wrap(key);
	EVP_PKEY_free(key);
	return NULL;
}

void net_key_free(struct net_key *k)
{
	if (!k)
		return;
	EVP_PKEY_free(k->key);
	free(k);
}

char *tls_text(BIO *out)
{
	const uint8_t *bytes;
	size_t length;
	ensure(BIO_mem_contents(out, &bytes, &length));
	char *text = memory_alloc(length + 1);
	memcpy(text, bytes, length);
	text[length] = '\0';
	BIO_free(out);
	return text;
}

char *net_key_write(const struct net_key *k)
{
	BIO *out = BIO_new(BIO_s_mem());
	ensure(out && PEM_write_bio_PKCS8PrivateKey(out, k->key, NULL, NULL, 0, NULL, NULL));
	return tls_text(out);
}

void net_key_public(const struct net_key *k, uint8_t x[NET_KEY_COORDINATE_BYTES],
    uint8_t y[NET_KEY_COORDINATE_BYTES])
{
	/* 4, x, y (SEC 1 2.3.3). */
	uint8_t point[1 + 2 * NET_KEY_COORDINATE_BYTES];
	const EC_KEY *ec = EVP_PKEY_get0_EC_KEY(k->key);
	ensure(EC_POINT_point2oct(EC_KEY_get0_group(ec), EC_KEY_get0_public_key(ec),
		   POINT_CONVERSION_UNCOMPRESSED, point, sizeof(point), NULL) == sizeof(point));
	memcpy(x, point + 1, NET_KEY_COORDINATE_BYTES);
	memcpy(y, point + 1 + NET_KEY_COORDINATE_BYTES, NET_KEY_COORDINATE_BYTES);
}

void net_sha256(struct slice bytes, uint8_t out[NET_SHA256_BYTES])
{
	(void)SHA256((const uint8_t *)bytes.ptr, bytes.len, out);
}

void net_key_sign(
    const struct net_key *k, struct slice bytes, uint8_t signature[NET_SIGNATURE_BYTES])
{
	uint8_t digest[NET_SHA256_BYTES];
	const BIGNUM *r, *s;
	net_sha256(bytes, digest);
	ECDSA_SIG *made = ECDSA_do_sign(digest, sizeof(digest), EVP_PKEY_get0_EC_KEY(k->key));
	ensure(made != NULL);
	ECDSA_SIG_get0(made, &r, &s);
	ensure(BN_bn2bin_padded(signature, NET_SIGNATURE_BYTES / 2, r) &&
	       BN_bn2bin_padded(signature + NET_SIGNATURE_BYTES / 2, NET_SIGNATURE_BYTES / 2, s));
	ECDSA_SIG_free(made);
}
