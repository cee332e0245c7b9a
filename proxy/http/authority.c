/* SPDX-License-Identifier: MIT */
/*
 * Authorities: host and port, checked by the grammar of RFC 3986 3.2.2 and 3.2.3 as RFC 9110 4.2
 * narrows it (no empty host, no userinfo). A host is refused too if no reading of it is a host name: dots
 * alone, and percent-encoding of bytes that no host name has. Programs that decode "a%00.b", "a%2fb" or
 * "a%40b" would find another host there. Nothing is resolved or decoded here.
 */
#include "proxy/http/authority.h"

#include "proxy/base/ascii.h"
#include "proxy/base/cidr.h"
#include "proxy/base/rare.h"

/* Percent-encoding at the start, of a byte that may stand in a host as it is, or is not of ASCII. */
static RARE bool is_encoded(struct slice s)
{
	int byte = ascii_percent_byte(s);
	return byte >= 0x80 || (byte >= 0 && ascii_is((char)byte, ASCII_ALNUM | ASCII_HOST_MARK));
}

static RARE bool is_dots(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] != '.')
			return false;
	return true;
}

/* Length of the registered name or IPv4 address at the start, or 0. */
static size_t name_length(struct slice s)
{
	size_t i = 0;
	while (i < s.len) {
		if (ascii_is(s.ptr[i], ASCII_ALNUM | ASCII_HOST_MARK))
			i++;
		else if (s.ptr[i] == '%' && is_encoded(slice_from(s, i)))
			i += 3;
		else
			break;
	}
	return s.len > 0 && s.ptr[0] == '.' && is_dots(slice_sub(s, 0, i)) ? 0 : i;
}

/* Length of "[" IPv6 "]" at the start, or 0. */
static size_t literal_length(struct slice s)
{
	size_t close = slice_find(s, ']');
	struct slice inner = slice_sub(s, 1, close - 1);
	struct address a;
	if (close == s.len || slice_find(inner, ':') == inner.len || !address_parse(inner, &a))
		return 0;
	return close + 1;
}

static uint16_t default_port(struct slice scheme)
{
	if (slice_equal_nocase(scheme, SLICE("https")))
		return 443;
	return slice_equal_nocase(scheme, SLICE("http")) ? 80 : 0;
}

bool http_scheme_is_http(struct slice scheme)
{
	return default_port(scheme) != 0;
}

struct slice http_scheme_known(struct slice scheme)
{
	if (slice_equal(scheme, SLICE("https")) || slice_equal_nocase(scheme, SLICE("https")))
		return SLICE("https");
	return slice_equal_nocase(scheme, SLICE("http")) ? SLICE("http") : SLICE("");
}

bool http_authority_parse(struct slice text, struct slice scheme, struct http_authority *out)
{
	size_t length =
	    text.len > 0 && text.ptr[0] == '[' ? literal_length(text) : name_length(text);
	uint64_t port = 0;
	if (length == 0)
		return false;
	*out = (struct http_authority){
	    .host = slice_sub(text, 0, length), .port = default_port(scheme)};
	struct slice rest = slice_from(text, length);
	if (rest.len == 0)
		return true;
	if (rest.ptr[0] != ':')
		return false;
	if (rest.len == 1)
		return true; /* an empty port is the default (RFC 3986 3.2.3) */
	if (!slice_to_number(slice_from(rest, 1), UINT16_MAX, &port) || port == 0)
		return false;
	out->port = (uint16_t)port;
	out->port_given = true;
	return true;
}

static struct slice without_dot(struct slice host)
{
	if (host.len > 1 && host.ptr[host.len - 1] == '.')
		host.len--;
	return host;
}

bool http_authority_equal(const struct http_authority *a, const struct http_authority *b)
{
	return a->port == b->port && slice_equal_nocase(without_dot(a->host), without_dot(b->host));
}

bool http_authority_same(struct slice a, struct slice b, struct slice scheme)
{
	struct http_authority left, right;
	return slice_equal(a, b) ||
	       (http_authority_parse(a, scheme, &left) && http_authority_parse(b, scheme, &right) &&
		   http_authority_equal(&left, &right));
}

bool http_host_matches(struct slice pattern, struct slice host)
{
	pattern = without_dot(pattern);
	host = without_dot(host);
	if (slice_equal(pattern, SLICE("*")))
		return true;
	if (!slice_starts_with(pattern, SLICE("*.")))
		return slice_equal_nocase(pattern, host);
	struct slice suffix = slice_from(pattern, 1); /* with its dot */
	return host.len > suffix.len &&
	       slice_equal_nocase(slice_from(host, host.len - suffix.len), suffix);
}
