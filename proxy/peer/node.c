/* SPDX-License-Identifier: MIT */
/*
 * What proxies write into fields: the addresses (RFC 7239 6), with or without port, IPv6 with or without brackets, and
 * the lists that they are in. X-Forwarded-For, which has no specification, has the same forms.
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

struct slice peer_unquoted(struct slice value)
{
	bool is_quoted = value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"';
	return is_quoted ? slice_sub(value, 1, value.len - 2) : value;
}

bool peer_node_read(struct slice node, struct address *client)
{
	struct slice address;
	node = peer_unquoted(slice_trim(node));
	*client = (struct address){.family = ADDRESS_UNKNOWN};
	if (node.len == 0 || !split(node, &address) || !address_parse(address, client)) {
		*client = (struct address){.family = ADDRESS_UNKNOWN};
		return false;
	}
	return true;
}

struct slice peer_forwarded_value(struct slice element, struct slice name)
{
	struct slice pair, value = SLICE("");
	bool has_one = false;
	while (slice_next_parameter(&element, &pair)) {
		if (!slice_equal_nocase(slice_sub(pair, 0, name.len), name))
			continue;
		if (has_one)
			return SLICE("");
		has_one = true;
		value = slice_from(pair, name.len);
	}
	return value;
}

/* ---- lists ---- */

/* In quotes, a backslash makes the quote behind it a part of the text (RFC 9110 5.6.4). */
static bool is_escaped(struct slice text, size_t at)
{
	size_t from = at;
	while (from > 0 && text.ptr[from - 1] == '\\')
		from--;
	return (at - from) % 2 == 1;
}

/* Where the last member begins. Quotes are counted from the right too: those that a client has opened, and not closed,
 * would join its text to what the proxy has added. */
static size_t last_begin(struct slice list, bool has_quotes)
{
	bool is_quoted = false;
	for (size_t i = list.len; i > 0; i--) {
		char c = list.ptr[i - 1];
		if (has_quotes && c == '"' && !(is_quoted && is_escaped(list, i - 1)))
			is_quoted = !is_quoted;
		else if (c == ',' && !is_quoted)
			return i;
	}
	return 0;
}

bool peer_last_member(struct slice *list, struct slice *member, bool has_quotes)
{
	do {
		size_t from = last_begin(*list, has_quotes);
		*member = slice_trim(slice_from(*list, from));
		*list = slice_sub(*list, 0, from > 0 ? from - 1 : 0);
	} while (member->len == 0 && list->len > 0);
	return member->len > 0;
}
