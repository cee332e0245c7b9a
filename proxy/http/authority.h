/* SPDX-License-Identifier: MIT */
/* Authorities and hosts (RFC 3986 3.2, RFC 9110 4.2, 7.2). */
#ifndef PUSHGATE_HTTP_AUTHORITY_H
#define PUSHGATE_HTTP_AUTHORITY_H

#include "proxy/base/slice.h"

struct http_authority {
	struct slice host; /* borrows; as sent, with the brackets of an IPv6 literal */
	uint16_t port;     /* explicit, or the scheme's default, 0 when unknown */
	bool port_given;
};

/*
 * False: the text is not a well-formed host [":" port], or has userinfo. scheme: "https", "http" or
 * empty.
 */
bool http_authority_parse(struct slice text, struct slice scheme, struct http_authority *out);

/* True for http and https, ignoring case (RFC 9110 4.2). */
bool http_scheme_is_http(struct slice scheme);
/* The scheme in lower case; empty: it is neither of both. */
struct slice http_scheme_known(struct slice scheme);

/* Same host (ignoring case and a trailing dot) and same effective port. */
bool http_authority_equal(const struct http_authority *a, const struct http_authority *b);
/* The same of two texts with one scheme; texts that cannot be parsed are the same if they are equal. */
bool http_authority_same(struct slice a, struct slice b, struct slice scheme);

/*
 * Whether the host matches the pattern: "*" matches any host, "*.example.com" one or more labels
 * below example.com, any other pattern only itself. Ignores case and a trailing dot.
 */
bool http_host_matches(struct slice pattern, struct slice host);

#endif
