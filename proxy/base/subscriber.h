/* SPDX-License-Identifier: MIT */
/*
 * Subscriber keys: the client, the user or the value of a field whose use is counted and bounded is known by a keyed hash
 * of 64 bits, which is never 0. While the seed is secret, no peer can find a value that has another one's key.
 */
#ifndef PUSHGATE_BASE_SUBSCRIBER_H
#define PUSHGATE_BASE_SUBSCRIBER_H

#include "proxy/base/cidr.h"
#include "proxy/base/slice.h"

/* A client: all addresses of one IPv6 /64 belong to one subscriber; all clients on unix sockets count as one. */
uint64_t subscriber_key_of_client(uint64_t seed, const struct address *client);
/* A name or a value. */
uint64_t subscriber_key_of_text(uint64_t seed, struct slice text);

#endif
