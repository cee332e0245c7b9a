/* SPDX-License-Identifier: MIT */
/* Suggestions of addresses, servers, hosts and paths (setters.h). */
#include "proxy/base/ascii.h"
#include "proxy/base/cidr.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/http/authority.h"
#include "proxy/net/net.h"
#include <stdio.h>

/* Cuts "SCHEME://" off and returns it; empty: there is none. */
static struct slice cut_scheme(struct slice *value)
{
	for (size_t i = 0; i + 3 <= value->len && value->ptr[i] != '/'; i++) {
		if (!slice_starts_with(slice_from(*value, i), SLICE("://")))
			continue;
		struct slice scheme = slice_sub(*value, 0, i);
		*value = slice_from(*value, i + 3);
		return scheme;
	}
	return SLICE("");
}

/* Without a scheme, and without what follows the authority. */
static struct slice authority_of(struct slice value)
{
	cut_scheme(&value);
	return slice_sub(value, 0, slice_find(value, '/'));
}

/* "localhost:80", ":8443", "8443", "0.0.0.0", "::1:8443", "/run/x.sock". */
bool suggest_address(struct slice value, char *text, size_t size)
{
	struct net_address a;
	uint64_t port;
	struct slice place = authority_of(value);
	size_t colon = place.len, first = slice_find(place, ':');

	while (colon > 0 && place.ptr[colon - 1] != ':')
		colon--;
	if (value.ptr[0] == '/')
		snprintf(text, size, "unix:%.*s", SLICE_ARG(value));
	else if (slice_to_number(place, 65535, &port))
		snprintf(text, size, "*:%.*s", SLICE_ARG(place));
	else if (colon == 1)
		snprintf(text, size, "*%.*s", SLICE_ARG(place));
	else if (slice_starts_with(place, SLICE("localhost")))
		snprintf(text, size, "127.0.0.1%.*s%s", SLICE_ARG(slice_from(place, 9)),
		    colon ? "" : ":8443");
	else if (first + 1 < colon && place.ptr[0] != '[')
		snprintf(text, size, "[%.*s]:%.*s", SLICE_ARG(slice_sub(place, 0, colon - 1)),
		    SLICE_ARG(slice_from(place, colon)));
	else
		snprintf(text, size, "%.*s%s", SLICE_ARG(place), colon == 0 ? ":8443" : "");
	return !net_address_parse(slice_of_string(text), &a);
}

/* True for "HOST:PORT" that the server option accepts behind a scheme. */
static bool read_authority(struct slice text, struct http_authority *a)
{
	return text.len > 0 && text.ptr[text.len - 1] != ':' && slice_find(text, ',') == text.len &&
	       http_authority_parse(text, SLICE("http"), a) && a->host.len > 0 && a->port != 0 &&
	       (a->host.ptr[0] == '[' || value_is_dns_name(a->host));
}

/* "/run/app.sock", "unix:/run/app.sock:", "http://unix:/run/app.sock". */
static bool suggest_socket(struct slice path, bool is_http2, char *text, size_t size)
{
	if (path.len > 0 && path.ptr[path.len - 1] == ':')
		path.len--;
	snprintf(text, size, "%s+unix:%.*s", is_http2 ? "h2c" : "h1", SLICE_ARG(path));
	return path.len > 1 && path.len < 100 && path.ptr[1] != '/';
}

/* The scheme of a server, in lower case; NULL: no server has it. Without one it is that of the port: most servers
 * speak HTTP/1.1. */
static const char *scheme_of(struct slice scheme, uint32_t port)
{
	static const char *const schemes[] = {"https", "http", "https1", "h2", "h2c"};
	int known = value_choice(scheme, "https http https1 h2 h2c");

	if (scheme.len == 0)
		return port == 443 || port == 8443 ? "https" : "http";
	return known < 0 ? NULL : schemes[known];
}

/* "127.0.0.1:8080", "HTTP://x:80", "unix:/x", "http://host:80/path". */
bool suggest_server(struct slice value, char *text, size_t size)
{
	struct http_authority a;
	struct slice authority = authority_of(value), rest = value;
	struct slice scheme = cut_scheme(&rest);
	bool is_http2 = slice_equal_nocase(scheme, SLICE("h2c"));

	if (slice_equal_nocase(value, SLICE("demo"))) {
		snprintf(text, size, "demo:");
		return true;
	}
	if (slice_starts_with(rest, SLICE("unix:/")))
		return suggest_socket(slice_from(rest, 5), is_http2, text, size);
	if (rest.len > 0 && rest.ptr[0] == '/')
		return suggest_socket(rest, is_http2, text, size);
	const char *known = read_authority(authority, &a) ? scheme_of(scheme, a.port) : NULL;
	/* "h2c//x:1" has lost its colon: "h2c" is not its host. */
	bool is_cut =
	    scheme.len == 0 && slice_starts_with(slice_from(value, authority.len), SLICE("//"));
	if (!known || is_cut)
		return false;
	snprintf(text, size, "%s://%.*s", known, SLICE_ARG(authority));
	return true;
}

/* "https://example.com:443/" or ".example.com". */
bool suggest_host(struct slice value, char *text, size_t size)
{
	struct slice host = authority_of(value);

	if (host.len == 0)
		return false;
	snprintf(text, size, "%s%.*s", host.ptr[0] == '.' ? "*" : "",
	    SLICE_ARG(slice_sub(host, 0, slice_find(host, ':'))));
	return true;
}

/* "api" and "/api*". */
bool suggest_path(struct slice value, char *text, size_t size)
{
	struct slice path = slice_sub(value, 0, slice_find(value, '#'));

	/* Pieces of a URL, of a regular expression or of a list in braces. */
	for (size_t i = 0; i < path.len; i++)
		if (strchr(":^\\$(){}[]|", path.ptr[i]))
			return false;
	if (slice_starts_with(path, SLICE("//")))
		return false;
	path = slice_sub(path, 0, slice_find(path, '*'));
	path = slice_sub(path, 0, slice_find(path, '?'));
	if (path.len == 0 || slice_equal(path, SLICE("=")))
		return false;
	snprintf(text, size, "%s%.*s", path.ptr[0] == '/' ? "" : "/", SLICE_ARG(path));
	return true;
}

/* "192.0.2.1/24" without the bits behind the prefix; "localhost". */
bool suggest_cidr(struct slice value, char *text, size_t size)
{
	struct cidr block;
	uint64_t bits;
	size_t slash = slice_find(value, '/');
	char address[64];

	if (slice_equal_nocase(value, SLICE("localhost"))) {
		snprintf(text, size, "127.0.0.1 ::1");
		return true;
	}
	if (slash == value.len || !address_parse(slice_sub(value, 0, slash), &block.base) ||
	    !slice_to_number(
		slice_from(value, slash + 1), block.base.family == 4 ? 32 : 128, &bits))
		return false;
	for (size_t i = 0; i < 16; i++) {
		size_t kept = bits > 8 * i ? (size_t)bits - 8 * i : 0;
		if (kept < 8)
			block.base.bytes[i] &= (uint8_t)(0xff00u >> kept);
	}
	snprintf(text, size, "%s/%u", address_format(&block.base, address, sizeof address),
	    (unsigned)bits);
	return !cidr_parse(slice_of_string(text), &block);
}
