/* SPDX-License-Identifier: MIT */
/*
 * Loads the certificates of a TLS server, beside those in use, which they replace when all are good. There may be a
 * thousand with their keys: they are loaded in steps, so that no loop pass takes long, and those of before go in steps
 * too.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/net/tls.h"
#include <openssl/mem.h>
#include <stdio.h>

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
	tls_server_set(t, c->context);
	return true;
}

struct tls_loading {
	const struct sealed *files;
	size_t source;             /* the next one of the server's, or the one of the open bundle */
	struct sealed_view bundle; /* open while `rest` is not empty */
	struct slice rest;
	/* The certificates that will be in use; when they are, those of before. */
	struct tls_certificate *list;
	size_t count, capacity;
	bool has_exchanged;
};

/* One that has not changed: to load a key takes long, and a folder may have many. */
static struct tls_certificate *find_loaded(struct net_tls *t, uint64_t digest)
{
	for (size_t i = 0; i < t->certificate_count; i++)
		if (t->certificates[i].digest == digest && !t->certificates[i].is_shared)
			return &t->certificates[i];
	return NULL;
}

static bool add(struct net_tls *t, const struct tls_pair *p, char *error, size_t size)
{
	struct tls_loading *l = t->loading;
	uint64_t digest = hash_bytes(0, p->chain.bytes.ptr, p->chain.bytes.len);
	digest = hash_bytes(digest, p->key.bytes.ptr, p->key.bytes.len);
	if (l->count == l->capacity) {
		l->capacity = 2 * l->capacity + 1;
		l->list = memory_resize(l->list, l->capacity, sizeof(*l->list));
	}
	struct tls_certificate *c = &l->list[l->count++];
	*c = (struct tls_certificate){.digest = digest};
	struct tls_certificate *before = find_loaded(t, digest);
	if (!before)
		return load(t, c, p, error, size);
	before->is_shared = true;
	*c = *before;
	return true;
}

static bool add_files(
    struct net_tls *t, const struct net_certificate *from, char *error, size_t size)
{
	struct tls_pair p;
	if (!tls_pair_open(&p, from, t->loading->files, error, size))
		return false;
	bool is_good = add(t, &p, error, size);
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

/* The next pair of the open bundle. */
static bool add_of_bundle(struct net_tls *t, char *error, size_t size)
{
	struct tls_loading *l = t->loading;
	char name[512];
	struct tls_pair p = {.chain_file = name, .key_file = name};
	p.chain.bytes = p.key.bytes = cut_pair(&l->rest);
	struct slice line = p.chain.bytes;
	line = slice_cut(&line, '\n');
	slice_skip(&line, sizeof(NET_BUNDLE_LINE) - 1);
	snprintf(name, sizeof(name), "%.*s", SLICE_ARG(line));
	bool is_good = add(t, &p, error, size);
	if (l->rest.len == 0)
		sealed_view_close(&l->bundle);
	return is_good;
}

/* One more certificate, or none of an empty bundle. */
static bool add_next(struct net_tls *t, char *error, size_t size)
{
	struct tls_loading *l = t->loading;
	if (l->rest.len > 0)
		return add_of_bundle(t, error, size);
	const struct net_certificate *from = &t->sources[l->source++];
	if (from->key_file)
		return add_files(t, from, error, size);
	if (!tls_open_file(&l->bundle, from->chain_file, l->files, error, size))
		return false;
	l->rest = l->bundle.bytes;
	if (l->rest.len == 0)
		sealed_view_close(&l->bundle);
	return true;
}

/* ---- the exchange ---- */

static void certificate_free(struct tls_certificate *c)
{
	if (c->is_shared)
		return;
	SSL_CTX_free(c->context);
	tls_names_fini(&c->names);
}

void tls_certificates_free(struct tls_certificate *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		certificate_free(&list[i]);
	free(list);
}

static void end_sharing(struct tls_certificate *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i].is_shared = false;
}

/* Reads all files that are no certificates. False with a message: all is as before. */
static bool read_others(struct net_tls *t, char *error, size_t size)
{
	const struct tls_loading *l = t->loading;
	const char *ech_file = t->parameters.ech_file;
	struct tls_ticket_file tickets = t->ticket_file;
	SSL_ECH_KEYS *ech =
	    ech_file ? tls_ech_read(ech_file, l->files, l->list, l->count, error, size) : NULL;
	bool is_good = (!ech_file || ech) &&
		       (!tickets.path || tls_ticket_file_read(&tickets, l->files, error, size)) &&
		       (!t->client_auth || tls_client_auth_load(t, l->files, error, size));
	if (is_good)
		t->ticket_file = tickets;
	OPENSSL_cleanse(&tickets, sizeof(tickets));
	/* Certificates of before that stay get the new keys too. */
	for (size_t i = 0; is_good && ech && i < l->count; i++)
		ensure(SSL_CTX_set1_ech_keys(l->list[i].context, ech));
	SSL_ECH_KEYS_free(ech);
	return is_good;
}

static bool exchange(struct net_tls *t, char *error, size_t size)
{
	struct tls_loading *l = t->loading;
	if (l->count == 0) {
		snprintf(error, size, "no certificate");
		return false;
	}
	if (!read_others(t, error, size))
		return false;
	struct tls_certificate *before = t->certificates;
	size_t count = t->certificate_count;
	t->certificates = l->list;
	t->certificate_count = l->count;
	end_sharing(t->certificates, t->certificate_count);
	t->context = t->certificates[0].context;
	l->list = before;
	l->count = count;
	l->has_exchanged = true;
	return true;
}

/* ---- steps ---- */

void tls_loading_begin(struct net_tls *t, const struct sealed *files)
{
	tls_loading_end(t);
	t->loading = memory_new(struct tls_loading);
	t->loading->files = files;
}

void tls_loading_end(struct net_tls *t)
{
	struct tls_loading *l = t->loading;
	if (!l)
		return;
	if (l->rest.len > 0)
		sealed_view_close(&l->bundle);
	tls_certificates_free(l->list, l->count);
	end_sharing(t->certificates, t->certificate_count);
	free(l);
	t->loading = NULL;
}

/*
 * glibc joins small blocks that were freed when it next has to do with a large one: 5 ms for those of a thousand
 * certificates. So each step has a large one.
 */
static void join_freed_blocks(void)
{
	enum { LARGE = 4096 };
	void *block = memory_alloc(LARGE);
	explicit_bzero(block, LARGE);
	free(block);
}

enum tls_loading_result tls_loading_step(
    struct net_tls *t, usec until, char *error, size_t error_size)
{
	struct tls_loading *l = t->loading;
	bool is_good = true;
	do {
		if (l->has_exchanged && l->count > 0)
			certificate_free(&l->list[--l->count]);
		else if (l->rest.len > 0 || l->source < t->source_count)
			is_good = add_next(t, error, error_size);
		else if (!l->has_exchanged)
			is_good = exchange(t, error, error_size);
		else
			break;
	} while (is_good && clock_monotonic() < until);
	join_freed_blocks();
	if (is_good && (!l->has_exchanged || l->count > 0))
		return TLS_LOADING_GOES_ON;
	tls_loading_end(t);
	return is_good ? TLS_LOADING_DONE : TLS_LOADING_FAILED;
}
