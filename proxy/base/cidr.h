/* SPDX-License-Identifier: MIT */
/* IP addresses and CIDR blocks, IPv4 and IPv6 (RFC 4632, 4291). IPv4-mapped IPv6 counts as IPv4. */
#ifndef PUSHGATE_BASE_CIDR_H
#define PUSHGATE_BASE_CIDR_H

#include "proxy/base/slice.h"

struct address {
	uint8_t bytes[16]; /* IPv4 in the first four, the rest zero */
	uint8_t family;    /* 4, 6, 0 = none (a unix socket), or ADDRESS_UNKNOWN */
};

/* Of a client that a proxy speaks for without naming it: no block, no word of a rule has it. */
#define ADDRESS_UNKNOWN 1u

struct cidr {
	struct address base;
	uint8_t bits;
};

bool address_parse(struct slice text, struct address *a);
/* Of 4 or 16 bytes in the order of the network. */
void address_of_bytes(struct address *a, const void *bytes, size_t count);
/*
 * Parses "192.0.2.0/24", "2001:db8::/32", or a bare address (all bits). Returns NULL, or the text of
 * a configuration error. Set host bits are an error.
 */
const char *cidr_parse(struct slice text, struct cidr *c);
/* Whether the address has these leading bits; at most those of its family. */
bool address_begins(const struct address *a, const uint8_t prefix[16], unsigned bits);
bool cidr_contains(const struct cidr *c, const struct address *a);
/* Writes at most size-1 bytes and a NUL ("-" for family 0, "unknown"); returns buffer. 46 bytes suffice. */
char *address_format(const struct address *a, char *buffer, size_t size);

#endif
