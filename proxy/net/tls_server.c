/* SPDX-License-Identifier: MIT */
/*
 * The TLS server: chooses the certificate for a ClientHello and the ALPN protocol, and sets up
 * tickets. Each certificate has an SSL_CTX, because this BoringSSL supports one key in each; the
 * early callback switches between them.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <stdio.h>

/* ---- whether the client can verify a certificate ---- */

static uint16_t two_bytes(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

struct reader {
	const uint8_t *at;
	size_t length;
};

static bool has_any(struct reader r, const uint16_t *values, size_t count)
{
	for (; r.length >= 2; r.at += 2, r.length -= 2)
		for (size_t i = 0; i < count; i++)
			if (two_bytes(r.at) == values[i])
				return true;
	return false;
}

static struct reader list_of(const SSL_CLIENT_HELLO *hello, uint16_t extension, size_t prefix)
{
	const uint8_t *data;
	size_t length;
	if (!SSL_early_callback_ctx_extension_get(hello, extension, &data, &length) ||
	    length < prefix)
		return (struct reader){NULL, 0};
	return (struct reader){data + prefix, length - prefix};
}

/* By the schemes of RFC 8446 4.2.3; in TLS 1.2 the cipher suite names the key type as well. */
static bool client_can_verify(const SSL_CLIENT_HELLO *hello, const struct tls_certificate *c)
{
	static const uint16_t tls13 = TLS1_3_VERSION;
	static const uint16_t rsa[] = {SSL_SIGN_RSA_PSS_RSAE_SHA256, SSL_SIGN_RSA_PSS_RSAE_SHA384,
	    SSL_SIGN_RSA_PSS_RSAE_SHA512, SSL_SIGN_RSA_PKCS1_SHA256, SSL_SIGN_RSA_PKCS1_SHA384,
	    SSL_SIGN_RSA_PKCS1_SHA512};
	static const uint16_t rsa_suites[] = {0xC02F, 0xC030, 0xCCA8};
	static const uint16_t other_suites[] = {0xC02B, 0xC02C, 0xCCA9};
	const struct reader schemes = list_of(hello, TLSEXT_TYPE_signature_algorithms, 2);
	const struct reader versions = list_of(hello, TLSEXT_TYPE_supported_versions, 1);
	const struct reader suites = {hello->cipher_suites, hello->cipher_suites_len};
	bool is_rsa = c->key_type == EVP_PKEY_RSA;
	if (!(is_rsa ? has_any(schemes, rsa, 6) : c->scheme && has_any(schemes, &c->scheme, 1)))
		return false;
	return has_any(versions, &tls13, 1) ||
	       has_any(suites, is_rsa ? rsa_suites : other_suites, 3);
}

/* ---- the choice ---- */

static struct tls_certificate *choose(
    struct net_tls *t, const SSL_CLIENT_HELLO *hello, struct slice name)
{
	struct tls_certificate *best = NULL;
	for (size_t i = 0; i < t->certificate_count; i++) {
		struct tls_certificate *c = &t->certificates[i];
		if (!tls_names_cover(&c->names, name) || !client_can_verify(hello, c))
			continue;
		/* Prefer ECDSA, which costs the server a tenth of RSA; otherwise the earlier one. */
		if (!best || (c->key_type == EVP_PKEY_EC && best->key_type != EVP_PKEY_EC))
			best = c;
	}
	return best;
}

static enum ssl_select_cert_result_t on_client_hello(const SSL_CLIENT_HELLO *hello)
{
	struct net_tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(hello->ssl));
	const char *sni = SSL_get_servername(hello->ssl, TLSEXT_NAMETYPE_host_name);
	ensure(t->certificates != NULL);
	/* Where the handshake began with a certificate that was renewed meanwhile, it goes on with the new one. */
	struct tls_certificate *best = sni ? choose(t, hello, slice_of_string(sni)) : NULL;
	const struct tls_names *first = &t->certificates[0].names;
	/* No certificate covers the name: use the default one, or one for the same names with another
	 * key type. */
	if (!best && first->dns_count > 0)
		best = choose(t, hello, slice_of_string(first->dns[0]));
	SSL_CTX *chosen = best ? best->context : t->context;
	if (chosen != SSL_get_SSL_CTX(hello->ssl))
		ensure(SSL_set_SSL_CTX(hello->ssl, chosen) != NULL);
	if (t->client_auth && !tls_client_auth_ask(t->client_auth, hello->ssl, sni))
		return ssl_select_cert_error;
	return ssl_select_cert_success;
}

