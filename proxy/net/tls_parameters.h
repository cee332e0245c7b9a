/* SPDX-License-Identifier: MIT */
/*
 * Part of net.h: what a TLS server is told beside its certificates. Versions, suites and groups by name, the form of
 * bundles, and the keys of session tickets.
 */
#ifndef PUSHGATE_NET_TLS_PARAMETERS_H
#define PUSHGATE_NET_TLS_PARAMETERS_H

#include "proxy/base/clock.h"
#include "proxy/base/slice.h"

struct net_tls;
struct sealed; /* base/sealed.h */

/* ---- versions, suites, groups, bundles ---- */

/*
 * Begins the line above each certificate of a bundle, which goes on with the certificate's name for messages. What
 * follows, up to the next such line, are PEM blocks: the certificate, its chain, its key.
 */
#define NET_BUNDLE_LINE "#pushgate-certificate "

/* The groups that the library has, separated by spaces. Returns buffer; 128 bytes suffice. */
const char *net_tls_groups(char *buffer, size_t size);
/*
 * The library's name of a suite of TLS 1.2 that RFC 9113 allows, or of a group, by any of the usual names. NULL: *wrong
 * says why there is none.
 */
const char *net_tls_suite(struct slice word, const char **wrong);
const char *net_tls_group(struct slice word, const char **wrong);

enum net_tls_version { NET_TLS_1_2, NET_TLS_1_3 };

/* Where the secrets of TLS sessions go, as lines of NSS's key log format, without their end. */
struct net_key_log {
	void (*write)(void *context, struct slice line);
	void *context;
};

/* What a server accepts. The texts are lists of the library's names, separated by colons, preferred first. */
struct net_tls_parameters {
	enum net_tls_version least, most;
	const char *suites;   /* of TLS 1.2; NULL: all that RFC 9113 allows */
	const char *groups;   /* NULL: X25519MLKEM768 if the library has it, X25519, P-256, P-384 */
	const char *ech_file; /* the keys of Encrypted ClientHello; NULL: there are none */
	bool strict_sni; /* refuses clients that name no host, or one that no certificate covers */
};

/* ---- Encrypted ClientHello ---- */

/* Most keys of a file of `ech-keys`: the present one, and those that DNS caches may still have. */
#define NET_ECH_PAIRS 8
/* Whether the file has such keys, each for an outer name that a certificate of the server covers. False: with a message. */
bool net_ech_check(const struct net_tls *t, const char *file, const struct sealed *files,
    char *error, size_t error_size);
/* The text of a new such file, to be freed; NULL: it is no name of a host. */
char *net_ech_make(const char *outer_name);

/* ---- session tickets ---- */

/* The period of a key. A ticket resumes a session in the period in which it was made, and in the next one,
 * where it is also replaced. */
#define NET_TICKET_PERIOD_USEC (12 * 3600 * USEC_PER_SEC)

#define NET_HMAC_BYTES 32 /* of HMAC-SHA256 (net_hmac) */

struct net_ticket_key {
	uint8_t name[16], mac[NET_HMAC_BYTES], cipher[32];
};

struct net_tickets {
	uint64_t period; /* of the current key; since the Unix epoch */
	uint8_t secret[NET_HMAC_BYTES];
	struct net_ticket_key current, previous;
	bool has_previous;
};

void net_tickets_init(struct net_tickets *t, usec wall); /* with a random secret */
/* Derives the keys of the period of `wall`, unless t has them or later ones, and keeps those of the period
 * before. Copies of the same net_tickets have the same keys in the same period. */
void net_tickets_advance(struct net_tickets *t, usec wall);
void net_tickets_fini(struct net_tickets *t); /* erases it */

/* The keys of a file, which several machines share. Each line is a secret; the first one makes tickets. */
#define NET_TICKET_FILE_KEYS 8
/* Whether the file has such lines, and nothing else. False: with a message. */
bool net_ticket_file_check(
    const struct sealed *files, const char *file, char *error, size_t error_size);

#endif
