/* SPDX-License-Identifier: MIT */
/*
 * A verified certificate of a client, as rules and origins see it. It is read once, after the handshake, by
 * net/tls_client_auth.c, and shared by all requests of the connection; nothing changes in it.
 *
 * Its names are texts of the form KIND:VALUE:
 *
 *     subject:CN=alice,O=Example   issuer:CN=Example CA   (RFC 2253)
 *     cn:alice                     each common name of the subject
 *     dns:host.example.com   email:alice@example.com   uri:spiffe://example.com/a   ip:192.0.2.1   (subjectAltName)
 *     sha256:HEX                   of the whole certificate
 */
#ifndef PUSHGATE_BASE_CLIENT_CERTIFICATE_H
#define PUSHGATE_BASE_CLIENT_CERTIFICATE_H

#include "proxy/base/memory.h"
#include "proxy/base/slice.h"
#include <stdbool.h>
#include <stdint.h>

/* Of all names together, with a line feed behind each. A certificate with more is refused: a rule could miss a name. */
#define CLIENT_CERTIFICATE_NAMES_BYTES 4096u

struct client_certificate {
	uint32_t references;
	struct slice names; /* lines */
	/* Items of Structured Fields (RFC 9440 2.1), ":BASE64:": the certificate; those that it came with, as a list. */
	struct slice leaf, chain;
	char text[];
};

/* With one reference; copies the texts. names: lines, none of them longer than the bound above. */
struct client_certificate *client_certificate_new(
    struct slice names, struct slice leaf, struct slice chain);
/* One reference more, and one less. Both take NULL. */
static inline struct client_certificate *client_certificate_hold(struct client_certificate *c)
{
	if (c)
		c->references++;
	return c;
}
static inline void client_certificate_release(struct client_certificate *c)
{
	if (c && --c->references == 0)
		free(c);
}
/* Its memory. */
static inline size_t client_certificate_bytes(const struct client_certificate *c)
{
	return sizeof(*c) + c->names.len + c->leaf.len + c->chain.len;
}

/* Whether the text is "*" or KIND:PATTERN with a known kind. */
bool client_certificate_pattern_is_valid(struct slice pattern);
/* Whether one of the patterns, globs, takes one of its names; "*" takes each certificate. NULL: there is none. */
bool client_certificate_is_among(
    const struct client_certificate *c, const struct slice *patterns, size_t count);
/* The first name of the kind ("subject:"), without that; empty: it has none. */
struct slice client_certificate_name(const struct client_certificate *c, struct slice kind);

#endif