static int on_alpn(SSL *ssl, const uint8_t **out, uint8_t *out_length, const uint8_t *offered,
    unsigned offered_length, void *arg)
{
	(void)ssl;
	const struct net_tls *t = arg;
	for (size_t i = 0; i < t->alpn_length; i += 1u + t->alpn[i]) {
		for (size_t j = 0; j < offered_length; j += 1u + offered[j]) {
			if (offered[j] != t->alpn[i] ||
			    memcmp(offered + j + 1, t->alpn + i + 1, offered[j]) != 0)
				continue;
			*out = t->alpn + i + 1;
			*out_length = t->alpn[i];
			return SSL_TLSEXT_ERR_OK;
		}
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL; /* no_application_protocol, RFC 7301 3.2 */
}

/* ---- loading ---- */

/* TLS 1.3 signature scheme of the key; 0: RSA's are several, and other kinds have none. */
static uint16_t scheme_of(const EVP_PKEY *key)
{
	if (EVP_PKEY_id(key) == EVP_PKEY_ED25519)
		return SSL_SIGN_ED25519;
	if (EVP_PKEY_id(key) != EVP_PKEY_EC)
		return 0;
	const EC_KEY *ec = EVP_PKEY_get0_EC_KEY(key);
	int curve = EC_GROUP_get_curve_name(EC_KEY_get0_group(ec));
	if (curve == NID_X9_62_prime256v1)
		return SSL_SIGN_ECDSA_SECP256R1_SHA256;
	if (curve == NID_secp384r1)
		return SSL_SIGN_ECDSA_SECP384R1_SHA384;
	return SSL_SIGN_ECDSA_SECP521R1_SHA512;
}

static bool load(struct net_tls *t, struct tls_certificate *c, const struct net_certificate *from,
    const struct sealed *files, char *error, size_t size)
{
	c->context = tls_context_new(t);
	if (!tls_load_pair(c->context, from, files, error, size))
		return false;
	const EVP_PKEY *key = SSL_CTX_get0_privatekey(c->context);
	c->key_type = EVP_PKEY_id(key);
	c->scheme = scheme_of(key);
	tls_names_init(&c->names, SSL_CTX_get0_certificate(c->context));
	return true;
}

static void set_server(struct net_tls *t, SSL_CTX *x)
{
	static const uint8_t id[] = "pushgate";
	ensure(SSL_CTX_set_session_id_context(x, id, sizeof(id) - 1));
	/* Resumption by tickets only: a session cache would grow, and other workers could not use
	 * it. */
	SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF);
	tls_tickets_set(x);
	SSL_CTX_set_select_certificate_cb(x, on_client_hello);
	if (t->alpn_length)
		SSL_CTX_set_alpn_select_cb(x, on_alpn, t);
}

void tls_certificates_free(struct tls_certificate *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		SSL_CTX_free(list[i].context);
		tls_names_fini(&list[i].names);
	}
	free(list);
}

bool tls_server_load(struct net_tls *t, const struct sealed *files, char *error, size_t error_size)
{
	size_t count = t->certificate_count;
	struct tls_certificate *fresh = memory_zalloc(count * sizeof(*fresh));
	bool is_good = true;
	for (size_t i = 0; i < count && is_good; i++) {
		const struct net_certificate *from = &t->certificate_files[i];
		if (!t->certificates[i].context || sealed_has_changed(files, from->chain_file) ||
		    sealed_has_changed(files, from->key_file))
			is_good = load(t, &fresh[i], from, files, error, error_size);
	}
	for (size_t i = 0; i < count && is_good; i++) {
		struct tls_certificate before = t->certificates[i];
		if (!fresh[i].context)
			continue;
		set_server(t, fresh[i].context);
		t->certificates[i] = fresh[i];
		fresh[i] = before;
	}
	t->context = t->certificates[0].context;
	tls_certificates_free(fresh, count);
	return is_good;
}

struct net_tls *net_tls_server_new(
    const struct net_tls_server_options *o, char *error, size_t error_size)
{
	if (o->certificate_count == 0) {
		snprintf(error, error_size, "no certificate");
		return NULL;
	}
	struct net_tls *t = tls_new(true, o->alpn);
	t->certificate_files = o->certificates;
	t->certificate_count = o->certificate_count;
	t->certificates = memory_zalloc(t->certificate_count * sizeof(*t->certificates));
	if (!tls_server_load(t, o->files, error, error_size)) {
		net_tls_free(t);
		return NULL;
	}
	if (o->tickets)
		t->tickets = *o->tickets;
	else
		net_tickets_init(&t->tickets, t->wall());
	return t;
}

bool net_tls_covers(const struct net_tls *t, struct slice host)
{
	for (size_t i = 0; i < t->certificate_count; i++)
		if (tls_names_cover(&t->certificates[i].names, host))
			return true;
	return false;
}

bool net_tls_certificate_covers(const struct net_tls *t, size_t i, struct slice host)
{
	const struct tls_names *names = &t->certificates[i].names;
	struct slice below = slice_from(host, 1);
	if (!slice_starts_with(host, SLICE("*.")))
		return tls_names_cover(names, host);
	for (size_t k = 0; k < names->dns_count; k++) {
		struct slice name = slice_of_string(names->dns[k]);
		if (name.len >= below.len &&
		    slice_equal_nocase(slice_from(name, name.len - below.len), below))
			return true;
	}
	return false;
}
