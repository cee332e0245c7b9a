/* SPDX-License-Identifier: MIT */
/* Authorities and hosts (RFC 3986 3.2, RFC 9110 4.2, 7.2). */
#ifndef PUSHGATE_HTTP_AUTHORITY_H
#define PUSHGATE_HTTP_AUTHORITY_H

#include "proxy/base/slice.h"

struct http_authority {
	struct slice host; /* borrows; as sent, brackets of an IPv6 literal included */
	uint16_t port;     /* explicit, or the scheme's default, 0 when unknown */
	bool port_given;
};

/* False: not a well-formed host [":" port], or it has userinfo. scheme: "https", "http" or empty.
 * */
bool http_authority_parse(struct slice text, struct slice scheme, struct http_authority *out);

/* http or https, in whatever case (RFC 9110 4.2): the schemes that HTTP is served under. */
bool http_scheme_is_http(struct slice scheme);

/* Same host (without case, a trailing dot ignored) and same effective port. */
bool http_authority_equal(const struct http_authority *a, const struct http_authority *b);

/* Does the host match the pattern: "*" anything, "*.example.com" one or more labels below
 * example.com, else exactly; without case, a trailing dot ignored. */
bool http_host_matches(struct slice pattern, struct slice host);

#endif
