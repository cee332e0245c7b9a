/* SPDX-License-Identifier: MIT */
/*
 * The TLS server asks a client for a certificate, for some of the names that it serves. What it wants is set on each
 * connection, when the ClientHello has named the host. The library does not verify a resumed session: so its context
 * (RFC 5246 7.4.1.2, SSL_set_session_id_context) is a hash of all that the verification depends on, the host's row and the
 * bytes of the files among them. What the files say of times is looked at again when a session has been resumed.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pool.h>
#include <openssl/sha.h>
#include <stdio.h>

/* Clients choose a certificate by the names of authorities in the request. Of more the list would fill several records:
 * none is sent, and the client chooses by itself. */
#define NAMES_MOST 64u

struct authorities {
	X509_STORE *store;
	STACK_OF(CRYPTO_BUFFER) * names; /* in DER */
	uint8_t id[SHA256_DIGEST_LENGTH];
};

struct tls_client_auth {
	const struct net_client_auth *asks; /* borrows */
	struct authorities rows[];
};

/* ---- loading ---- */

static void fini(struct authorities *a)
{
	X509_STORE_free(a->store);
	sk_CRYPTO_BUFFER_pop_free(a->names, CRYPTO_BUFFER_free);
	*a = (struct authorities){0};
}

static size_t add_crls(X509_STORE *store, const struct sealed_view *v)
{
	BIO *in = tls_reader(v);
	X509_CRL *crl;
	size_t count = 0;
	while ((crl = PEM_read_bio_X509_CRL(in, NULL, NULL, NULL)) != NULL) {
		count += !store || X509_STORE_add_crl(store, crl) == 1;
		X509_CRL_free(crl);
	}
	BIO_free(in);
	return count;
}

static bool load_crls(SSL_CTX *x, const struct sealed_view *v)
{
	X509_STORE *store = SSL_CTX_get_cert_store(x);
	if (add_crls(store, v) == 0)
		return false;
	ERR_clear_error();
	/* Of the authorities in between too: one that was revoked vouches for nobody. */
	return X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) == 1;
}

size_t net_crl_count(const struct sealed *files, const char *file)
{
	struct sealed_view v;
	if (sealed_view_open(files, file, &v) != 0)
		return 0;
	size_t count = add_crls(NULL, &v);
	sealed_view_close(&v);
	ERR_clear_error();
	return count;
}

/* Puts the length before the text, so that no two lists of texts have the same hash. */
static void digest(SHA256_CTX *sum, struct slice text)
{
	uint64_t length = text.len;
	SHA256_Update(sum, &length, sizeof(length));
	SHA256_Update(sum, text.ptr, text.len);
}

static void digest_file(SHA256_CTX *sum, const struct sealed *files, const char *file)
{
	struct sealed_view v;
	if (!file || sealed_view_open(files, file, &v) != 0) {
		digest(sum, SLICE(""));
		return;
	}
	digest(sum, v.bytes);
	sealed_view_close(&v);
}

static void set_id(struct authorities *a, const struct net_client_auth *asks, size_t row,
    const struct sealed *files)
{
	const struct net_client_ca *from = &asks->authorities[row];
	uint64_t number = row << 1 | from->is_required;
	SHA256_CTX sum;
	SHA256_Init(&sum);
	digest(&sum, SLICE("pushgate client authorities"));
	digest(&sum, slice_of_string(asks->scope));
	digest(&sum, slice_of(&number, sizeof(number)));
	digest_file(&sum, files, from->ca_file);
	digest_file(&sum, files, from->crl_file);
	SHA256_Final(a->id, &sum);
}

static CRYPTO_BUFFER *name_of(X509 *certificate)
{
	uint8_t *der = NULL;
	int length = i2d_X509_NAME(X509_get_subject_name(certificate), &der);
	CRYPTO_BUFFER *name = length > 0 ? CRYPTO_BUFFER_new(der, (size_t)length, NULL) : NULL;
	OPENSSL_free(der);
	return name;
}

static STACK_OF(CRYPTO_BUFFER) * names_of(X509_STORE *store)
{
	STACK_OF(CRYPTO_BUFFER) *names = sk_CRYPTO_BUFFER_new_null();
	const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(store);
	size_t count = sk_X509_OBJECT_num(all);
	for (size_t i = 0; names && i < count; i++) {
		X509 *certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));
		CRYPTO_BUFFER *name = certificate ? name_of(certificate) : NULL;
		if (name && !sk_CRYPTO_BUFFER_push(names, name))
			CRYPTO_BUFFER_free(name);
	}
	if (names && sk_CRYPTO_BUFFER_num(names) > NAMES_MOST) {
		sk_CRYPTO_BUFFER_pop_free(names, CRYPTO_BUFFER_free);
		names = sk_CRYPTO_BUFFER_new_null();
	}
	return names;
}

/* The store of a TLS context that lives no longer. */
static bool load(struct net_tls *t, struct authorities *a, const struct net_client_ca *from,
    const struct sealed *files, char *error, size_t size)
{
	SSL_CTX *x = tls_context_new(t);
	bool is_good =
	    tls_load_file(x, tls_load_authorities, from->ca_file, files, error, size) &&
	    (!from->crl_file || tls_load_file(x, load_crls, from->crl_file, files, error, size));
	if (is_good) {
		a->store = SSL_CTX_get_cert_store(x);
		ensure(X509_STORE_up_ref(a->store));
		a->names = names_of(a->store);
	}
	SSL_CTX_free(x);
	return is_good;
}

static bool must_load(
    const struct authorities *a, const struct net_client_ca *from, const struct sealed *files)
{
	return !a->store || sealed_has_changed(files, from->ca_file) ||
	       (from->crl_file && sealed_has_changed(files, from->crl_file));
}

