/* SPDX-License-Identifier: MIT */
/*
 * The rules of RFC 6724 6 that can be decided without a connection: 1 (a route), 2 and 8 (scope), 5 (label),
 * 6 (precedence) and 9 (longest prefix, for IPv6). Where they say nothing, the address decides, so that a resolver
 * that turns its list round changes nothing here.
 */
#include "proxy/names/order.h"
#include "proxy/base/memory.h"

struct candidate {
	struct name_address address;
	struct address ip, source;
	bool has_route;
	unsigned scope, precedence;
	bool is_scope_same, is_label_same;
	unsigned prefix; /* bits that source and destination share */
};

struct policy_row {
	uint8_t bits;
	uint8_t prefix[16];
	uint8_t precedence, label;
};

/* RFC 6724 2.1, the longest prefixes first. IPv4 counts as ::ffff:0:0/96. */
static const struct policy_row policy_table[] = {
    {128, {[15] = 1}, 50, 0},
    {96, {[10] = 0xff, 0xff}, 35, 4},
    {96, {0}, 1, 3},
    {32, {0x20, 0x01}, 5, 5},
    {16, {0x20, 0x02}, 30, 2},
    {16, {0x3f, 0xfe}, 1, 12},
    {10, {0xfe, 0xc0}, 1, 11},
    {7, {0xfc}, 3, 13},
    {0, {0}, 40, 1},
};

static unsigned shared_bits(const uint8_t a[16], const uint8_t b[16])
{
	unsigned bits = 0;
	while (bits < 128 && !((a[bits / 8] ^ b[bits / 8]) & (0x80u >> bits % 8)))
		bits++;
	return bits;
}

static const struct policy_row *row_of(const struct address *a)
{
	uint8_t bytes[16] = {[10] = 0xff, 0xff};
	memcpy(a->family == 4 ? bytes + 12 : bytes, a->bytes, a->family == 4 ? 4 : 16);
	const struct policy_row *row = policy_table;
	while (shared_bits(bytes, row->prefix) < row->bits)
		row++;
	return row;
}

/* RFC 6724 3.1 and 3.2: 2 link-local, 5 site-local, 14 global. */
static unsigned scope_of(const struct address *a)
{
	const uint8_t *b = a->bytes;
	if (a->family == 4)
		return b[0] == 127 || (b[0] == 169 && b[1] == 254) ? 2 : 14;
	if (b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
		return 2;
	if (b[0] == 0xfe && (b[1] & 0xc0) == 0xc0)
		return 5;
	const uint8_t loopback[16] = {[15] = 1};
	return memcmp(b, loopback, 16) == 0 ? 2 : 14;
}

static int compare_numbers(unsigned a, unsigned b)
{
	return a < b ? -1 : a > b;
}

/* The first rule that tells the two apart decides. */
static int compare(const struct candidate *a, const struct candidate *b)
{
	bool is_ipv6 = a->ip.family == 6 && b->ip.family == 6;
	const int rules[] = {
	    compare_numbers(a->address.priority, b->address.priority),
	    compare_numbers(b->is_scope_same, a->is_scope_same),
	    compare_numbers(b->is_label_same, a->is_label_same),
	    compare_numbers(b->precedence, a->precedence),
	    compare_numbers(a->scope, b->scope),
	    is_ipv6 ? compare_numbers(b->prefix, a->prefix) : 0,
	    memcmp(&a->ip, &b->ip, sizeof(a->ip)),
	    compare_numbers(
		net_address_port(&a->address.address), net_address_port(&b->address.address)),
	};
	size_t i = 0;
	while (i + 1 < sizeof(rules) / sizeof(*rules) && rules[i] == 0)
		i++;
	return rules[i];
}

static void look(struct candidate *c, const struct name_address *address,
    bool (*source)(const struct net_address *to, struct address *from))
{
	c->address = *address;
	net_address_ip(&address->address, &c->ip);
	c->has_route = source(&address->address, &c->source);
	c->scope = scope_of(&c->ip);
	const struct policy_row *row = row_of(&c->ip);
	c->precedence = row->precedence;
	if (!c->has_route)
		return;
	c->is_scope_same = scope_of(&c->source) == c->scope;
	c->is_label_same = row_of(&c->source)->label == row->label;
	c->prefix = shared_bits(c->ip.bytes, c->source.bytes);
}

/* No qsort(3): for so much it asks the kernel how much memory there is, which no worker may. */
static void sort(struct candidate **list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct candidate *c = list[i];
		size_t at = i;
		for (; at > 0 && compare(list[at - 1], c) > 0; at--)
			list[at] = list[at - 1];
		list[at] = c;
	}
}

/* Takes turns between the families within one priority, beginning with that of the first. */
static void interleave(struct candidate *const *sorted, size_t count, struct name_address *out)
{
	size_t next[2] = {0, 0}; /* of the first one's family, of the other */
	uint8_t first = sorted[0]->ip.family;
	for (size_t i = 0; i < count; i++) {
		size_t side = i % 2;
		for (unsigned tries = 0; tries < 2; tries++, side = !side) {
			while (next[side] < count &&
			       (sorted[next[side]]->ip.family == first) != (side == 0))
				next[side]++;
			if (next[side] < count)
				break;
		}
		out[i] = sorted[next[side]++]->address;
	}
}

size_t order_addresses_by(struct name_address *list, size_t count,
    bool (*source)(const struct net_address *to, struct address *from))
{
	if (count < 2)
		return count;
	struct candidate *all = memory_zalloc(count * sizeof(*all));
	struct candidate **sorted = memory_alloc(count * sizeof(struct candidate *));
	size_t routed = 0;
	for (size_t i = 0; i < count; i++) {
		look(&all[i], &list[i], source);
		if (all[i].has_route)
			sorted[routed++] = &all[i];
	}
	if (routed == 0)
		for (; routed < count; routed++)
			sorted[routed] = &all[routed];
	sort(sorted, routed);
	for (size_t from = 0, to; from < routed; from = to) {
		uint16_t priority = sorted[from]->address.priority;
		for (to = from + 1; to < routed && sorted[to]->address.priority == priority;)
			to++;
		interleave(sorted + from, to - from, list + from);
	}
	free(sorted);
	free(all);
	return routed;
}

/* As if each address were reached from itself. */
static bool from_itself(const struct net_address *to, struct address *from)
{
	net_address_ip(to, from);
	return true;
}

/* Routes tell IPv6 from IPv4, and IPv6 from IPv6; between addresses of IPv4 they decide nothing. */
size_t order_addresses(struct name_address *list, size_t count)
{
	bool is_ipv4 = true;
	for (size_t i = 0; i < count; i++)
		is_ipv4 = is_ipv4 && list[i].address.any.sa_family == AF_INET;
	return order_addresses_by(list, count, is_ipv4 ? from_itself : net_route_source);
}
