/* SPDX-License-Identifier: MIT */
/*
 * Keys that are made here, and what is signed with them: bytes (ES256), requests for certificates, and certificates that
 * nobody else has signed. All keys are of P-256. Part of net.h.
 */
#ifndef PUSHGATE_NET_KEY_H
#define PUSHGATE_NET_KEY_H

#include "proxy/base/slice.h"

struct net_key;

struct net_key *net_key_new(void);
/* The first key in the text. NULL: there is none, or it is not of P-256. */
struct net_key *net_key_read(struct slice pem);
void net_key_free(struct net_key *k); /* accepts NULL */
/* As PEM, with a NUL behind it. The caller erases and frees the text. */
char *net_key_write(const struct net_key *k);

enum { NET_KEY_COORDINATE_BYTES = 32, NET_SIGNATURE_BYTES = 64 };
/* The public key (RFC 7518 6.2.1). */
void net_key_public(const struct net_key *k, uint8_t x[NET_KEY_COORDINATE_BYTES],
    uint8_t y[NET_KEY_COORDINATE_BYTES]);
/* ES256 (RFC 7518 3.4). */
void net_key_sign(
    const struct net_key *k, struct slice bytes, uint8_t signature[NET_SIGNATURE_BYTES]);

enum { NET_SHA256_BYTES = 32 };
void net_sha256(struct slice bytes, uint8_t out[NET_SHA256_BYTES]);

/* A request for a certificate (RFC 2986) for these names; DER, which the caller frees. */
uint8_t *net_key_request(
    const struct net_key *k, const char *const *names, size_t count, size_t *length);
/* A certificate for these names that is good until `ends` (seconds since the Unix epoch); PEM, which the caller frees.
 * challenge: of RFC 8737 3, NET_SHA256_BYTES; NULL: an ordinary one. */
char *net_key_self_signed(const struct net_key *k, const char *const *names, size_t count,
    int64_t ends, const uint8_t *challenge);

/*
 * A challenge of an authority (RFC 8737): a server whose options have it answers a handshake for this name that offers
 * NET_CHALLENGE_ALPN alone with a certificate that has the digest. May change between two handshakes.
 */
enum { NET_CHALLENGE_NAME_BYTES = 256 };
struct net_challenge {
	char name[NET_CHALLENGE_NAME_BYTES]; /* ""; there is none */
	uint8_t digest[NET_SHA256_BYTES];
};
#define NET_CHALLENGE_ALPN "acme-tls/1"

/* What is to be known of a chain whose first certificate an authority has made for a key. */
struct net_issued {
	int64_t starts, ends; /* seconds since the Unix epoch */
	/* What RFC 9773 4.1 names the certificate by; a length of 0: it has no such value, or a longer one. */
	uint8_t authority[64], serial[64];
	size_t authority_length, serial_length;
	bool is_self_signed;
	size_t
	    missing; /* the number of the first name that the certificate does not cover; count: none */
};
/* False, with *out zero: the text has no chain of at most NET_CHAIN_MOST certificates that can be read, or its first one is not for the key. */
bool net_issued_read(struct slice pem, const struct net_key *k, const char *const *names,
    size_t count, struct net_issued *out);
/* The same of a text that has the key too, as the files of ACME have it. False as well: it has none. */
bool net_issued_read_with_key(
    struct slice pem, const char *const *names, size_t count, struct net_issued *out);

#endif
