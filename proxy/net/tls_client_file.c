/* SPDX-License-Identifier: MIT */
/*
 * The certificate of a client in a file, for `pushgate explain`: whether a server that asks for one would take it. A
 * handshake has no part in it.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

STACK_OF(X509) * tls_read_certificates(const char *file, const char **wrong)
{
	struct sealed_view v;
	int error = sealed_view_open(NULL, file, &v);
	*wrong = error ? strerrordesc_np(error) : NULL;
	if (error)
		return NULL;
	STACK_OF(X509) *list = sk_X509_new_null();
	BIO *in = tls_reader(&v);
	X509 *certificate;
	ensure(list != NULL);
	while ((certificate = PEM_read_bio_X509_AUX(in, NULL, NULL, NULL)) != NULL)
		ensure(sk_X509_push(list, certificate));
	BIO_free(in);
	sealed_view_close(&v);
	ERR_clear_error();
	if (sk_X509_num(list) > 0)
		return list;
	sk_X509_free(list);
	*wrong = "there is no certificate in PEM in it";
	return NULL;
}

const char *net_tls_refuses_client(const struct net_tls *server, size_t row, const char *file)
{
	const char *wrong;
	STACK_OF(X509) *chain = tls_read_certificates(file, &wrong);
	if (!chain)
		return wrong;
	wrong = tls_client_auth_refuses(
	    server->client_auth, row, chain, (int64_t)(server->wall() / USEC_PER_SEC));
	sk_X509_pop_free(chain, X509_free);
	return wrong;
}