bool tls_client_auth_load(
    struct net_tls *t, const struct sealed *files, char *error, size_t error_size)
{
	struct tls_client_auth *auth = t->client_auth;
	size_t count = auth->asks->count;
	struct authorities *fresh = memory_zalloc(count * sizeof(*fresh));
	bool is_good = true;
	for (size_t i = 0; i < count && is_good; i++) {
		const struct net_client_ca *from = &auth->asks->authorities[i];
		if (!must_load(&auth->rows[i], from, files))
			continue;
		is_good = load(t, &fresh[i], from, files, error, error_size);
		if (is_good)
			set_id(&fresh[i], auth->asks, i, files);
	}
	for (size_t i = 0; i < count; i++) {
		if (is_good && fresh[i].store) {
			struct authorities before = auth->rows[i];
			auth->rows[i] = fresh[i];
			fresh[i] = before;
		}
		fini(&fresh[i]);
	}
	free(fresh);
	return is_good;
}

bool net_tls_ask_clients(struct net_tls *t, const struct net_client_auth *a,
    const struct sealed *files, char *error, size_t error_size)
{
	ensure(t->is_server && !t->client_auth);
	t->client_auth =
	    memory_zalloc(sizeof(*t->client_auth) + a->count * sizeof(t->client_auth->rows[0]));
	t->client_auth->asks = a;
	return tls_client_auth_load(t, files, error, error_size);
}

void tls_client_auth_free(struct tls_client_auth *auth)
{
	for (size_t i = 0; auth && i < auth->asks->count; i++)
		fini(&auth->rows[i]);
	free(auth);
}

/* ---- one certificate ---- */

const char *tls_client_auth_refuses(
    const struct tls_client_auth *auth, size_t row, STACK_OF(X509) * chain, int64_t now)
{
	const char *wrong = NULL;
	ensure(row < auth->asks->count);
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	ensure(check != NULL);
	if (X509_STORE_CTX_init(check, auth->rows[row].store, sk_X509_value(chain, 0), chain) !=
		1 ||
	    X509_STORE_CTX_set_default(check, "ssl_client") != 1)
		wrong = "it cannot be verified";
	X509_STORE_CTX_set_time(check, 0, (time_t)now);
	if (!wrong && X509_verify_cert(check) != 1)
		wrong = X509_verify_cert_error_string(X509_STORE_CTX_get_error(check));
	X509_STORE_CTX_free(check);
	ERR_clear_error();
	return wrong;
}

const char *tls_client_auth_resumes(const struct net_tls *t, const SSL *ssl)
{
	const struct net_client_auth *asks = t->client_auth->asks;
	const char *sni = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	size_t row = asks->find(asks->context, slice_of_string(sni ? sni : ""));
	STACK_OF(X509) *chain = SSL_get_peer_full_cert_chain(ssl);
	if (row >= asks->count || !chain)
		return "it cannot be verified again";
	return tls_client_auth_refuses(
	    t->client_auth, row, chain, (int64_t)(t->wall() / USEC_PER_SEC));
}

/* ---- one handshake ---- */

static void send_names(SSL *ssl, const struct authorities *a)
{
	STACK_OF(CRYPTO_BUFFER) *names = sk_CRYPTO_BUFFER_new_null();
	for (size_t i = 0; names && a->names && i < sk_CRYPTO_BUFFER_num(a->names); i++) {
		CRYPTO_BUFFER *name = sk_CRYPTO_BUFFER_value(a->names, i);
		CRYPTO_BUFFER_up_ref(name);
		if (!sk_CRYPTO_BUFFER_push(names, name))
			CRYPTO_BUFFER_free(name);
	}
	if (names)
		SSL_set0_client_CAs(ssl, names);
}

/* The first moment when a certificate of a chain has expired (seconds since the Unix epoch). */
static int64_t end_of(const STACK_OF(X509) * chain)
{
	int64_t ends = INT64_MAX;
	for (size_t i = 0; i < sk_X509_num(chain); i++) {
		int64_t end = tls_seconds(X509_get0_notAfter(sk_X509_value(chain, i)));
		ends = end < ends ? end : ends;
	}
	return ends;
}

/*
 * The session may be resumed while the whole chain is valid: else a client with a renewed certificate would resume the
 * session of the one before, and its connection would be ended. This bounds the sessions that are resumed from it too.
 */
static int on_verified(int is_good, X509_STORE_CTX *check)
{
	const STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(check);
	if (!is_good || X509_STORE_CTX_get_error_depth(check) > 0 || !chain)
		return is_good;
	const SSL *ssl = X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx());
	const struct net_tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	SSL_SESSION *session = SSL_get_session(ssl);
	int64_t left = end_of(chain) - (int64_t)(t->wall() / USEC_PER_SEC);
	uint32_t most = SSL_SESSION_get_timeout(session);
	SSL_SESSION_set_timeout(session, left < 0 ? 0 : left < most ? (uint32_t)left : most);
	return is_good;
}

bool tls_client_auth_ask(const struct tls_client_auth *auth, SSL *ssl, const char *sni)
{
	const struct net_client_auth *asks = auth->asks;
	size_t row = asks->find(asks->context, slice_of_string(sni ? sni : ""));
	if (row >= asks->count)
		return true;
	const struct authorities *a = &auth->rows[row];
	int mode = SSL_VERIFY_PEER;
	if (asks->authorities[row].is_required)
		mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
	SSL_set_verify(ssl, mode, on_verified);
	SSL_set_max_cert_list(ssl, NET_CLIENT_CHAIN_BYTES);
	send_names(ssl, a);
	/* Without them the connection must not go on. */
	return SSL_set1_verify_cert_store(ssl, a->store) == 1 &&
	       SSL_set_session_id_context(ssl, a->id, sizeof(a->id)) == 1;
}
