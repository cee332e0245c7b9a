/* SPDX-License-Identifier: MIT */
/*
 * A keyed hash of a request's credentials. It tells whether two requests are of the same user without
 * keeping cookies or passwords. SipHash-2-4 (Aumasson, Bernstein 2012): without the key, nobody can
 * construct two credentials with the same hash.
 */
#ifndef PUSHGATE_RELAY_CREDENTIALS_H
#define PUSHGATE_RELAY_CREDENTIALS_H

#include "proxy/http/head.h"

struct credentials_key {
	uint64_t k[2];
};

/* The hash of the Cookie fields (one or several, RFC 9113 8.2.3) and the Authorization field. A missing
 * field differs from an empty one. Two requests without both fields have the same hash. */
uint64_t credentials_hash(const struct credentials_key *key, const struct http_head *request);

#endif
