/* SPDX-License-Identifier: MIT */
/* Guesses of addresses, servers, hosts and paths (value_guess.h). */
#include "proxy/base/cidr.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/conf/value_guess.h"
#include "proxy/http/authority.h"
#include "proxy/net/net.h"
#include <stdio.h>

enum { AUTHORITY_BYTES = 100 };

/* Schemes of ours and of others, with what is meant: `ours`, or over TLS `tls` if the port is 443 or
 * 8443. */
static const struct scheme {
	struct slice theirs;
	const char *ours, *tls;
} schemes[] = {
    {SLICE_INIT("https://"), "https", "https"},
    {SLICE_INIT("http://"), "http", "http"},
    {SLICE_INIT("https1://"), "https1", "https1"},
    {SLICE_INIT("https1.1://"), "https1", "https1"},
    {SLICE_INIT("h1s://"), "https1", "https1"},
    {SLICE_INIT("h2://"), "h2", "h2"},
    {SLICE_INIT("h2c://"), "h2c", "h2c"},
    {SLICE_INIT("h1://"), "http", "http"},
    {SLICE_INIT("http1://"), "http", "http"},
    {SLICE_INIT("http/1.1://"), "http", "http"},
    {SLICE_INIT("http2://"), "h2c", "h2"},
    {SLICE_INIT("grpc://"), "h2c", "h2"},
    {SLICE_INIT("grpcs://"), "h2", "h2"},
    {SLICE_INIT("tcp://"), "http", "https"},
    {SLICE_INIT("ssl://"), "https", "https"},
    {SLICE_INIT("tls://"), "https", "https"},
};
static const struct scheme no_scheme = {SLICE_INIT(""), "http", "https"};

/* Cuts the scheme off. */
static const struct scheme *cut_scheme(struct slice *value)
{
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
		struct slice theirs = schemes[i].theirs;
		if (!slice_equal_nocase(slice_sub(*value, 0, theirs.len), theirs))
			continue;
		*value = slice_from(*value, theirs.len);
		return &schemes[i];
	}
	return &no_scheme;
}

/* Without a scheme, and without what follows the authority. */
static struct slice authority_of(struct slice value)
{
	cut_scheme(&value);
	return slice_sub(value, 0, slice_find(value, '/'));
}

static size_t count(struct slice s, char c)
{
	size_t n = 0;
	for (size_t i = 0; i < s.len; i++)
		n += s.ptr[i] == c;
	return n;
}

/* nghttpx writes "HOST,PORT". Copies the text to the buffer, with the colon. */
static struct slice with_colon(struct slice text, char *buffer, size_t size)
{
	uint64_t port;
	size_t comma = slice_find(text, ',');

	if (text.len > size || comma == text.len ||
	    !slice_to_number(slice_from(text, comma + 1), 65535, &port))
		return text;
	memcpy(buffer, text.ptr, text.len);
	buffer[comma] = ':';
	return slice_of(buffer, text.len);
}

/*
 * "localhost:80", ":8443", "8443", "::1:8443", "unix:x", "/run/x.sock", "*,3000", "443 ssl". nginx
 * and HAProxy write parameters behind the address.
 */
bool value_guess_address(struct slice value, char *guess, size_t size)
{
	char buffer[AUTHORITY_BYTES];
	struct net_address a;
	uint64_t port;
	struct slice text = authority_of(slice_sub(value, 0, slice_find(value, ' ')));
	text = with_colon(text, buffer, sizeof buffer);
	size_t colon = text.len;

	while (colon > 0 && text.ptr[colon - 1] != ':')
		colon--;
	if (value.ptr[0] == '/')
		snprintf(guess, size, "unix:%.*s", SLICE_ARG(value));
	else if (slice_to_number(text, 65535, &port))
		snprintf(guess, size, "*:%.*s", SLICE_ARG(text));
	else if (colon == 1)
		snprintf(guess, size, "*%.*s", SLICE_ARG(text));
	else if (slice_starts_with(text, SLICE("localhost")))
		snprintf(guess, size, "127.0.0.1%.*s%s", SLICE_ARG(slice_from(text, 9)),
		    colon ? "" : ":8443");
	else if (count(text, ':') > 1 && text.ptr[0] != '[')
		snprintf(guess, size, "[%.*s]:%.*s", SLICE_ARG(slice_sub(text, 0, colon - 1)),
		    SLICE_ARG(slice_from(text, colon)));
	else if (colon == 0)
		snprintf(guess, size, "%.*s:8443", SLICE_ARG(text));
	else
		snprintf(guess, size, "%.*s", SLICE_ARG(text));
	return !net_address_parse(slice_of_string(guess), &a);
}

bool value_guess_port(struct slice value, char *guess, size_t size)
{
	uint64_t port;
	struct slice text = authority_of(value);
	size_t colon = text.len;

	while (colon > 0 && text.ptr[colon - 1] != ':')
		colon--;
	bool is_port =
	    colon > 0 && slice_to_number(slice_from(text, colon), 65535, &port) && port > 0;
	bool is_no = value_choice(value, "off false none never n") >= 0;
	if (!is_port && !is_no && !slice_starts_with(value, SLICE("https://")) &&
	    value_choice(value, "on true always permanent https y") < 0)
		return false;
	if (is_port)
		snprintf(guess, size, "%u", (unsigned)port);
	else
		snprintf(guess, size, "%s", is_no ? "no" : "yes");
	return true;
}

