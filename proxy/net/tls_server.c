/* SPDX-License-Identifier: MIT */
/*
 * The TLS server: loads its certificates, chooses the ALPN protocol, and sets up tickets. tls_choice.c chooses the
 * certificate.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <stdio.h>

static int on_alpn(SSL *ssl, const uint8_t **out, uint8_t *out_length, const uint8_t *offered,
    unsigned offered_length, void *arg)
{
	(void)ssl;
	const struct net_tls *t = arg;
	for (size_t i = 0; i < t->alpn_length; i += 1u + t->alpn[i]) {
		for (size_t j = 0; j < offered_length; j += 1u + offered[j]) {
			if (offered[j] != t->alpn[i] ||
			    memcmp(offered + j + 1, t->alpn + i + 1, offered[j]) != 0)
				continue;
			*out = t->alpn + i + 1;
			*out_length = t->alpn[i];
			return SSL_TLSEXT_ERR_OK;
		}
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL; /* no_application_protocol, RFC 7301 3.2 */
}

/* ---- loading ---- */

/* TLS 1.3 signature scheme of the key; 0: RSA's are several, and other kinds have none. */
static uint16_t scheme_of(const EVP_PKEY *key)
{
	if (EVP_PKEY_id(key) == EVP_PKEY_ED25519)
		return SSL_SIGN_ED25519;
	if (EVP_PKEY_id(key) != EVP_PKEY_EC)
		return 0;
	const EC_KEY *ec = EVP_PKEY_get0_EC_KEY(key);
	int curve = EC_GROUP_get_curve_name(EC_KEY_get0_group(ec));
	if (curve == NID_X9_62_prime256v1)
		return SSL_SIGN_ECDSA_SECP256R1_SHA256;
	if (curve == NID_secp384r1)
		return SSL_SIGN_ECDSA_SECP384R1_SHA384;
	return SSL_SIGN_ECDSA_SECP521R1_SHA512;
}

static void set_server(struct net_tls *t, SSL_CTX *x)
{
	static const uint8_t id[] = "pushgate";
	ensure(SSL_CTX_set_session_id_context(x, id, sizeof(id) - 1));
	/* Resumption by tickets only: a session cache would grow, and other workers could not use
	 * it. */
	SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF);
	tls_tickets_set(x);
	tls_choice_set(x, t);
	if (t->alpn_length)
		SSL_CTX_set_alpn_select_cb(x, on_alpn, t);
}

/* Loads a certificate that is not there yet. */
static bool load(struct net_tls *t, struct tls_certificate *c, const struct tls_pair *p,
    char *error, size_t size)
{
	c->context = tls_context_new(t);
	if (!tls_pair_load(c->context, p, error, size))
		return false;
	const EVP_PKEY *key = SSL_CTX_get0_privatekey(c->context);
	c->key_type = EVP_PKEY_id(key);
	c->scheme = scheme_of(key);
	tls_names_init(&c->names, SSL_CTX_get0_certificate(c->context));
	set_server(t, c->context);
	return true;
}

/* The certificates that will be in use, while they are loaded. */
struct loading {
	struct net_tls *tls;
	const struct sealed *files;
	struct tls_certificate *list;
	size_t count;
	char *error;
	size_t error_size;
};

/* One that has not changed: to load a key takes long, and a folder may have many. */
static struct tls_certificate *find_loaded(struct net_tls *t, uint64_t digest)
{
	for (size_t i = 0; i < t->certificate_count; i++)
		if (t->certificates[i].digest == digest && !t->certificates[i].is_shared)
			return &t->certificates[i];
	return NULL;
}

static bool add(struct loading *l, const struct tls_pair *p)
{
	uint64_t digest = hash_bytes(0, p->chain.bytes.ptr, p->chain.bytes.len);
	digest = hash_bytes(digest, p->key.bytes.ptr, p->key.bytes.len);
	l->list = memory_resize(l->list, l->count + 1, sizeof(*l->list));
	struct tls_certificate *c = &l->list[l->count++];
	*c = (struct tls_certificate){.digest = digest};
	struct tls_certificate *before = find_loaded(l->tls, digest);
	if (!before)
		return load(l->tls, c, p, l->error, l->error_size);
	before->is_shared = true;
	*c = *before;
	return true;
}

