/* SPDX-License-Identifier: MIT */
/* TLS contexts. Private to net/. */
#ifndef PUSHGATE_NET_TLS_H
#define PUSHGATE_NET_TLS_H

#include "proxy/base/sealed.h"
#include "proxy/net/net.h"
#include <openssl/ssl.h>

/* The names that a certificate covers (RFC 9525): dNSName and iPAddress, never the subject. */
struct tls_names {
	char **dns; /* lower case, without a trailing dot */
	size_t dns_count;
	struct address *ips;
	size_t ip_count;
};

void tls_names_init(struct tls_names *n, X509 *certificate);
void tls_names_fini(struct tls_names *n);
/* host: a name, or an IP literal with or without brackets; a trailing dot does not matter. */
bool tls_names_cover(const struct tls_names *n, struct slice host);
/* The same, and in which way. A certificate for the exact name goes before one with a wildcard. */
enum tls_cover { TLS_COVER_NONE, TLS_COVER_WILDCARD, TLS_COVER_EXACT };
enum tls_cover tls_names_match(const struct tls_names *n, struct slice host);

struct tls_certificate {
	SSL_CTX *context;
	struct tls_names names;
	uint64_t digest; /* of its PEM files */
	bool is_shared;  /* while others are loaded: this one is in the lists of before and after */
	int key_type;    /* EVP_PKEY_RSA, … */
	uint16_t
	    scheme; /* of its signatures (RFC 8446 4.2.3); 0: RSA, which has several, or a kind that has none */
};

/* The keys of a ticket file. The first one makes tickets, all open them. */
struct tls_ticket_file {
	const char *path; /* NULL: there is none */
	size_t count;
	struct net_ticket_key keys[NET_TICKET_FILE_KEYS];
};

/* The sessions of a client that may be resumed. */
struct tls_sessions {
	struct list newest; /* the newest first */
	size_t count;
};

struct net_tls {
	unsigned refs; /* the owner's and one per connection */
	bool is_server;
	bool verify;
	uint8_t *alpn; /* wire form (RFC 7301 3.1) */
	size_t alpn_length;
	SSL_CTX *context;                     /* server: that of the first certificate */
	struct tls_certificate *certificates; /* server */
	size_t certificate_count;
	struct tls_loading *loading; /* server: NULL unless certificates are being read */
	/* Where certificates are read from; of a client one, that it shows, or none. */
	const struct net_certificate *sources;
	size_t source_count;
	struct net_tls_parameters parameters;
	const struct net_key_log *key_log; /* borrows; NULL: off */
	const char *ca_file;               /* client */
	struct net_tickets tickets;        /* server */
	struct tls_ticket_file ticket_file;
	const struct net_challenge *challenge;
	usec (*wall)(void); /* clock_wall; a test's own */
	CRYPTO_BUFFER_POOL *pool;
	struct tls_sessions sessions;        /* client */
	struct tls_client_auth *client_auth; /* server: owned; NULL: no client is asked */
};

/* key.h */
struct net_key {
	EVP_PKEY *key;
};

/* tls_names.c: whether one of these certificates covers the host. */
bool tls_certificates_cover(const struct tls_certificate *list, size_t count, struct slice host);
void tls_certificates_free(struct tls_certificate *list, size_t count);
/* tls_server.c: the settings of a server's context. */
void tls_server_set(struct net_tls *t, SSL_CTX *x);

/* tls_loading.c: the certificates of a server that are being read, beside those in use. */
struct tls_loading;
enum tls_loading_result { TLS_LOADING_FAILED, TLS_LOADING_DONE, TLS_LOADING_GOES_ON };
/* Reads the files anew. If that is under way already, begins again. */
void tls_loading_begin(struct net_tls *t, const struct sealed *files);
/*
 * Goes on, one certificate at least, until this time (clock_monotonic). All are exchanged if all are good. FAILED, with
 * a message: all is as before. After both results there is no loading.
 */
enum tls_loading_result tls_loading_step(
    struct net_tls *t, usec until, char *error, size_t error_size);
void tls_loading_end(struct net_tls *t); /* gives up what is under way */

/*
 * tls_ech.c: the keys of a file, whose outer names these certificates must cover. The caller frees them. NULL, with a
 * message.
 */
SSL_ECH_KEYS *tls_ech_read(const char *file, const struct sealed *files,
    const struct tls_certificate *certificates, size_t count, char *error, size_t size);

/* tls_client.c: reads the files, and exchanges the context if all are good. False with a message. */
bool tls_client_load(struct net_tls *t, const struct sealed *files, char *error, size_t error_size);

/* tls_challenge.c: exchanges the handshake's context if it is an authority's for the challenge. False: it is not. */
bool tls_challenge_answer(struct net_tls *t, const SSL_CLIENT_HELLO *hello, const char *sni);

struct net_tls *net_tls_hold(struct net_tls *t);

