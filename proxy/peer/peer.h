/* SPDX-License-Identifier: MIT */
/*
 * Who a connection comes from, and who has sent a request: three things with a name each.
 *
 *   the TCP peer      the address at the other end of the connection
 *   the claimed peer  the address that the PROXY header of a trusted TCP peer names in its place
 *   the client        the address that a field of a trusted peer names; without one, the peer
 *
 * Where "peer" stands alone, it is the claimed peer if there is one, and the TCP peer otherwise. These files read and
 * write bytes: they know no socket, no configuration and no request.
 *
 *   proxy_header.c  reading the PROXY protocol, version 1; proxy_v2.c version 2 (HAProxy's proxy-protocol.txt)
 *   written.c       writing it
 *   ends.c          what a connection keeps of its ends
 *   node.c          the addresses in Forwarded (RFC 7239 6), X-Forwarded-For and the like, and their lists
 */
#ifndef PUSHGATE_PEER_PEER_H
#define PUSHGATE_PEER_PEER_H

#include "proxy/base/cidr.h"
#include "proxy/limits.h"

/* ---- PROXY headers ---- */

/* A header as it was read, or is to be written. Its texts borrow from the bytes, and may hold any byte. */
struct peer_header {
	bool is_local;           /* LOCAL, UNKNOWN, or no address: the TCP peer speaks for itself */
	bool is_tls;             /* PP2_CLIENT_SSL: the client spoke TLS to the TCP peer */
	struct address from, to; /* family ADDRESS_UNKNOWN: a unix socket */
	uint16_t from_port, to_port;
	struct slice authority, alpn, id; /* empty: not sent; id: PP2_TYPE_UNIQUE_ID */
};

enum peer_reading {
	PEER_READING_MORE, /* all of the bytes belong to a header, whose rest is missing */
	PEER_READING_DONE,
	PEER_READING_BAD,
};

/*
 * Reads the header at the beginning of the bytes. DONE: it has *length of them, and the others are not looked at. BAD:
 * *fault says why. MORE is never the answer to LIMIT_PROXY_HEADER_BYTES.
 */
enum peer_reading peer_header_read(
    struct slice bytes, struct peer_header *h, size_t *length, const char **fault);

enum peer_version { PEER_VERSION_NONE, PEER_VERSION_1, PEER_VERSION_2 };
/* The longest header that is written. */
#define PEER_WRITTEN_BYTES 107u
/*
 * Writes a header without its texts, and returns the length. is_local: of a connection that carries no client, such as a
 * health check. Without an IP address in `from`: of a client whose address is not known.
 */
size_t peer_header_write(
    enum peer_version version, const struct peer_header *h, uint8_t bytes[PEER_WRITTEN_BYTES]);
/* Whether it names an IP address: else it may be that of many clients. */
bool peer_header_names(const struct peer_header *h);
/* Whether both name the same addresses and ports. */
bool peer_header_is_same(const struct peer_header *a, const struct peer_header *b);

/* ---- ends ---- */

/* What a connection and its exchanges keep of its ends: as its PROXY header claims, else as they are. Counted by
 * references. */
struct peer_ends {
	uint32_t references;
	bool is_claimed;        /* by a PROXY header */
	bool is_https;          /* its requests are for https URIs */
	uint16_t port, to_port; /* of the peer, and of `to` */
	struct address tcp;     /* the TCP peer */
	struct address to;      /* where the client came to */
	struct slice authority, alpn,
	    id; /* behind the struct; printable: others are in hexadecimal */
};

/* With one reference. https_port: connections that went to this port are for https URIs; 0: none by its port. */
struct peer_ends *peer_ends_new(
    const struct peer_header *h, const struct address *tcp, uint32_t https_port);
/* One reference more, and one less. Both take NULL. */
static inline struct peer_ends *peer_ends_hold(struct peer_ends *e)
{
	if (e)
		e->references++;
	return e;
}
void peer_ends_release(struct peer_ends *e);

/* ---- addresses in fields ---- */

/*
 * The address of a node: "192.0.2.1", "[2001:db8::1]:443", "2001:db8::1", also in double quotes. False, with a client
 * of the family ADDRESS_UNKNOWN: "unknown", an obfuscated identifier, or no address at all.
 */
bool peer_node_read(struct slice node, struct address *client);
/* Of an element of Forwarded, the value of the parameter with this name and "=". Empty: it has none, or several. */
struct slice peer_forwarded_value(struct slice element, struct slice name);
/* Without the double quotes around it. */
struct slice peer_unquoted(struct slice value);
/*
 * Takes the last member off a list, to whose end each proxy adds one. False: there is none left. has_quotes: the members
 * may have quoted strings, which are counted from the right: a client may have opened one and not closed it.
 */
bool peer_last_member(struct slice *list, struct slice *member, bool has_quotes);

#endif
