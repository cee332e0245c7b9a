/* SPDX-License-Identifier: MIT */
/* TLS contexts: their life and the renewal of their files. */
#include "proxy/net/tls.h"
#include "proxy/base/ensure.h"
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
	tls_loading_end(t);
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
	net_tls_renew_begin(t, files);
	return tls_loading_step(t, USEC_NEVER, error, error_size) == TLS_LOADING_DONE;
}

void net_tls_renew_begin(struct net_tls *t, const struct sealed *files)
{
	ensure(t->is_server);
	tls_loading_begin(t, files);
}

bool net_tls_renew_step(struct net_tls *t, usec until, char *error, size_t error_size)
{
	return t->loading && tls_loading_step(t, until, error, error_size) == TLS_LOADING_GOES_ON;
}
