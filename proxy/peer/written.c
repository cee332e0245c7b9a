/* SPDX-License-Identifier: MIT */
/* Writes PROXY headers (HAProxy's proxy-protocol.txt 2.1, 2.2), for origins that take them. */
#include "proxy/peer/peer_private.h"

#include <stdio.h>

static bool is_ip(const struct address *a)
{
	return a->family == 4 || a->family == 6;
}

bool peer_header_names(const struct peer_header *h)
{
	return !h->is_local && is_ip(&h->from);
}

static bool is_equal(const struct address *a, const struct address *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool peer_header_is_same(const struct peer_header *a, const struct peer_header *b)
{
	return a->is_local == b->is_local && is_equal(&a->from, &b->from) &&
	       is_equal(&a->to, &b->to) && a->from_port == b->from_port && a->to_port == b->to_port;
}

/* IPv4 as an IPv4-mapped address (RFC 4291 2.5.5.2). An address that is none becomes the unspecified one. */
static void widen(struct address *a)
{
	if (a->family == 4) {
		memcpy(a->bytes + 12, a->bytes, 4);
		memset(a->bytes, 0, 10);
		memset(a->bytes + 10, 0xff, 2);
	}
	a->family = 6;
}

/* Both addresses of one family, as a header has them. */
static void match(struct address *from, struct address *to)
{
	if (!is_ip(to))
		*to = (struct address){.family = from->family};
	if (from->family == to->family)
		return;
	widen(from);
	widen(to);
}

static size_t write_line(const struct peer_header *h, bool has_addresses, char *at)
{
	char from[48], to[48];
	struct address a = h->from, b = h->to;
	if (!has_addresses)
		return (size_t)snprintf(at, PEER_WRITTEN_BYTES, "PROXY UNKNOWN\r\n");
	match(&a, &b);
	return (size_t)snprintf(at, PEER_WRITTEN_BYTES, "PROXY TCP%u %s %s %u %u\r\n",
	    (unsigned)a.family, address_format(&a, from, sizeof(from)),
	    address_format(&b, to, sizeof(to)), (unsigned)h->from_port, (unsigned)h->to_port);
}

static size_t put_port(uint8_t *at, uint16_t port)
{
	at[0] = (uint8_t)(port >> 8);
	at[1] = (uint8_t)port;
	return 2;
}

static size_t write_block(const struct peer_header *h, uint8_t *at, bool *is_v6)
{
	struct address a = h->from, b = h->to;
	match(&a, &b);
	*is_v6 = a.family == 6;
	size_t bytes = *is_v6 ? 16 : 4, n = 2 * bytes;
	memcpy(at, a.bytes, bytes);
	memcpy(at + bytes, b.bytes, bytes);
	n += put_port(at + n, h->from_port);
	return n + put_port(at + n, h->to_port);
}

size_t peer_header_write(
    enum peer_version version, const struct peer_header *h, uint8_t bytes[PEER_WRITTEN_BYTES])
{
	bool has_addresses = peer_header_names(h), is_v6 = false;
	if (version == PEER_VERSION_1) {
		char line[PEER_WRITTEN_BYTES + 1];
		size_t length = write_line(h, has_addresses, line);
		memcpy(bytes, line, length);
		return length;
	}
	size_t block = has_addresses ? write_block(h, bytes + PEER_HEAD_BYTES, &is_v6) : 0;
	memcpy(bytes, PEER_SIGNATURE.ptr, PEER_SIGNATURE.len);
	bytes[12] = h->is_local ? 0x20 : 0x21;
	bytes[13] = !has_addresses ? 0 : is_v6 ? 0x21 : 0x11;
	put_port(bytes + 14, (uint16_t)block);
	return PEER_HEAD_BYTES + block;
}
