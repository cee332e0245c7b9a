/* SPDX-License-Identifier: MIT */
/* Signed requests: another implementation verifies the signature, and RFC 7638's own form of a key is hashed. */
#include "proxy/acme/acme.h"
#include "proxy/base/base64.h"
#include <jansson.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ec_key.h>
#include <openssl/ecdsa.h>
#include <openssl/nid.h>
#include <openssl/sha.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The key of RFC 7515 A.3, and its coordinates as that has them. */
static const char rfc_key[] = "-----BEGIN EC PRIVATE KEY-----\n"
			      "MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49\n"
			      "AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b\n"
			      "focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n"
			      "-----END EC PRIVATE KEY-----\n";
#define RFC_X "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
#define RFC_Y "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"

static struct net_key *key;

static int set_up(void **state)
{
	(void)state;
	key = net_key_read(slice_of_string(rfc_key));
	return key ? 0 : 1;
}

static int tear_down(void **state)
{
	(void)state;
	net_key_free(key);
	return 0;
}

/* A member that is base64url, as JSON. */
static json_t *decode(const json_t *jws, const char *name)
{
	char text[2048];
	size_t length;
	const char *encoded = json_string_value(json_object_get(jws, name));
	assert_non_null(encoded);
	assert_true(
	    base64url_decode(slice_of_string(encoded), text, sizeof(text), &length));
	return json_loadb(text, length, 0, NULL);
}

static void signature_is_good(const json_t *jws)
{
	char text[4096];
	uint8_t s[64], digest[32];
	size_t length;
	const char *signature = json_string_value(json_object_get(jws, "signature"));
	int n = snprintf(text, sizeof(text), "%s.%s",
	    json_string_value(json_object_get(jws, "protected")),
	    json_string_value(json_object_get(jws, "payload")));
	assert_true(base64url_decode(slice_of_string(signature), s, sizeof(s), &length));
	assert_int_equal(length, 64);
	SHA256((const uint8_t *)text, (size_t)n, digest);
	uint8_t x[32], y[32];
	net_key_public(key, x, y);
	EC_KEY *ec = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
	BIGNUM *bx = BN_bin2bn(x, 32, NULL), *by = BN_bin2bn(y, 32, NULL);
	assert_true(EC_KEY_set_public_key_affine_coordinates(ec, bx, by));
	ECDSA_SIG *sig = ECDSA_SIG_new();
	assert_true(ECDSA_SIG_set0(sig, BN_bin2bn(s, 32, NULL), BN_bin2bn(s + 32, 32, NULL)));
	assert_int_equal(ECDSA_do_verify(digest, 32, sig, ec), 1);
	ECDSA_SIG_free(sig);
	BN_free(bx);
	BN_free(by);
	EC_KEY_free(ec);
}

static void key_of_the_rfc_has_its_coordinates(void **state)
{
	(void)state;
	char text[64], thumbprint[ACME_THUMBPRINT_BYTES + 1];
	uint8_t x[32], y[32], digest[32];
	static const char form[] =
	    "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"" RFC_X "\",\"y\":\"" RFC_Y "\"}";
	net_key_public(key, x, y);
	text[base64url_encode(slice_of(x, 32), text)] = '\0';
	assert_string_equal(text, RFC_X);
	text[base64url_encode(slice_of(y, 32), text)] = '\0';
	assert_string_equal(text, RFC_Y);
	SHA256((const uint8_t *)form, sizeof(form) - 1, digest);
	text[base64url_encode(slice_of(digest, 32), text)] = '\0';
	acme_thumbprint(key, thumbprint);
	assert_string_equal(thumbprint, text);
}

