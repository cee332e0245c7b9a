/* SPDX-License-Identifier: MIT */
/*
 * Which addresses are globally reachable, by IANA's registries of special-purpose addresses (RFC 6890 and its
 * updates), and which IPv4 addresses an IPv6 address carries: a translator or the end of a tunnel delivers to those.
 */
#ifndef PUSHGATE_BASE_GLOBAL_ADDRESS_H
#define PUSHGATE_BASE_GLOBAL_ADDRESS_H

#include "proxy/base/cidr.h"

enum address_reach {
	ADDRESS_GLOBAL,
	ADDRESS_NOT_GLOBAL, /* the registries do not call it globally reachable, or it is no unicast address */
	ADDRESS_EMBEDS, /* it would be, but carries an IPv4 address that is not */
};

/* NOT_GLOBAL for family 0. */
enum address_reach address_reach(const struct address *a);

/* An IPv6 address may be read in several ways (RFC 6052 2.2 has five). */
#define ADDRESS_EMBEDDED_MOST 4u
/*
 * The IPv4 addresses in an IPv6 address: IPv4-compatible, IPv4-mapped, translated (RFC 2765, 6052), 6to4, Teredo
 * (server and client), ISATAP. Returns their number. A network may have a prefix of its own for NAT64 (RFC 6052
 * 2.1), which nothing in an address shows.
 */
size_t address_embedded(const struct address *a, struct address out[ADDRESS_EMBEDDED_MOST]);

#endif