static bool add_files(struct loading *l, const struct net_certificate *from)
{
	struct tls_pair p;
	if (!tls_pair_open(&p, from, l->files, l->error, l->error_size))
		return false;
	bool is_good = add(l, &p);
	tls_pair_close(&p);
	return is_good;
}

/* The bytes up to the next line that begins a certificate of a bundle. */
static struct slice cut_pair(struct slice *rest)
{
	static const char mark[] = "\n" NET_BUNDLE_LINE;
	const char *next = rest->len ? memmem(rest->ptr, rest->len, mark, sizeof(mark) - 1) : NULL;
	struct slice pair = next ? slice_sub(*rest, 0, (size_t)(next - rest->ptr) + 1) : *rest;
	*rest = slice_from(*rest, pair.len);
	return pair;
}

static bool add_bundle(struct loading *l, const char *bundle)
{
	struct sealed_view v;
	char name[512];
	bool is_good = tls_open_file(&v, bundle, l->files, l->error, l->error_size);
	struct slice rest = is_good ? v.bytes : SLICE("");
	while (is_good && rest.len > 0) {
		struct tls_pair p = {.chain_file = name, .key_file = name};
		p.chain.bytes = p.key.bytes = cut_pair(&rest);
		struct slice line = p.chain.bytes;
		line = slice_cut(&line, '\n');
		slice_skip(&line, sizeof(NET_BUNDLE_LINE) - 1);
		snprintf(name, sizeof(name), "%.*s", SLICE_ARG(line));
		is_good = add(l, &p);
	}
	sealed_view_close(&v);
	return is_good;
}

void tls_certificates_free(struct tls_certificate *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].is_shared)
			continue;
		SSL_CTX_free(list[i].context);
		tls_names_fini(&list[i].names);
	}
	free(list);
}

static void end_sharing(struct tls_certificate *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i].is_shared = false;
}

bool tls_server_load(struct net_tls *t, const struct sealed *files, char *error, size_t error_size)
{
	struct loading l = {.tls = t, .files = files, .error = error, .error_size = error_size};
	bool is_good = true;
	for (size_t i = 0; i < t->source_count && is_good; i++)
		is_good = t->sources[i].key_file ? add_files(&l, &t->sources[i])
						 : add_bundle(&l, t->sources[i].chain_file);
	if (is_good && l.count == 0) {
		snprintf(error, error_size, "no certificate");
		is_good = false;
	}
	if (is_good && t->ticket_file.path)
		is_good = tls_ticket_file_read(&t->ticket_file, files, error, error_size);
	if (!is_good) {
		tls_certificates_free(l.list, l.count);
		end_sharing(t->certificates, t->certificate_count);
		return false;
	}
	tls_certificates_free(t->certificates, t->certificate_count);
	end_sharing(l.list, l.count);
	t->certificates = l.list;
	t->certificate_count = l.count;
	t->context = t->certificates[0].context;
	return true;
}

struct net_tls *net_tls_server_new(
    const struct net_tls_server_options *o, char *error, size_t error_size)
{
	struct net_tls *t = tls_new(true, o->alpn, o->parameters);
	t->sources = o->certificates;
	t->source_count = o->certificate_count;
	t->ticket_file.path = o->ticket_file;
	if (!tls_server_load(t, o->files, error, error_size)) {
		net_tls_free(t);
		return NULL;
	}
	t->challenge = o->challenge;
	if (o->tickets)
		t->tickets = *o->tickets;
	else
		net_tickets_init(&t->tickets, t->wall());
	return t;
}

size_t net_tls_certificate_count(const struct net_tls *t)
{
	return t->certificate_count;
}

bool net_tls_covers(const struct net_tls *t, struct slice host)
{
	for (size_t i = 0; i < t->certificate_count; i++)
		if (tls_names_cover(&t->certificates[i].names, host))
			return true;
	return false;
}

bool net_tls_certificate_covers(const struct net_tls *t, size_t i, struct slice host)
{
	const struct tls_names *names = &t->certificates[i].names;
	struct slice below = slice_from(host, 1);
	if (!slice_starts_with(host, SLICE("*.")))
		return tls_names_cover(names, host);
	for (size_t k = 0; k < names->dns_count; k++) {
		struct slice name = slice_of_string(names->dns[k]);
		if (name.len >= below.len &&
		    slice_equal_nocase(slice_from(name, name.len - below.len), below))
			return true;
	}
	return false;
}
