/* SPDX-License-Identifier: MIT */
/* Reads the certificate that a client has shown: its names as texts, and itself as an item for origins (RFC 9440). */
#include "proxy/base/base64.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/net/net_conn.h"
#include <arpa/inet.h>
#include <openssl/pool.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#define TOO_MANY_NAMES "the client's certificate has more than 4 KiB of names"

/* ---- names ---- */

struct names {
	char text[CLIENT_CERTIFICATE_NAMES_BYTES];
	size_t length;
	bool is_full;
};

/* A name with a control character fits no pattern that somebody has written, and a line feed would begin another. */
static bool is_plain(struct slice value)
{
	for (size_t i = 0; i < value.len; i++)
		if ((uint8_t)value.ptr[i] < ' ' || value.ptr[i] == 0x7f)
			return false;
	return value.len > 0;
}

static void add(struct names *n, struct slice kind, struct slice value)
{
	if (!is_plain(value))
		return;
	if (kind.len + value.len + 1 > sizeof(n->text) - n->length) {
		n->is_full = true;
		return;
	}
	memcpy(n->text + n->length, kind.ptr, kind.len);
	memcpy(n->text + n->length + kind.len, value.ptr, value.len);
	n->length += kind.len + value.len;
	n->text[n->length++] = '\n';
}

/* RFC 2253; bytes outside of ASCII are escaped. */
static void add_distinguished(struct names *n, struct slice kind, const X509_NAME *name)
{
	const uint8_t *text = NULL;
	size_t length = 0;
	BIO *out = BIO_new(BIO_s_mem());
	if (!out)
		n->is_full = true;
	else if (X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253) >= 0 &&
		 BIO_mem_contents(out, &text, &length))
		add(n, kind, slice_of(text, length));
	BIO_free(out);
}

static void add_common_names(struct names *n, const X509_NAME *name)
{
	for (int i = -1; (i = X509_NAME_get_index_by_NID(name, NID_commonName, i)) >= 0;) {
		uint8_t *text = NULL;
		int length = ASN1_STRING_to_UTF8(
		    &text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, i)));
		if (length > 0)
			add(n, SLICE("cn:"), slice_of(text, (size_t)length));
		OPENSSL_free(text);
	}
}

static void add_ip(struct names *n, struct slice bytes)
{
	char text[INET6_ADDRSTRLEN];
	int family = bytes.len == 4 ? AF_INET : AF_INET6;
	if ((bytes.len == 4 || bytes.len == 16) && inet_ntop(family, bytes.ptr, text, sizeof(text)))
		add(n, SLICE("ip:"), slice_of_string(text));
}

static void add_dns(struct names *n, struct slice name)
{
	char lower[255];
	if (name.len > sizeof(lower))
		return;
	for (size_t i = 0; i < name.len; i++)
		lower[i] = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? (char)(name.ptr[i] + 32)
								    : name.ptr[i];
	add(n, SLICE("dns:"), slice_of(lower, name.len));
}

static struct slice bytes_of(const ASN1_STRING *s)
{
	return slice_of(ASN1_STRING_get0_data(s), (size_t)ASN1_STRING_length(s));
}

static void add_alternative(struct names *n, const GENERAL_NAME *g)
{
	switch (g->type) {
	case GEN_DNS:
		add_dns(n, bytes_of(g->d.dNSName));
		break;
	case GEN_EMAIL:
		add(n, SLICE("email:"), bytes_of(g->d.rfc822Name));
		break;
	case GEN_URI:
		add(n, SLICE("uri:"), bytes_of(g->d.uniformResourceIdentifier));
		break;
	case GEN_IPADD:
		add_ip(n, bytes_of(g->d.iPAddress));
		break;
	default: /* of the library's kinds the others have no text */
		break;
	}
}

static void add_alternatives(struct names *n, const X509 *certificate)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	for (size_t i = 0; all && i < sk_GENERAL_NAME_num(all); i++)
		add_alternative(n, sk_GENERAL_NAME_value(all, i));
	GENERAL_NAMES_free(all);
}

static void add_fingerprint(struct names *n, const CRYPTO_BUFFER *der)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t sum[SHA256_DIGEST_LENGTH];
	char text[2 * sizeof(sum)];
	SHA256(CRYPTO_BUFFER_data(der), CRYPTO_BUFFER_len(der), sum);
	for (size_t i = 0; i < sizeof(sum); i++) {
		text[2 * i] = digits[sum[i] >> 4];
		text[2 * i + 1] = digits[sum[i] & 15];
	}
	add(n, SLICE("sha256:"), slice_of(text, sizeof(text)));
}

