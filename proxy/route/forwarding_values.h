/* SPDX-License-Identifier: MIT */
/*
 * Private to route/: what pushgate itself tells an origin of a client in the forwarding fields. It is the same for all
 * requests of one client with one authority and scheme, and most requests are not the first of theirs. So a worker
 * keeps what it has made lately, in a table of a fixed size; two clients may share a place in it, and the later one
 * has it.
 */
#ifndef PUSHGATE_ROUTE_FORWARDING_VALUES_H
#define PUSHGATE_ROUTE_FORWARDING_VALUES_H

#include "proxy/route/route.h"

struct forwarding_values {
	struct address client;
	bool is_https;
	uint8_t count;          /* of `fields`; 0: this place in the table is free */
	struct slice authority; /* within the first field's value */
	/* Forwarded, X-Forwarded-For, -Proto, -Host, -Port, X-Real-IP; of a unix socket without addresses. */
	struct http_field fields[6];
};

/* The element of Forwarded for the peer, in the arena (RFC 7239 4). *node: its address within it, or empty. */
struct slice forwarding_element(struct arena *a, const struct request_facts *f, struct slice *node);

/* All values, valid until the next call; or, if the table is NULL or cannot hold them, as long as the arena and the head. */
const struct forwarding_values *forwarding_values_of(
    struct forwarding_table *t, struct arena *a, const struct request_facts *f);

#endif
