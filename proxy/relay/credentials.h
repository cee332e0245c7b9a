/* SPDX-License-Identifier: MIT */
/*
 * Whose request is it? A keyed hash of what tells users apart, so that two requests can be compared
 * without keeping anybody's secrets. SipHash-2-4 (Aumasson, Bernstein 2012): who does not know the
 * key cannot find two credentials with one hash.
 */
#ifndef PUSHGATE_RELAY_CREDENTIALS_H
#define PUSHGATE_RELAY_CREDENTIALS_H

#include "proxy/http/head.h"

struct credentials_key {
	uint64_t k[2];
};

/* Of the Cookie fields (in one field or several, RFC 9113 8.2.3) and the Authorization field; a
 * field that is not there differs from an empty one, and two requests without either are equal. */
uint64_t credentials_hash(const struct credentials_key *key, const struct http_head *request);

/* SipHash-2-4 of some bytes. */
uint64_t credentials_siphash(const struct credentials_key *key, struct slice bytes);

#endif
