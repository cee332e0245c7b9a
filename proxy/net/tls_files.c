/* SPDX-License-Identifier: MIT */
/*
 * Looks into the files of certificates and keys, for messages about their mistakes. The TLS contexts read
 * the same sealed bytes themselves (tls_load.c).
 */
#include "proxy/base/ensure.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/* ---- PEM blocks ---- */

static void count_block(struct net_pem_file *f, struct slice label, struct slice rest)
{
	static const struct slice key = SLICE_INIT("PRIVATE KEY");
	if (slice_equal(label, SLICE("ENCRYPTED PRIVATE KEY")))
		f->encrypted_keys++;
	else if (label.len >= key.len && slice_equal(slice_from(label, label.len - key.len), key)) {
		/* RFC 1421 4.6.1.1, as in "Proc-Type: 4,ENCRYPTED". */
		bool is_encrypted = slice_starts_with(rest, SLICE("Proc-Type: 4,ENCRYPTED"));
		*(is_encrypted ? &f->encrypted_keys : &f->keys) += 1;
	} else if (slice_equal(label, SLICE("CERTIFICATE")) ||
		   slice_equal(label, SLICE("X509 CERTIFICATE")) ||
		   slice_equal(label, SLICE("TRUSTED CERTIFICATE")))
		f->certificates++;
	else if (slice_equal(label, SLICE("PUBLIC KEY")))
		f->public_keys++;
	else if (slice_equal(label, SLICE("CERTIFICATE REQUEST")) ||
		 slice_equal(label, SLICE("NEW CERTIFICATE REQUEST")))
		f->requests++;
}

static void count_blocks(struct net_pem_file *f, struct slice text)
{
	static const struct slice begin = SLICE_INIT("-----BEGIN "), dashes = SLICE_INIT("-----");
	while (text.len > 0) {
		struct slice line = slice_cut(&text, '\n');
		if (!slice_starts_with(line, begin))
			continue;
		struct slice label = slice_from(line, begin.len);
		size_t end = 0;
		while (end < label.len && !slice_starts_with(slice_from(label, end), dashes))
			end++;
		count_block(f, slice_sub(label, 0, end), text);
	}
}

void net_pem_look(const struct sealed *files, const char *file, struct net_pem_file *f)
{
	struct sealed_view v;
	*f = (struct net_pem_file){.error = sealed_view_open(files, file, &v)};
	if (f->error)
		return;
	const char *bytes = v.bytes.ptr;
	size_t length = v.bytes.len;
	f->is_empty = length == 0;
	count_blocks(f, v.bytes);
	/* A DER SEQUENCE of more than 255 bytes; that of PKCS #12 begins with the INTEGER 3. */
	f->is_der = length > 8 && bytes[0] == 0x30 && bytes[1] == (char)0x82;
	f->is_pkcs12 = f->is_der && memcmp(bytes + 4, "\2\1\3", 3) == 0;
	sealed_view_close(&v);
}

/* ---- certificates ---- */

int64_t tls_seconds(const ASN1_TIME *time)
{
	int days = 0, seconds = 0;
	ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
	ensure(epoch != NULL);
	bool is_good = ASN1_TIME_diff(&days, &seconds, epoch, time);
	ASN1_TIME_free(epoch);
	return is_good ? (int64_t)days * 86400 + seconds : 0;
}

static void describe(struct net_chain_link *link, X509 *certificate)
{
	struct tls_names names;
	tls_names_init(&names, certificate);
	link->has_names = names.dns_count + names.ip_count > 0;
	X509_NAME *subject = X509_get_subject_name(certificate);
	if (X509_NAME_get_text_by_NID(
		subject, NID_commonName, link->subject, sizeof(link->subject)) <= 0)
		snprintf(link->subject, sizeof(link->subject), "%s",
		    names.dns_count ? names.dns[0] : "");
	tls_names_fini(&names);
	link->starts = tls_seconds(X509_get0_notBefore(certificate));
	link->ends = tls_seconds(X509_get0_notAfter(certificate));
	link->is_self_signed = X509_NAME_cmp(subject, X509_get_issuer_name(certificate)) == 0;
}

static EVP_PKEY *read_key(const struct sealed *files, const char *file)
{
	struct sealed_view v;
	if (!file || sealed_view_open(files, file, &v) != 0)
		return NULL;
	BIO *in = tls_reader(&v);
	/* No password: the key is not encrypted, or it cannot be read. */
	EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, (void *)(uintptr_t) "");
	BIO_free(in);
	sealed_view_close(&v);
	return key;
}

static void compare_with_key(struct net_chain_link *link, X509 *certificate, EVP_PKEY *key)
{
	EVP_PKEY *public_key = X509_get_pubkey(certificate);
	link->is_key_read = key != NULL;
	link->is_for_known_key = public_key != NULL;
	EVP_PKEY_free(public_key);
	link->has_key = key && X509_check_private_key(certificate, key) == 1;
}

size_t net_chain_read(const struct sealed *files, const char *chain_file, const char *key_file,
    struct net_chain_link links[NET_CHAIN_MOST])
{
	size_t count = 0;
	X509 *previous = NULL, *next;
	struct sealed_view v;
	if (sealed_view_open(files, chain_file, &v) != 0)
		return 0;
	EVP_PKEY *key = read_key(files, key_file);
	BIO *in = tls_reader(&v);
	while (count < NET_CHAIN_MOST && (next = PEM_read_bio_X509_AUX(in, NULL, NULL, NULL))) {
		links[count] = (struct net_chain_link){0};
		describe(&links[count], next);
		compare_with_key(&links[count], next, key);
		if (count > 0)
			links[count - 1].is_signed_by_next =
			    X509_check_issued(next, previous) == X509_V_OK;
		count++;
		X509_free(previous);
		previous = next;
	}
	X509_free(previous);
	EVP_PKEY_free(key);
	BIO_free(in);
	sealed_view_close(&v);
	ERR_clear_error();
	return count;
}
