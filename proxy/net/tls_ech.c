/* SPDX-License-Identifier: MIT */
/*
 * Encrypted ClientHello (RFC 9849): the keys of a server, in the PEM form of RFC 9934. Each PRIVATE KEY is followed by the
 * ECHCONFIG that clients know it by. Which name is encrypted is no concern of this file: the library decrypts before it
 * asks for a certificate.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/tls.h"
#include <openssl/bytestring.h>
#include <openssl/curve25519.h>
#include <openssl/err.h>
#include <openssl/hpke.h>
#include <openssl/mem.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdio.h>

/* RFC 9849 4: the version of an ECHConfig, which is also the number of the extension. */
enum { ECH_VERSION = TLSEXT_TYPE_encrypted_client_hello };

struct ech_file {
	SSL_ECH_KEYS *keys;
	EVP_HPKE_KEY key; /* of the last PRIVATE KEY */
	bool has_key;
	unsigned pairs, configs; /* of this version */
	const struct tls_certificate *certificates;
	size_t certificate_count;
	char outer[256]; /* the outer name of the last ECHConfig */
};

/* The contents of an ECHConfig up to the name that its clients show to everybody. */
static bool read_outer_name(struct ech_file *f, CBS contents)
{
	CBS skipped, name;
	uint8_t config_id, most;
	uint16_t kem;
	if (!CBS_get_u8(&contents, &config_id) || !CBS_get_u16(&contents, &kem) ||
	    !CBS_get_u16_length_prefixed(&contents, &skipped) ||
	    !CBS_get_u16_length_prefixed(&contents, &skipped) || !CBS_get_u8(&contents, &most) ||
	    !CBS_get_u8_length_prefixed(&contents, &name) || CBS_contains_zero_byte(&name))
		return false;
	snprintf(
	    f->outer, sizeof(f->outer), "%.*s", (int)CBS_len(&name), (const char *)CBS_data(&name));
	return true;
}

/* Each function below returns NULL, or the mistake. */

static const char *add_config(struct ech_file *f, CBS *list)
{
	CBS config = *list, contents;
	uint16_t version;
	if (!CBS_get_u16(list, &version) || !CBS_get_u16_length_prefixed(list, &contents))
		return "an ECHCONFIG is malformed";
	if (version != ECH_VERSION)
		return NULL; /* RFC 9849 4: other versions are for others */
	if (!read_outer_name(f, contents))
		return "an ECHCONFIG is malformed";
	size_t length = CBS_len(&config) - CBS_len(list);
	f->configs++;
	/* Clients that have an old key get the first one. */
	if (!SSL_ECH_KEYS_add(f->keys, f->pairs == 0, CBS_data(&config), length, &f->key))
		return "an ECHCONFIG does not fit the PRIVATE KEY above it, or is of an unknown "
		       "kind";
	return tls_certificates_cover(
		   f->certificates, f->certificate_count, slice_of_string(f->outer))
		   ? NULL
		   : "no certificate covers the outer name of an ECHCONFIG";
}

static const char *add_list(struct ech_file *f, CBS block)
{
	CBS list;
	const char *wrong = NULL;
	if (!f->has_key)
		return "an ECHCONFIG has no PRIVATE KEY above it";
	if (f->pairs == NET_ECH_PAIRS)
		return "there are too many keys";
	if (!CBS_get_u16_length_prefixed(&block, &list) || CBS_len(&block) > 0)
		return "an ECHCONFIG is malformed";
	unsigned before = f->configs;
	while (CBS_len(&list) > 0 && !wrong)
		wrong = add_config(f, &list);
	f->pairs += f->configs > before;
	f->has_key = false;
	return wrong;
}

static const char *take_key(struct ech_file *f, CBS block)
{
	uint8_t raw[X25519_PRIVATE_KEY_LEN];
	size_t length = sizeof(raw);
	EVP_PKEY *key = EVP_parse_private_key(&block);
	EVP_HPKE_KEY_cleanup(&f->key);
	f->has_key = key && EVP_PKEY_id(key) == EVP_PKEY_X25519 &&
		     EVP_PKEY_get_raw_private_key(key, raw, &length) &&
		     EVP_HPKE_KEY_init(&f->key, EVP_hpke_x25519_hkdf_sha256(), raw, length);
	OPENSSL_cleanse(raw, sizeof(raw));
	EVP_PKEY_free(key);
	return f->has_key ? NULL : "a PRIVATE KEY is none of X25519";
}

