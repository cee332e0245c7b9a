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

/* Labels of letters, digits, "-" and "_" with dots between them. name gets them in lower case. */
static bool read_labels(struct slice host, char *name, struct slice *last)
{
	size_t begin = 0;
	for (size_t i = 0; i < host.len; i++) {
		char c = host.ptr[i];
		name[i] = ascii_lower(c);
		if (ascii_is(c, ASCII_ALNUM) || c == '-' || c == '_')
			continue;
		if (c != '.' || i == begin || i - begin > LABEL_BYTES)
			return false;
		begin = i + 1;
	}
	*last = slice_from(host, begin);
	return last->len > 0 && last->len <= LABEL_BYTES;
}

/* What inet_aton(3) and the URL standard of the WHATWG take for a part of an IPv4 address: decimal and octal, "0x"
 * with or without digits behind it. */
static bool is_number(struct slice label)
{
	if (label.len >= 2 && label.ptr[0] == '0' && (label.ptr[1] | 0x20) == 'x')
		return ascii_all(slice_from(label, 2), ASCII_HEX);
	return ascii_all(label, ASCII_DIGIT);
}

/*
 * Four decimal numbers without leading zeros. Not with inet_pton(3): in forward mode this is on the way of each
 * request.
 */
static bool is_dotted_decimal(struct slice host, struct address *address)
{
	unsigned value = 0, dots = 0;
	bool has_digit = false;
	*address = (struct address){.family = 4};
	for (size_t i = 0; i < host.len; i++) {
		char c = host.ptr[i];
		if (c == '.' && has_digit && dots < 3) {
			dots++;
			has_digit = false;
			value = 0;
			continue;
		}
		if (!ascii_is(c, ASCII_DIGIT) || (has_digit && value == 0))
			return false;
		has_digit = true;
		value = value * 10 + (unsigned)(c - '0');
		if (value > 255)
			return false;
		address->bytes[dots] = (uint8_t)value;
	}
	return dots == 3 && has_digit;
}

enum http_host_kind http_host_read(
    struct slice host, char name[HTTP_HOST_TEXT], struct address *address)
{
	if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		return read_literal(slice_sub(host, 1, host.len - 2), name, address);
	if (is_dotted_decimal(host, address)) {
		memcpy(name, host.ptr, host.len);
		name[host.len] = '\0';
		return HTTP_HOST_ADDRESS;
	}
	if (host.len > 0 && host.ptr[host.len - 1] == '.')
		host.len--;
	struct slice last;
	if (host.len == 0 || host.len >= HTTP_HOST_TEXT || !read_labels(host, name, &last))
		return HTTP_HOST_STRANGE;
	name[host.len] = '\0';
	/* A number at the end, as of "192.0.513" or "192.0.2.1.": another text for an address. */
	return is_number(last) ? HTTP_HOST_STRANGE : HTTP_HOST_NAME;
}
