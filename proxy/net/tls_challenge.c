/* SPDX-License-Identifier: MIT */
/*
 * Answers an authority that looks over TLS whose a host is (RFC 8737): the handshake gets a context of its own, with a
 * certificate that is made for it. Such a handshake is rare, and costs what any other one with a key of P-256 does.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/tls.h"
#include <string.h>

/* The protocol in wire form (RFC 7301 3.1): its length is that of the name. */
static const uint8_t protocol[] = {10, 'a', 'c', 'm', 'e', '-', 't', 'l', 's', '/', '1'};
_Static_assert(sizeof(NET_CHALLENGE_ALPN) == sizeof(protocol), "the length of the protocol's name");
/* The authority looks at once. */
#define LIFE_SECONDS 3600

/* RFC 8737 3: the extension has this protocol alone. Its value begins with the length of the list. */
static bool offers_it_alone(const SSL_CLIENT_HELLO *hello)
{
	const uint8_t *data;
	size_t length;
	return SSL_early_callback_ctx_extension_get(
		   hello, TLSEXT_TYPE_application_layer_protocol_negotiation, &data, &length) &&
	       length == 2 + sizeof(protocol) && memcmp(data + 2, protocol, sizeof(protocol)) == 0;
}

static int on_alpn(SSL *ssl, const uint8_t **out, uint8_t *out_length, const uint8_t *offered,
    unsigned offered_length, void *arg)
{
	(void)ssl, (void)offered, (void)offered_length, (void)arg;
	*out = protocol + 1;
	*out_length = protocol[0];
	return SSL_TLSEXT_ERR_OK;
}

/* Else the handshake's first context would ask whether a certificate covers the host (strict-sni), which may be new. */
static int on_server_name(SSL *ssl, int *alert, void *arg)
{
	(void)ssl, (void)alert, (void)arg;
	return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *make_context(struct net_tls *t)
{
	const char *const names[] = {t->challenge->name};
	struct net_key *key = net_key_new();
	int64_t ends = (int64_t)(clock_wall() / USEC_PER_SEC) + LIFE_SECONDS;
	char *pem = net_key_self_signed(key, names, 1, ends, t->challenge->digest);
	const struct sealed_view v = {.bytes = slice_of_string(pem)};
	SSL_CTX *x = tls_context_new(t);
	ensure(tls_load_chain(x, &v) && SSL_CTX_use_PrivateKey(x, key->key));
	SSL_CTX_set_options(x, SSL_OP_NO_TICKET);
	SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_alpn_select_cb(x, on_alpn, NULL);
	ensure(SSL_CTX_set_tlsext_servername_callback(x, on_server_name));
	net_key_free(key);
	free(pem);
	return x;
}

bool tls_challenge_answer(struct net_tls *t, const SSL_CLIENT_HELLO *hello, const char *sni)
{
	if (!t->challenge->name[0] ||
	    !slice_equal_nocase(slice_of_string(t->challenge->name), slice_of_string(sni)) ||
	    !offers_it_alone(hello))
		return false;
	SSL_CTX *x = make_context(t);
	ensure(SSL_set_SSL_CTX(hello->ssl, x) != NULL);
	SSL_CTX_free(x); /* the handshake has it */
	return true;
}