/* ---- items ---- */

/* ":BASE64:", and between two of them ", ". */
#define ITEM_BYTES(der) (BASE64_SIZE(der) + sizeof(":, :"))

static size_t put_item(char *at, const CRYPTO_BUFFER *der)
{
	struct slice bytes = slice_of(CRYPTO_BUFFER_data(der), CRYPTO_BUFFER_len(der));
	size_t length = base64_encode(bytes, at + 1);
	at[0] = at[1 + length] = ':';
	return length + 2;
}

static struct client_certificate *make(const struct names *n, const STACK_OF(CRYPTO_BUFFER) * chain)
{
	size_t count = sk_CRYPTO_BUFFER_num(chain), room = 0, length, leaf;
	for (size_t i = 0; i < count; i++)
		room += ITEM_BYTES(CRYPTO_BUFFER_len(sk_CRYPTO_BUFFER_value(chain, i)));
	char *text = memory_alloc(room);
	length = leaf = put_item(text, sk_CRYPTO_BUFFER_value(chain, 0));
	for (size_t i = 1; i < count; i++) {
		if (i > 1) {
			memcpy(text + length, ", ", 2);
			length += 2;
		}
		length += put_item(text + length, sk_CRYPTO_BUFFER_value(chain, i));
	}
	struct client_certificate *made = client_certificate_new(slice_of(n->text, n->length),
	    slice_of(text, leaf), slice_of(text + leaf, length - leaf));
	free(text);
	return made;
}

static void add_names(struct names *n, const CRYPTO_BUFFER *der, const X509 *certificate)
{
	add_fingerprint(n, der);
	add_distinguished(n, SLICE("subject:"), X509_get_subject_name(certificate));
	add_distinguished(n, SLICE("issuer:"), X509_get_issuer_name(certificate));
	add_common_names(n, X509_get_subject_name(certificate));
	add_alternatives(n, certificate);
}

struct client_certificate *net_conn_client_certificate(const struct net_conn *c, const char **wrong)
{
	*wrong = NULL;
	if (!c->layer.ssl || !c->layer.tls->client_auth)
		return NULL;
	const STACK_OF(CRYPTO_BUFFER) *chain = SSL_get0_peer_certificates(c->layer.ssl);
	X509 *certificate = SSL_get_peer_certificate(c->layer.ssl);
	if (!certificate || !chain || sk_CRYPTO_BUFFER_num(chain) == 0) {
		X509_free(certificate);
		return NULL;
	}
	struct names n = {.length = 0};
	add_names(&n, sk_CRYPTO_BUFFER_value(chain, 0), certificate);
	if (n.is_full)
		*wrong = TOO_MANY_NAMES;
	else if (SSL_session_reused(c->layer.ssl))
		*wrong = tls_client_auth_resumes(c->layer.tls, c->layer.ssl);
	X509_free(certificate);
	return *wrong ? NULL : make(&n, chain);
}

/* ---- a file ---- */

struct client_certificate *net_client_certificate_read(const char *file, const char **wrong)
{
	STACK_OF(X509) *chain = tls_read_certificates(file, wrong);
	if (!chain)
		return NULL;
	uint8_t *der = NULL;
	int length = i2d_X509(sk_X509_value(chain, 0), &der);
	STACK_OF(CRYPTO_BUFFER) *leaf = sk_CRYPTO_BUFFER_new_null();
	CRYPTO_BUFFER *bytes = length > 0 ? CRYPTO_BUFFER_new(der, (size_t)length, NULL) : NULL;
	ensure(leaf && bytes && sk_CRYPTO_BUFFER_push(leaf, bytes));
	struct names n = {.length = 0};
	add_names(&n, bytes, sk_X509_value(chain, 0));
	struct client_certificate *made = n.is_full ? NULL : make(&n, leaf);
	*wrong = made ? NULL : TOO_MANY_NAMES;
	sk_CRYPTO_BUFFER_pop_free(leaf, CRYPTO_BUFFER_free);
	sk_X509_pop_free(chain, X509_free);
	OPENSSL_free(der);
	return made;
}
