/* SPDX-License-Identifier: MIT */
/* In which order addresses should be tried: RFC 6724 6, interleaved by RFC 8305 4. */
#ifndef PUSHGATE_NAMES_ORDER_H
#define PUSHGATE_NAMES_ORDER_H

#include "proxy/names/names.h"

/*
 * Sorts, and leaves out addresses without a route if another one has a route; returns how many are left. Addresses
 * with a lower priority (of SRV) stay before those with a higher one. Asks the kernel for routes unless
 * all are of IPv4; no packet leaves.
 */
size_t order_addresses(struct name_address *list, size_t count);

/* For tests: `source` says from which address one is reached. */
size_t order_addresses_by(struct name_address *list, size_t count,
    bool (*source)(const struct net_address *to, struct address *from));

#endif
