/* SPDX-License-Identifier: MIT */
/*
 * The TLS client: verification on chain and name (RFC 9525), SNI, ALPN, and sessions to resume (tls_sessions.c).
 */
#include "proxy/base/ensure.h"
#include "proxy/net/net_conn.h"
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/* Tickets of TLS 1.3 come after the handshake; the layer may be the outer one by then. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
	struct net_tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	const struct net_conn *c = SSL_get_app_data(ssl);
	const char *name = c->layer.ssl == ssl ? c->layer.server_name : c->outer.server_name;
	struct net_address server;
	/* One that was verified by authorities that were exchanged since is no good. */
	if (!name || SSL_get_SSL_CTX(ssl) != t->context || !net_peer_of(c->fd, &server))
		return 0;
	tls_sessions_put(&t->sessions, &server, name, session);
	return 1; /* 1: we keep the reference */
}

static bool has_changed(const struct net_tls *t, const struct sealed *files)
{
	const struct net_certificate *own = t->sources;
	return (t->verify && sealed_has_changed(files, t->ca_file)) ||
	       (own && (sealed_has_changed(files, own->chain_file) ||
			   sealed_has_changed(files, own->key_file)));
}

static bool load_own(SSL_CTX *x, const struct net_certificate *own, const struct sealed *files,
    char *error, size_t size)
{
	struct tls_pair p;
	if (!tls_pair_open(&p, own, files, error, size))
		return false;
	bool is_good = tls_pair_load(x, &p, error, size);
	tls_pair_close(&p);
	return is_good;
}

static bool load(struct net_tls *t, const struct sealed *files, char *error, size_t error_size)
{
	SSL_CTX *x = tls_context_new(t);
	if ((t->verify &&
		!tls_load_file(x, tls_load_authorities, t->ca_file, files, error, error_size)) ||
	    (t->source_count && !load_own(x, t->sources, files, error, error_size))) {
		SSL_CTX_free(x);
		return false;
	}
	SSL_CTX_set_verify(x, t->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	if (t->alpn_length)
		ensure(SSL_CTX_set_alpn_protos(x, t->alpn, (unsigned)t->alpn_length) == 0);
	SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(x, on_session);
	SSL_CTX_free(t->context);
	t->context = x;
	tls_sessions_clear(&t->sessions);
	return true;
}

bool tls_client_load(struct net_tls *t, const struct sealed *files, char *error, size_t error_size)
{
	return (t->context && !has_changed(t, files)) || load(t, files, error, error_size);
}

bool net_tls_show_certificate(struct net_tls *t, const struct net_certificate *own,
    const struct sealed *files, char *error, size_t error_size)
{
	ensure(!t->is_server);
	t->sources = own;
	t->source_count = 1;
	return load(t, files, error, error_size);
}

struct net_tls *net_tls_client_new(
    const struct net_tls_client_options *o, char *error, size_t error_size)
{
	struct net_tls *t = tls_new(false, o->alpn, NULL);
	t->verify = o->verify;
	t->ca_file = o->ca_file ? o->ca_file : NET_SYSTEM_CA_FILE;
	t->key_log = o->key_log;
	if (tls_client_load(t, o->files, error, error_size))
		return t;
	net_tls_free(t);
	return NULL;
}

const char *tls_client_prepare(struct net_conn *c)
{
	struct net_tls *t = c->layer.tls;
	SSL *ssl = c->layer.ssl;
	const char *name = c->layer.server_name;
	SSL_set_app_data(ssl, c);
	if (!name || !*name)
		return t->verify ? "no name to verify the server by" : NULL;
	struct address ip;
	bool is_ip = address_parse(slice_of_string(name), &ip);
	/* RFC 6066 3: SNI carries no IP literals. */
	if (!is_ip && !SSL_set_tlsext_host_name(ssl, name))
		return "the server name is not a host name";
	if (t->verify) {
		X509_VERIFY_PARAM *p = SSL_get0_param(ssl);
		X509_VERIFY_PARAM_set_hostflags(
		    p, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
		int is_set = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(p, name)
				   : X509_VERIFY_PARAM_set1_host(p, name, strlen(name));
		if (!is_set)
			return "the server name cannot be verified";
	}
	struct net_address server;
	if (t->sessions.count > 0 && net_peer_of(c->fd, &server))
		tls_sessions_offer(&t->sessions, &server, name, ssl);
	return NULL;
}
