/* SPDX-License-Identifier: MIT */
/*
 * The addresses that proxies write into fields (RFC 7239 6): with or without port, IPv6 with or without brackets.
 * X-Forwarded-For, which has no specification, has the same forms.
 */
#include "proxy/base/ascii.h"
#include "proxy/peer/peer.h"

/* A number, or an obfuscated port: it is not used. */
static bool is_port(struct slice text)
{
	return text.len > 0 && ascii_all(text, ASCII_TOKEN);
}

/* Where the address ends and what may follow, for the three forms of a node. False: it has none of them. */
static bool split(struct slice node, struct slice *address)
{
	size_t colon = slice_find(node, ':'), end = slice_find(node, ']');
	if (slice_peek(node) == '[') {
		struct slice rest = slice_from(node, end + 1);
		*address = slice_sub(node, 1, end - 1);
		return end < node.len && slice_find(*address, ':') < address->len &&
		       (rest.len == 0 || (rest.ptr[0] == ':' && is_port(slice_from(rest, 1))));
	}
	struct slice port = slice_from(node, colon + 1);
	bool is_v6 = slice_find(port, ':') < port.len;
	*address = is_v6 ? node : slice_sub(node, 0, colon);
	return is_v6 || colon == node.len || is_port(port);
}

bool peer_node_read(struct slice node, struct address *client)
{
	struct slice address;
	node = slice_trim(node);
	if (node.len >= 2 && node.ptr[0] == '"' && node.ptr[node.len - 1] == '"')
		node = slice_sub(node, 1, node.len - 2);
	*client = (struct address){.family = ADDRESS_UNKNOWN};
	if (node.len == 0 || !split(node, &address) || !address_parse(address, client)) {
		*client = (struct address){.family = ADDRESS_UNKNOWN};
		return false;
	}
	return true;
}

struct slice peer_forwarded_for(struct slice element)
{
	struct slice pair, node = SLICE("");
	while (slice_next_parameter(&element, &pair)) {
		if (!slice_equal_nocase(slice_sub(pair, 0, 4), SLICE("for=")))
			continue;
		if (node.len > 0)
			return SLICE("");
		node = slice_from(pair, 4);
	}
	return node;
}