/* True for "HOST:PORT" that the server option accepts behind a scheme. */
static bool is_authority(struct slice text)
{
	struct http_authority a;

	return http_authority_parse(text, SLICE("http"), &a) && a.host.len > 0 && a.port != 0 &&
	       (a.host.ptr[0] == '[' || conf_is_dns_name(a.host));
}

/* "/run/app.sock", "unix:/run/app.sock:", "http://unix:/run/app.sock". */
static bool guess_socket(struct slice path, const char *scheme, char *guess, size_t size)
{
	if (path.len > 0 && path.ptr[path.len - 1] == ':')
		path.len--;
	while (slice_starts_with(path, SLICE("//")))
		path = slice_from(path, 1);
	snprintf(guess, size, "%s+unix:%.*s", scheme, SLICE_ARG(path));
	return path.len > 1 && path.len < 100;
}

/*
 * "127.0.0.1:8080", "tcp://x:80", "unix:/x", "http://host:80/path". A server whose protocol is not named
 * speaks HTTP/1.1, as nearly all do.
 */
bool value_guess_server(struct slice value, char *guess, size_t size)
{
	struct http_authority a;
	char buffer[AUTHORITY_BYTES];
	struct slice authority = with_colon(authority_of(value), buffer, sizeof buffer),
		     rest = value;
	const struct scheme *scheme = cut_scheme(&rest);

	if (slice_equal_nocase(value, SLICE("demo"))) {
		snprintf(guess, size, "demo:");
		return true;
	}
	const char *on_socket = strcmp(scheme->ours, "h2c") == 0 ? "h2c" : "h1";
	if (slice_starts_with(rest, SLICE("unix:/")))
		return guess_socket(slice_from(rest, 5), on_socket, guess, size);
	if (rest.len > 0 && rest.ptr[0] == '/')
		return guess_socket(rest, on_socket, guess, size);
	/* "ftp://x:1" has a scheme that is no server's: "ftp:" is not its host. */
	if (!is_authority(authority) || slice_find(authority, ',') < authority.len ||
	    authority.ptr[authority.len - 1] == ':' ||
	    (slice_starts_with(value, authority) &&
		slice_starts_with(slice_from(value, authority.len), SLICE("//"))))
		return false;
	http_authority_parse(authority, SLICE("http"), &a);
	bool is_tls = a.port == 443 || a.port == 8443;
	snprintf(
	    guess, size, "%s://%.*s", is_tls ? scheme->tls : scheme->ours, SLICE_ARG(authority));
	return true;
}

/* "https://example.com:443/" or ".example.com". */
bool value_guess_host(struct slice value, char *guess, size_t size)
{
	struct slice text = authority_of(value);
	size_t colon = slice_find(text, ':');

	if (slice_equal(text, SLICE("_"))) /* nginx: any host */
		text = SLICE("*");
	if (text.len == 0)
		return false;
	snprintf(guess, size, "%s%.*s", text.ptr[0] == '.' ? "*" : "",
	    SLICE_ARG(slice_sub(text, 0, colon)));
	return true;
}

/* "api" and "/api*". */
bool value_guess_path(struct slice value, char *guess, size_t size)
{
	struct slice text = slice_sub(value, 0, slice_find(value, '#'));

	if (slice_find(text, ':') < text.len || slice_starts_with(text, SLICE("^")) ||
	    slice_starts_with(text, SLICE("//")))
		return false;
	/* Pieces of a regular expression or of a list in braces. */
	for (size_t i = 0; i < text.len; i++)
		if (strchr("\\$(){}[]|", text.ptr[i]))
			return false;
	text = slice_sub(text, 0, slice_find(text, '*'));
	text = slice_sub(text, 0, slice_find(text, '?'));
	if (text.len == 0 || slice_equal(text, SLICE("=")))
		return false;
	snprintf(guess, size, "%s%.*s", text.ptr[0] == '/' ? "" : "/", SLICE_ARG(text));
	return true;
}

/* "192.0.2.1/24" without the bits behind the prefix; "localhost", "all". */
bool value_guess_cidr(struct slice value, char *guess, size_t size)
{
	struct cidr block;
	uint64_t bits;
	size_t slash = slice_find(value, '/');
	char text[64];

	if (slice_equal_nocase(value, SLICE("localhost")))
		snprintf(guess, size, "127.0.0.1 ::1");
	else if (slice_equal_nocase(value, SLICE("all")) ||
		 slice_equal_nocase(value, SLICE("any")) || slice_equal(value, SLICE("*")))
		snprintf(guess, size, "0.0.0.0/0 ::/0");
	else if (slash == value.len || !address_parse(slice_sub(value, 0, slash), &block.base) ||
		 !slice_to_number(
		     slice_from(value, slash + 1), block.base.family == 4 ? 32 : 128, &bits))
		return false;
	else {
		for (size_t i = 0; i < 16; i++) {
			size_t kept = bits > 8 * i ? (size_t)bits - 8 * i : 0;
			if (kept < 8)
				block.base.bytes[i] &= (uint8_t)(0xff00u >> kept);
		}
		snprintf(guess, size, "%s/%u", address_format(&block.base, text, sizeof text),
		    (unsigned)bits);
		return !cidr_parse(slice_of_string(guess), &block);
	}
	return true;
}
