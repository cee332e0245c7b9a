/* SPDX-License-Identifier: MIT */
/*
 * Keyed hashes of a request's credentials. They tell whether two requests are of the same user without
 * keeping cookies or passwords. SipHash-2-4 (Aumasson, Bernstein 2012): without the key, it is not feasible to
 * construct two credentials with the same hash.
 */
#ifndef PUSHGATE_HOLD_CREDENTIALS_H
#define PUSHGATE_HOLD_CREDENTIALS_H

#include "proxy/http/head.h"

struct credentials_key {
	uint64_t k[2];
};

/* The hashes of the Cookie fields (one or several, RFC 9113 8.2.3) and of Authorization with Proxy-Authorization, by
 * which a forward proxy knows its user. A
 * missing field differs from an empty one; two requests without a field have the same hash of it. */
struct credentials {
	uint64_t cookie, authorization;
};

struct credentials credentials_of(
    const struct credentials_key *key, const struct http_head *request);

#endif