static void request_without_account_has_the_public_key(void **state)
{
	(void)state;
	const struct acme_signing s = {.key = key,
	    .nonce = "n-1",
	    .url = "https://ca/new-account",
	    .payload = "{\"termsOfServiceAgreed\":true}"};
	char *text = acme_sign(&s);
	json_t *jws = json_loads(text, 0, NULL);
	json_t *header = decode(jws, "protected"), *payload = decode(jws, "payload");
	json_t *wanted = json_pack("{s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s}}", "alg", "ES256", "nonce",
	    "n-1", "url", "https://ca/new-account", "jwk", "kty", "EC", "crv", "P-256", "x", RFC_X,
	    "y", RFC_Y);
	assert_true(json_equal(header, wanted));
	assert_true(json_is_true(json_object_get(payload, "termsOfServiceAgreed")));
	signature_is_good(jws);
	json_decref(wanted);
	json_decref(header);
	json_decref(payload);
	json_decref(jws);
	free(text);
}

static void request_of_an_account_has_its_address(void **state)
{
	(void)state;
	const struct acme_signing s = {
	    .key = key, .account = "https://ca/a/1", .nonce = "n-2", .url = "https://ca/o", .payload = ""};
	char *text = acme_sign(&s);
	json_t *jws = json_loads(text, 0, NULL);
	json_t *header = decode(jws, "protected");
	json_t *wanted = json_pack("{s:s, s:s, s:s, s:s}", "alg", "ES256", "nonce", "n-2", "url",
	    "https://ca/o", "kid", "https://ca/a/1");
	assert_true(json_equal(header, wanted));
	assert_string_equal(json_string_value(json_object_get(jws, "payload")), "");
	signature_is_good(jws);
	json_decref(wanted);
	json_decref(header);
	json_decref(jws);
	free(text);
}

static void key_is_the_same_after_writing_and_reading(void **state)
{
	(void)state;
	char before[ACME_THUMBPRINT_BYTES + 1], after[ACME_THUMBPRINT_BYTES + 1];
	struct net_key *made = net_key_new();
	char *pem = net_key_write(made);
	struct net_key *read = net_key_read(slice_of_string(pem));
	assert_non_null(read);
	acme_thumbprint(made, before);
	acme_thumbprint(read, after);
	assert_string_equal(before, after);
	acme_thumbprint(key, after);
	assert_string_not_equal(before, after);
	free(pem);
	net_key_free(made);
	net_key_free(read);
	assert_null(net_key_read(SLICE("no key")));
	assert_null(net_key_read((struct slice){0}));
}

static void only_paths_of_challenges_have_a_token(void **state)
{
	(void)state;
	static const struct {
		const char *path, *token;
	} rows[] = {
	    {"/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0",
		"LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0"},
	    {"/.well-known/acme-challenge/a_-9567890123456789012", "a_-9567890123456789012"},
	    {"/.well-known/acme-challenge/a_-956789012345678901", ""},
	    {"/.well-known/acme-challenge/", ""},
	    {"/.well-known/acme-challenge", ""},
	    {"/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTN/b", ""},
	    {"/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTN?b", ""},
	    {"/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTN.b", ""},
	    {"/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTN%41", ""},
	    {"/.well-known/acme-challenge/<LoqXcYV8q5ONbJQxbmR7SCTN>", ""},
	    {"/.well-known/acme-challengeX/LoqXcYV8q5ONbJQxbmR7SCTN", ""},
	    {"/", ""},
	    {"", ""},
	};
	char longest[28 + ACME_TOKEN_BYTES_MOST + 1] = "/.well-known/acme-challenge/";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slice token = acme_path_token(slice_of_string(rows[i].path));
		assert_true(slice_equal(token, slice_of_string(rows[i].token)));
	}
	memset(longest + 28, 'a', ACME_TOKEN_BYTES_MOST + 1);
	assert_int_equal(
	    acme_path_token(slice_of(longest, sizeof(longest) - 1)).len, ACME_TOKEN_BYTES_MOST);
	assert_int_equal(acme_path_token(slice_of(longest, sizeof(longest))).len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(key_of_the_rfc_has_its_coordinates),
	    cmocka_unit_test(request_without_account_has_the_public_key),
	    cmocka_unit_test(request_of_an_account_has_its_address),
	    cmocka_unit_test(key_is_the_same_after_writing_and_reading),
	    cmocka_unit_test(only_paths_of_challenges_have_a_token),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
