/* SPDX-License-Identifier: MIT */
/*
 * The keys of session tickets (RFC 5077 4, RFC 8446 4.6.1). Each period has a secret, from which its
 * key is derived, and so is the secret of the next period; then the old secret is erased. Processes
 * that began with the same secret therefore change keys at the same time without a message. An attacker
 * who reads a process's memory learns the keys of this period and of the one before, and no older ones.
 *
 * Machines that resume each other's sessions have the secrets from a file instead, and change keys when it changes.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/net/tls.h"
#include <openssl/hmac.h>
#include <openssl/mem.h>
#include <openssl/rand.h>
#include <stdio.h>

static void derive(struct slice secret, struct slice label, uint8_t *out, size_t size)
{
	uint8_t mac[NET_HMAC_BYTES];
	ensure(size <= sizeof(mac));
	net_hmac(secret, label, mac);
	memcpy(out, mac, size);
	OPENSSL_cleanse(mac, sizeof(mac));
}

static void derive_key(struct slice secret, struct net_ticket_key *k)
{
	derive(secret, SLICE("pushgate ticket name"), k->name, sizeof(k->name));
	derive(secret, SLICE("pushgate ticket mac"), k->mac, sizeof(k->mac));
	derive(secret, SLICE("pushgate ticket cipher"), k->cipher, sizeof(k->cipher));
}

static struct slice secret_of(const struct net_tickets *t)
{
	return slice_of(t->secret, sizeof(t->secret));
}

void net_tickets_init(struct net_tickets *t, usec wall)
{
	*t = (struct net_tickets){.period = wall / NET_TICKET_PERIOD_USEC};
	hash_random(t->secret, sizeof(t->secret));
	derive_key(secret_of(t), &t->current);
}

void net_tickets_advance(struct net_tickets *t, usec wall)
{
	for (; t->period < wall / NET_TICKET_PERIOD_USEC; t->period++) {
		t->previous = t->current;
		t->has_previous = true;
		derive(secret_of(t), SLICE("pushgate ticket next"), t->secret, sizeof(t->secret));
		derive_key(secret_of(t), &t->current);
	}
}

void net_tickets_fini(struct net_tickets *t)
{
	OPENSSL_cleanse(t, sizeof(*t));
}

static bool is_named(const struct net_ticket_key *k, const uint8_t *name)
{
	return memcmp(k->name, name, sizeof(k->name)) == 0;
}

static int begin_sealing(const struct net_ticket_key *k, uint8_t *name, uint8_t *iv,
    EVP_CIPHER_CTX *cipher, HMAC_CTX *mac)
{
	memcpy(name, k->name, sizeof(k->name));
	bool is_ready = RAND_bytes(iv, EVP_MAX_IV_LENGTH) &&
			EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, k->cipher, iv) &&
			HMAC_Init_ex(mac, k->mac, sizeof(k->mac), EVP_sha256(), NULL);
	return is_ready ? 1 : -1;
}

static int begin_opening(
    const struct net_ticket_key *k, const uint8_t *iv, EVP_CIPHER_CTX *cipher, HMAC_CTX *mac)
{
	return EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, k->cipher, iv) &&
	       HMAC_Init_ex(mac, k->mac, sizeof(k->mac), EVP_sha256(), NULL);
}

static int on_shared_ticket(const struct tls_ticket_file *f, uint8_t *name, uint8_t *iv,
    EVP_CIPHER_CTX *cipher, HMAC_CTX *mac, int seals)
{
	if (seals)
		return begin_sealing(&f->keys[0], name, iv, cipher, mac);
	for (size_t i = 0; i < f->count; i++)
		if (is_named(&f->keys[i], name))
			return (i > 0 ? 2 : 1) * begin_opening(&f->keys[i], iv, cipher, mac);
	return 0;
}

/* Returns what SSL_CTX_set_tlsext_ticket_key_cb asks for; 2: the ticket is good, send a new one. */
static int on_ticket(
    SSL *ssl, uint8_t *name, uint8_t *iv, EVP_CIPHER_CTX *cipher, HMAC_CTX *mac, int seals)
{
	struct net_tls *tls = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	struct net_tickets *t = &tls->tickets;
	if (tls->ticket_file.count > 0)
		return on_shared_ticket(&tls->ticket_file, name, iv, cipher, mac, seals);
	net_tickets_advance(t, tls->wall());
	if (seals)
		return begin_sealing(&t->current, name, iv, cipher, mac);
	if (is_named(&t->current, name))
		return begin_opening(&t->current, iv, cipher, mac);
	if (t->has_previous && is_named(&t->previous, name))
		return 2 * begin_opening(&t->previous, iv, cipher, mac);
	return 0;
}

void tls_tickets_set(SSL_CTX *x)
{
	/* A ticket is good for a period at least: from the end of its own to the end of the next one. */
	SSL_CTX_set_session_psk_dhe_timeout(x, NET_TICKET_PERIOD_USEC / USEC_PER_SEC);
	ensure(SSL_CTX_set_tlsext_ticket_key_cb(x, on_ticket));
}

void net_tls_advance_tickets(struct net_tls *t)
{
	net_tickets_advance(&t->tickets, t->wall());
}

/* ---- the file that several machines share ---- */

/* 256 bits in base64 without padding have so many characters; in hexadecimal they have 64. */
enum { SECRET_LEAST = 43, SECRET_MOST = 1024 };

/* Reads one line. NULL, or the mistake. */
static const char *read_line(struct tls_ticket_file *f, struct slice line)
{
	line = slice_trim(line);
	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	if (line.len == 0 || line.ptr[0] == '#')
		return NULL;
	if (line.len < SECRET_LEAST || line.len > SECRET_MOST)
		return line.len < SECRET_LEAST ? "is too short for a secret" : "is too long";
	if (f->count == NET_TICKET_FILE_KEYS)
		return "is one secret too many";
	derive_key(line, &f->keys[f->count++]);
	return NULL;
}

bool tls_ticket_file_read(
    struct tls_ticket_file *f, const struct sealed *files, char *error, size_t error_size)
{
	struct sealed_view v;
	struct tls_ticket_file fresh = {.path = f->path};
	const char *wrong = NULL;
	unsigned line = 0;
	if (!tls_open_file(&v, f->path, files, error, error_size))
		return false;
	for (struct slice rest = v.bytes; rest.len > 0 && !wrong; line++)
		wrong = read_line(&fresh, slice_cut(&rest, '\n'));
	sealed_view_close(&v);
	if (wrong)
		snprintf(error, error_size, "%s: line %u %s", f->path, line, wrong);
	else if (fresh.count == 0)
		snprintf(error, error_size, "%s: it has no secret", f->path);
	bool is_good = !wrong && fresh.count > 0;
	if (is_good)
		*f = fresh;
	OPENSSL_cleanse(&fresh, sizeof(fresh));
	return is_good;
}

bool net_ticket_file_check(
    const struct sealed *files, const char *file, char *error, size_t error_size)
{
	struct tls_ticket_file f = {.path = file};
	bool is_good = tls_ticket_file_read(&f, files, error, error_size);
	OPENSSL_cleanse(&f, sizeof(f));
	return is_good;
}