/* The next block that matters. *is_at_end: there is none. */
static const char *read_block(struct ech_file *f, BIO *in, bool *is_at_end)
{
	char *label = NULL, *header = NULL;
	uint8_t *data = NULL;
	long length = 0;
	const char *wrong = NULL;
	CBS block;
	*is_at_end = !PEM_read_bio(in, &label, &header, &data, &length);
	if (*is_at_end)
		return NULL;
	CBS_init(&block, data, (size_t)length);
	if (strcmp(label, "PRIVATE KEY") == 0)
		wrong = take_key(f, block);
	else if (strcmp(label, "ECHCONFIG") == 0)
		wrong = add_list(f, block);
	OPENSSL_cleanse(data, (size_t)length);
	OPENSSL_free(data);
	OPENSSL_free(header);
	OPENSSL_free(label);
	return wrong;
}

SSL_ECH_KEYS *tls_ech_read(const char *file, const struct sealed *files,
    const struct tls_certificate *certificates, size_t count, char *error, size_t size)
{
	struct sealed_view v;
	struct ech_file f = {.certificates = certificates, .certificate_count = count};
	const char *wrong = NULL;
	bool is_at_end = false;
	if (!tls_open_file(&v, file, files, error, size))
		return NULL;
	EVP_HPKE_KEY_zero(&f.key);
	f.keys = SSL_ECH_KEYS_new();
	ensure(f.keys != NULL);
	BIO *in = tls_reader(&v);
	while (!wrong && !is_at_end)
		wrong = read_block(&f, in, &is_at_end);
	if (!wrong && f.has_key)
		wrong = "a PRIVATE KEY has no ECHCONFIG below it";
	if (!wrong && f.pairs == 0)
		wrong = "there is no ECHCONFIG of this version";
	BIO_free(in);
	sealed_view_close(&v);
	EVP_HPKE_KEY_cleanup(&f.key);
	ERR_clear_error();
	if (!wrong)
		return f.keys;
	SSL_ECH_KEYS_free(f.keys);
	snprintf(error, size, "%s: %s%s%s%s", file, wrong, f.outer[0] ? " (" : "", f.outer,
	    f.outer[0] ? ")" : "");
	return NULL;
}

bool net_ech_check(const struct net_tls *t, const char *file, const struct sealed *files,
    char *error, size_t error_size)
{
	SSL_ECH_KEYS *keys =
	    tls_ech_read(file, files, t->certificates, t->certificate_count, error, error_size);
	SSL_ECH_KEYS_free(keys);
	return keys != NULL;
}

/* ---- another key ---- */

/* The longest name that clients hide, rounded up: what they send is padded to that. */
enum { LONGEST_NAME = 128 };

static char *write_pair(EVP_PKEY *key, const uint8_t *list, size_t length)
{
	BIO *out = BIO_new(BIO_s_mem());
	size_t base64;
	ensure(out != NULL && EVP_EncodedLength(&base64, length));
	uint8_t *text = OPENSSL_malloc(base64);
	ensure(text != NULL);
	EVP_EncodeBlock(text, list, length);
	ensure(BIO_printf(out, "# The HTTPS record of each hidden name has ech=%s\n",
		   (const char *)text) > 0);
	OPENSSL_free(text);
	ensure(PEM_write_bio_PKCS8PrivateKey(out, key, NULL, NULL, 0, NULL, NULL));
	ensure(PEM_write_bio(out, "ECHCONFIG", "", list, (long)length));
	return tls_text(out);
}

char *net_ech_make(const char *outer_name)
{
	uint8_t public_key[X25519_PUBLIC_VALUE_LEN], raw[X25519_PRIVATE_KEY_LEN], id;
	EVP_HPKE_KEY hpke;
	SSL_ECH_KEYS *keys = SSL_ECH_KEYS_new();
	uint8_t *config = NULL, *list = NULL;
	size_t length = 0, list_length = 0;
	char *text = NULL;
	EVP_HPKE_KEY_zero(&hpke);
	X25519_keypair(public_key, raw);
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, raw, sizeof(raw));
	ensure(keys && key && RAND_bytes(&id, 1) &&
	       EVP_HPKE_KEY_init(&hpke, EVP_hpke_x25519_hkdf_sha256(), raw, sizeof(raw)));
	OPENSSL_cleanse(raw, sizeof(raw));
	if (SSL_marshal_ech_config(&config, &length, id, &hpke, outer_name, LONGEST_NAME) &&
	    SSL_ECH_KEYS_add(keys, 1, config, length, &hpke) &&
	    SSL_ECH_KEYS_marshal_retry_configs(keys, &list, &list_length))
		text = write_pair(key, list, list_length);
	ERR_clear_error();
	OPENSSL_free(list);
	OPENSSL_free(config);
	SSL_ECH_KEYS_free(keys);
	EVP_HPKE_KEY_cleanup(&hpke);
	EVP_PKEY_free(key);
	return text;
}
