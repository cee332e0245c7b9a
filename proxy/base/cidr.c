/* SPDX-License-Identifier: MIT */
/*
 * IP addresses and CIDR blocks as bytes. inet_pton(3) parses the texts: no names, no zones, no
 * ports.
 */
#include "proxy/base/cidr.h"

#include <arpa/inet.h>

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

static bool is_mapped(const uint8_t *bytes)
{
	return memcmp(bytes, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

/* *was_mapped: the text was an IPv4-mapped IPv6 address. */
static bool parse(struct slice text, struct address *a, bool *was_mapped)
{
	char string[INET6_ADDRSTRLEN];
	uint8_t bytes[16] = {0};
	*was_mapped = false;
	if (text.len == 0 || text.len >= sizeof(string) || slice_find(text, 0) < text.len)
		return false;
	memcpy(string, text.ptr, text.len);
	string[text.len] = 0;
	if (inet_pton(AF_INET, string, bytes) == 1) {
		a->family = 4;
	} else if (inet_pton(AF_INET6, string, bytes) == 1) {
		a->family = 6;
		if (is_mapped(bytes)) {
			*was_mapped = true;
			a->family = 4;
			memmove(bytes, bytes + 12, 4);
			memset(bytes + 4, 0, 12);
		}
	} else {
		return false;
	}
	memcpy(a->bytes, bytes, sizeof(bytes));
	return true;
}

bool address_parse(struct slice text, struct address *a)
{
	bool was_mapped;
	return parse(text, a, &was_mapped);
}

void address_of_bytes(struct address *a, const void *bytes, size_t count)
{
	bool is_v4 = count == 4 || is_mapped(bytes);
	*a = (struct address){.family = is_v4 ? 4 : 6};
	memcpy(a->bytes, (const uint8_t *)bytes + (is_v4 ? count - 4 : 0), is_v4 ? 4 : 16);
}

static bool has_host_bits(const struct cidr *c)
{
	size_t bytes = c->base.family == 4 ? 4 : 16;
	for (size_t i = c->bits / 8u; i < bytes; i++) {
		unsigned mask = i == c->bits / 8u ? 0xffu >> c->bits % 8u : 0xffu;
		if (c->base.bytes[i] & mask)
			return true;
	}
	return false;
}

const char *cidr_parse(struct slice text, struct cidr *c)
{
	size_t slash = slice_find(text, '/');
	bool was_mapped;
	if (!parse(slice_sub(text, 0, slash), &c->base, &was_mapped))
		return "not an IPv4 or IPv6 address";
	uint64_t most = c->base.family == 4 && !was_mapped ? 32 : 128;
	uint64_t bits = most;
	if (slash < text.len && !slice_to_number(slice_from(text, slash + 1), most, &bits))
		return most == 32 ? "the prefix length is not a number from 0 to 32"
				  : "the prefix length is not a number from 0 to 128";
	if (was_mapped && bits < 96)
		return "an IPv4-mapped block needs a prefix length of at least 96";
	c->bits = (uint8_t)(was_mapped ? bits - 96 : bits);
	if (has_host_bits(c))
		return "the address has bits set behind the prefix";
	return NULL;
}

bool address_begins(const struct address *a, const uint8_t prefix[16], unsigned bits)
{
	size_t whole = bits / 8u;
	unsigned rest = bits % 8u;
	if (memcmp(a->bytes, prefix, whole) != 0)
		return false;
	return rest == 0 || (a->bytes[whole] ^ prefix[whole]) >> (8 - rest) == 0;
}

bool cidr_contains(const struct cidr *c, const struct address *a)
{
	return a->family == c->base.family && a->family > ADDRESS_UNKNOWN &&
	       address_begins(a, c->base.bytes, c->bits);
}

static char *put_decimal(char *at, unsigned byte)
{
	if (byte >= 100)
		*at++ = (char)('0' + byte / 100);
	if (byte >= 10)
		*at++ = (char)('0' + byte / 10 % 10);
	*at++ = (char)('0' + byte % 10);
	return at;
}

/* Not with inet_ntop(3): this is on the way of each request. */
static void format_ipv4(const uint8_t *bytes, char *at)
{
	for (unsigned i = 0; i < 4; i++) {
		if (i > 0)
			*at++ = '.';
		at = put_decimal(at, bytes[i]);
	}
	*at = 0;
}

char *address_format(const struct address *a, char *buffer, size_t size)
{
	char string[INET6_ADDRSTRLEN] = "-";
	if (size == 0)
		return buffer;
	if (a->family == 4)
		format_ipv4(a->bytes, string);
	else if (a->family == 6)
		inet_ntop(AF_INET6, a->bytes, string, sizeof(string));
	else if (a->family == ADDRESS_UNKNOWN)
		memcpy(string, "unknown", sizeof("unknown"));
	size_t n = strnlen(string, size - 1);
	memcpy(buffer, string, n);
	buffer[n] = 0;
	return buffer;
}
