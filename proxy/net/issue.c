/* SPDX-License-Identifier: MIT */
/* See key.h: requests for certificates, certificates of our own, and what an authority has issued. */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

/* An authority may take the lower bits of a clock that is behind for a certificate of the future. */
#define STARTS_BEFORE_SECONDS 3600
/* RFC 8737 6.1: id-pe-acmeIdentifier. */
#define CHALLENGE_OID "1.3.6.1.5.5.7.1.31"

/* ---- names ---- */

static GENERAL_NAMES *names_of(const char *const *names, size_t count)
{
	GENERAL_NAMES *all = GENERAL_NAMES_new();
	ensure(all != NULL);
	for (size_t i = 0; i < count; i++) {
		GENERAL_NAME *name = GENERAL_NAME_new();
		ASN1_IA5STRING *text = ASN1_IA5STRING_new();
		ensure(name && text && ASN1_STRING_set(text, names[i], (int)strlen(names[i])));
		GENERAL_NAME_set0_value(name, GEN_DNS, text);
		ensure(sk_GENERAL_NAME_push(all, name) > 0);
	}
	return all;
}

/* ---- a request ---- */

uint8_t *net_key_request(
    const struct net_key *k, const char *const *names, size_t count, size_t *length)
{
	X509_REQ *request = X509_REQ_new();
	STACK_OF(X509_EXTENSION) *extensions = NULL;
	GENERAL_NAMES *all = names_of(names, count);
	uint8_t *der = NULL;
	ensure(request && X509V3_add1_i2d(&extensions, NID_subject_alt_name, all, 0, 0) > 0 &&
	       X509_REQ_set_pubkey(request, k->key) &&
	       X509_REQ_add_extensions(request, extensions) &&
	       X509_REQ_sign(request, k->key, EVP_sha256()) > 0);
	int bytes = i2d_X509_REQ(request, &der);
	ensure(bytes > 0);
	*length = (size_t)bytes;
	uint8_t *copy = memory_alloc(*length);
	memcpy(copy, der, *length);
	OPENSSL_free(der);
	GENERAL_NAMES_free(all);
	sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
	X509_REQ_free(request);
	return copy;
}

/* ---- a certificate of our own ---- */

static void set_serial(X509 *certificate)
{
	uint64_t random;
	ensure(RAND_bytes((uint8_t *)&random, sizeof(random)));
	ASN1_INTEGER *serial = X509_get_serialNumber(certificate);
	ensure(ASN1_INTEGER_set_uint64(serial, random >> 1 | 1));
}

/* An OCTET STRING, critical. */
static void add_challenge(X509 *certificate, const uint8_t *challenge)
{
	uint8_t der[2 + NET_SHA256_BYTES] = {4, NET_SHA256_BYTES};
	memcpy(der + 2, challenge, NET_SHA256_BYTES);
	ASN1_OBJECT *oid = OBJ_txt2obj(CHALLENGE_OID, 1);
	ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
	ensure(oid && value && ASN1_OCTET_STRING_set(value, der, sizeof(der)));
	X509_EXTENSION *extension = X509_EXTENSION_create_by_OBJ(NULL, oid, 1, value);
	ensure(extension && X509_add_ext(certificate, extension, -1));
	X509_EXTENSION_free(extension);
	ASN1_OCTET_STRING_free(value);
	ASN1_OBJECT_free(oid);
}

