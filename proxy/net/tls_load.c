/* SPDX-License-Identifier: MIT */
/*
 * Loads certificates, keys and authorities into a TLS context, from sealed memory. The library's functions
 * for files look at a file twice, and it may be another one by then.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <openssl/pem.h>

BIO *tls_reader(const struct sealed_view *v)
{
	BIO *in = BIO_new_mem_buf(v->bytes.ptr, (int)v->bytes.len);
	ensure(in != NULL);
	return in;
}

bool tls_is_at_end(void)
{
	uint32_t last = ERR_peek_last_error();
	return ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
}

bool tls_load_chain(SSL_CTX *x, const struct sealed_view *v)
{
	BIO *in = tls_reader(v);
	X509 *certificate = PEM_read_bio_X509_AUX(in, NULL, NULL, NULL);
	bool is_good = certificate && SSL_CTX_use_certificate(x, certificate);
	X509_free(certificate);
	while (is_good && (certificate = PEM_read_bio_X509(in, NULL, NULL, NULL))) {
		is_good = SSL_CTX_add0_chain_cert(x, certificate);
		if (!is_good)
			X509_free(certificate);
	}
	is_good = is_good && tls_is_at_end();
	BIO_free(in);
	if (is_good)
		ERR_clear_error();
	return is_good;
}

bool tls_load_key(SSL_CTX *x, const struct sealed_view *v)
{
	BIO *in = tls_reader(v);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
	bool is_good = key && SSL_CTX_use_PrivateKey(x, key);
	EVP_PKEY_free(key);
	BIO_free(in);
	return is_good;
}

bool tls_load_authorities(SSL_CTX *x, const struct sealed_view *v)
{
	BIO *in = tls_reader(v);
	X509_STORE *store = SSL_CTX_get_cert_store(x);
	STACK_OF(X509_INFO) *all = PEM_X509_INFO_read_bio(in, NULL, NULL, NULL);
	size_t count = 0;
	for (size_t i = 0; all && i < sk_X509_INFO_num(all); i++) {
		const X509_INFO *info = sk_X509_INFO_value(all, i);
		/* One that is there twice is no mistake. */
		if (info->x509)
			count += X509_STORE_add_cert(store, info->x509) == 1;
		if (info->crl)
			count += X509_STORE_add_crl(store, info->crl) == 1;
	}
	if (all && count == 0)
		ERR_put_error(
		    ERR_LIB_X509, 0, X509_R_NO_CERTIFICATE_OR_CRL_FOUND, __FILE__, __LINE__);
	sk_X509_INFO_pop_free(all, X509_INFO_free);
	BIO_free(in);
	if (count > 0)
		ERR_clear_error();
	return count > 0;
}

bool tls_load_bytes(SSL_CTX *x, bool (*load)(SSL_CTX *, const struct sealed_view *),
    const char *file, const struct sealed_view *v, char *error, size_t size)
{
	char reason[128];
	ERR_clear_error();
	bool is_good = load(x, v);
	if (!is_good)
		snprintf(error, size, "%s: %s", file,
		    tls_reason(ERR_get_error(), reason, sizeof(reason)));
	ERR_clear_error();
	return is_good;
}

bool tls_open_file(
    struct sealed_view *v, const char *file, const struct sealed *files, char *error, size_t size)
{
	int wrong = sealed_view_open(files, file, v);
	if (wrong)
		snprintf(error, size, "%s: %s", file, strerrordesc_np(wrong));
	return wrong == 0;
}

bool tls_load_file(SSL_CTX *x, bool (*load)(SSL_CTX *, const struct sealed_view *),
    const char *file, const struct sealed *files, char *error, size_t size)
{
	struct sealed_view v;
	if (!tls_open_file(&v, file, files, error, size))
		return false;
	bool is_good = tls_load_bytes(x, load, file, &v, error, size);
	sealed_view_close(&v);
	return is_good;
}

bool tls_pair_open(struct tls_pair *p, const struct net_certificate *from,
    const struct sealed *files, char *error, size_t size)
{
	*p = (struct tls_pair){.chain_file = from->chain_file, .key_file = from->key_file};
	if (!tls_open_file(&p->chain, p->chain_file, files, error, size))
		return false;
	if (tls_open_file(&p->key, p->key_file, files, error, size))
		return true;
	sealed_view_close(&p->chain);
	return false;
}

void tls_pair_close(struct tls_pair *p)
{
	sealed_view_close(&p->key);
	sealed_view_close(&p->chain);
}

bool tls_pair_load(SSL_CTX *x, const struct tls_pair *p, char *error, size_t size)
{
	char reason[128];
	if (!tls_load_bytes(x, tls_load_chain, p->chain_file, &p->chain, error, size) ||
	    !tls_load_bytes(x, tls_load_key, p->key_file, &p->key, error, size))
		return false;
	if (SSL_CTX_check_private_key(x))
		return true;
	snprintf(error, size, "%s: %s", p->key_file,
	    tls_reason(ERR_get_error(), reason, sizeof(reason)));
	ERR_clear_error();
	return false;
}
