/* SPDX-License-Identifier: MIT */
/*
 * The table that a router looks requests up in: hosts and wildcards by their hashes with a random seed, and the paths
 * of each. One run of bytes without pointers, so that one process makes it for all: routes are named by their positions
 * in the configuration.
 *
 *     header | hosts | slots | keys | paths, …
 *
 * All positions are from the beginning of the table. Private to route/.
 */
#ifndef PUSHGATE_ROUTE_ROUTER_TABLE_H
#define PUSHGATE_ROUTE_ROUTER_TABLE_H

#include "proxy/http/host.h"
#include "proxy/route/router_paths.h"

#define ROUTER_HOST_BYTES 255u /* RFC 1035 2.3.4 */

struct router_host {
	uint64_t key, key_bytes; /* as router_fold writes it; of a wildcard ".example.com" */
	uint64_t paths;          /* struct router_paths */
};

/* With open addressing, never more than half full. */
struct router_slot {
	uint32_t hash; /* the high half */
	uint32_t host; /* 1 + its position; 0: none */
};

struct router_table {
	uint64_t seed;
	uint64_t slots; /* struct router_slot */
	uint64_t mask;  /* slots, less one */
	uint64_t any;   /* struct router_paths: of any host; 0: none */
	bool has_names, has_wildcards;
	struct router_host hosts[];
};

/*
 * Writes the host as it is compared. Rules read it in the same way (http_host_read): without a final dot, an IPv6
 * address in its shortest form. A strange host is its whole text in lower case, so that it is no other host.
 * out: ROUTER_HOST_BYTES. False: the host is too long.
 */
bool router_fold(struct slice host, char *out, struct slice *folded, bool *is_strange);

#endif
