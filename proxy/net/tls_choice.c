/* SPDX-License-Identifier: MIT */
/*
 * Chooses the certificate for a ClientHello. Each certificate has an SSL_CTX, because this BoringSSL supports one key
 * in each; the early callback switches between them.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/tls.h"

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

static bool has_suite(const struct net_tls_parameters *p, struct reader r, bool is_rsa)
{
	for (; r.length >= 2; r.at += 2, r.length -= 2)
		if (tls_parameters_have_suite(p, two_bytes(r.at), is_rsa))
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
static bool client_can_verify(
    const struct net_tls *t, const SSL_CLIENT_HELLO *hello, const struct tls_certificate *c)
{
	static const uint16_t tls13 = TLS1_3_VERSION;
	static const uint16_t rsa[] = {SSL_SIGN_RSA_PSS_RSAE_SHA256, SSL_SIGN_RSA_PSS_RSAE_SHA384,
	    SSL_SIGN_RSA_PSS_RSAE_SHA512, SSL_SIGN_RSA_PKCS1_SHA256, SSL_SIGN_RSA_PKCS1_SHA384,
	    SSL_SIGN_RSA_PKCS1_SHA512};
	const struct reader schemes = list_of(hello, TLSEXT_TYPE_signature_algorithms, 2);
	const struct reader versions = list_of(hello, TLSEXT_TYPE_supported_versions, 1);
	const struct reader suites = {hello->cipher_suites, hello->cipher_suites_len};
	bool is_rsa = c->key_type == EVP_PKEY_RSA;
	if (!(is_rsa ? has_any(schemes, rsa, 6) : c->scheme && has_any(schemes, &c->scheme, 1)))
		return false;
	return (t->parameters.most >= NET_TLS_1_3 && has_any(versions, &tls13, 1)) ||
	       has_suite(&t->parameters, suites, is_rsa);
}

/* ---- the choice ---- */

static struct tls_certificate *choose(
    struct net_tls *t, const SSL_CLIENT_HELLO *hello, struct slice name)
{
	struct tls_certificate *best = NULL;
	enum tls_cover best_match = TLS_COVER_NONE;
	for (size_t i = 0; i < t->certificate_count; i++) {
		struct tls_certificate *c = &t->certificates[i];
		enum tls_cover match = tls_names_match(&c->names, name);
		if (match == TLS_COVER_NONE || match < best_match ||
		    !client_can_verify(t, hello, c))
			continue;
		/* Prefer ECDSA, which costs the server a tenth of RSA; otherwise the earlier one. */
		if (match > best_match ||
		    (c->key_type == EVP_PKEY_EC && best->key_type != EVP_PKEY_EC)) {
			best = c;
			best_match = match;
		}
	}
	return best;
}

static enum ssl_select_cert_result_t on_client_hello(const SSL_CLIENT_HELLO *hello)
{
	struct net_tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(hello->ssl));
	const char *sni = SSL_get_servername(hello->ssl, TLSEXT_NAMETYPE_host_name);
	ensure(t->certificates != NULL);
	if (t->challenge && sni && tls_challenge_answer(t, hello, sni))
		return ssl_select_cert_success;
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

/* With strict-sni. Called once the version is known. */
static int on_server_name(SSL *ssl, int *alert, void *arg)
{
	const struct net_tls *t = arg;
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	if (name && net_tls_covers(t, slice_of_string(name)))
		return SSL_TLSEXT_ERR_OK;
	/* RFC 6066 3; RFC 8446 9.2 for a ClientHello without the extension. */
	*alert = !name && SSL_version(ssl) >= TLS1_3_VERSION ? SSL_AD_MISSING_EXTENSION
							     : SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

void tls_choice_set(SSL_CTX *x, struct net_tls *t)
{
	SSL_CTX_set_select_certificate_cb(x, on_client_hello);
	if (!t->parameters.strict_sni)
		return;
	ensure(SSL_CTX_set_tlsext_servername_callback(x, on_server_name));
	ensure(SSL_CTX_set_tlsext_servername_arg(x, t));
}