char *net_key_self_signed(const struct net_key *k, const char *const *names, size_t count,
    int64_t ends, const uint8_t *challenge)
{
	X509 *certificate = X509_new();
	GENERAL_NAMES *all = names_of(names, count);
	BIO *out = BIO_new(BIO_s_mem());
	ensure(certificate && out && X509_set_version(certificate, X509_VERSION_3));
	set_serial(certificate);
	X509_NAME *subject = X509_get_subject_name(certificate);
	ensure(X509_NAME_add_entry_by_NID(
		   subject, NID_commonName, MBSTRING_ASC, (const uint8_t *)"pushgate", -1, -1, 0) &&
	       X509_set_issuer_name(certificate, subject) &&
	       X509_gmtime_adj(X509_getm_notBefore(certificate), -STARTS_BEFORE_SECONDS) &&
	       ASN1_TIME_set(X509_getm_notAfter(certificate), ends) &&
	       X509_set_pubkey(certificate, k->key) &&
	       X509_add1_ext_i2d(certificate, NID_subject_alt_name, all, 0, 0));
	if (challenge)
		add_challenge(certificate, challenge);
	ensure(
	    X509_sign(certificate, k->key, EVP_sha256()) && PEM_write_bio_X509(out, certificate));
	GENERAL_NAMES_free(all);
	X509_free(certificate);
	return tls_text(out);
}

/* ---- what was issued ---- */

static size_t copy_value(uint8_t *to, size_t most, const ASN1_STRING *value)
{
	size_t length = value ? (size_t)ASN1_STRING_length(value) : 0;
	if (length == 0 || length > most)
		return 0;
	memcpy(to, ASN1_STRING_get0_data(value), length);
	return length;
}

/* The content of the INTEGER as DER has it: with a zero in front of a first bit that is set. */
static size_t copy_serial(uint8_t *to, size_t most, const ASN1_INTEGER *serial)
{
	const uint8_t *first = ASN1_STRING_get0_data(serial);
	to[0] = 0;
	bool has_zero = ASN1_STRING_length(serial) > 0 && first[0] & 0x80;
	size_t length = copy_value(to + has_zero, most - has_zero, serial);
	return length > 0 ? length + has_zero : 0;
}

/* The first certificate of a chain that can be loaded as a whole; NULL: it cannot, or is not for the key. */
static X509 *read_chain(struct slice pem, const struct net_key *k)
{
	const struct sealed_view v = {.bytes = pem};
	BIO *in = tls_reader(&v);
	ERR_clear_error();
	X509 *first = PEM_read_bio_X509(in, NULL, NULL, NULL), *next;
	size_t count = 1;
	bool is_good = first && X509_check_private_key(first, k->key) == 1;
	while (is_good && (next = PEM_read_bio_X509(in, NULL, NULL, NULL))) {
		X509_free(next);
		is_good = ++count <= NET_CHAIN_MOST;
	}
	is_good = is_good && tls_is_at_end();
	BIO_free(in);
	ERR_clear_error();
	if (is_good)
		return first;
	X509_free(first);
	return NULL;
}

bool net_issued_read(struct slice pem, const struct net_key *k, const char *const *names,
    size_t count, struct net_issued *out)
{
	struct tls_names covered;
	*out = (struct net_issued){0};
	X509 *certificate = read_chain(pem, k);
	if (!certificate)
		return false;
	out->starts = tls_seconds(X509_get0_notBefore(certificate));
	out->ends = tls_seconds(X509_get0_notAfter(certificate));
	out->authority_length = copy_value(
	    out->authority, sizeof(out->authority), X509_get0_authority_key_id(certificate));
	out->serial_length =
	    copy_serial(out->serial, sizeof(out->serial), X509_get0_serialNumber(certificate));
	out->is_self_signed = X509_NAME_cmp(X509_get_subject_name(certificate),
				  X509_get_issuer_name(certificate)) == 0;
	tls_names_init(&covered, certificate);
	while (
	    out->missing < count && tls_names_cover(&covered, slice_of_string(names[out->missing])))
		out->missing++;
	tls_names_fini(&covered);
	X509_free(certificate);
	return true;
}

bool net_issued_read_with_key(
    struct slice pem, const char *const *names, size_t count, struct net_issued *out)
{
	struct net_key *key = net_key_read(pem);
	*out = (struct net_issued){0};
	bool is_good = key && net_issued_read(pem, key, names, count, out);
	net_key_free(key);
	return is_good;
}
