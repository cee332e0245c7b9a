/* SPDX-License-Identifier: MIT */
/* See host.h. */
#include "proxy/http/host.h"

#include "proxy/base/ascii.h"

#define LABEL_BYTES 63u /* RFC 1035 2.3.4 */

/*
 * "[" IPv6 address "]". An IPv4 address that is written as IPv6 ("[::ffff:192.0.2.1]") is strange: a connection to
 * it is one to that IPv4 address, which has a form of its own.
 */
static enum http_host_kind read_literal(
    struct slice inner, char name[HTTP_HOST_TEXT], struct address *address)
{
	bool is_ipv6 = slice_find(inner, ':') < inner.len;
	if (!is_ipv6 || !address_parse(inner, address) || address->family == 4)
		return HTTP_HOST_STRANGE;
	address_format(address, name, HTTP_HOST_TEXT);
	return HTTP_HOST_ADDRESS;
}

static bool is_label(struct slice label)
{
	if (label.len == 0 || label.len > LABEL_BYTES)
		return false;
	for (size_t i = 0; i < label.len; i++) {
		char c = label.ptr[i];
		if (!ascii_is(c, ASCII_ALNUM) && c != '-' && c != '_')
			return false;
	}
	return true;
}

/* What inet_aton(3) and the URL standard of the WHATWG take for a part of an IPv4 address: decimal and octal, "0x"
 * with or without digits behind it. */
static bool is_number(struct slice label)
{
	if (label.len >= 2 && label.ptr[0] == '0' && (label.ptr[1] | 0x20) == 'x')
		return ascii_all(slice_from(label, 2), ASCII_HEX);
	return ascii_all(label, ASCII_DIGIT);
}

/* Four decimal numbers without leading zeros. */
static bool is_dotted_decimal(struct slice host, struct address *address)
{
	char canonical[46];
	if (!address_parse(host, address) || address->family != 4)
		return false;
	return slice_equal(
	    slice_of_string(address_format(address, canonical, sizeof canonical)), host);
}

enum http_host_kind http_host_read(
    struct slice host, char name[HTTP_HOST_TEXT], struct address *address)
{
	if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		return read_literal(slice_sub(host, 1, host.len - 2), name, address);
	struct slice given = host;
	if (host.len > 0 && host.ptr[host.len - 1] == '.')
		host.len--;
	if (host.len == 0 || host.len >= HTTP_HOST_TEXT)
		return HTTP_HOST_STRANGE;
	struct slice rest = host, label;
	for (;;) {
		size_t dot = slice_find(rest, '.');
		label = slice_sub(rest, 0, dot);
		if (!is_label(label))
			return HTTP_HOST_STRANGE;
		if (dot == rest.len)
			break;
		rest = slice_from(rest, dot + 1);
	}
	/* "192.0.2.1." is another text for an address, as "192.0.513" is. */
	if (is_number(label) && !is_dotted_decimal(given, address))
		return HTTP_HOST_STRANGE;
	ascii_lower_copy(name, host);
	name[host.len] = '\0';
	return is_number(label) ? HTTP_HOST_ADDRESS : HTTP_HOST_NAME;
}
