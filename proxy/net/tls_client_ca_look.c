/* SPDX-License-Identifier: MIT */
/*
 * Looks for flaws in the authorities and in the lists of revoked certificates by which clients are verified (RFC 5280 6):
 * the library refuses all certificates of such an authority, or does not look at such a list. For messages; handshakes
 * have no part in it.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

struct look {
	const struct net_ca_judge *judge;
	STACK_OF(X509) * authorities;
	STACK_OF(X509_CRL) * lists;
};

/* ---- what the files have ---- */

static void read_file(struct look *k, const struct sealed *files, const char *file)
{
	struct sealed_view v;
	if (!file || sealed_view_open(files, file, &v) != 0)
		return;
	BIO *in = tls_reader(&v);
	STACK_OF(X509_INFO) *all = PEM_X509_INFO_read_bio(in, NULL, NULL, NULL);
	for (size_t i = 0; all && i < sk_X509_INFO_num(all); i++) {
		X509_INFO *info = sk_X509_INFO_value(all, i);
		/* The lists take what the info owned. */
		if (info->x509 && sk_X509_push(k->authorities, info->x509))
			info->x509 = NULL;
		if (info->crl && sk_X509_CRL_push(k->lists, info->crl))
			info->crl = NULL;
	}
	sk_X509_INFO_pop_free(all, X509_INFO_free);
	BIO_free(in);
	sealed_view_close(&v);
	ERR_clear_error();
}

static bool has_authority(const struct look *k, const X509_NAME *name)
{
	for (size_t i = 0; i < sk_X509_num(k->authorities); i++)
		if (X509_NAME_cmp(X509_get_subject_name(sk_X509_value(k->authorities, i)), name) ==
		    0)
			return true;
	return false;
}

/* A list without an end does not expire. */
static bool is_current(const X509_CRL *list, int64_t now)
{
	const ASN1_TIME *ends = X509_CRL_get0_nextUpdate(list);
	return !ends || tls_seconds(ends) >= now;
}

static bool has_list_of(const struct look *k, const X509_NAME *name, int64_t now)
{
	for (size_t i = 0; i < sk_X509_CRL_num(k->lists); i++) {
		const X509_CRL *list = sk_X509_CRL_value(k->lists, i);
		if (X509_NAME_cmp(X509_CRL_get_issuer(list), name) == 0 && is_current(list, now))
			return true;
	}
	return false;
}

/* ---- what is wrong with them ---- */

static void tell(
    const struct look *k, enum net_ca_flaw flaw, const X509_NAME *name, const ASN1_TIME *when)
{
	char text[256] = "";
	const uint8_t *bytes = NULL;
	size_t length = 0;
	BIO *out = BIO_new(BIO_s_mem());
	if (out && X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253) >= 0 &&
	    BIO_mem_contents(out, &bytes, &length))
		snprintf(text, sizeof(text), "%.*s", (int)length, (const char *)bytes);
	BIO_free(out);
	k->judge->found(k->judge->context, flaw, text, when ? tls_seconds(when) : 0);
}

static void judge_authority(const struct look *k, X509 *a, bool wants_lists)
{
	const X509_NAME *name = X509_get_subject_name(a), *issuer = X509_get_issuer_name(a);
	if (tls_seconds(X509_get0_notAfter(a)) < k->judge->now)
		tell(k, NET_CA_EXPIRED, name, X509_get0_notAfter(a));
	bool is_signed_by_another = X509_NAME_cmp(name, issuer) != 0;
	if (is_signed_by_another && !X509_check_ca(a))
		tell(k, NET_CA_NONE, name, NULL);
	else if (is_signed_by_another && !has_authority(k, issuer))
		tell(k, NET_CA_WITHOUT_ROOT, name, NULL);
	else if (wants_lists && !has_list_of(k, name, 0))
		tell(k, NET_CA_WITHOUT_LIST, name, NULL);
}

static void judge_list(const struct look *k, const X509_CRL *list)
{
	const X509_NAME *issuer = X509_CRL_get_issuer(list);
	if (!has_authority(k, issuer))
		tell(k, NET_CRL_OF_OTHERS, issuer, NULL);
	else if (!has_list_of(k, issuer, k->judge->now))
		tell(k, NET_CRL_EXPIRED, issuer, X509_CRL_get0_nextUpdate(list));
}

void net_client_ca_judge(
    const struct net_client_ca *ca, const struct sealed *files, const struct net_ca_judge *judge)
{
	struct look k = {judge, sk_X509_new_null(), sk_X509_CRL_new_null()};
	ensure(k.authorities && k.lists);
	read_file(&k, files, ca->ca_file);
	size_t authorities = sk_X509_num(k.authorities);
	read_file(&k, files, ca->crl_file);
	for (size_t i = 0; i < authorities; i++)
		judge_authority(&k, sk_X509_value(k.authorities, i), ca->crl_file);
	for (size_t i = 0; i < sk_X509_CRL_num(k.lists) && ca->crl_file; i++)
		judge_list(&k, sk_X509_CRL_value(k.lists, i));
	if (!ca->crl_file && sk_X509_CRL_num(k.lists) > 0)
		tell(&k, NET_CRL_UNUSED, X509_CRL_get_issuer(sk_X509_CRL_value(k.lists, 0)), NULL);
	sk_X509_pop_free(k.authorities, X509_free);
	sk_X509_CRL_pop_free(k.lists, X509_CRL_free);
}
