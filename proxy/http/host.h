/* SPDX-License-Identifier: MIT */
/*
 * What a host of a URI names: an address or a name (RFC 3986 3.2.2). Resolvers and the C library read some texts
 * as addresses that RFC 3986 calls names: "127.1", "0x7f000001", "017700000001". A program that looks at an
 * address before it connects must know all of them.
 */
#ifndef PUSHGATE_HTTP_HOST_H
#define PUSHGATE_HTTP_HOST_H

#include "proxy/base/cidr.h"

enum http_host_kind {
	HTTP_HOST_NAME,    /* that can be looked up: labels of RFC 1035, "_" allowed */
	HTTP_HOST_ADDRESS, /* dotted decimal, or IPv6 in brackets */
	HTTP_HOST_STRANGE, /* anything else: other forms of addresses, zone ids, percent-encoding, empty labels */
};

/* RFC 1035 2.3.4, in text, and a NUL. */
#define HTTP_HOST_TEXT 254u

/*
 * host: as http_authority_parse gives it. name: the name in lower case without a final dot, or the address as
 * text without brackets; written for the first two kinds. address: written for HTTP_HOST_ADDRESS.
 */
enum http_host_kind http_host_read(
    struct slice host, char name[HTTP_HOST_TEXT], struct address *address);

#endif
