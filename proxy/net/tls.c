/* SPDX-License-Identifier: MIT */
/* TLS contexts: their life and the renewal of their files. */
#include "proxy/net/tls.h"
#include <openssl/mem.h>

struct net_tls *net_tls_hold(struct net_tls *t)
{
	t->refs++;
	return t;
}

void net_tls_free(struct net_tls *t)
{
	if (!t || --t->refs > 0)
		return;
	if (!t->is_server)
		SSL_CTX_free(t->context);
	else if (t->certificates)
		tls_certificates_free(t->certificates, t->certificate_count);
	tls_client_auth_free(t->client_auth);
	tls_sessions_clear(&t->sessions);
	CRYPTO_BUFFER_POOL_free(t->pool);
	net_tickets_fini(&t->tickets);
	OPENSSL_cleanse(&t->ticket_file, sizeof(t->ticket_file));
	free(t->alpn);
	free(t);
}

bool net_tls_renew(struct net_tls *t, const struct sealed *files, char *error, size_t error_size)
{
	if (!t->is_server)
		return tls_client_load(t, files, error, error_size);
	return (!t->client_auth || tls_client_auth_load(t, files, error, error_size)) &&
	       tls_server_load(t, files, error, error_size);
}
