/* SPDX-License-Identifier: MIT */
/* See global_address.h. The tables are those of the registries as of October 2025. */
#include "proxy/base/global_address.h"

struct block {
	uint8_t prefix[16];
	uint8_t bits;
	bool is_global;
};

/* The first block that has an address decides: exceptions stand before the blocks around them. A block whose
 * reachability the registry calls not applicable (6to4, Teredo, ORCHID) is not reached. */
// clang-format off
static const struct block blocks4[] = {
    {{0}, 8, false},                /* this network */
    {{10}, 8, false},               /* private use */
    {{100, 64}, 10, false},         /* shared by a provider's customers */
    {{127}, 8, false},              /* loopback */
    {{169, 254}, 16, false},        /* link local */
    {{172, 16}, 12, false},         /* private use */
    {{192, 0, 0, 9}, 32, true},     /* port control anycast */
    {{192, 0, 0, 10}, 32, true},    /* TURN anycast */
    {{192, 0, 0}, 24, false},       /* protocol assignments */
    {{192, 0, 2}, 24, false},       /* documentation */
    {{192, 88, 99}, 24, false},     /* relays of 6to4, deprecated */
    {{192, 168}, 16, false},        /* private use */
    {{198, 18}, 15, false},         /* benchmarks */
    {{198, 51, 100}, 24, false},    /* documentation */
    {{203, 0, 113}, 24, false},     /* documentation */
    {{224}, 4, false},              /* multicast */
    {{240}, 4, false},              /* reserved; broadcast */
    /* 192.31.196.0/24, 192.52.193.0/24 and 192.175.48.0/24 are in the registry, and globally reachable. */
};

static const struct block blocks6[] = {
    {{0x00, 0x64, 0xff, 0x9b}, 96, true},                     /* NAT64: its IPv4 address is judged too */
    {{0x20, 0x01, 0x00, 0x01, [15] = 1}, 128, true},          /* port control anycast */
    {{0x20, 0x01, 0x00, 0x01, [15] = 2}, 128, true},          /* TURN anycast */
    {{0x20, 0x01, 0x00, 0x01, [15] = 3}, 128, true},          /* service registration anycast */
    {{0x20, 0x01, 0x00, 0x03}, 32, true},                     /* AMT */
    {{0x20, 0x01, 0x00, 0x04, 0x01, 0x12}, 48, true},         /* AS112 */
    {{0x20, 0x01, 0x00, 0x20}, 28, true},                     /* ORCHIDv2 */
    {{0x20, 0x01, 0x00, 0x30}, 28, true},                     /* drone remote ids */
    {{0x20, 0x01, 0x00, 0x00}, 23, false},                    /* protocol assignments; Teredo, benchmarks, ORCHID */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, false},                    /* documentation */
    {{0x20, 0x02}, 16, false},                                /* 6to4 */
    {{0x3f, 0xff}, 20, false},                                /* documentation */
    {{0x20}, 3, true},                                        /* global unicast; 2620:4f:8000::/48 too */
    /* All others, among them ::, ::1, 64:ff9b:1::/48, 100::/64, 5f00::/16, fc00::/7, fe80::/10, ff00::/8. */
};
// clang-format on

/* In no block, IPv4 is global and IPv6 is not. */
static bool is_global(const struct address *a)
{
	bool is_ipv4 = a->family == 4;
	const struct block *block = is_ipv4 ? blocks4 : blocks6;
	const struct block *end = is_ipv4 ? blocks4 + sizeof blocks4 / sizeof *blocks4
					  : blocks6 + sizeof blocks6 / sizeof *blocks6;
	for (; block < end; block++)
		if (address_begins(a, block->prefix, block->bits))
			return block->is_global;
	return is_ipv4;
}

enum address_reach address_reach(const struct address *a)
{
	struct address inner[ADDRESS_EMBEDDED_MOST];
	if (a->family == 0 || !is_global(a))
		return ADDRESS_NOT_GLOBAL;
	size_t count = address_embedded(a, inner);
	for (size_t i = 0; i < count; i++)
		if (!is_global(&inner[i]))
			return ADDRESS_EMBEDS;
	return ADDRESS_GLOBAL;
}

static struct address ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct address){.family = 4, .bytes = {a, b, c, d}};
}

static struct address ipv4_at(const uint8_t *bytes)
{
	return ipv4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

/* RFC 6052 2.2: behind a prefix of 48, 56, 64 or 96 bits, around the byte that stays zero. */
static size_t in_local_nat64(const uint8_t *b, struct address *out)
{
	out[0] = ipv4(b[6], b[7], b[9], b[10]);
	out[1] = ipv4(b[7], b[9], b[10], b[11]);
	out[2] = ipv4(b[9], b[10], b[11], b[12]);
	out[3] = ipv4_at(b + 12);
	return 4;
}

size_t address_embedded(const struct address *a, struct address out[ADDRESS_EMBEDDED_MOST])
{
	static const uint8_t zero[12] = {0}, mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t translated[12] = {[8] = 0xff, [9] = 0xff};
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b},
			     local[6] = {0, 0x64, 0xff, 0x9b, 0, 1};
	static const uint8_t teredo[4] = {0x20, 0x01}, isatap[3] = {0x00, 0x5e, 0xfe};
	const uint8_t *b = a->bytes;
	if (a->family != 6)
		return 0;
	if (memcmp(b, local, sizeof local) == 0)
		return in_local_nat64(b, out);
	if (memcmp(b, teredo, sizeof teredo) == 0) {
		out[0] = ipv4_at(b + 4);
		out[1] = ipv4((uint8_t)~b[12], (uint8_t)~b[13], (uint8_t)~b[14], (uint8_t)~b[15]);
		return 2;
	}
	size_t count = 0;
	if (b[0] == 0x20 && b[1] == 0x02)
		out[count++] = ipv4_at(b + 2);
	bool is_last = memcmp(b, zero, 12) == 0 || memcmp(b, mapped, 12) == 0 ||
		       memcmp(b, translated, 12) == 0 || memcmp(b, nat64, 12) == 0;
	/* RFC 5214 6.1: of a global IPv4 address the interface identifier says so in the "u" bit. */
	bool is_isatap = (b[8] & 0xfdu) == 0 && memcmp(b + 9, isatap, sizeof isatap) == 0;
	if (is_last || is_isatap)
		out[count++] = ipv4_at(b + 12);
	return count;
}
