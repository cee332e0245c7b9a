/* SPDX-License-Identifier: MIT */
/* Requests and certificates that are made here, as the library reads them back. */
#include "proxy/base/clock.h"
#include "proxy/net/net.h"
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const names[] = {"a.example", "b.example"};
static struct net_key *key;

static int set_up(void **state)
{
	(void)state;
	key = net_key_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	net_key_free(key);
	return 0;
}

static int64_t now(void)
{
	return (int64_t)(clock_wall() / USEC_PER_SEC);
}

static X509 *read_certificate(const char *pem)
{
	BIO *in = BIO_new_mem_buf(pem, -1);
	X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);
	BIO_free(in);
	assert_non_null(x);
	return x;
}

static void request_has_all_names_and_its_signature(void **state)
{
	(void)state;
	size_t length;
	uint8_t *der = net_key_request(key, names, 2, &length);
	const uint8_t *at = der;
	X509_REQ *r = d2i_X509_REQ(NULL, &at, (long)length);
	assert_non_null(r);
	assert_true(at == der + length);
	EVP_PKEY *public_key = X509_REQ_get_pubkey(r);
	assert_int_equal(X509_REQ_verify(r, public_key), 1);
	STACK_OF(X509_EXTENSION) *extensions = X509_REQ_get_extensions(r);
	GENERAL_NAMES *all = X509V3_get_d2i(extensions, NID_subject_alt_name, NULL, NULL);
	assert_int_equal(sk_GENERAL_NAME_num(all), 2);
	for (size_t i = 0; i < 2; i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(all, i);
		assert_int_equal(name->type, GEN_DNS);
		assert_int_equal(ASN1_STRING_length(name->d.dNSName), 9);
		assert_memory_equal(ASN1_STRING_get0_data(name->d.dNSName), names[i], 9);
	}
	GENERAL_NAMES_free(all);
	sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
	EVP_PKEY_free(public_key);
	X509_REQ_free(r);
	free(der);
}

static void self_signed_certificate_is_for_its_names_and_its_key(void **state)
{
	(void)state;
	static const char *const others[] = {"a.example", "c.example"};
	struct net_key *other = net_key_new();
	struct net_issued c;
	int64_t ends = now() + 86400;
	char *pem = net_key_self_signed(key, names, 2, ends, NULL);
	assert_true(net_issued_read(slice_of_string(pem), key, names, 2, &c));
	assert_true(c.is_self_signed);
	assert_int_equal(c.missing, 2);
	assert_int_equal(c.ends, ends);
	assert_true(c.starts < now());
	assert_int_equal(c.authority_length, 0);
	assert_true(c.serial_length > 0);
	assert_true(net_issued_read(slice_of_string(pem), key, others, 2, &c));
	assert_int_equal(c.missing, 1);
	assert_false(net_issued_read(slice_of_string(pem), other, names, 2, &c));
	assert_false(net_issued_read(SLICE("no certificate"), key, names, 2, &c));
	X509 *x = read_certificate(pem);
	EVP_PKEY *public_key = X509_get_pubkey(x);
	assert_int_equal(X509_verify(x, public_key), 1);
	EVP_PKEY_free(public_key);
	X509_free(x);
	net_key_free(other);
	free(pem);
}

static void challenge_is_a_critical_extension(void **state)
{
	(void)state;
	uint8_t digest[NET_SHA256_BYTES];
	net_sha256(SLICE("token.thumbprint"), digest);
	char *pem = net_key_self_signed(key, names, 1, now() + 3600, digest);
	X509 *x = read_certificate(pem);
	ASN1_OBJECT *oid = OBJ_txt2obj("1.3.6.1.5.5.7.1.31", 1);
	int at = X509_get_ext_by_OBJ(x, oid, -1);
	assert_true(at >= 0);
	X509_EXTENSION *e = X509_get_ext(x, at);
	assert_true(X509_EXTENSION_get_critical(e));
	const ASN1_OCTET_STRING *value = X509_EXTENSION_get_data(e);
	assert_int_equal(ASN1_STRING_length(value), 34);
	assert_memory_equal(ASN1_STRING_get0_data(value), "\x04\x20", 2);
	assert_memory_equal(ASN1_STRING_get0_data(value) + 2, digest, 32);
	ASN1_OBJECT_free(oid);
	X509_free(x);
	free(pem);
}

/* What the context of a listener could not load is not taken: the next start would end at it. */
static void chain_is_read_to_its_end(void **state)
{
	(void)state;
	struct net_issued c;
	char text[16384];
	char *pem = net_key_self_signed(key, names, 2, now() + 86400, NULL);
	size_t length = strlen(pem);
	static const char *const tails[] = {"-----BEGIN CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	    "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"};
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", pem, tails[i]);
		if (net_issued_read(slice_of_string(text), key, names, 2, &c))
			fail_msg("taken: %s", tails[i]);
	}
	snprintf(text, sizeof(text), "%sa line behind it\n", pem);
	assert_true(net_issued_read(slice_of_string(text), key, names, 2, &c));
	text[0] = '\0';
	for (size_t i = 1; i <= NET_CHAIN_MOST + 1; i++) {
		assert_true(i * length < sizeof(text));
		strcat(text, pem);
		assert_int_equal(net_issued_read(slice_of_string(text), key, names, 2, &c), i <= NET_CHAIN_MOST);
	}
	free(pem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request_has_all_names_and_its_signature),
	    cmocka_unit_test(self_signed_certificate_is_for_its_names_and_its_key),
	    cmocka_unit_test(challenge_is_a_critical_extension),
	    cmocka_unit_test(chain_is_read_to_its_end),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
