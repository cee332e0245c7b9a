/* SPDX-License-Identifier: MIT */
/*
 * The keys of session tickets (RFC 5077 4, RFC 8446 4.6.1). Each period has a secret, from which its
 * key is derived, and so is the secret of the next period; then the old secret is erased. Processes
 * that began with the same secret therefore change keys at the same time without a message. An attacker
 * who reads a process's memory learns the keys of this period and of the one before, and no older ones.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/net/tls.h"
#include <openssl/hmac.h>
#include <openssl/mem.h>
#include <openssl/rand.h>

static void derive(const struct net_tickets *t, struct slice label, uint8_t *out, size_t size)
{
	uint8_t mac[NET_HMAC_BYTES];
	ensure(size <= sizeof(mac));
	net_hmac(slice_of(t->secret, sizeof(t->secret)), label, mac);
	memcpy(out, mac, size);
	OPENSSL_cleanse(mac, sizeof(mac));
}

static void derive_key(struct net_tickets *t)
{
	struct net_ticket_key *k = &t->current;
	derive(t, SLICE("pushgate ticket name"), k->name, sizeof(k->name));
	derive(t, SLICE("pushgate ticket mac"), k->mac, sizeof(k->mac));
	derive(t, SLICE("pushgate ticket cipher"), k->cipher, sizeof(k->cipher));
}

void net_tickets_init(struct net_tickets *t, usec wall)
{
	*t = (struct net_tickets){.period = wall / NET_TICKET_PERIOD_USEC};
	hash_random(t->secret, sizeof(t->secret));
	derive_key(t);
}

void net_tickets_advance(struct net_tickets *t, usec wall)
{
	for (; t->period < wall / NET_TICKET_PERIOD_USEC; t->period++) {
		t->previous = t->current;
		t->has_previous = true;
		derive(t, SLICE("pushgate ticket next"), t->secret, sizeof(t->secret));
		derive_key(t);
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

/* Returns what SSL_CTX_set_tlsext_ticket_key_cb asks for; 2: the ticket is good, send a new one. */
static int on_ticket(
    SSL *ssl, uint8_t *name, uint8_t *iv, EVP_CIPHER_CTX *cipher, HMAC_CTX *mac, int seals)
{
	struct net_tls *tls = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	struct net_tickets *t = &tls->tickets;
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
