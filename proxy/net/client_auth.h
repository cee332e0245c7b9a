/* SPDX-License-Identifier: MIT */
/* Certificates of clients: which authorities a TLS server asks for, and what a client has shown. Included by net.h. */
#ifndef PUSHGATE_NET_CLIENT_AUTH_H
#define PUSHGATE_NET_CLIENT_AUTH_H

#include "proxy/base/client_certificate.h"
#include "proxy/base/slice.h"
#include <stddef.h>

struct net_conn;
struct net_tls;
struct sealed;

/* Of the certificates that one client sends, in DER. A longer list ends the handshake; the library's bound is six
 * times as much, and each connection would keep it. Four certificates with RSA keys have 6 KiB. */
#define NET_CLIENT_CHAIN_BYTES 16384u

struct net_client_ca {
	const char *ca_file; /* authorities (PEM), up to a self-signed one */
	const char *
	    crl_file; /* lists of revoked certificates (PEM), one of each authority; NULL: none is asked */
	bool is_required; /* a client without a certificate fails in the handshake */
};

/* Borrowed for the life of the context. */
struct net_client_auth {
	const struct net_client_ca *authorities;
	size_t count;
	/* Of whatever asks: a session that was begun with one scope, or one number of `find`, is not resumed in another. */
	const char *scope;
	/* The number of the authorities for a name that a client asks for by SNI (empty: it asks for none). `count`: no
	 * certificate is asked for. */
	size_t (*find)(const void *context, struct slice name);
	const void *context;
};

/*
 * From now on the server asks clients for certificates. The files are read by net_tls_renew too; a change of them ends
 * the resumption of earlier sessions, whose certificates they may not verify any more. False with a message, after which
 * the context must be freed.
 */
bool net_tls_ask_clients(struct net_tls *t, const struct net_client_auth *a,
    const struct sealed *files, char *error, size_t error_size);

struct net_certificate;
/* From now on a client shows this certificate (borrowed) to servers that ask for one. net_tls_renew reads its files too.
 * False with a message, after which the context must be freed. */
bool net_tls_show_certificate(struct net_tls *t, const struct net_certificate *own,
    const struct sealed *files, char *error, size_t error_size);

/* How many lists of revoked certificates a file has; 0: it has none, or cannot be read. */
size_t net_crl_count(const struct sealed *files, const char *file);

/* Why the library would refuse certificates that an authority has signed, or not look at a list. */
enum net_ca_flaw {
	NET_CA_EXPIRED,      /* when: since when */
	NET_CA_NONE,         /* it is no authority, and not self-signed */
	NET_CA_WITHOUT_ROOT, /* the file does not have the authority that has signed it */
	NET_CA_WITHOUT_LIST, /* there is no list of it in the file of lists */
	NET_CRL_EXPIRED,     /* when: since when; there is no other list of this issuer */
	NET_CRL_OF_OTHERS,   /* its issuer is not among the authorities */
	NET_CRL_UNUSED, /* lists are in the file of authorities, and no file of lists is given */
};
struct net_ca_judge {
	int64_t now; /* seconds since the Unix epoch */
	/* name: of the authority or the issuer, as RFC 2253 writes it; lent for the call. */
	void (*found)(void *context, enum net_ca_flaw flaw, const char *name, int64_t when);
	void *context;
};
void net_client_ca_judge(
    const struct net_client_ca *ca, const struct sealed *files, const struct net_ca_judge *judge);

/*
 * The first certificate of a PEM file, with one reference, as if a client had shown it; NULL: *wrong says why not. For
 * commands, which may read files.
 */
struct client_certificate *net_client_certificate_read(const char *file, const char **wrong);
/* Why the server would refuse the first certificate of the file, with the others as its chain, by these authorities;
 * NULL: it would not. */
const char *net_tls_refuses_client(const struct net_tls *server, size_t row, const char *file);

/*
 * The certificate of the client of an open connection, with one reference; NULL: it has shown none. *wrong: why it cannot
 * be believed after all, and the connection must end: since the session began that was resumed, it has expired, or an
 * authority or its list; or it has more names than are kept. Else NULL.
 */
struct client_certificate *net_conn_client_certificate(
    const struct net_conn *c, const char **wrong);

#endif