/* tls_context.c: the settings of both roles. p: NULL has the defaults. */
struct net_tls *tls_new(bool is_server, const char *alpn, const struct net_tls_parameters *p);
SSL_CTX *tls_context_new(struct net_tls *t);
/* The reason of an error code as text; uses buffer if the text must be composed. */
const char *tls_reason(uint32_t code, char *buffer, size_t size);

/* tls_load.c: loads a file into a context. False: the reason is in the library's queue of errors. */
bool tls_load_chain(SSL_CTX *x, const struct sealed_view *v);
bool tls_load_key(SSL_CTX *x, const struct sealed_view *v);
bool tls_load_authorities(SSL_CTX *x, const struct sealed_view *v);
/* After the last certificate: the text ends there, or goes on with what is none. */
bool tls_is_at_end(void);
/* What was written, with a NUL behind it; frees the writer. */
char *tls_text(BIO *out);
/* Since the Unix epoch. */
int64_t tls_seconds(const ASN1_TIME *time);
/* Reads the bytes of a view, which must outlive it. */
BIO *tls_reader(const struct sealed_view *v);
/* Loads the bytes of a file. False with "FILE: reason" in error. */
bool tls_load_bytes(SSL_CTX *x, bool (*load)(SSL_CTX *, const struct sealed_view *),
    const char *file, const struct sealed_view *v, char *error, size_t size);
/* Opens the file, one of `files`. False with "FILE: reason" in error. */
bool tls_open_file(
    struct sealed_view *v, const char *file, const struct sealed *files, char *error, size_t size);
/* Loads the file. False as above. */
bool tls_load_file(SSL_CTX *x, bool (*load)(SSL_CTX *, const struct sealed_view *),
    const char *file, const struct sealed *files, char *error, size_t size);

/* A certificate with its chain, and its key; of a bundle each view has both. */
struct tls_pair {
	const char *chain_file, *key_file;
	struct sealed_view chain, key;
};
/* False with "FILE: reason" in error: there is nothing to close. */
bool tls_pair_open(struct tls_pair *p, const struct net_certificate *from,
    const struct sealed *files, char *error, size_t size);
void tls_pair_close(struct tls_pair *p);
/* Loads both. The key must belong to the certificate. False as above. */
bool tls_pair_load(SSL_CTX *x, const struct tls_pair *p, char *error, size_t size);

/* tls_parameters.c */
void tls_parameters_set(SSL_CTX *x, const struct net_tls_parameters *p);
/* Whether it is a suite of TLS 1.2 for certificates of this kind. */
bool tls_parameters_have_suite(const struct net_tls_parameters *p, uint16_t id, bool is_rsa);

/* tls_choice.c: connections of this context get the certificate that suits their ClientHello. */
void tls_choice_set(SSL_CTX *x, struct net_tls *t);

/* tls_tickets.c: the tickets of this context come from those of its struct net_tls. */
void tls_tickets_set(SSL_CTX *x);
/* Reads the keys. False, with a message: the file cannot be used, and *f has the keys of before. */
bool tls_ticket_file_read(
    struct tls_ticket_file *f, const struct sealed *files, char *error, size_t error_size);

/* tls_client_auth.c: reads the files of net_tls_ask_clients. */
bool tls_client_auth_load(
    struct net_tls *t, const struct sealed *files, char *error, size_t error_size);
void tls_client_auth_free(struct tls_client_auth *auth); /* accepts NULL */
/* Why the first certificate of the chain is refused at that time (seconds since the Unix epoch); NULL: it is not. */
const char *tls_client_auth_refuses(
    const struct tls_client_auth *auth, size_t row, STACK_OF(X509) * chain, int64_t now);
/* The same of a client with a certificate whose session was resumed. */
const char *tls_client_auth_resumes(const struct net_tls *t, const SSL *ssl);
/* Asks the client of a ClientHello, after the context of its certificate was set. False: memory is short, and the
 * handshake must fail. */
bool tls_client_auth_ask(const struct tls_client_auth *auth, SSL *ssl, const char *sni);

/* tls_client_file.c: the certificates of a PEM file, one at least; NULL: *wrong says why not. */
STACK_OF(X509) * tls_read_certificates(const char *file, const char **wrong);

/* tls_sessions.c: keeps the session of this server, in place of an older one if there are many. Takes the session. */
void tls_sessions_put(struct tls_sessions *all, const struct net_address *server, const char *name,
    SSL_SESSION *session);
/* Lets the handshake resume the newest session of this server. */
void tls_sessions_offer(
    struct tls_sessions *all, const struct net_address *server, const char *name, SSL *ssl);
void tls_sessions_clear(struct tls_sessions *all);

/* tls_client.c: prepares the connection for its handshake. Returns NULL, or the error as text. */
const char *tls_client_prepare(struct net_conn *c);

#endif
